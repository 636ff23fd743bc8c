"""The offset commits of a group, summed up by partition and generation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from attrs import define, field, frozen

from assignor.groups.history.log_segment import NO_TIMESTAMP
from assignor.groups.history.tables import Row, valid_text

TopicPartition = tuple[str, int]


@define
class CommitSum:
    """The commits of a partition in a generation."""

    first_record: int
    first_time: int
    last_time: int
    first_offset: int
    last_offset: int
    commits: int = 0
    longest_gap_ms: int = 0
    moved_back: int = 0
    deleted: int = 0


_NO_OFFSET: Final = -1


@frozen
class GenerationCommits:
    """The commits of a generation that has ended."""

    sums: Mapping[TopicPartition, CommitSum] = field(factory=dict)
    """The commits of the partitions that were committed in it."""
    last_times: Mapping[TopicPartition, int] = field(factory=dict)
    """When each partition was committed last, in this generation or before."""


@define
class CommitSums:
    """Sums of the current generation; ``end`` ends it."""

    group: str
    _last_times: dict[TopicPartition, int] = field(factory=dict)
    _last_offsets: dict[TopicPartition, int] = field(factory=dict)
    _sums: dict[TopicPartition, CommitSum] = field(factory=dict)

    @property
    def has_offsets(self) -> bool:
        """Whether a partition has a committed offset that is not deleted."""
        return bool(self._last_offsets)

    def add(self, partition: TopicPartition, record: int, time: int, offset: int) -> None:
        """Add a commit of an offset."""
        found = self._sum(partition, record, time, offset)
        found.commits += 1
        before = self._last_offsets.get(partition, _NO_OFFSET)
        found.moved_back += offset < before
        if found.first_offset == _NO_OFFSET:
            found.first_offset = offset
        found.last_offset = self._last_offsets[partition] = offset

    def delete(self, partition: TopicPartition, record: int, time: int) -> None:
        """Add a tombstone."""
        self._sum(partition, record, time, _NO_OFFSET).deleted += 1
        self._last_offsets.pop(partition, None)

    def _sum(self, partition: TopicPartition, record: int, time: int, offset: int) -> CommitSum:
        found = self._sums.get(partition)
        if found is None:
            found = self._sums[partition] = CommitSum(record, time, time, offset, offset)
        before = self._last_times.get(partition, NO_TIMESTAMP)
        gap = time - before if before >= 0 else 0
        found.longest_gap_ms = max(found.longest_gap_ms, gap)
        found.last_time = self._last_times[partition] = time
        return found

    def end(self) -> GenerationCommits:
        """Return the commits of the generation that ends, and begin the next one."""
        sums, self._sums = self._sums, {}
        return GenerationCommits(sums, dict(self._last_times))

    def rows(self, generation: int | None, ended: GenerationCommits) -> Iterator[Row]:
        """Yield the rows of a generation that has ended."""
        for (topic, partition), found in ended.sums.items():
            yield {
                "group": self.group,
                "generation": generation,
                "topic": valid_text(topic),
                "partition": partition,
                "first_record": found.first_record,
                "commits": found.commits,
                "first_time": found.first_time,
                "last_time": found.last_time,
                "first_offset": found.first_offset,
                "last_offset": found.last_offset,
                "longest_gap_ms": found.longest_gap_ms,
                "moved_back": found.moved_back,
                "deleted": found.deleted,
            }
