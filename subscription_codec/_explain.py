"""Annotated bytes: where each field stands and what it says. Works as far as the bytes do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from subscription_codec._wire import Reader, Wire
from subscription_codec.errors import DecodeError, joined
from subscription_codec.fields import LAYOUTS, Kind
from subscription_codec.versions import LATEST_SUPPORTED_VERSION


class Part(NamedTuple):
    """One leaf of a record: ``offset`` from the start of the blob, its bytes, the field's path and its value."""

    offset: int
    raw: bytes
    field: str
    value: str


def explain(kind: Kind, userdata: bytes, *, supported: int = LATEST_SUPPORTED_VERSION) -> Iterator[Part]:
    """Yield the parts of userdata in wire order; together their bytes are the blob.

    What cannot be read is not an error here: the last part is what is left, and its value says what is wrong.

    >>> [str(part.value) for part in explain("subscription", bytes(3))]
    ['version at offset 0: needs 4 bytes, 3 left']
    """
    reader = Reader(userdata)
    try:
        version = int.from_bytes(userdata[:4], "big", signed=True)
        layouts = LAYOUTS[kind]
        known = 1 <= version <= supported
        for field in layouts[version if known else min(layouts)][: None if known else 1]:
            start = reader.at
            try:
                value = field.wire.read(reader)
            except DecodeError as error:
                raise error.within(field.kafka_name) from None
            yield from _walk(field.kafka_name, field.wire, value, Reader(userdata, start))
    except DecodeError as error:
        yield Part(reader.at, reader.rest(), error.field, str(error))
        return
    if reader.left:
        text = "ignored by every Kafka decoder" if known else f"version {version} is not known here (up to {supported})"
        yield Part(reader.at, reader.rest(), "trailing" if known else "unknown", text)


def _walk(path: str, wire: Wire[Any], value: Any, reader: Reader) -> Iterator[Part]:
    parts = list(wire.parts(value))
    for name, inner, part in parts:
        yield from _walk(joined(path, name), inner, part, reader)
    if not parts:
        start = reader.at
        wire.read(reader)
        yield Part(start, reader.data[start : reader.at], path, str(value))
