"""The least loaded first, while loads change: a heap in which outdated entries stay until they come up."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any

from attrs import define, field


@define(eq=False)
class ByLoad:
    """Clients by number; ``key`` says how loaded one is now, with what decides between equals."""

    clients: int
    key: Callable[[int], Any]
    _heap: list[tuple[Any, int]] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Enter everybody."""
        self._heap = [(self.key(client), client) for client in range(self.clients)]
        heapify(self._heap)

    def changed(self, client: int) -> None:
        """Say that the load of a client is another one now."""
        heappush(self._heap, (self.key(client), client))

    def least(self, wanted: Callable[[int], bool] = lambda _client: True) -> int:
        """Return the least loaded client that is wanted, of which there is one."""
        found = self.first(wanted)
        if found is None:
            raise LookupError("nobody is wanted; this should never happen")
        return found

    def first(self, wanted: Callable[[int], bool]) -> int | None:
        """Return the least loaded client that is wanted. It costs as many steps as there are unwanted ones before."""
        aside: list[tuple[Any, int]] = []
        found = None
        while self._heap and found is None:
            entry = key, client = heappop(self._heap)
            if key != self.key(client) or (aside and aside[-1] == entry):
                continue  # there is a newer entry, or another one
            aside.append(entry)
            if wanted(client):
                found = client
        for entry in aside:
            heappush(self._heap, entry)
        return found
