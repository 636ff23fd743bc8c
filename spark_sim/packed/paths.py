"""Paths of the packed model as scenarios with named members, which ``replay`` and the tests can play."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import define

from streams_assignor.spark_sim.model.scenario import Instance, Scenario, Step, make_step
from streams_assignor.spark_sim.packed.actions import PackedAction
from streams_assignor.spark_sim.packed.bfs import PackedGraph
from streams_assignor.spark_sim.packed.encoding import Encoding
from streams_assignor.spark_sim.search.cycles import cycle_from
from streams_assignor.spark_sim.search.graph import path_to
from streams_assignor.spark_sim.search.path_counting import count_paths
from streams_assignor.spark_sim.search.sampling import member_names

_SCENARIO_VERBS = {"spurious join": "join"}


@define
class NamedGroup:
    """A packed state whose members have names (A leads at first), changed by one action after another."""

    encoding: Encoding
    states: list[int]
    group_fields: int

    @classmethod
    def at(cls, packed: Encoding, leader: int) -> NamedGroup:
        """Return the initial group in which the member ``leader`` of the cell is named A."""
        process_states, group = packed.initial_states()[leader]
        return cls(packed, [process_states[leader], *process_states[:leader], *process_states[leader + 1 :]], group)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its members."""
        return member_names(len(self.states))

    def instance(self, member: int) -> Instance:
        """Return what a member runs as, or ran as last."""
        state = self.encoding.process_states.values[self.states[member]]
        return self.encoding.instances[self.encoding.instance_of(state)]

    def apply(self, action: PackedAction, member: int | None = None) -> Iterator[Step]:
        """Take an action with this member, or with the first that can take it; return it as steps of a scenario."""
        if action.verb == "lead":
            member = next(i for i, state in enumerate(self.states) if self.encoding.leader_instances[state] >= 0)
            after_assignment = self.encoding.leader_result(self.states)
            if isinstance(after_assignment, dict):
                self.states = [after_assignment[state] for state in self.states]
                self.group_fields += action.add
            return iter([make_step("lead", self.names[member])])
        member = self.states.index(action.before) if member is None else member
        before = self.instance(member)
        self.states, self.group_fields, elected = self.encoding.apply(self.states, self.group_fields, member, action)
        steps = [make_step("elect", self._leader_name(elected))] if elected is not None else []
        name, verb = self.names[member], _SCENARIO_VERBS.get(action.verb, action.verb)
        after = self.instance(member)
        to = after if verb == "start" and after != before else None
        return iter([*steps, make_step(verb, name, instance=to)])

    def _leader_name(self, member: int) -> str:
        """Return the name of a member that leads, with the number of its id if that is not its oldest."""
        state = self.encoding.process_states.values[self.states[member]]
        number = [*(orphan.leads for orphan in state.orphaned_ids), state.leads].index(True) + 1
        return self.names[member] + (f"#{number}" if number > 1 else "")


def scenario_to(graph: PackedGraph, state: int, *actions: PackedAction) -> Scenario:
    """Return a shortest path to a state, and further actions, as a scenario."""
    initial_state, path = path_to(graph, state)
    return as_scenario(graph, initial_state, [*path, *actions])


def as_scenario(graph: PackedGraph, initial_state: int, actions: Iterable[PackedAction]) -> Scenario:
    """Return a schedule as a scenario, with names for its members."""
    group = NamedGroup.at(graph.encoding, graph.initial_states[initial_state][0])
    members = tuple((name, group.instance(member)) for member, name in enumerate(group.names))
    steps = [step for action in actions for step in group.apply(action)]
    return Scenario(members, (make_step("hold"), *steps))


def cycle_scenario(graph: PackedGraph) -> Scenario | None:
    """Return a shortest path to a state on a cycle, and the cycle once; None if rebalancing always terminates."""
    state = count_paths(graph).cycle_state
    if state is None:
        return None
    initial_state, actions = path_to(graph, state)
    return as_scenario(graph, initial_state, [*actions, *cycle_from(graph, state)])
