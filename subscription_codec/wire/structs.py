"""Structs: named fields one after the other, and which versions of a message have which.

The value of a struct is what its ``make`` returns, or a dict by Kafka's names, which is its form in Kafka's
``...JsonConverter``. In a flexible version (KIP-482) a struct ends with its tagged fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from streams_assignor.codec.errors import BadCount, DecodeError, EncodeError
from streams_assignor.codec.wire.types import Reader, WireType, read_unsigned_varint, unsigned_varint

T = TypeVar("T")

UNKNOWN_TAGS: Final = "_unknownTaggedFields"
"""The key of the tagged fields that a schema does not have: {tag: bytes}. A newer release wrote them."""


class Field(NamedTuple):
    """One field, in the terms of Kafka's JSON definitions."""

    name: str
    """The name in Kafka and in JSON."""
    wire: WireType[Any]
    """The encoding, as it is in a version that is not flexible."""
    attribute: str = ""
    """The name in the record; empty: the same."""
    since: int = 0
    """The first version that has it."""
    until: int | None = None
    """The last version that has it; None: it is in all later ones."""
    nullable: int | None = None
    """The first version in which it can be null; None: never."""
    tag: int | None = None
    """The tag of a tagged field."""

    @property
    def key(self) -> str:
        """The name in the value, and in the path of an error."""
        return self.attribute or self.name


class Struct(WireType[Any]):
    """Named values one after the other.

    Args:
        name: The name on the reference page.
        fields: In wire order. Those with a tag are read and written in flexible versions only.
        make: Returns the value from those of the fields; None: it is a dict.
        unpack: Returns the values of the fields from a value; None: it is a dict, or the tuple of them.
        from_list: Returns the values of the JSON form, if it is a list.
        single_line: ``explain`` shows the value on one line, such as ``0_3`` or ``orders-3``.
        flexible: Whether tagged fields follow. One that is absent has its default value, and no key.
    """

    def __init__(
        self,
        name: str,
        *fields: Field,
        make: Callable[..., Any] | None = None,
        unpack: Callable[[Any], Sequence[Any]] | None = None,
        from_list: Callable[[list[Any]], list[Any]] = list,
        single_line: bool = False,
        flexible: bool = False,
    ) -> None:
        self.name = name
        self.fields = fields
        self.make = make
        self.unpack = unpack
        self.from_list = from_list
        self.single_line = single_line
        self.members = tuple(field for field in fields if field.tag is None)
        self.tagged = {field.tag: field for field in fields if field.tag is not None} if flexible else None
        self.size = sum(field.wire.size for field in self.members) + flexible
        self._keys = [field.key for field in self.members]
        self._types = [field.wire for field in self.members]

    def read(self, reader: Reader) -> Any:
        values = self.read_values(reader)
        if self.make is not None:
            return self.make(*values)
        named = dict(zip(self._keys, values, strict=True))
        if self.tagged is not None:
            self._read_tagged(self.tagged, reader, named)
        return named

    def read_values(self, reader: Reader) -> list[Any]:
        """Decode the values of the members."""
        values: list[Any] = []
        try:
            for wire in self._types:
                values.append(wire.read(reader))  # noqa: PERF401 - the error below needs the index
        except DecodeError as error:
            raise error.within(self._keys[len(values)]) from None
        return values

    def _read_tagged(self, tagged: Mapping[int, Field], reader: Reader, named: dict[str, Any]) -> None:
        for _ in range(read_unsigned_varint(reader)):
            tag, size = read_unsigned_varint(reader), read_unsigned_varint(reader)
            field, start = tagged.get(tag), reader.position
            if field is None:
                named.setdefault(UNKNOWN_TAGS, {})[tag] = reader.read_bytes(size)
                continue
            try:
                named[field.key] = field.wire.read(reader)
            except DecodeError as error:
                raise error.within(field.key) from None
            if reader.position != start + size:
                raise BadCount(f"a tagged field of {size} bytes that takes {reader.position - start}", start, field.key)

    def write(self, out: bytearray, value: Any) -> None:
        if self.make is not None:
            self._write_values(out, value)
        elif not isinstance(value, Mapping):
            raise EncodeError(f"needs {self.name}, got {value!r}")
        else:
            for field in self.members:
                _write_named(out, field, value)
            if self.tagged is not None:
                _write_tagged(out, self.tagged, value)

    def _write_values(self, out: bytearray, value: Any) -> None:
        values = value if self.unpack is None or not isinstance(value, tuple | list) else self.unpack(value)
        if not isinstance(values, tuple | list) or len(values) != len(self.members):
            raise EncodeError(f"needs ({', '.join(self._keys)}), got {value!r}")
        for field, part in zip(self.members, values, strict=True):
            try:
                field.wire.write(out, part)
            except EncodeError as error:
                raise error.within(field.key) from None

    def from_json(self, value: Any) -> Any:
        if self.make is None:
            return value
        parts = self.from_list(value) if isinstance(value, list) else []
        if len(parts) != len(self.members):
            raise EncodeError(f"needs [{', '.join(self._keys)}], got {value!r}")
        values: list[Any] = []
        try:
            for field, part in zip(self.members, parts, strict=True):
                values.append(field.wire.from_json(part))
        except EncodeError as error:
            raise error.within(self._keys[len(values)]) from None
        return self.make(*values)


def _write_named(out: bytearray, field: Field, values: Mapping[str, Any]) -> None:
    try:
        field.wire.write(out, values[field.key])
    except KeyError:
        raise EncodeError("is missing", field.key) from None
    except EncodeError as error:
        raise error.within(field.key) from None


def _write_tagged(out: bytearray, tagged: Mapping[int, Field], values: Mapping[str, Any]) -> None:
    encoded: dict[int, bytes] = dict(values.get(UNKNOWN_TAGS, {}))
    for tag, field in tagged.items():
        if field.key in values:
            part = bytearray()
            _write_named(part, field, values)
            encoded[tag] = bytes(part)
    out += unsigned_varint(len(encoded))
    for tag in sorted(encoded):
        out += unsigned_varint(tag) + unsigned_varint(len(encoded[tag])) + encoded[tag]


class Nullable(WireType["T | None"]):
    """A struct that can be null: int8 -1 is null, 1 comes before a value. In a tagged field, 0 is null.

    Java: ``MessageDataGenerator``, which reads an unsigned varint in a tagged field.
    """

    def __init__(self, inner: WireType[T], *, tagged: bool = False) -> None:
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
