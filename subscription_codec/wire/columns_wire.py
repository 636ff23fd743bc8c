"""Base class of the wire types of long lists, which have two paths.

The reference path is that of an ordinary wire type (``inner``). The fast path, ``fast_read`` and ``fast_write``, moves
whole columns. It only supports what all real members send: for a task with a named topology, for example, it raises
``FastPathMiss``, and the reference path decodes the message.
"""

from __future__ import annotations

from typing import Any, TypeVar

from subscription_codec.wire.types import Reader, WireType

T = TypeVar("T")


class FastPathMiss(Exception):
    """The fast path does not support this message; the reference path decides whether it is valid."""


class ColumnType(WireType[T]):
    """A list whose value in the record differs from its value on the wire."""

    inner: WireType[Any]
    """The encoding of the value on the wire."""

    def __init__(self) -> None:
        self.name = self.inner.name
        self.size = self.inner.size

    def read(self, reader: Reader) -> T:
        return self.from_wire(self.inner.read(reader), reader)

    def write(self, out: bytearray, value: T) -> None:
        self.inner.write(out, self.to_wire(value))

    def from_json(self, value: Any) -> T:
        return self.inner.from_json(value)  # type: ignore[no-any-return]

    def from_wire(self, value: Any, _reader: Reader) -> T:
        """Return the value for the record."""
        return value  # type: ignore[no-any-return]

    def to_wire(self, value: T) -> Any:
        """Return the value for the wire."""
        return value


def array_bounds(data: bytes, at: int, item_size: int) -> tuple[int, int, int]:
    """Read a count of items of ``item_size`` bytes; return it with the start and the end of the items."""
    count, first = int.from_bytes(data[at : at + 4], "big"), at + 4  # a negative count is far too large
    end = first + count * item_size
    if end > len(data):
        raise FastPathMiss
    return count, first, end
