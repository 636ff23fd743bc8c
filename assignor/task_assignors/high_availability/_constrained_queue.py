"""Processes in the order of Kafka's queue, which is not always the order of load.

Kafka keeps processes in a ``PriorityQueue`` while it moves tasks between them. A process whose load has fallen is still
at its old position when another one is inserted. This can break the order of the queue until it has been emptied by a
search. The less loaded of two candidates may then not come out first.

Emulating every step would take minutes in a large group. Nearly always it makes no difference: there is one candidate,
or the queue is still in order. So the operations are only logged, and replayed when they matter.
Java: ``ConstrainedPrioritySet``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import eq
from typing import Final

from attrs import define, field

from streams_assignor.task_assignors.java_order import JavaPriorityQueue, bucket_order, uuid_hash
from streams_assignor.task_assignors.least_loaded import LeastLoadedHeap
from streams_assignor.task_assignors.partial_assignment import PartialAssignment

MAX_EMULATED_POLLS: Final = 100_000
"""The maximum number of polls of the emulated queue; after that, the least loaded process is taken. It is enough for
hundreds of moves among hundreds of processes, and takes some tenths of a second."""

Load = tuple[float, int]
"""Tasks per member, and the process itself as the tie-breaker."""
_LoadChange = tuple[int, Load, Load]
"""A process, and its load before and after."""


@define(eq=False)
class ConstrainedQueue:
    """A queue of all processes, without one of them between ``poll`` and ``offer``."""

    assignment: PartialAssignment
    remaining_polls: int = MAX_EMULATED_POLLS
    _loads: list[Load] = field(init=False)
    _insertion_order: list[int] | None = field(init=False)
    """The order in which the queue was filled; None for the order of a hash set that was filled by load."""
    _log: list[int | tuple[_LoadChange, _LoadChange] | None] = field(factory=list, init=False)
    """The operations since then: the removed process (None if none was), or the two load changes of ``offer``."""
    _order_may_differ: bool = field(default=False, init=False)
    _emulated: JavaPriorityQueue | None = field(default=None, init=False)
    """The emulated queue, while its order matters."""
    _heap: LeastLoadedHeap | None = field(default=None, init=False)
    _hashes: dict[int, int] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        """Insert all processes in order."""
        self._insertion_order = list(range(len(self.assignment.processes)))
        self._loads = [self._load(process) for process in self._insertion_order]

    def poll(self, accept: Callable[[int], bool], candidates: Sequence[int] | None) -> int | None:
        """Remove and return the first accepted process. ``candidates`` are all accepted ones, if known."""
        if (
            self._order_may_differ
            and self._emulated is None
            and (candidates is None or len(candidates) > 1)
            and self._can_emulate
        ):
            self._emulate()
        if self._emulated is not None:
            return self._poll(self._emulated, accept)
        if candidates is None:
            process = self._least_loaded(accept)
        else:
            process = min(candidates, key=self._loads.__getitem__, default=None)
        if process is not None:
            self._log.append(process)
        elif self._order_may_differ and self._can_emulate:
            self._log.append(None)
            self._order_may_differ = False
        else:
            self._reset(None)
        return process

    def offer(self, taken: int, other: int) -> None:
        """Insert the process that was removed, then the other one, with their new loads."""
        changes = (
            (taken, self._loads[taken], self._load(taken)),
            (other, self._loads[other], self._load(other)),
        )
        self._order_may_differ |= changes[1][2] < changes[1][1]
        self._apply_changes(changes)
        if self._emulated is None:
            self._log.append(changes)
        else:
            self._reinsert(self._emulated, changes)
        if self._heap is not None:
            self._heap.update(taken)
            self._heap.update(other)

    @property
    def _can_emulate(self) -> bool:
        return self.remaining_polls > 0 and len(self._log) * len(self._loads) <= self.remaining_polls

    def _load(self, process: int) -> Load:
        return self.assignment.load(process), process

    def _least_loaded(self, wanted: Callable[[int], bool]) -> int | None:
        if self._heap is None:
            self._heap = LeastLoadedHeap(len(self._loads), self._loads.__getitem__)
        return self._heap.first(wanted)

    def _reset(self, filled: list[int] | None) -> None:
        """Restart with a queue that has been refilled and so is in order."""
        self._insertion_order, self._emulated, self._order_may_differ = filled, None, False
        self._log.clear()

    def _emulate(self) -> None:
        for entry in reversed(self._log):
            if isinstance(entry, tuple):
                self._apply_changes((process, after, before) for process, before, after in entry)
        queue = JavaPriorityQueue(self._loads)
        by_load = sorted(range(len(self._loads)), key=self._loads.__getitem__)
        for process in self._hash_set_order(by_load) if self._insertion_order is None else self._insertion_order:
            queue.add(process)
        for entry in self._log:
            if isinstance(entry, tuple):
                self._apply_changes(entry)
                self._reinsert(queue, entry)
            else:
                self._poll_until(queue, partial(eq, entry))
        self._log.clear()
        self._emulated = queue

    def _apply_changes(self, changes: Iterable[_LoadChange]) -> None:
        for process, _, after in changes:
            self._loads[process] = after

    def _reinsert(self, queue: JavaPriorityQueue, changes: tuple[_LoadChange, _LoadChange]) -> None:
        for process, _, _ in changes:
            if process in queue.array:
                queue.remove(process)
            queue.add(process)

    def _poll(self, queue: JavaPriorityQueue, wanted: Callable[[int], bool]) -> int | None:
        process, others = self._poll_until(queue, wanted)
        if process is None:
            self._reset(others)
        elif self.remaining_polls <= 0:
            self._emulated = None
        return process

    def _poll_until(self, queue: JavaPriorityQueue, wanted: Callable[[int], bool]) -> tuple[int | None, list[int]]:
        """Remove processes until one is accepted and reinsert the others; return that one and the others."""
        others: list[int] = []
        accepted = None
        while queue.array and accepted is None:
            process = queue.poll()
            if wanted(process):
                accepted = process
            else:
                others.append(process)
        self.remaining_polls -= len(others) + 1
        others = self._hash_set_order(others)
        for process in others:
            queue.add(process)
        return accepted, others

    def _hash_set_order(self, processes: list[int]) -> list[int]:
        if not self._hashes:
            self._hashes = {at: uuid_hash(process.process_id) for at, process in enumerate(self.assignment.processes)}
        return bucket_order(processes, self._hashes)
