"""One step of a member towards its target: revocation before assignment. Java: ``CurrentAssignmentBuilder``."""

from __future__ import annotations

from attrs import evolve

from streams_assignor.spark_sim.streams_groups.group import CoordinatorMember, CoordinatorMemberState, StreamsGroup
from streams_assignor.spark_sim.streams_groups.tasks import NO_TASKS, TasksTuple


def reconcile(
    group: StreamsGroup,
    member: CoordinatorMember,
    target: TasksTuple,
    target_epoch: int,
    owned: TasksTuple | None,
    *,
    changes_roles: bool,
) -> CoordinatorMember:
    """Return the member after one step; the same member if it has to wait.

    Args:
        group: Which process holds which task.
        member: The member before the step.
        target: Its target assignment.
        target_epoch: The epoch of the target assignment.
        owned: The tasks that the heartbeat reports; None if it reports none.
        changes_roles: See ``CoordinatorRules.changes_roles``.
    """
    epoch = member.epoch
    if member.state is CoordinatorMemberState.STABLE and epoch == target_epoch:
        return member
    if member.state is CoordinatorMemberState.UNREVOKED_TASKS:
        if owned is None or owned.overlaps(member.pending_revocation):
            return member
        epoch += 1  # the revocation is acknowledged
    kept, wanted, revoked = member.assigned & target, target - member.assigned, member.assigned - target
    changeable = member.assigned if changes_roles else NO_TASKS
    free = _released(group, member.process_id, wanted, changeable)
    converted = TasksTuple(
        standby=free.standby & (changeable.active | changeable.warm_up), warm_up=free.warm_up & changeable.standby
    )
    promoted = TasksTuple(standby=changeable.standby & target.active, warm_up=changeable.warm_up & target.active)
    revoked -= promoted | TasksTuple(standby=converted.warm_up, warm_up=converted.standby - changeable.active)
    if revoked and (owned is None or owned.overlaps(revoked)):
        kept |= converted | promoted
        return _with_tasks(member, CoordinatorMemberState.UNREVOKED_TASKS, epoch, target_epoch, kept, revoked)
    kept |= promoted - TasksTuple(standby=free.active, warm_up=free.active)  # until the active task is granted
    state = CoordinatorMemberState.STABLE if free == wanted else CoordinatorMemberState.UNRELEASED_TASKS
    return _with_tasks(member, state, target_epoch, target_epoch, kept | free, NO_TASKS)


def _released(group: StreamsGroup, process_id: str, wanted: TasksTuple, changeable: TasksTuple) -> TasksTuple:
    """Return the tasks that the member can get now.

    An active task must have no owner. No task may be twice in one process, except one whose role the member changes.
    """
    held = group.tasks_of_process(process_id)
    others = held - changeable
    replicas = others.standby | others.warm_up
    return TasksTuple(
        wanted.active - group.active_tasks - replicas,
        wanted.standby - others.active - replicas,
        wanted.warm_up - held.active - replicas,  # an active task does not become a warm-up
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
