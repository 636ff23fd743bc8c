"""A message: its fields in every version, and the layout of each, which is what is read and written.

A version is *flexible* (KIP-482) or not. In a flexible version lengths are unsigned varints of length + 1 (0 is null),
and each struct ends with its tagged fields. In other versions lengths are integers, and -1 is null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from streams_assignor.codec.errors import EncodeError, TrailingBytes
from streams_assignor.codec.wire.codegen import FALLBACK_ERRORS, CompiledCodec, compile_codec
from streams_assignor.codec.wire.structs import Field, Nullable, Struct
from streams_assignor.codec.wire.types import Array, Reader, Sized, WireType

NOT_FLEXIBLE: Final = 1 << 15
"""``Schema.flexible`` of a message without a flexible version."""


class Layout(Struct):
    """One version of a message: a struct that ends with the bytes.

    Its value is a record, whose ``trailing`` are the bytes after the last field, or a dict, if there is no ``record``.
    """

    def __init__(self, name: str, *fields: Field, record: type[Any] | None = None, flexible: bool = False) -> None:
        super().__init__(name, *fields, flexible=flexible)
        self.record: Any = record

    @cached_property
    def fast_path(self) -> CompiledCodec:
        """The fast path, compiled on first use."""
        return compile_codec(self, self.record)

    @cached_property
    def fast_decode(self) -> Callable[[bytes, int], Any]:
        """The decoder of the fast path; its arguments are the bytes and where the message begins."""
        return self.fast_path.read

    @cached_property
    def fast_encode(self) -> Callable[[Any], bytes]:
        """The encoder of the fast path."""
        return self.fast_path.write

    def decode(self, data: bytes, at: int = 0) -> Any:
        """Decode a message that begins at ``at``; ``DecodeError`` has the first malformed field."""
        try:
            return self.fast_decode(data, at)
        except FALLBACK_ERRORS:
            pass  # free the partial result of the fast path before the reference path starts
        return self.decode_by_reference(data, at)

    def decode_by_reference(self, data: bytes, at: int = 0) -> Any:
        """Decode a message field by field."""
        reader = Reader(data, at)
        if self.record is None:
            named = self.read(reader)
            if reader.remaining:
                raise TrailingBytes(f"{reader.remaining} bytes after the last field", reader.position, self.name)
            return named
        named = dict(zip(self._keys, self.read_values(reader), strict=True))
        record_values = {name: value for name, value in named.items() if name in self.record._fields}
        return self.record(**record_values, trailing=reader.read_rest())

    def encode(self, value: Any) -> bytes:
        """Encode a message; ``EncodeError`` has the first value that does not fit."""
        try:
            return self.fast_encode(value)
        except FALLBACK_ERRORS:
            return self.encode_by_reference(value)

    def encode_by_reference(self, value: Any) -> bytes:
        """Encode a message field by field."""
        out = bytearray()
        if self.record is None:
            self.write(out, value)
            return bytes(out)
        for field in self.members:
            try:
                field.wire.write(out, getattr(value, field.key))
            except EncodeError as error:
                raise error.within(field.key) from None
        if not isinstance(value.trailing, bytes):
            raise EncodeError(f"needs bytes, got {value.trailing!r}", "trailing")
        return bytes(out + value.trailing)


@dataclass(frozen=True, eq=False)
class Schema:
    """All versions of a message."""

    name: str
    fields: tuple[Field, ...]
    """In wire order; those of a name are never in the same version."""
    latest: int = 0
    """The highest version."""
    flexible: int = 0
    """The first flexible version (KIP-482); above ``latest``: none is."""
    record: type[Any] | None = None
    """The class of its values, a named tuple that ends with ``trailing``; None: they are dicts."""
    earliest: int = 0
    """The lowest version."""

    @cached_property
    def layouts(self) -> dict[int, Layout]:
        """The layout of each version."""
        return {version: self._layout(version) for version in range(self.earliest, self.latest + 1)}

    def _layout(self, version: int) -> Layout:
        flexible = version >= self.flexible
        fields = _fields_in_version(self.fields, version, flexible)
        return Layout(self.name, *fields, record=self.record, flexible=flexible)


def _fields_in_version(fields: Iterable[Field], version: int, flexible: bool) -> Iterator[Field]:
    for field in fields:
        if field.since <= version <= (version if field.until is None else field.until):
            nullable = field.nullable is not None and field.nullable <= version
            wire = _in_version(field.wire, version, flexible, nullable=nullable, tagged=field.tag is not None)
            yield Field(field.name, wire, field.attribute, tag=field.tag)


def _in_version(
    wire: WireType[Any], version: int, flexible: bool, *, nullable: bool = False, tagged: bool = False
) -> WireType[Any]:
    """Return the encoding in one version. It differs for lengths, null, and the fields of a struct that is a dict."""
    match wire:
        case Struct(make=None):
            struct = Struct(wire.name, *_fields_in_version(wire.fields, version, flexible), flexible=flexible)
            return Nullable(struct, tagged=tagged) if nullable else struct
        case Array():
            item = _in_version(wire.item, version, flexible)
            return type(wire)(item, 0 if flexible else wire.length.size, nullable=nullable, most=wire.most)
        case Sized():
            return type(wire)(0 if flexible else wire.length.size, nullable=nullable)
        case _:
            return wire
