"""``__consumer_offsets`` on brokers as a source: committed records, up to the offsets of a moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from attrs import frozen

from streams_assignor.groups.history.log_segment import LogRecord, SegmentReader
from streams_assignor.spark_sim.audit.sources._source import RECORDS_PER_SECOND, Source, SourceError
from streams_assignor.upgrade.cluster.client.errors import ClusterError

if TYPE_CHECKING:
    from streams_assignor.groups.describe.confluent.offsets_topic import OffsetsTopic

NO_RECORD: Final = "offsets without a record"
_OFFSETS_PER_PIECE: Final = 500_000


@frozen
class LivePartition:
    """The committed records of one partition on brokers, from its first offset to ``end``."""

    topic: OffsetsTopic
    partition: int
    first: int
    end: int
    cluster: str = ""
    """The id of the cluster: another one may have the same address and offsets."""

    @property
    def name(self) -> str:
        """The name of the files with its rows."""
        return f"partition-{self.partition}"

    @property
    def size(self) -> int:
        """Offsets, of which some have no record: compaction removed it, or it is a transaction marker."""
        return self.end - self.first

    @property
    def inputs(self) -> object:
        """The offsets; records between them may be compacted, but never change. None of an unknown cluster."""
        return (
            (self.cluster, self.topic.bootstrap_servers, self.partition, self.first, self.end) if self.cluster else None
        )

    @property
    def pieces(self) -> Sequence[LivePartition]:
        """Ranges of offsets."""
        return [*self.ranges(_OFFSETS_PER_PIECE)]

    def ranges(self, size: int) -> Iterator[LivePartition]:
        """Yield ranges of at most ``size`` offsets."""
        for first in range(self.first, self.end, size):
            yield LivePartition(self.topic, self.partition, first, min(first + size, self.end))

    def records(self, reader: SegmentReader, *, reads_commits: bool = True) -> Iterator[tuple[int, LogRecord]]:  # noqa: ARG002  # the interface
        """Yield the records; ``reader`` counts them, and the offsets without one."""
        count = 0
        try:
            for record in self.topic.read(self.partition, self.first, self.end):
                count += 1
                yield self.partition, record
        except ClusterError as error:
            raise SourceError(str(error)) from None
        reader.counts["records"] += count
        reader.counts[NO_RECORD] += self.size - count


def live_source(topic: OffsetsTopic) -> Source:
    """Return the partitions of ``__consumer_offsets`` on brokers, up to the offsets of now.

    Raises:
        SourceError: No broker answers, or it refuses the user, or there is no record.
    """
    ranges = live_ranges(topic)
    try:
        cluster = topic.cluster_id()
    except ClusterError as error:
        raise SourceError(str(error)) from None
    partitions = tuple(LivePartition(topic, number, *bounds, cluster) for number, bounds in ranges.items())
    if not any(partition.size for partition in partitions):
        raise SourceError(f"expected records in __consumer_offsets at {topic.bootstrap_servers}, got none")
    return Source(topic.bootstrap_servers, partitions, sizes_per_second=RECORDS_PER_SECOND)


def live_ranges(topic: OffsetsTopic) -> dict[int, tuple[int, int]]:
    """Return first and end offset of each partition on brokers; ``SourceError``."""
    try:
        return topic.ranges()
    except ClusterError as error:
        raise SourceError(str(error)) from None
