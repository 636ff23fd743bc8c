"""The requests of streams groups (KIP-1071): one row per message, with the fields of every version.

Source: the schemas and generated classes of ``kafka-clients`` 4.1.2 to 4.4.0 (``StreamsGroupHeartbeatRequest`` and so
on). A test compares each row with those jars. Version 1 came with 4.4, and so did the update of topology descriptions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from streams_assignor.codec.wire.schema import Schema
from streams_assignor.codec.wire.streams_structs import (
    ENDPOINT,
    INTERNAL_TOPIC,
    KEY_VALUE,
    PARTITIONS,
    SUBTOPOLOGY,
    TASKS,
)
from streams_assignor.codec.wire.structs import Field, Struct
from streams_assignor.codec.wire.text import STRING
from streams_assignor.codec.wire.types import BOOLEAN, INT_8, INT_16, INT_32, INT_64, List


class Api(NamedTuple):
    """A request and its response."""

    key: int
    """Its number on the wire."""
    name: str
    request: Schema
    response: Schema


_ERROR: Final = (Field("errorCode", INT_16), Field("errorMessage", STRING, nullable=0))
_MEMBER: Final = (Field("memberId", STRING), Field("memberEpoch", INT_32))
_ROLES: Final = ("activeTasks", "standbyTasks", "warmupTasks")
_CHANGED_TASKS: Final = tuple(Field(role, List(TASKS), nullable=0) for role in _ROLES)
"""Null: they are as in the last heartbeat."""
_TASK_OFFSETS: Final = List(
    Struct("TaskOffset", Field("subtopologyId", STRING), Field("partition", INT_32), Field("offset", INT_64))
)
_TOPIC_PARTITIONS: Final = List(Struct("TopicPartition", Field("topic", STRING), PARTITIONS))
_ASSIGNMENT: Final = Struct("Assignment", *(Field(role, List(TASKS)) for role in _ROLES))

_TOPOLOGY: Final = Struct("Topology", Field("epoch", INT_32), Field("subtopologies", List(SUBTOPOLOGY)))
_STATUS: Final = Struct("Status", Field("statusCode", INT_8), Field("statusDetail", STRING))
_ENDPOINT_PARTITIONS: Final = Struct(
    "EndpointToPartitions",
    Field("userEndpoint", ENDPOINT),
    Field("activePartitions", _TOPIC_PARTITIONS),
    Field("standbyPartitions", _TOPIC_PARTITIONS),
)

_HEARTBEAT_REQUEST: Final = Schema(
    "StreamsGroupHeartbeatRequest",
    (
        Field("groupId", STRING),
        *_MEMBER,
        Field("endpointInformationEpoch", INT_32),
        Field("instanceId", STRING, nullable=0),
        Field("rackId", STRING, nullable=0),
        Field("rebalanceTimeoutMs", INT_32),
        Field("topology", _TOPOLOGY, nullable=0),
        *_CHANGED_TASKS,
        Field("processId", STRING, nullable=0),
        Field("userEndpoint", ENDPOINT, nullable=0),
        Field("clientTags", List(KEY_VALUE), nullable=0),
        Field("taskOffsets", _TASK_OFFSETS, nullable=0),
        Field("taskEndOffsets", _TASK_OFFSETS, nullable=0),
        Field("shutdownApplication", BOOLEAN),
    ),
    latest=1,
)
_HEARTBEAT_RESPONSE: Final = Schema(
    "StreamsGroupHeartbeatResponse",
    (
        Field("throttleTimeMs", INT_32),
        *_ERROR,
        *_MEMBER,
        Field("heartbeatIntervalMs", INT_32),
        # Kafka 4.4 calls this one acceptableRecoveryLagLegacy.
        Field("acceptableRecoveryLag", INT_32, until=0),
        Field("taskOffsetIntervalMs", INT_32),
        Field("acceptableRecoveryLag", INT_64, since=1),
        Field("status", List(_STATUS), nullable=0),
        *_CHANGED_TASKS,
        Field("topologyDescriptionRequired", BOOLEAN, since=1),
        Field("endpointInformationEpoch", INT_32),
        Field("partitionsByUserEndpoint", List(_ENDPOINT_PARTITIONS), nullable=0),
    ),
    latest=1,
)

_CONFIGURED_SUBTOPOLOGY: Final = Struct(
    "Subtopology",
    Field("subtopologyId", STRING),
    Field("sourceTopics", List(STRING)),
    Field("repartitionSinkTopics", List(STRING)),
    Field("stateChangelogTopics", List(INTERNAL_TOPIC)),
    Field("repartitionSourceTopics", List(INTERNAL_TOPIC)),
)
_DESCRIBED_MEMBER: Final = Struct(
    "Member",
    *_MEMBER,
    Field("instanceId", STRING, nullable=0),
    Field("rackId", STRING, nullable=0),
    Field("clientId", STRING),
    Field("clientHost", STRING),
    Field("topologyEpoch", INT_32),
    Field("processId", STRING),
    Field("userEndpoint", ENDPOINT, nullable=0),
    Field("clientTags", List(KEY_VALUE)),
    Field("taskOffsets", _TASK_OFFSETS),
    Field("taskEndOffsets", _TASK_OFFSETS),
    Field("assignment", _ASSIGNMENT),
    Field("targetAssignment", _ASSIGNMENT),
    Field("isClassic", BOOLEAN),
)
_NODE: Final = Struct(
    "TopologyDescriptionNode",
    Field("name", STRING),
    Field("nodeType", INT_8),
    Field("sourceTopics", List(STRING)),
    Field("sinkTopic", STRING, nullable=0),
    Field("stores", List(STRING)),
    Field("successors", List(STRING)),
)
_TOPOLOGY_DESCRIPTION: Final = Struct(
    "TopologyDescription",
    Field(
        "subtopologies",
        List(Struct("TopologyDescriptionSubtopology", Field("subtopologyId", STRING), Field("nodes", List(_NODE)))),
    ),
    Field(
        "globalStores",
        List(Struct("TopologyDescriptionGlobalStore", Field("source", _NODE), Field("processor", _NODE))),
    ),
)
_CONFIGURED_TOPOLOGY: Final = Struct(
    "Topology",
    Field("epoch", INT_32),
    Field("subtopologies", List(_CONFIGURED_SUBTOPOLOGY), nullable=0),
)
_DESCRIBED_GROUP: Final = Struct(
    "DescribedGroup",
    *_ERROR,
    Field("groupId", STRING),
    Field("groupState", STRING),
    Field("groupEpoch", INT_32),
    Field("assignmentEpoch", INT_32),
    Field("topology", _CONFIGURED_TOPOLOGY, nullable=0),
    Field("members", List(_DESCRIBED_MEMBER)),
    Field("authorizedOperations", INT_32),
    Field("topologyDescription", _TOPOLOGY_DESCRIPTION, since=1, nullable=1),
    Field("topologyDescriptionStatus", INT_8, since=1),
    Field("assignorName", STRING, since=1, nullable=1),
)
_DESCRIBE_REQUEST: Final = Schema(
    "StreamsGroupDescribeRequest",
    (
        Field("groupIds", List(STRING)),
        Field("includeAuthorizedOperations", BOOLEAN),
        Field("includeTopologyDescription", BOOLEAN, since=1),
    ),
    latest=1,
)
_DESCRIBE_RESPONSE: Final = Schema(
    "StreamsGroupDescribeResponse",
    (Field("throttleTimeMs", INT_32), Field("groups", List(_DESCRIBED_GROUP))),
    latest=1,
)

_UPDATE_REQUEST: Final = Schema(
    "StreamsGroupTopologyDescriptionUpdateRequest",
    (
        Field("groupId", STRING),
        Field("memberId", STRING),
        Field("topologyEpoch", INT_32),
        Field("topologyDescription", _TOPOLOGY_DESCRIPTION),
    ),
)
_UPDATE_RESPONSE: Final = Schema(
    "StreamsGroupTopologyDescriptionUpdateResponse", (Field("throttleTimeMs", INT_32), *_ERROR)
)

HEARTBEAT: Final = Api(88, "StreamsGroupHeartbeat", _HEARTBEAT_REQUEST, _HEARTBEAT_RESPONSE)
DESCRIBE: Final = Api(89, "StreamsGroupDescribe", _DESCRIBE_REQUEST, _DESCRIBE_RESPONSE)
TOPOLOGY_DESCRIPTION_UPDATE: Final = Api(93, "StreamsGroupTopologyDescriptionUpdate", _UPDATE_REQUEST, _UPDATE_RESPONSE)
"""A member sends the description of its topology when a heartbeat's response has ``topologyDescriptionRequired``."""

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
