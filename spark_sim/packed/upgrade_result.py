"""What an exploration contributes to the results of a sweep."""

from __future__ import annotations

from typing import Final

from spark_sim.model.settle import MAX_REBALANCES
from spark_sim.packed.explorer import Counterexample, ExplorationResult
from spark_sim.search.cell_result import CONCRETE_REPLAY_DISAGREES, INCOMPLETE, UpgradeResult

MAX_EXPLORED_MEMBERS: Final = 5
"""Larger groups are sampled."""


def upgrade_result(explored: ExplorationResult) -> UpgradeResult:
    """Return the result of an exploration.

    A counterexample that simulated members do not confirm is an error of the packed model, and precedes all others.
    """
    cell = explored.cell
    counterexamples = sorted(
        explored.counterexamples,
        key=lambda counterexample: (counterexample.confirmed is not False, len(counterexample.example)),
    )
    worst = counterexamples[0] if counterexamples else None
    if worst is None and not explored.complete:
        text = f"more than {explored.states:,} states: take --wait, fewer members or faults, or draw with --sample"
        worst = Counterexample(INCOMPLETE, text, "")
    return UpgradeResult(
        cell.upgrade,
        max_rebalances=MAX_REBALANCES if explored.max_rebalances is None else explored.max_rebalances,
        example=(worst.example or None) if worst else None,
        property=(CONCRETE_REPLAY_DISAGREES if worst.confirmed is False else worst.property) if worst else None,
        message=worst.text if worst else None,
        states=explored.states,
        transitions=explored.transitions,
        schedules=explored.schedules,
        members=cell.members,
        crashes=cell.faults.crashes,
        rebalance_timeouts=cell.faults.rebalance_timeouts,
        spurious_joins=cell.faults.spurious_joins,
        wait_for_quiescence=cell.wait_for_quiescence,
    )
