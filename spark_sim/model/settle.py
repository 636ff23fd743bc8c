"""Settling of a simulated group: protocol actions in a fixed order until it is quiescent.

All members join before a generation begins, and all take their SyncGroup responses before one of them rejoins.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Final

from streams_assignor.codec import TaskId
from streams_assignor.probing.follow_up import FollowUpReason
from streams_assignor.spark_sim.model._actions import expire_sessions, join, lead, leave_before_rejoin, sync
from streams_assignor.spark_sim.model._group_state import GroupState, caught_up_tasks
from streams_assignor.spark_sim.model.coordinator import GroupPhase
from streams_assignor.spark_sim.model.processes import complete_join_phase
from streams_assignor.spark_sim.model.properties import check_always
from streams_assignor.spark_sim.model.violations import REBALANCING_TERMINATES, Violation

MAX_REBALANCES: Final = 20
"""More rebalances than this, with no time between them, count as endless: a healthy step needs a handful."""
MAX_PROBING_REBALANCES: Final = 20
"""So many probing rebalances are played after one step; that more are scheduled is no violation."""


def settle(state: GroupState) -> None:
    """Take protocol actions until no member has to join, no session can expire and no probing rebalance is due.

    A leader lets a few tasks warm up at a time (``max.warmup.replicas``), so the number of probing rebalances grows
    with that of the tasks. If the group is again as it was before one of them, they go on for ever. This is a violation
    only if they move tasks: a leader may look again and again without a change, as Kafka's does as long as it does not
    get the end offsets (``FallbackPriorTaskAssignor``).
    """
    at_once = rebalances = 0
    waiting: dict[Hashable, list[Mapping[TaskId, str]]] = {}
    state.probes_in_vain = False
    while at_once < MAX_REBALANCES:
        if _complete_sync(state):
            if waiting:
                waiting[[*waiting][-1]].append(state.owner_by_task)
            continue
        if _join_members(state):
            at_once, rebalances = at_once + 1, rebalances + 1
        elif orphaned := state.orphaned_ids:
            expire_sessions(state, orphaned)
            complete_join_phase(state)
        elif not is_warming_up(state):
            break
        elif (before := state.state) in waiting:
            since = [*waiting.values()][[*waiting].index(before) :]
            state.probes_in_vain = all(owners == since[0][0] for later in since for owners in later)
            if not state.probes_in_vain:
                text = "probing rebalances move tasks, and leave the group as it was before an earlier one"
                state.report_violations([Violation(REBALANCING_TERMINATES, "", text)])
            break
        elif len(waiting) == MAX_PROBING_REBALANCES:
            break
        else:
            waiting[before] = [state.owner_by_task]
            _advance_to_probing_rebalance(state)
            at_once = 0
    else:
        text = f"more than {MAX_REBALANCES} rebalances after one step"
        state.report_violations([Violation(REBALANCING_TERMINATES, "", text)])
    state.max_rebalances = max(state.max_rebalances, rebalances)


def progress(state: GroupState) -> bool:
    """Take the first of what ``settle`` takes: responses, joins, a session timeout or the way to a probing rebalance.

    False: nothing is due.
    """
    if _complete_sync(state):
        while _complete_sync(state):
            pass
    elif _join_members(state):
        pass
    elif orphaned := state.orphaned_ids:
        expire_sessions(state, orphaned)
        complete_join_phase(state)
    elif is_warming_up(state):
        _advance_to_probing_rebalance(state)
    else:
        return False
    return True


def _complete_sync(state: GroupState) -> bool:
    """Let the leader assign, or deliver all pending SyncGroup responses before any LeaveGroup. False: neither is due.

    Eager and new members take theirs first: they start at once on tasks that others may still have to revoke (KIP-429).
    """
    group = state.coordinator
    if group.phase is GroupPhase.COMPLETING_REBALANCE:
        leader = next((member for member in state.running_members if member.member_id == group.leader), None)
        if leader is not None:
            lead(state, leader)
        return leader is not None
    pending = [member for member in state.current_members if member.member_id in group.pending_sync_responses]
    some_keep_tasks = any(member.cooperative for member in pending)
    newest_first = pending[::-1]
    for member in sorted(newest_first, key=lambda member: member.cooperative) if some_keep_tasks else pending:
        before = member.owned_tasks
        sync(state, member)
        # A member that gains no task cannot violate single ownership; in a large group that is nearly every member.
        if some_keep_tasks and (state.violations or not member.owned_tasks <= before):
            state.report_violations(check_always(state))
    if pending:
        state.report_violations(check_always(state))
    for member in pending:
        leave_before_rejoin(state, member)
    return bool(pending)


def _join_members(state: GroupState) -> bool:
    """Let the members join that have to, and then all others that the group waits for. False: no member joins."""
    joining = [member for member in state.running_members if member.rejoin_needed]
    for member in joining:
        join(state, member)
    for member in state.running_members:
        if state.coordinator.is_join_pending(member.member_id):
            joining.append(member)
            join(state, member)
    complete_join_phase(state)
    return bool(joining)


def is_warming_up(state: GroupState) -> bool:
    """Whether a probing rebalance is scheduled; in a settled group, after ``MAX_PROBING_REBALANCES`` of them."""
    return any(member.next_probing_rebalance_ms is not None for member in state.running_members)


def _advance_to_probing_rebalance(state: GroupState) -> None:
    """Let time pass until the next probing rebalance, by when all stores have caught up."""
    times = [
        member.next_probing_rebalance_ms
        for member in state.running_members
        if member.next_probing_rebalance_ms is not None
    ]
    state.now_ms = max(state.now_ms, min(times))
    for member in state.running_members:
        state.caught_up_by_process[member.process] = caught_up_tasks(state, member) | member.assigned_tasks
        if member.next_probing_rebalance_ms is not None and member.next_probing_rebalance_ms <= state.now_ms:
            member.next_probing_rebalance_ms = None
            member.rejoin_needed = True
            member.rejoin_reason = FollowUpReason.PROBING
            state.log("probing_rebalance", member.name)
