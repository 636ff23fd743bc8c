"""Which of Kafka's test classes run, on which releases, with which of Kafka's methods replaced."""

from collections.abc import Mapping
from typing import Final

from attrs import frozen

NEWEST: Final = "4.3.1"
RELEASES: Final = (NEWEST, "3.9.2", "2.8.2")
STREAMS_GROUPS: Final = "4.2"
"""The first release with a bridge to the broker's task assignor."""
_INTERNALS: Final = "org.apache.kafka.streams.processor.internals."
_ASSIGNMENT: Final = f"{_INTERNALS}assignment."
_PUBLIC: Final = "org.apache.kafka.streams.processor.assignment."
_BROKER: Final = "org.apache.kafka.coordinator.group.streams.assignor."

Replaced = Mapping[str, str]
"""Methods of Kafka, each with the method in ``java/`` that asks Python instead."""

ENCODERS: Final[Replaced] = {
    f"{_ASSIGNMENT}SubscriptionInfo.encode": "Codec.encodeSubscription",
    f"{_ASSIGNMENT}AssignmentInfo.encode": "Codec.encodeAssignment",
}
DECODERS: Final[Replaced] = {
    f"{_ASSIGNMENT}SubscriptionInfo.decode": "Codec.decodeSubscription",
    f"{_ASSIGNMENT}AssignmentInfo.decode": "Codec.decodeAssignment",
}
CODEC: Final[Replaced] = {
    **ENCODERS,
    **DECODERS,
    f"{_ASSIGNMENT}SubscriptionInfo.new": "Codec.checkSubscription",
    f"{_ASSIGNMENT}AssignmentInfo.new": "Codec.checkAssignment",
}
ASSIGNORS: Final[Replaced] = {
    f"{_ASSIGNMENT}HighAvailabilityTaskAssignor.assign": "Assignors.highAvailability",
    f"{_ASSIGNMENT}LegacyStickyTaskAssignor.assign": "Assignors.sticky",
    f"{_ASSIGNMENT}StickyTaskAssignor.assign": "Assignors.sticky",  # its name before 3.8
    f"{_ASSIGNMENT}FallbackPriorTaskAssignor.assign": "Assignors.fallbackPrior",
    f"{_PUBLIC}assignors.StickyTaskAssignor.assign": "Kip924.sticky",
}
UTILITIES: Final[Replaced] = {
    f"{_PUBLIC}TaskAssignmentUtils.identityAssignment": "Kip924.identity",
    f"{_PUBLIC}TaskAssignmentUtils.defaultStandbyTaskAssignment": "Kip924.standbys",
    f"{_PUBLIC}TaskAssignmentUtils.optimizeRackAwareActiveTasks": "Kip924.optimizeActives",
    f"{_PUBLIC}TaskAssignmentUtils.optimizeRackAwareStandbyTasks": "Kip924.optimizeStandbys",
    f"{_PUBLIC}TaskAssignmentUtils.validateTaskAssignment": "Kip924.validate",
}
LEADER: Final[Replaced] = {f"{_INTERNALS}StreamsPartitionAssignor.assign": "Leader.assign"}
"""With the codec of Java, so that no error of ours at one end can hide one at the other."""
BROKER: Final[Replaced] = {f"{_BROKER}StickyTaskAssignor.assign": "StreamsGroups.assign"}
"""Of streams groups (KIP-1071), in the group coordinator."""


@frozen
class Bridge:
    """Test classes that run in one JVM with the same methods replaced."""

    name: str
    replaced: Replaced
    suites: tuple[str, ...]
    releases: tuple[str, ...] = RELEASES
    package: str = ""
    """Of the test classes, if it is not that of Kafka Streams."""


