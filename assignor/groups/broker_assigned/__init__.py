"""Groups whose broker assigns (KIP-848, KIP-932, KIP-1071): what it describes, and what follows from that."""

from assignor.groups.broker_assigned._description import (
    ApplicationTopology,
    Assigned,
    BrokerAssignment,
    BrokerGroup,
    DescribedSubtopology,
    InternalTopic,
)

__all__ = [
    "ApplicationTopology",
    "Assigned",
    "BrokerAssignment",
    "BrokerGroup",
    "DescribedSubtopology",
    "InternalTopic",
]
