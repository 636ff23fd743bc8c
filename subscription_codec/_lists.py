"""What the wire types of long lists have in common: two halves.

Each has the careful half in common with everybody else (``inner``), and a quick half of its own, ``load`` and
``dump``, which moves whole columns. The quick half only knows what all real members send: where a task has a named
topology, say, it raises ``Unusual``, and the careful half does the work.
"""

from __future__ import annotations

from typing import Any, TypeVar

from subscription_codec._wire import Reader, Wire

T = TypeVar("T")


class Unusual(Exception):
    """Nothing that the quick half knows; whether it is right or wrong, the careful half will say."""


class List(Wire[T]):
    """A list that is not on the wire as it is in the record: ``inner`` is how it travels."""

    inner: Wire[Any]

    def __init__(self) -> None:
        self.name = self.inner.name
        self.size = self.inner.size

    def read(self, reader: Reader) -> T:
        return self.decoded(self.inner.read(reader), reader)

    def write(self, out: bytearray, value: T) -> None:
        self.inner.write(out, self.encoded(value))

    def from_json(self, value: Any) -> T:
        return self.inner.from_json(value)  # type: ignore[no-any-return]

    def decoded(self, value: Any, _reader: Reader) -> T:
        """Turn what travels into what the record holds."""
        return value  # type: ignore[no-any-return]

    def encoded(self, value: T) -> Any:
        """Turn what the record holds into what travels."""
        return value


def items(data: bytes, at: int, size: int) -> tuple[int, int, int]:
    """Read a count of items of ``size`` bytes: the count, and where the items begin and end."""
    count, first = int.from_bytes(data[at : at + 4], "big"), at + 4  # a negative one is far too large
    end = first + count * size
    if end > len(data):
        raise Unusual
    return count, first, end
