"""A large partition in pieces: workers read its segments side by side, and the records of each group are joined again.

A mapper reads a piece, and hands on its records in buckets by group. A reducer takes the records of a bucket from all
pieces, in order, and does with them what ``audit_partition`` does with those of a partition. Groups do not depend on
each other, with few exceptions: transaction markers, which each bucket gets, and the time of the last record. Where the
result may depend on how groups lie (``is_exact``), the partition is read as a whole instead.
"""

from __future__ import annotations

import pickle
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Final

from attrs import define, field, frozen

from streams_assignor.groups.history.history import MARKERS, MOST_GONE, PartitionHistory
from streams_assignor.groups.history.log_segment import MAX_PROBLEMS, LogRecord, SegmentReader
from streams_assignor.groups.history.record_columns import RecordColumns
from streams_assignor.spark_sim.audit.finished_units import KeyedUnit, MakeUnit
from streams_assignor.spark_sim.audit.partition_audit import (
    AuditFilter,
    PartitionSummary,
    audit_partition,
    write_summary,
)
from streams_assignor.spark_sim.audit.sources import PartitionSource
from streams_assignor.spark_sim.jobs.table import Row

Item = LogRecord | RecordColumns

_GROUP_AT: Final = 4
"""Where the name of the group begins in a key: behind the type of the record and the length of the name."""
_LARGE_SECONDS: Final = 3.0
"""A partition that takes longer may be cut, into buckets that take so long each."""
_LARGE_SHARE: Final = 1 / 8
"""A partition that has less of the source is not cut: there are others that keep the cores busy."""
_MOST_BUCKETS: Final = 64


def buckets_of(seconds: float, all_seconds: float, pieces: int) -> int:
    """Return into how many buckets a partition is cut; 1 if it is not. It does not depend on the engine.

    >>> buckets_of(100, 110, pieces=30), buckets_of(100, 1_000, pieces=30), buckets_of(100, 110, pieces=1)
    (34, 1, 1)
    """
    if pieces < 2 or seconds < _LARGE_SECONDS or seconds < _LARGE_SHARE * all_seconds:
        return 1
    return min(_MOST_BUCKETS, max(2, round(seconds / _LARGE_SECONDS) + 1))


@define
class PieceHeader:
    """The facts of a piece beside its records."""

    counts: Counter[str] = field(factory=Counter)
    problems: list[str] = field(factory=list)
    first_offset: int | None = None
    """The offset of its first batch."""
    next_offset: int = 0
    """The offset behind its last batch."""
    first_time: int | None = None
    last_time: int = 0

    def add_times(self, first: int, last: int) -> None:
        """Take the times of records."""
        self.first_time = first if self.first_time is None else self.first_time
        self.last_time = max(self.last_time, last)


@frozen
class ReadPiece:
    """The work of a mapper on a piece."""

    kept: AuditFilter
    buckets: int
    wanted: tuple[int, ...]
    """The buckets that are not finished."""

    def __call__(self, piece: PartitionSource) -> dict[int, bytes]:
        """Return the header and the records of each bucket that is wanted."""
        reader, header = SegmentReader(max_batch_bytes=self.kept.max_batch_bytes), PieceHeader()
        buckets: list[list[Item]] = [[] for _ in range(self.buckets)]
        bucket_of = cache(partial(_bucket, buckets=self.buckets))
        for _, item in piece.records(reader, reads_commits=self.kept.reads_commits):
            if isinstance(item, RecordColumns):
                header.add_times(item.first_time, item.last_time)
                for bucket, columns in item.split(bucket_of).items():
                    buckets[bucket].append(columns)
            else:
                header.add_times(item.timestamp, item.timestamp)
                # A marker ends a transaction, which may have commits of any group.
                for bucket in range(self.buckets) if item.is_control else (bucket_of(item.key or b""),):
                    buckets[bucket].append(item)
        header.counts, header.problems = reader.counts, reader.problems
        header.first_offset, header.next_offset = reader.first_offset, reader.next_offset
        return {bucket: pickle.dumps((header, buckets[bucket]), protocol=5) for bucket in self.wanted}


def _bucket(key: bytes, buckets: int) -> int:
    """Return the bucket of a record: that of its group, whatever its type. Damaged keys have some bucket."""
    end = _GROUP_AT + int.from_bytes(key[2:_GROUP_AT], "big")
    return zlib.crc32(key[_GROUP_AT:end]) % buckets


def bucket_name(partition: int, key: int) -> str:
    """Return the name of the files with the rows of a bucket."""
    return f"partition-{partition}-{key:02}"


@define
class JoinedBucket:
    """The records of a bucket from all pieces, as a source that ``audit_partition`` reads."""

    partition: int
    key: int
    contents: Iterator[bytes]
    pieces: Sequence[PartitionSource] = ()
    size: int = 0
    inputs: None = None
    header: PieceHeader = field(factory=PieceHeader)
    """The sum of all pieces, when they have been read."""
    is_in_order: bool = True

    @property
    def name(self) -> str:
        """The name of the files with its rows."""
        return bucket_name(self.partition, self.key)

    def records(self, reader: SegmentReader, *, reads_commits: bool = True) -> Iterator[tuple[int, Item]]:  # noqa: ARG002  # the interface
        """Yield the records; the first bucket counts what pieces have beside them."""
        whole = self.header
        for content in self.contents:
            header, items = pickle.loads(content)
            if header.first_offset is not None:
                self.is_in_order = self.is_in_order and header.first_offset >= whole.next_offset
                whole.next_offset = header.next_offset
            if header.first_time is not None:
                whole.add_times(header.first_time, header.last_time)
            if self.key == 0:
                reader.counts.update(header.counts)
                reader.problems += header.problems
            for item in items:
                yield self.partition, item
        del reader.problems[MAX_PROBLEMS:]

    def complete(self, histories: Mapping[int, PartitionHistory]) -> None:
        """Give the history of the bucket the times of the whole partition, before it is closed."""
        history = histories[self.partition]
        if self.header.first_time is not None:
            history.first_time, history.last_time = self.header.first_time, self.header.last_time


@frozen
class BucketUnit:
    """The work of a worker on the joined records of a bucket; it can be pickled."""

    kept: AuditFilter

    def __call__(self, bucket: JoinedBucket, folder: Path) -> None:
        """Make the files of a bucket."""
        summary = audit_partition(bucket, self.kept, folder, bucket.complete)
        summary.is_separate = summary.is_separate and bucket.is_in_order
        for name in MARKERS if bucket.key else ():  # each bucket has them
            del summary.counts[name]
        write_summary(summary, folder)


@frozen
class ReduceBucket:
    """The work of a reducer on a bucket."""

    maker: MakeUnit[JoinedBucket]
    partition: int
    unit_keys: Mapping[int, str]

    def __call__(self, key: int, contents: Iterator[bytes]) -> Path | list[Row]:
        """Return what is committed, or is to be."""
        return self.maker(KeyedUnit(self.unit_keys[key], JoinedBucket(self.partition, key, contents)))


def is_exact(summaries: Sequence[PartitionSummary]) -> bool:
    """Whether the buckets of a partition have what the whole partition has.

    Groups depend on each other where more are gone than are kept, and one came back; where commits of open transactions
    are dropped; and in the order of problems.
    """
    gone = sum(summary.gone_count for summary in summaries)
    came_back = any(summary.came_back for summary in summaries)
    return all(summary.is_separate for summary in summaries) and not (came_back and gone > MOST_GONE)
