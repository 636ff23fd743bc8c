"""Annotates bytes: the offset, the bytes and the value of each field, up to the first malformed field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from streams_assignor.codec import consumer_protocol
from streams_assignor.codec.errors import DecodeError, join_path, require_type
from streams_assignor.codec.json_fields import LAYOUTS, MessageKind, require_kind
from streams_assignor.codec.versions import LATEST_SUPPORTED_VERSION
from streams_assignor.codec.wire.structs import Field, Struct
from streams_assignor.codec.wire.types import Array, ColumnType, Reader, WireType


class AnnotatedField(NamedTuple):
    """One annotated value: a leaf of a record, or bytes that are no field."""

    offset: int
    """In bytes from the start of the blob."""
    raw: bytes
    field: str
    value: str


def explain(
    kind: MessageKind, userdata: bytes, *, supported_version: int = LATEST_SUPPORTED_VERSION
) -> Iterator[AnnotatedField]:
    """Yield the parts of userdata in wire order; together their bytes are the blob.

    Malformed bytes raise no error: they are the last part, and its value is the error message.

    >>> [str(part.value) for part in explain("subscription", bytes(3))]
    ['version at offset 0: needs 4 bytes, 3 left']
    """
    require_kind(kind)
    require_type("userdata", userdata, bytes, bytearray, memoryview)
    return _annotate_userdata(kind, Reader(userdata), supported_version)


def explain_envelope(
    kind: MessageKind, message: bytes, *, supported_version: int = LATEST_SUPPORTED_VERSION
) -> Iterator[AnnotatedField]:
    """Yield the parts of a consumer-protocol message likewise; those of the userdata have the prefix ``userData``."""
    require_kind(kind)
    require_type("message", message, bytes, bytearray, memoryview)
    layouts = consumer_protocol.SUBSCRIPTION_LAYOUTS if kind == "subscription" else consumer_protocol.ASSIGNMENT_LAYOUTS
    version = int.from_bytes(message[:2], "big", signed=True)
    layout = layouts.get(min(version, consumer_protocol.HIGHEST_SUPPORTED_VERSION))
    unknown = None if layout else f"consumer protocol version {version}; the lowest is 0"
    for part in _annotate_fields(layout.members if layout else layouts[0].members[:1], Reader(message), unknown):
        size = len(part.raw) - 4
        if part.field != "userData" or size <= 0 or size != int.from_bytes(part.raw[:4], "big"):
            yield part  # also userdata that is null, empty or truncated
            continue
        first = part.offset + 4
        yield AnnotatedField(part.offset, part.raw[:4], "userData.length", str(size))
        # Cut at the end of the userdata, but not at its start: offsets count from the start of the message.
        yield from _annotate_userdata(kind, Reader(message[: first + size], first), supported_version, "userData.")


def _annotate_userdata(
    kind: MessageKind, reader: Reader, supported_version: int, prefix: str = ""
) -> Iterator[AnnotatedField]:
    layouts = LAYOUTS[kind]
    version = int.from_bytes(reader.data[reader.position : reader.position + 4], "big", signed=True)
    if version <= supported_version and version in layouts:
        return _annotate_fields(layouts[version].members, reader, None, prefix)
    return _annotate_fields(
        layouts[min(layouts)].members[:1],
        reader,
        f"version {version} is not known here (up to {supported_version})",
        prefix,
    )


def _annotate_fields(
    fields: Iterable[Field], reader: Reader, unknown_reason: str | None, prefix: str = ""
) -> Iterator[AnnotatedField]:
    """Yield the parts of the fields, then the remaining bytes; ``unknown_reason`` is their value, if not None."""
    at = reader.position
    try:
        for field in fields:
            for part in _annotate_value(prefix + field.name, field.wire, reader):
                at = reader.position
                yield part
    except DecodeError as error:
        yield AnnotatedField(at, reader.data[at:], error.field, str(error))
        return
    if reader.remaining:
        name, text = (
            ("trailing", "ignored by every Kafka decoder") if unknown_reason is None else ("unknown", unknown_reason)
        )
        yield AnnotatedField(at, reader.read_rest(), prefix + name, text)


def _annotate_value(path: str, wire: WireType[Any], reader: Reader) -> Iterator[AnnotatedField]:
    """Yield the leaves of one value. Each is decoded on its own, so the value always matches the bytes."""
    match wire:
        case ColumnType():
            yield from _annotate_value(path, wire.inner, reader)
        case Array(item=item):
            count = _annotate_leaf(path, lambda reader: reader.read_count(item.size), reader)
            yield count._replace(field=join_path(path, "count"))
            for index in range(int(count.value)):
                yield from _annotate_value(f"{path}[{index}]", item, reader)
        case Struct(single_line=False):
            for field in wire.members:
                yield from _annotate_value(join_path(path, field.name), field.wire, reader)
        case _:
            yield _annotate_leaf(path, wire.read, reader)


def _annotate_leaf(path: str, read: Callable[[Reader], Any], reader: Reader) -> AnnotatedField:
    start = reader.position
    try:
        value = read(reader)
    except DecodeError as error:
        raise error.within(path) from None
    return AnnotatedField(start, reader.data[start : reader.position], path, str(value))
