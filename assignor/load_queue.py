"""Clients by load, in the order in which Kafka's queue gives them out, which is not always the order of load.

Kafka keeps clients in a ``PriorityQueue`` while it moves tasks between them. A client whose load has become smaller is
still at its old place when another one is put in, and that can leave the queue in a wrong order, until it has been
emptied in search of somebody. The less loaded of two candidates may then not be the one that comes out first.

Doing all that the queue does would take minutes in a large group. But nearly always nobody can tell: there is just one
candidate, or nothing has been disturbed since the queue was in order. So what is done to the queue is only written
down, and done when it matters. Java: ``ConstrainedPrioritySet``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import eq
from typing import Final

from attrs import define, field

from assignor.by_load import ByLoad
from assignor.java_order import JavaQueue, in_buckets, uuid_hash
from assignor.placing import Placing

PATIENCE: Final = 100_000
"""So many clients are taken out of the imitated queue, at most; from then on the least loaded one is taken. That is
enough for hundreds of movements among hundreds of clients, and takes some tenths of a second."""

Load = tuple[float, int]
"""Tasks per member, and the client itself to decide between equals."""
_Change = tuple[int, Load, Load]
"""A client, its load before and after."""


@define(eq=False)
class LoadQueue:
    """Everybody is in the queue, but for one between ``poll`` and ``offer``.

    ``_written`` is what happened since the queue was filled: who was taken out (``None``: all were, in vain), and whose
    loads changed before both were put in again. ``_filled`` is the order in which it was filled; ``None``: that of a
    hash set that they came into by load. ``_queue`` is the queue itself, while it matters.
    """

    placing: Placing
    patience: int = PATIENCE
    _loads: list[Load] = field(init=False)
    _filled: list[int] | None = field(init=False)
    _written: list[int | tuple[_Change, _Change] | None] = field(factory=list, init=False)
    _disturbed: bool = field(default=False, init=False)
    _queue: JavaQueue | None = field(default=None, init=False)
    _by_load: ByLoad | None = field(default=None, init=False)
    _hashes: dict[int, int] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        """They are put in one after the other."""
        self._filled = list(range(len(self.placing.clients)))
        self._loads = [self._load(client) for client in self._filled]

    def poll(self, wanted: Callable[[int], bool], candidates: Sequence[int] | None) -> int | None:
        """Take out the first client that is wanted. ``candidates`` are all who are, where they are known."""
        if self._disturbed and self._queue is None and (candidates is None or len(candidates) > 1) and self._affordable:
            self._do_what_is_written()
        if self._queue is not None:
            return self._poll(self._queue, wanted)
        if candidates is None:
            found = self._least_loaded(wanted)
        else:
            found = min(candidates, key=self._loads.__getitem__, default=None)
        if found is not None:
            self._written.append(found)
        elif self._disturbed and self._affordable:
            self._written.append(None)
            self._disturbed = False
        else:
            self._start(None)
        return found

    def offer(self, taken: int, other: int) -> None:
        """Put in the one that was taken out, then the other one, anew: their loads may have changed."""
        changes = (
            (taken, self._loads[taken], self._load(taken)),
            (other, self._loads[other], self._load(other)),
        )
        self._disturbed |= changes[1][2] < changes[1][1]
        self._change(changes)
        if self._queue is None:
            self._written.append(changes)
        else:
            self._put_in(self._queue, changes)
        if self._by_load is not None:
            self._by_load.changed(taken)
            self._by_load.changed(other)

    @property
    def _affordable(self) -> bool:
        return self.patience > 0 and len(self._written) * len(self._loads) <= self.patience

    def _load(self, client: int) -> Load:
        return self.placing.load(client), client

    def _least_loaded(self, wanted: Callable[[int], bool]) -> int | None:
        if self._by_load is None:
            self._by_load = ByLoad(len(self._loads), self._loads.__getitem__)
        return self._by_load.first(wanted)

    def _start(self, filled: list[int] | None) -> None:
        """The queue has been filled anew; it is in order."""
        self._filled, self._queue, self._disturbed = filled, None, False
        self._written.clear()

    def _do_what_is_written(self) -> None:
        for entry in reversed(self._written):
            if isinstance(entry, tuple):
                self._change((client, after, before) for client, before, after in entry)
        queue = JavaQueue(self._loads)
        by_load = sorted(range(len(self._loads)), key=self._loads.__getitem__)
        for client in self._in_hash_set(by_load) if self._filled is None else self._filled:
            queue.add(client)
        for entry in self._written:
            if isinstance(entry, tuple):
                self._change(entry)
                self._put_in(queue, entry)
            else:
                self._take_out(queue, partial(eq, entry))
        self._written.clear()
        self._queue = queue

    def _change(self, changes: Iterable[_Change]) -> None:
        for client, _, after in changes:
            self._loads[client] = after

    def _put_in(self, queue: JavaQueue, changes: tuple[_Change, _Change]) -> None:
        for client, _, _ in changes:
            if client in queue.array:
                queue.remove(client)
            queue.add(client)

    def _poll(self, queue: JavaQueue, wanted: Callable[[int], bool]) -> int | None:
        found, others = self._take_out(queue, wanted)
        if found is None:
            self._start(others)
        elif self.patience <= 0:
            self._queue = None
        return found

    def _take_out(self, queue: JavaQueue, wanted: Callable[[int], bool]) -> tuple[int | None, list[int]]:
        """Take out clients until one is wanted, and put in the others again; return that one and those others."""
        others: list[int] = []
        found = None
        while queue.array and found is None:
            client = queue.poll()
            if wanted(client):
                found = client
            else:
                others.append(client)
        self.patience -= len(others) + 1
        others = self._in_hash_set(others)
        for client in others:
            queue.add(client)
        return found, others

    def _in_hash_set(self, clients: list[int]) -> list[int]:
        if not self._hashes:
            self._hashes = {at: uuid_hash(client.process_id) for at, client in enumerate(self.placing.clients)}
        return in_buckets(clients, self._hashes)
