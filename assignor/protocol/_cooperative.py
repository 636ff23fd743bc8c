"""Cooperative rebalancing: a task is not granted to a member before its owner has revoked it (KIP-429).

Members keep their partitions while they rejoin. A task that moves is withheld for one rebalance: its owner revokes it,
and the member that waits for it rejoins immediately.
Java: ``populateActiveTaskAndPartitionsLists``, ``buildStandbyTaskMap``, ``addClientAssignments``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import evolve

from streams_assignor.codec import IMMEDIATELY, TaskId, TopicPartition
from streams_assignor.protocol.group import Process
from streams_assignor.protocol.member_tasks import GrantedTasks
from streams_assignor.topology import InputPartitionsByTask
from streams_assignor.upgrade.release_behaviour import InterimStandby


def withhold_owned_tasks(
    process: Process,
    member_tasks: Mapping[str, GrantedTasks],
    tasks: InputPartitionsByTask,
    owners: Mapping[TopicPartition, frozenset[str]],
    interim_standby: InterimStandby,
    follow_up_ms: int | None,
) -> dict[str, GrantedTasks]:
    """Withhold the tasks that other members still own from the members of one process.

    Args:
        process: The process and its members.
        member_tasks: The tasks of each member, as if no task had an owner.
        tasks: The input partitions of each task.
        owners: The members that own each partition; empty if the group is not cooperative.
        interim_standby: When a member gets a standby of a withheld task.
        follow_up_ms: When the process rejoins (milliseconds since 1970); None if it need not. One member does it: the
            first one, unless a member before it waits for a task and so rejoins immediately.
    """
    granted: dict[str, GrantedTasks] = {}
    for member in process.members:
        mine = member_tasks[member.member_id]
        withheld = tuple(
            task
            for task in mine.active
            if owners
            and any(member.member_id not in owners[partition] for partition in tasks[task] if partition in owners)
        )
        if withheld:
            mine = evolve(
                mine,
                active=tuple(task for task in mine.active if task not in withheld),
                standby=tuple(sorted({*mine.standby, *_interim_standbys(withheld, process, interim_standby)})),
                awaiting_revocation=withheld,
                next_rebalance_ms=IMMEDIATELY,
            )
            follow_up_ms = None
        elif follow_up_ms is not None:
            mine, follow_up_ms = evolve(mine, next_rebalance_ms=follow_up_ms), None
        granted[member.member_id] = mine
    return granted


def _interim_standbys(withheld: Iterable[TaskId], process: Process, interim: InterimStandby) -> Iterable[TaskId]:
    """Find the withheld tasks whose state stays open as a standby until their owner has revoked them."""
    if interim is InterimStandby.NEVER:
        return ()
    state = process.state
    return [
        task
        for task in withheld
        if task in state.lags and (interim is InterimStandby.IF_STATEFUL or task in state.previous_standby_tasks)
    ]
