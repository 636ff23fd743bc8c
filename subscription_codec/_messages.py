"""Decodes and encodes whole records: by the fast path, and by the reference path wherever the fast path gives up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from subscription_codec.errors import BadVersion, DecodeError, EncodeError, TrailingBytes
from subscription_codec.layout import Layout
from subscription_codec.records import FutureAssignment, FutureSubscription
from subscription_codec.wire.codegen import FALLBACK_ERRORS
from subscription_codec.wire.types import Reader


def decode_record(data: bytes, layout: Layout, version: int) -> Any:
    """Decode a record of a known version; ``DecodeError`` has the first malformed field."""
    try:
        return layout.fast_decode(data, version)
    except FALLBACK_ERRORS:
        pass  # free the partial result of the fast path before the reference path starts
    return decode_by_reference(data, layout)


def decode_by_reference(data: bytes, layout: Layout) -> Any:
    """Decode a record field by field."""
    reader = Reader(data)
    values: dict[str, Any] = {}
    for field in layout:
        try:
            values[field.name] = field.wire.read(reader)
        except DecodeError as error:
            raise error.within(field.name) from None
    known = {name: value for name, value in values.items() if name in layout.record._fields}
    return layout.record(**known, trailing=reader.read_rest())


def read_header_integer(reader: Reader, field: str, size: int = 4) -> int:
    """Read an integer of the header, before the layout is known."""
    try:
        return reader.read_integer(size)
    except DecodeError as error:
        raise error.within(field) from None


def read_future_version(reader: Reader) -> int:
    """Read a version that has no layout; ``BadVersion`` if no release can have written it."""
    version = read_header_integer(reader, "version")
    if version < 1:
        raise BadVersion(f"version {version}; the lowest is 1", 0, "version")
    return version


def layout_for_version(version: Any, layouts: Mapping[int, Layout]) -> Layout:
    """Return the layout of a version to encode; ``EncodeError`` if there is none."""
    try:
        return layouts[version]
    except (KeyError, TypeError):
        expected = f"one of {min(layouts)} to {max(layouts)}"
        raise EncodeError(f"must be {expected}, got {version!r}", "version") from None


def encode_record(record: Any, layout: Layout) -> bytes:
    """Encode a record; ``EncodeError`` has the first value that does not fit."""
    try:
        return layout.fast_encode(record)
    except FALLBACK_ERRORS:
        return encode_by_reference(record, layout)


def encode_by_reference(record: Any, layout: Layout) -> bytes:
    """Encode a record field by field."""
    out = bytearray()
    for field in layout:
        try:
            field.wire.write(out, getattr(record, field.name))
        except EncodeError as error:
            raise error.within(field.name) from None
    if not isinstance(record.trailing, bytes):
        raise EncodeError(f"needs bytes, got {record.trailing!r}", "trailing")
    return bytes(out + record.trailing)


def encode_future(future: FutureSubscription | FutureAssignment) -> bytes:
    """Encode both version numbers and the unread bytes."""
    try:
        numbers = [each.to_bytes(4, "big", signed=True) for each in future[:2]]
    except (AttributeError, OverflowError, TypeError):
        raise EncodeError(f"needs two integers of 4 bytes, got {future[:2]!r}", "version") from None
    return b"".join((*numbers, future.rest))


def require_bytes(userdata: bytes | None) -> bytes:
    """Return the bytes of a client library's buffer; ``DecodeError`` for null, which the wire format permits."""
    if type(userdata) is bytes:
        return userdata
    if userdata is None:
        raise DecodeError("userdata is null", 0, "version")
    return bytes(userdata)


def reject_trailing_bytes(record: Any, size: int) -> None:
    """Raise ``TrailingBytes`` if there are bytes after the last field; ``size`` is that of the whole blob."""
    if record.trailing:
        left = len(record.trailing)
        raise TrailingBytes(f"{left} bytes behind the last field", size - left, "trailing")
