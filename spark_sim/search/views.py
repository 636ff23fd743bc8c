"""Search of groups of any size, by view abstraction.

Literature: Abdulla, Haziza, Holik, "All for the Price of Few" (VMCAI 2013).

A *view* is what all processes of a group share, and the states of k of them. ``close`` finds a set of views that has
those of the initial groups, whatever their size, and that no action leaves: it puts k + 1 processes together whose
views are all known, takes every action with whatever else may be in the group, and keeps the views of what comes out.
So every view of every reachable group is in the set. ``docs/explanation/exploring.md`` has the argument.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from itertools import combinations
from typing import Any, Final, Generic, Protocol, TypeVar

from attrs import Factory, define

H = TypeVar("H", bound=Hashable)

Processes = tuple[int, ...]
"""Numbers of the states of processes, sorted."""
MAX_PARTS: Final = 1_000_000


class ViewModel(Protocol[H]):
    """A group whose processes are interchangeable, as parts of it."""

    def initial_parts(self, size: int) -> Iterable[tuple[H, Processes]]:
        """Return every choice of so many processes in an initial group of any size, with what they share."""
        ...

    def conflate(self, processes: Processes) -> Hashable:
        """Return all that the rules can tell of any number of processes, each of which is one of these."""
        ...

    def post(self, shared: H, seen: Processes, unseen: Any) -> Iterable[tuple[H, list[int]]]:
        """Return what any action makes of the seen processes, beside any others with ``conflate(others) == unseen``."""
        ...


@define(eq=False)
class Views(Generic[H]):
    """Views of groups of any size; a set of processes is an integer with a bit for each."""

    model: ViewModel[H]
    k: int
    """The number of processes in a view, besides what is shared."""
    known: dict[H, set[Processes]] = Factory(dict)
    """What is shared => the processes of each view."""
    parts: dict[tuple[H, Processes], int] = Factory(dict)
    """What was expanded, k + 1 processes whose views are all known => the processes that may be beside them."""
    _beside: dict[H, dict[Processes, int]] = Factory(dict)
    """What is shared => k - 1 processes => those that make them a view."""
    _conflated: dict[int, Hashable] = Factory(dict)
    _waiting: deque[tuple[H, Processes]] = Factory(deque)

    @property
    def count(self) -> int:
        """How many views there are."""
        return sum(map(len, self.known.values()))

    def add(self, shared: H, processes: Iterable[int]) -> None:
        """Add the views of some processes, at least k."""
        known = self.known.get(shared)
        if known is None:
            known, self._beside[shared] = self.known.setdefault(shared, set()), {}
        for view in combinations(sorted(processes), self.k):
            if view not in known:
                known.add(view)
                self._waiting.append((shared, view))
                beside = self._beside[shared]
                for place, process in enumerate(view):
                    others = view[:place] + view[place + 1 :]
                    beside[others] = beside.get(others, 0) | 1 << process

    def beside(self, shared: H, part: Processes) -> Processes:
        """Return the processes that may be in a group with an expanded part."""
        return tuple(_members(self.parts[shared, part]))

    def expand_new(self, max_parts: int) -> bool:
        """Expand the parts that are new because one of their views is; False if there are more than ``max_parts``."""
        while self._waiting and len(self.parts) <= max_parts:
            shared, view = self._waiting.popleft()
            for process in _members(self._fitting(shared, view)):
                part = tuple(sorted((*view, process)))
                if (shared, part) not in self.parts:
                    self.expand(shared, part)
        return not self._waiting

    def expand(self, shared: H, part: Processes) -> None:
        """Add the views of what follows a part, unless that has been done with equal processes beside it."""
        before, beside = self.parts.get((shared, part), -1), self._fitting(shared, part)
        self.parts[shared, part] = beside
        if before != beside and (before < 0 or self._conflate(before) != self._conflate(beside)):
            for after in self.model.post(shared, part, self._conflate(beside)):
                self.add(*after)

    def _fitting(self, shared: H, part: Processes) -> int:
        """Return the processes whose views with these are known."""
        fitting = -1
        for some in combinations(part, self.k - 1):
            fitting &= self._beside[shared].get(some, 0)
        return fitting

    def _conflate(self, processes: int) -> Hashable:
        if processes not in self._conflated:
            self._conflated[processes] = self.model.conflate(tuple(_members(processes)))
        return self._conflated[processes]


def _members(processes: int) -> Iterator[int]:
    while processes:
        yield (processes & -processes).bit_length() - 1
        processes &= processes - 1


def close(model: ViewModel[H], k: int, max_parts: int = MAX_PARTS) -> Views[H] | None:
    """Return the views of all reachable groups; None if they are too many. ``post`` may end the search by raising."""
    views, count = Views(model, k), -1
    for shared, processes in model.initial_parts(k):
        views.add(shared, processes)
    while count != (count := views.count):
        if not views.expand_new(max_parts):
            return None
        for shared, part in tuple(views.parts):  # with what may be beside them by now
            views.expand(shared, part)
    return views
