"""Reads segments in columns with numpy; without it ``SegmentReader`` reads one record after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, Final

import numpy as np
from attrs import frozen

from streams_assignor.groups.history.frames import HEADER_BYTES, Frame
from streams_assignor.groups.history.log_segment import LogRecord, SegmentReader
from streams_assignor.groups.history.record_columns import CommitRun, Commits, PlacedRun, RecordColumns
from streams_assignor.spark_sim.audit.sources import _numpy_kernel as kernel

_PLACES: Final = len(PlacedRun._fields) - 1
_COMMIT_NAMES: Final = {1: "LegacyOffsetCommit", 2: "OffsetCommit"}
"""By the number that a row has."""
ROWS: Final = 1 << 16
"""Records of a block of columns at most."""
_SPECIAL: Final = 0x37
"""Compression, transactional, control: attributes of batches that are read one by one."""


def scan_segment(
    reader: SegmentReader, file: BinaryIO, source: str, *, is_last: bool, reads_commits: bool
) -> Iterator[LogRecord | RecordColumns]:
    """Yield the records of a segment in order; ``reader`` counts, and reads what is unusual.

    Args:
        reader: Counts batches and collects problems.
        file: The segment.
        source: The name of the segment in messages.
        is_last: Whether the partition has no later segment.
        reads_commits: False: offset commits are only counted.
    """
    rows = np.zeros((ROWS, kernel.COLUMNS), np.int64)
    for run in _runs(reader.frames(file, source, is_last=is_last)):
        data, at, end = run[0].data, run[0].at, run[-1].end
        array = np.frombuffer(data, np.uint8)
        waiting = iter(run)
        while at < end:
            following, row_count = kernel.scan(array, at, end, rows) if _is_plain(run[0]) else (at, 0)
            if row_count:
                yield _columns(data, rows[:row_count], None if reads_commits else reader.counts)
            if following == at:
                unusual = next(frame for frame in waiting if frame.at == at)
                yield from reader.frame_records(unusual, source)
                following = unusual.end
            at = following


def _placed(run: Sequence[int]) -> PlacedRun:
    return PlacedRun._make([*run[:_PLACES], CommitRun._make(run[_PLACES:])])


def _runs(frames: Iterator[Frame]) -> Iterator[list[Frame]]:
    """Yield batches that may be read as columns, as many as are side by side in a block, and each other batch alone."""
    run: list[Frame] = []
    for frame in frames:
        is_plain = _is_plain(frame)
        if run and not (is_plain and frame.data is run[-1].data and frame.at == run[-1].end):
            yield run
            run = []
        run.append(frame)
        if not is_plain:
            yield run
            run = []
    if run:
        yield run


def _is_plain(frame: Frame) -> bool:
    """Whether a batch may be read as columns: neither compressed, nor of a transaction, nor damaged."""
    if frame.magic != 2 or not frame.is_sound or frame.end - frame.at < HEADER_BYTES:
        return False
    return not (frame.data[frame.at + 21] << 8 | frame.data[frame.at + 22]) & _SPECIAL


@frozen
class _ScannedCommits(Commits):
    """Rows of the kernel that are commits."""

    data: bytes
    rows: Any

    def runs(self) -> Sequence[PlacedRun] | None:
        runs = np.empty((len(self.rows), kernel.RUN_COLUMNS), np.int64)
        count = kernel.sum_up(np.frombuffer(self.data, np.uint8), self.rows, runs)
        if count < 0:
            return None
        return list(map(_placed, runs[:count].tolist()))

    def records(self) -> Iterator[LogRecord]:
        return (_record(self.data, row) for row in self.rows.tolist())


@frozen
class _ScannedColumns(RecordColumns):
    """Rows of the kernel."""

    rows: Any

    def parts(self) -> Iterator[LogRecord | Commits]:
        rows, begin = self.rows, 0
        is_single = (rows[:, kernel.COMMIT] == kernel.NO_COMMIT) | (rows[:, kernel.VALUE] < 0)
        for place in [*np.flatnonzero(is_single).tolist(), len(rows)]:
            if place > begin:
                yield self._commits(rows[begin:place])
            if place < len(rows):
                yield _record(self.data, rows[place].tolist())
            begin = place + 1

    def _commits(self, rows: Any) -> Commits:
        return _ScannedCommits(_kinds(rows), self.data, rows)

    def split(self, bucket_of: Callable[[bytes], int]) -> Mapping[int, RecordColumns]:
        keys = _slices(self.data, self.rows[:, kernel.KEY], self.rows[:, kernel.KEY_END])
        buckets = np.fromiter(map(bucket_of, keys), np.int64, len(self.rows))
        return {bucket: self._packed(self.rows[buckets == bucket]) for bucket in np.unique(buckets).tolist()}

    def _packed(self, rows: Any) -> RecordColumns:
        """Return rows with only the bytes of their keys and values."""
        begins, ends = rows[:, kernel.KEY].copy(), rows[:, kernel.VALUE_END].copy()
        moved = (ends - np.cumsum(ends - begins))[:, None]
        columns = [kernel.KEY, kernel.KEY_END, kernel.VALUE, kernel.VALUE_END, kernel.TOPIC_ID]
        places = rows[:, columns]
        rows[:, columns] = np.where(places < 0, places, places - moved)
        data = b"".join(_slices(self.data, begins, ends))
        return _ScannedColumns(data, self.first_time, self.last_time, rows)


def _slices(data: bytes, begins: Any, ends: Any) -> Iterator[bytes]:
    return map(data.__getitem__, map(slice, begins.tolist(), ends.tolist()))


def _kinds(rows: Any) -> dict[str, int]:
    """Return how many commits there are of each type."""
    kinds = rows[:, kernel.COMMIT]
    return {name: int((kinds == kind).sum()) for kind, name in _COMMIT_NAMES.items()}


def _record(data: bytes, row: Sequence[int]) -> LogRecord:
    offset, time, key, key_end, value, value_end, *_ = row
    return LogRecord(offset, time, data[key:key_end], None if value < 0 else data[value:value_end])


def _columns(data: bytes, rows: Any, commits: Counter[str] | None) -> RecordColumns:
    """Return rows as columns; without the usual offset commits, if those are to be counted."""
    first_time, last_time = int(rows[0, kernel.TIME]), int(rows[:, kernel.TIME].max())
    if commits is None:
        rows = rows.copy()
    else:
        is_commit = rows[:, kernel.COMMIT] != kernel.NO_COMMIT
        commits.update(_kinds(rows))
        commits["tombstones"] += int((is_commit & (rows[:, kernel.VALUE] < 0)).sum())
        rows = rows[~is_commit]
    return _ScannedColumns(data, first_time, last_time, rows)
