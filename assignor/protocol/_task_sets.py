"""Sets and indices of tasks that stay small for any number of them.

Up to ``SMALL`` tasks they are Python's own. In a longer ``frozenset`` or ``dict`` each task costs up to 250 bytes with
its id, for 8 on the wire, and a hostile leader assigns any number. There, tasks are sorted numbers of eight bytes.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, compress
from typing import Any, Final

from subscription_codec import TaskId
from subscription_codec.columns import INT32, INT64, TaskIds, task_of, without_repeats

SMALL: Final = 256


class SortedTasks(Set[TaskId]):
    """An immutable set of tasks.

    >>> tasks = SortedTasks.of([TaskId(0, 1), TaskId(0, 0), TaskId(0, 1), TaskId(0, 0, "name")])
    >>> [str(task) for task in tasks], TaskId(0, 1) in tasks
    (['0_0', '0_1', 'name__0_0'], True)
    """

    __slots__ = ("_named", "_packed")

    def __init__(self, packed: array[int], named: Sequence[TaskId]) -> None:
        self._packed = packed
        """The tasks without a topology name, sorted, each once."""
        self._named = named
        """The others, likewise."""

    @classmethod
    def of(cls, tasks: Iterable[TaskId]) -> SortedTasks:
        """Make the set."""
        packed, named = split_named(tasks)
        return cls(array(INT64, without_repeats(sorted(packed))), [*without_repeats(sorted(named))])

    @classmethod
    def _from_iterable(cls, it: Iterable[Any]) -> Any:
        return frozenset(it)

    def __len__(self) -> int:
        return len(self._packed) + len(self._named)

    def __iter__(self) -> Iterator[TaskId]:
        return chain(map(task_of, self._packed), self._named)

    def __contains__(self, task: object) -> bool:
        return isinstance(task, TaskId) and self.place_of(task) is not None

    def where(self, chosen: Iterable[bool]) -> SortedTasks:
        """Return the tasks that are chosen, in the order of iteration."""
        flags = iter(chosen)  # ``compress`` stops at the last task without taking the flag behind it
        return SortedTasks(array(INT64, compress(self._packed, flags)), [*compress(self._named, flags)])

    def place_of(self, task: TaskId) -> int | None:
        """Return the place of a task in the order of iteration; None if it is not in the set."""
        span = _span(task, self._packed, self._named)
        return span.start + (len(self._packed) if task.topology is not None else 0) if span else None

    __hash__ = Set._hash


class TaskPlaces(Mapping[TaskId, Sequence[int]]):
    """The places of each task in a list of tasks.

    >>> places = TaskPlaces([TaskId(0, 1), TaskId(0, 0), TaskId(0, 1)])
    >>> [*places[TaskId(0, 1)]]
    [0, 2]
    """

    def __init__(self, tasks: Iterable[TaskId]) -> None:
        places = array(INT32), array(INT32)
        packed, named = split_named(tasks, places)
        orders = [sorted(range(len(column)), key=column.__getitem__) for column in (packed, named)]
        self._packed = array(INT64, map(packed.__getitem__, orders[0]))
        self._named = [named[index] for index in orders[1]]
        self._places = [array(INT32, map(its.__getitem__, order)) for its, order in zip(places, orders, strict=True)]
        self._keys = SortedTasks(array(INT64, without_repeats(self._packed)), [*without_repeats(self._named)])

    def keys(self) -> SortedTasks:  # type: ignore[override]
        """Return the tasks."""
        return self._keys

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[TaskId]:
        return iter(self._keys)

    def __getitem__(self, task: TaskId) -> Sequence[int]:
        if not (span := _span(task, self._packed, self._named)):
            raise KeyError(task)
        return self._places[task.topology is not None][span.start : span.stop]


def task_set(tasks: Iterable[TaskId], at_most: int) -> Set[TaskId]:
    """Return a set of at most so many tasks."""
    return frozenset(tasks) if at_most <= SMALL else SortedTasks.of(tasks)


def places_by_task(tasks: Iterable[TaskId], number: int) -> Mapping[TaskId, Sequence[int]]:
    """Return the places of each of ``number`` tasks."""
    if number > SMALL:
        return TaskPlaces(tasks)
    places: dict[TaskId, list[int]] = {}
    for place, task in enumerate(tasks):
        places.setdefault(task, []).append(place)
    return places


def split_named(
    tasks: Iterable[TaskId], places: tuple[array[int], array[int]] | None = None
) -> tuple[array[int], list[TaskId]]:
    """Return the tasks without a topology name as numbers, and the others; add the places of each to ``places``."""
    if isinstance(tasks, TaskIds):
        if places:
            places[0].extend(range(len(tasks)))
        return tasks.packed, []
    packed, named = array(INT64), []
    for place, task in enumerate(tasks):
        if task.topology is None:
            packed.append(_packed_id(task))
        else:
            named.append(task)
        if places:
            places[task.topology is not None].append(place)
    return packed, named


def task_order(task: TaskId) -> tuple[int, int, str]:
    """Sort key for tasks of which some may have a topology name, as a hostile member reports them."""
    return (task.subtopology, task.partition, task.topology or "")


def _packed_id(task: TaskId) -> int:
    """Return a task without a topology name as one number, as ``columns.TaskIds`` has it."""
    return task.subtopology << 32 | task.partition & 0xFFFFFFFF


def _span(task: TaskId, packed: array[int], named: Sequence[TaskId]) -> range:
    """Return where a task is among the sorted ones; empty if it is not there."""
    key, column = (_packed_id(task), packed) if task.topology is None else (task, named)
    return range(bisect_left(column, key), bisect_right(column, key))
