"""The group coordinator: heartbeats, leaving, fencing and commits of a streams group, as pure functions.

Each returns the records that it writes; `StreamsGroup.replay` applies them. All source topics exist, with their
partitions, and target assignments are computed at once: without ``group.streams.initial.rebalance.delay.ms``, without
``group.streams.assignment.interval.ms``. Java: ``GroupMetadataManager.streamsGroupHeartbeat``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from attrs import evolve, frozen

from streams_assignor.codec import TaskId
from streams_assignor.codec.streams_group import (
    JOIN_GROUP_MEMBER_EPOCH,
    LEAVE_GROUP_MEMBER_EPOCH,
    LEAVE_GROUP_STATIC_MEMBER_EPOCH,
)
from streams_assignor.spark_sim.streams_groups._reconciliation import reconcile
from streams_assignor.spark_sim.streams_groups.group import (
    AWAY_EPOCH,
    CoordinatorMember,
    Record,
    RecordKind,
    StreamsGroup,
    tombstones,
)
from streams_assignor.spark_sim.streams_groups.rules import CoordinatorRules
from streams_assignor.spark_sim.streams_groups.task_assignor import (
    AssignmentMemberSpec,
    GroupSpec,
    MemberAssignment,
    assign,
)
from streams_assignor.spark_sim.streams_groups.tasks import NO_TASKS, TasksTuple, partitions_by_subtopology, tasks_of
from streams_assignor.streams_group.model import TASK_FIELDS

NO_ERROR: Final = 0
UNKNOWN_MEMBER_ID: Final = 25
INVALID_REQUEST: Final = 42
GROUP_ID_NOT_FOUND: Final = 69
FENCED_INSTANCE_ID: Final = 82
FENCED_MEMBER_EPOCH: Final = 110
UNRELEASED_INSTANCE_ID: Final = 111

STALE_TOPOLOGY: Final = 0
"""The code of a status; statuses are no errors."""


@frozen
class GroupTopology:
    """The subtopologies of an application: their numbers of partitions, and whether they have state."""

    partitions: tuple[int, ...]
    stateful: tuple[bool, ...]

    def subtopologies(self) -> list[str]:
        """Return the ids of the subtopologies, in order."""
        return [str(number) for number in range(len(self.partitions))]

    def max_num_input_partitions(self, subtopology: str) -> int:
        """Return the number of tasks of a subtopology."""
        return self.partitions[int(subtopology)]

    def is_stateful(self, subtopology: str) -> bool:
        """Whether a subtopology can have standbys."""
        return self.stateful[int(subtopology)]

    @property
    def tasks(self) -> frozenset[TaskId]:
        """All tasks."""
        return frozenset(
            TaskId(number, partition) for number, count in enumerate(self.partitions) for partition in range(count)
        )

    @property
    def stateful_tasks(self) -> frozenset[TaskId]:
        """The tasks that can have standbys."""
        return frozenset(task for task in self.tasks if self.stateful[task.subtopology])


@frozen
class GroupConfig:
    """The state of a coordinator besides the records of a group."""

    topology: GroupTopology
    num_standby_replicas: int
    rules: CoordinatorRules


@frozen
class HeartbeatRequest:
    """The fields of ``StreamsGroupHeartbeat`` that the model has; None is a field that has not changed."""

    member_id: str
    member_epoch: int
    process_id: str | None = None
    topology_epoch: int | None = None
    owned: TasksTuple | None = None
    instance_id: str | None = None

    @property
    def joins(self) -> bool:
        """Whether the member wants to join."""
        return self.member_epoch == JOIN_GROUP_MEMBER_EPOCH


@frozen
class HeartbeatResponse:
    """The answer of the coordinator to a heartbeat."""

    member_epoch: int
    tasks: TasksTuple | None = None
    error: int = NO_ERROR
    message: str = ""
    stale_topology: bool = False

    def fields(self) -> Mapping[str, Any]:
        """Return the fields for a client."""
        tasks: Mapping[str, Any] = dict.fromkeys(TASK_FIELDS) if self.tasks is None else self.tasks.fields()
        status = [{"statusCode": STALE_TOPOLOGY, "statusDetail": ""}] if self.stale_topology else []
        return {
            "errorCode": self.error,
            "errorMessage": self.message,
            "memberEpoch": self.member_epoch,
            "endpointInformationEpoch": 0,
            "status": status,
            **tasks,
        }


class _Refused(Exception):
    """A heartbeat that the coordinator answers with an error."""

    def __init__(self, error: int, message: str) -> None:
        super().__init__(message)
        self.response = HeartbeatResponse(0, error=error, message=message)


def heartbeat(
    group: StreamsGroup, request: HeartbeatRequest, config: GroupConfig
) -> tuple[tuple[Record, ...], HeartbeatResponse]:
    """Return the records that a heartbeat writes, and its answer."""
    try:
        if request.instance_id is not None and not config.rules.has_static_members:
            raise _Refused(INVALID_REQUEST, "Static membership is not yet supported.")
        if request.member_epoch in (LEAVE_GROUP_MEMBER_EPOCH, LEAVE_GROUP_STATIC_MEMBER_EPOCH):
            member = _known_member(group, request)
            is_away = request.member_epoch == LEAVE_GROUP_STATIC_MEMBER_EPOCH
            records = _away(member) if is_away else fence_member(group, request.member_id)
            return records, HeartbeatResponse(request.member_epoch)
        return _heartbeat(group, request, config)
    except _Refused as refused:
        return (), refused.response


def fence_member(group: StreamsGroup, member_id: str) -> tuple[Record, ...]:
    """Return the records that remove a member: it leaves, or its session or rebalance timeout has ended."""
    return *tombstones(member_id), Record(RecordKind.GROUP_METADATA, value=group.epoch + 1)


def _away(member: CoordinatorMember) -> tuple[Record, ...]:
    """Return the records of a static member that leaves. Java: ``streamsGroupStaticMemberGroupLeave``."""
    away = evolve(
        member,
        epoch=AWAY_EPOCH,
        pending_revocation=NO_TASKS,
        assignment_epochs=frozenset((task, 0) for task in member.assigned.active),
    )
    return (Record(RecordKind.CURRENT_ASSIGNMENT, member.member_id, away),)


def _returned(group: StreamsGroup, away: CoordinatorMember, member_id: str) -> tuple[Record, ...]:
    """Return the records of a static member that returns, with another member id. Java: ``replaceStreamsMember``."""
    back = evolve(away, member_id=member_id, epoch=0, previous_epoch=0)
    return (
        *tombstones(away.member_id),
        Record(RecordKind.MEMBER_METADATA, member_id, back.metadata),
        Record(RecordKind.TARGET_ASSIGNMENT, member_id, group.targets.get(away.member_id, NO_TASKS)),
        Record(RecordKind.CURRENT_ASSIGNMENT, member_id, back),
    )


def accepts_commit(
    group: StreamsGroup, member_id: str, member_epoch: int, task: TaskId, rules: CoordinatorRules
) -> bool:
    """Whether a member may commit offsets of an active task. Java: ``validateOffsetCommit``."""
    member = group.members.get(member_id)
    if member is None or member_epoch > member.epoch:
        return False
    if member_epoch == member.epoch:
        return True
    assigned_in = dict(member.assignment_epochs).get(task)
    return rules.has_assignment_epochs and assigned_in is not None and member_epoch >= assigned_in


def _heartbeat(
    group: StreamsGroup, request: HeartbeatRequest, config: GroupConfig
) -> tuple[tuple[Record, ...], HeartbeatResponse]:
    records: list[Record] = []
    member = _known_member(group, request)
    if member.epoch == AWAY_EPOCH and request.joins:
        records += _returned(group, member, request.member_id)
        group = group.replay(records)
        member = group.members[request.member_id]
    _check_epoch(member, request, config.rules)
    updated = _with_metadata(member, request)
    if joins := updated != member or request.member_id not in group.members:
        records.append(Record(RecordKind.MEMBER_METADATA, request.member_id, updated.metadata))
    topology_epoch = _topology_epoch(group, request)
    if changes_topology := topology_epoch != group.topology_epoch:
        records.append(Record(RecordKind.TOPOLOGY, value=topology_epoch))
    epoch = group.epoch + bool(joins or changes_topology)
    if epoch != group.epoch:
        records.append(Record(RecordKind.GROUP_METADATA, value=epoch))
    targets = group.targets
    if group.assignment_epoch < epoch:
        targets = target_assignment(group, updated, config)
        records += _target_records(group.targets, targets, epoch)
    target = targets.get(request.member_id, NO_TASKS)
    reconciled = updated
    if not updated.is_reconciled_to(epoch):
        reconciled = reconcile(group, updated, target, epoch, request.owned, changes_roles=config.rules.changes_roles)
    if reconciled != updated:
        records.append(Record(RecordKind.CURRENT_ASSIGNMENT, request.member_id, reconciled))
    has_assignment = (
        request.joins
        or reconciled.assigned != member.assigned
        or (config.rules.resends_assignment and request.owned is not None)
    )
    return tuple(records), HeartbeatResponse(
        reconciled.epoch,
        reconciled.assigned if has_assignment else None,
        stale_topology=group.topology_epoch is not None and updated.topology_epoch < group.topology_epoch,
    )


def _known_member(group: StreamsGroup, request: HeartbeatRequest) -> CoordinatorMember:
    """Return the member that sends a heartbeat. Java: ``getOrMaybeCreateStaticStreamsGroupMember``, and ``Dynamic``."""
    static = request.instance_id
    member = group.members.get(request.member_id) if static is None else group.static_member(static)
    if member is None and not request.joins:
        if group.epoch == 0:
            raise _Refused(GROUP_ID_NOT_FOUND, "the group does not exist")
        raise _Refused(UNKNOWN_MEMBER_ID, f"{request.member_id} is not a member of the group")
    if static is not None and member is not None:
        if request.joins and member.epoch != AWAY_EPOCH:
            raise _Refused(UNRELEASED_INSTANCE_ID, f"{member.member_id} has not left with the instance id {static}")
        if not request.joins and member.member_id != request.member_id:
            raise _Refused(FENCED_INSTANCE_ID, f"{member.member_id} has joined with the instance id {static}")
    return member or CoordinatorMember(request.member_id)


def _check_epoch(member: CoordinatorMember, request: HeartbeatRequest, rules: CoordinatorRules) -> None:
    """Fence a member whose epoch is wrong; a lost answer explains the previous epoch."""
    epoch = request.member_epoch
    if epoch == member.epoch or (request.joins and rules.rejoins_with_epoch_0):
        return
    answer_was_lost = epoch == member.previous_epoch and request.owned is not None and request.owned <= member.assigned
    if epoch > member.epoch or not answer_was_lost:
        raise _Refused(FENCED_MEMBER_EPOCH, f"member epoch {epoch}, not {member.epoch}")


def _with_metadata(member: CoordinatorMember, request: HeartbeatRequest) -> CoordinatorMember:
    return evolve(
        member,
        process_id=member.process_id if request.process_id is None else request.process_id,
        topology_epoch=member.topology_epoch if request.topology_epoch is None else request.topology_epoch,
        instance_id=request.instance_id,
    )


def _topology_epoch(group: StreamsGroup, request: HeartbeatRequest) -> int | None:
    """Return the group's topology epoch after a heartbeat; topologies with equal epochs are equal."""
    if group.topology_epoch is None or request.topology_epoch is None:
        return request.topology_epoch if group.topology_epoch is None else group.topology_epoch
    if request.topology_epoch > group.topology_epoch:
        raise _Refused(INVALID_REQUEST, "Topology updates are not supported yet.")
    return group.topology_epoch


