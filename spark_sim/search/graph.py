"""The reachable states of a model as columns, and the shortest path to each of them.

States are numbered from 1 in the order in which the search reached them. Number 0, ``FAILED_STATE``, stands for what
follows an action that violates a property. The graph stores no path: breadth-first search reaches states in the order
of their predecessors, so the predecessor of a state is found in ``state_counts``, and its action by asking the model
again.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Hashable, Iterator, MutableSequence
from typing import Final, Generic, NamedTuple

from attrs import Factory, define

from streams_assignor.spark_sim.model.violations import Violation
from streams_assignor.spark_sim.search.model import A, Model, S, Transition

FAILED_STATE: Final = 0
"""The number of what follows a violating action; it has no transitions."""


class StateViolation(NamedTuple, Generic[A]):
    """A property that does not hold in state ``state``, or after ``action`` in that state."""

    state: int
    violation: Violation
    action: A | None = None


class Edge(NamedTuple):
    """A transition of the graph; ``target`` is ``FAILED_STATE`` if the action violates a property."""

    target: int
    label: int


@define(eq=False)
class StateGraph(Generic[S, A]):
    """The states that a search has reached, and the transitions between them.

    The edges of state i are ``targets[edge_offsets[i]:edge_offsets[i + 1]]``; their labels are at the same places of
    ``labels``.
    """

    model: Model[S, A]
    numbers_by_key: dict[Hashable, int] = Factory(lambda: {-1: FAILED_STATE})
    """The number of the state with each canonical key."""
    state_counts: array[int] = Factory(lambda: array("i"))
    """Number i => how many states (``FAILED_STATE`` included) were known when state i had been expanded."""
    initial_states: dict[int, list[int]] = Factory(dict)
    """Number => which of the model's initial states it stands for."""
    edge_offsets: array[int] = Factory(lambda: array("q", [0, 0]))
    targets: MutableSequence[int] = Factory(list)
    labels: bytearray = Factory(bytearray)
    terminal_states: list[int] = Factory(list)
    """States in which a schedule may end."""
    closed_states: list[int] = Factory(list)
    """States that violate a property, and so were not expanded."""
    violations: list[StateViolation[A]] = Factory(list)
    """All violations found, in the order of their states."""
    stuttering_steps: int = 0
    """Transitions that lead to the state in which they begin; they are no edges."""
    _states: list[S | None] = Factory(lambda: [None])

    def add(self, state: S) -> int:
        """Return the number of a state, a new one if no equal state is known."""
        number = self.numbers_by_key.setdefault(self.model.canonical(state), len(self._states))
        if number == len(self._states):
            self._states.append(state)
        return number

    def state(self, number: int) -> S:
        """Return the state with a number."""
        state = self._states[number]
        assert state is not None
        return state

    def number_of(self, state: S) -> int:
        """Return the number of a state that is known; ``KeyError`` if it is not."""
        return self.numbers_by_key[self.model.canonical(state)]

    def target_of(self, transition: Transition[S, A]) -> int:
        """Return the number of the state that a transition leads to."""
        return FAILED_STATE if transition.state is None else self.number_of(transition.state)

    def predecessor(self, number: int) -> int:
        """Return the number of the state from which a state was first reached; 0 for an initial state."""
        return bisect_right(self.state_counts, number)

    def edges(self, number: int) -> Iterator[Edge]:
        """Yield the transitions of a state."""
        places = range(self.edge_offsets[number], self.edge_offsets[number + 1])
        return (Edge(self.targets[place], self.labels[place]) for place in places)

    @property
    def state_count(self) -> int:
        """How many states there are."""
        return len(self._states) - 1

    @property
    def transition_count(self) -> int:
        """How many transitions there are between different states, violating ones included."""
        return len(self.targets)

    @property
    def complete(self) -> bool:
        """Whether every state has been expanded."""
        return len(self.edge_offsets) == self.state_count + 2


def path_to(graph: StateGraph[S, A], number: int) -> tuple[int, list[A]]:
    """Return a shortest path to a state: the number of the initial state, and the actions from there."""
    actions = []
    while before := graph.predecessor(number):
        transitions = graph.model.transitions(graph.state(before))
        actions.append(next(transition.action for transition in transitions if graph.target_of(transition) == number))
        number = before
    return number, actions[::-1]
