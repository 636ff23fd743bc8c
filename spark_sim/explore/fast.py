"""The same exploration as ``search``, with its inner loop compiled (extra ``fast``: numba); the graphs are equal."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
from attrs import define, field

from spark_sim.explore import kernel
from spark_sim.explore import search as plain
from spark_sim.explore.kernel import Found
from spark_sim.explore.lookups import Lookups, TooManyPartsError
from spark_sim.explore.packed import Packed
from spark_sim.explore.search import LEAD, MOST_STATES, Broken, Graph, without_collector
from spark_sim.explore.situation import PHASE
from spark_sim.properties import Violation

_BEGIN: Final = 1 << 18
"""Room for so many states at first: smaller cells are not worth compiling."""


def search(packed: Packed, most: int = MOST_STATES) -> Graph:
    """Find all states, but not many more than ``most``: the graph that ``search.search`` finds.

    If its members or parts are too many for compiled states, that is who finds it.
    """
    members: int = packed.cell.members
    if members > kernel.MOST_MEMBERS:
        return plain.search(packed, most=most)
    found, beginnings = _begun(packed)
    with without_collector():
        try:
            lookups = Lookups(packed)  # knows the parts of the beginnings
            found = _expanded(found, lookups, members, most)
        except TooManyPartsError:
            return plain.search(packed, most=most)
        return _graph(lookups, found, beginnings)


def _expanded(found: Found, lookups: Lookups, members: int, most: int) -> Found:
    """Let the kernel go on until it misses nothing any more."""
    while missing := kernel.expand(found, lookups.looked, members, most, PHASE):
        if missing == kernel.SPACE:
            found = _grown(found)
        else:
            one, other = found.counts[kernel.MISSED :].tolist()
            lookups.fill(missing, one, other, found.scratch[kernel.SCRATCH[0], :members].tolist())
    return found


def _space(states: int, edges: int) -> Found:
    made = kernel.AT_ONCE + kernel.SLACK
    return Found(
        counts=np.zeros(kernel.MISSED + 2, np.int64),
        slots=np.zeros(4 * states, np.int64),
        words=np.zeros((states, 2), np.int64),
        known=np.zeros(states, np.int32),
        first=np.zeros(states + 2, np.int64),
        targets=np.zeros(edges, np.int32),
        labels=np.zeros(edges, np.uint8),
        deaths=np.zeros((states, 2), np.int32),
        endings=np.zeros(states, np.int32),
        leads=np.zeros(states, np.int32),
        made=np.zeros((made, 2), np.int64),
        scratch=np.zeros((len(kernel.SCRATCH), kernel.MOST_MEMBERS), np.int64),
    )


def _grown(found: Found) -> Found:
    """Return the same with four times the room."""
    wider = _space(4 * len(found.words), 4 * found.targets.size)
    for name, new in wider._asdict().items():
        old = getattr(found, name)
        if name == "slots":
            kernel.copied(old, new)
        else:
            new[: len(old)] = old
    return wider


def _begun(packed: Packed) -> tuple[Found, dict[int, list[int]]]:
    found = _space(_BEGIN, 8 * _BEGIN)
    size = 1
    beginnings: dict[int, list[int]] = {}
    for leader, (parts, group) in enumerate(packed.beginnings()):
        words = kernel.packed(np.array(parts), len(parts), group)
        number = int(kernel.number_of(*words, found.slots, size))
        found.words[number] = words
        size += number == size
        beginnings.setdefault(number, []).append(leader)
    found.counts[kernel.AT], found.counts[kernel.SIZE], found.known[0] = 1, size, size
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


@define
class _Compiled(Graph):
    """A graph whose states are looked up where the kernel has left them."""

    slots: Any = field(kw_only=True)

    def number_of(self, parts: Sequence[int], group: int) -> int:
        words = kernel.packed(np.array(parts), len(parts), group)
        number = int(kernel.number_of(*words, self.slots, 0))
        if not number:
            raise KeyError(f"no state has the parts {tuple(parts)} and the group's numbers {group}")
        return number


def _graph(lookups: Lookups, found: Found, beginnings: dict[int, list[int]]) -> Graph:
    packed, members = lookups.packed, lookups.packed.cell.members
    edges, expanded, size = found.counts[[kernel.EDGES, kernel.AT, kernel.SIZE]].tolist()
    buffer = np.zeros(kernel.MOST_MEMBERS, np.int64)

    def parts(at: int) -> tuple[int, ...]:
        kernel.unpacked(*found.words[at].tolist(), members, buffer)
        return tuple(buffer[:members].tolist()) if at else ()

    def key(at: int) -> int:
        return packed.key(parts(at), int(kernel.unpacked(*found.words[at].tolist(), members, buffer))) if at else -1

    columns: Any = {"parts": _Column(size, parts), "keys": _Column(size, key), "ids": {}}
    graph = _Compiled(
        packed,
        **columns,
        known=_array("i", found.known[:expanded]),
        beginnings=beginnings,
        first=_array("q", found.first[: expanded + 1]),
        targets=_array("i", found.targets[:edges]),
        labels=bytearray(found.labels[:edges].tobytes()),
        ending=found.endings[: int(found.counts[kernel.ENDINGS])].tolist(),
        slots=found.slots,
    )
    _judge(graph, lookups, found)
    return graph


def _array(kind: str, column: Any) -> array[int]:
    new = array(kind)
    new.frombytes(column.view(np.uint8))
    return new


def _judge(graph: Graph, lookups: Lookups, found: Found) -> None:
    """Say what is broken, in the order of the states; find the suspects."""
    packed = lookups.packed
    for at, move in found.deaths[: int(found.counts[kernel.DEATHS])].tolist():
        if move >= 0:
            graph.broken.append(Broken(at, lookups.deaths[move], lookups.moves[move]))
        elif isinstance(died := packed.led(graph.parts[at]), Violation):
            graph.broken.append(Broken(at, died, LEAD))
    judged, suspicious = lru_cache(None)(packed.judged), lru_cache(None)(packed.suspicious)
    for at in graph.ending:
        if (violation := judged(graph.parts[at])) is not None:
            graph.broken.append(Broken(at, violation))
    graph.broken.sort(key=lambda each: each.at)
    if packed.keeps:
        leads = found.leads[: int(found.counts[kernel.LEADS])].tolist()
        graph.suspects += [at for at in leads if suspicious(graph.parts[at])]
