"""The actions of each process, and what they change; the same actions as ``spark_sim.model._actions``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from streams_assignor.probing import RejoinMode
from streams_assignor.spark_sim.model.violations import Violation
from streams_assignor.spark_sim.packed.process_state import (
    ABSENT,
    ASSIGNED,
    COMPLETING,
    CRASHED,
    JOIN_PENDING,
    JOINED,
    NOT_A_MEMBER,
    PREPARING,
    REJOIN_NEEDED,
    STOPPED,
    SYNC_RESPONSE_PENDING,
    OrphanedId,
    PackedProcessState,
    with_join_pending,
)
from streams_assignor.spark_sim.packed.tables.process_table import ProcessTable
from streams_assignor.spark_sim.packed.view import (
    CRASHES,
    PHASE,
    REBALANCE_TIMEOUTS,
    ROLLED_BACK,
    SPURIOUS_JOINS,
    OperatorView,
    PackedGroupView,
)


class PackedAction(NamedTuple):
    """An action of one process."""

    verb: str
    before: int
    """Number of the process's state before it."""
    after: int
    """Number of the process's state after it."""
    add: int = 0
    """Its addition to the group fields."""
    prepares_rebalance: bool = False
    """Whether it prepares a rebalance: before it takes effect, the group waits for all member ids."""
    begins_generation: bool = False
    elects: tuple[int, int] | None = None
    """Number of the elected process's state before and after the election; None without an election."""


class ActionRow(NamedTuple):
    """The actions of a process state in a view."""

    actions: list[PackedAction]
    """Actions without an election; those that prepare a rebalance are last."""
    elections: list[PackedAction]
    """Actions that remove the leader, so that another one is elected."""
    failures: list[tuple[PackedAction, Violation]]
    """Actions with which the process fails."""


def protocol_actions(table: ProcessTable, view: PackedGroupView, number: int) -> ActionRow:
    """Return the protocol actions of a process except ``lead``, and the expiry of its orphaned ids."""
    row = ActionRow([], [], [])
    state = table.process_states.values[number]
    if state.running:
        _running_process_actions(table, view, number, state, row)
    if state.orphaned_ids:
        gone, *others = state.orphaned_ids
        after = state._replace(orphaned_ids=tuple(others))
        _add_removal(
            table,
            view,
            PackedAction("expire", number, table.state_number(after)),
            row,
            gone.leads,
            gone.subscription < 0,
        )
    return row


def operator_actions(table: ProcessTable, view: OperatorView, number: int) -> ActionRow:
    """Return what may happen to a process from outside: it crashes, is stopped or is started."""
    state = table.process_states.values[number]
    if state.status == ABSENT:
        return ActionRow([], [], [])
    return ActionRow(list((_stop_actions if state.running else _start_actions)(table, view, number, state)), [], [])


def _running_process_actions(
    table: ProcessTable, view: PackedGroupView, number: int, state: PackedProcessState, row: ActionRow
) -> None:
    misses = view.phase == PREPARING and state.status == SYNC_RESPONSE_PENDING and table.cell.may_miss_responses
    if misses or state.status in {NOT_A_MEMBER, JOIN_PENDING, REJOIN_NEEDED}:
        _add_join(table, view, number, state, row, "join")
    if state.status == ASSIGNED and view.may_join_spuriously:
        _add_join(table, view, number, state, row, "spurious join", -SPURIOUS_JOINS)
    if state.status == SYNC_RESPONSE_PENDING:
        _add_sync(table, view, number, state, row)
    if (
        view.may_rebalance_time_out
        and view.phase == PREPARING
        and state.status in {JOIN_PENDING, SYNC_RESPONSE_PENDING}
    ):
        after = table.state_number(state._replace(status=NOT_A_MEMBER, payload=-1, leads=False, keeps_tasks=False))
        _add_removal(table, view, PackedAction("late", number, after, -REBALANCE_TIMEOUTS), row, state.leads, True)


