"""Assignment userdata: what the leader answers each member with SyncGroup. Java: ``AssignmentInfo``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, overload

from subscription_codec._driver import (
    as_bytes,
    layout_of,
    nothing_behind,
    read_number,
    read_record,
    unknown_version,
    write_future,
    write_record,
)
from subscription_codec._hosts import HOST_PARTITIONS
from subscription_codec._wire import Array, Reader
from subscription_codec.columns import HostMap
from subscription_codec.errors import EncodeError, FutureVersion
from subscription_codec.layout import ASSIGNMENT
from subscription_codec.quirks import as_written_by
from subscription_codec.records import Assignment, FutureAssignment, HostPartitions, TopicEntry
from subscription_codec.versions import LATEST_SUPPORTED_VERSION

FIRST_WITH_DICTIONARY: Final = 5


@overload
def decode_assignment(
    userdata: bytes | None, *, supported: int = ..., strict: bool = ..., keep_future: Literal[False] = ...
) -> Assignment: ...
@overload
def decode_assignment(
    userdata: bytes | None, *, supported: int = ..., strict: bool = ..., keep_future: bool
) -> Assignment | FutureAssignment: ...
def decode_assignment(
    userdata: bytes | None,
    *,
    supported: int = LATEST_SUPPORTED_VERSION,
    strict: bool = False,
    keep_future: bool = False,
) -> Assignment | FutureAssignment:
    r"""Read assignment userdata as a member whose latest supported version is ``supported`` does.

    A version above ``supported`` raises ``FutureVersion``, because Kafka cannot take such an assignment either; with
    ``keep_future`` it gives a ``FutureAssignment``, for those who look at a group from outside. Everything else that is
    not an assignment raises another ``DecodeError``. Bytes behind the last field are kept in ``trailing``, or refused
    if ``strict``.

    >>> decode_assignment(bytes.fromhex("0000000c0000000dcafe"), keep_future=True)
    FutureAssignment(version=12, latest_supported=13, rest=b'\xca\xfe')
    """
    data = userdata if type(userdata) is bytes else as_bytes(userdata)
    version = int.from_bytes(data[:4], "big", signed=True)
    layout = ASSIGNMENT.get(version) if version <= supported else None
    if layout is None:
        reader = Reader(data)
        version = unknown_version(reader)
        if keep_future:
            return FutureAssignment(version, read_number(reader, "latest_supported"), reader.rest())
        raise FutureVersion(f"used version {version}; latest supported version: {supported}", 0, "version")
    record: Assignment = read_record(data, layout, version)
    if strict:
        nothing_behind(record, len(data))
    return record


def encode_assignment(assignment: Assignment | FutureAssignment, *, as_release: str | None = None) -> bytes:
    """Write assignment userdata; ``EncodeError`` if the version has no layout or a value does not fit.

    ``as_release`` (``"1.1.1"``) writes what that release of Kafka would have written, see ``quirks``.
    """
    if isinstance(assignment, FutureAssignment):
        return write_future(assignment)
    layout = layout_of(assignment.version, ASSIGNMENT)
    if assignment.version >= FIRST_WITH_DICTIONARY:
        assignment = with_dictionary(assignment)
    if as_release is not None:
        assignment = as_written_by(as_release, assignment)
    return write_record(assignment, layout)


def with_dictionary(assignment: Assignment, topics: Sequence[TopicEntry] = ()) -> Assignment:
    """Return the same assignment with both host maps over one topic dictionary.

    A decoded assignment has that already, and keeps it. A leader that answers many members calls this once and
    shares the result. ``topics`` is the dictionary to use; if there is none, the names are numbered in order.
    """
    active, standby = assignment.partitions_by_host, assignment.standby_partitions_by_host
    if not topics and isinstance(active, HostMap):
        if isinstance(standby, HostMap) and standby.topics is active.topics:
            return assignment
        if not standby:
            return assignment._replace(standby_partitions_by_host=HostMap.empty(active.topics))
    try:
        names = sorted({topic + "" for hosts in (active, standby) for _, each in hosts for topic, _ in each})
        topics = topics or tuple(map(TopicEntry, range(len(names)), names))
        return assignment._replace(
            partitions_by_host=HostMap.of(active, topics), standby_partitions_by_host=HostMap.of(standby, topics)
        )
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError):
        _explain("partitions_by_host", active, topics)
        _explain("standby_partitions_by_host", standby, topics)
        raise  # pragma: no cover - one of the two has found it


def _explain(field: str, hosts: Sequence[HostPartitions], topics: Sequence[TopicEntry]) -> None:
    """Raise the ``EncodeError`` that says which value of a host map cannot be written."""
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
