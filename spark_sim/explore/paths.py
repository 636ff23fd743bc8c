"""From a state back to the beginning, with names for the members: a line that ``replay`` and the tests understand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from string import ascii_uppercase
from typing import NamedTuple

from attrs import define

from spark_sim.explore.moves import Move
from spark_sim.explore.packed import Packed
from spark_sim.explore.parts import COMPLETING
from spark_sim.explore.search import END, LEAD, Graph
from spark_sim.properties import Violation
from spark_sim.scenario import Instance, Scenario, Step, step

_TEXTS = {"nudge": "join"}


class Onward(NamedTuple):
    """A move, the state that it leads to, how many members can make it, and what whoever makes it dies of."""

    move: Move
    target: int
    members: int
    violation: Violation | None = None


def onward(graph: Graph, at: int) -> Iterator[Onward]:
    """Yield every move from a state, in the order of its edges; one for all members that are alike."""
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
            for each in sorted(set(after)):
                for _, elected in packed.electable(each):
                    chosen = move._replace(elects=(each, elected))
                    target = graph.number_of(*packed.played(parts, group, member, chosen)[:2])
                    yield Onward(chosen, target, count * after.count(each))
        for move, violation in row.deaths:
            yield Onward(move, END, count, violation)
    led = packed.led(parts) if view.group.phase == COMPLETING else None
    if isinstance(led, Violation):
        yield Onward(LEAD, END, 1, led)
    elif led is not None:
        yield Onward(LEAD, graph.number_of([led[part] for part in parts], group + LEAD.add), 1)


def way(graph: Graph, at: int) -> tuple[int, list[Move]]:
    """Return the moves that first led to a state, and the state in which they begin."""
    moves = []
    while before := graph.before(at):
        moves.append(next(each.move for each in onward(graph, before) if each.target == at))
        at = before
    return at, moves[::-1]


@define
class Group:
    """A state in which the members have names (A leads at the beginning), to be changed by one move after another."""

    packed: Packed
    parts: list[int]
    group: int

    @classmethod
    def at(cls, packed: Packed, leader: int) -> Group:
        """Return the group at the beginning, with ``leader`` (the place of its course) as A."""
        parts, group = packed.beginnings()[leader]
        return cls(packed, [parts[leader], *parts[:leader], *parts[leader + 1 :]], group)

    def instance(self, member: int) -> Instance:
        """Return what a member runs as, or ran as last."""
        part = self.packed.parts.values[self.parts[member]]
        return self.packed.instances[self.packed.courses[part.course][part.place]]

    def make(self, move: Move, member: int | None = None) -> Iterator[Step]:
        """Make a move of any member that can make it, or of this one; return it as steps of a scenario."""
        if move.verb == "lead":
            member = next(i for i, part in enumerate(self.parts) if self.packed.leaders[part] >= 0)
            led = self.packed.led(self.parts)
            if isinstance(led, dict):
                self.parts, self.group = [led[part] for part in self.parts], self.group + move.add
            return iter([step("lead", ascii_uppercase[member])])
        member = self.parts.index(move.part) if member is None else member
        before = self.instance(member)
        self.parts, self.group, elected = self.packed.played(self.parts, self.group, member, move)
        steps = [step("elect", ascii_uppercase[elected])] if elected is not None else []
        name, verb = ascii_uppercase[member], _TEXTS.get(move.verb, move.verb)
        after = self.instance(member)
        to = after if verb == "start" and after != before else None
        return iter([*steps, step(verb, name, to=to)])


def line(graph: Graph, at: int, *more: Move) -> Scenario:
    """Return a shortest way to a state, and some moves after it, as a scenario."""
    beginning, moves = way(graph, at)
    return told(graph, beginning, [*moves, *more])


def told(graph: Graph, beginning: int, moves: Iterable[Move]) -> Scenario:
    """Give names to the members of a schedule."""
    group = Group.at(graph.packed, graph.beginnings[beginning][0])
    members = tuple((name, group.instance(member)) for member, name in enumerate(ascii_uppercase[: len(group.parts)]))
    steps = [each for move in moves for each in group.make(move)]
    return Scenario(members, (step("hold"), *steps))
