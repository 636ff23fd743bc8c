"""The path counting of ``search.path_counting``, compiled (extra ``fast``: numba); the counts are equal.

Path counts exceed any machine word. The number of paths to a state is a row of *limbs* of 59 bits, the least
significant first: seven times a limb (an edge has a multiplicity of at most seven) plus a limb and the carry fit into
a word. If a row turns out too short, everything is counted again with rows twice as long.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import njit

from streams_assignor.spark_sim.packed.compiled._kernel import OPTIONS
from streams_assignor.spark_sim.search.cycles import find_cycle_state
from streams_assignor.spark_sim.search.graph import FAILED_STATE, StateGraph
from streams_assignor.spark_sim.search.model import GENERATION, MULTIPLICITY, OPERATOR_ACTION
from streams_assignor.spark_sim.search.path_counting import PathCounts

_LIMB_BITS: Final = 59
_LIMB: Final = (1 << _LIMB_BITS) - 1
_INITIAL_LIMBS: Final = 4
_TOO_SHORT: Final = -1


def count_paths(graph: StateGraph[Any, Any]) -> PathCounts:
    """Count the schedules of a complete graph, in a topological order of its states."""
    limbs = _INITIAL_LIMBS
    while (counted := _count_with_limbs(graph, limbs)) is None:
        limbs *= 2
    return counted


def _count_with_limbs(graph: StateGraph[Any, Any], limbs: int) -> PathCounts | None:
    """Count with rows of so many limbs; return None if they are too short."""
    first, labels = np.frombuffer(graph.edge_offsets, np.int64), np.frombuffer(graph.labels, np.uint8)
    targets, size = np.asarray(graph.targets, np.int32), graph.state_count + 1
    paths = np.zeros((size, limbs), np.int64)
    for initial, leaders in graph.initial_states.items():
        paths[initial, 0] = len(leaders)
    in_degree = np.bincount(targets, minlength=size)
    longest, ready = np.zeros((2, size), np.int32), np.zeros(size, np.int32)
    ordered = _topological_pass(first, targets, labels, in_degree, ready, paths, longest)
    if ordered == _TOO_SHORT:
        return None
    if ordered < graph.state_count:
        return PathCounts(None, None, None, find_cycle_state(graph, in_degree.tolist()))
    ends = paths[[FAILED_STATE, *graph.terminal_states, *graph.closed_states]].astype(object).sum(axis=0)
    schedules = sum(int(limb) << _LIMB_BITS * place for place, limb in enumerate(ends))
    depth, rebalances = longest.max(axis=1).tolist()
    return PathCounts(schedules, depth, rebalances)


@njit(**OPTIONS)
def _add(paths, state, target, times):  # type: ignore[no-untyped-def]
    """Add the paths to a state, so many times, to those of another one; return the carry that does not fit."""
    carried = 0
    for limb in range(paths.shape[1]):
        total = paths[target, limb] + paths[state, limb] * times + carried
        paths[target, limb] = total & _LIMB
        carried = total >> _LIMB_BITS
    return carried


@njit(**OPTIONS)
def _topological_pass(first, targets, labels, in_degree, ready, paths, longest):  # type: ignore[no-untyped-def]
    """Return how many states have a topological order (all of them, unless there is a cycle), or ``_TOO_SHORT``."""
    ready_count = 0
    for state in range(1, in_degree.size):
        if not in_degree[state]:
            ready[ready_count] = state
            ready_count += 1
    at = 0
    while at < ready_count:
        state = ready[at]
        at += 1
        depth = longest[0, state] + 1
        for edge in range(first[state], first[state + 1]):
            target, label = targets[edge], labels[edge]
            if _add(paths, state, target, label & MULTIPLICITY):
                return _TOO_SHORT
            since = 0 if label >= OPERATOR_ACTION else longest[1, state]
            if label & GENERATION:
                since += 1
            longest[0, target] = max(longest[0, target], depth)
            longest[1, target] = max(longest[1, target], since)
            in_degree[target] -= 1
            if not in_degree[target] and target != FAILED_STATE:
                ready[ready_count] = target
                ready_count += 1
    return ready_count
