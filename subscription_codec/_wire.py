"""Wire types: how one value stands in bytes. All integers are big-endian and signed, as in Java.

Rule 1: a wire type knows bytes and values, never versions or records (those are in ``layout``).
Rule 2: whatever the bytes, reading gives a value or raises ``DecodeError``; a count is believed only after it was
held against the bytes that are left, so memory stays a small multiple of the input.
Errors are raised without a path; each container adds its own part on the way out (``DecodeError.within``), which
costs nothing while all is well.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, Protocol, TypeVar
from uuid import UUID

from subscription_codec.errors import BadCount, BadText, DecodeError, EncodeError, Truncated
from subscription_codec.records import TaskId

T = TypeVar("T")
_SWAP = sys.byteorder == "little"
_INT32_ARRAY = next(code for code in "il" if array(code).itemsize == 4)


class Reader:
    """A position in some bytes. Moves forward only after it has seen that there is enough left."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

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

    def rest(self) -> bytes:
        """Read all that is left."""
        return self.take(self.left)


class Wire(Protocol[T]):
    """How a ``T`` stands in bytes: ``size`` is the least number of bytes, ``name`` is for the docs."""

    @property
    def name(self) -> str: ...
    @property
    def size(self) -> int: ...
    def read(self, reader: Reader) -> T: ...
    def write(self, out: bytearray, value: T) -> None: ...
    def parts(self, value: T) -> Iterable[tuple[str, Wire[Any], Any]]:
        """Break a value into (path, wire type, value); nothing for a leaf."""
        ...

    def from_json(self, value: Any) -> T:
        """Make the value from its JSON form (the inverse of ``fields.to_json``)."""
        ...


class Leaf:
    """A value that has no parts of its own, and is the same in JSON."""

    def parts(self, _value: Any) -> Iterable[tuple[str, Wire[Any], Any]]:
        return ()

    def from_json(self, value: Any) -> Any:
        return value


class Integer(Leaf):
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


class Uuid(Leaf):
    """Two int64: the most and the least significant half."""

    name = "uuid"
    size = 16

    def read(self, reader: Reader) -> UUID:
        return UUID(bytes=reader.take(16))

    def write(self, out: bytearray, value: UUID) -> None:
        if not isinstance(value, UUID):
            raise EncodeError(f"needs a UUID, got {value!r}")
        out += value.bytes

    def from_json(self, value: Any) -> UUID:
        try:
            return UUID(value)
        except (ValueError, AttributeError, TypeError):
            raise EncodeError(f"needs a UUID, got {value!r}") from None


class NullableBytes(Leaf):
    """int32 length and that many bytes; -1 for null."""

    name = "nullable bytes"
    size = 4

    def read(self, reader: Reader) -> bytes | None:
        if reader.data[reader.at : reader.at + 4] == b"\xff\xff\xff\xff":
            reader.at += 4
            return None
        return reader.take(reader.count(1))

    def write(self, out: bytearray, value: bytes | None) -> None:
        out += b"\xff\xff\xff\xff" if value is None else len(value).to_bytes(4, "big") + value


class Utf8(Leaf):
    """Length and standard UTF-8. Bytes that are not UTF-8 survive as surrogate escapes.

    Java reads them too (as U+FFFD), so a leader must not die of them.
    """

    def __init__(self, length: int, *, nullable: bool = False) -> None:
        self.size = length
        self.nullable = nullable
        self.name = f"{'nullable ' if nullable else ''}string (int{length * 8} length)"

    def read(self, reader: Reader) -> str | None:
        if self.nullable and reader.data[reader.at : reader.at + self.size] == b"\xff" * self.size:
            reader.at += self.size
            return None
        return reader.take(reader.count(1, self.size)).decode("utf-8", "surrogateescape")

    def write(self, out: bytearray, value: str | None) -> None:
        if value is None:
            if not self.nullable:
                raise EncodeError("must not be null")
            out += b"\xff" * self.size
            return
        try:
            text = value.encode("utf-8", "surrogateescape")
            out += len(text).to_bytes(self.size, "big", signed=True) + text
        except (UnicodeEncodeError, OverflowError, AttributeError) as error:
            raise EncodeError(f"cannot be written as {self.name}: {error}") from None


