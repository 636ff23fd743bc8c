"""A group as a broker describes it (DescribeGroups, ListGroups), with the topic metadata that the checks need.

The states are Kafka's: ``Stable``, ``PreparingRebalance``, ``CompletingRebalance``, ``Empty``, ``Dead``. Only in
``Stable`` does a broker show the members' metadata and the protocol name. Java: ``GroupMetadata.summary``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from attrs import evolve, field, frozen

from subscription_codec import DecodeError
from subscription_codec.consumer_protocol import decode_consumer_subscription
from upgrade.features.client.errors import ClusterError

STABLE: Final = "Stable"
EMPTY: Final = "Empty"
DEAD: Final = "Dead"
REBALANCING: Final = ("PreparingRebalance", "CompletingRebalance")

CLASSIC: Final = "classic"
CONSUMER_PROTOCOL: Final = "consumer"

OFFSETS_TOPIC: Final = "__consumer_offsets"
MAX_MESSAGE_BYTES_KEY: Final = "max.message.bytes"
"""The topic configuration that limits the metadata of a group: the broker stores a group in one record."""

DEFAULT_MAX_MESSAGE_BYTES: Final = 1_048_588
"""Kafka's default of ``message.max.bytes``, the limit of ``__consumer_offsets`` unless configured."""

LOOKUP_TIMEOUT_SECONDS: Final = 10.0
"""Default time limit of a lookup."""


class NoSuchGroup(ClusterError):
    """The cluster has no group of that name."""


@frozen(kw_only=True)
class DescribedGroupMember:
    """One member as a broker describes it."""

    member_id: str
    group_instance_id: str | None = None
    client_id: str = ""
    host: str = ""
    subscription: bytes = b""
    """The consumer-protocol message; empty while the group is not stable."""

    assignment: bytes = b""
    """Likewise."""


@frozen(kw_only=True)
class DescribedGroup:
    """One group as a broker describes it."""

    name: str

    state: str

    type: str = CLASSIC
    """Kafka's group type: ``classic``, ``consumer`` (KIP-848), ``streams`` (KIP-1071) or ``share`` (KIP-932)."""

    protocol_type: str = ""

    protocol: str = ""
    """Name of the assignor; empty while the group is not stable."""

    members: tuple[DescribedGroupMember, ...] = ()

    partition_counts: Mapping[str, int] = field(factory=dict, hash=False)
    """By subscribed topic; topics with an unknown number are left out."""

    max_message_bytes: int | None = None
    """Largest record that the broker can store of the group; None if unknown."""


def subscribed_topics(members: Iterable[DescribedGroupMember]) -> set[str]:
    """Return the topics that members subscribe to; a subscription that cannot be decoded has none."""
    found: set[str] = set()
    for member in members:
        try:
            found.update(decode_consumer_subscription(member.subscription).topics)
        except DecodeError:
            continue
    return found


def with_topic_metadata(
    groups: Iterable[DescribedGroup], partition_counts: Mapping[str, int], max_message_bytes: int | None
) -> list[DescribedGroup]:
    """Return the groups with the limit of their record and the partition counts of the topics they subscribe to.

    ``partition_counts`` has the number of partitions by topic, as far as it is known.
    """
    return [
        evolve(
            group,
            max_message_bytes=max_message_bytes,
            partition_counts={
                topic: partition_counts[topic]
                for topic in subscribed_topics(group.members)
                if topic in partition_counts
            },
        )
        for group in groups
    ]
