"""Assignment userdata: what the leader answers each member with SyncGroup. Java: ``AssignmentInfo``."""

from __future__ import annotations

from subscription_codec._driver import as_bytes, read_fields, read_number, write_fields
from subscription_codec._wire import Reader
from subscription_codec.errors import BadVersion, EncodeError, FutureVersion
from subscription_codec.layout import ASSIGNMENT
from subscription_codec.records import Assignment
from subscription_codec.versions import LATEST_SUPPORTED_VERSION


def decode_assignment(userdata: bytes | None, *, supported: int = LATEST_SUPPORTED_VERSION) -> Assignment:
    """Read assignment userdata as a member whose latest supported version is ``supported`` does.

    A version above ``supported`` raises ``FutureVersion``, because Kafka cannot take such an assignment either;
    everything else that is not an assignment raises another ``DecodeError``.
    """
    reader = Reader(as_bytes(userdata))
    version = read_number(reader, "version")
    if version < 1:
        raise BadVersion(f"version {version}; the lowest is 1", 0, "version")
    if version > supported:
        raise FutureVersion(f"used version {version}; latest supported version: {supported}", 0, "version")
    reader.at = 0
    return Assignment(**read_fields(reader, ASSIGNMENT[version]), trailing=reader.rest())


def encode_assignment(assignment: Assignment) -> bytes:
    """Write assignment userdata; ``EncodeError`` if the version has no layout or a value does not fit."""
    if assignment.version not in ASSIGNMENT:
        raise EncodeError(
            f"must be one of {min(ASSIGNMENT)} to {max(ASSIGNMENT)}, got {assignment.version!r}", "version"
        )
    out = bytearray()
    write_fields(assignment, ASSIGNMENT[assignment.version], out)
    return bytes(out + assignment.trailing)
