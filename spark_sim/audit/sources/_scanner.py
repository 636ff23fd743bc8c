"""Reads segments with a compiled inner loop (extra ``fast``: numba) where there is one; the records are the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, BinaryIO, Final

from attrs import frozen

from assignor.groups.history.frames import HEADER_BYTES, Frame
from assignor.groups.history.log_segment import LogRecord, SegmentReader
from assignor.groups.history.record_columns import CommitRun, Commits, PlacedRun, RecordColumns

_PLACES: Final = len(PlacedRun._fields) - 1
ROWS: Final = 1 << 16
"""Records of a block of columns at most."""


@cache
def compiled_kernel() -> Any:
    """Return the module with the compiled loop; None without numba, or if numba has no directory for its cache."""
    try:
        from spark_sim.audit.sources import _kernel
    except (ImportError, RuntimeError):
        return None
    return _kernel


def scan_segment(
    reader: SegmentReader, file: BinaryIO, source: str, *, is_last: bool, reads_commits: bool, kernel: Any
) -> Iterator[LogRecord | RecordColumns]:
    """Yield the records of a segment in order; ``reader`` counts, and reads what the kernel does not.

    Args:
        reader: Counts batches and collects problems.
        file: The segment.
        source: The name of the segment in messages.
        is_last: Whether the partition has no later segment.
        reads_commits: False: offset commits are only counted.
        kernel: ``compiled_kernel()``, which must not be None.
    """
    import numpy as np

    rows, summary = np.zeros((ROWS, kernel.COLUMNS), np.int64), _Summary.of(kernel)
    for run in _runs(reader.frames(file, source, is_last=is_last), kernel.SPECIAL):
        data, at, end = run[0].data, run[0].at, run[-1].end
        array = np.frombuffer(data, np.uint8)
        waiting = iter(run)
        while at < end:
            following, row_count = kernel.scan(array, at, end, rows) if _is_plain(run[0], kernel.SPECIAL) else (at, 0)
            if row_count:
                yield _columns(data, rows[:row_count], summary, None if reads_commits else reader.counts)
            if following == at:
                unusual = next(frame for frame in waiting if frame.at == at)
                yield from reader.frame_records(unusual, source)
                following = unusual.end
            at = following


def _runs(frames: Iterator[Frame], special: int) -> Iterator[list[Frame]]:
    """Yield batches that the kernel may read, as many as are side by side in a block, and each other batch alone."""
    run: list[Frame] = []
    for frame in frames:
        is_plain = _is_plain(frame, special)
        if run and not (is_plain and frame.data is run[-1].data and frame.at == run[-1].end):
            yield run
            run = []
        run.append(frame)
        if not is_plain:
            yield run
            run = []
    if run:
        yield run


def _is_plain(frame: Frame, special: int) -> bool:
    """Whether the kernel may read a batch: neither compressed, nor of a transaction, nor damaged."""
    if frame.magic != 2 or not frame.is_sound or frame.end - frame.at < HEADER_BYTES:
        return False
    return not (frame.data[frame.at + 21] << 8 | frame.data[frame.at + 22]) & special


@frozen
class _Summary:
    """The kernel, and where it sums up commits."""

    kernel: Any
    slots: Any
    runs: Any

    @classmethod
    def of(cls, kernel: Any) -> _Summary:
        import numpy as np

        return cls(kernel, np.empty(2 * ROWS, np.int64), np.empty((ROWS, kernel.RUN_COLUMNS), np.int64))


@frozen
class _ScannedCommits(Commits):
    """Rows of the kernel that are commits."""

    data: bytes
    rows: Any
    summary: _Summary

    def runs(self) -> Sequence[PlacedRun] | None:
        import numpy as np

        runs = self.summary.runs
        bits = (2 * len(self.rows) - 1).bit_length()  # a table that is not half full
        count = self.summary.kernel.sum_up(
            np.frombuffer(self.data, np.uint8), self.rows, self.summary.slots[: 1 << bits], runs
        )
        if count < 0:
            return None
        return [PlacedRun._make([*run[:_PLACES], CommitRun._make(run[_PLACES:])]) for run in runs[:count].tolist()]

    def records(self) -> Iterator[LogRecord]:
        return (_record(self.data, row) for row in self.rows.tolist())


@frozen
class _ScannedColumns(RecordColumns):
    """Rows of the kernel."""

    rows: Any
    summary: _Summary

    def parts(self) -> Iterator[LogRecord | Commits]:
        import numpy as np

        rows, kernel, begin = self.rows, self.summary.kernel, 0
        is_single = (rows[:, kernel.COMMIT] == kernel.NO_COMMIT) | (rows[:, kernel.VALUE] < 0)
        for place in [*np.flatnonzero(is_single).tolist(), len(rows)]:
            if place > begin:
                yield self._commits(rows[begin:place])
            if place < len(rows):
                yield _record(self.data, rows[place].tolist())
            begin = place + 1

    def _commits(self, rows: Any) -> Commits:
        return _ScannedCommits(_kinds(rows, self.summary.kernel), self.data, rows, self.summary)


def _kinds(rows: Any, kernel: Any) -> dict[str, int]:
    """Return how many commits there are of each type."""
    kinds = rows[:, kernel.COMMIT]
    return {name: int((kinds == kind).sum()) for kind, name in kernel.COMMIT_NAMES.items()}


def _record(data: bytes, row: list[int]) -> LogRecord:
    offset, time, key, key_end, value, value_end, *_ = row
    return LogRecord(offset, time, data[key:key_end], None if value < 0 else data[value:value_end])


def _columns(data: bytes, rows: Any, summary: _Summary, commits: Counter[str] | None) -> RecordColumns:
    """Return rows as columns; without the usual offset commits, if those are to be counted."""
    kernel = summary.kernel
    first_time, last_time = int(rows[0, kernel.TIME]), int(rows[:, kernel.TIME].max())
    if commits is None:
        rows = rows.copy()
    else:
        is_commit = rows[:, kernel.COMMIT] != kernel.NO_COMMIT
        commits.update(_kinds(rows, kernel))
        commits["tombstones"] += int((is_commit & (rows[:, kernel.VALUE] < 0)).sum())
        rows = rows[~is_commit]
    return _ScannedColumns(data, first_time, last_time, rows, summary)
