"""Reads and writes whole records: the quick half first, and the careful one wherever the quick half gives up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from subscription_codec._compiled import GIVES_UP
from subscription_codec._wire import Reader
from subscription_codec.errors import BadVersion, DecodeError, EncodeError, TrailingBytes
from subscription_codec.layout import Layout
from subscription_codec.records import FutureAssignment, FutureSubscription


def read_record(data: bytes, layout: Layout, version: int) -> Any:
    """Read a record whose version has been read; ``DecodeError`` names the first field that is wrong."""
    try:
        return layout.read(data, version)
    except GIVES_UP:
        pass  # and let go of what the quick half has made so far, before all is made again
    return read_carefully(data, layout)


def read_carefully(data: bytes, layout: Layout) -> Any:
    """Read a record field by field."""
    reader = Reader(data)
    values: dict[str, Any] = {}
    for field in layout:
        try:
            values[field.name] = field.wire.read(reader)
        except DecodeError as error:
            raise error.within(field.name) from None
    known = {name: value for name, value in values.items() if name in layout.record._fields}
    return layout.record(**known, trailing=reader.rest())


def read_number(reader: Reader, field: str, size: int = 4) -> int:
    """Read a number that decides how to go on, before there is a layout to read by."""
    try:
        return reader.integer(size)
    except DecodeError as error:
        raise error.within(field) from None


def unknown_version(reader: Reader) -> int:
    """Read a version that has no layout here; ``BadVersion`` if no release can have written it."""
    version = read_number(reader, "version")
    if version < 1:
        raise BadVersion(f"version {version}; the lowest is 1", 0, "version")
    return version


def layout_of(version: Any, layouts: Mapping[int, Layout]) -> Layout:
    """Find the layout of a version that is to be written."""
    try:
        return layouts[version]
    except (KeyError, TypeError):
        expected = f"one of {min(layouts)} to {max(layouts)}"
        raise EncodeError(f"must be {expected}, got {version!r}", "version") from None


def write_record(record: Any, layout: Layout) -> bytes:
    """Write a record; ``EncodeError`` names the first value that does not fit."""
    try:
        return layout.write(record)
    except GIVES_UP:
        return write_carefully(record, layout)


def write_carefully(record: Any, layout: Layout) -> bytes:
    """Write a record field by field."""
    out = bytearray()
    for field in layout:
        try:
            field.wire.write(out, getattr(record, field.name))
        except EncodeError as error:
            raise error.within(field.name) from None
    if not isinstance(record.trailing, bytes):
        raise EncodeError(f"needs bytes, got {record.trailing!r}", "trailing")
    return bytes(out + record.trailing)


def write_future(future: FutureSubscription | FutureAssignment) -> bytes:
    """Write both versions and what stood behind them."""
    try:
        numbers = [each.to_bytes(4, "big", signed=True) for each in future[:2]]
    except (AttributeError, OverflowError, TypeError):
        raise EncodeError(f"needs two integers of 4 bytes, got {future[:2]!r}", "version") from None
    return b"".join((*numbers, future.rest))


def as_bytes(userdata: bytes | None) -> bytes:
    """Take what a client library hands over; null userdata is possible on the wire and is not a record."""
    if userdata is None:
        raise DecodeError("userdata is null", 0, "version")
    return bytes(userdata)


def nothing_behind(record: Any, size: int) -> None:
    """Refuse bytes behind the last field. ``size``: of the whole blob."""
    if record.trailing:
        left = len(record.trailing)
        raise TrailingBytes(f"{left} bytes behind the last field", size - left, "trailing")
