"""The same count as ``counting.count``, compiled (extra ``fast``: numba).

Schedules are more than any machine word holds. How many ways lead to a state is a row of *limbs*, the least first, of
59 bits each: so that seven times a limb (an edge is made by seven members at most), what is there already and what is
carried are together less than a word. If a row turns out too short, all is counted again with rows twice as long.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit

from spark_sim.explore.counting import Counted, on_a_circle
from spark_sim.explore.kernel import OPTIONS
from spark_sim.explore.lines import BY_OPERATOR, COUNT, GENERATION
from spark_sim.explore.search import END, Graph

_LIMB_BITS: Final = 59
_LIMB: Final = (1 << _LIMB_BITS) - 1
_FIRST_LIMBS: Final = 4
_TOO_SHORT: Final = -1


def count(graph: Graph) -> Counted:
    """Go once through a graph, every state after all that lead to it."""
    limbs = _FIRST_LIMBS
    while (counted := _count(graph, limbs)) is None:
        limbs *= 2
    return counted


def _count(graph: Graph, limbs: int) -> Counted | None:
    """Count with rows of so many limbs; return None if they are too short."""
    first, labels = np.frombuffer(graph.first, np.int64), np.frombuffer(graph.labels, np.uint8)
    targets, size = np.asarray(graph.targets, np.int32), graph.states + 1
    ways = np.zeros((size, limbs), np.int64)
    for beginning, leaders in graph.beginnings.items():
        ways[beginning, 0] = len(leaders)
    waits_for = np.bincount(targets, minlength=size)
    longest, ready = np.zeros((2, size), np.int32), np.zeros(size, np.int32)
    ordered = _go_through(first, targets, labels, waits_for, ready, ways, longest)
    if ordered == _TOO_SHORT:
        return None
    if ordered < graph.states:
        return Counted(None, None, None, on_a_circle(graph, waits_for.tolist()))
    ends = ways[[END, *graph.ending]].astype(object).sum(axis=0)
    schedules = sum(int(limb) << _LIMB_BITS * place for place, limb in enumerate(ends))
    depth, rebalances = longest.max(axis=1).tolist()
    return Counted(schedules, depth, rebalances)


@njit(**OPTIONS)
def _add(ways, state, target, times):  # type: ignore[no-untyped-def]
    """Add the ways to a state, so many times, to those of another one; return what does not fit."""
    carried = 0
    for limb in range(ways.shape[1]):
        total = ways[target, limb] + ways[state, limb] * times + carried
        ways[target, limb] = total & _LIMB
        carried = total >> _LIMB_BITS
    return carried


@njit(**OPTIONS)
def _go_through(first, targets, labels, waits_for, ready, ways, longest):  # type: ignore[no-untyped-def]
    """Return how many states can be put in order (all of them, unless there is a circle), or ``_TOO_SHORT``."""
    known = 0
    for state in range(1, waits_for.size):
        if not waits_for[state]:
            ready[known] = state
            known += 1
    at = 0
    while at < known:
        state = ready[at]
        at += 1
        depth = longest[0, state] + 1
        for edge in range(first[state], first[state + 1]):
            target, label = targets[edge], labels[edge]
            if _add(ways, state, target, label & COUNT):
                return _TOO_SHORT
            since = 0 if label >= BY_OPERATOR else longest[1, state]
            if label & GENERATION:
                since += 1
            longest[0, target] = max(longest[0, target], depth)
            longest[1, target] = max(longest[1, target], since)
            waits_for[target] -= 1
            if not waits_for[target] and target != END:
                ready[known] = target
                known += 1
    return known
