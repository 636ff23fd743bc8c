"""Walks a layout over bytes: the one place that reads and writes whole records."""

from __future__ import annotations

from typing import Any

from subscription_codec._wire import Reader
from subscription_codec.errors import DecodeError, EncodeError
from subscription_codec.layout import Layout


def read_fields(reader: Reader, layout: Layout) -> dict[str, Any]:
    """Read the fields of ``layout`` by name."""
    values: dict[str, Any] = {}
    for field in layout:
        try:
            values[field.name] = field.wire.read(reader)
        except DecodeError as error:
            raise error.within(field.name) from None
    return values


def read_number(reader: Reader, field: str, size: int = 4) -> int:
    """Read a number that decides how to go on, before there is a layout to read by."""
    try:
        return reader.integer(size)
    except DecodeError as error:
        raise error.within(field) from None


def write_fields(record: Any, layout: Layout, out: bytearray) -> None:
    """Append the fields of ``layout``; ``EncodeError`` names the first value that does not fit."""
    for field in layout:
        try:
            field.wire.write(out, getattr(record, field.name))
        except EncodeError as error:
            raise error.within(field.name) from None


def as_bytes(userdata: bytes | None) -> bytes:
    """Take what a client library hands over; null userdata is possible on the wire and is not a record."""
    if userdata is None:
        raise DecodeError("userdata is null", 0, "version")
    return bytes(userdata)
