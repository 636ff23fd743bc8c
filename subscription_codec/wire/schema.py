"""Schemas of Kafka's generated messages, in the terms of their JSON definitions: versions, null and tags."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple

from subscription_codec.errors import TrailingBytes
from subscription_codec.wire._flexible import (
    Boolean,
    KafkaUuid,
    List,
    Message,
    Nullable,
)
from subscription_codec.wire.codegen import compile_message
from subscription_codec.wire.text import Utf8
from subscription_codec.wire.types import INT_32, INT_64, Bytes, Integer, Reader, WireType

_FIXED: Final[Mapping[str, WireType[Any]]] = {
    "int8": Integer(1),
    "int16": Integer(2),
    "uint16": Integer(2, signed=False),
    "int32": INT_32,
    "int64": INT_64,
    "uuid": KafkaUuid(),
    "bool": Boolean(),
}
NOT_FLEXIBLE: Final = 1 << 15
"""``Schema.flexible`` of a message without a flexible version."""


class Array(NamedTuple):
    """The type of an array."""

    item: Any
    """The type of its items: a name, or a tuple of fields."""


class Field(NamedTuple):
    """A field of a message."""

    name: str
    """Its name in Kafka's JSON."""
    type: str | Array | tuple[Field, ...]
    """A name (``int8`` to ``int64``, ``uint16``, ``bool``, ``uuid``, ``string``, ``bytes``), an array, or a struct."""
    since: int = 0
    """The first version that has it."""
    until: int | None = None
    """The last version that has it; None: it is in all later ones."""
    nullable: int | None = None
    """The first version in which it can be null; None: never."""
    tag: int | None = None
    """The tag of a tagged field."""


@dataclass(frozen=True, eq=False)
class Schema:
    """All versions of a message. A schema equals itself only: it is a key of caches, and each record needs one."""

    name: str
    fields: tuple[Field, ...]
    latest: int = 0
    """The highest version."""
    flexible: int = 0
    """The first flexible version (KIP-482); above ``latest``: none is."""

    def wire_type(self, version: int) -> Message:
        """Return the encoding of a version."""
        return _wire_type_of(self, version)

    def read(self, raw: bytes, version: int, at: int = 0) -> dict[str, Any]:
        """Decode the bytes from ``at`` on; ``DecodeError`` if they are malformed or more than the message."""
        reader = Reader(raw, at)
        fields = self.wire_type(version).read(reader)
        if reader.remaining:
            raise TrailingBytes(f"{reader.remaining} bytes after the last field", reader.position, self.name)
        return fields

    def fast_reader(self, version: int) -> Callable[[bytes, int], dict[str, Any]] | None:
        """Return the compiled decoder of a version; None of a flexible one."""
        return _fast_reader_of(self, version)


@cache
def _wire_type_of(schema: Schema, version: int) -> Message:
    return _message(schema.name, schema.fields, version, version >= schema.flexible)


@cache
def _fast_reader_of(schema: Schema, version: int) -> Callable[[bytes, int], dict[str, Any]] | None:
    return None if version >= schema.flexible else compile_message(schema.wire_type(version))


def _message(name: str, fields: tuple[Field, ...], version: int, flexible: bool) -> Message:
    untagged: dict[str, WireType[Any]] = {}
    tagged: dict[int, tuple[str, WireType[Any]]] = {}
    for field in fields:
        if not field.since <= version <= (version if field.until is None else field.until):
            continue
        wire = _wire_type(field, version, flexible)
        if field.tag is None:
            untagged[field.name] = wire
        else:
            tagged[field.tag] = (field.name, wire)
    return Message(name, untagged, tagged if flexible else None)


def _wire_type(field: Field, version: int, flexible: bool) -> WireType[Any]:
    nullable = field.nullable is not None and field.nullable <= version
    kind = field.type
    if isinstance(kind, Array):
        item = _wire_type(Field(field.name, kind.item), version, flexible)
        return List(item, 0 if flexible else 4, nullable=nullable)
    if isinstance(kind, tuple):
        struct = _message(field.name, kind, version, flexible)
        return Nullable(struct, tagged=field.tag is not None) if nullable else struct
    if kind == "string":
        return Utf8(0 if flexible else 2, nullable=nullable)
    if kind == "bytes":
        return Bytes(0 if flexible else 4, nullable=nullable)
    return _FIXED[kind]
