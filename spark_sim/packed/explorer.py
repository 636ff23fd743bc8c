"""Exploration of one cell: the search, the counts, and a replayed counterexample for each violated property."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from attrs import evolve, field, frozen

from streams_assignor.spark_sim.model.violations import NO_MEMBER_FAILS, REBALANCING_TERMINATES, SINGLE_OWNER
from streams_assignor.spark_sim.packed._cell import UpgradeCell
from streams_assignor.spark_sim.packed._concrete_replay import (
    find_second_owner,
    replay_confirms,
    replay_for_second_owner,
)
from streams_assignor.spark_sim.packed.bfs import MAX_SECOND_OWNER_SUSPECTS, PackedGraph, bfs
from streams_assignor.spark_sim.packed.encoding import SECOND_OWNER, Encoding
from streams_assignor.spark_sim.packed.equivalence import BehaviourClass, all_instances_start
from streams_assignor.spark_sim.packed.model import LEAD
from streams_assignor.spark_sim.packed.paths import scenario_to
from streams_assignor.spark_sim.search.bfs import MAX_STATES
from streams_assignor.spark_sim.search.path_counting import NOT_COUNTED, count_paths
from streams_assignor.upgrade import ConfigException


@frozen
class Counterexample:
    """A property that does not hold, with a shortest schedule that violates it."""

    property: str
    text: str
    example: str
    """The schedule as a scenario; "" if a configuration is rejected, so that no member starts."""
    confirmed: bool | None = None
    """Whether simulated members violate it too; None if that was not tried."""
    code: str = ""
    """``Violation.code``."""


@frozen
class ExplorationResult:
    """The result of exploring a cell."""

    cell: UpgradeCell
    states: int
    """Reachable states, up to the names of the members."""
    transitions: int
    schedules: int | None = None
    """Schedules, with members told apart; None if rebalancing need not terminate, or if not ``complete``."""
    depth: int | None = None
    """Actions of the longest schedule; None as for ``schedules``."""
    max_rebalances: int | None = None
    """The most generations that begin between two actions of the operator or faults; None as for ``schedules``."""
    second_owner_suspects: int = 0
    """States in which a task might get a second owner."""
    complete: bool = True
    """Whether every state was expanded."""
    counterexamples: tuple[Counterexample, ...] = field(default=())

    @property
    def safe(self) -> bool:
        """Whether the cell was explored completely and no property is violated."""
        return self.complete and not self.counterexamples


def explore(cell: UpgradeCell, *, confirm: bool = True, max_states: int = MAX_STATES) -> ExplorationResult:
    """Explore a cell: every order of actions that its operator, its faults and the protocol allow.

    Args:
        cell: The model to explore.
        confirm: Whether to replay counterexamples with simulated members; second owners are found only so.
        max_states: See ``spark_sim.search.bfs.bfs``.
    """
    try:
        for instance in cell.instances:
            instance.config()
    except ConfigException as error:
        return ExplorationResult(cell, 0, 0, counterexamples=(_not_started(error),))
    graph = bfs(Encoding(cell), max_states)
    counted = count_paths(graph) if graph.complete else NOT_COUNTED
    result = ExplorationResult(
        cell,
        graph.state_count,
        graph.transition_count,
        counted.schedules,
        counted.depth,
        counted.max_rebalances,
        len(graph.second_owner_suspects),
        graph.complete,
    )
    return evolve(result, counterexamples=tuple(_counterexamples(graph, counted.cycle_state, confirm=confirm)))


def explore_once(cell: UpgradeCell) -> ExplorationResult:
    """Explore a cell, unless a safe one of its class was explored in this process: then both have the same counts.

    The examples of others have names, and tasks are assigned as the release does it, so each of these is explored.
    """
    if not all_instances_start(cell):
        return explore(cell)
    found = _explored(BehaviourClass.of(cell))
    shares_result = found.cell == cell or (found.safe and not found.second_owner_suspects)
    return evolve(found, cell=cell) if shares_result else explore(cell)


@cache
def _explored(class_: BehaviourClass) -> ExplorationResult:
    return explore(class_.cell)


def _not_started(error: ConfigException) -> Counterexample:
    return Counterexample(NO_MEMBER_FAILS, str(error), "", code="ConfigException")


def _counterexamples(graph: PackedGraph, cycle_state: int | None, *, confirm: bool) -> Iterator[Counterexample]:
    """Yield a shortest counterexample of each property that does not hold."""
    for name in dict.fromkeys(state_violation.violation.property for state_violation in graph.violations):
        counterexample = _counterexample(graph, name, confirm=confirm)
        if counterexample:
            yield counterexample
    if cycle_state is not None:
        text = "the group rebalances for ever without an operator action or a fault"
        yield Counterexample(REBALANCING_TERMINATES, text, str(scenario_to(graph, cycle_state)))
    if graph.second_owner_suspects and confirm:
        yield from _second_owner_counterexample(graph)


def _counterexample(graph: PackedGraph, violated_property: str, *, confirm: bool) -> Counterexample | None:
    first = next(
        (
            state_violation
            for state_violation in graph.violations
            if state_violation.violation.property == violated_property
        ),
        None,
    )
    if first is None:
        return None
    scenario = scenario_to(graph, first.state, *([first.action] if first.action else []))
    return Counterexample(
        violated_property,
        first.violation.text,
        str(scenario),
        replay_confirms(scenario, violated_property) if confirm else None,
        first.violation.code,
    )


def _second_owner_counterexample(graph: PackedGraph) -> Iterator[Counterexample]:
    """Yield a counterexample if simulated members show that a task really gets a second owner."""
    for suspect in graph.second_owner_suspects[:MAX_SECOND_OWNER_SUSPECTS]:
        if (scenario := replay_for_second_owner(scenario_to(graph, suspect, LEAD))) is not None:
            yield Counterexample(SINGLE_OWNER, SECOND_OWNER.text, str(scenario), True)
            return
    if (scenario := find_second_owner(graph.encoding.cell.instance_sequences)) is not None:
        yield Counterexample(SINGLE_OWNER, SECOND_OWNER.text, str(scenario), True)
