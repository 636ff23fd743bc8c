"""Encodes and decodes the rebalance metadata of Kafka Streams (KIP-268), with the standard library only.

``decode_subscription`` / ``encode_subscription`` and ``decode_assignment`` / ``encode_assignment`` are for userdata,
``consumer_protocol`` is for the envelope around it and for both layers in one call. ``explain`` and
``explain_envelope`` annotate bytes for a reader. One table has the fields of each version:
``codec.layout``.

No library has these formats: kio 0.6.5 has classes for Kafka's requests (14 MB with a native module), and neither the
userdata of Kafka Streams nor the values of ``__consumer_offsets``.
"""

from streams_assignor.codec._explanation import AnnotatedField, explain, explain_envelope
from streams_assignor.codec._messages import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    with_topic_dictionary,
)
from streams_assignor.codec.errors import CodecError, DecodeError, EncodeError, FutureVersion, StreamsAssignorError
from streams_assignor.codec.json_fields import describe, from_fields, to_fields
from streams_assignor.codec.records import (
    IMMEDIATELY,
    LATEST_OFFSET,
    NO_FOLLOW_UP,
    OFFSET_UNKNOWN,
    Assignment,
    ClientTag,
    FutureAssignment,
    FutureSubscription,
    HostInfo,
    HostPartitions,
    StandbyTask,
    Subscription,
    TaskId,
    TaskOffsetSum,
    TopicPartition,
)
from streams_assignor.codec.versions import (
    EARLIEST_PROBEABLE_VERSION,
    FIRST_VERSION_WITH_OFFSET_SUMS,
    LATEST_SUPPORTED_VERSION,
    UNKNOWN_VERSION,
)

__all__ = [
    "EARLIEST_PROBEABLE_VERSION",
    "FIRST_VERSION_WITH_OFFSET_SUMS",
    "IMMEDIATELY",
    "LATEST_OFFSET",
    "LATEST_SUPPORTED_VERSION",
    "NO_FOLLOW_UP",
    "OFFSET_UNKNOWN",
    "UNKNOWN_VERSION",
    "AnnotatedField",
    "Assignment",
    "ClientTag",
    "CodecError",
    "DecodeError",
    "EncodeError",
    "FutureAssignment",
    "FutureSubscription",
    "FutureVersion",
    "HostInfo",
    "HostPartitions",
    "StandbyTask",
    "StreamsAssignorError",
    "Subscription",
    "TaskId",
    "TaskOffsetSum",
    "TopicPartition",
    "decode_assignment",
    "decode_subscription",
    "describe",
    "encode_assignment",
    "encode_subscription",
    "explain",
    "explain_envelope",
    "from_fields",
    "to_fields",
    "with_topic_dictionary",
]
