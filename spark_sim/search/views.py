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

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
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
    image: Mapping[int, int] | Sequence[int] | None
    """Each process that has not acted as it is now; None: all stay as they are."""


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

    def situation(self, shared: H, part: Processes, last: Any, unseen: Any) -> Any:
        """Return all that decides what may happen to a part of a group.

        Args:
            shared: What the processes share; the leader, which may act, is part of it.
            part: The process that acts, or is elected, and others.
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
    """What is shared => k - 1 processes => the set of those that make them a view."""
    expanded: dict[tuple[H, int, Processes], dict[Any, int]] = Factory(dict)
    """An actor and k - 1 others => the situations in which they are with one more, and the set of these."""
    _changed: dict[H, None] = Factory(dict)
    _effects: dict[tuple[H, int, Any], tuple[ActionEffect[H], ...]] = Factory(dict)
    _kinds: dict[int, Any] = Factory(dict)
    _conflated: dict[int, Any] = Factory(dict)
    _images: dict[int, dict[int, int]] = Factory(dict)

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
        for actor, few, last in self.parts(shared):
            kinds = dict[Any, int]()
            for process in members(last):
                kind = self._kind(process), self._conflate(self.fitting(shared, (actor, *few, process)))
                kinds[kind] = kinds.get(kind, 0) | 1 << process
            situations = dict[Any, int]()
            for kind, processes in kinds.items():
                situation = self.model.situation(shared, (actor, *few), *kind)
                situations[situation] = situations.get(situation, 0) | processes
            done = self.expanded.get((shared, actor, few), {})
            self.expanded[shared, actor, few] = situations
            for situation, processes in situations.items():
                if done.get(situation) != processes:
                    for effect in self._post(shared, actor, situation):
                        self._add_effect(effect, few, processes)

    def _add_effect(self, effect: ActionEffect[H], few: Processes, last: int) -> None:
        shared, others, image = effect
        if image is not None:
            few = tuple(image[process] for process in few)
            last = self._image(image, last)
        self.add(shared, few, last)
        for count in range(1, min(len(others), self.k) + 1):
            for acted in combinations(others, count):
                if count == self.k:
                    self.add(shared, acted[1:], 1 << acted[0])
                else:
                    for some in combinations(few, self.k - 1 - count):
                        self.add(shared, (*acted, *some), last)

    def close(self, max_parts: int) -> bool:
        """Expand until nothing is new; False if there are more parts."""
        while self._changed and len(self.expanded) <= max_parts:
            shared = next(iter(self._changed))
            del self._changed[shared]
            self.expand(shared)
        return not self._changed

    def _post(self, shared: H, actor: int, situation: Any) -> tuple[ActionEffect[H], ...]:
        key = shared, actor, situation
        if key not in self._effects:
            self._effects[key] = tuple(self.model.post(*key))
        return self._effects[key]

    def _kind(self, process: int) -> Any:
        if process not in self._kinds:
            self._kinds[process] = self.model.kind(process)
        return self._kinds[process]

    def _conflate(self, processes: int) -> Any:
        if processes not in self._conflated:
            self._conflated[processes] = self.model.conflate(members(processes))
        return self._conflated[processes]

    def _image(self, image: Mapping[int, int] | Sequence[int], processes: int) -> int:
        images = self._images.setdefault(id(image), {})
        if processes not in images:
            after = 0
            for process in members(processes):
                after |= 1 << image[process]
            images[processes] = after
        return images[processes]


def members(processes: int) -> Processes:
    """Return the processes of a set."""
    found = []
    while processes:
        found.append((processes & -processes).bit_length() - 1)
        processes &= processes - 1
    return tuple(found)


def close(model: ViewModel[H], k: int, max_parts: int = MAX_PARTS) -> Views[H] | None:
    """Return the views of all reachable groups; None if they are too many. ``post`` may end the search by raising."""
    views = Views(model, k)
    for shared, (last, *few) in model.initial_parts(k):
        views.add(shared, few, 1 << last)
    return views if views.close(max_parts) else None
