"""Every way that a plan can go: all states of a cluster, found breadth first, so that a counter-example is a shortest.

Nodes are alike, so states that differ by their names only are one state (``_key``). A step that changes nothing leads
nowhere; all others use something up (nodes to bounce, levels to raise, faults), so there is no way back to a state, and
the schedules can be counted without walking them: each is a path through the graph.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from attrs import define, evolve, field, frozen

from spark_sim.brokers.group import Group
from spark_sim.brokers.phases import Pair
from spark_sim.brokers.plans import Plan, faults, in_passing, races
from spark_sim.brokers.rest import candidates
from spark_sim.brokers.scenario import BrokerScenario, Step, step
from spark_sim.brokers.steps import begin, finish, play
from spark_sim.brokers.world import World
from spark_sim.properties import Violation
from upgrade.features.dialects import Dialect
from upgrade.features.levels import METADATA


@frozen
class Cell:
    """What is explored: a pair of releases in a dialect, a plan, the nodes, and how many faults there may be."""

    pair: Pair
    dialect: Dialect
    plan: Plan
    nodes: tuple[str, ...] = ("1", "2", "3")
    faults: int = 1

    @property
    def scenario(self) -> BrokerScenario:
        """The cluster before the first step."""
        nodes = tuple((name, self.pair.origin) for name in self.nodes)
        return BrokerScenario(nodes, (self.pair.low,), self.dialect, METADATA if self.plan.watched else "")


@frozen
class Explored:
    """What came of a cell.

    ``schedules`` are the different ways from the start to an ending. Of the ``endings``, ``reached`` are those in which
    the operator got through the whole plan; ``held_up`` is a shortest way to another one. ``refused`` and
    ``turned_away`` count the steps in which a request was refused and a node had to stay outside. ``violations`` are
    states in which a property is violated, and ``example`` is a shortest way to one of them.
    """

    cell: Cell
    states: int
    transitions: int
    schedules: int
    endings: int
    reached: int
    refused: int
    turned_away: int
    violations: int
    violation: Violation | None = None
    example: BrokerScenario | None = None
    held_up: BrokerScenario | None = None


class _State(NamedTuple):
    world: World
    place: int
    faults: int


@define
class _Vertex:
    """A state, how it was reached first, and where its steps lead."""

    state: _State
    before: int | None = None
    by: tuple[Step, ...] = ()
    leads: list[int] = field(factory=list)
    ends: bool = True


@define
class _Graph:
    cell: Cell
    vertices: list[_Vertex] = field(factory=list)
    known: dict[Any, int] = field(factory=dict)
    transitions: int = 0
    refused: int = 0
    turned_away: int = 0

    def add(self, state: _State, before: int | None = None, by: tuple[Step, ...] = ()) -> int:
        """Return the number of a state, which may be new."""
        key = _key(state)
        if key not in self.known:
            self.known[key] = len(self.vertices)
            self.vertices.append(_Vertex(state, before, by))
        return self.known[key]


def explore(cell: Cell) -> Explored:
    """Find all states of a cell."""
    graph = _Graph(cell)
    graph.add(_State(begin(cell.scenario), 0, cell.faults))
    endings, reached, violating, held_up = 0, 0, list[tuple[int, Violation]](), list[int]()
    for at, vertex in enumerate(graph.vertices):  # which grow meanwhile
        world = vertex.state.world
        if not world.violations:
            _expand(graph, at)
            if vertex.ends:
                endings += 1
                world = finish(world)
                through = cell.plan.finished(world, cell.pair, vertex.state.place)
                reached += through
                held_up += [] if through else [at]
        violating += [(at, violation) for violation in world.violations[:1]]
    return Explored(
        cell,
        states=len(graph.vertices),
        transitions=graph.transitions,
        schedules=_paths(graph),
        endings=endings,
        reached=reached,
        refused=graph.refused,
        turned_away=graph.turned_away,
        violations=len(violating),
        violation=violating[0][1] if violating else None,
        example=_way(graph, violating[0][0]) if violating else None,
        held_up=_way(graph, held_up[0]) if held_up else None,
    )


def _expand(graph: _Graph, at: int) -> None:
    """Take all steps from a state. It is an ending if, unless something goes wrong, none leads anywhere."""
    vertex = graph.vertices[at]
    here = _key(vertex.state)
    for steps, after in _successors(graph.cell, vertex.state):
        graph.transitions += 1
        new = after.world.events[len(vertex.state.world.events) :]
        graph.refused += any(told.kind == "refused" and not told.who for told in new)
        graph.turned_away += any(told.kind == "exited" for told in new)
        if _key(after) != here:
            vertex.leads.append(graph.add(after, at, steps))
            vertex.ends &= after.faults < vertex.state.faults


def _successors(cell: Cell, state: _State) -> Iterator[tuple[tuple[Step, ...], _State]]:
    world, place, left = state
    for each, phase in cell.plan.options(world, cell.pair, place):
        yield from _played(each, _State(world, phase, left))
        if left:
            for race in races(world, cell.pair, each):
                yield from _played(race, _State(world, phase, left - 1))
    for each in in_passing(world):
        yield from _played(each, state)
    if left:
        for each in faults(world, cell.pair, cell.plan):
            yield from _played(each, _State(world, place, left - 1))


def _played(each: Step, state: _State) -> Iterator[tuple[tuple[Step, ...], _State]]:
    """Play a step; if somebody had to be elected, also with every other that could have been."""
    world = play(state.world, each)
    yield (each,), state._replace(world=world)
    new = world.events[len(state.world.events) :]
    if any(told.kind == "elected" for told in new):
        for number in candidates(world.cluster):
            if number != world.cluster.active:
                other = step("elect", world.process(number).name)
                yield (each, other), state._replace(world=play(world, other))


def _key(state: _State) -> Any:
    """Return what two states have in common that differ by the names of nodes only (and by how they came about)."""
    world, place, left = state
    cluster = world.cluster
    nodes = sorted(_node_key(world, process.name) for process in world.processes.values())
    levels = world.log.levels_from(0)
    finalized, violated = tuple(cluster.finalized.items()), bool(world.violations)
    return tuple(nodes), finalized, levels, _group_key(world.group), place, left, violated


def _group_key(group: Group | None) -> tuple[Any, ...]:
    if group is None:
        return ()
    leader, *others = group.levels.values()
    return leader, tuple(sorted(others)), group.heard and (group.heard.epoch, tuple(group.heard.finalized.items()))


def _node_key(world: World, name: str) -> tuple[Any, ...]:
    p = world.processes[name]
    cluster = world.cluster
    known = [
        (node.live, node.supports[METADATA]) if node else ()
        for node in (group.get(p.id) for group in (cluster.brokers, cluster.arriving, cluster.controllers))
    ]
    copy = world.copies.of.get(p.id)
    return (
        *(p.role.value, p.release.name, p.runs, p.meant, p.crashed, p.own, p.stale, p.loaded, p.compacted),
        *known,
        p.id == cluster.active,
        (copy.epoch, tuple(copy.finalized.items())) if copy and world.group else (),
    )


def _way(graph: _Graph, at: int) -> BrokerScenario:
    """Return the steps that led to a state, a stop and its start as one bounce."""
    steps: deque[Step] = deque()
    vertex = graph.vertices[at]
    while vertex.before is not None:
        steps.extendleft(reversed(vertex.by))
        vertex = graph.vertices[vertex.before]
    return evolve(graph.cell.scenario, steps=tuple(_bounces(steps)))


def _bounces(steps: deque[Step]) -> Iterator[Step]:
    while steps:
        first = steps.popleft()
        if first.verb == "stop" and steps and steps[0].verb == "start" and _names(first) == _names(steps[0]):
            ((name, release),) = steps[0].nodes
            if release is not None:
                steps.popleft()
                first = step("bounce", name, to=release)
        yield first


def _names(each: Step) -> list[str]:
    return [name for name, _ in each.nodes]


def _paths(graph: _Graph) -> int:
    """Count the ways from the first state to one that leads nowhere."""
    counts: dict[int, int] = {}
    waiting = [0]
    while waiting:
        at = waiting[-1]
        if unknown := [each for each in graph.vertices[at].leads if each not in counts]:
            waiting += unknown
            continue
        waiting.pop()
        counts[at] = sum(counts[each] for each in graph.vertices[at].leads) + graph.vertices[at].ends
    return counts[0]
