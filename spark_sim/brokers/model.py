"""Model of an upgrade of brokers: every order in which the operator's plan and the faults can happen.

Nodes are alike, so states that differ only in the names of nodes are one state (``BrokerModel.canonical``). Every other
step uses something up: nodes to bounce, levels to raise, faults. So no state can be reached again, and the schedules
are the paths of the graph.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from attrs import evolve, frozen

from streams_assignor.spark_sim.brokers._settle import eligible_controllers
from streams_assignor.spark_sim.brokers._watching_group import WatchingGroup
from streams_assignor.spark_sim.brokers.actions import apply_step, check_final_state, initial_state
from streams_assignor.spark_sim.brokers.cluster_state import ClusterState, EventKind
from streams_assignor.spark_sim.brokers.operator_program import ReleasePair
from streams_assignor.spark_sim.brokers.plans import OperatorPlan, background_steps, fault_steps, race_steps
from streams_assignor.spark_sim.brokers.scenario import BrokerScenario, ClusterStep, make_step
from streams_assignor.spark_sim.model.events import TraceEvent
from streams_assignor.spark_sim.model.violations import Violation
from streams_assignor.spark_sim.search.bfs import bfs
from streams_assignor.spark_sim.search.graph import StateGraph, path_to
from streams_assignor.spark_sim.search.model import FAULT_ACTION, Transition
from streams_assignor.spark_sim.search.path_counting import count_paths
from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.cluster.features.dialects import Dialect


@frozen
class BrokerCell:
    """One cell of the matrix: an upgrade, a dialect, a plan, the nodes and the number of faults."""

    pair: ReleasePair
    dialect: Dialect
    plan: OperatorPlan
    nodes: tuple[str, ...] = ("1", "2", "3")
    faults: int = 1
    """The most faults in a schedule."""

    @property
    def scenario(self) -> BrokerScenario:
        """The cluster before the first step."""
        nodes = tuple((name, self.pair.origin) for name in self.nodes)
        return BrokerScenario(
            nodes, (self.pair.origin_level,), self.dialect, METADATA_VERSION if self.plan.with_watching_group else ""
        )


@frozen
class BrokerExploration:
    """The result of exploring a cell."""

    cell: BrokerCell
    states: int
    transitions: int
    schedules: int
    """Different paths from the initial state to a terminal or violating state."""
    terminal_states: int
    completed: int
    """Terminal states in which the operator has finished the plan."""
    refused_requests: int
    """Transitions in which a request of the operator is refused."""
    rejected_nodes: int
    """Transitions in which a node exits because the cluster rejects it."""
    violating_states: int
    violation: Violation | None = None
    example: BrokerScenario | None = None
    """A shortest path to a violating state."""
    stalled_example: BrokerScenario | None = None
    """A shortest path to a terminal state in which the plan is not finished."""


class BrokerState(NamedTuple):
    """A cluster, the phase of the operator's plan, and the faults that are left."""

    cluster_state: ClusterState
    phase_index: int
    faults_left: int


class BrokerAction(NamedTuple):
    """The steps of one transition, and the events that they caused."""

    steps: tuple[ClusterStep, ...]
    events: tuple[TraceEvent, ...]


@frozen
class BrokerModel:
    """The model of one cell (``spark_sim.search.model.Model``)."""

    cell: BrokerCell

    def initial_states(self) -> tuple[BrokerState]:
        """Return the cluster before the first step."""
        return (BrokerState(initial_state(self.cell.scenario), 0, self.cell.faults),)

    def transitions(self, state: BrokerState) -> Iterator[Transition[BrokerState, BrokerAction]]:
        """Yield the steps of the operator, of the background and of faults, with each possible controller."""
        cluster, phase_index, faults_left = state
        for step, phase in self.cell.plan.next_steps(cluster, self.cell.pair, phase_index):
            yield from _outcomes(cluster, step, phase, faults_left)
            if faults_left:
                for race in race_steps(cluster, self.cell.pair, step):
                    yield from _outcomes(cluster, race, phase, faults_left - 1, FAULT_ACTION)
        for step in background_steps(cluster):
            yield from _outcomes(cluster, step, phase_index, faults_left)
        if faults_left:
            for step in fault_steps(cluster, self.cell.pair, self.cell.plan):
                yield from _outcomes(cluster, step, phase_index, faults_left - 1, FAULT_ACTION)

    def canonical(self, state: BrokerState) -> Hashable:
        """Return a key that is equal for states that differ only in the names of nodes and in their history."""
        return _canonical(state)

    def is_terminal(self, _state: BrokerState, labels: Sequence[int]) -> bool:
        """Whether only faults can change the state."""
        return all(label & FAULT_ACTION for label in labels)

    def violations(self, state: BrokerState, *, terminal: bool) -> Iterable[Violation]:
        """Return the first violation of a state."""
        cluster = check_final_state(state.cluster_state) if terminal else state.cluster_state
        return cluster.violations[:1]


