"""Wire types: the encoding of one value. All integers are big-endian and signed, as in Java.

Rule 1: a wire type knows bytes and values, never versions or records (those are in ``schema``).
Rule 2: for any bytes, ``read`` returns a value or raises ``DecodeError``. It checks a count against the bytes that are
left before it uses the count, so memory stays a small multiple of the input.
Errors are raised without a path; each container adds its own part (``DecodeError.within``), which costs nothing unless
there is an error.

This is the reference path of the codec: its errors have the field and the offset. ``codegen`` compiles the fast path
from the same layouts. Texts are in ``text``, structs in ``structs``, long lists in ``tasks`` and ``hosts``.
"""

from __future__ import annotations

import base64
import binascii
from abc import ABC, abstractmethod
from array import array
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar, Final, Generic, TypeVar
from uuid import UUID

from streams_assignor.codec.columns import INT32, Rows
from streams_assignor.codec.errors import BadCount, DecodeError, EncodeError, Truncated

T = TypeVar("T")

_MOST_VARINT_BYTES: Final = 5


class Reader:
    """A position in some bytes. It moves forward only after a check that enough bytes are left."""

    __slots__ = ("data", "position", "topic_dictionary")

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.position = at
        self.topic_dictionary: Sequence[Any] = ()
        """The topic dictionary of the message; set by ``hosts.TopicDictionaryType``."""

    @property
    def remaining(self) -> int:
        """The number of bytes that are left."""
        return len(self.data) - self.position

    def read_bytes(self, size: int) -> bytes:
        """Read ``size`` bytes."""
        at = self.position
        raw = self.data[at : at + size]
        if len(raw) < size:
            raise Truncated(f"needs {size} bytes, {len(raw)} left", at)
        self.position = at + size
        return raw

    def read_integer(self, size: int, *, signed: bool = True) -> int:
        """Read one integer of ``size`` bytes."""
        return int.from_bytes(self.read_bytes(size), "big", signed=signed)

    def read_count(self, item_size: int, size: int = 4) -> int:
        """Read a count of items that take at least ``item_size`` bytes each."""
        at = self.position
        count = int.from_bytes(self.read_bytes(size), "big", signed=True)
        if count < 0:
            raise BadCount(f"a count of {count}", at)
        if count * item_size > len(self.data) - self.position:
            raise BadCount(f"{count} items of {item_size} bytes or more, but {self.remaining} bytes are left", at)
        return count

    def skip_null(self, size: int) -> bool:
        """Skip a length of ``size`` bytes if it is negative, which is null. Kafka writes -1 and reads any."""
        negative = self.data[self.position : self.position + 1] >= b"\x80" and self.remaining >= size
        self.position += size if negative else 0
        return negative

    def read_rest(self) -> bytes:
        """Read all bytes that are left."""
        return self.read_bytes(self.remaining)


class WireType(ABC, Generic[T]):
    """The encoding of a ``T``."""

    name: str
    """The name on the reference page."""
    size: int
    """The smallest number of bytes of a value."""

    @abstractmethod
    def read(self, reader: Reader) -> T:
        """Decode one value; ``DecodeError`` if it is malformed."""

    @abstractmethod
    def write(self, out: bytearray, value: T) -> None:
        """Append one encoded value; ``EncodeError`` if it does not fit."""

    def from_json(self, value: Any) -> T:
        """Return the value of a JSON form (the inverse of ``json_fields.to_json``); here the value is that form."""
        return value  # type: ignore[no-any-return]

    def fast_read(self, data: bytes, at: int) -> tuple[T, int]:
        """Decode one value at an offset; return it and its end. Only for a type that ``codegen`` has no source for."""
        reader = Reader(data, at)
        del reader.topic_dictionary  # a type that needs it raises AttributeError, and the reference path decides
        value = self.read(reader)
        return value, reader.position

    def fast_write(self, value: T) -> bytes | bytearray:
        """Encode one value; as ``fast_read``."""
        out = bytearray()
        self.write(out, value)
        return out


