"""Which of Kafka's test classes run, on which releases, with which of Kafka's methods replaced."""

from collections.abc import Mapping
from typing import Final

from attrs import frozen

_INTERNALS: Final = "org.apache.kafka.streams.processor.internals."
_ASSIGNMENT: Final = f"{_INTERNALS}assignment."
_PUBLIC: Final = "org.apache.kafka.streams.processor.assignment."

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
