"""A group as a broker describes it (DescribeGroups, ListGroups), with the topic metadata that the checks need.

The states of a classic group are ``Stable``, ``PreparingRebalance``, ``CompletingRebalance``, ``Empty``, ``Dead``. Only
in ``Stable`` does a broker show the members' metadata and the protocol name. Java: ``GroupMetadata.summary``.

In groups of the other types the broker assigns (``broker_assigned``). It has no metadata of members, and shows what it
assigned in every state. Their states are ``Assigning`` and ``Reconciling`` instead of the two rebalancing ones; a group
of KIP-1071 is ``NotReady`` while topics are missing or have the wrong number of partitions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from attrs import evolve, field, frozen

from streams_assignor.codec import DecodeError, TopicPartition
from streams_assignor.codec.consumer_protocol import decode_consumer_subscription
from streams_assignor.groups.broker_assigned import Assigned, BrokerAssignment, BrokerGroup
from streams_assignor.upgrade.cluster.client.errors import ClusterError

STABLE: Final = "Stable"
EMPTY: Final = "Empty"
DEAD: Final = "Dead"
NOT_READY: Final = "NotReady"
ASSIGNING: Final = "Assigning"
RECONCILING: Final = "Reconciling"
WITHOUT_METADATA: Final = ("PreparingRebalance", "CompletingRebalance")
"""The states of a classic group in which the broker shows no metadata of members."""

REBALANCING: Final = (*WITHOUT_METADATA, ASSIGNING, RECONCILING)

CLASSIC: Final = "classic"
CONSUMER: Final = "consumer"
STREAMS: Final = "streams"
SHARE: Final = "share"
UNKNOWN_TYPE: Final = "unknown"
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
    """The consumer-protocol message of its assignment; empty while the group is not stable."""

    broker_assignment: BrokerAssignment | None = None
    """None in a classic group."""


@frozen(kw_only=True)
class DescribedGroup:
    """One group as a broker describes it."""

    name: str

    state: str

    type: str = CLASSIC
    """Kafka's group type: ``classic``, ``consumer`` (KIP-848), ``streams`` (KIP-1071), ``share`` (KIP-932);
    or ``unknown``."""

    protocol_type: str = ""

    protocol: str = ""
    """Name of the assignor; empty while the group is not stable."""

    members: tuple[DescribedGroupMember, ...] = ()

    partition_counts: Mapping[str, int] = field(factory=dict, hash=False)
    """The partitions of each topic that the group reads or needs; topics with an unknown number are left out."""

    missing_topics: frozenset[str] = frozenset()
    """Topics of the group that certainly do not exist."""

    unknown_topics: frozenset[str] = frozenset()
    """Topics of the group that were asked for and that no broker has described: this user may not see them."""

    max_message_bytes: int | None = None
    """Largest record that the broker can store of the group; None if unknown."""

    coordinator: str = ""
    """Address of the broker that described the group; empty if unknown."""

    coordinator_was_away: bool = False
    """Whether it did not answer at first: it may have restarted, and counts sessions from the beginning."""

    broker: BrokerGroup | None = None
    """None in a classic group."""

    error: str = ""
    """Why the group is listed and not described, or not completely; then `state` is the listed one, and there are no
    members unless they are shown by name and assignment only."""

    @property
    def hides_members(self) -> bool:
        """Whether its members are not known; there may be some."""
        return bool(self.error) and not self.members


@frozen(kw_only=True)
class GroupOffsets:
    """The offsets of a group, as far as brokers have returned them."""

    committed: Mapping[TopicPartition, int] = field(factory=dict, hash=False)
    """The committed offset of each partition; those without a commit are left out."""

    ends: Mapping[TopicPartition, int] = field(factory=dict, hash=False)
    """The offset behind the last record that is replicated."""

    failures: tuple[str, ...] = ()
    """Why some are missing."""


@frozen(kw_only=True)
class ClusterGroups:
    """The groups of a cluster, as far as they can be found."""

    groups: tuple[DescribedGroup, ...] = ()
    """Sorted by name."""

    failures: tuple[str, ...] = ()
    """One line for each part of the cluster whose groups may be missing: a broker, or partitions of a topic."""


def topics_of(group: DescribedGroup) -> set[str]:
    """Return the topics that a group reads or needs; a subscription that cannot be decoded has none."""
    topics = {*group.broker.topology.topics} if group.broker and group.broker.topology else set[str]()
    for member in group.members:
        if member.broker_assignment:
            topics.update(member.broker_assignment.topics)
            continue
        try:
            topics.update(decode_consumer_subscription(member.subscription).topics)
        except DecodeError:
            continue
    return topics


def with_topic_names(group: DescribedGroup, names: Mapping[str, str]) -> DescribedGroup:
    """Return a group whose broker assigns with the names of topics that are described by their ids."""

    def named(assigned: Assigned) -> Assigned:
        partitions = (
            partition._replace(topic=names.get(partition.topic, partition.topic)) for partition in assigned.partitions
        )
        return evolve(assigned, partitions=tuple(sorted(partitions)))

    def renamed(member: DescribedGroupMember) -> DescribedGroupMember:
        assignment = member.broker_assignment
        if assignment is None:
            return member
        target = None if assignment.target is None else named(assignment.target)
        return evolve(member, broker_assignment=evolve(assignment, current=named(assignment.current), target=target))

    return evolve(group, members=tuple(map(renamed, group.members)))


def with_topic_metadata(
    groups: Iterable[DescribedGroup],
    partition_counts: Mapping[str, int],
    max_message_bytes: int | None,
    missing_topics: Collection[str] = (),
) -> list[DescribedGroup]:
    """Return the groups with the limit of their record and what is known of their topics.

    ``partition_counts`` has the number of partitions by topic, as far as it is known.
    """
    with_metadata = []
    for group in groups:
        topics = topics_of(group)
        with_metadata.append(
            evolve(
                group,
                max_message_bytes=max_message_bytes,
                partition_counts={topic: partition_counts[topic] for topic in topics if topic in partition_counts},
                missing_topics=frozenset(topics.intersection(missing_topics)),
                unknown_topics=frozenset(topics.difference(partition_counts, missing_topics)),
            )
        )
    return with_metadata
