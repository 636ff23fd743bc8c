"""What a user can get wrong here."""

import reprlib
from typing import Final

_SHORT: Final = reprlib.Repr()
_SHORT.maxstring = 80
_SHORT.maxlist = 10


def shown(given: object) -> str:
    r"""Return what a user gave as it is to stand in a message: quoted, without control characters, and not too long.

    >>> print(shown("ssl. \x1b[31m"), shown(["acks", 100 * "x"])[-9:])
    'ssl. \x1b[31m' xxxxxxx']
    """
    return _SHORT.repr(given)


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
