"""Views of a state: the summed-up numbers on which the actions of its processes depend."""

from __future__ import annotations

from typing import Final, NamedTuple

from attrs import frozen

from streams_assignor.spark_sim.packed._cell import OperatorDeviation, UpgradeCell
from streams_assignor.spark_sim.packed.process_state import (
    ABSENT,
    ASSIGNED,
    COMPLETING,
    CRASHED,
    JOIN_PENDING,
    STOPPED,
    SYNC_RESPONSE_PENDING,
    PackedProcessState,
)

# The group fields, and above them one tally of six bits for each property of process states that is counted.
PHASE, ROLLED_BACK, CRASHES, REBALANCE_TIMEOUTS, SPURIOUS_JOINS = 1, 1 << 2, 1 << 3, 1 << 6, 1 << 9
GROUP_FIELD_BITS: Final = 12
GROUP_FIELDS_MASK: Final = (1 << GROUP_FIELD_BITS) - 1
_WIDTHS: Final = {PHASE: 2, ROLLED_BACK: 1, CRASHES: 3, REBALANCE_TIMEOUTS: 3, SPURIOUS_JOINS: 3}
_TALLY_BITS: Final = 6
_TALLY_COUNT: Final = 10
_MEMBER_IDS, _PENDING_JOINS, _STOPPED_BY_OPERATOR, _NOT_RUNNING, _NOT_QUIESCENT, _RUNNING_ORIGINAL, *_ROUNDS_DONE = (
    1 << GROUP_FIELD_BITS + _TALLY_BITS * place for place in range(_TALLY_COUNT)
)
_SHIFTS: Final = range(0, _TALLY_BITS * _TALLY_COUNT, _TALLY_BITS)
SUMMARY_MASK: Final = (1 << GROUP_FIELD_BITS + _TALLY_BITS * _TALLY_COUNT) - 1
"""The bits of a key that are the summary of its state: the group fields and the tallies."""
_ONES: Final = sum(1 << _TALLY_BITS * place for place in range(_TALLY_COUNT))
IN_SOME_ROUND: Final = (-1 << _TALLY_BITS * 6) & (1 << _TALLY_BITS * _TALLY_COUNT) - 1
"""The tallies of rounds, without the group fields: one of them counts each process."""
NEVER_TERMINAL: Final = (_NOT_RUNNING | _NOT_QUIESCENT) >> GROUP_FIELD_BITS
"""The tallies, without the group fields, of processes of which none is there as the operator is done."""
_COUNTED: Final = (_MEMBER_IDS | _PENDING_JOINS) >> GROUP_FIELD_BITS


def _faults_left(group: int, unit: int) -> int:
    return group // unit & (1 << _WIDTHS[unit]) - 1


def saturate(tallies: int) -> int:
    """Count ids and pending joins up to 2 and all else up to 1: no rule depends on more.

    There are far fewer summaries then, and those of groups of any size are finitely many.

    Args:
        tallies: The tallies of a summary, without the group fields.
    """
    at_least_two = tallies >> 1 | tallies >> 2 | tallies >> 3 | tallies >> 4 | tallies >> 5
    two = at_least_two & _COUNTED
    return two << 1 | (at_least_two | tallies) & _ONES & ~two


# No named tuples: the two halves of a view must not be equal if their numbers are.
@frozen(cache_hash=True)
class PackedGroupView:
    """The state outside a process on which its protocol actions depend."""

    phase: int
    member_ids: int
    """Member ids in the group, counted up to 2."""
    pending_joins: int
    """Member ids whose JoinGroup the group waits for, counted up to 2."""
    may_rebalance_time_out: bool
    """Whether a rebalance timeout is left in the fault budget."""
    may_join_spuriously: bool
    """Whether a spurious join is left in the fault budget."""


