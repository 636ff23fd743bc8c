"""The records of ``__consumer_offsets``: one row per record type, with the fields of its key and of its value.

Source: the generated classes of ``kafka-group-coordinator`` 3.9.2 to 4.4.0 (``CoordinatorRecordType``, ``...Key``,
``...Value``); before 3.7, the same records are in ``kafka.internals.generated`` of ``kafka_2.13``. A test compares
each row with those jars.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from streams_assignor.codec.wire.schema import NOT_FLEXIBLE, Schema
from streams_assignor.codec.wire.streams_structs import ENDPOINT, KEY_VALUE, PARTITIONS, SUBTOPOLOGY, TASKS
from streams_assignor.codec.wire.structs import Field, Struct
from streams_assignor.codec.wire.text import STRING
from streams_assignor.codec.wire.types import BYTES, INT_8, INT_32, INT_64, KAFKA_UUID, List


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
    types = tuple(Field(field, INT_32 if field == "partition" else STRING) for field in fields)
    return Schema(f"{name}Key", types, 0, NOT_FLEXIBLE)


def _type(
    number: int, name: str, keys: tuple[str, ...], *fields: Field, earlier: tuple[Schema, ...] = ()
) -> RecordType:
    """Return a type whose value has one version, which is flexible: all that came with the new coordinator."""
    return RecordType(number, name, _key(name, *keys), Schema(f"{name}Value", fields), earlier)


_GROUP: Final = ("groupId",)
_MEMBER: Final = ("groupId", "memberId")
_TOPIC_PARTITIONS: Final = Struct("TopicPartitions", Field("topicId", KAFKA_UUID), PARTITIONS)
_ASSIGNMENT_EPOCHS: Final = Field("assignmentEpochs", List(INT_32), nullable=0, tag=0)
_TOPIC_PARTITIONS_WITH_EPOCHS: Final = Struct("TopicPartitions", *_TOPIC_PARTITIONS.fields, _ASSIGNMENT_EPOCHS)
_TASKS_WITH_EPOCHS: Final = Struct("TaskIds", *TASKS.fields, _ASSIGNMENT_EPOCHS)
_TOPIC: Final = Struct("TopicInfo", Field("topicId", KAFKA_UUID), Field("topicName", STRING))
_TOPIC_WITH_PARTITIONS: Final = Struct("TopicPartitionsInfo", *_TOPIC.fields, PARTITIONS)
_PARTITION_RACKS: Final = Struct("PartitionMetadata", Field("partition", INT_32), Field("racks", List(STRING)))
_PARTITION_METADATA: Final = Field(
    "topics",
    List(
        Struct(
            "TopicMetadata",
            *_TOPIC.fields,
            Field("numPartitions", INT_32),
            Field("partitionMetadata", List(_PARTITION_RACKS)),
        )
    ),
)
_MEMBER_EPOCHS: Final = (
    Field("memberEpoch", INT_32),
    Field("previousMemberEpoch", INT_32),
    Field("state", INT_8),
)
_CLIENT: Final = (Field("clientId", STRING), Field("clientHost", STRING))
_ASSIGNMENT_EPOCH: Final = (Field("assignmentEpoch", INT_32), Field("assignmentTimestamp", INT_64, tag=0))
_CLASSIC_PROTOCOL: Final = Struct("ClassicProtocol", Field("name", STRING), Field("metadata", BYTES))
_CLASSIC_MEMBER: Final = Struct(
    "ClassicMemberMetadata",
    Field("sessionTimeoutMs", INT_32),
    Field("supportedProtocols", List(_CLASSIC_PROTOCOL)),
)

OFFSET_COMMIT_VALUE: Final = Schema(
    "OffsetCommitValue",
    (
        Field("offset", INT_64),
        Field("leaderEpoch", INT_32, since=3),
        Field("metadata", STRING),
        Field("commitTimestamp", INT_64),
        Field("expireTimestamp", INT_64, since=1, until=1),
        Field("topicId", KAFKA_UUID, since=4, tag=0),
    ),
    latest=4,
    flexible=4,
)
GROUP_METADATA_VALUE: Final = Schema(
    "GroupMetadataValue",
    (
        Field("protocolType", STRING),
        Field("generation", INT_32),
        Field("protocol", STRING, nullable=0),
        Field("leader", STRING, nullable=0),
        Field("currentStateTimestamp", INT_64, since=2),
        Field(
            "members",
            List(
                Struct(
                    "MemberMetadata",
                    Field("memberId", STRING),
                    Field("groupInstanceId", STRING, since=3, nullable=3),
                    Field("clientId", STRING),
                    Field("clientHost", STRING),
                    Field("rebalanceTimeout", INT_32, since=1),
                    Field("sessionTimeout", INT_32),
                    Field("subscription", BYTES),
                    Field("assignment", BYTES),
                )
            ),
        ),
    ),
    latest=4,
    flexible=4,
)
_OFFSET_COMMIT_KEYS: Final = ("group", "topic", "partition")

RECORD_TYPES: Final[Mapping[int, RecordType]] = {
    record_type.number: record_type
    for record_type in (
        # Kafka's decoder reads a value of a legacy key with any version: both keys share their values.
        RecordType(0, "LegacyOffsetCommit", _key("LegacyOffsetCommit", *_OFFSET_COMMIT_KEYS), OFFSET_COMMIT_VALUE),
        RecordType(1, "OffsetCommit", _key("OffsetCommit", *_OFFSET_COMMIT_KEYS), OFFSET_COMMIT_VALUE),
        RecordType(2, "GroupMetadata", _key("GroupMetadata", "group"), GROUP_METADATA_VALUE),
        _type(3, "ConsumerGroupMetadata", _GROUP, Field("epoch", INT_32), Field("metadataHash", INT_64, tag=0)),
        _type(4, "ConsumerGroupPartitionMetadata", _GROUP, _PARTITION_METADATA),
        _type(
            5,
            "ConsumerGroupMemberMetadata",
            _MEMBER,
            Field("instanceId", STRING, nullable=0),
            Field("rackId", STRING, nullable=0),
            *_CLIENT,
            Field("subscribedTopicNames", List(STRING)),
            Field("subscribedTopicRegex", STRING, nullable=0),
            Field("rebalanceTimeoutMs", INT_32),
            Field("serverAssignor", STRING, nullable=0),
            Field("classicMemberMetadata", _CLASSIC_MEMBER, nullable=0, tag=0),
        ),
        _type(6, "ConsumerGroupTargetAssignmentMetadata", _GROUP, *_ASSIGNMENT_EPOCH),
        _type(7, "ConsumerGroupTargetAssignmentMember", _MEMBER, Field("topicPartitions", List(_TOPIC_PARTITIONS))),
        _type(
            8,
            "ConsumerGroupCurrentMemberAssignment",
            _MEMBER,
            *_MEMBER_EPOCHS,
            Field("assignedPartitions", List(_TOPIC_PARTITIONS_WITH_EPOCHS)),
            Field("partitionsPendingRevocation", List(_TOPIC_PARTITIONS_WITH_EPOCHS)),
        ),
        _type(9, "ShareGroupPartitionMetadata", _GROUP, _PARTITION_METADATA),
        _type(
            10,
            "ShareGroupMemberMetadata",
            _MEMBER,
            Field("rackId", STRING, nullable=0),
            *_CLIENT,
            Field("subscribedTopicNames", List(STRING)),
        ),
        _type(
            11,
            "ShareGroupMetadata",
            _GROUP,
            Field("epoch", INT_32),
            Field("metadataHash", INT_64),
            earlier=(Schema("ShareGroupMetadataValue", (Field("epoch", INT_32),)),),
        ),
        _type(12, "ShareGroupTargetAssignmentMetadata", _GROUP, *_ASSIGNMENT_EPOCH),
        _type(13, "ShareGroupTargetAssignmentMember", _MEMBER, Field("topicPartitions", List(_TOPIC_PARTITIONS))),
        _type(
            14,
            "ShareGroupCurrentMemberAssignment",
            _MEMBER,
            *_MEMBER_EPOCHS,
            Field("assignedPartitions", List(_TOPIC_PARTITIONS)),
        ),
        _type(
            15,
            "ShareGroupStatePartitionMetadata",
            _GROUP,
            Field("initializingTopics", List(_TOPIC_WITH_PARTITIONS)),
            Field("initializedTopics", List(_TOPIC_WITH_PARTITIONS)),
            Field("deletingTopics", List(_TOPIC)),
            earlier=(
                Schema(
                    "ShareGroupStatePartitionMetadataValue",
                    (
                        Field("initializedTopics", List(_TOPIC_WITH_PARTITIONS)),
                        Field("deletingTopics", List(_TOPIC)),
                    ),
                ),
            ),
        ),
        _type(
            16,
            "ConsumerGroupRegularExpression",
            ("groupId", "regularExpression"),
            Field("topics", List(STRING)),
            Field("version", INT_64),
            Field("timestamp", INT_64),
        ),
        _type(
            17,
            "StreamsGroupMetadata",
            _GROUP,
            Field("epoch", INT_32),
            Field("metadataHash", INT_64),
            Field("validatedTopologyEpoch", INT_32, tag=0),
            Field("lastAssignmentConfigs", List(KEY_VALUE), nullable=0, tag=1),
            Field("storedDescriptionTopologyEpoch", INT_32, tag=2),
            Field("failedDescriptionTopologyEpoch", INT_32, tag=3),
        ),
        _type(
            19,
            "StreamsGroupMemberMetadata",
            _MEMBER,
            Field("instanceId", STRING, nullable=0),
            Field("rackId", STRING, nullable=0),
            *_CLIENT,
            Field("rebalanceTimeoutMs", INT_32),
            Field("topologyEpoch", INT_32),
            Field("processId", STRING),
            Field("userEndpoint", ENDPOINT, nullable=0),
            Field("clientTags", List(KEY_VALUE)),
        ),
        _type(20, "StreamsGroupTargetAssignmentMetadata", _GROUP, *_ASSIGNMENT_EPOCH),
        _type(
            21,
            "StreamsGroupTargetAssignmentMember",
            _MEMBER,
            Field("activeTasks", List(TASKS)),
            Field("standbyTasks", List(TASKS)),
            Field("warmupTasks", List(TASKS)),
        ),
        _type(
            22,
            "StreamsGroupCurrentMemberAssignment",
            _MEMBER,
            *_MEMBER_EPOCHS,
            Field("activeTasks", List(_TASKS_WITH_EPOCHS)),
            Field("standbyTasks", List(_TASKS_WITH_EPOCHS)),
            Field("warmupTasks", List(_TASKS_WITH_EPOCHS)),
            Field("activeTasksPendingRevocation", List(_TASKS_WITH_EPOCHS)),
            Field("standbyTasksPendingRevocation", List(_TASKS_WITH_EPOCHS)),
            Field("warmupTasksPendingRevocation", List(_TASKS_WITH_EPOCHS)),
        ),
        _type(23, "StreamsGroupTopology", _GROUP, Field("epoch", INT_32), Field("subtopologies", List(SUBTOPOLOGY))),
    )
}
"""Every type that a release from 0.11 to 4.4 writes. 18 was never released."""
