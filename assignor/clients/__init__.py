"""Adapters that attach the Streams assignor to consumers; only these packages import client libraries."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Final

from assignor.errors import MissingExtraError

_LIBRARIES: Final[Mapping[str, str]] = MappingProxyType(
    {"aiokafka": "aiokafka", "confluent_kafka": "confluent-kafka", "kafka": "kafka-python"}
)
"""Top-level module -> name of the library, as users install it."""


@contextmanager
def naming_the_extra(extra: str) -> Iterator[None]:
    """Import the modules of one adapter inside: ``MissingExtraError`` if its client library is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (library := _LIBRARIES.get(error.name or "")) is None:
            raise
        raise MissingExtraError(
            f"{library} is not installed: pip install 'streams-assignor[{extra}]'", name=error.name
        ) from None
