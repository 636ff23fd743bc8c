"""Records of a segment as columns: most are offset commits, which need no object each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

from assignor.audit.log_segment import LogRecord, SegmentBytes


@frozen
class RecordColumns:
    """Consecutive records that are neither compressed nor transactional. Columns have one value for each record."""

    data: SegmentBytes
    offsets: Sequence[int]
    times: Sequence[int]
    keys: Sequence[int]
    """Where each key begins in ``data``."""
    key_ends: Sequence[int]
    values: Sequence[int]
    """Where each value begins; -1 for a tombstone."""
    value_ends: Sequence[int]
    are_commits: Sequence[int]
    """1 for offset commits: the committed offset is behind the version, in every version of the value."""

    def record(self, index: int) -> LogRecord:
        """Return one record."""
        value = self.values[index]
        return LogRecord(
            self.offsets[index],
            self.times[index],
            bytes(self.data[self.keys[index] : self.key_ends[index]]),
            None if value < 0 else bytes(self.data[value : self.value_ends[index]]),
        )

    def records(self) -> Iterator[LogRecord]:
        """Yield all records."""
        return map(self.record, range(len(self.offsets)))
