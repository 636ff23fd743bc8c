"""Schedules that together make every move of a cell in every state: what to hold against real members and bytes.

Each begins with a shortest way to a state that has a move nobody has made yet, and goes on as long as there is such a
move. They are few: a schedule covers dozens of transitions, while there are more schedules than anybody can run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from spark_sim.explore.moves import Move
from spark_sim.explore.paths import Onward, onward, way
from spark_sim.explore.search import END, Graph
from spark_sim.properties import Violation

__all__ = ["Onward", "Run", "onward", "suite"]


class Run(NamedTuple):
    """One schedule: the state that it begins in, its moves, and what the last one violates, if somebody dies of it."""

    beginning: int
    moves: list[Move]
    violation: Violation | None


def suite(graph: Graph) -> Iterator[Run]:
    """Yield schedules that cover all transitions."""
    left: dict[int, list[Onward]] = {}

    def untried(at: int) -> list[Onward]:
        if at not in left:
            left[at] = list(onward(graph, at))
        return left[at]

    for start in range(1, graph.states + 1):
        while untried(start):
            beginning, moves = way(graph, start)
            at, violation = start, None
            while at != END and untried(at):
                move, at, _, violation = untried(at).pop()
                moves.append(move)
            yield Run(beginning, moves, violation)
