"""The part of an exploration in the results of a sweep."""

from __future__ import annotations

from functools import cache
from typing import Final

from attrs import evolve

from streams_assignor.spark_sim.model.settle import MAX_REBALANCES
from streams_assignor.spark_sim.model.violations import SINGLE_OWNER
from streams_assignor.spark_sim.packed.any_size import any_size_class, explore_any_size
from streams_assignor.spark_sim.packed.equivalence import BehaviourClass
from streams_assignor.spark_sim.packed.explorer import Counterexample, ExplorationResult, explore
from streams_assignor.spark_sim.search.cell_result import (
    ANY_SIZE,
    CONCRETE_REPLAY_DISAGREES,
    INCOMPLETE,
    UpgradeResult,
    from_,
    up_to,
)

MAX_EXPLORED_MEMBERS: Final = 5
"""Larger groups are sampled."""
MAX_K: Final = 2
"""The most processes in a view: so many prove all plans that are documented to be safe."""


def group_size(explored: ExplorationResult) -> str | None:
    """Return the size of the groups that the verdict of an exploration is about; None if it has none.

    For a safe cell all groups are explored as well, with any number of faults. For an unsafe one smaller groups are.
    """
    cell = explored.cell
    if explored.counterexamples:
        confirm = all(counterexample.property == SINGLE_OWNER for counterexample in explored.counterexamples)
        sizes = range(1, cell.members) if explored.states else (1,)
        fails = (size for size in sizes if not explore(evolve(cell, members=size), confirm=confirm).safe)
        return from_(next(fails, cell.members))
    if not explored.complete:
        return None
    return ANY_SIZE if _is_proven(any_size_class(cell)) else up_to(cell.members)


@cache
def _is_proven(class_: BehaviourClass) -> bool:
    return any(explore_any_size(class_.cell, k).safe for k in range(1, MAX_K + 1))


def upgrade_result(explored: ExplorationResult, group_size: str | None = None) -> UpgradeResult:
    """Return the result of an exploration, with the size of the groups that its verdict is about if that is known.

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
        group_size=group_size,
        members=cell.members,
        crashes=cell.faults.crashes,
        rebalance_timeouts=cell.faults.rebalance_timeouts,
        spurious_joins=cell.faults.spurious_joins,
        wait_for_quiescence=cell.wait_for_quiescence,
    )
