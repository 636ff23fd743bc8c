"""The offset commits of a group, summed up by partition and generation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from attrs import define, field, frozen

from streams_assignor.groups.history.log_segment import NO_TIMESTAMP
from streams_assignor.groups.history.record_columns import CommitRun
from streams_assignor.groups.history.tables import Row, valid_text

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

    def add(self, partition: TopicPartition, run: CommitRun) -> None:
        """Add commits of offsets."""
        commit_sum = self._sum(partition, run.first_record, run.first_time, run.first_offset)
        commit_sum.commits += run.commits
        before = self._last_offsets.get(partition, _NO_OFFSET)
        commit_sum.moved_back += run.moved_back + (run.first_offset < before)
        if commit_sum.first_offset == _NO_OFFSET:
            commit_sum.first_offset = run.known_offset
        commit_sum.last_offset = self._last_offsets[partition] = run.last_offset
        commit_sum.longest_gap_ms = max(commit_sum.longest_gap_ms, run.longest_gap_ms)
        commit_sum.last_time = self._last_times[partition] = run.last_time

    def delete(self, partition: TopicPartition, record: int, time: int) -> None:
        """Add a tombstone."""
        self._sum(partition, record, time, _NO_OFFSET).deleted += 1
        self._last_offsets.pop(partition, None)

    def _sum(self, partition: TopicPartition, record: int, time: int, offset: int) -> CommitSum:
        commit_sum = self._sums.get(partition)
        if commit_sum is None:
            commit_sum = self._sums[partition] = CommitSum(record, time, time, offset, offset)
        before = self._last_times.get(partition, NO_TIMESTAMP)
        gap = time - before if before >= 0 else 0
        commit_sum.longest_gap_ms = max(commit_sum.longest_gap_ms, gap)
        commit_sum.last_time = self._last_times[partition] = time
        return commit_sum

    def end(self) -> GenerationCommits:
        """Return the commits of the generation that ends, and begin the next one."""
        sums, self._sums = self._sums, {}
        return GenerationCommits(sums, dict(self._last_times))

    def rows(self, generation: int | None, ended: GenerationCommits) -> Iterator[Row]:
        """Yield the rows of a generation that has ended."""
        for (topic, partition), commit_sum in ended.sums.items():
            yield {
                "group": self.group,
                "generation": generation,
                "topic": valid_text(topic),
                "partition": partition,
                "first_record": commit_sum.first_record,
                "commits": commit_sum.commits,
                "first_time": commit_sum.first_time,
                "last_time": commit_sum.last_time,
                "first_offset": commit_sum.first_offset,
                "last_offset": commit_sum.last_offset,
                "longest_gap_ms": commit_sum.longest_gap_ms,
                "moved_back": commit_sum.moved_back,
                "deleted": commit_sum.deleted,
            }