class JavaUtf(Leaf):
    """uint16 length and *modified* UTF-8 (``DataOutputStream.writeUTF``).

    U+0000 is C0 80 and a character beyond U+FFFF is a pair of surrogates of three bytes each.
    """

    name = "UTF (uint16 length, modified UTF-8)"
    size = 2

    def read(self, reader: Reader) -> str:
        length = int.from_bytes(reader.take(2), "big")
        if length > reader.left:
            raise BadCount(f"a text of {length} bytes, but {reader.left} bytes are left", reader.at - 2)
        at = reader.at
        raw = reader.take(length)
        return raw.decode("ascii") if raw.isascii() else _from_modified_utf8(raw, at)

    def write(self, out: bytearray, value: str) -> None:
        try:
            text = value.encode("ascii") if value.isascii() and "\0" not in value else _to_modified_utf8(value)
        except AttributeError:
            raise EncodeError(f"needs a text, got {value!r}") from None
        if len(text) > 0xFFFF:
            raise EncodeError(f"a text of {len(text)} bytes; 65535 is the most that writeUTF can write")
        out += len(text).to_bytes(2, "big") + text


def _from_modified_utf8(raw: bytes, at: int) -> str:
    """Read as ``DataInputStream.readUTF`` does, over-long forms included. ``at``: offset of ``raw``, for errors."""
    units = array("H")
    i = 0
    while i < len(raw):
        first = raw[i]
        size = 1 if first < 0x80 else 2 if first >> 5 == 0b110 else 3 if first >> 4 == 0b1110 else 0
        tail = raw[i + 1 : i + size]
        if size == 0 or len(tail) < size - 1 or any(byte >> 6 != 0b10 for byte in tail):
            raise BadText("not modified UTF-8", at + i)
        unit = first if size == 1 else first & (0x1F if size == 2 else 0x0F)
        for byte in tail:
            unit = unit << 6 | byte & 0x3F
        units.append(unit)
        i += size
    return units.tobytes().decode("utf-16-" + ("le" if _SWAP else "be"), "surrogatepass")


def _to_modified_utf8(value: str) -> bytes:
    # One UTF-16 unit at a time, so that surrogate pairs become two groups of three bytes.
    units = memoryview(value.encode("utf-16-" + ("le" if _SWAP else "be"), "surrogatepass")).cast("H")
    return b"".join(b"\xc0\x80" if unit == 0 else chr(unit).encode("utf-8", "surrogatepass") for unit in units)


class Array(Generic[T]):
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
        out += len(value).to_bytes(4, "big")
        for index, item in enumerate(value):
            try:
                self.item.write(out, item)
            except EncodeError as error:
                raise error.within(f"[{index}]") from None

    def parts(self, value: Sequence[T]) -> Iterable[tuple[str, Wire[Any], Any]]:
        yield "count", Integer(4), len(value)
        for index, item in enumerate(value):
            yield f"[{index}]", self.item, item

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


class Struct(Generic[T]):
    """Named values one after the other, made into a ``T`` (a named tuple).

    ``whole``: small enough to be explained in one line, like ``0_3`` or ``orders-3``.
    """

    def __init__(self, name: str, make: Callable[..., T], *, whole: bool = False, **members: Wire[Any]) -> None:
        self.name = name
        self.make = make
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
        for (name, wire), part in zip(self.members, value, strict=True):  # type: ignore[call-overload]  # a tuple
            try:
                wire.write(out, part)
            except EncodeError as error:
                raise error.within(name) from None

    def parts(self, value: Any) -> Iterable[tuple[str, Wire[Any], Any]]:
        return (
            [] if self.whole else [(name, wire, part) for (name, wire), part in zip(self.members, value, strict=True)]
        )

    def from_json(self, value: Any) -> T:
        if not isinstance(value, list) or len(value) != len(self.members):
            raise EncodeError(f"needs [{', '.join(name for name, _ in self.members)}], got {value!r}")
        values: list[Any] = []
        try:
            for (_, wire), part in zip(self.members, value, strict=True):
                values.append(wire.from_json(part))
        except EncodeError as error:
            raise error.within(self.members[len(values)][0]) from None
        return self.make(*values)


class TaskIds(Array[TaskId]):
    """An array of task ids, read and written in one go: a member of a large group sends thousands of them."""

    def read(self, reader: Reader) -> tuple[TaskId, ...]:
        numbers = array(_INT32_ARRAY, reader.take(8 * reader.count(8)))
        if _SWAP:  # pragma: no branch - the other branch is for big-endian machines
            numbers.byteswap()
        return tuple(map(TaskId, numbers[::2], numbers[1::2]))

    def write(self, out: bytearray, value: Sequence[TaskId]) -> None:
        try:
            numbers = array(_INT32_ARRAY, [number for task in value for number in task])
        except (OverflowError, TypeError):
            return super().write(out, value)  # the slow way names the task that does not fit
        if _SWAP:  # pragma: no branch - the other branch is for big-endian machines
            numbers.byteswap()
        out += len(value).to_bytes(4, "big") + numbers.tobytes()
        return None
