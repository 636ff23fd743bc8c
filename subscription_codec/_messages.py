"""The messages: userdata of subscriptions and assignments.

Java: ``SubscriptionInfo``, ``AssignmentInfo``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

from streams_assignor.codec.columns import HostMap, TopicDictionary
from streams_assignor.codec.errors import (
    BadVersion,
    DecodeError,
    EncodeError,
    FutureVersion,
    TrailingBytes,
    WrongArgument,
    require_type,
)
from streams_assignor.codec.layout import ASSIGNMENT_LAYOUTS, SUBSCRIPTION_LAYOUTS
from streams_assignor.codec.quirks import imitate_release
from streams_assignor.codec.records import (
    Assignment,
    FutureAssignment,
    FutureSubscription,
    HostPartitions,
    Subscription,
    TopicEntry,
)
from streams_assignor.codec.versions import (
    EARLIEST_PROBEABLE_VERSION,
    FIRST_VERSION_WITH_TOPIC_DICTIONARY,
    LATEST_SUPPORTED_VERSION,
)
from streams_assignor.codec.wire.hosts import HOST_PARTITIONS
from streams_assignor.codec.wire.schema import Layout
from streams_assignor.codec.wire.types import Array, Reader

# -- subscriptions ----------------------------------------------------------------------------------------------------


def decode_subscription(
    userdata: bytes | None, *, supported_version: int = LATEST_SUPPORTED_VERSION, strict: bool = False
) -> Subscription | FutureSubscription:
    r"""Read subscription userdata as a leader does.

    Args:
        userdata: The userdata of a consumer-protocol subscription; None is malformed.
        supported_version: The latest version that the leader supports.
        strict: Refuse bytes after the last field. Otherwise they are kept in ``trailing``, as Kafka ignores them.

    Returns:
        The record. For a version above ``supported_version`` it is a ``FutureSubscription``, of which Kafka (2.0 and
        later) reads the two version numbers only.

    Raises:
        FutureVersion: The version is above ``supported_version``, and that is below 3 (Kafka before 2.0).
        DecodeError: The bytes are malformed.

    >>> decode_subscription(bytes.fromhex("0000000c0000000dcafe"))
    FutureSubscription(version=12, supported_version=13, rest=b'\xca\xfe')
    """
    data = userdata if type(userdata) is bytes else require_bytes(userdata)
    version = int.from_bytes(data[:4], "big", signed=True)
    layout = SUBSCRIPTION_LAYOUTS.get(version) if version <= supported_version else None
    if layout is None:
        return _decode_future(data, supported_version)
    record: Subscription = layout.decode(data)
    if version >= EARLIEST_PROBEABLE_VERSION > record.supported_version:
        _check_supported_version(EARLIEST_PROBEABLE_VERSION, record.supported_version)
    if strict:
        reject_trailing_bytes(record, len(data))
    return record


def encode_subscription(subscription: Subscription | FutureSubscription, *, as_release: str | None = None) -> bytes:
    """Write subscription userdata.

    Args:
        subscription: The record to write.
        as_release: A release such as ``"1.1.1"``: write the bytes that this release writes, see ``quirks``.

    Raises:
        EncodeError: The version has no layout, or a value does not fit its field.
    """
    if isinstance(subscription, FutureSubscription):
        return encode_future(subscription)
    require_type("subscription", subscription, Subscription)
    layout = layout_for_version(subscription.version, SUBSCRIPTION_LAYOUTS)
    if as_release is not None:
        subscription = imitate_release(as_release, subscription)
    return layout.encode(subscription)


def _decode_future(data: bytes, supported_version: int) -> FutureSubscription:
    reader = Reader(data)
    version = read_future_version(reader)
    if supported_version < EARLIEST_PROBEABLE_VERSION:
        raise FutureVersion(f"unable to decode subscription data: version={version}", 0, "version")
    latest = _check_supported_version(version, read_header_integer(reader, "supported_version"))
    return FutureSubscription(version, latest, reader.read_rest())


def _check_supported_version(lowest: int, supported_version: int) -> int:
    # Kafka 2.5 and later refuse a supported version below the used one (IllegalArgumentException). 2.0 to 2.4 do not
    # check it, and 2.1 to 2.3 can write 4 with 3. The codec reads all that a release has written, and refuses the rest.
    if supported_version < lowest:
        raise BadVersion(f"supported version {supported_version}, expected {lowest} or more", 4, "supported_version")
    return supported_version


# -- assignments ------------------------------------------------------------------------------------------------------


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
    record: Assignment = layout.decode(data)
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
    require_type("assignment", assignment, Assignment)
    layout = layout_for_version(assignment.version, ASSIGNMENT_LAYOUTS)
    if assignment.version >= FIRST_VERSION_WITH_TOPIC_DICTIONARY:
        assignment = with_topic_dictionary(assignment)
    if as_release is not None:
        assignment = imitate_release(as_release, assignment)
    return layout.encode(assignment)


def with_topic_dictionary(assignment: Assignment, topics: Sequence[TopicEntry] = ()) -> Assignment:
    """Return the same assignment with both host maps over one topic dictionary.

    A decoded assignment keeps the dictionary that it has. A leader that answers many members calls this once and
    shares the result. ``topics`` is the dictionary to use; empty: the sorted names are numbered from 0.
    """
    require_type("assignment", assignment, Assignment)
    active, standby = assignment.partitions_by_host, assignment.standby_partitions_by_host
    if not topics and isinstance(active, HostMap):
        if isinstance(standby, HostMap) and standby.topic_dictionary is active.topic_dictionary:
            return assignment
        if not standby:
            return assignment._replace(standby_partitions_by_host=HostMap.empty(active.topic_dictionary))
    try:
        names = sorted(
            {topic + "" for hosts in (active, standby) for _, partitions in hosts for topic, _ in partitions}
        )
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
    topic_names = {topic for _, topic in topics}
    unknown = (
        (f"{field}[{host}].partitions[{place}].topic", topic)
        for host, (_, partitions) in enumerate(hosts)
        for place, (topic, _) in enumerate(partitions)
        if topic not in topic_names
    )
    for path, topic in unknown if topics else ():
        raise EncodeError(f"the dictionary has no topic {topic!r}", path)


# -- helpers ----------------------------------------------------------------------------------------------------------


def read_header_integer(reader: Reader, field: str) -> int:
    """Read an integer of the header, before the layout is known."""
    try:
        return reader.read_integer(4)
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


def encode_future(future: FutureSubscription | FutureAssignment) -> bytes:
    """Encode both version numbers and the unread bytes."""
    try:
        numbers = [version.to_bytes(4, "big", signed=True) for version in future[:2]]
    except (AttributeError, OverflowError, TypeError):
        raise EncodeError(f"needs two integers of 4 bytes, got {future[:2]!r}", "version") from None
    return b"".join((*numbers, future.rest))


def require_bytes(userdata: bytes | None) -> bytes:
    """Return the bytes of a client library's buffer; ``DecodeError`` for null, which the wire format permits."""
    if type(userdata) is bytes:
        return userdata
    if userdata is None:
        raise DecodeError("userdata is null", 0, "version")
    try:
        return bytes(memoryview(userdata))
    except TypeError:
        raise WrongArgument(f"expected bytes as userdata, got {type(userdata).__name__}") from None


def reject_trailing_bytes(record: Any, size: int) -> None:
    """Raise ``TrailingBytes`` if there are bytes after the last field; ``size`` is that of the whole blob."""
    if record.trailing:
        left = len(record.trailing)
        raise TrailingBytes(f"{left} bytes behind the last field", size - left, "trailing")
