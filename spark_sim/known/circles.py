"""Rebalancing that leads back to where it began: once round, as a scenario."""

from __future__ import annotations

from spark_sim.explore.counting import count
from spark_sim.explore.cover import onward
from spark_sim.explore.moves import Move
from spark_sim.explore.paths import told, way
from spark_sim.explore.search import FAULTS, OPERATOR, Graph
from spark_sim.scenario import Scenario


def once_round(graph: Graph) -> Scenario | None:
    """Return a way to a state that leads back to itself without anybody's doing, and back (None: there is none)."""
    start = count(graph).circle
    if start is None:
        return None
    beginning, moves = way(graph, start)
    ways: dict[int, list[Move]] = {start: []}
    waiting = [start]
    for state in waiting:  # which grows meanwhile
        for each in onward(graph, state):
            if each.move.verb in OPERATOR | FAULTS:
                continue
            if each.target == start:
                return told(graph, beginning, [*moves, *ways[state], each.move])
            if each.target not in ways:
                ways[each.target] = [*ways[state], each.move]
                waiting.append(each.target)
    return None
