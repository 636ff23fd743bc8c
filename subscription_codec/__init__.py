"""Bytes to records and back: the rebalance metadata of Kafka Streams (KIP-268), standard library only.

``decode_subscription`` / ``encode_subscription`` and ``decode_assignment`` / ``encode_assignment`` are for userdata,
``consumer_protocol`` is for the envelope around it, ``explain`` shows bytes to a person. The fields of each version
are one table: ``subscription_codec.layout``.
"""

from subscription_codec._explain import Part, explain
from subscription_codec.assignment import decode_assignment, encode_assignment
from subscription_codec.errors import CodecError, DecodeError, EncodeError, FutureVersion
from subscription_codec.fields import describe, from_fields, to_fields
from subscription_codec.records import (
    Assignment,
    FutureSubscription,
    HostInfo,
    HostPartitions,
    StandbyTask,
    Subscription,
    TaskId,
    TopicPartition,
)
from subscription_codec.subscription import decode_subscription, encode_subscription
from subscription_codec.versions import EARLIEST_PROBEABLE_VERSION, LATEST_SUPPORTED_VERSION, UNKNOWN_VERSION

__all__ = [
    "EARLIEST_PROBEABLE_VERSION",
    "LATEST_SUPPORTED_VERSION",
    "UNKNOWN_VERSION",
    "Assignment",
    "CodecError",
    "DecodeError",
    "EncodeError",
    "FutureSubscription",
    "FutureVersion",
    "HostInfo",
    "HostPartitions",
    "Part",
    "StandbyTask",
    "Subscription",
    "TaskId",
    "TopicPartition",
    "decode_assignment",
    "decode_subscription",
    "describe",
    "encode_assignment",
    "encode_subscription",
    "explain",
    "from_fields",
    "to_fields",
]
