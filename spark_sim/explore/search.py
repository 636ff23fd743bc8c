"""Every state of a cell, breadth first, so that the first way found to a state is a shortest one."""

from __future__ import annotations

import gc
from array import array
from bisect import bisect_right
from collections.abc import Iterator, MutableSequence, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from attrs import Factory, define

from spark_sim.explore.lines import BY_OPERATOR, CODE, FAULT, FAULTS, GENERATION, OPERATOR, Choices, Sights
from spark_sim.explore.moves import Move
from spark_sim.explore.packed import Packed
from spark_sim.explore.situation import GROUP, LOOK, PHASE, Situation
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
    "without_collector",
]

MOST_SUSPECTS: Final = 25
"""So many suspicions of two owners are held against real objects before a cell is cleared of them."""
MOST_STATES: Final = 10_000_000
"""About four gigabytes (416 bytes a state with seven transitions were measured)."""
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
    targets: MutableSequence[int] = Factory(list)
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
    with without_collector():
        _expand_all(graph, most)
    return graph


@contextmanager
def without_collector() -> Iterator[None]:
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
    targets, labels, number_of = graph.targets, graph.labels.append, graph.ids.setdefault
    calm, calming, sights, choices = packed.calm, packed.calming, Sights(packed), Choices(packed)
    at = 0
    while (at := at + 1) < size <= most:
        parts, key = all_parts[at], keys[at]
        lines, special, situation = sights[key & LOOK]
        for part in parts:
            if part not in lines:
                sights.ask(situation.view, parts)
                break
        last, prepared = -1, 0
        waiting: list[int] = []
        for part in parts:
            if part == last:  # Processes that are alike have one move.
                continue
            last, count = part, parts.count(part)
            plain, others, deaths = lines[part]
            for change, label, after in plain:
                new = key + change
                number = number_of(new, size)
                if number == size:
                    size += 1
                    keys.append(new)
                    changed = list(parts)
                    changed[changed.index(part)] = after
                    changed.sort()
                    all_parts.append(tuple(changed))
                targets.append(number)
                labels(label + count)
            for change, label, after, prepares, elects in others:
                if prepares and not waiting:
                    waiting = [calm[each] for each in parts]
                    prepared = sum([calming[each] for each in parts], key)
                changed = list(waiting if prepares else parts)
                changed[parts.index(part)] = after
                changed.sort()
                new = (prepared if prepares else key) + change
                outcome = tuple(changed)
                for gain, alike, chosen in choices[outcome] if elects else ((0, 1, outcome),):
                    number = number_of(new + gain, size)
                    if number == size:
                        size += 1
                        keys.append(new + gain)
                        all_parts.append(chosen)
                    targets.append(number)
                    labels(label + count * alike)
            for move, violation in deaths:
                targets.append(END)
                labels(count)
                graph.broken.append(Broken(at, violation, move))
        if special:
            size = _lead_or_end(graph, at, situation, size)
        graph.first.append(len(targets))
        graph.known.append(size)


def _lead_or_end(graph: Graph, at: int, situation: Situation, size: int) -> int:
    """Let the leader assign, if it is to and runs; note where the operator may go home; return how many states are."""
    packed, parts = graph.packed, graph.parts[at]
    led = packed.led(parts) if situation.completing else None
    if isinstance(led, Violation):
        graph.targets.append(END)
        graph.labels.append(1)
        graph.broken.append(Broken(at, led, LEAD))
    elif led is not None:
        after = sorted([led[part] for part in parts])
        key = packed.key(after, graph.group(at) + PHASE)
        number = graph.ids.setdefault(key, size)
        if number == size:
            size += 1
            graph.keys.append(key)
            graph.parts.append(tuple(after))
        graph.targets.append(number)
        graph.labels.append(1)
        if packed.suspicious(parts):
            graph.suspects.append(at)
    if situation.ends:
        graph.ending.append(at)
        if (broken := packed.judged(parts)) is not None:
            graph.broken.append(Broken(at, broken))
    return size
