"""Reads segments with a compiled inner loop (extra ``fast``: numba) where there is one; the records are the same."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from assignor.audit.log_segment import (
    LOG_OVERHEAD,
    MAX_BATCH_BYTES,
    MAX_TIMESTAMP,
    NO_TIMESTAMP,
    LogRecord,
    SegmentBytes,
    SegmentReader,
)
from assignor.audit.record_columns import RecordColumns

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


def new_reader(max_batch_bytes: int = MAX_BATCH_BYTES) -> SegmentReader:
    """Return a reader that verifies checksums if it can."""
    return SegmentReader(checksum=_crc32c, max_batch_bytes=max_batch_bytes)


def _crc32c(data: SegmentBytes) -> int | None:
    """Return the checksum; None without a compiled loop, because Python alone needs longer for it than for reading."""
    if (kernel := compiled_kernel()) is None:
        return None
    import numpy as np

    return int(kernel.crc32c(np.frombuffer(data, np.uint8), 0, len(data)))


def scan_segment(
    reader: SegmentReader, data: SegmentBytes, source: str, *, reads_commits: bool, kernel: Any
) -> Iterator[LogRecord | RecordColumns]:
    """Yield the records of a segment in order; ``reader`` counts, and reads what the kernel does not.

    Args:
        reader: Counts batches and collects problems.
        data: The bytes of the segment.
        source: The name of the segment in messages.
        reads_commits: False: offset commits are only counted.
        kernel: ``compiled_kernel()``, which must not be None.
    """
    import numpy as np

    array = np.frombuffer(data, np.uint8)
    rows, counts = np.zeros((ROWS, kernel.COLUMNS), np.int64), np.zeros(kernel.COUNTS, np.int64)
    at, end = 0, len(data)
    while at < end:
        following, found = kernel.scan(array, at, end, reads_commits, rows, counts)
        reader.counts["bytes"] += following - at
        if found:
            yield _columns(data, rows[:found], kernel)
        if following == at or not found:
            at = following
            size = int.from_bytes(data[at + 8 : at + LOG_OVERHEAD], "big", signed=True)
            following = at + LOG_OVERHEAD + size if 0 < size <= end - at - LOG_OVERHEAD else end
            yield from reader.records(data[at:following], source)
        at = following
    _add_counts(reader, counts, kernel)


def _columns(data: SegmentBytes, rows: Any, kernel: Any) -> RecordColumns:
    times = rows[:, kernel.TIME]
    times[(times < 0) | (times > MAX_TIMESTAMP)] = NO_TIMESTAMP
    offsets, times, keys, key_ends, values, value_ends, committed = rows.T.tolist()
    return RecordColumns(data, offsets, times, keys, key_ends, values, value_ends, committed)


def _add_counts(reader: SegmentReader, counts: Any, kernel: Any) -> None:
    reader.counts["batches"] += int(counts[kernel.BATCHES])
    for name, index in (
        ("OffsetCommit", kernel.COMMITS),
        ("LegacyOffsetCommit", kernel.LEGACY_COMMITS),
        ("tombstones", kernel.TOMBSTONES),
    ):
        if counts[index]:
            reader.counts[name] += int(counts[index])
