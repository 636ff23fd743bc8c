"""Every state of a cell, breadth first, so that the first way found to a state is a shortest one."""

from __future__ import annotations

import gc
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from attrs import Factory, define

from spark_sim.explore.moves import Move, Row
from spark_sim.explore.packed import Packed
from spark_sim.explore.situation import GROUP, PHASE, Situation, seen
from spark_sim.properties import Violation

CODE: Final = 1 << 3
"""An edge carries how many of the members can make the move (up to 7), and then these bits:"""
GENERATION, BY_OPERATOR, FAULT = CODE, CODE << 1, CODE << 2
MOST_SUSPECTS: Final = 25
"""So many suspicions of two owners are held against real objects before a cell is cleared of them."""
MOST_STATES: Final = 10_000_000
"""About four gigabytes (360 bytes a state with six transitions)."""
END: Final = 0
"""The number of the state after a deadly move: there is nothing after it."""
OPERATOR: Final = frozenset({"stop", "start"})
FAULTS: Final = frozenset({"crash", "late", "nudge"})


class Broken(NamedTuple):
    """A property does not hold in state ``at``, or after ``move`` from there."""

    at: int
    violation: Violation
    move: Move | None = None


@define
class Graph:
    """What was found. State 0 stands for what comes after a death.

    ``parts`` are the processes of each state, ``keys`` the states as integers, ``ids`` their numbers. ``before`` and
    ``by`` are the state and the move that first led to each. The edges of state i are
    ``targets[first[i]:first[i + 1]]``, with ``labels`` alike. ``beginnings``: the states that it begins with, and which
    members may lead there; ``ending``: those in which the operator may go home; ``suspects``: those in which leading
    may give a task to a second owner.
    """

    packed: Packed
    parts: list[tuple[int, ...]] = Factory(lambda: [()])
    keys: list[int] = Factory(lambda: [-1])
    ids: dict[int, int] = Factory(lambda: {-1: END})
    before: array[int] = Factory(lambda: array("i", [0]))
    by: list[Move | None] = Factory(lambda: [None])
    beginnings: dict[int, list[int]] = Factory(dict)
    first: array[int] = Factory(lambda: array("q", [0, 0]))
    targets: array[int] = Factory(lambda: array("i"))
    labels: bytearray = Factory(bytearray)
    ending: list[int] = Factory(list)
    broken: list[Broken] = Factory(list)
    suspects: list[int] = Factory(list)

    def group(self, at: int) -> int:
        """Return the group's own numbers in a state."""
        return self.keys[at] & GROUP

    def number_of(self, parts: Sequence[int], group: int) -> int:
        """Return the number of a state that is known."""
        return self.ids[self.packed.key(parts, group)]

    def shows(self, wanted: str) -> bool:
        """Whether enough has been found to show that a property does not hold."""
        return len(self.suspects) >= MOST_SUSPECTS or any(each.violation.property == wanted for each in self.broken)

    @property
    def states(self) -> int:
        """How many different states there are."""
        return len(self.parts) - 1

    @property
    def complete(self) -> bool:
        """Whether all moves of all states have been made."""
        return len(self.first) == len(self.parts) + 1

    @property
    def transitions(self) -> int:
        """How many moves lead from one of them to another, or to a death."""
        return len(self.targets)


LEAD: Final = Move("lead", -1, -1, PHASE)


@define
class _Row:
    """The moves of a part in a view, each with what it adds to a key, and its label.

    ``prepared`` are added to the key of the state in which all ids are already waited for. ``prepares``: that state is
    needed; ``rare``: there are elections or deaths.
    """

    plain: list[tuple[int, int, Move]]
    prepared: list[tuple[int, int, Move]]
    elections: list[tuple[int, int, Move]]
    deaths: list[tuple[Move, Violation]]
    prepares: bool
    rare: bool


def search(packed: Packed, wanted: str | None = None, most: int = MOST_STATES) -> Graph:
    """Find all states, but not many more than ``most``.

    With a property that is ``wanted``, look no further than to the first state that breaks it (or enough suspects).
    """
    graph = Graph(packed)
    ids, keys = graph.ids, graph.keys
    for leader, (parts, group) in enumerate(packed.beginnings()):
        start = tuple(sorted(parts))
        key = packed.key(start, group)
        number = ids.setdefault(key, len(ids))
        if number == len(keys):
            keys.append(key)
            graph.parts.append(start)
            graph.before.append(0)
            graph.by.append(None)
        graph.beginnings.setdefault(number, []).append(leader)
    with _without_collector():
        _expand_all(graph, wanted, most)
    return graph


