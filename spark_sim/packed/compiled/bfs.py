"""The search of ``packed.bfs`` with a compiled inner loop (extra ``fast``: numba); the graphs are equal."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
from attrs import define, field

from streams_assignor.spark_sim.model.violations import Violation
from streams_assignor.spark_sim.packed import bfs as plain
from streams_assignor.spark_sim.packed.bfs import PackedGraph, gc_disabled, unknown_state
from streams_assignor.spark_sim.packed.compiled import _kernel
from streams_assignor.spark_sim.packed.compiled._kernel import SearchArrays
from streams_assignor.spark_sim.packed.compiled._kernel_tables import KernelTableBuilder, TooManyProcessStatesError
from streams_assignor.spark_sim.packed.encoding import Encoding
from streams_assignor.spark_sim.packed.model import LEAD, PackedModel, PackedState
from streams_assignor.spark_sim.packed.view import PHASE
from streams_assignor.spark_sim.search.bfs import MAX_STATES
from streams_assignor.spark_sim.search.graph import StateViolation

_INITIAL_CAPACITY: Final = 1 << 18
"""States that there is room for at first: smaller cells are not worth compiling."""


def bfs(encoding: Encoding, max_states: int = MAX_STATES) -> PackedGraph:
    """Return the graph of all states of a cell, as ``packed.bfs.bfs`` does.

    A cell with too many members or process states for compiled states is searched by ``packed.bfs``.
    """
    members: int = encoding.cell.members
    if members > _kernel.MAX_MEMBERS:
        return plain.bfs(encoding, max_states=max_states)
    arrays, initial_states = _initial_arrays(encoding)
    with gc_disabled():
        try:
            tables = KernelTableBuilder(encoding)  # knows the process states of the initial states
            arrays = _expand_all(arrays, tables, members, max_states)
        except TooManyProcessStatesError:
            return plain.bfs(encoding, max_states=max_states)
        return _state_graph(tables, arrays, initial_states)


def _expand_all(arrays: SearchArrays, tables: KernelTableBuilder, members: int, max_states: int) -> SearchArrays:
    """Run the kernel until it needs no more table entries."""
    while missing := _kernel.expand(arrays, tables.tables, members, max_states, PHASE):
        if missing == _kernel.OUT_OF_SPACE:
            arrays = _grow(arrays)
        else:
            key, other = arrays.counts[_kernel.MISSING_KEY :].tolist()
            tables.fill(missing, key, other, arrays.scratch[_kernel.SCRATCH[0], :members].tolist())
    return arrays


def _allocate(states: int, edges: int) -> SearchArrays:
    room = _kernel.BATCH + _kernel.SLACK
    return SearchArrays(
        counts=np.zeros(_kernel.MISSING_KEY + 2, np.int64),
        slots=np.zeros(4 * states, np.int64),
        words=np.zeros((states, 2), np.int64),
        state_counts=np.zeros(states, np.int32),
        edge_offsets=np.zeros(states + 2, np.int64),
        targets=np.zeros(edges, np.int32),
        labels=np.zeros(edges, np.uint8),
        failures=np.zeros((states, 2), np.int32),
        terminal_states=np.zeros(states, np.int32),
        lead_states=np.zeros(states, np.int32),
        pending=np.zeros((room, 2), np.int64),
        scratch=np.zeros((len(_kernel.SCRATCH), _kernel.MAX_MEMBERS), np.int64),
    )


def _grow(arrays: SearchArrays) -> SearchArrays:
    """Return a copy with four times the room."""
    wider = _allocate(4 * len(arrays.words), 4 * arrays.targets.size)
    for name, new in wider._asdict().items():
        old = getattr(arrays, name)
        if name == "slots":
            _kernel.rehash(old, new)
        else:
            new[: len(old)] = old
    return wider


def _initial_arrays(encoding: Encoding) -> tuple[SearchArrays, dict[int, list[int]]]:
    arrays = _allocate(_INITIAL_CAPACITY, 8 * _INITIAL_CAPACITY)
    size = 1
    initial_states: dict[int, list[int]] = {}
    for leader, (process_states, group) in enumerate(encoding.initial_states()):
        words = _kernel.pack(np.array(process_states), len(process_states), group)
        number = int(_kernel.number_of(*words, arrays.slots, size))
        arrays.words[number] = words
        size += number == size
        initial_states.setdefault(number, []).append(leader)
    arrays.counts[_kernel.NEXT_STATE], arrays.counts[_kernel.STATE_COUNT], arrays.state_counts[0] = 1, size, size
    return arrays, initial_states


class _LazyColumn(Sequence[Any]):
    """A column of a graph that is decoded from arrays on access."""

    def __init__(self, size: int, read: Callable[[int], Any]) -> None:
        self._size, self._read = size, read

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self._read(index) for index in range(*at.indices(self._size))]
        if not -self._size <= at < self._size:
            raise IndexError(at)
        return self._read(at % self._size)


@define(eq=False)
class _CompiledGraph(PackedGraph):
    """A graph whose states are looked up in the kernel's hash table."""

    slots: Any = field(kw_only=True)

    def number_of(self, state: PackedState) -> int:
        words = _kernel.pack(np.array(state.process_states), len(state.process_states), state.group_fields)
        number = int(_kernel.number_of(*words, self.slots, 0))
        if not number:
            raise unknown_state(state)
        return number


