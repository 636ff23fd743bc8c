"""The packed model of a group, as ``spark_sim.search`` explores it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from attrs import frozen

from streams_assignor.spark_sim.model.violations import Violation
from streams_assignor.spark_sim.packed.actions import PackedAction
from streams_assignor.spark_sim.packed.encoding import Encoding
from streams_assignor.spark_sim.packed.process_state import COMPLETING
from streams_assignor.spark_sim.packed.tables.transition_table import edge_label
from streams_assignor.spark_sim.packed.view import PHASE
from streams_assignor.spark_sim.search.model import Transition

LEAD = PackedAction("lead", -1, -1, PHASE)
"""The leader assigns. The action is the same for every leader, so it names no process."""


class PackedState(NamedTuple):
    """A state of the group: the numbers of its processes' states, sorted, and the group's own fields."""

    process_states: tuple[int, ...]
    group_fields: int


@frozen
class PackedModel:
    """All schedules of a cell up to the names of its members.

    A transition stands for every member that can take its action; its label has the multiplicity.
    """

    encoding: Encoding

    def initial_states(self) -> Iterator[PackedState]:
        """Yield the settled group, once for each leader."""
        return (PackedState(tuple(sorted(states)), fields) for states, fields in self.encoding.initial_states())

    def transitions(self, state: PackedState) -> Iterator[Transition[PackedState, PackedAction]]:
        """Yield the transitions of a state, in the order of the edges of ``packed.bfs.bfs``'s graph up to sorting."""
        view = self.encoding.summary(*state).view
        for number in dict.fromkeys(state.process_states):
            row = self.encoding.action_row(view, number)
            count = state.process_states.count(number)
            for action in row.actions:
                yield Transition(action, self._after(state, action), edge_label(action) + count)
            for action in row.elections:
                yield from self._elections(state, action, count)
            for action, violation in row.failures:
                yield Transition(action, None, count, violation)
        if view.group.phase == COMPLETING:
            yield from self._lead(state)

    def _after(self, state: PackedState, action: PackedAction) -> PackedState:
        member = state.process_states.index(action.before)
        after, fields, _ = self.encoding.apply(*state, member, action)
        return PackedState(tuple(sorted(after)), fields)

    def _elections(
        self, state: PackedState, action: PackedAction, count: int
    ) -> Iterator[Transition[PackedState, PackedAction]]:
        electors = self._after(state, action).process_states
        for elector in dict.fromkeys(electors):
            for _, elected in self.encoding.elections[elector]:
                chosen = action._replace(elects=(elector, elected))
                label = edge_label(action) + count * electors.count(elector)
                yield Transition(chosen, self._after(state, chosen), label)

    def _lead(self, state: PackedState) -> Iterator[Transition[PackedState, PackedAction]]:
        led = self.encoding.leader_result(state.process_states)
        if isinstance(led, Violation):
            yield Transition(LEAD, None, 1, led)
        elif led is not None:
            after = tuple(sorted(led[number] for number in state.process_states))
            yield Transition(LEAD, PackedState(after, state.group_fields + LEAD.add))

    def canonical(self, state: PackedState) -> Hashable:
        """Return the state as one integer."""
        return self.encoding.key(*state)

    def is_terminal(self, state: PackedState, labels: Sequence[int]) -> bool:  # noqa: ARG002
        """Whether the operator may be done: other actions, such as faults, may still be enabled."""
        return self.encoding.summary(*state).terminal

    def violations(self, state: PackedState, *, terminal: bool) -> Iterable[Violation]:
        """Return what does not hold eventually; what does not hold always is a transition without a next state."""
        violation = self.encoding.check_eventually(state.process_states) if terminal else None
        return () if violation is None else (violation,)
