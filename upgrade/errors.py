"""What a user can get wrong here."""


class UpgradeError(ValueError):
    """Base class: the message names what was expected and what came."""


class UnknownRelease(UpgradeError):
    """A release that the table does not have."""


class ConfigException(UpgradeError):
    """A configuration value that Kafka refuses at start-up, in Kafka's words. Java: ``ConfigException``."""


class FeatureError(UpgradeError):
    """A cluster, a request or a file of features that cannot be."""


class UnknownFeature(UpgradeError):
    """A feature that this release of Kafka does not have."""


class UnknownLevel(UpgradeError):
    """A level that cannot be read, or that this release of Kafka does not have."""
