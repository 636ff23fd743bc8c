"""What a broker says of a group (DescribeGroups, ListGroups), and what else has to be known to judge it.

Words for states are Kafka's: ``Stable``, ``PreparingRebalance``, ``CompletingRebalance``, ``Empty``, ``Dead``. In
``Stable`` alone a broker shows the bytes of members and the name of the protocol (``GroupMetadata.summary``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from attrs import field, frozen

from subscription_codec import DecodeError
from subscription_codec.consumer_protocol import decode_member_subscription
from upgrade.features.rpc import ClusterError

STABLE: Final = "Stable"
EMPTY: Final = "Empty"
DEAD: Final = "Dead"
REBALANCING: Final = ("PreparingRebalance", "CompletingRebalance")

CLASSIC: Final = "classic"
CONSUMER_PROTOCOL: Final = "consumer"
STREAM: Final = "stream"
"""The protocol of Kafka Streams, in every release. Java: ``StreamsPartitionAssignor.name``."""

OFFSETS_TOPIC: Final = "__consumer_offsets"
LIMIT_KEY: Final = "max.message.bytes"
"""What limits the metadata of a group: each of its records there is one group."""

DEFAULT_LIMIT: Final = 1_048_588
"""Kafka's default of ``message.max.bytes``, which ``__consumer_offsets`` has unless somebody has changed it."""


SECONDS: Final = 10.0
"""How long a look at groups may take."""


class NoSuchGroup(ClusterError):
    """The cluster has no group of that name."""


@frozen(kw_only=True)
class RawMember:
    """One member as the broker shows it; without bytes as long as the group is not stable."""

    member_id: str
    instance_id: str | None = None
    client_id: str = ""
    host: str = ""
    subscription: bytes = b""
    assignment: bytes = b""


@frozen(kw_only=True)
class RawGroup:
    """One group as the broker shows it.

    ``type`` is Kafka's (``classic``, ``consumer``: KIP-848, ``streams``: KIP-1071, ``share``: KIP-932).
    ``partitions`` are the numbers of partitions of the topics that members subscribe to, as far as they are known.
    ``limit`` is how large the record may be that the broker stores of the group; None if it could not be asked.
    """

    name: str
    state: str
    type: str = CLASSIC
    protocol_type: str = ""
    protocol: str = ""
    members: tuple[RawMember, ...] = ()
    partitions: Mapping[str, int] = field(factory=dict, hash=False)
    limit: int | None = None


def topics_of(members: Iterable[RawMember]) -> set[str]:
    """Name the topics that members subscribe to; a member that cannot be read has none."""
    found: set[str] = set()
    for member in members:
        try:
            found.update(decode_member_subscription(member.subscription).topics)
        except DecodeError:
            continue
    return found