class Integer(WireType[int]):
    """A big-endian integer."""

    def __init__(self, size: int, *, signed: bool = True) -> None:
        self.size = size
        self.signed = signed
        self.name = f"{'' if signed else 'u'}int{size * 8}"

    def read(self, reader: Reader) -> int:
        return reader.read_integer(self.size, signed=self.signed)

    def from_json(self, value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise EncodeError(f"needs an integer, got {value!r}")
        return value

    def write(self, out: bytearray, value: int) -> None:
        try:
            out += value.to_bytes(self.size, "big", signed=self.signed)
        except (OverflowError, AttributeError, TypeError):
            kind = "an integer" if self.signed else "an unsigned integer"
            raise EncodeError(f"needs {kind} of {self.size} bytes, got {value!r}") from None


INT_8: Final = Integer(1)
INT_16: Final = Integer(2)
INT_32: Final = Integer(4)
INT_64: Final = Integer(8)
UINT_16: Final = Integer(2, signed=False)


@lru_cache(maxsize=4096)
def cached_uuid(raw: bytes) -> UUID:
    """Return the UUID of 16 bytes. Cached: the processes of a group stay the same, and making a UUID is slow."""
    return UUID(int=int.from_bytes(raw, "big"))


class Uuid(WireType[UUID]):
    """A UUID as two int64: the most and the least significant half."""

    name = "uuid"
    size = 16

    def read(self, reader: Reader) -> UUID:
        return cached_uuid(reader.read_bytes(16))

    def write(self, out: bytearray, value: UUID) -> None:
        if not isinstance(value, UUID):
            raise EncodeError(f"needs a UUID, got {value!r}")
        out += value.bytes

    def from_json(self, value: Any) -> UUID:
        try:
            return UUID(value)
        except (ValueError, AttributeError, TypeError):
            raise EncodeError(f"needs a UUID, got {value!r}") from None


class KafkaUuid(WireType[str]):
    """A UUID; its value is the 22 characters of Kafka's ``Uuid.toString``."""

    name = "uuid"
    size = 16

    def read(self, reader: Reader) -> str:
        return base64.urlsafe_b64encode(reader.read_bytes(16))[:22].decode("ascii")

    def write(self, out: bytearray, value: str) -> None:
        try:
            raw = base64.urlsafe_b64decode(value + "==")
        except (TypeError, ValueError, binascii.Error):
            raw = b""
        if len(raw) != 16:
            raise EncodeError(f"needs a UUID of 22 characters, got {value!r}")
        out += raw


class Boolean(WireType[bool]):
    """One byte; any but 0 is true, as in Java."""

    name = "bool"
    size = 1

    def read(self, reader: Reader) -> bool:
        return reader.read_bytes(1) != b"\0"

    def write(self, out: bytearray, value: bool) -> None:
        if not isinstance(value, bool):
            raise EncodeError(f"needs true or false, got {value!r}")
        out.append(value)


KAFKA_UUID: Final = KafkaUuid()
BOOLEAN: Final = Boolean()


def read_unsigned_varint(reader: Reader) -> int:
    """Read an unsigned varint of at most 32 bits."""
    at, value = reader.position, 0
    for index in range(_MOST_VARINT_BYTES):
        byte = reader.read_bytes(1)[0]
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value
    raise BadCount("an unsigned varint of more than 5 bytes", at)


def unsigned_varint(value: int) -> bytes:
    """Return an unsigned varint."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


class Length:
    """A length, count or null: a varint of ``value + 1`` if ``size`` is 0, else a signed integer of ``size`` bytes."""

    def __init__(self, size: int) -> None:
        self.size = size

    def read(self, reader: Reader, item_size: int, *, nullable: bool) -> int | None:
        """Read it; None is null. ``BadCount`` if the bytes left cannot hold as many items of at least ``item_size``."""
        if self.size:
            return None if nullable and reader.skip_null(self.size) else reader.read_count(item_size, self.size)
        at, count = reader.position, read_unsigned_varint(reader) - 1
        if count * item_size > reader.remaining:
            raise BadCount(f"{count} items of {item_size} bytes or more, but {reader.remaining} bytes are left", at)
        if count < 0 and not nullable:
            raise BadCount("null, which this field cannot be", at)
        return None if count < 0 else count

    def write(self, out: bytearray, value: int | None) -> None:
        """Append it; ``EncodeError`` if it does not fit."""
        if not self.size:
            out += unsigned_varint(0 if value is None else value + 1)
            return
        try:
            out += (-1 if value is None else value).to_bytes(self.size, "big", signed=True)
        except OverflowError:
            raise EncodeError(f"a length of {value} does not fit into {self.size} bytes") from None


class Sized(WireType[T]):
    """A value after its length, of ``length`` bytes; 0: an unsigned varint (KIP-482)."""

    def __init__(self, length: int, *, nullable: bool = False) -> None:
        self.length = Length(length)
        self.nullable = nullable
        self.size = length or 1

    def read_length(self, reader: Reader, item_size: int = 1) -> int | None:
        """Read the length or count; None is null."""
        return self.length.read(reader, item_size, nullable=self.nullable)

    def write_length(self, out: bytearray, value: Sequence[Any] | None) -> bool:
        """Append the length or count; return whether there is a value after it."""
        if value is None and not self.nullable:
            raise EncodeError("must not be null")
        try:
            self.length.write(out, None if value is None else len(value))
        except TypeError:
            raise EncodeError(f"needs {self.name}, got {value!r}") from None
        return value is not None


class Bytes(Sized["bytes | None"]):
    """Bytes; in JSON they are hex."""

    def __init__(self, length: int, *, nullable: bool = False) -> None:
        super().__init__(length, nullable=nullable)
        self.name = "nullable bytes" if nullable else "bytes"

    def read(self, reader: Reader) -> bytes | None:
        length = self.read_length(reader)
        return None if length is None else reader.read_bytes(length)

    def from_json(self, value: Any) -> bytes | None:
        try:
            return None if value is None else bytes.fromhex(value)
        except (TypeError, ValueError):
            raise EncodeError(f"needs hex or null, got {value!r}") from None

    def write(self, out: bytearray, value: bytes | None) -> None:
        if value is not None and not isinstance(value, bytes):
            raise EncodeError(f"needs bytes, got {value!r}")
        self.write_length(out, value)
        out += value or b""


BYTES: Final = Bytes(4)


class Array(Sized["Sequence[Any] | None"]):
    """Items after their count. A long list is decoded to rows, if its items may be of different sizes.

    ``most``: the longest list that is read, None if any is.
    """

    MAX_TUPLE: Final = 16
    """A list up to this length is decoded at once, which is faster."""
    make: ClassVar[type[tuple[Any, ...]] | type[list[Any]]] = tuple

    def __init__(
        self, item: WireType[Any], length: int = 4, *, nullable: bool = False, most: int | None = None
    ) -> None:
        super().__init__(length, nullable=nullable)
        self.item = item
        self.most = most
        self.may_be_rows = self.make is tuple and most is None and not isinstance(item, Integer)
        self.name = f"[{item.name}]"

    def read(self, reader: Reader) -> Sequence[Any] | None:
        at, count = reader.position, self.read_length(reader, self.item.size)
        if count is None:
            return None
        if self.most is not None and count > self.most:
            raise BadCount(f"{count} items; {self.most} is the most that is read", at)
        read, items, offsets = self.item.read, [], array(INT32)
        in_rows = self.may_be_rows and count > self.MAX_TUPLE
        try:
            for _ in range(count):
                offsets.append(reader.position)
                item = read(reader)
                if not in_rows:
                    items.append(item)
        except DecodeError as error:
            raise error.within(f"[{len(offsets) - 1}]") from None
        return Rows(reader.data, offsets, self._read_at) if in_rows else self.make(items)

    def _read_at(self, data: bytes, at: int) -> Any:
        return self.item.read(Reader(data, at))

    def write(self, out: bytearray, value: Sequence[Any] | None) -> None:
        if not self.write_length(out, value):
            return
        for index, item in enumerate(value or ()):
            try:
                self.item.write(out, item)
            except EncodeError as error:
                raise error.within(f"[{index}]") from None

    def from_json(self, value: Any) -> Sequence[Any]:
        if not isinstance(value, list):
            raise EncodeError(f"needs a list, got {value!r}")
        items: list[Any] = []
        try:
            for item in value:
                items.append(self.item.from_json(item))  # noqa: PERF401 - as in read
        except EncodeError as error:
            raise error.within(f"[{len(items)}]") from None
        return self.make(items)


class List(Array):
    """An array whose value is a list, as in JSON."""

    make = list


class ColumnType(WireType[T]):
    """A long list, whose value in the record (a column) differs from its value on the wire.

    The reference path is that of ``inner``. The fast path moves whole columns. It only supports what all real members
    send: for a task with a named topology, for example, it raises ``FastPathMiss``.
    """

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
