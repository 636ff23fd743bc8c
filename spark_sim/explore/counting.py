"""What a whole graph says: how many schedules there are, how long they get, and whether rebalancing can go in a circle.

A schedule is a sequence of moves from a beginning to an end: to a death, or to where the operator goes home and nobody
has to do anything. A state stands for all states that differ only in who is who, and each edge says how many members
can make its move, so the schedules of the group with names are counted without walking them.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Final

from attrs import frozen

from spark_sim.explore.lines import BY_OPERATOR, COUNT, GENERATION
from spark_sim.explore.search import END, Graph


@frozen
class Counted:
    """``schedules`` is exact, with members told apart; ``depth`` is the number of moves in the longest one.

    ``max_rebalances``: the most generations between two moves of the operator (or faults). ``circle``: the number of a
    state from which rebalancing leads back to it without anybody's doing; the rest is None then.
    """

    schedules: int | None
    depth: int | None
    max_rebalances: int | None
    circle: int | None = None


UNCOUNTED: Final = Counted(None, None, None)


def count(graph: Graph) -> Counted:
    """Go once through a graph, every state after all that lead to it."""
    size, first, targets, labels = graph.states + 1, graph.first, graph.targets, graph.labels
    waits_for = array("i", bytes(4 * size))
    for target in targets:
        waits_for[target] += 1
    ways = [0] * size
    depth, rebalances = array("i", bytes(4 * size)), array("i", bytes(4 * size))
    for beginning, leaders in graph.beginnings.items():
        ways[beginning] = len(leaders)
    ready = [state for state in range(1, size) if not waits_for[state]]
    for state in ready:  # which grow meanwhile
        ways_here, depth_here, rebalances_here = ways[state], depth[state] + 1, rebalances[state]
        for edge in range(first[state], first[state + 1]):
            target, label = targets[edge], labels[edge]
            ways[target] += ways_here * (label & COUNT)
            if depth[target] < depth_here:
                depth[target] = depth_here
            since = 0 if label >= BY_OPERATOR else rebalances_here
            if label & GENERATION:
                since += 1
            if rebalances[target] < since:
                rebalances[target] = since
            waits_for[target] -= 1
            if not waits_for[target] and target != END:
                ready.append(target)
    if len(ready) < graph.states:
        return Counted(None, None, None, on_a_circle(graph, waits_for))
    schedules = ways[END] + sum(ways[state] for state in graph.ending)
    return Counted(schedules, max(depth), max(rebalances))


def on_a_circle(graph: Graph, waits_for: Sequence[int]) -> int:
    """Return the first state that leads back to itself; it is among those for which somebody still waits."""
    for start in range(1, graph.states + 1):
        if waits_for[start] <= 0:
            continue
        known, waiting = {start}, [start]
        while waiting:
            state = waiting.pop()
            for target in graph.targets[graph.first[state] : graph.first[state + 1]]:
                if target == start:
                    return start
                if waits_for[target] > 0 and target not in known:
                    known.add(target)
                    waiting.append(target)
    raise AssertionError("what cannot be put in order has a circle")
