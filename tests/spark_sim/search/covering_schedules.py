"""Schedules that together cover every transition of a graph, to be replayed against another implementation.

Each begins with a shortest path to a state that has an uncovered transition, and continues while the current state has
one. A schedule covers dozens of transitions, so they are few: all schedules could not be replayed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, NamedTuple

from streams_assignor.spark_sim.model.violations import Violation
from streams_assignor.spark_sim.search.graph import FAILED_STATE, StateGraph, path_to
from streams_assignor.spark_sim.search.model import A, S, Transition


class CoveringSchedule(NamedTuple, Generic[A]):
    """One schedule."""

    initial_state: int
    """The number of the state in which it begins."""
    actions: list[A]
    violation: Violation | None
    """What its last action violates; None if it violates nothing."""


def covering_schedules(graph: StateGraph[S, A]) -> Iterator[CoveringSchedule[A]]:
    """Yield schedules that cover every transition of a complete graph; stuttering steps may be covered too."""
    uncovered_by_state: dict[int, list[Transition[S, A]]] = {}

    def uncovered(number: int) -> list[Transition[S, A]]:
        if number not in uncovered_by_state:
            transitions = [] if number in closed else list(graph.model.transitions(graph.state(number)))
            uncovered_by_state[number] = transitions
        return uncovered_by_state[number]

    closed = frozenset(graph.closed_states)
    for start in range(1, graph.state_count + 1):
        while uncovered(start):
            initial_state, actions = path_to(graph, start)
            number, violation = start, None
            while number != FAILED_STATE and uncovered(number):
                transition = uncovered(number).pop()
                actions.append(transition.action)
                number, violation = graph.target_of(transition), transition.violation
            yield CoveringSchedule(initial_state, actions, violation)
