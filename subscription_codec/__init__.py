"""Bytes to records and back: the rebalance metadata of Kafka Streams (KIP-268), standard library only.

``decode_subscription`` / ``encode_subscription`` and ``decode_assignment`` / ``encode_assignment`` are for userdata,
``consumer_protocol`` is for the envelope around it, ``explain`` and ``explain_envelope`` show bytes to a person. The
fields of each version are one table: ``subscription_codec.layout``.
"""

from subscription_codec._explain import Part, explain, explain_envelope
from subscription_codec.assignment import decode_assignment, encode_assignment, with_dictionary
from subscription_codec.errors import CodecError, DecodeError, EncodeError, FutureVersion
from subscription_codec.fields import describe, from_fields, to_fields
from subscription_codec.records import (
    NO_REBALANCE,
    RUNNING,
    UNKNOWN_SUM,
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
from subscription_codec.subscription import decode_subscription, encode_subscription
from subscription_codec.versions import (
    EARLIEST_PROBEABLE_VERSION,
    FIRST_WITH_OFFSET_SUMS,
    LATEST_SUPPORTED_VERSION,
    UNKNOWN_VERSION,
)

__all__ = [
    "EARLIEST_PROBEABLE_VERSION",
    "FIRST_WITH_OFFSET_SUMS",
    "LATEST_SUPPORTED_VERSION",
    "NO_REBALANCE",
    "RUNNING",
    "UNKNOWN_SUM",
    "UNKNOWN_VERSION",
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
    "Part",
    "StandbyTask",
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
    "with_dictionary",
]
