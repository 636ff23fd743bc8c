"""The reactions of a member to each error and status of the coordinator, as tables.

Java: ``StreamsGroupHeartbeatRequestManager.onErrorResponse``, ``StreamsMembershipManager.isGroupReady`` and
``StreamThread.handleStreamsRebalanceData`` of 4.3.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from streams_assignor.streams_group.model import HeartbeatErrorReaction, StatusReaction


class ErrorRule(NamedTuple):
    """One error of a heartbeat."""

    name: str
    reaction: HeartbeatErrorReaction
    java_exception: str = ""
    """The exception of a member that fails."""


UNSUPPORTED_VERSION: Final = 35
INVALID_REQUEST: Final = 42
GROUP_ID_NOT_FOUND: Final = 69

_REJOIN, _FAIL = HeartbeatErrorReaction.REJOIN, HeartbeatErrorReaction.FAIL

ERRORS: Final[Mapping[int, ErrorRule]] = MappingProxyType(
    {
        14: ErrorRule("COORDINATOR_LOAD_IN_PROGRESS", HeartbeatErrorReaction.RETRY),
        15: ErrorRule("COORDINATOR_NOT_AVAILABLE", HeartbeatErrorReaction.FIND_COORDINATOR),
        16: ErrorRule("NOT_COORDINATOR", HeartbeatErrorReaction.FIND_COORDINATOR),
        25: ErrorRule("UNKNOWN_MEMBER_ID", _REJOIN),
        29: ErrorRule("TOPIC_AUTHORIZATION_FAILED", HeartbeatErrorReaction.REPORT),
        30: ErrorRule("GROUP_AUTHORIZATION_FAILED", _FAIL, "GroupAuthorizationException"),
        UNSUPPORTED_VERSION: ErrorRule("UNSUPPORTED_VERSION", _FAIL, "UnsupportedVersionException"),
        INVALID_REQUEST: ErrorRule("INVALID_REQUEST", _FAIL, "InvalidRequestException"),
        GROUP_ID_NOT_FOUND: ErrorRule("GROUP_ID_NOT_FOUND", _FAIL, "GroupIdNotFoundException"),
        81: ErrorRule("GROUP_MAX_SIZE_REACHED", _FAIL, "GroupMaxSizeReachedException"),
        82: ErrorRule("FENCED_INSTANCE_ID", _FAIL, "FencedInstanceIdException"),
        110: ErrorRule("FENCED_MEMBER_EPOCH", _REJOIN),
        111: ErrorRule("UNRELEASED_INSTANCE_ID", _FAIL, "UnreleasedInstanceIdException"),
        130: ErrorRule("STREAMS_INVALID_TOPOLOGY", _FAIL, "StreamsInvalidTopologyException"),
        131: ErrorRule("STREAMS_INVALID_TOPOLOGY_EPOCH", _FAIL, "StreamsInvalidTopologyEpochException"),
        132: ErrorRule("STREAMS_TOPOLOGY_FENCED", _FAIL, "StreamsTopologyFencedException"),
    }
)
"""The errors by code. A member fails for every other one."""

HINTS: Final[Mapping[int, str]] = MappingProxyType(
    {
        UNSUPPORTED_VERSION: "the brokers do not have the streams protocol: it needs Kafka 4.2 or newer, and the "
        "feature streams.version at level 1 (kafka-features.sh upgrade --feature streams.version=1)",
        INVALID_REQUEST: "all members of a group need the same topology: equal subtopologies, topics, configurations "
        "of internal topics (topic_configs) and replication.factor; a changed topology needs a new group; "
        "group.instance.id needs brokers of 4.4",
        GROUP_ID_NOT_FOUND: "is there a group of another protocol with this name? All its members have to leave "
        "before the first member of the streams protocol joins",
    }
)
"""The reaction to an error that prevents a member from joining."""


def error_rule(code: int) -> ErrorRule:
    """Return the rule of an error code, known or not.

    >>> error_rule(25).reaction.name, error_rule(77).java_exception
    ('REJOIN', 'KafkaException')
    """
    return ERRORS.get(code) or ErrorRule(f"error {code}", HeartbeatErrorReaction.FAIL, "KafkaException")


class StatusRule(NamedTuple):
    """One status of a group."""

    name: str
    reaction: StatusReaction
    java_exception: str = ""
    """The exception of a member that fails."""
    group_ready: bool = True
    """Whether records may be processed meanwhile."""


STATUSES: Final[Mapping[int, StatusRule]] = MappingProxyType(
    {
        0: StatusRule("STALE_TOPOLOGY", StatusReaction.WARN),
        1: StatusRule("MISSING_SOURCE_TOPICS", StatusReaction.FAIL_LATER, "MissingSourceTopicException", False),
        2: StatusRule("INCORRECTLY_PARTITIONED_TOPICS", StatusReaction.FAIL, "TopologyException", False),
        3: StatusRule("MISSING_INTERNAL_TOPICS", StatusReaction.WAIT, group_ready=False),
        4: StatusRule("SHUTDOWN_APPLICATION", StatusReaction.FAIL, "StreamsException"),
        5: StatusRule("ASSIGNMENT_DELAYED", StatusReaction.WAIT, group_ready=False),
        6: StatusRule("MISSING_CLIENT_TAGS", StatusReaction.WARN),
    }
)
"""The statuses by code. Every other one is logged."""


def status_rule(code: int) -> StatusRule:
    """Return the rule of a status code, known or not."""
    return STATUSES.get(code) or StatusRule(f"status {code}", StatusReaction.WARN)