def _state_graph(tables: KernelTableBuilder, arrays: SearchArrays, initial_states: dict[int, list[int]]) -> PackedGraph:
    packed, members = tables.encoding, tables.encoding.cell.members
    edges, expanded, size = arrays.counts[[_kernel.EDGE_COUNT, _kernel.NEXT_STATE, _kernel.STATE_COUNT]].tolist()
    buffer = np.zeros(_kernel.MAX_MEMBERS, np.int64)

    def process_states(at: int) -> tuple[int, ...]:
        _kernel.unpack(*arrays.words[at].tolist(), members, buffer)
        return tuple(buffer[:members].tolist()) if at else ()

    def key(at: int) -> int:
        return (
            packed.key(process_states(at), int(_kernel.unpack(*arrays.words[at].tolist(), members, buffer)))
            if at
            else -1
        )

    columns: Any = {
        "process_states": _LazyColumn(size, process_states),
        "keys": _LazyColumn(size, key),
        "numbers_by_key": {},
    }
    graph = _CompiledGraph(
        PackedModel(packed),
        **columns,
        state_counts=_array("i", arrays.state_counts[:expanded]),
        initial_states=initial_states,
        edge_offsets=_array("q", arrays.edge_offsets[: expanded + 1]),
        targets=_array("i", arrays.targets[:edges]),
        labels=bytearray(arrays.labels[:edges].tobytes()),
        terminal_states=arrays.terminal_states[: int(arrays.counts[_kernel.TERMINAL_COUNT])].tolist(),
        slots=arrays.slots,
    )
    _check_states(graph, tables, arrays)
    return graph


def _array(kind: str, column: Any) -> array[int]:
    new = array(kind)
    new.frombytes(column.view(np.uint8))
    return new


def _check_states(graph: PackedGraph, tables: KernelTableBuilder, arrays: SearchArrays) -> None:
    """Add the violations, in the order of their states, and the suspected second owners."""
    packed = tables.encoding
    for at, action in arrays.failures[: int(arrays.counts[_kernel.FAILURE_COUNT])].tolist():
        if action >= 0:
            graph.violations.append(StateViolation(at, tables.failures[action], tables.actions[action]))
        elif isinstance(failure := packed.leader_result(graph.process_states[at]), Violation):
            graph.violations.append(StateViolation(at, failure, LEAD))
    check_eventually, is_suspect = (
        lru_cache(None)(packed.check_eventually),
        lru_cache(None)(packed.may_have_second_owner),
    )
    for at in graph.terminal_states:
        if (violation := check_eventually(graph.process_states[at])) is not None:
            graph.violations.append(StateViolation(at, violation))
    graph.violations.sort(key=lambda violation: violation.state)
    if packed.checks_single_owner:
        lead_states = arrays.lead_states[: int(arrays.counts[_kernel.LEAD_COUNT])].tolist()
        graph.second_owner_suspects += [at for at in lead_states if is_suspect(graph.process_states[at])]
