"""Schedules that together make every move of a cell in every state: what to hold against real members and bytes.

Each begins with a shortest way to a state that has a move nobody has made yet, and goes on as long as there is such a
move. They are few: a schedule covers dozens of transitions, while there are more schedules than anybody can run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from spark_sim.explore.moves import Move
from spark_sim.explore.parts import COMPLETING
from spark_sim.explore.paths import way
from spark_sim.explore.search import END, LEAD, Graph
from spark_sim.properties import Violation


class Run(NamedTuple):
    """One schedule: the state that it begins in, its moves, and what the last one violates, if somebody dies of it."""

    beginning: int
    moves: list[Move]
    violation: Violation | None


class Onward(NamedTuple):
    """A move, the state that it leads to, how many members can make it, and what whoever makes it dies of."""

    move: Move
    target: int
    members: int
    violation: Violation | None = None


def onward(graph: Graph, at: int) -> Iterator[Onward]:
    """Yield every move from a state; one for all members that are alike."""
    packed, parts = graph.packed, graph.parts[at]
    group = graph.group(at)
    view = packed.situation(parts, group).view
    for number in dict.fromkeys(parts):
        member, count = parts.index(number), parts.count(number)
        row = packed.row(view, number)
        for move in row.moves:
            after, added, _ = packed.played(parts, group, member, move)
            yield Onward(move, graph.number_of(after, added), count)
        for move in row.elections:
            after, added, _ = packed.played(parts, group, member, move)
            for each in dict.fromkeys(after):
                for _, elected in packed.electable(each):
                    chosen = move._replace(elects=(each, elected))
                    target = graph.number_of(*packed.played(parts, group, member, chosen)[:2])
                    yield Onward(chosen, target, count * after.count(each))
        for move, violation in row.deaths:
            yield Onward(move, END, count, violation)
    led = packed.led(parts) if view.phase == COMPLETING else None
    if isinstance(led, Violation):
        yield Onward(LEAD, END, 1, led)
    elif led is not None:
        yield Onward(LEAD, graph.number_of([led[part] for part in parts], group + LEAD.add), 1)


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
