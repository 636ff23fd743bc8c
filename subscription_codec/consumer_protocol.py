"""The consumer protocol: the envelope of userdata in JoinGroup and SyncGroup.

Java: ``ConsumerProtocol``, ``ConsumerProtocolSubscription.json``, ``ConsumerProtocolAssignment.json``. Consumers up to
2.3 send version 0, 2.4 to 3.3 version 1 (owned partitions), 3.4 and later version 3 (generation, rack). A version above
3 is decoded as 3: "newer schemas are backward compatible", so its new fields follow and are kept in ``trailing``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from streams_assignor.codec._messages import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    reject_trailing_bytes,
    require_bytes,
)
from streams_assignor.codec.columns import SortedPartitions, array_bounds
from streams_assignor.codec.errors import BadVersion, DecodeError, EncodeError, Truncated
from streams_assignor.codec.records import Assignment, FutureSubscription, Subscription, TopicPartition
from streams_assignor.codec.versions import LATEST_SUPPORTED_VERSION
from streams_assignor.codec.wire.schema import NOT_FLEXIBLE, Layout, Schema
from streams_assignor.codec.wire.structs import Field, Struct
from streams_assignor.codec.wire.text import Utf8
from streams_assignor.codec.wire.types import INT_16, INT_32, Array, Bytes, ColumnType, Reader, WireType

HIGHEST_SUPPORTED_VERSION: Final = 3


class TopicPartitions(NamedTuple):
    """Some partitions of one topic, in wire order."""

    topic: str
    partitions: tuple[int, ...]


class ConsumerSubscription(NamedTuple):
    """A member's consumer-protocol subscription: topics, userdata and, since version 1, its owned partitions."""

    topics: Sequence[str] = ()
    user_data: bytes | None = None
    owned_partitions: Sequence[TopicPartitions] = ()
    generation_id: int = -1
    rack_id: str | None = None
    version: int = 0
    trailing: bytes = b""


class ConsumerAssignment(NamedTuple):
    """A member's consumer-protocol assignment: its partitions and the userdata."""

    assigned_partitions: Sequence[TopicPartitions] = ()
    user_data: bytes | None = None
    version: int = 0
    trailing: bytes = b""


_TOPIC_PARTITIONS: Final = Array(
    Struct("TopicPartitions", Field("topic", Utf8(2)), Field("partitions", Array(INT_32)), make=TopicPartitions)
)
_VERSION: Final = Field("version", INT_16)
_TOPICS: Final = Array(Utf8(2))
_USER_DATA: Final = Field("userData", Bytes(4), "user_data", nullable=0)


class _SkippedTopics(ColumnType[tuple[()]]):
    """The topics for a leader, which does not need them: their lengths are checked, and none is kept."""

    inner = _TOPICS

    def read(self, reader: Reader) -> tuple[()]:
        for index in range(reader.read_count(2)):
            try:
                reader.read_bytes(reader.read_count(1, 2))
            except DecodeError as error:
                raise error.within(f"[{index}]") from None
        return ()

    def fast_read(self, data: bytes, at: int) -> tuple[tuple[()], int]:
        count, at, _ = array_bounds(data, at, 2)
        for _ in range(count):
            at += 2 + int.from_bytes(data[at : at + 2], "big")
        return (), at


def _subscription(topics: WireType[Any]) -> Mapping[int, Layout]:
    fields = (
        _VERSION,
        Field("topics", topics),
        _USER_DATA,
        Field("ownedPartitions", _TOPIC_PARTITIONS, "owned_partitions", since=1),
        Field("generationId", INT_32, "generation_id", since=2),
        Field("rackId", Utf8(2), "rack_id", since=3, nullable=3),
    )
    return Schema(
        "ConsumerProtocolSubscription",
        fields,
        latest=HIGHEST_SUPPORTED_VERSION,
        flexible=NOT_FLEXIBLE,
        record=ConsumerSubscription,
    ).layouts


SUBSCRIPTION_LAYOUTS: Final = _subscription(_TOPICS)
_LAYOUTS_WITHOUT_TOPICS: Final = _subscription(_SkippedTopics())
ASSIGNMENT_LAYOUTS: Final[Mapping[int, Layout]] = Schema(
    "ConsumerProtocolAssignment",
    (_VERSION, Field("assignedPartitions", _TOPIC_PARTITIONS, "assigned_partitions"), _USER_DATA),
    latest=HIGHEST_SUPPORTED_VERSION,
    flexible=NOT_FLEXIBLE,
    record=ConsumerAssignment,
).layouts


def decode_consumer_subscription(subscription: bytes | None, *, strict: bool = False) -> ConsumerSubscription:
    """Decode a consumer-protocol subscription; ``DecodeError`` if the bytes are malformed.

    ``strict`` refuses bytes after the last field. Otherwise they are kept in ``trailing``.
    """
    record: ConsumerSubscription = _decode(subscription, SUBSCRIPTION_LAYOUTS, strict)
    return record


