"""The offset sums of a member or a process by task, which stay small for any number of tasks (see ``_task_sets``)."""

from __future__ import annotations

from array import array
from collections.abc import Callable, ItemsView, Iterator, Mapping, Sequence, Set
from itertools import chain
from operator import not_
from typing import Final, TypeVar

from assignor.protocol._task_sets import SMALL, SortedTasks, split_named
from subscription_codec import LATEST_OFFSET, TaskId
from subscription_codec.columns import INT64

T = TypeVar("T", "array[int]", "list[TaskId]")
Merge = Callable[[int, int], int]
"""What two offset sums of one task are together: earlier one, later one."""


def last_sum(_earlier: int, later: int) -> int:
    """Return what a member means that states a task twice."""
    return later


def best_sum(earlier: int, later: int) -> int:
    """Return what two members of a process have of a task together: ``LATEST_OFFSET`` first, then the largest."""
    return LATEST_OFFSET if LATEST_OFFSET in (earlier, later) else max(earlier, later)


def offset_sums(tasks: Sequence[TaskId], sums: Sequence[int], merge: Merge = last_sum) -> Mapping[TaskId, int]:
    """Return the offset sum of each task, given tasks and sums in the same order."""
    if len(tasks) > SMALL:
        return SortedOffsetSums(tasks, sums, merge)
    found: dict[TaskId, int] = {}
    for task, known in zip(tasks, sums, strict=True):
        found[task] = merge(found[task], known) if task in found else known
    return found


def previous_tasks(sums: Mapping[TaskId, int], owned: Set[TaskId], existing: int) -> tuple[Set[TaskId], Set[TaskId]]:
    """Return the tasks that a process ran or owns, and the others of which it has offset sums.

    A process reports more than the ``existing`` tasks if the topology has lost some, or if it is hostile.
    """
    if isinstance(sums, SortedOffsetSums) and len(sums) > existing:
        return sums.previous_tasks(owned)
    active = owned | {task for task, known in sums.items() if known == LATEST_OFFSET}
    return frozenset(active), frozenset(sums.keys() - active)


class SortedOffsetSums(Mapping[TaskId, int]):
    """The offset sum of each task in columns.

    >>> tasks = [TaskId(0, 1), TaskId(0, 0, "name"), TaskId(0, 0), TaskId(0, 1)]
    >>> [(str(task), known) for task, known in SortedOffsetSums(tasks, [5, 4, 3, 2]).items()]
    [('0_0', 3), ('0_1', 2), ('name__0_0', 4)]
    """

    __slots__ = ("_sums", "_tasks")

    def __init__(self, tasks: Sequence[TaskId], sums: Sequence[int], merge: Merge = last_sum) -> None:
        places: tuple[array[int], array[int]] = array(INT64), array(INT64)
        packed, named = split_named(tasks, places)
        numbers, packed_sums = _sorted_and_merged(packed, places[0], sums, merge)
        names, named_sums = _sorted_and_merged(named, places[1], sums, merge)
        self._tasks: Final = SortedTasks(numbers, names)
        self._sums: Final = packed_sums + named_sums

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[TaskId]:
        return iter(self._tasks)

    def __getitem__(self, task: TaskId) -> int:
        if (place := self._tasks.place_of(task)) is None:
            raise KeyError(task)
        return self._sums[place]

    def items(self) -> ItemsView[TaskId, int]:
        """Return tasks and sums; iterating them looks nothing up."""
        return _Items(self)

    def previous_tasks(self, owned: Set[TaskId]) -> tuple[SortedTasks, SortedTasks]:
        """Return the tasks of ``LATEST_OFFSET`` with those that are owned, and all others."""
        is_active = [known == LATEST_OFFSET for known in self._sums]
        stored = owned & self.keys()
        for task in stored:
            is_active[self._tasks.place_of(task) or 0] = True
        active, standby = self._tasks.where(is_active), self._tasks.where(map(not_, is_active))
        return (SortedTasks.of(chain(active, owned)) if owned - stored else active), standby


class _Items(ItemsView[TaskId, int]):
    _mapping: SortedOffsetSums

    def __iter__(self) -> Iterator[tuple[TaskId, int]]:
        return zip(self._mapping._tasks, self._mapping._sums, strict=True)


def _sorted_and_merged(tasks: T, places: array[int], sums: Sequence[int], merge: Merge) -> tuple[T, array[int]]:
    """Return the tasks in order, each once, and the sum of each; ``places`` are those of the tasks in ``sums``."""
    keys, found = tasks[:0], array(INT64)
    for index in sorted(range(len(tasks)), key=tasks.__getitem__):
        task, known = tasks[index], sums[places[index]]
        if keys and keys[-1] == task:
            found[-1] = merge(found[-1], known)
        else:
            keys.append(task)
            found.append(known)
    return keys, found
