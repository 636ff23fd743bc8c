"""The records of ``__consumer_offsets``: one row per record type, with the fields of its key and of its value.

Source: the generated classes of ``kafka-group-coordinator`` 3.9.2 to 4.3.1 (``CoordinatorRecordType``, ``...Key``,
``...Value``); before 3.7, the same records are in ``kafka.internals.generated`` of ``kafka_2.13``. A test compares
each row with those jars.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from subscription_codec.wire.schema import NOT_FLEXIBLE, Array, Field, Schema
from subscription_codec.wire.streams_structs import ENDPOINT, KEY_VALUE, PARTITIONS, SUBTOPOLOGY, TASKS


class RecordType(NamedTuple):
    """A type of record; its number is the version of the key on the wire."""

    number: int
    name: str
    """Kafka's name, for example ``OffsetCommit``."""
    key: Schema
    value: Schema
    earlier_values: tuple[Schema, ...] = ()
    """Other layouts with the same version number, written by releases in which the feature was a preview."""


def _key(name: str, *fields: str) -> Schema:
    """Return the schema of a key: strings, and ``partition``. Keys are never flexible."""
    types = tuple(Field(field, "int32" if field == "partition" else "string") for field in fields)
    return Schema(f"{name}Key", types, 0, NOT_FLEXIBLE)


def _type(
    number: int, name: str, keys: tuple[str, ...], *fields: Field, earlier: tuple[Schema, ...] = ()
) -> RecordType:
    """Return a type whose value has one version, which is flexible: all that came with the new coordinator."""
    return RecordType(number, name, _key(name, *keys), Schema(f"{name}Value", fields), earlier)


_GROUP: Final = ("groupId",)
_MEMBER: Final = ("groupId", "memberId")
_TOPIC_PARTITIONS: Final = (Field("topicId", "uuid"), PARTITIONS)
_ASSIGNMENT_EPOCHS: Final = Field("assignmentEpochs", Array("int32"), nullable=0, tag=0)
_TOPIC_PARTITIONS_WITH_EPOCHS: Final = (*_TOPIC_PARTITIONS, _ASSIGNMENT_EPOCHS)
_TASKS_WITH_EPOCHS: Final = (*TASKS, _ASSIGNMENT_EPOCHS)
_TOPIC: Final = (Field("topicId", "uuid"), Field("topicName", "string"))
_TOPIC_WITH_PARTITIONS: Final = (*_TOPIC, PARTITIONS)
_PARTITION_RACKS: Final = (Field("partition", "int32"), Field("racks", Array("string")))
_PARTITION_METADATA: Final = Field(
    "topics",
    Array((*_TOPIC, Field("numPartitions", "int32"), Field("partitionMetadata", Array(_PARTITION_RACKS)))),
)
_MEMBER_EPOCHS: Final = (
    Field("memberEpoch", "int32"),
    Field("previousMemberEpoch", "int32"),
    Field("state", "int8"),
)
_CLIENT: Final = (Field("clientId", "string"), Field("clientHost", "string"))
_ASSIGNMENT_EPOCH: Final = (Field("assignmentEpoch", "int32"), Field("assignmentTimestamp", "int64", tag=0))
_CLASSIC_MEMBER: Final = (
    Field("sessionTimeoutMs", "int32"),
    Field("supportedProtocols", Array((Field("name", "string"), Field("metadata", "bytes")))),
)

OFFSET_COMMIT_VALUE: Final = Schema(
    "OffsetCommitValue",
    (
        Field("offset", "int64"),
        Field("leaderEpoch", "int32", since=3),
        Field("metadata", "string"),
        Field("commitTimestamp", "int64"),
        Field("expireTimestamp", "int64", since=1, until=1),
        Field("topicId", "uuid", since=4, tag=0),
    ),
    latest=4,
    flexible=4,
)
GROUP_METADATA_VALUE: Final = Schema(
    "GroupMetadataValue",
    (
        Field("protocolType", "string"),
        Field("generation", "int32"),
        Field("protocol", "string", nullable=0),
        Field("leader", "string", nullable=0),
        Field("currentStateTimestamp", "int64", since=2),
        Field(
            "members",
            Array(
                (
                    Field("memberId", "string"),
                    Field("groupInstanceId", "string", since=3, nullable=3),
                    Field("clientId", "string"),
                    Field("clientHost", "string"),
                    Field("rebalanceTimeout", "int32", since=1),
                    Field("sessionTimeout", "int32"),
                    Field("subscription", "bytes"),
                    Field("assignment", "bytes"),
                )
            ),
        ),
    ),
    latest=4,
    flexible=4,
)
_OFFSET_COMMIT_KEYS: Final = ("group", "topic", "partition")

