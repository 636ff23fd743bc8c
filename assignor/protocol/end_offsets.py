"""The offsets that a leader needs for lags, and their sum for each stateful task (KIP-441).

Java: ``StreamsPartitionAssignor.populateClientStatesMap``, ``computeEndOffsetSumsByTask``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from attrs import frozen

from assignor.cluster import ClusterSnapshot
from assignor.errors import FatalError
from assignor.task_assignors.application_state import UNKNOWN_LAG
from assignor.topology import InputPartitionsByTask, Topology
from subscription_codec import TaskId, TopicPartition

MAX_OFFSET: Final = 2**63 - 1
"""The largest sum; larger ones count as this (Java: ``Long.MAX_VALUE``)."""


@frozen
class RequiredOffsets:
    """The offsets to look up."""

    changelogs: tuple[TopicPartition, ...]
    """Changelog partitions whose end offsets are needed."""
    source_changelogs: tuple[TopicPartition, ...]
    """Source partitions that serve as changelogs: the committed offsets of the group are needed."""


def required_offsets(
    topology: Topology, partitions: Mapping[str, int], tasks: InputPartitionsByTask
) -> RequiredOffsets:
    """Return the offsets that ``end_offset_sums`` needs; changelogs that do not exist yet are empty."""
    found = {partition for task in tasks for partition in _existing_changelogs(topology, partitions, task)}
    sources = set(topology.source_topics)
    return RequiredOffsets(
        tuple(sorted(partition for partition in found if partition.topic not in sources)),
        tuple(sorted(partition for partition in found if partition.topic in sources)),
    )


def end_offset_sums(topology: Topology, cluster: ClusterSnapshot, tasks: InputPartitionsByTask) -> dict[TaskId, int]:
    """Sum the end offsets of the changelogs of each stateful task; ``UNKNOWN_LAG`` for all if there are no offsets.

    Raises ``FatalError`` (Java: ``IllegalStateException``) if one of ``required_offsets`` is missing.
    """
    stateful = [task for task in tasks if topology.is_stateful(task)]
    if cluster.end_offsets is None:
        return dict.fromkeys(stateful, UNKNOWN_LAG)
    try:
        return {
            task: min(
                MAX_OFFSET,
                sum(cluster.end_offsets[each] for each in _existing_changelogs(topology, cluster.partitions, task)),
            )
            for task in stateful
        }
    except KeyError as error:
        raise FatalError(f"Could not get end offset for {error.args[0]}", "IllegalStateException") from None


def _existing_changelogs(topology: Topology, partitions: Mapping[str, int], task: TaskId) -> Iterator[TopicPartition]:
    return (each for each in topology.changelog_partitions_of(task) if task.partition < partitions.get(each.topic, 0))
