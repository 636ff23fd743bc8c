"""The history of one group: its records in, rows of the tables out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from attrs import define, evolve, field

from streams_assignor.codec import EARLIEST_PROBEABLE_VERSION
from streams_assignor.codec.coordinator import RecordType
from streams_assignor.groups.described_group import CLASSIC, DEAD
from streams_assignor.groups.history._causes import Cause, GenerationChange, infer_cause
from streams_assignor.groups.history._commits import CommitSums, GenerationCommits
from streams_assignor.groups.history._epochs import EpochGroup, group_type
from streams_assignor.groups.history._findings import GroupFindings
from streams_assignor.groups.history._generation import AssignmentDecoder, Generation, GroupMember, classic_generation
from streams_assignor.groups.history._lifetimes import MemberLifetimes, TaskIntervals
from streams_assignor.groups.history.record_columns import CommitRun
from streams_assignor.groups.history.tables import (
    ASSUMED_SESSION_MS,
    COMMITS,
    FINDINGS,
    GENERATIONS,
    MEMBERS,
    TASKS,
    Row,
)

TableRow = tuple[str, Row]
"""The name of a table, and a row of it."""


class GroupSummary(NamedTuple):
    """The summary of a life of a group whose history is complete."""

    group: str
    type: str
    members: int
    """The number of members in the last generation."""
    state: str
    last_time: int
    is_trace: bool = False
    """Whether its records were tombstones only: what is left of a group that is gone for longer."""


@define
class GroupHistory:
    """Follows a group through its records, in their order."""

    group: str
    assumed_session_ms: int = ASSUMED_SESSION_MS
    """The session timeout of members whose records have none."""
    type: str = CLASSIC
    members: int = 0
    """The number of members in the last generation."""
    state: str = DEAD
    last_time: int = 0
    _is_trace: bool = True
    _last: Generation | None = None
    _row: Row | None = None
    _epochs: EpochGroup | None = None
    _topic_names: dict[str, str] = field(factory=dict)
    _assignments: AssignmentDecoder = field(factory=AssignmentDecoder)
    _owners: dict[str, tuple[str, ...]] = field(factory=dict)
    """The last owners of each task; a cooperative group moves a task in two generations, between which it has none."""
    _placed: Mapping[str, tuple[str, ...]] = field(factory=dict)
    """The owners, by member id, in the last generation."""
    _before_epoch: GenerationCommits = field(factory=GenerationCommits)
    """Those of the generation that ended when the open epoch began: it is judged later, when it is complete."""
    _commits: CommitSums = field(init=False)
    _members: MemberLifetimes = field(init=False)
    _tasks: TaskIntervals = field(init=False)
    _findings: GroupFindings = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._commits, self._members = CommitSums(self.group), MemberLifetimes(self.group)
        self._tasks, self._findings = TaskIntervals(self.group), GroupFindings(self.group)

    @property
    def is_gone(self) -> bool:
        """Whether nothing is left of the group: it is deleted, or never was more than offsets, and has no offset."""
        return self.state == DEAD and not self._commits.has_offsets

    @property
    def summary(self) -> GroupSummary:
        """The summary of the group."""
        return GroupSummary(self.group, self.type, self.members, self.state, self.last_time, self._is_trace)

    def on_topic_id(self, topic_id: str, name: str) -> None:
        """Take the id of a topic: records of groups that are not classic have no name."""
        self._topic_names[topic_id] = name

    def on_commits(self, topic: str, partition: int, run: CommitRun) -> None:
        """Take offset commits of a partition."""
        self.last_time = max(self.last_time, run.latest_time)
        self._is_trace = False
        self._commits.add((topic, partition), run)

    def on_deleted_commit(self, topic: str, partition: int, record: int, time: int) -> None:
        """Take the tombstone of a partition's commits."""
        self.last_time = max(self.last_time, time)
        self._commits.delete((topic, partition), record, time)

    def on_classic_metadata(
        self, offset: int, time: int, value: Mapping[str, Any] | None, record_bytes: int
    ) -> list[TableRow]:
        """Take the ``GroupMetadata`` record of a classic group; None is a tombstone."""
        self.last_time = max(self.last_time, time)
        if value is None:
            self.state = DEAD
            return []
        self._is_trace = False
        rows = self._end_of_epochs(time)
        self._epochs, self.type = None, CLASSIC
        generation = classic_generation(self.group, offset, time, value, record_bytes, self._assignments, self._last)
        if self._last is not None and self._last.type != CLASSIC and generation.members:
            generation = evolve(generation, is_conversion=True)
        if self._is_same(generation):
            return rows + self._update(generation)
        return rows + self._advance(generation, self._commits.end())

    def _is_same(self, generation: Generation) -> bool:
        """Whether a record shows the last generation once more, with other members."""
        before = self._last
        if before is None or not before.members or not generation.members:
            return False
        return (before.type, before.number) == (CLASSIC, generation.number)

    def on_record(
        self, kind: RecordType, key: Mapping[str, Any], value: Mapping[str, Any] | None, offset: int, time: int
    ) -> list[TableRow]:
        """Take a record of a group that is not classic."""
        rows: list[TableRow] = []
        self.last_time = max(self.last_time, time)
        type_ = group_type(kind)
        if self._epochs is None and value is None:
            # Such records are left of a group that was deleted, or converted to a classic one.
            self.type = self.type if self._last else type_
            return rows
        self._is_trace = False
        if self._epochs is None or self._epochs.type != type_:
            rows += self._end_of_epochs(time)
            rows += [(TASKS.name, row) for row in self._tasks.close(time)]  # those of a classic group
            self._epochs, self.type = EpochGroup(self.group, type_, self._topic_names), type_
        complete, tasks = self._epochs.on_record(kind, key, value, offset, time)
        rows += [(TASKS.name, row) for row in tasks]
        if complete is not None:
            rows += self._advance(complete, self._before_epoch)
        if kind.name.endswith("GroupMetadata"):
            self._before_epoch = self._commits.end()
            self.state = DEAD if value is None else self.state
        return rows

    def _update(self, generation: Generation) -> list[TableRow]:
        """Take a record that changes members within a generation: a static member has another member id."""
        rows = [
            (MEMBERS.name, row) for row in self._members.update(GenerationChange(before=self._last, after=generation))
        ]
        rows += [(TASKS.name, row) for row in self._tasks.advance(generation)]
        self._last, self.members = generation, len(generation.members)
        return rows

    def _end_of_epochs(self, time: int | None = None) -> list[TableRow]:
        """Complete the epoch that is open, and what members have until a time; None: until the last record."""
        if self._epochs is None:
            return []
        complete = self._epochs.complete()
        rows = [] if complete is None else self._advance(complete, self._before_epoch)
        return rows + [(TASKS.name, row) for row in self._epochs.close(time)]

    def _advance(self, generation: Generation, ended: GenerationCommits) -> list[TableRow]:
        """Take a generation; ``ended`` has the commits of the one before."""
        change = GenerationChange(
            before=self._last, after=generation, commits=ended, assumed_session_ms=self.assumed_session_ms
        )
        cause = infer_cause(change)
        rows = list(self._end_of_generation(generation.time, ended))
        self._row = _generation_row(change, cause, self._moved_tasks(generation))
        rows += [(MEMBERS.name, row) for row in self._members.advance(change, cause)]
        if generation.type == CLASSIC:
            rows += [(TASKS.name, row) for row in self._tasks.advance(generation)]
        rows += [(FINDINGS.name, row) for row in self._findings.advance(change, cause)]
        self._last, self.state, self.members = generation, generation.state, len(generation.members)
        return rows

    def _moved_tasks(self, after: Generation) -> list[str]:
        """Return the tasks whose owner is another one than their last; a static member remains the same."""
        moved = []
        before, self._placed = self._placed, after.owners
        for task, owners in after.owners.items():
            if before.get(task) != owners:
                now = after.owner_names(owners)
                if self._owners.get(task, now) != now:
                    moved.append(task)
                self._owners[task] = now
        return moved

    def _end_of_generation(self, until: int | None, ended: GenerationCommits) -> Iterator[TableRow]:
        number = None if self._last is None else self._last.number
        for row in self._commits.rows(number, ended):
            yield COMMITS.name, row
            if row["moved_back"]:
                yield FINDINGS.name, self._findings.moved_back(self._last, row)
        if self._row is not None:
            yield GENERATIONS.name, {**self._row, "until": until}

    def close(self, time: int) -> Iterator[TableRow]:
        """Yield what is open at the end of the records, whose last one has this time."""
        yield from self._end_of_epochs()
        yield from self._end_of_generation(None, self._commits.end())
        for row in self._members.close():
            yield MEMBERS.name, row
        for row in self._tasks.close():
            yield TASKS.name, row
        for row in self._findings.close(time):
            yield FINDINGS.name, row


