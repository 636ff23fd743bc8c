"""A streams group as its coordinator has it, and the records from which it is rebuilt after a failover.

Java: ``StreamsGroup``, ``StreamsGroupMember`` and the ``replay`` methods of ``GroupMetadataManager``. Timers are not
part of a group: any session or rebalance timeout can end at any moment.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from operator import or_
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from attrs import evolve, frozen

from streams_assignor.codec import TaskId
from streams_assignor.spark_sim.streams_groups.tasks import NO_TASKS, TasksTuple


class CoordinatorMemberState(enum.Enum):
    """How far the coordinator has reconciled a member. Java: ``streams.MemberState``."""

    STABLE = "has its target"
    UNREVOKED_TASKS = "has to revoke tasks first"
    UNRELEASED_TASKS = "waits for tasks that others have not released"


LEFT_EPOCH: Final = -1
AWAY_EPOCH: Final = -2
"""The epoch of a static member that has left and may return."""


@frozen
class CoordinatorMember:
    """One member as the coordinator has it."""

    member_id: str
    process_id: str = ""
    topology_epoch: int = -1
    epoch: int = 0
    previous_epoch: int = 0
    state: CoordinatorMemberState = CoordinatorMemberState.STABLE
    assigned: TasksTuple = NO_TASKS
    pending_revocation: TasksTuple = NO_TASKS
    assignment_epochs: frozenset[tuple[TaskId, int]] = frozenset()
    """Active task, assigned or pending revocation => the epoch in which it was assigned (KAFKA-19779)."""
    instance_id: str | None = None
    """``group.instance.id`` of a static member."""

    @property
    def metadata(self) -> tuple[str, int, str | None]:
        """The part that the member itself decides."""
        return self.process_id, self.topology_epoch, self.instance_id

    def is_reconciled_to(self, epoch: int) -> bool:
        """Whether nothing is left to reconcile."""
        return self.state is CoordinatorMemberState.STABLE and self.epoch == epoch

    @property
    def held(self) -> TasksTuple:
        """All tasks that no other member can get."""
        return self.assigned | self.pending_revocation


class RecordKind(enum.IntEnum):
    """The records of a streams group in ``__consumer_offsets``; the value is the key's type in Kafka."""

    GROUP_METADATA = 17
    MEMBER_METADATA = 19
    TARGET_ASSIGNMENT_METADATA = 20
    TARGET_ASSIGNMENT = 21
    CURRENT_ASSIGNMENT = 22
    TOPOLOGY = 23


class Record(NamedTuple):
    """One record; the value None is a tombstone."""

    kind: RecordKind
    member_id: str = ""
    value: Any = None


@frozen
class StreamsGroup:
    """The persistent state of one group."""

    epoch: int = 0
    assignment_epoch: int = 0
    topology_epoch: int | None = None
    members: Mapping[str, CoordinatorMember] = MappingProxyType({})
    targets: Mapping[str, TasksTuple] = MappingProxyType({})

    @property
    def active_tasks(self) -> frozenset[TaskId]:
        """The active tasks that have an owner."""
        return frozenset[TaskId]().union(*(member.held.active for member in self.members.values()))

    def is_present(self, member_id: str) -> bool:
        """Whether the group has a member that has not left."""
        return member_id in self.members and self.members[member_id].epoch != AWAY_EPOCH

    def static_member(self, instance_id: str) -> CoordinatorMember | None:
        """Return the member with a ``group.instance.id``."""
        return next((member for member in self.members.values() if member.instance_id == instance_id), None)

    def tasks_of_process(self, process_id: str) -> TasksTuple:
        """Return the tasks that the members of a process hold."""
        members = (member.held for member in self.members.values() if member.process_id == process_id)
        return reduce(or_, members, NO_TASKS)

    def replay(self, records: Iterable[Record]) -> StreamsGroup:
        """Return the group after some records."""
        group = self
        for record in records:
            group = _REPLAYS[record.kind](group, record.member_id, record.value)
        return group

    @property
    def records(self) -> tuple[Record, ...]:
        """The group's records after compaction."""
        records = [Record(RecordKind.GROUP_METADATA, value=self.epoch)] if self.epoch else []
        if self.topology_epoch is not None:
            records.append(Record(RecordKind.TOPOLOGY, value=self.topology_epoch))
        for name, member in self.members.items():
            records.append(Record(RecordKind.MEMBER_METADATA, name, member.metadata))
            records.append(Record(RecordKind.CURRENT_ASSIGNMENT, name, member))
        records += [Record(RecordKind.TARGET_ASSIGNMENT, name, tasks) for name, tasks in self.targets.items()]
        if self.assignment_epoch:
            records.append(Record(RecordKind.TARGET_ASSIGNMENT_METADATA, value=self.assignment_epoch))
        return tuple(records)


