"""One record of ``__consumer_offsets``: the number of its type or version, and the message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from streams_assignor.codec._messages import require_bytes
from streams_assignor.codec.coordinator._tables import RECORD_TYPES, RecordType
from streams_assignor.codec.errors import BadVersion, DecodeError, EncodeError, FutureVersion, Truncated
from streams_assignor.codec.wire.schema import Layout

_NUMBER_SIZE: Final = 2
"""Bytes of the number before a message."""


class RecordKey(NamedTuple):
    """A decoded key."""

    type: RecordType
    fields: dict[str, Any]

    @property
    def group(self) -> str:
        """The name of the group."""
        return str(self.fields["group"] if "group" in self.fields else self.fields["groupId"])


class RecordValue(NamedTuple):
    """A decoded value."""

    version: int
    fields: dict[str, Any]


def record_type_number(key: bytes | None) -> int:
    """Return the number of a record's type; ``Truncated`` if the key is shorter than two bytes."""
    if key is None or len(key) < 2:
        raise Truncated(f"a record key needs 2 bytes, got {key!r}", 0, "type")
    return int.from_bytes(key[:2], "big", signed=True)


def decode_key(key: bytes | None) -> RecordKey:
    """Decode the key of a record.

    Raises:
        FutureVersion: No release up to 4.4 writes this type.
        DecodeError: The key is malformed.
    """
    number = record_type_number(key)
    record_type = RECORD_TYPES.get(number)
    if record_type is None:
        raise FutureVersion(f"record type {number}; the highest known type is {max(RECORD_TYPES)}", 0)
    return RecordKey(record_type, record_type.key.layouts[0].decode(require_bytes(key), _NUMBER_SIZE))


def decode_value(kind: RecordType, value: bytes) -> RecordValue:
    """Decode the value of a record; a tombstone has none.

    Raises:
        FutureVersion: The version of the value is above those that releases up to 4.4 write.
        DecodeError: The value is malformed.
    """
    value = require_bytes(value)
    if len(value) < 2:
        raise Truncated(f"a record value needs 2 bytes, got {len(value)}", 0, "version")
    version = int.from_bytes(value[:2], "big", signed=True)
    if version > kind.value.latest:
        raise FutureVersion(f"{kind.value.name} {version}; the highest known version is {kind.value.latest}", 0)
    if version < 0:
        raise BadVersion(f"{kind.value.name} {version}", 0)
    try:
        return RecordValue(version, kind.value.layouts[version].decode(value, _NUMBER_SIZE))
    except DecodeError:
        for schema in kind.earlier_values:
            try:
                return RecordValue(version, schema.layouts[version].decode(value, _NUMBER_SIZE))
            except DecodeError:
                continue
        raise


def encode_key(kind: RecordType, fields: Mapping[str, Any]) -> bytes:
    """Encode a key; ``EncodeError`` if a value does not fit its field."""
    return _write(kind.number, kind.key.layouts[0], fields)


def encode_value(kind: RecordType, version: int, fields: Mapping[str, Any]) -> bytes:
    """Encode a value in a version; ``EncodeError`` if a value does not fit its field."""
    if not 0 <= version <= kind.value.latest:
        raise EncodeError(f"{kind.value.name} has versions 0 to {kind.value.latest}, got {version}")
    return _write(version, kind.value.layouts[version], fields)


def _write(number: int, layout: Layout, fields: Mapping[str, Any]) -> bytes:
    return number.to_bytes(_NUMBER_SIZE, "big", signed=True) + layout.encode(fields)