def _generation_row(change: GenerationChange, cause: Cause, moved: list[str]) -> Row:
    after, before = change.after, change.before
    revoked = before.owners.keys() - after.owners.keys() if before else ()
    counts_state = after.is_streams and after.type == CLASSIC
    without_state = [task for task in moved if not _had_state(after, task)] if counts_state else []
    members = list(after.members.values())
    assigned = after.progress.assigned_time if after.progress else None
    scheduled = [due for member in members if (due := member.assignment.next_rebalance_ms)]
    return {
        "group": after.group,
        "type": after.type,
        "generation": after.number,
        "offset": after.offset,
        "time": after.time,
        "until": None,
        "duration_ms": after.duration_ms,
        "assignment_ms": None if assigned is None else max(0, assigned - after.time),
        "pending": list(after.progress.pending) if after.progress else [],
        "skipped": max(0, after.number - before.number - 1) if before else 0,
        "state": after.state,
        "protocol_type": after.protocol_type,
        "protocol": after.protocol,
        "leader": after.leader,
        "members": len(members),
        "joined": sorted(member.name for member in change.new),
        "gone": sorted(member.name for member in change.gone),
        "cause": cause.code,
        "confidence": cause.confidence,
        "detail": cause.detail,
        "used_versions": after.used_versions,
        "supported_versions": after.supported_versions,
        "probing": any(map(_is_probed, members)),
        "rejoins": sum(map(bool, [member.rejoin_causes for member in members])),
        "next_rebalance_ms": min(scheduled, default=None),
        "tasks": len(after.owners),
        "tasks_moved": len(moved),
        "tasks_moved_without_state": len(without_state),
        "tasks_revoked": len(revoked),
        "record_bytes": after.record_bytes,
    }


def _is_probed(member: GroupMember) -> bool:
    """Whether the leader answered in a lower version than the member sent."""
    used, answered = member.subscription.used_version or 0, member.assignment.used_version
    return answered is not None and answered < used >= EARLIEST_PROBEABLE_VERSION


def _had_state(after: Generation, task: str) -> bool:
    return any(task in after.members[owner].previous for owner in after.owners[task])
