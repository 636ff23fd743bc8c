"""Breadth-first search of a model, as a graph (``bfs``) or as a tree (``walk``).

The first path to a state is a shortest one, so the first counterexample of a property is a shortest one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, TypeVar

from streams_assignor.spark_sim.search.graph import FAILED_STATE, StateGraph, StateViolation
from streams_assignor.spark_sim.search.model import A, Model, S, Transition

MAX_STATES: Final = 10_000_000
"""About four gigabytes (416 bytes were measured for a packed state with seven transitions)."""

G = TypeVar("G", bound=StateGraph[Any, Any])


def bfs(
    model: Model[S, A],
    max_states: int = MAX_STATES,
    *,
    visit: Callable[[int, Transition[S, A]], None] | None = None,
) -> StateGraph[S, A]:
    """Return the graph of all states of a model.

    Args:
        model: The model to explore.
        max_states: No state is expanded once more than this many are known (``FAILED_STATE`` included); the graph is
            then not ``complete``.
        visit: Called with the number of a state and each of its transitions, stuttering steps included.
    """
    return fill(StateGraph(model), partial(_expand_state, visit=visit), max_states)


def fill(graph: G, expand: Callable[[G, int, int], int], max_states: int) -> G:
    """Add the initial states to an empty graph and expand all states; return the graph.

    Args:
        graph: A graph without states.
        expand: Expands states in the order of their numbers, from the given one, and returns the first number that it
            did not expand. It may expand one state or all that it can: a compact model saves the calls.
        max_states: See ``bfs``.
    """
    for place, state in enumerate(graph.model.initial_states()):
        graph.initial_states.setdefault(graph.add(state), []).append(place)
    graph.state_counts.append(graph.state_count + 1)
    number = 1
    while number <= graph.state_count < max_states:
        number = expand(graph, number, max_states)
    return graph


def _expand_state(
    graph: StateGraph[S, A],
    number: int,
    _max_states: int,
    *,
    visit: Callable[[int, Transition[S, A]], None] | None,
) -> int:
    """Add the transitions of one state; none if it violates a property."""
    model, state, first = graph.model, graph.state(number), len(graph.labels)
    broken = [StateViolation(number, violation, None) for violation in model.violations(state, terminal=False)]
    if broken:
        graph.closed_states.append(number)
    else:
        for transition in model.transitions(state):
            if visit is not None:
                visit(number, transition)
            _add_edge(graph, number, transition)
        if model.is_terminal(state, graph.labels[first:]):
            graph.terminal_states.append(number)
            broken = [StateViolation(number, violation, None) for violation in model.violations(state, terminal=True)]
    graph.violations += broken
    graph.edge_offsets.append(len(graph.targets))
    graph.state_counts.append(graph.state_count + 1)
    return number + 1


def _add_edge(graph: StateGraph[S, A], number: int, transition: Transition[S, A]) -> None:
    if transition.state is None:
        target = FAILED_STATE
        if transition.violation is not None:
            graph.violations.append(StateViolation(number, transition.violation, transition.action))
    else:
        target = graph.add(transition.state)
    if target == number:
        graph.stuttering_steps += 1
    else:
        graph.targets.append(target)
        graph.labels.append(transition.label)


def walk(
    model: Model[S, A],
    *,
    max_depth: int | None = None,
    max_states: int | None = None,
    rank: Callable[[S], int] | None = None,
) -> Iterator[S]:
    """Yield the states of a model level by level, without looking for equal ones; only two levels are kept.

    Args:
        model: The model to explore; states that violate a property are expanded too, which the caller prevents by
          stopping.
        max_depth: The greatest number of transitions from an initial state (None: until nothing is enabled).
        max_states: No state is expanded once this many have been yielded (None: no limit).
        rank: Within a level, states of a lower rank are expanded first (None: in the order in which they were yielded).
    """
    level, depth, count = list(model.initial_states()), 0, 0
    while level and (max_depth is None or depth < max_depth):
        depth += 1
        following: list[S] = []
        for state in level if rank is None else sorted(level, key=rank):
            if max_states is not None and count >= max_states:
                return
            for transition in model.transitions(state):
                if transition.state is not None:
                    count += 1
                    yield transition.state
                    if depth != max_depth:
                        following.append(transition.state)
        level = following
