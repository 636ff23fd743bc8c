"""Groups whose broker assigns (KIP-848, KIP-932, KIP-1071): what it describes, and what follows from that."""

from streams_assignor.groups.broker_assigned._description import (
    Assigned,
    BrokerAssignment,
    BrokerGroup,
    DescribedSubtopology,
    DescribedTopology,
    InternalTopic,
)

__all__ = [
    "Assigned",
    "BrokerAssignment",
    "BrokerGroup",
    "DescribedSubtopology",
    "DescribedTopology",
    "InternalTopic",
]
