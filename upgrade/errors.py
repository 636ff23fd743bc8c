"""The errors of this package: each is about input, and its message names what was expected and what was given."""

import reprlib
from typing import Final

from streams_assignor.codec.errors import StreamsAssignorError

_REPR: Final = reprlib.Repr()
_REPR.maxstring = 80
_REPR.maxlist = 10


def quote_input(given: object) -> str:
    r"""Return input as text for a message: quoted, without control characters, and shortened.

    >>> print(quote_input("ssl. \x1b[31m"), quote_input(["acks", 100 * "x"])[-9:])
    'ssl. \x1b[31m' xxxxxxx']
    """
    return _REPR.repr(given)


class UpgradeError(StreamsAssignorError, ValueError):
    """Base class of the errors of ``upgrade``."""


class UnknownRelease(UpgradeError):
    """A release that is not in the table."""


class ConfigException(UpgradeError):
    """A configuration that Kafka refuses at start-up, with the text of Kafka. Java: ``ConfigException``."""


class FeatureError(UpgradeError):
    """An invalid cluster, request or file of features."""


class UnknownFeature(UpgradeError):
    """A feature that this release of Kafka does not have."""


class UnknownLevel(UpgradeError):
    """A level that cannot be read, or that this release of Kafka does not have."""
