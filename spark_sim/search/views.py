"""Search of groups of any size, by view abstraction.

Literature: Abdulla, Haziza, Holik, "All for the Price of Few" (VMCAI 2013).

A *view* is what all processes of a group share, and the states of k of them. ``close`` finds a set of views that has
those of the initial groups, whatever their size, and that no action leaves: it puts k + 1 processes together whose
views are all known, takes every action with whatever else may be in the group, and keeps the views of what comes out.
So every view of every reachable group is in the set. ``docs/explanation/exploring.md`` has the argument.

A set of processes is an integer with a bit for each. Of the k + 1 processes one is the *actor* (it acts, or is elected
as the leader acts), and all that have the same kind as the last of them are handled at once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import combinations, product
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from attrs import Factory, define

H = TypeVar("H", bound=Hashable)

Processes = tuple[int, ...]
"""Numbers of the states of processes, sorted."""
MAX_PARTS: Final = 200_000


class ActionEffect(NamedTuple, Generic[H]):
    """The effect of an action on a part of a group."""

    shared: H
    others: tuple[int, ...]
    """The process that has acted as it is now, without the leader."""
    image: Callable[[int], int] | None
    """Each process that has not acted => the process as it is now; None: all stay as they are."""


class ViewModel(Protocol[H]):
    """A group whose processes are interchangeable, as parts of it."""

    def initial_parts(self, size: int) -> Iterable[tuple[H, Processes]]:
        """Return every choice of so many processes in an initial group of any size, with what they share."""
        ...

    def kind(self, process: int) -> Any:
        """Return all that the rules ask of a process that does not act."""
        ...

    def conflate(self, processes: Processes) -> Any:
        """Return all that the rules can tell of any number of processes, each of which is one of these."""
        ...

    def situation(self, shared: H, actor: int, few: Processes, last: Any, unseen: Any) -> Hashable:
        """Return all that decides what may happen to a part of a group.

        Args:
            shared: The shared state of the processes; the leader, which may act, is part of it.
            actor: The process that acts, or is elected.
            few: Others.
            last: The kind of one more.
            unseen: There may be any others with ``conflate(others) == unseen``.
        """
        ...

    def post(self, shared: H, actor: int, situation: Any) -> Iterable[ActionEffect[H]]:
        """Return the effects of all actions of an actor and the leader."""
        ...


@define(eq=False)
class Views(Generic[H]):
    """Views of groups of any size."""

    model: ViewModel[H]
    k: int
    """The number of processes in a view, besides what is shared."""
    known: dict[H, dict[Processes, int]] = Factory(dict)
    """The shared state => k - 1 processes => the set of those that make them a view."""
    expanded: dict[tuple[H, int, Processes], dict[Any, int]] = Factory(dict)
    """An actor and k - 1 others => what may be unseen beside them and one more => the set of those who were that."""
    _changed: dict[H, None] = Factory(dict)
    _numbers: dict[ActionEffect[H], int] = Factory(dict)
    _effects: list[ActionEffect[H]] = Factory(list)
    _posts: dict[tuple[H, int, Hashable], list[int]] = Factory(dict)
    _kinds: dict[int, dict[Any, int]] = Factory(dict)
    _conflated: dict[int, Any] = Factory(dict)
    _images: dict[tuple[Callable[[int], int], int], int] = Factory(dict)

    @property
    def count(self) -> int:
        """How many views there are."""
        return sum(
            len({tuple(sorted((*few, last))) for few, beside in known.items() for last in members(beside)})
            for known in self.known.values()
        )

    def add(self, shared: H, few: Iterable[int], beside: int) -> None:
        """Add the views of k - 1 processes and each of a set."""
        known = self.known.setdefault(shared, {})
        few = tuple(sorted(few))
        if new := beside & ~known.get(few, 0):
            self._changed[shared] = None
            known[few] = known.get(few, 0) | new
            for last in members(new) if few else ():
                for place, process in enumerate(few):
                    others = tuple(sorted((*few[:place], *few[place + 1 :], last)))
                    known[others] = known.get(others, 0) | 1 << process

    def parts(self, shared: H) -> Iterator[tuple[int, Processes, int]]:
        """Yield an actor, k - 1 others, and the set of those that are a part with them: all their views are known."""
        known = self.known[shared]
        for few, beside in tuple(known.items()):
            for actor in members(beside):
                yield actor, few, self.fitting(shared, (actor, *few))

    def fitting(self, shared: H, processes: Processes) -> int:
        """Return the set of the processes that make each k - 1 of these a known view."""
        known, fitting = self.known[shared], -1
        for few in combinations(sorted(processes), self.k - 1):
            fitting &= known.get(few, 0)
        return fitting

    def expand(self, shared: H) -> None:
        """Add the views of all that follows the parts with this in common."""
        alike = self._alike(shared)
        for actor, few, fitting in self.parts(shared):
            done = self.expanded.setdefault((shared, actor, few), {})
            effects = dict[int, int]()
            # The others have no order: the last of them has the greatest number.
            by_unseen = {fitting: fitting & -1 << max(few, default=0)}
            for some in combinations(sorted((actor, *few)), self.k - 2) if self.k > 1 else ():
                by_unseen = _cut(by_unseen, alike[some])
            for fitting_all, last in by_unseen.items():
                unseen = self._conflate(fitting_all)
                if new := last & ~done.get(unseen, 0):
                    done[unseen] = done.get(unseen, 0) | last
                    for kind, processes in self._by_kind(new):
                        for effect in self._post(shared, actor, self.model.situation(shared, actor, few, kind, unseen)):
                            effects[effect] = effects.get(effect, 0) | processes
            for effect, last in effects.items():
                self._add_effect(self._effects[effect], few, last)

    def _alike(self, shared: H) -> dict[Processes, dict[int, int]]:
        """Return k - 2 processes => a set that makes them a view with another process => all processes that do so."""
        alike = dict[Processes, dict[int, int]]()
        for few, beside in self.known[shared].items():
            for place, process in enumerate(few):
                processes = alike.setdefault((*few[:place], *few[place + 1 :]), {})
                processes[beside] = processes.get(beside, 0) | 1 << process
        return alike

    def _add_effect(self, effect: ActionEffect[H], few: Processes, last: int) -> None:
        shared, others, image = effect
        if image is not None:
            few, last = tuple(map(image, few)), self._image(image, last)
        self.add(shared, few, last)
        for count in range(1, min(len(others), self.k) + 1):
            for first, *acted in combinations(others, count):
                for some in combinations(few, self.k - count):
                    self.add(shared, (*acted, *some), 1 << first)
                for some in combinations(few, self.k - count - 1) if count < self.k else ():
                    self.add(shared, (first, *acted, *some), last)

    def close(self, max_parts: int) -> bool:
        """Expand until nothing is new; False if there are more parts."""
        while self._changed and len(self.expanded) <= max_parts:
            shared = next(iter(self._changed))
            del self._changed[shared]
            self.expand(shared)
        return not self._changed

    def _post(self, shared: H, actor: int, situation: Hashable) -> list[int]:
        """Return the numbers of the effects of all actions."""
        key = shared, actor, situation
        if key not in self._posts:
            numbers = self._posts[key] = []
            for effect in self.model.post(shared, actor, situation):
                numbers.append(self._numbers.setdefault(effect, len(self._effects)))
                if numbers[-1] == len(self._effects):
                    self._effects.append(effect)
        return self._posts[key]

    def _by_kind(self, processes: int) -> Iterable[tuple[Any, int]]:
        if processes not in self._kinds:
            kinds = self._kinds[processes] = {}
            for process in members(processes):
                kind = self.model.kind(process)
                kinds[kind] = kinds.get(kind, 0) | 1 << process
        return self._kinds[processes].items()

    def _conflate(self, processes: int) -> Any:
        if processes not in self._conflated:
            self._conflated[processes] = self.model.conflate(members(processes))
        return self._conflated[processes]

    def _image(self, image: Callable[[int], int], processes: int) -> int:
        if (image, processes) not in self._images:
            self._images[image, processes] = sum(1 << process for process in set(map(image, members(processes))))
        return self._images[image, processes]


def members(processes: int) -> Processes:
    """Return the processes of a set."""
    found = []
    while processes:
        found.append((processes & -processes).bit_length() - 1)
        processes &= processes - 1
    return tuple(found)


def _cut(sets: dict[int, int], alike: dict[int, int]) -> dict[int, int]:
    """Cut the processes that have a set in common by others that have one: both sets meet in those that are in both."""
    cut = dict[int, int]()
    for (one, processes), (other, others) in product(sets.items(), alike.items()):
        if both := processes & others:
            cut[one & other] = cut.get(one & other, 0) | both
    return cut


def close(model: ViewModel[H], k: int, max_parts: int = MAX_PARTS) -> Views[H] | None:
    """Return the views of all reachable groups; None if they are too many. ``post`` may end the search by raising."""
    views = Views(model, k)
    for shared, (last, *few) in model.initial_parts(k):
        views.add(shared, few, 1 << last)
    return views if views.close(max_parts) else None
