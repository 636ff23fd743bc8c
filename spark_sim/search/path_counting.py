"""Counts of all schedules of a model, exact and without enumerating them, and the longest of them.

A schedule is a sequence of actions from an initial state to a state in which it may end, or to a violation after which
nothing follows. A symmetry-reduced state stands for many: the multiplicity of each transition says for how many members
the action is the same, so that the schedules of the group with named members are counted.
"""

from __future__ import annotations

from array import array
from typing import Any, Final

from attrs import frozen

from streams_assignor.spark_sim.search.cycles import find_cycle_state
from streams_assignor.spark_sim.search.graph import FAILED_STATE, StateGraph
from streams_assignor.spark_sim.search.model import GENERATION, MULTIPLICITY, OPERATOR_ACTION


@frozen
class PathCounts:
    """The counts of all schedules; they are None if some schedule does not end."""

    schedules: int | None
    """How many schedules there are, with members told apart."""
    depth: int | None
    """The number of actions in the longest schedule."""
    max_rebalances: int | None
    """The most generations that begin between two actions of the operator or faults."""
    cycle_state: int | None = None
    """The number of a state that the protocol alone leads back to; None if there is none."""


NOT_COUNTED: Final = PathCounts(None, None, None)


def count_paths(graph: StateGraph[Any, Any]) -> PathCounts:
    """Count the schedules of a complete graph, in a topological order of its states."""
    size, offsets, targets, labels = graph.state_count + 1, graph.edge_offsets, graph.targets, graph.labels
    in_degree = array("i", bytes(4 * size))
    for target in targets:
        in_degree[target] += 1
    paths = [0] * size
    depth, rebalances = array("i", bytes(4 * size)), array("i", bytes(4 * size))
    for initial, alike in graph.initial_states.items():
        paths[initial] = len(alike)
    ready = [state for state in range(1, size) if not in_degree[state]]
    for state in ready:  # grows during the loop
        paths_here, depth_here, rebalances_here = paths[state], depth[state] + 1, rebalances[state]
        for edge in range(offsets[state], offsets[state + 1]):
            target, label = targets[edge], labels[edge]
            paths[target] += paths_here * (label & MULTIPLICITY)
            if depth[target] < depth_here:
                depth[target] = depth_here
            since = 0 if label >= OPERATOR_ACTION else rebalances_here
            if label & GENERATION:
                since += 1
            if rebalances[target] < since:
                rebalances[target] = since
            in_degree[target] -= 1
            if not in_degree[target] and target != FAILED_STATE:
                ready.append(target)
    if len(ready) < graph.state_count:
        return PathCounts(None, None, None, find_cycle_state(graph, in_degree))
    schedules = sum(paths[state] for state in (FAILED_STATE, *graph.terminal_states, *graph.closed_states))
    return PathCounts(schedules, max(depth), max(rebalances))
