"""The errors that an answer may carry, by request and by level.

From the comments of Kafka's ``*Response`` classes and the handlers of its coordinator (4.3.1). ``GROUP`` is the whole
answer, or one group in it.
"""

from collections.abc import Mapping
from typing import Final

GROUP, TOPIC, PARTITION = "group", "topic", "partition"

CODES: Final[Mapping[str, int]] = {
    "UNKNOWN_SERVER_ERROR": -1,
    "OFFSET_OUT_OF_RANGE": 1,
    "UNKNOWN_TOPIC_OR_PARTITION": 3,
    "LEADER_NOT_AVAILABLE": 5,
    "NOT_LEADER_OR_FOLLOWER": 6,
    "REQUEST_TIMED_OUT": 7,
    "REPLICA_NOT_AVAILABLE": 9,
    "OFFSET_METADATA_TOO_LARGE": 12,
    "COORDINATOR_LOAD_IN_PROGRESS": 14,
    "COORDINATOR_NOT_AVAILABLE": 15,
    "NOT_COORDINATOR": 16,
    "INVALID_TOPIC_EXCEPTION": 17,
    "ILLEGAL_GENERATION": 22,
    "INCONSISTENT_GROUP_PROTOCOL": 23,
    "INVALID_GROUP_ID": 24,
    "UNKNOWN_MEMBER_ID": 25,
    "INVALID_SESSION_TIMEOUT": 26,
    "REBALANCE_IN_PROGRESS": 27,
    "INVALID_COMMIT_OFFSET_SIZE": 28,
    "TOPIC_AUTHORIZATION_FAILED": 29,
    "GROUP_AUTHORIZATION_FAILED": 30,
    "CLUSTER_AUTHORIZATION_FAILED": 31,
    "NOT_CONTROLLER": 41,
    "INVALID_REQUEST": 42,
    "KAFKA_STORAGE_ERROR": 56,
    "GROUP_ID_NOT_FOUND": 69,
    "FENCED_LEADER_EPOCH": 74,
    "UNKNOWN_LEADER_EPOCH": 75,
    "OFFSET_NOT_AVAILABLE": 78,
    "GROUP_MAX_SIZE_REACHED": 81,
    "FENCED_INSTANCE_ID": 82,
    "UNSTABLE_OFFSET_COMMIT": 88,
    "FEATURE_UPDATE_FAILED": 96,
    "UNKNOWN_TOPIC_ID": 100,
    "STALE_MEMBER_EPOCH": 113,
}

_COORDINATOR = ("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR")
_GROUP = (*_COORDINATOR, "GROUP_AUTHORIZATION_FAILED")
_LEADER = (
    "UNKNOWN_TOPIC_OR_PARTITION",
    "NOT_LEADER_OR_FOLLOWER",
    "REPLICA_NOT_AVAILABLE",
    "TOPIC_AUTHORIZATION_FAILED",
    "KAFKA_STORAGE_ERROR",
    "FENCED_LEADER_EPOCH",
    "UNKNOWN_LEADER_EPOCH",
    "UNKNOWN_SERVER_ERROR",
)
_DESCRIBE = (*_GROUP, "INVALID_GROUP_ID", "GROUP_ID_NOT_FOUND", "TOPIC_AUTHORIZATION_FAILED")

ERRORS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "ListOffsets": {PARTITION: (*_LEADER, "LEADER_NOT_AVAILABLE", "OFFSET_NOT_AVAILABLE")},
    "Metadata": {
        TOPIC: (
            "UNKNOWN_TOPIC_OR_PARTITION",
            "LEADER_NOT_AVAILABLE",
            "INVALID_TOPIC_EXCEPTION",
            "TOPIC_AUTHORIZATION_FAILED",
        ),
        PARTITION: ("LEADER_NOT_AVAILABLE", "REPLICA_NOT_AVAILABLE"),
    },
    "OffsetCommit": {
        PARTITION: (
            *_GROUP,
            "UNKNOWN_TOPIC_OR_PARTITION",
            "REQUEST_TIMED_OUT",
            "OFFSET_METADATA_TOO_LARGE",
            "ILLEGAL_GENERATION",
            "UNKNOWN_MEMBER_ID",
            "REBALANCE_IN_PROGRESS",
            "INVALID_COMMIT_OFFSET_SIZE",
            "TOPIC_AUTHORIZATION_FAILED",
            "FENCED_INSTANCE_ID",
            "GROUP_ID_NOT_FOUND",
        )
    },
    "OffsetFetch": {
        GROUP: (*_GROUP, "UNKNOWN_MEMBER_ID", "STALE_MEMBER_EPOCH"),
        PARTITION: ("UNKNOWN_TOPIC_OR_PARTITION", "TOPIC_AUTHORIZATION_FAILED", "UNSTABLE_OFFSET_COMMIT"),
    },
    "FindCoordinator": {GROUP: ("COORDINATOR_NOT_AVAILABLE", "GROUP_AUTHORIZATION_FAILED", "INVALID_REQUEST")},
    "JoinGroup": {
        GROUP: (
            *_GROUP,
            "INCONSISTENT_GROUP_PROTOCOL",
            "UNKNOWN_MEMBER_ID",
            "INVALID_SESSION_TIMEOUT",
            "GROUP_MAX_SIZE_REACHED",
            "FENCED_INSTANCE_ID",
        )
    },
    "SyncGroup": {
        GROUP: (
            *_GROUP,
            "INCONSISTENT_GROUP_PROTOCOL",
            "UNKNOWN_MEMBER_ID",
            "ILLEGAL_GENERATION",
            "REBALANCE_IN_PROGRESS",
            "FENCED_INSTANCE_ID",
        )
    },
    "Heartbeat": {
        GROUP: (
            *_GROUP[1:],
            "UNKNOWN_MEMBER_ID",
            "ILLEGAL_GENERATION",
            "REBALANCE_IN_PROGRESS",
            "FENCED_INSTANCE_ID",
        )
    },
    "DescribeGroups": {GROUP: _DESCRIBE},
    "ListGroups": {
        GROUP: ("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "CLUSTER_AUTHORIZATION_FAILED")
    },
    "ConsumerGroupDescribe": {GROUP: _DESCRIBE},
    "StreamsGroupDescribe": {GROUP: _DESCRIBE},
    "ShareGroupDescribe": {GROUP: _DESCRIBE},
    "DescribeConfigs": {TOPIC: ("TOPIC_AUTHORIZATION_FAILED", "UNKNOWN_TOPIC_OR_PARTITION", "INVALID_REQUEST")},
    "DescribeLogDirs": {GROUP: ("CLUSTER_AUTHORIZATION_FAILED",), TOPIC: ("KAFKA_STORAGE_ERROR",)},
    "UpdateFeatures": {
        GROUP: ("CLUSTER_AUTHORIZATION_FAILED", "NOT_CONTROLLER", "INVALID_REQUEST", "FEATURE_UPDATE_FAILED"),
        TOPIC: ("FEATURE_UPDATE_FAILED", "INVALID_REQUEST"),
    },
    "DescribeCluster": {GROUP: ("CLUSTER_AUTHORIZATION_FAILED", "INVALID_REQUEST")},
}


def errors(request: str, level: str) -> list[int]:
    """Return the codes of the errors of a request at a level."""
    return [CODES[name] for name in ERRORS[request].get(level, ())]
