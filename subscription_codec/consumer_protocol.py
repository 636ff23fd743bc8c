"""The consumer protocol: the envelope in which userdata travels through JoinGroup and SyncGroup.

Java: ``ConsumerProtocol``, ``ConsumerProtocolSubscription.json``, ``ConsumerProtocolAssignment.json``. Version 0 is
what consumers sent up to 2.3, 1 (owned partitions) 2.4 to 3.3, 3 (generation, rack) from 3.4 on. A version above 3
is read as 3: "newer schemas are backward compatible", so what is new stands behind and is kept in ``trailing``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from subscription_codec._driver import as_bytes, nothing_behind, read_number, read_record, write_record
from subscription_codec._text import Utf8
from subscription_codec._wire import INT_32, Array, Integer, NullableBytes, Reader, Struct
from subscription_codec.errors import BadVersion, EncodeError
from subscription_codec.layout import Field, Layout
from subscription_codec.records import TopicPartition

HIGHEST_VERSION: Final = 3


class TopicPartitions(NamedTuple):
    """Some partitions of one topic, in wire order."""

    topic: str
    partitions: tuple[int, ...]


class MemberSubscription(NamedTuple):
    """The whole of what a member sends: topics, userdata, and from version 1 on what it still owns."""

    topics: tuple[str, ...] = ()
    user_data: bytes | None = None
    owned_partitions: tuple[TopicPartitions, ...] = ()
    generation_id: int = -1
    rack_id: str | None = None
    version: int = 0
    trailing: bytes = b""


class MemberAssignment(NamedTuple):
    """The whole of what a member receives: its partitions and the userdata."""

    assigned_partitions: tuple[TopicPartitions, ...] = ()
    user_data: bytes | None = None
    version: int = 0
    trailing: bytes = b""


_TOPIC_PARTITIONS: Final = Struct("TopicPartitions", TopicPartitions, topic=Utf8(2), partitions=Array(INT_32))
_V0: Final = (
    Field("version", "version", Integer(2)),
    Field("topics", "topics", Array(Utf8(2))),
    Field("user_data", "userData", NullableBytes()),
)
_V1: Final = (*_V0, Field("owned_partitions", "ownedPartitions", Array(_TOPIC_PARTITIONS)))
_V2: Final = (*_V1, Field("generation_id", "generationId", INT_32))
_V3: Final = (*_V2, Field("rack_id", "rackId", Utf8(2, nullable=True)))
_ASSIGNMENT: Final = Layout(
    MemberAssignment,
    Field("version", "version", Integer(2)),
    Field("assigned_partitions", "assignedPartitions", Array(_TOPIC_PARTITIONS)),
    Field("user_data", "userData", NullableBytes()),
)

SUBSCRIPTION: Final[Mapping[int, Layout]] = {
    version: Layout(MemberSubscription, *fields) for version, fields in enumerate((_V0, _V1, _V2, _V3))
}
ASSIGNMENT: Final[Mapping[int, Layout]] = dict.fromkeys(SUBSCRIPTION, _ASSIGNMENT)


def decode_member_subscription(blob: bytes | None, *, strict: bool = False) -> MemberSubscription:
    """Read a whole consumer-protocol subscription; ``DecodeError`` if the bytes are none.

    ``strict`` refuses bytes behind the last field, which else are kept in ``trailing``.
    """
    record: MemberSubscription = _decode(blob, SUBSCRIPTION, strict)
    return record


def decode_member_assignment(blob: bytes | None, *, strict: bool = False) -> MemberAssignment:
    """Read a whole consumer-protocol assignment likewise."""
    record: MemberAssignment = _decode(blob, ASSIGNMENT, strict)
    return record


def encode_member_subscription(subscription: MemberSubscription) -> bytes:
    """Write a whole consumer-protocol subscription."""
    return _encode(subscription, SUBSCRIPTION)


def encode_member_assignment(assignment: MemberAssignment) -> bytes:
    """Write a whole consumer-protocol assignment."""
    return _encode(assignment, ASSIGNMENT)


def grouped(partitions: Iterable[TopicPartition]) -> tuple[TopicPartitions, ...]:
    """Group partitions by topic, all sorted: equal sets give equal bytes.

    >>> grouped([TopicPartition("b", 0), TopicPartition("a", 1), TopicPartition("a", 0)])
    (TopicPartitions(topic='a', partitions=(0, 1)), TopicPartitions(topic='b', partitions=(0,)))
    """
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        by_topic.setdefault(topic, []).append(partition)
    return tuple(TopicPartitions(topic, tuple(numbers)) for topic, numbers in by_topic.items())


def flattened(groups: Iterable[TopicPartitions]) -> tuple[TopicPartition, ...]:
    """List the partitions of a grouped list one by one, sorted by (topic, partition) as Kafka's follower does."""
    return tuple(sorted(TopicPartition(topic, partition) for topic, numbers in groups for partition in numbers))


def _decode(blob: bytes | None, layouts: Mapping[int, Layout], strict: bool) -> Any:
    data = blob if type(blob) is bytes else as_bytes(blob)
    version = read_number(Reader(data), "version", size=2)
    if version < 0:
        raise BadVersion(f"consumer protocol version {version}; the lowest is 0", 0, "version")
    record = read_record(data, layouts[min(version, HIGHEST_VERSION)], version)
    if strict:
        nothing_behind(record, len(data))
    return record


def _encode(record: MemberSubscription | MemberAssignment, layouts: Mapping[int, Layout]) -> bytes:
    if record.version < 0:
        raise EncodeError(f"must be 0 or more, got {record.version}", "version")
    return write_record(record, layouts[min(record.version, HIGHEST_VERSION)])
