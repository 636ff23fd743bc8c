"""The offsets that a leader needs for lags, and their sum for each stateful task (KIP-441).

Java: ``StreamsPartitionAssignor.populateClientStatesMap``, ``computeEndOffsetSumsByTask``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import frozen

from streams_assignor.cluster import ClusterSnapshot
from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.errors import FatalError
from streams_assignor.task_assignors.application_state import UNKNOWN_LAG, TaskInfo
from streams_assignor.topology import Topology

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
    topology: Topology, partitions: Mapping[str, int], tasks: Mapping[TaskId, TaskInfo]
) -> RequiredOffsets:
    """Return the offsets that ``end_offset_sums`` needs; changelogs that do not exist yet are empty."""
    changelogs = sorted({partition for info in tasks.values() for partition in _existing_changelogs(info, partitions)})
    sources = set(topology.source_topics)
    return RequiredOffsets(
        tuple([partition for partition in changelogs if partition.topic not in sources]),
        tuple([partition for partition in changelogs if partition.topic in sources]),
    )


def end_offset_sums(cluster: ClusterSnapshot, tasks: Mapping[TaskId, TaskInfo]) -> dict[TaskId, int]:
    """Sum the end offsets of the changelogs of each stateful task; ``UNKNOWN_LAG`` for all if there are no offsets.

    Raises ``FatalError`` (Java: ``IllegalStateException``) if one of ``required_offsets`` is missing.
    """
    stateful = {task: info for task, info in tasks.items() if info.stateful}
    if cluster.end_offsets is None:
        return dict.fromkeys(stateful, UNKNOWN_LAG)
    try:
        return {
            task: min(
                MAX_OFFSET,
                sum(map(cluster.end_offsets.__getitem__, _existing_changelogs(info, cluster.partitions))),
            )
            for task, info in stateful.items()
        }
    except KeyError as error:
        raise FatalError(f"Could not get end offset for {error.args[0]}", "IllegalStateException") from None


def _existing_changelogs(task: TaskInfo, partitions: Mapping[str, int]) -> list[TopicPartition]:
    return [changelog for changelog in task.changelogs if changelog.partition < partitions.get(changelog.topic, 0)]
