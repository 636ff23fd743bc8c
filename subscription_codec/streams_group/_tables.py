"""The requests of streams groups (KIP-1071): one row per message, with the fields of every version.

Source: the schemas and generated classes of ``kafka-clients`` 4.1.2 to 4.4.0 (``StreamsGroupHeartbeatRequest`` and so
on). A test compares each row with those jars. Version 1 came with 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from subscription_codec.wire.schema import Array, Field, Schema
from subscription_codec.wire.streams_structs import ENDPOINT, INTERNAL_TOPIC, KEY_VALUE, PARTITIONS, SUBTOPOLOGY, TASKS


class Api(NamedTuple):
    """A request and its response."""

    key: int
    """Its number on the wire."""
    name: str
    request: Schema
    response: Schema


_ERROR: Final = (Field("errorCode", "int16"), Field("errorMessage", "string", nullable=0))
_MEMBER: Final = (Field("memberId", "string"), Field("memberEpoch", "int32"))
_ROLES: Final = ("activeTasks", "standbyTasks", "warmupTasks")
_CHANGED_TASKS: Final = tuple(Field(role, Array(TASKS), nullable=0) for role in _ROLES)
"""Null: they are as in the last heartbeat."""
_TASK_OFFSETS: Final = Array((Field("subtopologyId", "string"), Field("partition", "int32"), Field("offset", "int64")))
_TOPIC_PARTITIONS: Final = Array((Field("topic", "string"), PARTITIONS))
_ASSIGNMENT: Final = tuple(Field(role, Array(TASKS)) for role in _ROLES)

_HEARTBEAT_REQUEST: Final = Schema(
    "StreamsGroupHeartbeatRequest",
    (
        Field("groupId", "string"),
        *_MEMBER,
        Field("endpointInformationEpoch", "int32"),
        Field("instanceId", "string", nullable=0),
        Field("rackId", "string", nullable=0),
        Field("rebalanceTimeoutMs", "int32"),
        Field("topology", (Field("epoch", "int32"), Field("subtopologies", Array(SUBTOPOLOGY))), nullable=0),
        *_CHANGED_TASKS,
        Field("processId", "string", nullable=0),
        Field("userEndpoint", ENDPOINT, nullable=0),
        Field("clientTags", Array(KEY_VALUE), nullable=0),
        Field("taskOffsets", _TASK_OFFSETS, nullable=0),
        Field("taskEndOffsets", _TASK_OFFSETS, nullable=0),
        Field("shutdownApplication", "bool"),
    ),
    latest=1,
)
_HEARTBEAT_RESPONSE: Final = Schema(
    "StreamsGroupHeartbeatResponse",
    (
        Field("throttleTimeMs", "int32"),
        *_ERROR,
        *_MEMBER,
        Field("heartbeatIntervalMs", "int32"),
        # Kafka 4.4 calls this one acceptableRecoveryLagLegacy.
        Field("acceptableRecoveryLag", "int32", until=0),
        Field("taskOffsetIntervalMs", "int32"),
        Field("acceptableRecoveryLag", "int64", since=1),
        Field("status", Array((Field("statusCode", "int8"), Field("statusDetail", "string"))), nullable=0),
        *_CHANGED_TASKS,
        Field("topologyDescriptionRequired", "bool", since=1),
        Field("endpointInformationEpoch", "int32"),
        Field(
            "partitionsByUserEndpoint",
            Array(
                (
                    Field("userEndpoint", ENDPOINT),
                    Field("activePartitions", _TOPIC_PARTITIONS),
                    Field("standbyPartitions", _TOPIC_PARTITIONS),
                )
            ),
            nullable=0,
        ),
    ),
    latest=1,
)

_CONFIGURED_SUBTOPOLOGY: Final = (
    Field("subtopologyId", "string"),
    Field("sourceTopics", Array("string")),
    Field("repartitionSinkTopics", Array("string")),
    Field("stateChangelogTopics", Array(INTERNAL_TOPIC)),
    Field("repartitionSourceTopics", Array(INTERNAL_TOPIC)),
)
_DESCRIBED_MEMBER: Final = (
    *_MEMBER,
    Field("instanceId", "string", nullable=0),
    Field("rackId", "string", nullable=0),
    Field("clientId", "string"),
    Field("clientHost", "string"),
    Field("topologyEpoch", "int32"),
    Field("processId", "string"),
    Field("userEndpoint", ENDPOINT, nullable=0),
    Field("clientTags", Array(KEY_VALUE)),
    Field("taskOffsets", _TASK_OFFSETS),
    Field("taskEndOffsets", _TASK_OFFSETS),
    Field("assignment", _ASSIGNMENT),
    Field("targetAssignment", _ASSIGNMENT),
    Field("isClassic", "bool"),
)
_NODE: Final = (
    Field("name", "string"),
    Field("nodeType", "int8"),
    Field("sourceTopics", Array("string")),
    Field("sinkTopic", "string", nullable=0),
    Field("stores", Array("string")),
    Field("successors", Array("string")),
)
_TOPOLOGY_DESCRIPTION: Final = (
    Field("subtopologies", Array((Field("subtopologyId", "string"), Field("nodes", Array(_NODE))))),
    Field("globalStores", Array((Field("source", _NODE), Field("processor", _NODE)))),
)
_DESCRIBED_GROUP: Final = (
    *_ERROR,
    Field("groupId", "string"),
    Field("groupState", "string"),
    Field("groupEpoch", "int32"),
    Field("assignmentEpoch", "int32"),
    Field(
        "topology",
        (Field("epoch", "int32"), Field("subtopologies", Array(_CONFIGURED_SUBTOPOLOGY), nullable=0)),
        nullable=0,
    ),
    Field("members", Array(_DESCRIBED_MEMBER)),
    Field("authorizedOperations", "int32"),
    Field("topologyDescription", _TOPOLOGY_DESCRIPTION, since=1, nullable=1),
    Field("topologyDescriptionStatus", "int8", since=1),
    Field("assignorName", "string", since=1, nullable=1),
)
_DESCRIBE_REQUEST: Final = Schema(
    "StreamsGroupDescribeRequest",
    (
        Field("groupIds", Array("string")),
        Field("includeAuthorizedOperations", "bool"),
        Field("includeTopologyDescription", "bool", since=1),
    ),
    latest=1,
)
_DESCRIBE_RESPONSE: Final = Schema(
    "StreamsGroupDescribeResponse",
    (Field("throttleTimeMs", "int32"), Field("groups", Array(_DESCRIBED_GROUP))),
    latest=1,
)

HEARTBEAT: Final = Api(88, "StreamsGroupHeartbeat", _HEARTBEAT_REQUEST, _HEARTBEAT_RESPONSE)
DESCRIBE: Final = Api(89, "StreamsGroupDescribe", _DESCRIBE_REQUEST, _DESCRIBE_RESPONSE)

STATUS_CODES: Final[Mapping[int, str]] = {
    0: "STALE_TOPOLOGY",
    1: "MISSING_SOURCE_TOPICS",
    2: "INCORRECTLY_PARTITIONED_TOPICS",
    3: "MISSING_INTERNAL_TOPICS",
    4: "SHUTDOWN_APPLICATION",
    5: "ASSIGNMENT_DELAYED",
    6: "MISSING_CLIENT_TAGS",
}
"""Statuses in a heartbeat's response. Java: ``StreamsGroupHeartbeatResponse.Status``; 5 came with 4.3, 6 with 4.4."""

JOIN_GROUP_MEMBER_EPOCH: Final = 0
LEAVE_GROUP_MEMBER_EPOCH: Final = -1
LEAVE_GROUP_STATIC_MEMBER_EPOCH: Final = -2
"""A static member that leaves and will return. Java: ``StreamsGroupHeartbeatRequest``, like the two before."""
