"""Reads segments in columns, with a compiled inner loop (extra ``fast``: numba) where there is one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any, BinaryIO, Final

from assignor.groups.history.frames import HEADER_BYTES, Frame
from assignor.groups.history.log_segment import LogRecord, SegmentReader
from assignor.groups.history.record_columns import RecordColumns
from spark_sim.audit.sources._plain_batches import Row, batch_rows

ROWS: Final = 1 << 16
"""Records of a block of columns at most."""
_SPECIAL: Final = 0x37
"""Compression, transactional, control: attributes of batches that are read one by one."""


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
    """Yield the records of a segment in order; ``reader`` counts, and reads what is unusual.

    Args:
        reader: Counts batches and collects problems.
        file: The segment.
        source: The name of the segment in messages.
        is_last: Whether the partition has no later segment.
        reads_commits: False: offset commits are only counted.
        kernel: ``compiled_kernel()``.
    """
    if kernel is None:
        if reads_commits:
            yield from _plain_columns(reader, file, source, is_last=is_last)
        else:
            yield from reader.records(file, source, is_last=is_last)
        return
    import numpy as np

    rows = np.zeros((ROWS, kernel.COLUMNS), np.int64)
    for run in _runs(reader.frames(file, source, is_last=is_last)):
        data, at, end = run[0].data, run[0].at, run[-1].end
        array = np.frombuffer(data, np.uint8)
        waiting = iter(run)
        while at < end:
            following, row_count = kernel.scan(array, at, end, rows) if _is_plain(run[0]) else (at, 0)
            if row_count:
                yield _columns(data, rows[:row_count], kernel, None if reads_commits else reader.counts)
            if following == at:
                unusual = next(frame for frame in waiting if frame.at == at)
                yield from reader.frame_records(unusual, source)
                following = unusual.end
            at = following


def _plain_columns(
    reader: SegmentReader, file: BinaryIO, source: str, *, is_last: bool
) -> Iterator[LogRecord | RecordColumns]:
    for run in _runs(reader.frames(file, source, is_last=is_last)):
        rows: list[Row] = []
        for frame in run:
            its_rows = batch_rows(frame) if _is_plain(frame) else None
            if its_rows is not None:
                rows += its_rows
                continue
            if rows:
                yield _rows_as_columns(frame.data, rows)
                rows = []
            yield from reader.frame_records(frame, source)
        if rows:
            yield _rows_as_columns(run[0].data, rows)


def _rows_as_columns(data: bytes, rows: list[Row]) -> RecordColumns:
    columns = list(zip(*rows, strict=True))
    return RecordColumns(data, columns[1][0], max(columns[1]), *columns)


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


def _columns(data: bytes, rows: Any, kernel: Any, commits: Counter[str] | None) -> RecordColumns:
    """Return rows as columns; without the usual offset commits, if those are to be counted."""
    first_time, last_time = int(rows[0, kernel.TIME]), int(rows[:, kernel.TIME].max())
    if commits is not None:
        kinds, are_tombstones = rows[:, kernel.COMMIT], rows[:, kernel.VALUE] < 0
        for kind, name in ((kernel.LEGACY_COMMIT, "LegacyOffsetCommit"), (kernel.OFFSET_COMMIT, "OffsetCommit")):
            commits[name] += int((kinds == kind).sum())
        commits["tombstones"] += int((are_tombstones & (kinds != kernel.NO_COMMIT)).sum())
        rows = rows[kinds == kernel.NO_COMMIT]
    return RecordColumns(data, first_time, last_time, *rows.T.tolist())
