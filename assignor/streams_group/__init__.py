"""A member of a streams group (KIP-1071), without a client: its membership, its timers and its topology.

The adapter for confluent-kafka and the simulation drive the same objects.
"""

from streams_assignor.streams_group._member import StreamsGroupMember
from streams_assignor.streams_group._timers import HeartbeatTimer, StatusTimer
from streams_assignor.streams_group._topology import topology_fields
from streams_assignor.streams_group.model import (
    CallbackKind,
    HeartbeatErrorReaction,
    MemberFailure,
    MemberProfile,
    StreamsMemberState,
    StreamsTasks,
    offset_fields,
)

__all__ = [
    "CallbackKind",
    "HeartbeatErrorReaction",
    "HeartbeatTimer",
    "MemberFailure",
    "MemberProfile",
    "StatusTimer",
    "StreamsGroupMember",
    "StreamsMemberState",
    "StreamsTasks",
    "offset_fields",
    "topology_fields",
]