def _add_join(
    table: ProcessTable,
    view: PackedGroupView,
    number: int,
    state: PackedProcessState,
    row: ActionRow,
    verb: str,
    add: int = 0,
) -> None:
    subscription = table.protocol_table.subscriptions[state.version]
    if isinstance(subscription, Violation):
        row.failures.append((PackedAction(verb, number, number), subscription))
        return
    prepares = view.phase != PREPARING
    others = (view.member_ids if prepares else view.pending_joins) - state.is_member
    orphaned_ids = with_join_pending(state.orphaned_ids) if prepares else state.orphaned_ids
    after = state._replace(
        status=JOINED, payload=-1, leads=state.leads or view.member_ids == 0, orphaned_ids=orphaned_ids
    )
    phase = PREPARING if others else COMPLETING
    add += (phase - view.phase) * PHASE
    row.actions.append(PackedAction(verb, number, table.state_number(after), add, prepares, phase == COMPLETING))


def _add_sync(
    table: ProcessTable, view: PackedGroupView, number: int, state: PackedProcessState, row: ActionRow
) -> None:
    reaction = table.protocol_table.reactions[state.version, state.payload]
    if isinstance(reaction, Violation):
        row.failures.append((PackedAction("take", number, number), reaction))
        return
    after = state._replace(version=reaction.version, keeps_tasks=table.checks_single_owner and reaction.keeps_tasks)
    if reaction.rejoining is RejoinMode.LEAVE_AND_JOIN:
        after = after._replace(status=NOT_A_MEMBER, payload=-1, leads=False)
        _add_removal(table, view, PackedAction("take", number, table.state_number(after)), row, state.leads, True)
        return
    if view.phase == PREPARING:
        after = after._replace(status=JOIN_PENDING, payload=-1)
    elif reaction.rejoining:
        after = after._replace(status=REJOIN_NEEDED, payload=-1)
    else:
        after = after._replace(status=ASSIGNED, payload=reaction.received)
    row.actions.append(PackedAction("take", number, table.state_number(after)))


def _add_removal(
    table: ProcessTable,
    view: PackedGroupView,
    action: PackedAction,
    row: ActionRow,
    was_leader: bool,
    join_pending: bool,
) -> None:
    """Add an action that removes a member id from the group."""
    prepares = view.phase != PREPARING
    others = view.member_ids - 1
    phase = PREPARING
    if not prepares and others and view.pending_joins == join_pending:
        phase = COMPLETING
    after = table.join_pending_state[action.after] if prepares else action.after
    add = action.add + (phase - view.phase) * PHASE
    action = action._replace(after=after, add=add, prepares_rebalance=prepares, begins_generation=phase == COMPLETING)
    (row.elections if was_leader and others else row.actions).append(action)


def _stop_actions(
    table: ProcessTable, view: OperatorView, number: int, state: PackedProcessState
) -> Iterator[PackedAction]:
    orphaned_ids = state.orphaned_ids
    if state.is_member:
        subscription = table.protocol_table.subscriptions[state.version] if state.status == JOINED else -1
        assert isinstance(subscription, int)
        orphaned_ids = (*orphaned_ids, OrphanedId(subscription, state.leads))
    gone = PackedProcessState(state.sequence, state.rounds_done, CRASHED, orphaned_ids=orphaned_ids)
    if view.may_crash:
        yield PackedAction("crash", number, table.state_number(gone), -CRASHES)
    if state.rounds_done == view.next_round_from:
        yield PackedAction(
            "stop", number, table.state_number(gone._replace(status=STOPPED, payload=state.rounds_done + 1))
        )
    if state.rounds_done == view.roll_back_from:
        stopped = table.state_number(gone._replace(status=STOPPED, payload=state.rounds_done - 1))
        yield PackedAction("stop", number, stopped, view.may_roll_back * ROLLED_BACK)


def _start_actions(
    table: ProcessTable, view: OperatorView, number: int, state: PackedProcessState
) -> Iterator[PackedAction]:
    def start(place: int, add: int = 0) -> PackedAction:
        version = table.protocol_table.initial_version(table.instance_sequences[state.sequence][place])
        fresh = PackedProcessState(state.sequence, place, NOT_A_MEMBER, version, orphaned_ids=state.orphaned_ids)
        return PackedAction("start", number, table.state_number(fresh), add)

    if view.awaits_empty_group:
        return
    if state.status == CRASHED:
        yield start(1 if view.original_stopped and state.rounds_done == 0 else state.rounds_done)
    elif view.original_stopped or not table.cell.offline:
        yield start(state.payload)
        if view.may_roll_back:
            yield start(state.rounds_done, ROLLED_BACK)