@contextmanager
def _without_collector() -> Iterator[None]:
    """Spare Python's search for cycles, of which there are none among millions of numbers and tuples."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _expand_all(graph: Graph, wanted: str | None, most: int) -> None:
    packed, keys, ids = graph.packed, graph.keys, graph.ids
    weights, tallies, calm, calming = packed.weights, packed.tallies, packed.calm, packed.calming
    targets, labels, add = graph.targets.append, graph.labels.append, ids.setdefault
    looked: dict[int, tuple[Situation, dict[int, _Row]]] = {}
    tables: dict[object, dict[int, _Row]] = {}
    size = len(keys)

    def found(key: int, parts: list[int], at: int, move: Move) -> None:
        nonlocal size
        size += 1
        parts.sort()
        keys.append(key)
        graph.parts.append(tuple(parts))
        graph.before.append(at)
        graph.by.append(move)

    at = 0
    while (at := at + 1) < size <= most:
        parts, key = graph.parts[at], keys[at]
        tally = key & GROUP
        for part in parts:
            tally += tallies[part]
        known = looked.get(tally)
        if known is None:
            situation = seen(packed.cell, tally)
            known = looked[tally] = situation, tables.setdefault(situation.view, {})
        situation, rows = known
        last = -1
        waiting: list[int] = []
        prepared = 0
        for part in parts:
            if part == last:
                continue
            last = part
            row = rows.get(part)
            if row is None:
                for each in parts:
                    if each not in rows:
                        rows[each] = _compiled(packed, packed.row(situation.view, each))
                row = rows[part]
            count = parts.count(part)
            for change, label, move in row.plain:
                new = key + change
                number = add(new, size)
                if number == size:
                    after = list(parts)
                    after[parts.index(part)] = move.after
                    found(new, after, at, move)
                targets(number)
                labels(label + count)
            if row.prepares and not waiting:
                waiting = [calm[each] for each in parts]
                prepared = key
                for each in parts:
                    prepared += calming[each]
            for change, label, move in row.prepared:
                new = prepared + change
                number = add(new, size)
                if number == size:
                    after = waiting[:]
                    after[parts.index(part)] = move.after
                    found(new, after, at, move)
                targets(number)
                labels(label + count)
            if not row.rare:
                continue
            for change, label, move in row.elections:
                after = waiting[:] if move.prepares else list(parts)
                after[parts.index(part)] = move.after
                base = (prepared if move.prepares else key) + change
                for each in sorted(set(after)):
                    for gain, elected in packed.electable(each):
                        new = base + gain
                        number = add(new, size)
                        if number == size:
                            chosen = list(after)
                            chosen[chosen.index(each)] = elected
                            found(new, chosen, at, move._replace(elects=(each, elected)))
                        targets(number)
                        labels(label + count * after.count(each))
            for move, violation in row.deaths:
                targets(END)
                labels(count)
                graph.broken.append(Broken(at, violation, move))
        if situation.completing:
            led = packed.led(parts)
            if isinstance(led, Violation):
                targets(END)
                labels(1)
                graph.broken.append(Broken(at, led, LEAD))
            elif led is not None:
                after = [led[part] for part in parts]
                new = (key & GROUP) + PHASE
                for part in after:
                    new += weights[part]
                number = add(new, size)
                if number == size:
                    found(new, after, at, LEAD)
                targets(number)
                labels(1)
                if packed.suspicious(parts):
                    graph.suspects.append(at)
        if situation.ends:
            graph.ending.append(at)
            if (broken := packed.judged(parts)) is not None:
                graph.broken.append(Broken(at, broken))
        graph.first.append(len(graph.targets))
        if wanted and graph.shows(wanted):
            return


def _compiled(packed: Packed, row: Row) -> _Row:
    moves = [(packed.change(move), label_of(move), move) for move in row.moves]
    elections = [(packed.change(move), label_of(move), move) for move in row.elections]
    plain = [each for each in moves if not each[-1].prepares]
    prepared = [each for each in moves if each[-1].prepares]
    prepares = any(each[-1].prepares for each in (*moves, *elections))
    return _Row(plain, prepared, elections, row.deaths, prepares, bool(elections or row.deaths))


def label_of(move: Move) -> int:
    """Tell moves that begin a generation, and those that are not the protocol's."""
    return GENERATION * move.begins + BY_OPERATOR * (move.verb in OPERATOR) + FAULT * (move.verb in FAULTS)
