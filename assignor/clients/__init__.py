"""Adapters that attach the Streams assignor to consumers; only these packages import client libraries."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from types import MappingProxyType
from typing import Final

from assignor.errors import MissingExtraError

_LIBRARIES: Final[Mapping[str, str]] = MappingProxyType(
    {"aiokafka": "aiokafka", "confluent_kafka": "confluent-kafka", "kafka": "kafka-python"}
)
"""Top-level module -> name of the library, as users install it."""


@contextmanager
def naming_the_extra(extra: str) -> Iterator[None]:
    """Import the modules of one adapter inside.

    Raises:
        MissingExtraError: The client library is not installed, or another release of it, which has moved a name.
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
