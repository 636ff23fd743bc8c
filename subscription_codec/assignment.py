"""Assignment userdata: the leader's answer to each member, in SyncGroup. Java: ``AssignmentInfo``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, overload

from subscription_codec._messages import (
    decode_record,
    encode_future,
    encode_record,
    layout_for_version,
    read_future_version,
    read_header_integer,
    reject_trailing_bytes,
    require_bytes,
)
from subscription_codec.columns import HostMap, TopicDictionary
from subscription_codec.errors import EncodeError, FutureVersion
from subscription_codec.layout import ASSIGNMENT_LAYOUTS
from subscription_codec.quirks import imitate_release
from subscription_codec.records import Assignment, FutureAssignment, HostPartitions, TopicEntry
from subscription_codec.versions import FIRST_VERSION_WITH_TOPIC_DICTIONARY, LATEST_SUPPORTED_VERSION
from subscription_codec.wire.hosts import HOST_PARTITIONS
from subscription_codec.wire.types import Array, Reader


@overload
def decode_assignment(
    userdata: bytes | None, *, supported_version: int = ..., strict: bool = ..., keep_future: Literal[False] = ...
) -> Assignment: ...
@overload
def decode_assignment(
    userdata: bytes | None, *, supported_version: int = ..., strict: bool = ..., keep_future: bool
) -> Assignment | FutureAssignment: ...
def decode_assignment(
    userdata: bytes | None,
    *,
    supported_version: int = LATEST_SUPPORTED_VERSION,
    strict: bool = False,
    keep_future: bool = False,
) -> Assignment | FutureAssignment:
    r"""Read assignment userdata as a member does.

    Args:
        userdata: The userdata of a consumer-protocol assignment; None is malformed.
        supported_version: The latest version that the member supports.
        strict: Refuse bytes after the last field. Otherwise they are kept in ``trailing``.
        keep_future: Return a ``FutureAssignment`` for a version above ``supported_version``, for tools that inspect a
            group from outside. No member of Kafka can use such an assignment.

    Raises:
        FutureVersion: The version is above ``supported_version``, without ``keep_future``.
        DecodeError: The bytes are malformed.

    >>> decode_assignment(bytes.fromhex("0000000c0000000dcafe"), keep_future=True)
    FutureAssignment(version=12, supported_version=13, rest=b'\xca\xfe')
    """
    data = require_bytes(userdata)
    version = int.from_bytes(data[:4], "big", signed=True)
    layout = ASSIGNMENT_LAYOUTS.get(version) if version <= supported_version else None
    if layout is None:
        reader = Reader(data)
        version = read_future_version(reader)
        if keep_future:
            return FutureAssignment(version, read_header_integer(reader, "supported_version"), reader.read_rest())
        raise FutureVersion(f"used version {version}; latest supported version: {supported_version}", 0, "version")
    record: Assignment = decode_record(data, layout, version)
    if strict:
        reject_trailing_bytes(record, len(data))
    return record


def encode_assignment(assignment: Assignment | FutureAssignment, *, as_release: str | None = None) -> bytes:
    """Write assignment userdata.

    Args:
        assignment: The record to write.
        as_release: A release such as ``"1.1.1"``: write the bytes that this release writes, see ``quirks``.

    Raises:
        EncodeError: The version has no layout, or a value does not fit its field.
    """
    if isinstance(assignment, FutureAssignment):
        return encode_future(assignment)
    layout = layout_for_version(assignment.version, ASSIGNMENT_LAYOUTS)
    if assignment.version >= FIRST_VERSION_WITH_TOPIC_DICTIONARY:
        assignment = with_topic_dictionary(assignment)
    if as_release is not None:
        assignment = imitate_release(as_release, assignment)
    return encode_record(assignment, layout)


def with_topic_dictionary(assignment: Assignment, topics: Sequence[TopicEntry] = ()) -> Assignment:
    """Return the same assignment with both host maps over one topic dictionary.

    A decoded assignment keeps the dictionary that it has. A leader that answers many members calls this once and
    shares the result. ``topics`` is the dictionary to use; empty: the sorted names are numbered from 0.
    """
    active, standby = assignment.partitions_by_host, assignment.standby_partitions_by_host
    if not topics and isinstance(active, HostMap):
        if isinstance(standby, HostMap) and standby.topic_dictionary is active.topic_dictionary:
            return assignment
        if not standby:
            return assignment._replace(standby_partitions_by_host=HostMap.empty(active.topic_dictionary))
    try:
        names = sorted({topic + "" for hosts in (active, standby) for _, each in hosts for topic, _ in each})
        topics = topics or TopicDictionary(map(TopicEntry, range(len(names)), names))
        return assignment._replace(
            partitions_by_host=HostMap.of(active, topics), standby_partitions_by_host=HostMap.of(standby, topics)
        )
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError):
        _raise_encode_error("partitions_by_host", active, topics)
        _raise_encode_error("standby_partitions_by_host", standby, topics)
        raise  # pragma: no cover - one of the two has raised


def _raise_encode_error(field: str, hosts: Sequence[HostPartitions], topics: Sequence[TopicEntry]) -> None:
    """Raise the ``EncodeError`` of the first value of a host map that cannot be written; return if all can."""
    try:
        Array(HOST_PARTITIONS).write(bytearray(), hosts)
    except EncodeError as error:
        raise error.within(field) from None
    known = {topic for _, topic in topics}
    unknown = (
        (f"{field}[{host}].partitions[{place}].topic", topic)
        for host, (_, partitions) in enumerate(hosts)
        for place, (topic, _) in enumerate(partitions)
        if topic not in known
    )
    for path, topic in unknown if topics else ():
        raise EncodeError(f"the dictionary has no topic {topic!r}", path)