def target_assignment(group: StreamsGroup, updated: CoordinatorMember, config: GroupConfig) -> Mapping[str, TasksTuple]:
    """Return the target of each member, with one member new or updated. Java: ``TargetAssignmentBuilder``.

    Java iterates over a hash map of random member ids: every order is possible. Here it is the order of the names.
    """
    members = sorted({**group.members, updated.member_id: updated}.items())
    targets = group.targets
    if config.rules.assigns_from_current:
        targets = {name: member.assigned for name, member in members}
    previous = tuple((name, member.process_id, targets.get(name, NO_TASKS)) for name, member in members)
    return dict(_assign(previous, config))


@lru_cache(maxsize=100_000)
def _assign(
    members: tuple[tuple[str, str, TasksTuple], ...], config: GroupConfig
) -> tuple[tuple[str, TasksTuple], ...]:
    specs = {name: _member_spec(process_id, target) for name, process_id, target in members}
    assignment = assign(GroupSpec(specs, config.num_standby_replicas), config.topology, release=config.rules.assignor)
    return tuple(
        (name, _target(tasks, doubles_tasks=config.rules.doubles_tasks)) for name, tasks in assignment.members.items()
    )


def _target(assigned: MemberAssignment, *, doubles_tasks: bool) -> TasksTuple:
    active, standby = tasks_of(assigned.active_tasks), tasks_of(assigned.standby_tasks)
    return TasksTuple(active, standby | active if doubles_tasks else standby, tasks_of(assigned.warmup_tasks))


def _member_spec(process_id: str, target: TasksTuple) -> AssignmentMemberSpec:
    active, standby, warm_up = map(partitions_by_subtopology, target.roles)
    return AssignmentMemberSpec(
        process_id=process_id,
        active_tasks=active,
        standby_tasks=standby,
        warmup_tasks=warm_up,
    )


def _target_records(before: Mapping[str, TasksTuple], after: Mapping[str, TasksTuple], epoch: int) -> list[Record]:
    changed = [
        Record(RecordKind.TARGET_ASSIGNMENT, name, tasks) for name, tasks in after.items() if tasks != before.get(name)
    ]
    return [*changed, Record(RecordKind.TARGET_ASSIGNMENT_METADATA, value=epoch)]