def explore(cell: BrokerCell) -> BrokerExploration:
    """Explore all states of a cell."""
    refused = rejected = 0

    def count_events(_number: int, transition: Transition[BrokerState, BrokerAction]) -> None:
        nonlocal refused, rejected
        refused += any(event.kind is EventKind.REFUSED and not event.who for event in transition.action.events)
        rejected += any(event.kind is EventKind.EXITED for event in transition.action.events)

    graph = bfs(BrokerModel(cell), visit=count_events)
    stalled = [number for number in graph.terminal_states if not _finished(cell, graph.state(number))]
    schedules = count_paths(graph).schedules
    assert schedules is not None, "no state can be reached again; this should never happen"
    violations = graph.violations
    return BrokerExploration(
        cell,
        states=graph.state_count,
        transitions=graph.transition_count + graph.stuttering_steps,
        schedules=schedules,
        terminal_states=len(graph.terminal_states),
        completed=len(graph.terminal_states) - len(stalled),
        refused_requests=refused,
        rejected_nodes=rejected,
        violating_states=len(violations),
        violation=violations[0].violation if violations else None,
        example=_scenario_to(cell, graph, violations[0].state) if violations else None,
        stalled_example=_scenario_to(cell, graph, stalled[0]) if stalled else None,
    )


def _finished(cell: BrokerCell, state: BrokerState) -> bool:
    return cell.plan.finished(state.cluster_state, cell.pair, state.phase_index)


def _outcomes(
    cluster: ClusterState, step: ClusterStep, phase_index: int, faults_left: int, label: int = 0
) -> Iterator[Transition[BrokerState, BrokerAction]]:
    """Yield the outcomes of a step: if it causes an election, one for each eligible controller."""

    def outcome(after: ClusterState, *steps: ClusterStep) -> Transition[BrokerState, BrokerAction]:
        action = BrokerAction(steps, after.events[len(cluster.events) :])
        return Transition(action, BrokerState(after, phase_index, faults_left), 1 | label)

    after = apply_step(cluster, step)
    yield outcome(after, step)
    if any(event.kind is EventKind.ELECTED for event in after.events[len(cluster.events) :]):
        for number in eligible_controllers(after.cluster):
            if number != after.cluster.active:
                election = make_step("elect", after.node_by_id(number).name)
                yield outcome(apply_step(after, election), step, election)


def _canonical(state: BrokerState) -> Hashable:
    cluster_state, phase_index, faults_left = state
    nodes = sorted(_node_key(cluster_state, name) for name in cluster_state.nodes)
    levels = cluster_state.log.levels_from(0)
    finalized, violated = tuple(cluster_state.cluster.finalized.items()), bool(cluster_state.violations)
    return tuple(nodes), finalized, levels, _group_key(cluster_state.group), phase_index, faults_left, violated


def _group_key(group: WatchingGroup | None) -> tuple[Any, ...]:
    if group is None:
        return ()
    leader, *others = group.levels.values()
    return (
        leader,
        tuple(sorted(others)),
        group.newest_answer and (group.newest_answer.epoch, tuple(group.newest_answer.finalized.items())),
    )


def _node_key(state: ClusterState, name: str) -> tuple[Any, ...]:
    p = state.nodes[name]
    cluster = state.cluster
    knowledge = [
        (node.live, node.supports[METADATA_VERSION]) if node else ()
        for node in (group.get(p.id) for group in (cluster.brokers, cluster.registering, cluster.controllers))
    ]
    copy = state.feature_caches.by_broker.get(p.id)
    return (
        *(
            p.role.value,
            p.release.name,
            p.running,
            p.should_run,
            p.crashed,
            p.original,
            p.stale,
            p.loaded_entries,
            p.snapshot_entries,
        ),
        *knowledge,
        p.id == cluster.active,
        (copy.epoch, tuple(copy.finalized.items())) if copy and state.group else (),
    )


def _scenario_to(cell: BrokerCell, graph: StateGraph[BrokerState, BrokerAction], number: int) -> BrokerScenario:
    """Return a shortest scenario to a state, a stop and the start after it as one bounce."""
    _, actions = path_to(graph, number)
    steps = deque(step for action in actions for step in action.steps)
    return evolve(cell.scenario, steps=tuple(_merge_restarts(steps)))


def _merge_restarts(steps: deque[ClusterStep]) -> Iterator[ClusterStep]:
    while steps:
        first = steps.popleft()
        if first.verb == "stop" and steps and steps[0].verb == "start" and _names(first) == _names(steps[0]):
            ((name, release),) = steps[0].nodes
            if release is not None:
                steps.popleft()
                first = make_step("bounce", name, to=release)
        yield first


def _names(step: ClusterStep) -> list[str]:
    return [name for name, _ in step.nodes]