NO_GROUP: Final = StreamsGroup()


def compacted(log: Iterable[Record]) -> tuple[Record, ...]:
    """Return the newest record of each key, in the order of the log; tombstones are kept."""
    records = tuple(log)
    newest = {(record.kind, record.member_id): place for place, record in enumerate(records)}
    return tuple(records[place] for place in sorted(newest.values()))


def tombstones(member_id: str) -> tuple[Record, ...]:
    """Return the records that remove a member, in Kafka's order."""
    return tuple(
        Record(kind, member_id)
        for kind in (RecordKind.CURRENT_ASSIGNMENT, RecordKind.TARGET_ASSIGNMENT, RecordKind.MEMBER_METADATA)
    )


def _without(mapping: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    return {name: value for name, value in mapping.items() if name != key}


def _replay_member(group: StreamsGroup, member_id: str, value: tuple[str, int, str | None] | None) -> StreamsGroup:
    member = group.members.get(member_id)
    if value is not None:
        member = _with_metadata(member or CoordinatorMember(member_id), value)
        return evolve(group, members={**group.members, member_id: member})
    if member is None:
        return group
    if member.epoch != LEFT_EPOCH or member_id in group.targets:
        raise AssertionError("the tombstones of a member's assignments come first; this should never happen")
    return evolve(group, members=_without(group.members, member_id))


def _replay_current(group: StreamsGroup, member_id: str, value: CoordinatorMember | None) -> StreamsGroup:
    member = group.members.get(member_id)
    if value is None:
        if member is None:
            return group
        value = CoordinatorMember(member_id, epoch=LEFT_EPOCH, previous_epoch=LEFT_EPOCH)
    value = _with_metadata(value, (member or CoordinatorMember(member_id)).metadata)
    return evolve(group, members={**group.members, member_id: value})


def _with_metadata(member: CoordinatorMember, metadata: tuple[str, int, str | None]) -> CoordinatorMember:
    process_id, topology_epoch, instance_id = metadata
    return evolve(member, process_id=process_id, topology_epoch=topology_epoch, instance_id=instance_id)


def _replay_target(group: StreamsGroup, member_id: str, value: TasksTuple | None) -> StreamsGroup:
    others = _without(group.targets, member_id)
    return evolve(group, targets=others if value is None else {**others, member_id: value})


_REPLAYS: Final[Mapping[RecordKind, Callable[[StreamsGroup, str, Any], StreamsGroup]]] = {
    RecordKind.GROUP_METADATA: lambda group, _, value: evolve(group, epoch=value),
    RecordKind.TOPOLOGY: lambda group, _, value: evolve(group, topology_epoch=value),
    RecordKind.TARGET_ASSIGNMENT_METADATA: lambda group, _, value: evolve(group, assignment_epoch=value),
    RecordKind.MEMBER_METADATA: _replay_member,
    RecordKind.TARGET_ASSIGNMENT: _replay_target,
    RecordKind.CURRENT_ASSIGNMENT: _replay_current,
}
