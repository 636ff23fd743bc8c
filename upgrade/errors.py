"""What a user can get wrong here."""


class UpgradeError(ValueError):
    """Base class: the message names what was expected and what came."""


class UnknownRelease(UpgradeError):
    """A release that the table does not have."""


class ConfigException(UpgradeError):
    """A configuration value that Kafka refuses at start-up, in Kafka's words. Java: ``ConfigException``."""
