"""Errors of the assignor: all of them derive from ``StreamsAssignorError``.

`UsageError`, ``ConfigException`` and `MissingExtraError` report a mistake of the caller: nothing was sent and no state
has changed.
`FatalError` and ``LookupFailed`` report what other members or the cluster have sent.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from types import MappingProxyType
from typing import Final

from subscription_codec import StreamsAssignorError
from upgrade.redaction import hide

__all__ = [
    "PARTITION_COUNT_MISMATCH",
    "FatalError",
    "MissingExtraError",
    "StreamsAssignorError",
    "UsageError",
    "naming_the_extra",
]

PARTITION_COUNT_MISMATCH: Final = "PARTITION_COUNT_MISMATCH"
"""Error code of an assignment with more or fewer partitions than task ids."""


class UsageError(StreamsAssignorError, ValueError):
    """An argument or a call that this library cannot work with. The message states what was expected."""


class MissingExtraError(StreamsAssignorError, ModuleNotFoundError):
    """An optional library is not installed. The message names the extra and the command that installs it."""


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


_LIBRARIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "aiokafka": "aiokafka",
        "confluent_kafka": "confluent-kafka",
        "kafka": "kafka-python",
        "opentelemetry": "opentelemetry-api",
        "prometheus_client": "prometheus-client",
    }
)
"""Top-level module -> name of the library, as users install it."""


@contextmanager
def naming_the_extra(extra: str) -> Iterator[None]:
    """Import the modules inside that need the library of one extra.

    Raises:
        MissingExtraError: The library is not installed, or another release of it, which has moved a name.
    """
    try:
        yield
    except ImportError as error:
        module, _, inside = (error.name or "").partition(".")
        if (library := _LIBRARIES.get(module)) is None:
            raise
        is_missing = isinstance(error, ModuleNotFoundError) and not inside
        problem = "is not installed" if is_missing else f"{version(library)} is not supported ({error.msg})"
        raise MissingExtraError(
            f"{library} {problem}: pip install 'streams-assignor[{extra}]'", name=error.name
        ) from None
