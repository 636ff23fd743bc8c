"""The histories of all groups of a partition of ``__consumer_offsets``: records in, rows out.

A group is in one partition. Memory is that of the open groups: what is complete is a row, and is not kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from attrs import define, field

from assignor.audit.group_history import GroupHistory, TableRow
from assignor.audit.log_segment import LogRecord
from assignor.audit.tables import valid_text
from subscription_codec import DecodeError
from subscription_codec.coordinator import RECORD_TYPES, RecordKey, decode_key, decode_value, record_type_number

OFFSET_COMMITS: Final = frozenset({0, 1})
"""The types of offset commits."""
_GROUP_METADATA: Final = 2
_COMMIT_MARKER: Final = 1
_MOST_OPEN: Final = 100_000
"""Commits of open transactions that are kept at most; later ones are counted and dropped."""
_MOST_PROBLEMS: Final = 100

_Commit = tuple[str, str, int, int, int, int | None]


@define
class PartitionHistory:
    """Follows all groups of a partition."""

    reads_commits: bool = True
    """Whether offset commits are decoded; without them there are no rows of ``commits``."""
    counts: Counter[str] = field(factory=Counter)
    """Records by kind."""
    problems: list[str] = field(factory=list)
    """One sentence for each record that cannot be decoded, the first hundred."""
    groups: dict[str, GroupHistory] = field(factory=dict)
    first_time: int | None = None
    last_time: int = 0
    _transactions: dict[int, list[_Commit]] = field(factory=dict)
    _open: int = 0

    def read(self, records: Iterable[LogRecord]) -> Iterator[TableRow]:
        """Take records in the order of their offsets, and yield rows as they are complete."""
        for record in records:
            self.last_time = max(self.last_time, record.timestamp)
            if self.first_time is None:
                self.first_time = record.timestamp
            if record.is_control:
                self._end_transaction(record)
                continue
            try:
                yield from self._read(record)
            except DecodeError as error:
                self.counts["undecodable"] += 1
                if len(self.problems) < _MOST_PROBLEMS:
                    self.problems.append(f"the record at offset {record.offset} is not decoded: {error}")

    def close(self) -> Iterator[TableRow]:
        """Yield what is open at the end."""
        for group in self.groups.values():
            yield from group.close(self.last_time)

    def _group(self, name: str) -> GroupHistory:
        found = self.groups.get(name)
        if found is None:
            found = self.groups[name] = GroupHistory(valid_text(name))
        return found

    def _read(self, record: LogRecord) -> Iterator[TableRow]:
        number = record_type_number(record.key)
        kind = RECORD_TYPES.get(number)
        self.counts[kind.name if kind else f"unknown type {number}"] += 1
        self.counts["tombstones"] += record.value is None
        if kind is None or (number in OFFSET_COMMITS and not self.reads_commits):
            return
        key = decode_key(record.key)
        value = None if record.value is None else decode_value(kind, record.value).fields
        if number in OFFSET_COMMITS:
            self._commit(record, key, value)
        elif number == _GROUP_METADATA:
            size = len(record.key or b"") + len(record.value or b"")
            yield from self._group(key.group).on_classic_metadata(record.offset, record.timestamp, value, size)
        else:
            yield from self._group(key.group).on_record(kind, key.fields, value, record.offset, record.timestamp)

    def _commit(self, record: LogRecord, key: RecordKey, value: dict[str, Any] | None) -> None:
        offset = None if value is None else value["offset"]
        commit = (key.group, key.fields["topic"], key.fields["partition"], record.offset, record.timestamp, offset)
        if record.producer_id < 0:
            self._apply(commit)
        elif self._open < _MOST_OPEN:
            self._transactions.setdefault(record.producer_id, []).append(commit)
            self._open += 1
        else:
            self.counts["dropped transactional commits"] += 1

    def _apply(self, commit: _Commit) -> None:
        group, topic, partition, record, time, offset = commit
        self._group(group).on_commit(topic, partition, record, time, offset)

    def _end_transaction(self, marker: LogRecord) -> None:
        """Apply the commits of a transaction, or drop them: a marker's key has its version and its type."""
        kind = int.from_bytes((marker.key or b"")[2:4], "big")
        self.counts["commit markers" if kind == _COMMIT_MARKER else "abort markers"] += 1
        commits = self._transactions.pop(marker.producer_id, [])
        self._open -= len(commits)
        for commit in commits if kind == _COMMIT_MARKER else ():
            self._apply(commit)
