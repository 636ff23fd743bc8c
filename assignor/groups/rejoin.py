"""Why a member rejoins as soon as it has its assignment."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from streams_assignor.codec import EARLIEST_PROBEABLE_VERSION, FIRST_VERSION_WITH_OFFSET_SUMS, TopicPartition
from streams_assignor.codec.columns import SortedPartitions
from streams_assignor.groups.decoded import AssignmentSeen, SubscriptionSeen
from streams_assignor.upgrade import ConfigException
from streams_assignor.upgrade.config_types import parse_end_point


class RejoinCause(Enum):
    """Why a member rejoins as soon as it has its assignment. If the next one is alike, the group never settles."""

    VERSION = "it changes its version"
    REVOKES = "it has to revoke partitions"
    REQUESTED = "the leader asks it to, because it waits for a task of another member"
    END_POINT = "the leader has not found its application.server"
    NOT_SUBSCRIBED = "it has partitions of topics that it does not subscribe to"


def rejoin_causes(sent: SubscriptionSeen, got: AssignmentSeen) -> tuple[RejoinCause, ...]:
    """Compare what a member sent with what it got, as the member does."""
    used, version = sent.used_version, got.used_version or 0
    causes: list[RejoinCause] = []  # a generator would cost more than the comparisons
    if (
        used is not None  # else the subscription cannot be read
        and version >= EARLIEST_PROBEABLE_VERSION
        and (version < used or (got.supported_version or 0) > used)
    ):
        causes.append(RejoinCause.VERSION)
    if sent.owned_partitions and not _holds_all(got.partitions, sent.owned_partitions):
        causes.append(RejoinCause.REVOKES)
    if got.next_rebalance_ms == 0:
        causes.append(RejoinCause.REQUESTED)
    if got.hosts and _misses_end_point(sent, got):
        causes.append(RejoinCause.END_POINT)
    if unsubscribed_topics(sent, got):
        causes.append(RejoinCause.NOT_SUBSCRIBED)
    return tuple(causes)


def _misses_end_point(sent: SubscriptionSeen, got: AssignmentSeen) -> bool:
    """Whether the hosts lack the end point of a member that looks for it. Java: ``verifyHostInfo``, since 2.6."""
    if not sent.user_end_point or (sent.readable_version or 0) < FIRST_VERSION_WITH_OFFSET_SUMS:
        return False
    try:
        end_point = parse_end_point(sent.user_end_point)
    except ConfigException:  # such a member does not start
        return False
    return end_point is not None and end_point not in got.hosts


def unsubscribed_topics(sent: SubscriptionSeen, got: AssignmentSeen) -> tuple[str, ...]:
    """Return the topics of assigned partitions that the member does not subscribe to."""
    if not sent.topics or not isinstance(got.partitions, SortedPartitions):
        return ()
    topics = got.partitions.topics
    if len(topics) == 1 and topics[0] in sent.topics:  # most members read one topic
        return ()
    return tuple(sorted({*topics}.difference(sent.topics)))


def _holds_all(assigned: Sequence[TopicPartition], owned: SortedPartitions) -> bool:
    """Whether all owned partitions are assigned; only members that decode have any."""
    return isinstance(assigned, SortedPartitions) and assigned.includes(owned)
