"""The histories of all groups of a partition of ``__consumer_offsets``: records in, rows out.

A group is in one partition. A complete interval is a row, and is not kept. A group of which nothing is left is complete
too, and nothing of it is kept here. One that comes back under the same name begins another life with another summary,
unless it is among the last ``MOST_GONE`` that went: a conversion to another type deletes a group for a moment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final

from attrs import define, field

from streams_assignor.codec import DecodeError
from streams_assignor.codec.coordinator import (
    RECORD_TYPES,
    RecordKey,
    RecordType,
    decode_key,
    decode_value,
    record_type_number,
)
from streams_assignor.groups.history.group_history import GroupHistory, GroupSummary, TableRow
from streams_assignor.groups.history.log_segment import LogRecord
from streams_assignor.groups.history.record_columns import CommitRun, Commits, PlacedRun, RecordColumns
from streams_assignor.groups.history.tables import ASSUMED_SESSION_MS, valid_text

OFFSET_COMMITS: Final = frozenset({0, 1})
"""The types of offset commits."""
UNDECODABLE: Final = "undecodable"
UNKNOWN_TYPE: Final = "unknown type"
DROPPED: Final = "dropped transactional commits"
_GROUP_METADATA: Final = 2
_COMMIT_MARKER: Final = 1
MARKERS: Final = ("abort markers", "commit markers")
_MARKER_KEY_BYTES: Final = 4
_MOST_OPEN: Final = 100_000
"""Commits of open transactions that are kept at most; later ones are counted and dropped."""
_TOPIC_ID_BYTES: Final = 16
_MOST_PROBLEMS: Final = 100
MOST_GONE: Final = 1_000

_Commit = tuple[str, str, int, int, int, int | None]
_Target = tuple[GroupHistory, str, int]


@define
class PartitionHistory:
    """Follows all groups of a partition."""

    reads_commits: bool = True
    """Whether offset commits are decoded; without them there are no rows of ``commits``."""
    on_group_metadata: Callable[[str, int, dict[str, Any] | None], None] | None = None
    """Called with the group, the time and the value of each ``GroupMetadata`` record; None is a tombstone."""
    on_complete: Callable[[GroupSummary], None] | None = None
    """Called when all rows of a life of a group have been yielded."""
    assumed_session_ms: int = ASSUMED_SESSION_MS
    """The session timeout of members whose records have none: those of groups that are not classic."""
    counts: Counter[str] = field(factory=Counter)
    """Records by kind."""
    problems: list[str] = field(factory=list)
    """One sentence for each record that cannot be decoded or has an unknown type, the first hundred."""
    groups: dict[str, GroupHistory] = field(factory=dict)
    first_time: int | None = None
    last_time: int = 0
    gone_count: int = 0
    """How often a group went of which nothing is left."""
    came_back: bool = False
    """Whether one of them that is kept came back."""
    _gone: dict[str, None] = field(factory=dict)
    """The names of groups of which nothing is left and which are kept, the last one last."""
    _targets: dict[bytes | tuple[bytes, bytes], _Target] = field(factory=dict)
    """The targets by the key of commits, and the topic id of those that have one."""
    _targets_of: dict[bytes, list[bytes | tuple[bytes, bytes]]] = field(factory=dict)
    """For each key of commits its keys of ``_targets``: a tombstone has no topic id."""
    _transactions: dict[int, list[_Commit]] = field(factory=dict)
    _open: int = 0

    def read(self, records: Iterable[LogRecord | RecordColumns]) -> Iterator[TableRow]:
        """Take records in the order of their offsets, and yield rows as they are complete."""
        for record in records:
            if isinstance(record, RecordColumns):
                yield from self._read_columns(record)
            else:
                yield from self._read_one(record)

    def _read_one(self, record: LogRecord) -> Iterable[TableRow]:
        """Take a record; one that cannot be decoded is counted."""
        self.last_time = max(self.last_time, record.timestamp)
        if self.first_time is None:
            self.first_time = record.timestamp
        if record.is_control:
            self._end_transaction(record)
            return ()
        try:
            return self._read(record)
        except DecodeError as error:
            self._undecodable(record.offset, error)
            return ()

    def _undecodable(self, offset: int, error: DecodeError | str) -> None:
        self.counts[UNDECODABLE] += 1
        self._report(f"the record at offset {offset} is not decoded: {error}")

    def _report(self, problem: str) -> None:
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(problem)

    def _read_columns(self, block: RecordColumns) -> Iterator[TableRow]:
        """Take a block of records; what ``_read_one`` does for each, without an object for a commit."""
        self.first_time = block.first_time if self.first_time is None else self.first_time
        self.last_time = max(self.last_time, block.last_time)
        for part in block.parts():
            if not isinstance(part, Commits):
                yield from self._read_one(part)
            elif not self._add_commits(part, block.data):
                for record in part.records():
                    yield from self._read_one(record)

    def _add_commits(self, commits: Commits, data: bytes) -> bool:
        """Add commits that are summed up; False, and nothing, if they have to be taken one by one."""
        runs = commits.runs()
        if runs is None:
            return False
        try:
            targets = [self._known_target(placed, data) for placed in runs]
        except DecodeError:
            return False
        for (group, topic, partition), placed in zip(targets, runs, strict=True):
            group.on_commits(topic, partition, placed.run)
        self.counts.update(commits.kinds)
        return True

    def _known_target(self, placed: PlacedRun, data: bytes) -> _Target:
        key, topic_id = data[placed.key : placed.key_end], placed.topic_id
        place = key if topic_id < 0 else (key, data[topic_id : topic_id + _TOPIC_ID_BYTES])
        target = self._targets.get(place)
        if target is None:
            target = self._targets[place] = self._target(key, data[placed.value : placed.value_end])
            self._targets_of.setdefault(key, []).append(place)
        return target

    def _target(self, key: bytes, value: bytes) -> _Target:
        """Return the group and the partition of a commit's key; ``value`` is that of its first commit."""
        decoded = decode_key(key)
        group, topic = self._group(decoded.group), decoded.fields["topic"]
        _learn_topic(group, topic, decode_value(decoded.type, value).fields)
        return group, topic, decoded.fields["partition"]

    def close(self) -> Iterator[TableRow]:
        """Yield what is open at the end; commits of transactions that are open do not count."""
        self.counts["commits of open transactions"] += self._open
        for name, group in self.groups.items():
            yield from self._complete(group, group.last_time if name in self._gone else self.last_time)

    def _complete(self, group: GroupHistory, time: int) -> Iterator[TableRow]:
        yield from group.close(time)
        if self.on_complete is not None:
            self.on_complete(group.summary)

    def _complete_if_gone(self, name: str) -> Iterator[TableRow]:
        """Complete the group that went first, if there are more of them than are kept."""
        group = self.groups.get(name)
        if group is None or not group.is_gone:
            return
        self._gone.pop(name, None)
        self._gone[name] = None
        self.gone_count += 1
        if len(self._gone) > MOST_GONE:
            first = next(iter(self._gone))
            del self._gone[first]
            complete = self.groups.pop(first)
            yield from self._complete(complete, complete.last_time)

    def _group(self, name: str) -> GroupHistory:
        if name in self._gone:
            del self._gone[name]
            self.came_back = True
        history = self.groups.get(name)
        if history is None:
            history = self.groups[name] = GroupHistory(valid_text(name), self.assumed_session_ms)
        return history

    def _read(self, record: LogRecord) -> Iterable[TableRow]:
        number = record_type_number(record.key)
        kind = RECORD_TYPES.get(number)
        name = kind.name if kind else f"{UNKNOWN_TYPE} {number}"
        if kind is None and not self.counts[name]:
            self._report(f"records of type {number}, from offset {record.offset} on, are not decoded: it is not known")
        self.counts[name] += 1
        self.counts["tombstones"] += record.value is None
        if kind is None or (number in OFFSET_COMMITS and not self.reads_commits):
            return ()
        key = decode_key(record.key)
        value = None if record.value is None else decode_value(kind, record.value).fields
        if number == _GROUP_METADATA and self.on_group_metadata is not None:
            self.on_group_metadata(valid_text(key.group), record.timestamp, value)
        if value is not None:
            return self._take(kind, key, value, record)
        for place in self._targets_of.pop(record.key or b"", ()):
            del self._targets[place]
        # Lazily: on_complete is called when the caller has all rows, also those of the close.
        return chain(self._take(kind, key, None, record), self._complete_if_gone(key.group))

    def _take(
        self, kind: RecordType, key: RecordKey, value: dict[str, Any] | None, record: LogRecord
    ) -> Iterable[TableRow]:
        if kind.number in OFFSET_COMMITS:
            self._commit(record, key, value)
            return ()
        group = self._group(key.group)
        if kind.number == _GROUP_METADATA:
            size = len(record.key or b"") + len(record.value or b"")
            return group.on_classic_metadata(record.offset, record.timestamp, value, size)
        return group.on_record(kind, key.fields, value, record.offset, record.timestamp)

    def _commit(self, record: LogRecord, key: RecordKey, value: dict[str, Any] | None) -> None:
        offset = None if value is None else value["offset"]
        if value is not None:
            _learn_topic(self._group(key.group), key.fields["topic"], value)
        commit = (key.group, key.fields["topic"], key.fields["partition"], record.offset, record.timestamp, offset)
        if record.producer_id < 0:
            self._apply(commit)
        elif self._open < _MOST_OPEN:
            self._transactions.setdefault(record.producer_id, []).append(commit)
            self._open += 1
        else:
            if not self.counts[DROPPED]:
                self._report(f"more than {_MOST_OPEN} commits of open transactions; later ones are dropped")
            self.counts[DROPPED] += 1

    def _apply(self, commit: _Commit) -> None:
        group, topic, partition, record, time, offset = commit
        history = self._group(group)
        if offset is None:
            history.on_deleted_commit(topic, partition, record, time)
        else:
            history.on_commits(topic, partition, CommitRun(record, time, time, time, offset, offset, offset))

    def _end_transaction(self, marker: LogRecord) -> None:
        """Apply the commits of a transaction, or drop them: a marker's key has its version and its type."""
        kind = int.from_bytes((marker.key or b"")[2:4], "big", signed=True)
        if len(marker.key or b"") < _MARKER_KEY_BYTES or kind not in range(len(MARKERS)):
            self._undecodable(marker.offset, f"a control record with the key {marker.key!r:.40} ends no transaction")
            return
        self.counts[MARKERS[kind]] += 1
        commits = self._transactions.pop(marker.producer_id, [])
        self._open -= len(commits)
        for commit in commits if kind == _COMMIT_MARKER else ():
            self._apply(commit)


def _learn_topic(group: GroupHistory, topic: str, value: Mapping[str, Any]) -> None:
    """Take the topic id of a commit; brokers before 4.1 write none."""
    if topic_id := value.get("topicId"):
        group.on_topic_id(topic_id, valid_text(topic))
