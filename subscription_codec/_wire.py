"""Wire types: how one value stands in bytes. All integers are big-endian and signed, as in Java.

Rule 1: a wire type knows bytes and values, never versions or records (those are in ``layout``).
Rule 2: whatever the bytes, reading gives a value or raises ``DecodeError``; a count is believed only after it was
held against the bytes that are left, so memory stays a small multiple of the input.
Errors are raised without a path; each container adds its own part on the way out (``DecodeError.within``), which
costs nothing while all is well.

This is the careful half of the codec: it can say what is wrong and where. ``_compiled`` makes the quick half from the
same layouts, and ``_lists`` has the types of long lists.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Generic, TypeVar
from uuid import UUID

from subscription_codec.errors import BadCount, BadText, DecodeError, EncodeError, Truncated

T = TypeVar("T")
_NATIVE_UTF16 = "utf-16-le" if sys.byteorder == "little" else "utf-16-be"


class Reader:
    """A position in some bytes. Moves forward only after it has seen that there is enough left.

    ``topics`` is the dictionary of the message, once it has been read (``_lists.Topics``).
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

    def from_json(self, value: Any) -> T:
        """Make the value from its JSON form (the inverse of ``fields.to_json``)."""
        return value  # type: ignore[no-any-return]  # checked when it is written

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


def _a_text(value: Any) -> str:
    if not isinstance(value, str):
        raise EncodeError(f"needs a text, got {value!r}")
    return value


class NullableBytes(Wire["bytes | None"]):
    """int32 length and that many bytes; -1 for null."""

    name = "nullable bytes"
    size = 4

    def read(self, reader: Reader) -> bytes | None:
        return None if reader.null(4) else reader.take(reader.count(1))

    def write(self, out: bytearray, value: bytes | None) -> None:
        out += b"\xff\xff\xff\xff" if value is None else len(value).to_bytes(4, "big") + value


class Utf8(Wire["str | None"]):
    """Length and standard UTF-8. Bytes that are not UTF-8 survive as surrogate escapes.

    Java reads them too (as U+FFFD), so a leader must not die of them.
    """

    def __init__(self, length: int, *, nullable: bool = False) -> None:
        self.size = length
        self.nullable = nullable
        self.name = f"{'nullable ' if nullable else ''}string (int{length * 8} length)"

    def read(self, reader: Reader) -> str | None:
        if self.nullable and reader.null(self.size):
            return None
        return reader.take(reader.count(1, self.size)).decode("utf-8", "surrogateescape")

    def from_json(self, value: Any) -> str | None:
        return None if value is None and self.nullable else _a_text(value)

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


class JavaUtf(Wire[str]):
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
        return from_java(reader.take(length), at)

    def from_json(self, value: Any) -> str:
        return _a_text(value)

    def write(self, out: bytearray, value: str) -> None:
        try:
            out += to_java(value)
        except AttributeError:
            raise EncodeError(f"needs a text, got {value!r}") from None


def from_java(raw: bytes, at: int = 0) -> str:
    """Read as ``DataInputStream.readUTF`` does, over-long forms included. ``at``: offset of ``raw``, for errors."""
    if raw.isascii():
        return raw.decode("ascii")
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
    return units.tobytes().decode(_NATIVE_UTF16, "surrogatepass")


def to_java(value: str) -> bytes:
    """Write as ``DataOutputStream.writeUTF`` does, with the length."""
    text = value.encode("ascii") if value.isascii() and "\0" not in value else _to_modified_utf8(value)
    if len(text) > 0xFFFF:
        raise EncodeError(f"a text of {len(text)} bytes; 65535 is the most that writeUTF can write")
    return len(text).to_bytes(2, "big") + text


def _to_modified_utf8(value: str) -> bytes:
    # One UTF-16 unit at a time, so that surrogate pairs become two groups of three bytes.
    units = memoryview(value.encode(_NATIVE_UTF16, "surrogatepass")).cast("H")
    return b"".join(b"\xc0\x80" if unit == 0 else chr(unit).encode("utf-8", "surrogatepass") for unit in units)


class Utf16(Wire["str | None"]):
    """int32 number of UTF-16 code units, and those; none at all for null (the name of a topology in an assignment)."""

    name = "nullable string (int32 length, UTF-16)"
    size = 4

    def read(self, reader: Reader) -> str | None:
        length = 0 if reader.null(4) else reader.count(2)
        return reader.take(2 * length).decode("utf-16-be", "surrogatepass") if length else None

    def from_json(self, value: Any) -> str | None:
        return None if value is None else _a_text(value)

    def write(self, out: bytearray, value: str | None) -> None:
        if value == "":
            raise EncodeError("must not be empty: no characters stand for no name")
        try:
            text = (value or "").encode("utf-16-be", "surrogatepass")
        except AttributeError:
            raise EncodeError(f"needs a text or None, got {value!r}") from None
        out += (len(text) // 2).to_bytes(4, "big") + text


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
