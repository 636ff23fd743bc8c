"""Model of a streams group: every order in which messages, callbacks, operators and faults can come.

Epochs only grow, so states that differ in their epochs but not in their differences are one state (``World.key``). The
names of members are not interchangeable: the task assignor depends on the order of their ids. A heartbeat that changes
nothing leads back to its state, so no clock is needed: the protocol has settled where only such heartbeats are left.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Final, NamedTuple

from attrs import evolve, field, frozen

from streams_assignor.spark_sim.model.violations import Violation
from streams_assignor.spark_sim.search.bfs import MAX_STATES, bfs
from streams_assignor.spark_sim.search.cycles import EXTERNAL_ACTION, cycle_from
from streams_assignor.spark_sim.search.graph import StateGraph, path_to
from streams_assignor.spark_sim.search.model import FAULT_ACTION, OPERATOR_ACTION, Transition
from streams_assignor.spark_sim.search.path_counting import count_paths
from streams_assignor.spark_sim.streams_groups._actions import (
    apply_possible_step,
    effective_steps,
    possible_steps,
    run_scenario,
    settling,
)
from streams_assignor.spark_sim.streams_groups._world import World
from streams_assignor.spark_sim.streams_groups.properties import (
    PROPERTIES,
    REBALANCING_TERMINATES,
    STANDBY_STAYS,
    STATIC_RETURNS,
    always,
    changed_returns,
    eventually,
    moved_standbys,
)
from streams_assignor.spark_sim.streams_groups.scenario import FAULTS, GroupScenario, GroupStep

_SETTLE: Final = GroupStep("settle")
_SETTLED_FAULTS: Final = frozenset({"crash"})
"""The faults of a search that lets the protocol settle after each step."""


@frozen
class Budget:
    """How often the operator acts and faults occur in one schedule."""

    starts: int = 0
    stops: int = 0
    restarts: int = 0
    updates: int = 0
    retirements: int = 0
    rolls: int = 0
    faults: int = 0

    def spend(self, name: str) -> Budget:
        """Return what is left after one use."""
        return evolve(self, **{name: getattr(self, name) - 1})


_OPERATOR_VERBS: Final = {
    "start": "starts",
    "stop": "stops",
    "restart": "restarts",
    "update": "updates",
    "retire": "retirements",
    "roll": "rolls",
}


@frozen
class GroupCell:
    """The subject of an exploration: a group, its events, and the properties to check."""

    scenario: GroupScenario
    """The group; its steps come before the search."""
    budget: Budget
    faults: tuple[str, ...] = FAULTS
    """The kinds of faults."""
    settles: bool = False
    """Whether the protocol settles after each step of the operator, so that only these are ordered."""
    properties: tuple[str, ...] = PROPERTIES


class SearchState(NamedTuple):
    """A group, and what can still happen to it."""

    world: World
    budget: Budget


@frozen
class GroupCounterexample:
    """A violation and a shortest schedule that leads to it."""

    violation: Violation
    example: GroupScenario

    def __str__(self) -> str:
        return f"{self.violation.property}: {self.violation}\n  {self.example}"


@frozen
class GroupExploration:
    """The result of exploring a cell."""

    cell: GroupCell
    states: int
    transitions: int
    settled_states: int
    """States in which only an operator or a fault can change anything."""
    schedules: int | None
    """Different schedules; None if some schedule does not end."""
    complete: bool
    """Whether all states were explored."""
    counterexamples: Mapping[str, GroupCounterexample] = field(factory=dict)
    """One counterexample for each violated property."""


@frozen
class GroupModel:
    """The model of one cell (``spark_sim.search.model.Model``)."""

    cell: GroupCell

    def initial_states(self) -> Iterable[SearchState]:
        """Return the group after the steps of the cell's scenario."""
        return (SearchState(run_scenario(self.cell.scenario), self.cell.budget),)

    def transitions(self, state: SearchState) -> Iterator[Transition[SearchState, tuple[GroupStep, ...]]]:
        """Yield the steps of the protocol, the operator and faults."""
        world, budget = state
        if not self.cell.settles:
            for step, after in effective_steps(world):
                yield self._transition(state, step, SearchState(after, budget), 0)
        for step, left, label in self._external_steps(state):
            yield self._transition(state, step, SearchState(apply_possible_step(world, step), left), label)

    def _external_steps(self, state: SearchState) -> Iterator[tuple[GroupStep, Budget, int]]:
        """Yield the steps of the operator and of faults, with what is left of the budget, and their labels."""
        world, budget = state
        for verb, name in _OPERATOR_VERBS.items():
            if getattr(budget, name):
                for step in possible_steps(world, verb):
                    if verb != "start" or not world.members[step.name].restarts:
                        yield step, budget.spend(name), OPERATOR_ACTION
        if budget.faults:
            for verb in self.cell.faults:
                if not self.cell.settles or verb in _SETTLED_FAULTS:
                    for step in possible_steps(world, verb):
                        yield step, budget.spend("faults"), FAULT_ACTION
        for verb in ("arrive", "arrive-commit"):
            for step in possible_steps(world, verb):
                yield step, budget, FAULT_ACTION

    def canonical(self, state: SearchState) -> Hashable:
        """Return a key that is equal for states that differ only in their epochs' values."""
        return state.world.key, state.budget

    def is_terminal(self, _state: SearchState, labels: Sequence[int]) -> bool:
        """Whether the protocol has settled."""
        return all(label & EXTERNAL_ACTION for label in labels)

    def violations(self, state: SearchState, *, terminal: bool) -> Iterable[Violation]:
        """Return the first violation of a state; where a cell settles, all its states have settled."""
        settled = terminal or self.cell.settles
        return self._checked(chain(always(state.world), eventually(state.world) if settled else ()))

    def _checked(self, violations: Iterable[Violation]) -> list[Violation]:
        """Return the first violation of a property of the cell."""
        return list(islice((violation for violation in violations if violation.property in self.cell.properties), 1))

    def _transition(
        self, state: SearchState, step: GroupStep, then: SearchState, label: int
    ) -> Transition[SearchState, tuple[GroupStep, ...]]:
        before, after = state.world, then.world
        steps: tuple[GroupStep, ...] = (step,)
        if self.cell.settles:
            taken = [(step, after), *settling(after)]
            for number, (_, world) in enumerate(taken, 1):
                for violation in self._checked(always(world)):
                    return Transition(tuple(step for step, _ in taken[:number]), None, 1 | label, violation)
            after, steps = taken[-1][1], (step, _SETTLE)
        if STANDBY_STAYS in self.cell.properties and after.group.targets != before.group.targets:
            for violation in moved_standbys(before, after):
                return Transition(steps, None, 1 | label, violation)
        if STATIC_RETURNS in self.cell.properties:
            for violation in changed_returns(before, after):
                return Transition(steps, None, 1 | label, violation)
        return Transition(steps, SearchState(after, then.budget), 1 | label)


