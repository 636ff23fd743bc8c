"""What a leader looks up before it assigns, with the help of an admin client that somebody hands in.

The order is Kafka's: see which internal topics are missing, create them, then ask how far the changelogs go.
Java: ``StreamsPartitionAssignor.assign``, its calls of ``InternalTopicManager`` and ``ClientUtils``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from assignor.cluster import Cluster
from assignor.errors import FatalError
from assignor.internal_topics import TopicAdmin, create_missing
from assignor.streams_assignor import StreamsPartitionAssignor
from subscription_codec import TopicPartition


class LookupFailed(Exception):
    """An admin could not find out in time. A leader goes on without, and tries again later."""


class Admin(TopicAdmin, Protocol):
    """Looks things up and creates topics. Called on the thread that a rebalance waits for: it should give up soon."""

    def partitions(self, topics: Iterable[str]) -> Mapping[str, int]:
        """Return the number of partitions of those topics that exist."""
        ...

    def ends(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return the end of each partition; ``LookupFailed`` if one cannot be had."""
        ...

    def committed(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return what the group has committed, 0 where that is nothing; ``LookupFailed`` likewise."""
        ...

    def racks(self, topics: Iterable[str]) -> Mapping[TopicPartition, Collection[str | None]]:
        """Return the racks of the replicas of all their partitions; ``LookupFailed`` likewise."""
        ...


def look_up(core: StreamsPartitionAssignor, known: Mapping[str, int], admin: Admin, now_ms: int) -> Cluster:
    """Prepare for an assignment: ``known`` are the numbers of partitions that the consumer knows by itself.

    It may not know all: kafka-python joins a group before it has asked for its topics.
    """
    topology = core.topology
    try:
        partitions = {**known, **admin.partitions({*topology.source_topics, *topology.internal_topics})}
    except LookupFailed:
        return Cluster(partitions=known, complete=False, now_ms=now_ms)
    try:
        prepared, wanted = core.prepare(partitions)
    except FatalError:
        return Cluster(partitions=partitions, now_ms=now_ms)  # the assignment meets it again, and knows what to answer
    create_missing(prepared, admin)
    try:
        offsets = {**admin.ends(wanted.ends), **admin.committed(wanted.committed)}
    except LookupFailed:
        return Cluster(partitions=partitions, now_ms=now_ms)
    return Cluster(partitions=partitions, offsets=offsets, racks=_racks(core, admin), now_ms=now_ms)


def _racks(core: StreamsPartitionAssignor, admin: Admin) -> Mapping[TopicPartition, Collection[str | None]]:
    """Look where replicas are, if anybody wants to know; without it tasks are placed without a look at racks."""
    if not core.looks_at_racks:
        return {}
    try:
        return admin.racks({*core.topology.source_topics, *core.topology.internal_topics})
    except LookupFailed:
        return {}
