"""The requests of streams groups (KIP-1071): bytes to dicts with Kafka's field names, and back.

``HEARTBEAT``, ``DESCRIBE`` and ``TOPOLOGY_DESCRIPTION_UPDATE`` have the schemas of request and response;
``encode_message`` and ``decode_message`` are for one message without its header. The records of the group's coordinator
are in ``codec.coordinator``.
"""

from streams_assignor.codec.streams_group._codec import decode_message, encode_message
from streams_assignor.codec.streams_group._tables import (
    DESCRIBE,
    HEARTBEAT,
    JOIN_GROUP_MEMBER_EPOCH,
    LEAVE_GROUP_MEMBER_EPOCH,
    LEAVE_GROUP_STATIC_MEMBER_EPOCH,
    TOPOLOGY_DESCRIPTION_UPDATE,
)

__all__ = [
    "DESCRIBE",
    "HEARTBEAT",
    "JOIN_GROUP_MEMBER_EPOCH",
    "LEAVE_GROUP_MEMBER_EPOCH",
    "LEAVE_GROUP_STATIC_MEMBER_EPOCH",
    "TOPOLOGY_DESCRIPTION_UPDATE",
    "decode_message",
    "encode_message",
]
