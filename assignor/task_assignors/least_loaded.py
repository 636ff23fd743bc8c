"""A heap of processes whose loads change: outdated entries stay until they are popped."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any

from attrs import define, field


@define(eq=False)
class LeastLoadedHeap:
    """Processes by load. They are numbers; ``key`` returns the current load, followed by tie-breakers."""

    size: int
    key: Callable[[int], Any]
    _heap: list[tuple[Any, int]] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Add all processes."""
        self._heap = [(self.key(process), process) for process in range(self.size)]
        heapify(self._heap)

    def update(self, process: int) -> None:
        """Update a process whose load has changed."""
        heappush(self._heap, (self.key(process), process))

    def least(self, accept: Callable[[int], bool] = lambda _client: True) -> int:
        """Return the least loaded accepted process; there has to be one."""
        client = self.first(accept)
        if client is None:
            raise LookupError("no process is accepted; this should never happen")
        return client

    def first(self, accept: Callable[[int], bool]) -> int | None:
        """Return the least loaded accepted process, or None; O(k log n) for k rejected processes."""
        aside: list[tuple[Any, int]] = []
        accepted = None
        while self._heap and accepted is None:
            entry = key, process = heappop(self._heap)
            if key != self.key(process) or (aside and aside[-1] == entry):
                continue  # outdated, or there twice
            aside.append(entry)
            if accept(process):
                accepted = process
        for entry in aside:
            heappush(self._heap, entry)
        return accepted
