"""Errors of the assignor: all of them derive from ``StreamsAssignorError``.

`UsageError`, ``ConfigException`` and `MissingExtraError` report a mistake of the caller: nothing was sent and no state
has changed.
`FatalError` and ``LookupFailed`` report what other members or the cluster have sent.
"""

from typing import Final

from streams_assignor.codec import StreamsAssignorError
from streams_assignor.upgrade.extras import MissingExtraError
from streams_assignor.upgrade.redaction import hide

__all__ = [
    "PARTITION_COUNT_MISMATCH",
    "FatalError",
    "MissingExtraError",
    "StreamsAssignorError",
    "UsageError",
]

PARTITION_COUNT_MISMATCH: Final = "PARTITION_COUNT_MISMATCH"
"""Error code of an assignment with more or fewer partitions than task ids."""


class UsageError(StreamsAssignorError, ValueError):
    """An argument or a call that this library cannot work with. The message states what was expected."""


class FatalError(StreamsAssignorError):
    """The member cannot go on, as a Kafka Streams thread could not: the caller has to close it, and its tasks move."""

    kafka_exception: str
    """The exception that Kafka throws at this point."""
    code: str
    """Identifies the error; ``kafka_exception`` unless several errors have that exception."""

    def __init__(self, message: str, kafka_exception: str = "TaskAssignmentException", *, code: str = "") -> None:
        super().__init__(hide(message))  # it may repeat the text of a broker's error
        self.kafka_exception = kafka_exception
        self.code = code or kafka_exception

    def __str__(self) -> str:
        return f"{self.kafka_exception}: {self.args[0]}"
