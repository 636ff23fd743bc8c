"""The same exploration as ``search``, with its inner loop compiled (extra ``fast``: numba); the graphs are equal.

Every answer comes from ``packed`` as before: this file only writes down, as numbers in arrays, what ``kernel`` misses.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from spark_sim.explore import kernel
from spark_sim.explore.kernel import Found, Looked
from spark_sim.explore.moves import Move
from spark_sim.explore.packed import MOST_PARTS, Packed
from spark_sim.explore.search import LEAD, MOST_STATES, Broken, Graph, label_of
from spark_sim.explore.situation import GROUP_BITS, PHASE, View, seen
from spark_sim.properties import Violation

_PARTS: Final = MOST_PARTS + 1
_BEGIN: Final = 1 << 16


def search(packed: Packed, most: int = MOST_STATES) -> Graph:
    """Find all states, but not many more than ``most``: the graph that ``search.search`` finds."""
    members: int = packed.cell.members
    if members > kernel.MOST_MEMBERS:
        raise ValueError(f"expected at most {kernel.MOST_MEMBERS} members, not {members}")
    found, beginnings = _begun(packed)
    tables = _Tables(packed)
    while True:
        missing = kernel.expand(found, tables.looked, members, most, PHASE)
        if missing == kernel.DONE:
            return _graph(tables, found, beginnings)
        if missing == kernel.SPACE:
            found = _grown(found)
        else:
            one, other = map(int, found.at[kernel.MISSED :])
            tables.fill(missing, one, other, found.parts[:members].tolist())


class _Tables:
    """What the kernel looks up, filled on demand."""

    def __init__(self, packed: Packed) -> None:
        self.packed: Final = packed
        self.moves: Final[list[Move]] = []
        self.deaths: Final[dict[int, Violation]] = {}
        self.elected: Final[list[tuple[int, int]]] = []
        self.led_deaths: Final[dict[int, Violation]] = {}
        self._views: Final[dict[View, int]] = {}
        self._seen: Final[list[View]] = []
        self._answers: Final[list[Any]] = [None]
        self._situations = self._rows = 0
        self._known = 0

        def missing(*shape: int) -> Any:
            return np.full(shape, -1, np.int32)

        def zeros(size: int, kind: type = np.int64) -> Any:
            return np.zeros(size, kind)

        self.looked = Looked(
            low=zeros(1 << 12),
            high=zeros(1 << 12),
            slots=zeros(1 << 13, np.int32),
            views=zeros(1 << 12, np.int32),
            flags=zeros(1 << 12, np.int32),
            rows=missing(64, 256),
            first=zeros(1 << 12, np.int32),
            after=zeros(1 << 14, np.int32),
            add=zeros(1 << 14),
            kind=zeros(1 << 14, np.int32),
            label=zeros(1 << 14, np.int32),
            tally=zeros(_PARTS),
            calm=zeros(_PARTS, np.int32),
            leader=zeros(_PARTS, np.int32),
            hears=zeros(_PARTS),
            elect_from=missing(_PARTS),
            elect_to=missing(_PARTS),
            elected=zeros(1 << 12, np.int32),
            led_low=zeros(64),
            led_high=zeros(64),
            led_slots=zeros(128, np.int32),
            led=missing(64, 256),
            led_dies=zeros(64, np.int32),
        )
        self._fill: Final[dict[int, Callable[[int, int], None]]] = {
            kernel.SITUATION: self._situation,
            kernel.ELECTABLE: self._electable,
            kernel.LEADING: self._leading,
            kernel.LED: self._led,
        }
        self._new_parts()

    def fill(self, what: int, one: int, other: int, parts: Sequence[int]) -> None:
        """Write down what is missing, and the rows of all parts of the state that missed it."""
        if what == kernel.ROW:
            self._rows_of(one, parts)
        else:
            self._fill[what](one, other)
        if what == kernel.SITUATION:
            view = int(self.looked.views[self._situations])
            # Numbers are given in the order of the plain search, which looks no further than to the first part first.
            if view >= len(self.looked.rows) or self.looked.rows[view, parts[0]] < 0:
                self._rows_of(view, parts)
        self._new_parts()

    def _rows_of(self, view: int, parts: Sequence[int]) -> None:
        self._sized("rows", view + 1, self._known)
        for part in parts:
            if self.looked.rows[view, part] < 0:
                self._row(view, part)

    def _new_parts(self) -> None:
        packed, looked = self.packed, self.looked
        for number in range(self._known, len(packed.weights)):
            looked.tally[number] = packed.tallies[number] >> GROUP_BITS
            looked.calm[number] = packed.calm[number]
            looked.leader[number] = packed.leaders[number]
            looked.hears[number] = packed.hears[number]
        self._known = len(packed.weights)
        self._sized("rows", len(self._views) + 1, self._known)
        self._sized("led", len(self._answers) + 1, self._known)

    def _sized(self, name: str, *shape: int) -> None:
        """Let an array have room for as many entries at least; new ones are missing (-1) if it has two dimensions."""
        old = getattr(self.looked, name)
        if shape[0] <= len(old) and shape[-1] <= old.shape[-1]:
            return
        wider = [max(there, 2 * needed) for needed, there in zip(shape, old.shape, strict=True)]
        new = np.full(wider, -1 if len(wider) > 1 else 0, old.dtype)
        new[tuple(map(slice, old.shape))] = old
        self.looked = self.looked._replace(**{name: new})

    def _situation(self, tally: int, group: int) -> None:
        situation = seen(self.packed.cell, (tally << GROUP_BITS) + group)
        view = self._views.setdefault(situation.view, len(self._views))
        if view == len(self._seen):
            self._seen.append(situation.view)
        self._situations += 1
        number = self._situations
        self._roomy("low", "high", "slots", number)
        for name in ("views", "flags"):
            self._sized(name, number + 1)
        looked = self.looked
        kernel.number_of(tally, group, looked.low, looked.high, looked.slots, number)
        looked.views[number] = view
        looked.flags[number] = kernel.COMPLETES * situation.completing + kernel.ENDS * situation.ends

    def _roomy(self, low: str, high: str, slots: str, number: int) -> None:
        """Let a table that is looked up by two words have room for one more."""
        for name in (low, high):
            self._sized(name, number + 1)
        if 2 * number > getattr(self.looked, slots).size:
            self._sized(slots, 2 * number)
            fresh = np.zeros(1 << (4 * number).bit_length(), np.int32)
            kernel.filled(fresh, getattr(self.looked, low), getattr(self.looked, high), number)
            self.looked = self.looked._replace(**{slots: fresh})

    def _row(self, view: int, part: int) -> None:
        packed = self.packed
        row = packed.row(self._seen[view], part)
        plain = [(kernel.PLAIN, move) for move in row.moves if not move.prepares]
        prepared = [(kernel.PREPARED, move) for move in row.moves if move.prepares]
        elections = [(kernel.PREPARED_ELECTION if move.prepares else kernel.ELECTION, move) for move in row.elections]
        added = [*plain, *prepared, *elections, *((kernel.DEADLY, move) for move, _ in row.deaths)]
        for name in ("after", "add", "kind", "label"):
            self._sized(name, len(self.moves) + len(added))
        looked = self.looked
        for number, (kind, move) in enumerate(added, len(self.moves)):
            self.moves.append(move)
            looked.after[number], looked.add[number] = move.after, move.add
            looked.kind[number], looked.label[number] = kind, label_of(move)
        for place, (_, violation) in enumerate(reversed(row.deaths), 1):
            self.deaths[len(self.moves) - place] = violation
        self._sized("first", self._rows + 2)
        self.looked.rows[view, part] = self._rows
        self._rows += 1
        self.looked.first[self._rows] = len(self.moves)

    def _electable(self, part: int, _: int) -> None:
        begin = len(self.elected)
        self.elected.extend((part, chosen) for _, chosen in self.packed.electable(part))
        self._sized("elected", len(self.elected))
        self.looked.elect_from[part], self.looked.elect_to[part] = begin, len(self.elected)
        self.looked.elected[begin : len(self.elected)] = [chosen for _, chosen in self.elected[begin:]]

    def _leading(self, heard: int, leader: int) -> None:
        answers = self.packed.answers(leader, heard)
        number = len(self._answers)
        self._answers.append(answers)
        self._roomy("led_low", "led_high", "led_slots", number)
        self._sized("led_dies", number + 1)
        looked = self.looked
        kernel.number_of(heard, leader, looked.led_low, looked.led_high, looked.led_slots, number)
        looked.led_dies[number] = isinstance(answers, Violation)

    def _led(self, answers: int, part: int) -> None:
        after = self._answers[answers][part]
        self._new_parts()
        self.looked.led[answers, part] = after


def _space(states: int, edges: int) -> Found:
    def zeros(size: int, kind: type = np.int32) -> Any:
        return np.zeros(size, kind)

    return Found(
        at=zeros(kernel.MISSED + 2, np.int64),
        low=(words := np.zeros((states, 2), np.int64))[:, 0],
        high=words[:, 1],
        slots=zeros(2 * states),
        before=zeros(states),
        by=zeros(states),
        elects=zeros(states),
        first=zeros(states + 2, np.int64),
        targets=zeros(edges),
        labels=zeros(edges, np.uint8),
        deaths=np.zeros((states, 2), np.int32),
        endings=zeros(states),
        parts=zeros(kernel.MOST_MEMBERS, np.int64),
        chosen=np.zeros((2, kernel.MOST_MEMBERS), np.int64),
    )


def _grown(found: Found) -> Found:
    """Return the same with four times the room."""
    wider = _space(4 * found.low.size, 4 * found.targets.size)
    for name, new in wider._asdict().items():
        old = getattr(found, name)
        if name != "slots":
            new[: len(old)] = old
    kernel.filled(wider.slots, wider.low, wider.high, int(found.at[kernel.SIZE]))
    return wider


def _begun(packed: Packed) -> tuple[Found, dict[int, list[int]]]:
    found = _space(_BEGIN, 8 * _BEGIN)
    found.at[kernel.AT] = found.at[kernel.SIZE] = 1
    beginnings: dict[int, list[int]] = {}
    for leader, (parts, group) in enumerate(packed.beginnings()):
        found.parts[: len(parts)] = parts
        low, high = kernel.packed(found.parts, len(parts), group)
        size = int(found.at[kernel.SIZE])
        number = int(kernel.number_of(low, high, found.low, found.high, found.slots, size))
        found.at[kernel.SIZE] += number == size
        found.by[number] = -2
        beginnings.setdefault(number, []).append(leader)
    return found, beginnings


class _Column(Sequence[Any]):
    """A column of a graph that is read out of arrays when it is asked for."""

    def __init__(self, size: int, read: Callable[[int], Any]) -> None:
        self._size, self._read = size, read

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self._read(each) for each in range(*at.indices(self._size))]
        if not -self._size <= at < self._size:
            raise IndexError(at)
        return self._read(at % self._size)


class _Ids(dict[int, int]):
    """The numbers of states by their keys, made when the first is asked for."""

    def __init__(self, keys: Sequence[int]) -> None:
        super().__init__()
        self._keys = keys

    def __missing__(self, key: int) -> int:
        if self:
            raise KeyError(key)
        self.update((each, number) for number, each in enumerate(self._keys))
        return self[key]


def _graph(tables: _Tables, found: Found, beginnings: dict[int, list[int]]) -> Graph:
    packed, members = tables.packed, tables.packed.cell.members
    edges, expanded, size = (int(found.at[each]) for each in (kernel.EDGES, kernel.AT, kernel.SIZE))
    buffer = np.zeros(kernel.MOST_MEMBERS, np.int64)

    def parts(at: int) -> tuple[int, ...]:
        kernel.unpacked(found.low[at], found.high[at], members, buffer)
        return tuple(buffer[:members].tolist()) if at else ()

    def key(at: int) -> int:
        return packed.key(parts(at), int(found.high[at]) & (1 << GROUP_BITS) - 1) if at else -1

    def by(at: int) -> Move | None:
        move = int(found.by[at])
        if move < 0 or not at:
            return LEAD if move == -1 else None
        entry = int(found.elects[at])
        return tables.moves[move] if entry < 0 else tables.moves[move]._replace(elects=tables.elected[entry])

    keys: Any = _Column(size, key)
    columns: Any = {"parts": _Column(size, parts), "keys": keys, "ids": _Ids(keys), "by": _Column(size, by)}
    graph = Graph(
        packed,
        **columns,
        before=_array("i", found.before[:size]),
        beginnings=beginnings,
        first=_array("q", found.first[: expanded + 1]),
        targets=_array("i", found.targets[:edges]),
        labels=bytearray(found.labels[:edges].tobytes()),
        ending=found.endings[: int(found.at[kernel.ENDINGS])].tolist(),
    )
    _judge(graph, tables, found)
    return graph


def _array(kind: str, column: Any) -> array[int]:
    new = array(kind)
    new.frombytes(np.ascontiguousarray(column).tobytes())
    return new


def _judge(graph: Graph, tables: _Tables, found: Found) -> None:
    """Say what is broken, in the order of the states; find the suspects."""
    packed = tables.packed
    for at, move in found.deaths[: int(found.at[kernel.DEATHS])].tolist():
        if move >= 0:
            graph.broken.append(Broken(at, tables.deaths[move], tables.moves[move]))
        elif isinstance(died := packed.led(graph.parts[at]), Violation):
            graph.broken.append(Broken(at, died, LEAD))
    judged = lru_cache(None)(packed.judged)
    for at in graph.ending:
        if (violation := judged(graph.parts[at])) is not None:
            graph.broken.append(Broken(at, violation))
    graph.broken.sort(key=lambda each: each.at)
    if packed.keeps:
        graph.suspects += _suspects(graph, packed)


def _suspects(graph: Graph, packed: Packed) -> list[int]:
    found = []
    for at in range(1, len(graph.first) - 1):
        parts = graph.parts[at]
        leads = packed.situation(parts, graph.group(at)).completing and isinstance(packed.led(parts), dict)
        if leads and packed.suspicious(parts):
            found.append(at)
    return found
