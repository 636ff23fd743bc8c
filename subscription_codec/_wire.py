"""Wire types: how one value stands in bytes. All integers are big-endian and signed, as in Java.

Rule 1: a wire type knows bytes and values, never versions or records (those are in ``layout``).
Rule 2: whatever the bytes, reading gives a value or raises ``DecodeError``; a count is believed only after it was
held against the bytes that are left, so memory stays a small multiple of the input.
Errors are raised without a path; each container adds its own part on the way out (``DecodeError.within``), which
costs nothing while all is well.

This is the careful half of the codec: it can say what is wrong and where. ``_compiled`` makes the quick half from the
same layouts. Texts are in ``_text``, long lists in ``_tasks`` and ``_hosts``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

from subscription_codec.errors import BadCount, DecodeError, EncodeError, Truncated

T = TypeVar("T")


class Reader:
    """A position in some bytes. Moves forward only after it has seen that there is enough left.

    ``topics`` is the dictionary of the message, once it has been read (``_hosts.Topics``).
    """

    __slots__ = ("at", "data", "topics")

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at
        self.topics: tuple[Any, ...] = ()

    @property
    def left(self) -> int:
        """Bytes not read yet."""
        return len(self.data) - self.at

    def take(self, size: int) -> bytes:
        """Read ``size`` bytes."""
        at = self.at
        taken = self.data[at : at + size]
        if len(taken) < size:
            raise Truncated(f"needs {size} bytes, {len(taken)} left", at)
        self.at = at + size
        return taken

    def integer(self, size: int) -> int:
        """Read one integer of ``size`` bytes."""
        return int.from_bytes(self.take(size), "big", signed=True)

    def count(self, item_size: int, size: int = 4) -> int:
        """Read a count of items that take at least ``item_size`` bytes each."""
        at = self.at
        count = int.from_bytes(self.take(size), "big", signed=True)
        if count < 0:
            raise BadCount(f"a count of {count}", at)
        if count * item_size > len(self.data) - self.at:
            raise BadCount(f"{count} items of {item_size} bytes or more, but {self.left} bytes are left", at)
        return count

    def null(self, size: int) -> bool:
        """Pass a length of ``size`` bytes if it is negative: that is null. Kafka writes -1 and reads any."""
        negative = self.data[self.at : self.at + 1] >= b"\x80" and self.left >= size
        self.at += size if negative else 0
        return negative

    def rest(self) -> bytes:
        """Read all that is left."""
        return self.take(self.left)


class Wire(ABC, Generic[T]):
    """How a ``T`` stands in bytes: ``size`` is the least number of bytes, ``name`` is for the docs."""

    name: str
    size: int

    @abstractmethod
    def read(self, reader: Reader) -> T:
        """Read one; ``DecodeError`` says what is wrong."""

    @abstractmethod
    def write(self, out: bytearray, value: T) -> None:
        """Append one; ``EncodeError`` says what is wrong."""

    @abstractmethod
    def from_json(self, value: Any) -> T:
        """Make the value from its JSON form (the inverse of ``fields.to_json``)."""

    def load(self, data: bytes, at: int) -> tuple[T, int]:
        """Read one at an offset and say where it ends; the compiled reader calls this if it knows no better."""
        reader = Reader(data, at)
        return self.read(reader), reader.at

    def dump(self, value: T) -> bytes | bytearray:
        """Return the bytes of one; the compiled writer calls this if it knows no better."""
        out = bytearray()
        self.write(out, value)
        return out


class Integer(Wire[int]):
    """A signed big-endian integer."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.name = f"int{size * 8}"

    def read(self, reader: Reader) -> int:
        return reader.integer(self.size)

    def from_json(self, value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise EncodeError(f"needs an integer, got {value!r}")
        return value

    def write(self, out: bytearray, value: int) -> None:
        try:
            out += value.to_bytes(self.size, "big", signed=True)
        except (OverflowError, AttributeError, TypeError):
            raise EncodeError(f"needs an integer of {self.size} bytes, got {value!r}") from None


INT_32: Final = Integer(4)
INT_64: Final = Integer(8)


@lru_cache(maxsize=4096)
def uuid_of(raw: bytes) -> UUID:
    """Make a UUID of its 16 bytes. A group's processes stay the same, and a new UUID is slow to make."""
    return UUID(bytes=raw)


class Uuid(Wire[UUID]):
    """Two int64: the most and the least significant half."""

    name = "uuid"
    size = 16

    def read(self, reader: Reader) -> UUID:
        return uuid_of(reader.take(16))

    def write(self, out: bytearray, value: UUID) -> None:
        if not isinstance(value, UUID):
            raise EncodeError(f"needs a UUID, got {value!r}")
        out += value.bytes

    def from_json(self, value: Any) -> UUID:
        try:
            return UUID(value)
        except (ValueError, AttributeError, TypeError):
            raise EncodeError(f"needs a UUID, got {value!r}") from None


class NullableBytes(Wire["bytes | None"]):
    """int32 length and that many bytes; -1 for null."""

    name = "nullable bytes"
    size = 4

    def read(self, reader: Reader) -> bytes | None:
        return None if reader.null(4) else reader.take(reader.count(1))

    def from_json(self, value: Any) -> bytes | None:
        try:
            return None if value is None else bytes.fromhex(value)
        except (TypeError, ValueError):
            raise EncodeError(f"needs hex or null, got {value!r}") from None

    def write(self, out: bytearray, value: bytes | None) -> None:
        out += b"\xff\xff\xff\xff" if value is None else len(value).to_bytes(4, "big") + value


class Array(Wire[tuple[T, ...]]):
    """int32 count, then the items."""

    size = 4

    def __init__(self, item: Wire[T]) -> None:
        self.item = item
        self.name = f"[{item.name}]"

    def read(self, reader: Reader) -> tuple[T, ...]:
        count = reader.count(self.item.size)
        read, items = self.item.read, []
        try:
            for _ in range(count):
                items.append(read(reader))  # noqa: PERF401 - the error below needs to know how far we came
        except DecodeError as error:
            raise error.within(f"[{len(items)}]") from None
        return tuple(items)

    def write(self, out: bytearray, value: Sequence[T]) -> None:
        try:
            out += len(value).to_bytes(4, "big")
        except TypeError:
            raise EncodeError(f"needs a sequence, got {value!r}") from None
        for index, item in enumerate(value):
            try:
                self.item.write(out, item)
            except EncodeError as error:
                raise error.within(f"[{index}]") from None

    def from_json(self, value: Any) -> tuple[T, ...]:
        if not isinstance(value, list):
            raise EncodeError(f"needs a list, got {value!r}")
        items: list[T] = []
        try:
            for item in value:
                items.append(self.item.from_json(item))  # noqa: PERF401 - as in read
        except EncodeError as error:
            raise error.within(f"[{len(items)}]") from None
        return tuple(items)


class Struct(Wire[T]):
    """Named values one after the other.

    ``make`` makes a ``T`` of them, ``take`` takes them out again (default: a ``T`` is a tuple of them). ``listed``
    completes the list that stands for a ``T`` in JSON. ``whole``: small enough to be explained in one line, like
    ``0_3`` or ``orders-3``.
    """

    def __init__(
        self,
        name: str,
        make: Callable[..., T],
        *,
        take: Callable[[Any], Sequence[Any]] | None = None,
        listed: Callable[[list[Any]], list[Any]] = list,
        whole: bool = False,
        **members: Wire[Any],
    ) -> None:
        self.name = name
        self.make = make
        self.take = take
        self.listed = listed
        self.whole = whole
        self.members = tuple(members.items())
        self.size = sum(wire.size for wire in members.values())

    def read(self, reader: Reader) -> T:
        values: list[Any] = []
        try:
            for _, wire in self.members:
                values.append(wire.read(reader))
        except DecodeError as error:
            raise error.within(self.members[len(values)][0]) from None
        return self.make(*values)

    def write(self, out: bytearray, value: T) -> None:
        for name, wire, part in self._named(value):
            try:
                wire.write(out, part)
            except EncodeError as error:
                raise error.within(name) from None

    def from_json(self, value: Any) -> T:
        given = self.listed(value) if isinstance(value, list) else []
        if len(given) != len(self.members):
            raise EncodeError(f"needs [{', '.join(name for name, _ in self.members)}], got {value!r}")
        values: list[Any] = []
        try:
            for (_, wire), part in zip(self.members, given, strict=True):
                values.append(wire.from_json(part))
        except EncodeError as error:
            raise error.within(self.members[len(values)][0]) from None
        return self.make(*values)

    def _named(self, value: Any) -> list[tuple[str, Wire[Any], Any]]:
        taken = value if self.take is None or not isinstance(value, tuple | list) else self.take(value)
        if not isinstance(taken, tuple | list) or len(taken) != len(self.members):
            raise EncodeError(f"needs ({', '.join(name for name, _ in self.members)}), got {value!r}")
        return [(name, wire, part) for (name, wire), part in zip(self.members, taken, strict=True)]