def explore(cell: GroupCell, max_states: int = MAX_STATES) -> GroupExploration:
    """Explore all states of a cell; ``max_states`` as in ``bfs``."""
    graph = bfs(GroupModel(cell), max_states)
    examples: dict[str, GroupCounterexample] = {}
    for state_violation in graph.violations:
        if state_violation.violation.property not in examples:
            last = () if state_violation.action is None else state_violation.action
            examples[state_violation.violation.property] = GroupCounterexample(
                state_violation.violation, _scenario_to(cell, graph, state_violation.state, last)
            )
    paths = count_paths(graph) if graph.complete else None
    if paths is not None and paths.cycle_state and REBALANCING_TERMINATES in cell.properties:
        examples[REBALANCING_TERMINATES] = _cycle(cell, graph, paths.cycle_state)
    return GroupExploration(
        cell,
        states=graph.state_count,
        transitions=graph.transition_count + graph.stuttering_steps,
        settled_states=len(graph.terminal_states),
        schedules=None if paths is None else paths.schedules,
        complete=graph.complete,
        counterexamples=examples,
    )


def _cycle(cell: GroupCell, graph: StateGraph[SearchState, tuple[GroupStep, ...]], number: int) -> GroupCounterexample:
    cycle = tuple(step for action in cycle_from(graph, number) for step in action)
    text = f"the group comes back to the same state: {', '.join(map(str, cycle))}"
    return GroupCounterexample(Violation(REBALANCING_TERMINATES, "", text), _scenario_to(cell, graph, number, cycle))


def _scenario_to(
    cell: GroupCell, graph: StateGraph[SearchState, tuple[GroupStep, ...]], number: int, last: Sequence[GroupStep]
) -> GroupScenario:
    _, actions = path_to(graph, number)
    steps = [step for action in actions for step in action]
    return evolve(cell.scenario, steps=(*cell.scenario.steps, *steps, *last))
