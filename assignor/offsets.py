"""How far the changelogs go: which offsets a leader needs, and their sum for each stateful task (KIP-441).

Java: ``StreamsPartitionAssignor.populateClientStatesMap``, ``computeEndOffsetSumsByTask``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from attrs import frozen

from assignor.client_state import UNKNOWN_LAG
from assignor.cluster import Cluster
from assignor.errors import FatalError
from assignor.topology import Tasks, Topology
from subscription_codec import TaskId, TopicPartition

MOST: Final = 2**63 - 1
"""A sum beyond this counts as this (Java: ``Long.MAX_VALUE``)."""


@frozen
class Wanted:
    """What to look up: the ends of changelog partitions, and the group's committed offsets where a source is one."""

    ends: tuple[TopicPartition, ...]
    committed: tuple[TopicPartition, ...]


def wanted(topology: Topology, partitions: Mapping[str, int], tasks: Tasks) -> Wanted:
    """Say which offsets ``end_sums`` needs. Changelogs that do not exist yet are empty, nobody has to ask."""
    found = {partition for task in tasks for partition in _changelogs(topology, partitions, task)}
    sources = set(topology.source_topics)
    return Wanted(
        tuple(sorted(partition for partition in found if partition.topic not in sources)),
        tuple(sorted(partition for partition in found if partition.topic in sources)),
    )


def end_sums(topology: Topology, cluster: Cluster, tasks: Tasks) -> dict[TaskId, int]:
    """Add up the ends for each stateful task. Without any offsets all of them are ``UNKNOWN_LAG``.

    ``FatalError`` (Java: ``IllegalStateException``) if one is missing that ``wanted`` asked for.
    """
    stateful = [task for task in tasks if topology.stateful(task)]
    if cluster.offsets is None:
        return dict.fromkeys(stateful, UNKNOWN_LAG)
    try:
        return {
            task: min(MOST, sum(cluster.offsets[each] for each in _changelogs(topology, cluster.partitions, task)))
            for task in stateful
        }
    except KeyError as error:
        raise FatalError(f"Could not get end offset for {error.args[0]}", "IllegalStateException") from None


def _changelogs(topology: Topology, partitions: Mapping[str, int], task: TaskId) -> Iterator[TopicPartition]:
    return (each for each in topology.changelogs_of(task) if task.partition < partitions.get(each.topic, 0))
