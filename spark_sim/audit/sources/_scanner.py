"""Reads segments with a compiled inner loop (extra ``fast``: numba) where there is one; the records are the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any, BinaryIO, Final

from assignor.groups.history.frames import HEADER_BYTES, Frame
from assignor.groups.history.log_segment import LogRecord, SegmentReader
from assignor.groups.history.record_columns import RecordColumns

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

    rows = np.zeros((ROWS, kernel.COLUMNS), np.int64)
    for run in _runs(reader.frames(file, source, is_last=is_last), kernel.SPECIAL):
        data, at, end = run[0].data, run[0].at, run[-1].end
        array = np.frombuffer(data, np.uint8)
        waiting = iter(run)
        while at < end:
            following, row_count = kernel.scan(array, at, end, rows) if _is_plain(run[0], kernel.SPECIAL) else (at, 0)
            if row_count:
                yield _columns(data, rows[:row_count], kernel, None if reads_commits else reader.counts)
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
