"""The leader's view of the cluster: partition counts, end offsets, racks of replicas and the time.

A value, an argument of every assignment: nothing in the pure part looks any of it up.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final

from attrs import field, frozen

from streams_assignor.codec import TopicPartition

NO_RACKS: Final[Mapping[TopicPartition, Collection[str | None]]] = MappingProxyType({})


@frozen(kw_only=True)
class ClusterSnapshot:
    """The cluster as a leader knows it."""

    partitions: Mapping[str, int] = field(hash=False)
    """The number of partitions of each topic that exists."""
    topics_complete: bool = True
    """Whether all other topics do not exist. If not, a leader leaves out the tasks of missing source topics for now;
    otherwise it sends an error code to all members."""
    end_offsets: Mapping[TopicPartition, int] | None = field(default=None, hash=False)
    """The end offsets of all existing changelog partitions; for a source topic that serves as a changelog, the
    committed offsets of the group (Java: ``fetchEndOffsetsResult``, ``fetchCommittedOffsets``). None if the look-up
    failed."""
    replica_racks: Mapping[TopicPartition, Collection[str | None]] = field(default=NO_RACKS, hash=False)
    """The racks of the replicas of each partition; None for a broker without a rack."""
    now_ms: int = 0
    """The time, in milliseconds since 1970."""
