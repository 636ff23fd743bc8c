"""One request or response of a streams group: bytes to dicts with Kafka's field names, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams_assignor.codec._messages import require_bytes
from streams_assignor.codec.errors import EncodeError, FutureVersion
from streams_assignor.codec.wire.schema import Schema


def encode_message(schema: Schema, version: int, fields: Mapping[str, Any]) -> bytes:
    """Encode a message without its header.

    Args:
        schema: ``HEARTBEAT.request``, for example.
        version: Of the message, 0 to ``schema.latest``.
        fields: Values by Kafka's names. A field that can be null must be given, too.

    Raises:
        EncodeError: There is no such version, or a value is missing or does not fit its field.
    """
    if not 0 <= version <= schema.latest:
        raise EncodeError(f"{schema.name} has versions 0 to {schema.latest}, got {version}")
    return schema.layouts[version].encode(fields)


def decode_message(schema: Schema, version: int, raw: bytes) -> dict[str, Any]:
    """Decode a message without its header.

    Raises:
        FutureVersion: No known release has this version.
        DecodeError: The bytes are malformed; the message names field and offset.
    """
    raw = require_bytes(raw)
    if not 0 <= version <= schema.latest:
        raise FutureVersion(f"{schema.name} {version}; known are 0 to {schema.latest}", 0)
    fields: dict[str, Any] = schema.layouts[version].decode(raw)
    return fields