@frozen(cache_hash=True)
class OperatorView:
    """The state outside a process on which actions of the operator and faults depend."""

    next_round_from: int
    """The round after which a member may be stopped for the next one; -1: none."""
    roll_back_from: int
    """The round after which a member may be stopped for the previous one; -1: none."""
    may_roll_back: bool
    """Whether the operator may still decide to roll back."""
    original_stopped: bool
    """Whether an offline upgrade has stopped every original member."""
    awaits_empty_group: bool
    """Whether it has, and the operator starts none as long as one of their ids is left."""
    may_crash: bool
    """Whether a crash is left in the fault budget."""


class View(NamedTuple):
    """The state outside a process on which its actions depend."""

    group: PackedGroupView
    operator: OperatorView


class StateSummary(NamedTuple):
    """The summary of a state."""

    view: View
    quiescent: bool
    terminal: bool
    """Whether the operator may be done."""
    leader_assigns: bool
    """Whether the group waits for the leader's assignment."""


def tallies_of(state: PackedProcessState) -> int:
    """Return what a process state adds to the tallies of a state."""
    orphans_pending = sum(orphan.subscription < 0 for orphan in state.orphaned_ids)
    if state.status == ABSENT:
        ids = len(state.orphaned_ids)
        return ids * _MEMBER_IDS + orphans_pending * _PENDING_JOINS + (ids > 0) * _NOT_QUIESCENT
    join_pending = state.status in {JOIN_PENDING, SYNC_RESPONSE_PENDING}
    ids = state.is_member + len(state.orphaned_ids)
    return (
        ids * _MEMBER_IDS
        + (join_pending + orphans_pending) * _PENDING_JOINS
        + (state.status == STOPPED) * _STOPPED_BY_OPERATOR
        + (not state.running) * _NOT_RUNNING
        + (bool(state.orphaned_ids) or state.status not in {CRASHED, STOPPED, ASSIGNED}) * _NOT_QUIESCENT
        + (state.running and state.rounds_done == 0) * _RUNNING_ORIGINAL
        + _ROUNDS_DONE[state.rounds_done]
    )


def summarize(cell: UpgradeCell, summary_bits: int) -> StateSummary:
    """Return the summary that these bits of a key stand for."""
    numbers, tallies = summary_bits & GROUP_FIELDS_MASK, summary_bits >> GROUP_FIELD_BITS
    member_ids, pending_joins, stopped, not_running, not_quiescent, original, *at = (
        tallies >> shift & (1 << _TALLY_BITS) - 1 for shift in _SHIFTS
    )
    rolled_back, quiescent = bool(_faults_left(numbers, ROLLED_BACK)), not not_quiescent
    places = [place for place, count in enumerate(at) if count]
    first, last = places[0], places[-1]
    goes_on = not rolled_back and first < cell.rounds and (quiescent or not cell.wait_for_quiescence)
    goes_back = (
        cell.deviation is OperatorDeviation.ROLLED_BACK and last > 0 and (quiescent or not cell.wait_for_quiescence)
    )
    done = last == 0 if rolled_back else first == cell.rounds
    batches = cell.deviation is OperatorDeviation.BATCHES
    group = PackedGroupView(
        phase=_faults_left(numbers, PHASE),
        member_ids=min(2, member_ids),
        pending_joins=min(2, pending_joins),
        may_rebalance_time_out=bool(_faults_left(numbers, REBALANCE_TIMEOUTS)),
        may_join_spuriously=bool(_faults_left(numbers, SPURIOUS_JOINS)),
    )
    operator = OperatorView(
        next_round_from=first if goes_on and (last == 0 if cell.offline else batches or not stopped) else -1,
        roll_back_from=last if goes_back and not stopped else -1,
        may_roll_back=cell.deviation is OperatorDeviation.ROLLED_BACK and not rolled_back,
        original_stopped=cell.offline and not original,
        awaits_empty_group=cell.offline and cell.wait_for_quiescence and not (original or quiescent or last),
        may_crash=bool(_faults_left(numbers, CRASHES)),
    )
    ends = quiescent and not not_running and (done or cell.deviation is OperatorDeviation.INTERRUPTED)
    return StateSummary(View(group, operator), quiescent, ends, group.phase == COMPLETING)
