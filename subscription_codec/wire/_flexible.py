"""Wire types of Kafka's generated messages, besides those of ``types`` and ``text``: arrays, tagged fields, structs.

A version of a message is *flexible* (KIP-482) or not. In a flexible version, lengths are unsigned varints of length + 1
(0 is null), and each struct ends with its tagged fields. In other versions lengths are int16 (strings) or int32, and -1
is null. A value is what its JSON form is in Kafka's ``...JsonConverter``: a struct is a dict, a UUID is 22 characters.
Bytes stay bytes.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from subscription_codec.errors import BadCount, DecodeError, EncodeError
from subscription_codec.wire.types import Reader, Sized, WireType, read_unsigned_varint, unsigned_varint

T = TypeVar("T")

UNKNOWN_TAGS: Final = "_unknownTaggedFields"
"""The key of the tagged fields that a schema does not have: {tag: bytes}. A newer release wrote them."""


class _JsonValue(WireType[T]):
    """A type whose values are their JSON form already, except bytes."""

    def from_json(self, value: Any) -> T:
        return value  # type: ignore[no-any-return]


class List(_JsonValue[Any], Sized[Any]):
    """An array; its value is a list."""

    def __init__(self, item: WireType[Any], length: int, *, nullable: bool) -> None:
        super().__init__(length, nullable=nullable)
        self.item = item
        self.name = f"[{item.name}]"

    def read(self, reader: Reader) -> list[Any] | None:
        count = self.read_length(reader, self.item.size)
        if count is None:
            return None
        read, items = self.item.read, []
        try:
            for _ in range(count):
                items.append(read(reader))  # noqa: PERF401 - the error below needs the index
        except DecodeError as error:
            raise error.within(f"[{len(items)}]") from None
        return items

    def write(self, out: bytearray, value: Sequence[Any] | None) -> None:
        if not self.write_length(out, value):
            return
        for index, item in enumerate(value or ()):
            try:
                self.item.write(out, item)
            except EncodeError as error:
                raise error.within(f"[{index}]") from None


class KafkaUuid(_JsonValue[str]):
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


class Boolean(_JsonValue[bool]):
    """One byte; any but 0 is true, as in Java."""

    name = "bool"
    size = 1

    def read(self, reader: Reader) -> bool:
        return reader.read_bytes(1) != b"\0"

    def write(self, out: bytearray, value: bool) -> None:
        if not isinstance(value, bool):
            raise EncodeError(f"needs true or false, got {value!r}")
        out.append(value)


class Nullable(_JsonValue["T | None"]):
    """A struct that can be null: int8 -1 is null, 1 comes before a value. In a tagged field, 0 is null.

    Java: ``MessageDataGenerator``, which reads an unsigned varint in a tagged field.
    """

    def __init__(self, inner: WireType[T], tagged: bool = False) -> None:
        self.inner = inner
        self.null = b"\0" if tagged else b"\xff"
        self.largest_null = 0 if tagged else -1
        self.name = f"nullable {inner.name}"
        self.size = 1

    def read(self, reader: Reader) -> T | None:
        return None if reader.read_integer(1) <= self.largest_null else self.inner.read(reader)

    def write(self, out: bytearray, value: T | None) -> None:
        out += self.null if value is None else b"\x01"
        if value is not None:
            self.inner.write(out, value)


class Message(_JsonValue[dict[str, Any]]):
    """A struct; its value is a dict. A tagged field that is absent has its default value, and no key.

    Args:
        name: The name on the reference page.
        fields: The types of the fields, by name, in wire order.
        tagged: The name and type of each known tagged field, by tag; None: the version is not flexible.
    """

    def __init__(
        self,
        name: str,
        fields: Mapping[str, WireType[Any]],
        tagged: Mapping[int, tuple[str, WireType[Any]]] | None = None,
    ) -> None:
        self.name = name
        self.fields = tuple(fields.items())
        self.tagged = tagged
        self.size = sum(wire.size for wire in fields.values()) + (tagged is not None)

    def read(self, reader: Reader) -> dict[str, Any]:
        values: dict[str, Any] = {}
        try:
            for name, wire in self.fields:
                values[name] = wire.read(reader)
        except DecodeError as error:
            raise error.within(self.fields[len(values)][0]) from None
        if self.tagged is not None:
            self._read_tagged(self.tagged, reader, values)
        return values

    def _read_tagged(
        self, tagged: Mapping[int, tuple[str, WireType[Any]]], reader: Reader, values: dict[str, Any]
    ) -> None:
        for _ in range(read_unsigned_varint(reader)):
            tag, size = read_unsigned_varint(reader), read_unsigned_varint(reader)
            known, start = tagged.get(tag), reader.position
            if known is None:
                values.setdefault(UNKNOWN_TAGS, {})[tag] = reader.read_bytes(size)
                continue
            try:
                values[known[0]] = known[1].read(reader)
            except DecodeError as error:
                raise error.within(known[0]) from None
            if reader.position != start + size:
                raise BadCount(f"a tagged field of {size} bytes that takes {reader.position - start}", start, known[0])

    def write(self, out: bytearray, value: Mapping[str, Any]) -> None:
        if not isinstance(value, Mapping):
            raise EncodeError(f"needs {self.name}, got {value!r}")
        for name, wire in self.fields:
            _write_field(out, name, wire, value)
        if self.tagged is not None:
            self._write_tagged(self.tagged, out, value)

    def _write_tagged(
        self, tagged: Mapping[int, tuple[str, WireType[Any]]], out: bytearray, value: Mapping[str, Any]
    ) -> None:
        encoded: dict[int, bytes] = dict(value.get(UNKNOWN_TAGS, {}))
        for tag, (name, wire) in tagged.items():
            if name in value:
                part = bytearray()
                _write_field(part, name, wire, value)
                encoded[tag] = bytes(part)
        out += unsigned_varint(len(encoded))
        for tag in sorted(encoded):
            out += unsigned_varint(tag) + unsigned_varint(len(encoded[tag])) + encoded[tag]


def _write_field(out: bytearray, name: str, wire: WireType[Any], value: Mapping[str, Any]) -> None:
    try:
        wire.write(out, value[name])
    except KeyError:
        raise EncodeError("is missing", name) from None
    except EncodeError as error:
        raise error.within(name) from None