_CODEC_SUITES: Final = ("SubscriptionInfoTest", "AssignmentInfoTest")
_LEADER_SUITES: Final = (
    "StreamsPartitionAssignorTest",
    "HighAvailabilityStreamsPartitionAssignorTest",
    "RackAwarenessStreamsPartitionAssignorTest",
)
_ASSIGNOR_SUITES: Final = (
    "HighAvailabilityTaskAssignorTest",
    "LegacyStickyTaskAssignorTest",
    "StickyTaskAssignorTest",
    "CustomStickyTaskAssignorTest",
    "FallbackPriorTaskAssignorTest",
    "TaskAssignorConvergenceTest",
)
_SINCE_3_8: Final = (NEWEST, "3.9.2")
BRIDGES: Final = (
    Bridge("codec", CODEC, _CODEC_SUITES),
    Bridge("encoders only", ENCODERS, (*_CODEC_SUITES, *_LEADER_SUITES)),
    Bridge("decoders only", DECODERS, (*_CODEC_SUITES, *_LEADER_SUITES)),
    Bridge("task assignors", ASSIGNORS, _ASSIGNOR_SUITES),
    Bridge("utilities", UTILITIES, ("TaskAssignmentUtilsTest",), _SINCE_3_8),
    Bridge("codec, task assignors, utilities", {**CODEC, **ASSIGNORS, **UTILITIES}, _LEADER_SUITES),
    Bridge("leader", LEADER, _LEADER_SUITES, _SINCE_3_8),
    Bridge("broker's task assignor", BROKER, ("StickyTaskAssignorTest",), (NEWEST,), _BROKER),
)

_ABSENT: Final[Mapping[str, tuple[str, ...]]] = {
    "2.8.2": (
        "LegacyStickyTaskAssignorTest",
        "CustomStickyTaskAssignorTest",
        "TaskAssignmentUtilsTest",
        "RackAwarenessStreamsPartitionAssignorTest",
    ),
    "3.9.2": ("StickyTaskAssignorTest",),
    NEWEST: ("StickyTaskAssignorTest",),
}
"""Test classes that the test jar of Kafka Streams does not have in a release."""

SLOW_CONTROLS: Final = ("HighAvailabilityTaskAssignorTest", "LegacyStickyTaskAssignorTest")
"""Minutes with Kafka's own rack solver, so their controls are recorded with the checksums of the jars."""

RANDOM: Final = ("TaskAssignorConvergenceTest",)
"""Draws scenarios for ten seconds, by the clock: the number of calls is that of the machine."""


def suites_of(bridge: Bridge, release: str) -> tuple[str, ...]:
    """The test classes of a bridge that a release has."""
    return tuple(suite for suite in bridge.suites if bridge.package or suite not in _ABSENT[release])


def test_class(bridge: Bridge, suite: str) -> str:
    """The full name of a test class."""
    streams = _INTERNALS if suite.endswith("PartitionAssignorTest") else _ASSIGNMENT
    return f"{bridge.package or streams}{suite}"


_EQUAL: Final = "pins one of several answers of the same cost"
LISTED: Final[Mapping[tuple[str, str], Mapping[str, str]]] = {
    ("task assignors", "LegacyStickyTaskAssignorTest"): {
        "shouldOptimizeStatefulAndStatelessTaskTraffic(String)[1]": (
            "pins one of several answers: one active task moves here, two in Kafka's; the largest share of one "
            "subtopology is three tasks here, two in Kafka's"
        ),
        "shouldOptimizeStatefulAndStatelessTaskTraffic(String)[2]": (
            "pins one of several answers: six tasks move here, with a standby traffic of 1; in Kafka's seven, with 2"
        ),
        "shouldOptimizeStatefulAndStatelessTaskTraffic(String)[3]": _EQUAL,
        "shouldAssignTasksNotPreviouslyActiveToNewClient(String)[3]": _EQUAL,
        "shouldAssignTasksNotPreviouslyActiveToMultipleNewClients(String)[3]": _EQUAL,
    },
    ("task assignors", "StickyTaskAssignorTest"): {
        "shouldAssignTasksEvenlyWithUnequalTopicGroupSizes": (
            "pins which three of seven tasks leave their process; as many leave here"
        ),
    },
    ("leader", "StreamsPartitionAssignorTest"): {
        "shouldThrowTaskAssignmentExceptionWhenUnableToResolvePartitionCount(Map)": (
            "cannot run: its topology reads a repartition topic that no subtopology writes, which `Topology` refuses "
            "when it is built"
        ),
    },
}
"""Tests that fail by bridge and test class, each with the reason; without a number: for all its parameters.

Every other test passes. That a listed one fails is checked, too, unless its release does not have it.
"""


def listed(bridge: str, suite: str, test: str) -> str:
    """The reason why a test fails; empty if it has to pass."""
    reasons = LISTED.get((bridge, suite), {})
    return reasons.get(test) or reasons.get(test.partition("[")[0], "")