def decode_consumer_assignment(assignment: bytes | None, *, strict: bool = False) -> ConsumerAssignment:
    """Decode a consumer-protocol assignment; see ``decode_consumer_subscription``."""
    record: ConsumerAssignment = _decode(assignment, ASSIGNMENT_LAYOUTS, strict)
    return record


def encode_consumer_subscription(subscription: ConsumerSubscription) -> bytes:
    """Encode a consumer-protocol subscription; ``EncodeError`` if a value does not fit."""
    return _encode(subscription, SUBSCRIPTION_LAYOUTS)


def encode_consumer_assignment(assignment: ConsumerAssignment) -> bytes:
    """Encode a consumer-protocol assignment; ``EncodeError`` if a value does not fit."""
    return _encode(assignment, ASSIGNMENT_LAYOUTS)


def decode_member_userdata(
    subscription: bytes | None, *, supported_version: int = LATEST_SUPPORTED_VERSION, with_topics: bool = True
) -> tuple[ConsumerSubscription, Subscription | FutureSubscription]:
    """Decode both layers of a member's subscription (JoinGroup): the envelope and the userdata in it.

    This and its three siblings are the only calls that a leader or a member needs, with one ``except`` each.

    Args:
        subscription: A whole consumer-protocol subscription.
        supported_version: The reader's supported version, as in ``decode_subscription``.
        with_topics: False for a leader, which does not need the topics: a hostile member may list any number.

    Raises:
        FutureVersion: The reader cannot read the version of the userdata.
        DecodeError: One of the layers is malformed.
    """
    envelope = (
        decode_consumer_subscription(subscription)
        if with_topics
        else _decode(subscription, _LAYOUTS_WITHOUT_TOPICS, strict=False)
    )
    return envelope, decode_subscription(envelope.user_data, supported_version=supported_version)


def encode_member_userdata(
    envelope: ConsumerSubscription, userdata: Subscription | FutureSubscription, *, as_release: str | None = None
) -> bytes:
    """Encode a member's subscription (JoinGroup): ``envelope`` with ``userdata`` in it.

    Args:
        envelope: The outer layer; its ``user_data`` is replaced.
        userdata: The inner layer.
        as_release: As in ``encode_subscription``.

    Raises:
        EncodeError: A version has no layout or a value does not fit its field.
    """
    return encode_consumer_subscription(
        envelope._replace(user_data=encode_subscription(userdata, as_release=as_release))
    )


def decode_leader_userdata(
    assignment: bytes | None, *, supported_version: int = LATEST_SUPPORTED_VERSION
) -> tuple[ConsumerAssignment, Assignment]:
    """Decode both layers of a leader's assignment for one member (SyncGroup); see ``decode_member_userdata``."""
    envelope = decode_consumer_assignment(assignment)
    return envelope, decode_assignment(envelope.user_data, supported_version=supported_version)


def encode_leader_userdata(
    envelope: ConsumerAssignment, userdata: Assignment, *, as_release: str | None = None
) -> bytes:
    """Encode a leader's assignment for one member (SyncGroup); see ``encode_member_userdata``."""
    return encode_consumer_assignment(envelope._replace(user_data=encode_assignment(userdata, as_release=as_release)))


def group_by_topic(partitions: Iterable[TopicPartition]) -> tuple[TopicPartitions, ...]:
    """Group partitions by topic, sorted, so that equal sets give equal bytes.

    >>> group_by_topic([TopicPartition("b", 0), TopicPartition("a", 1), TopicPartition("a", 0)])
    (TopicPartitions(topic='a', partitions=(0, 1)), TopicPartitions(topic='b', partitions=(0,)))
    """
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        by_topic.setdefault(topic, []).append(partition)
    return tuple(TopicPartitions(topic, tuple(numbers)) for topic, numbers in by_topic.items())


def flatten_by_topic(groups: Sequence[TopicPartitions]) -> SortedPartitions:
    """Return the partitions of all groups, sorted by (topic, partition) as in Kafka's ``onAssignment``."""
    return SortedPartitions(groups)


def _decode(message: bytes | None, layouts: Mapping[int, Layout], strict: bool) -> Any:
    data = message if type(message) is bytes else require_bytes(message)
    version = int.from_bytes(data[:2], "big", signed=True)
    if len(data) < 2:
        raise Truncated(f"needs 2 bytes, {len(data)} left", 0, "version")
    if version < 0:
        raise BadVersion(f"consumer protocol version {version}; the lowest is 0", 0, "version")
    record = (layouts.get(version) or layouts[HIGHEST_SUPPORTED_VERSION]).decode(data)
    if strict:
        reject_trailing_bytes(record, len(data))
    return record


def _encode(record: ConsumerSubscription | ConsumerAssignment, layouts: Mapping[int, Layout]) -> bytes:
    if record.version < 0:
        raise EncodeError(f"must be 0 or more, got {record.version}", "version")
    return layouts[min(record.version, HIGHEST_SUPPORTED_VERSION)].encode(record)