RECORD_TYPES: Final[Mapping[int, RecordType]] = {
    each.number: each
    for each in (
        # Kafka's decoder reads a value of a legacy key with any version: both keys share their values.
        RecordType(0, "LegacyOffsetCommit", _key("LegacyOffsetCommit", *_OFFSET_COMMIT_KEYS), OFFSET_COMMIT_VALUE),
        RecordType(1, "OffsetCommit", _key("OffsetCommit", *_OFFSET_COMMIT_KEYS), OFFSET_COMMIT_VALUE),
        RecordType(2, "GroupMetadata", _key("GroupMetadata", "group"), GROUP_METADATA_VALUE),
        _type(3, "ConsumerGroupMetadata", _GROUP, Field("epoch", "int32"), Field("metadataHash", "int64", tag=0)),
        _type(4, "ConsumerGroupPartitionMetadata", _GROUP, _PARTITION_METADATA),
        _type(
            5,
            "ConsumerGroupMemberMetadata",
            _MEMBER,
            Field("instanceId", "string", nullable=0),
            Field("rackId", "string", nullable=0),
            *_CLIENT,
            Field("subscribedTopicNames", Array("string")),
            Field("subscribedTopicRegex", "string", nullable=0),
            Field("rebalanceTimeoutMs", "int32"),
            Field("serverAssignor", "string", nullable=0),
            Field("classicMemberMetadata", _CLASSIC_MEMBER, nullable=0, tag=0),
        ),
        _type(6, "ConsumerGroupTargetAssignmentMetadata", _GROUP, *_ASSIGNMENT_EPOCH),
        _type(7, "ConsumerGroupTargetAssignmentMember", _MEMBER, Field("topicPartitions", Array(_TOPIC_PARTITIONS))),
        _type(
            8,
            "ConsumerGroupCurrentMemberAssignment",
            _MEMBER,
            *_MEMBER_EPOCHS,
            Field("assignedPartitions", Array(_TOPIC_PARTITIONS_WITH_EPOCHS)),
            Field("partitionsPendingRevocation", Array(_TOPIC_PARTITIONS_WITH_EPOCHS)),
        ),
        _type(9, "ShareGroupPartitionMetadata", _GROUP, _PARTITION_METADATA),
        _type(
            10,
            "ShareGroupMemberMetadata",
            _MEMBER,
            Field("rackId", "string", nullable=0),
            *_CLIENT,
            Field("subscribedTopicNames", Array("string")),
        ),
        _type(
            11,
            "ShareGroupMetadata",
            _GROUP,
            Field("epoch", "int32"),
            Field("metadataHash", "int64"),
            earlier=(Schema("ShareGroupMetadataValue", (Field("epoch", "int32"),)),),
        ),
        _type(12, "ShareGroupTargetAssignmentMetadata", _GROUP, *_ASSIGNMENT_EPOCH),
        _type(13, "ShareGroupTargetAssignmentMember", _MEMBER, Field("topicPartitions", Array(_TOPIC_PARTITIONS))),
        _type(
            14,
            "ShareGroupCurrentMemberAssignment",
            _MEMBER,
            *_MEMBER_EPOCHS,
            Field("assignedPartitions", Array(_TOPIC_PARTITIONS)),
        ),
        _type(
            15,
            "ShareGroupStatePartitionMetadata",
            _GROUP,
            Field("initializingTopics", Array(_TOPIC_WITH_PARTITIONS)),
            Field("initializedTopics", Array(_TOPIC_WITH_PARTITIONS)),
            Field("deletingTopics", Array(_TOPIC)),
            earlier=(
                Schema(
                    "ShareGroupStatePartitionMetadataValue",
                    (
                        Field("initializedTopics", Array(_TOPIC_WITH_PARTITIONS)),
                        Field("deletingTopics", Array(_TOPIC)),
                    ),
                ),
            ),
        ),
        _type(
            16,
            "ConsumerGroupRegularExpression",
            ("groupId", "regularExpression"),
            Field("topics", Array("string")),
            Field("version", "int64"),
            Field("timestamp", "int64"),
        ),
        _type(
            17,
            "StreamsGroupMetadata",
            _GROUP,
            Field("epoch", "int32"),
            Field("metadataHash", "int64"),
            Field("validatedTopologyEpoch", "int32", tag=0),
            Field("lastAssignmentConfigs", Array(KEY_VALUE), nullable=0, tag=1),
        ),
        _type(
            19,
            "StreamsGroupMemberMetadata",
            _MEMBER,
            Field("instanceId", "string", nullable=0),
            Field("rackId", "string", nullable=0),
            *_CLIENT,
            Field("rebalanceTimeoutMs", "int32"),
            Field("topologyEpoch", "int32"),
            Field("processId", "string"),
            Field("userEndpoint", ENDPOINT, nullable=0),
            Field("clientTags", Array(KEY_VALUE)),
        ),
        _type(20, "StreamsGroupTargetAssignmentMetadata", _GROUP, *_ASSIGNMENT_EPOCH),
        _type(
            21,
            "StreamsGroupTargetAssignmentMember",
            _MEMBER,
            Field("activeTasks", Array(TASKS)),
            Field("standbyTasks", Array(TASKS)),
            Field("warmupTasks", Array(TASKS)),
        ),
        _type(
            22,
            "StreamsGroupCurrentMemberAssignment",
            _MEMBER,
            *_MEMBER_EPOCHS,
            Field("activeTasks", Array(_TASKS_WITH_EPOCHS)),
            Field("standbyTasks", Array(_TASKS_WITH_EPOCHS)),
            Field("warmupTasks", Array(_TASKS_WITH_EPOCHS)),
            Field("activeTasksPendingRevocation", Array(_TASKS_WITH_EPOCHS)),
            Field("standbyTasksPendingRevocation", Array(_TASKS_WITH_EPOCHS)),
            Field("warmupTasksPendingRevocation", Array(_TASKS_WITH_EPOCHS)),
        ),
        _type(23, "StreamsGroupTopology", _GROUP, Field("epoch", "int32"), Field("subtopologies", Array(SUBTOPOLOGY))),
    )
}
"""Every type that a release from 0.11 to 4.3 writes. 18 was never released."""
