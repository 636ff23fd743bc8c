"""Looks up what a leader needs before it assigns, through an admin client.

The order is Kafka's: find missing internal topics, create them, then look up the end offsets of the changelogs. Java:
``StreamsPartitionAssignor.assign``, its calls of ``InternalTopicManager`` and ``ClientUtils``.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from streams_assignor.cluster import ClusterSnapshot
from streams_assignor.codec import TopicPartition
from streams_assignor.errors import FatalError, StreamsAssignorError
from streams_assignor.protocol.internal_topics import InternalTopicPlan, TopicAdmin, create_internal_topics
from streams_assignor.streams_assignor import StreamsAssignor
from streams_assignor.upgrade.redaction import hide

log = logging.getLogger(__name__)


class LookupFailed(StreamsAssignorError):
    """The cluster did not answer an admin in time. The leader assigns without the result, and asks again later."""

    def __init__(self, message: str) -> None:
        super().__init__(hide(message))


class Admin(TopicAdmin, Protocol):
    """Looks up topics and offsets and creates topics, for a leader.

    Called on a thread that blocks the rebalance: each method must return or raise well before the session timeout.
    """

    def partition_counts(self, topics: Iterable[str]) -> Mapping[str, int]:
        """Return the partition counts of those topics that exist; ``LookupFailed``."""
        ...

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return the end offset of each partition; ``LookupFailed`` if one of them is unknown."""
        ...

    def committed_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return the committed offset of each partition, 0 where the group has committed none; ``LookupFailed``."""
        ...

    def replica_racks(self, topics: Iterable[str]) -> Mapping[TopicPartition, Collection[str | None]]:
        """Return the racks of the replicas of each partition; ``LookupFailed``."""
        ...


def snapshot_cluster(
    assignor: StreamsAssignor, known_partition_counts: Mapping[str, int], admin: Admin, now_ms: int
) -> tuple[ClusterSnapshot, InternalTopicPlan | None]:
    """Return the cluster as the leader sees it, and the plan of its internal topics if there is one.

    ``known_partition_counts`` are those that the consumer knows. They may be only some: kafka-python joins a group
    before it has looked up its topics.
    """
    topology = assignor.topology
    try:
        partitions = {
            **known_partition_counts,
            **admin.partition_counts({*topology.source_topics, *topology.internal_topics}),
        }
    except LookupFailed as failed:
        log.warning("could not look up topics (%s): the leader knows those of its consumer only", failed)
        return ClusterSnapshot(partitions=known_partition_counts, topics_complete=False, now_ms=now_ms), None
    try:
        plan, required = assignor.plan_internal_topics(partitions)
    except FatalError:
        # The assignment raises it again, and encodes the answers for it.
        return ClusterSnapshot(partitions=partitions, now_ms=now_ms), None
    create_internal_topics(plan, admin)
    try:
        offsets = {**admin.end_offsets(required.changelogs), **admin.committed_offsets(required.source_changelogs)}
        if missing := {*required.changelogs, *required.source_changelogs} - offsets.keys():
            topic, number = min(missing)
            raise LookupFailed(f"no offset of partition {number} of {topic} in the answers")
    except LookupFailed as failed:
        log.warning("could not look up offsets of changelogs (%s): the leader assigns without lags", failed)
        return ClusterSnapshot(partitions=partitions, now_ms=now_ms), plan
    racks = _replica_racks(assignor, admin)
    return ClusterSnapshot(partitions=partitions, end_offsets=offsets, replica_racks=racks, now_ms=now_ms), plan


def _replica_racks(assignor: StreamsAssignor, admin: Admin) -> Mapping[TopicPartition, Collection[str | None]]:
    """Look up the racks of replicas, if the configuration uses them; without them tasks are placed without racks."""
    if not assignor.needs_replica_racks:
        return {}
    try:
        return admin.replica_racks({*assignor.topology.source_topics, *assignor.topology.internal_topics})
    except LookupFailed as failed:
        log.warning("could not look up racks of replicas (%s): the leader assigns without them", failed)
        return {}
