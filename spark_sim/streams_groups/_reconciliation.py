"""One step of a member towards its target: revocation before assignment. Java: ``CurrentAssignmentBuilder``."""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve

from streams_assignor.codec import TaskId
from streams_assignor.spark_sim.streams_groups._group import CoordinatorMember, CoordinatorMemberState, StreamsGroup
from streams_assignor.spark_sim.streams_groups._tasks import NO_TASKS, TasksTuple


def reconcile(
    group: StreamsGroup, member: CoordinatorMember, target: TasksTuple, target_epoch: int, owned: TasksTuple | None
) -> CoordinatorMember:
    """Return the member after one step; the same member if it has to wait.

    Args:
        group: Which process holds which task.
        member: The member before the step.
        target: Its target assignment.
        target_epoch: The epoch of the target assignment.
        owned: The tasks that the heartbeat reports; None if it reports none.
    """
    epoch = member.epoch
    if member.state is CoordinatorMemberState.STABLE and epoch == target_epoch:
        return member
    if member.state is CoordinatorMemberState.UNREVOKED_TASKS:
        if owned is None or owned.overlaps(member.pending_revocation):
            return member
        epoch += 1  # the revocation is acknowledged
    kept, wanted, revoked = member.assigned & target, target - member.assigned, member.assigned - target
    if revoked and (owned is None or owned.overlaps(revoked)):
        return _with_tasks(member, CoordinatorMemberState.UNREVOKED_TASKS, epoch, target_epoch, kept, revoked)
    free = _released(group, member.process_id, wanted)
    state = CoordinatorMemberState.STABLE if free == wanted else CoordinatorMemberState.UNRELEASED_TASKS
    return _with_tasks(member, state, target_epoch, target_epoch, kept | free, NO_TASKS)


def _released(group: StreamsGroup, process_id: str, wanted: TasksTuple) -> TasksTuple:
    """Return the tasks that the member can get now.

    An active task must have no owner. No task, whatever its role, may be twice in one process.
    """

    def in_process(task: TaskId) -> bool:
        return group.active_process(task) == process_id or group.has_replica(process_id, task)

    def is_owned(task: TaskId) -> bool:
        return group.active_process(task) is not None or group.has_replica(process_id, task)

    def without(tasks: frozenset[TaskId], taken: Callable[[TaskId], bool]) -> frozenset[TaskId]:
        return frozenset(task for task in tasks if not taken(task))

    return TasksTuple(
        without(wanted.active, is_owned), without(wanted.standby, in_process), without(wanted.warm_up, in_process)
    )


def _with_tasks(
    member: CoordinatorMember,
    state: CoordinatorMemberState,
    epoch: int,
    target_epoch: int,
    assigned: TasksTuple,
    pending_revocation: TasksTuple,
) -> CoordinatorMember:
    epochs = dict(member.assignment_epochs)
    held = assigned.active | pending_revocation.active
    return evolve(
        member,
        state=state,
        epoch=epoch,
        previous_epoch=member.epoch,
        assigned=assigned,
        pending_revocation=pending_revocation,
        assignment_epochs=frozenset((task, epochs.get(task, target_epoch)) for task in held),
    )
