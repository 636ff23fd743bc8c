"""Records of a segment as columns: most are offset commits, which need no object each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

from assignor.groups.history.log_segment import LogRecord


@frozen
class RecordColumns:
    """Consecutive records that are neither compressed nor transactional. Columns have one value for each record."""

    data: bytes
    first_time: int
    """The first timestamp of all records that were read, those included that are not here."""
    last_time: int
    offsets: Sequence[int]
    times: Sequence[int]
    keys: Sequence[int]
    """Where each key begins in ``data``."""
    key_ends: Sequence[int]
    values: Sequence[int]
    """Where each value begins; -1 for a tombstone."""
    value_ends: Sequence[int]
    are_commits: Sequence[int]
    """Not 0 for offset commits as brokers write them: their offset is behind the version, in every version."""
    topic_ids: Sequence[int]
    """Where the topic id of a commit begins; -1 if it has none."""

    def record(self, index: int) -> LogRecord:
        """Return one record."""
        value = self.values[index]
        return LogRecord(
            self.offsets[index],
            self.times[index],
            self.data[self.keys[index] : self.key_ends[index]],
            None if value < 0 else self.data[value : self.value_ends[index]],
        )

    def records(self) -> Iterator[LogRecord]:
        """Yield all records."""
        return map(self.record, range(len(self.offsets)))
