"""Annotated bytes: where each field stands and what it says. Works as far as the bytes do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from subscription_codec import consumer_protocol
from subscription_codec._lists import List
from subscription_codec._wire import Array, Reader, Struct, Wire
from subscription_codec.errors import DecodeError, joined
from subscription_codec.fields import LAYOUTS, Kind
from subscription_codec.layout import Field
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
    return _userdata(kind, Reader(userdata), supported)


def explain_envelope(kind: Kind, blob: bytes, *, supported: int = LATEST_SUPPORTED_VERSION) -> Iterator[Part]:
    """Yield the parts of a whole consumer-protocol message likewise, with those of the userdata below ``userData``."""
    layouts = consumer_protocol.SUBSCRIPTION if kind == "subscription" else consumer_protocol.ASSIGNMENT
    version = int.from_bytes(blob[:2], "big", signed=True)
    known = layouts.get(min(version, consumer_protocol.HIGHEST_VERSION))
    unknown = None if known else f"consumer protocol version {version}; the lowest is 0"
    for part in _message(known or layouts[0][:1], Reader(blob), unknown):
        size = len(part.raw) - 4
        if part.field != "userData" or size <= 0 or size != int.from_bytes(part.raw[:4], "big"):
            yield part  # among them userdata that is null, empty or cut short
            continue
        first = part.offset + 4
        yield Part(part.offset, part.raw[:4], "userData.length", str(size))
        # Cut off where the userdata ends, but not where it begins: offsets count from the start of the blob.
        yield from _userdata(kind, Reader(blob[: first + size], first), supported, "userData.")


def _userdata(kind: Kind, reader: Reader, supported: int, prefix: str = "") -> Iterator[Part]:
    layouts = LAYOUTS[kind]
    version = int.from_bytes(reader.data[reader.at : reader.at + 4], "big", signed=True)
    if version <= supported and version in layouts:
        return _message(layouts[version], reader, None, prefix)
    return _message(
        layouts[min(layouts)][:1], reader, f"version {version} is not known here (up to {supported})", prefix
    )


def _message(fields: Iterable[Field], reader: Reader, unknown: str | None, prefix: str = "") -> Iterator[Part]:
    """Yield the parts of the fields, then what is behind them. ``unknown``: why there are more fields than these."""
    at = reader.at
    try:
        for field in fields:
            for part in _walk(prefix + field.kafka_name, field.wire, reader):
                at = reader.at
                yield part
    except DecodeError as error:
        yield Part(at, reader.data[at:], error.field, str(error))
        return
    if reader.left:
        name, text = ("trailing", "ignored by every Kafka decoder") if unknown is None else ("unknown", unknown)
        yield Part(at, reader.rest(), prefix + name, text)


def _walk(path: str, wire: Wire[Any], reader: Reader) -> Iterator[Part]:
    """Yield the leaves of one value. Each is read by itself, so what is shown is what stands in the bytes."""
    match wire:
        case List():
            yield from _walk(path, wire.inner, reader)
        case Array(item=item):
            count = _leaf(path, lambda reader: reader.count(item.size), reader)
            yield count._replace(field=joined(path, "count"))
            for index in range(int(count.value)):
                yield from _walk(f"{path}[{index}]", item, reader)
        case Struct(whole=False):
            for name, member in wire.members:
                yield from _walk(joined(path, name), member, reader)
        case _:
            yield _leaf(path, wire.read, reader)


def _leaf(path: str, read: Callable[[Reader], Any], reader: Reader) -> Part:
    start = reader.at
    try:
        value = read(reader)
    except DecodeError as error:
        raise error.within(path) from None
    return Part(start, reader.data[start : reader.at], path, str(value))
