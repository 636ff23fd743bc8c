"""Every state of a cell, breadth first, so that the first way found to a state is a shortest one."""

from __future__ import annotations

import gc
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from attrs import Factory, define

from spark_sim.explore.lines import BY_OPERATOR, CODE, FAULT, FAULTS, GENERATION, OPERATOR, Sights
from spark_sim.explore.moves import Move
from spark_sim.explore.packed import Packed
from spark_sim.explore.situation import GROUP, LOOK, PHASE
from spark_sim.properties import Violation

__all__ = [
    "BY_OPERATOR",
    "CODE",
    "END",
    "FAULT",
    "FAULTS",
    "GENERATION",
    "LEAD",
    "MOST_STATES",
    "OPERATOR",
    "Broken",
    "Graph",
    "search",
]

MOST_SUSPECTS: Final = 25
"""So many suspicions of two owners are held against real objects before a cell is cleared of them."""
MOST_STATES: Final = 10_000_000
"""About four gigabytes (360 bytes a state with six transitions)."""
END: Final = 0
"""The number of the state after a deadly move: there is nothing after it."""
LEAD: Final = Move("lead", -1, -1, PHASE)


class Broken(NamedTuple):
    """A property does not hold in state ``at``, or after ``move`` from there."""

    at: int
    violation: Violation
    move: Move | None = None


@define
class Graph:
    """What was found. State 0 stands for what comes after a death.

    ``parts`` are the processes of each state, ``keys`` the states as integers, ``ids`` their numbers. ``known``: how
    many states there were when all moves of state i had been made. The edges of state i are
    ``targets[first[i]:first[i + 1]]``, with ``labels`` alike. ``beginnings``: the states that it begins with, and which
    members may lead there; ``ending``: those in which the operator may go home; ``suspects``: those in which leading
    may give a task to a second owner.
    """

    packed: Packed
    parts: list[tuple[int, ...]] = Factory(lambda: [()])
    keys: list[int] = Factory(lambda: [-1])
    ids: dict[int, int] = Factory(lambda: {-1: END})
    known: array[int] = Factory(lambda: array("i"))
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
        number = self.ids.get(self.packed.key(parts, group))
        if number is None:
            raise KeyError(f"no state has the parts {tuple(parts)} and the group's numbers {group}")
        return number

    def before(self, at: int) -> int:
        """Return the state from which another one was found (0: none, as it is a beginning)."""
        return bisect_right(self.known, at)

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


def search(packed: Packed, most: int = MOST_STATES) -> Graph:
    """Find all states, but not many more than ``most``."""
    graph = Graph(packed)
    for leader, (parts, group) in enumerate(packed.beginnings()):
        key = packed.key(parts, group)
        number = graph.ids.setdefault(key, len(graph.keys))
        if number == len(graph.keys):
            graph.keys.append(key)
            graph.parts.append(tuple(sorted(parts)))
        graph.beginnings.setdefault(number, []).append(leader)
    graph.known.append(len(graph.keys))
    with _without_collector():
        _expand_all(graph, most)
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


def _expand_all(graph: Graph, most: int) -> None:
    packed, keys, all_parts, size = graph.packed, graph.keys, graph.parts, len(graph.keys)
    targets, labels, add = graph.targets.append, graph.labels.append, graph.ids.setdefault
    calm, calming, sights = packed.calm, packed.calming, Sights(packed)

    def found(key: int, parts: list[int]) -> None:
        nonlocal size
        size += 1
        parts.sort()
        keys.append(key)
        all_parts.append(tuple(parts))

    at = 0
    while (at := at + 1) < size <= most:
        parts, key = all_parts[at], keys[at]
        situation, lines = sights.known.get(key & LOOK) or sights.look(key & LOOK)
        last, prepared = -1, 0
        waiting: list[int] = []
        for part, line in zip(parts, [*map(lines.__getitem__, parts)], strict=True):
            if part == last:  # Processes that are alike have one move.
                continue
            last, count = part, parts.count(part)
            for change, label, move in line.plain:
                new = key + change
                number = add(new, size)
                if number == size:
                    after = list(parts)
                    after[parts.index(part)] = move.after
                    found(new, after)
                targets(number)
                labels(label + count)
            if line.prepares and not waiting:
                waiting = [calm[each] for each in parts]
                prepared = sum([calming[each] for each in parts], key)
            for change, label, move in line.prepared:
                new = prepared + change
                number = add(new, size)
                if number == size:
                    after = waiting[:]
                    after[parts.index(part)] = move.after
                    found(new, after)
                targets(number)
                labels(label + count)
            if not line.rare:
                continue
            for change, label, move in line.elections:
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
                            found(new, chosen)
                        targets(number)
                        labels(label + count * after.count(each))
            for move, violation in line.deaths:
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
                new = packed.key(after, (key & GROUP) + PHASE)
                number = add(new, size)
                if number == size:
                    found(new, after)
                targets(number)
                labels(1)
                if packed.suspicious(parts):
                    graph.suspects.append(at)
        if situation.ends:
            graph.ending.append(at)
            if (broken := packed.judged(parts)) is not None:
                graph.broken.append(Broken(at, broken))
        graph.first.append(len(graph.targets))
        graph.known.append(size)
