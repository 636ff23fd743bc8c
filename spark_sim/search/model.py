"""The interface between a model and its search: initial states, actions, next states, and which states are equal.

A model defines what can happen; this package explores it. Models that reach a state on many paths are searched as a
graph (``bfs``), others as a tree (``walk``).

The label of a transition is one byte. Its lowest three bits, ``MULTIPLICITY``, count the members for which the action
is the same: a symmetry-reduced state has one transition for all of them. The bits above classify the action.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from streams_assignor.spark_sim.model.violations import Violation

S = TypeVar("S")
A = TypeVar("A")

LABEL_UNIT: Final = 1 << 3
"""The lowest bit above the multiplicity."""
MULTIPLICITY: Final = LABEL_UNIT - 1
"""Mask of the number of members that can take the action (1 to 7)."""
GENERATION: Final = LABEL_UNIT
"""The action begins a generation."""
OPERATOR_ACTION: Final = LABEL_UNIT << 1
"""The operator acts."""
FAULT_ACTION: Final = LABEL_UNIT << 2
"""A fault occurs."""


class Transition(NamedTuple, Generic[S, A]):
    """An action of a state, and the state that it leads to."""

    action: A
    state: S | None
    """The next state; None if the action violates a property, after which nothing follows."""
    label: int = 1
    violation: Violation | None = None
    """Why there is no next state."""


class Model(Protocol[S, A]):
    """A model for a search; ``BaseModel`` implements it for models with one next state for each action."""

    def initial_states(self) -> Iterable[S]:
        """Return the states in which schedules begin. Two of them may be equal up to symmetry."""
        ...

    def transitions(self, state: S) -> Iterable[Transition[S, A]]:
        """Return the transitions of a state, in an order that depends on the state alone."""
        ...

    def canonical(self, state: S) -> Hashable:
        """Return a key that two states share if and only if they are equal up to symmetry. ``walk`` does not use it."""
        ...

    def is_terminal(self, state: S, labels: Sequence[int]) -> bool:
        """Whether a schedule may end in a state whose transitions have these labels."""
        ...

    def violations(self, state: S, *, terminal: bool) -> Iterable[Violation]:
        """Return the violations of a state.

        Args:
            state: A state that has been reached.
            terminal: False before its transitions are explored: a violating state is not expanded. True once it
                turned out to be terminal: then also check what has to hold eventually.
        """
        ...


class BaseModel(ABC, Generic[S, A]):
    """A model with one next state for each action, and without states in common between schedules.

    Override ``transitions`` if an action has several outcomes.
    """

    @abstractmethod
    def initial_states(self) -> Iterable[S]:
        """See ``Model``."""

    @abstractmethod
    def actions(self, state: S) -> Iterable[A]:
        """Return the enabled actions of a state, in an order that depends on the state alone."""

    @abstractmethod
    def next(self, state: S, action: A) -> S | Violation:
        """Return the state after an action, or the violation that the action is. ``state`` is unchanged."""

    def transitions(self, state: S) -> Iterator[Transition[S, A]]:
        """See ``Model``."""
        for action in self.actions(state):
            after = self.next(state, action)
            if isinstance(after, Violation):
                yield Transition(action, None, violation=after)
            else:
                yield Transition(action, after)

    def canonical(self, state: S) -> Hashable:
        """Every state differs from all others."""
        return id(state)

    def is_terminal(self, state: S, labels: Sequence[int]) -> bool:  # noqa: ARG002
        """A schedule ends where nothing is enabled."""
        return not labels

    def violations(self, state: S, *, terminal: bool) -> Iterable[Violation]:  # noqa: ARG002
        """No state violates anything."""
        return ()
