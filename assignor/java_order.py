"""Orders that are accidents of Java's collections, where an assignor's result depends on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar
from uuid import UUID

from attrs import define, field

from subscription_codec import TaskId

Key = TypeVar("Key")


def hash_order(tasks: Iterable[TaskId]) -> list[TaskId]:
    """Return tasks in the order in which a ``HashMap`` that grew with them walks over them (Kafka 3.0 and later).

    A bucket that Java would turn into a tree (nine tasks or more in it, which takes as many subtopologies) is taken
    for a plain one.
    """
    hashes = {task: _spread(_task_hash(task)) for task in tasks}
    return in_buckets(list(hashes), hashes)


def old_hash_order(tasks: Iterable[TaskId]) -> list[TaskId]:
    """Return tasks in the order of a ``HashSet`` before Kafka 3.0; those in one bucket by their number.

    >>> [str(task) for task in old_hash_order([TaskId(1, 0), TaskId(0, 2), TaskId(0, 0)])]
    ['0_0', '1_0', '0_2']
    """
    hashes = {task: _spread(((task.subtopology << 32) + task.partition) % 0xFFFFFFFF) for task in sorted(tasks)}
    return in_buckets(list(hashes), hashes)


def in_buckets(keys: Sequence[Key], hashes: Mapping[Key, int]) -> list[Key]:
    """Sort keys, given in the order in which they came into a hash set, by the bucket that each of them is in."""
    buckets = 16
    while len(keys) > 0.75 * buckets:
        buckets *= 2
    return sorted(keys, key=lambda key: hashes[key] % buckets)


def uuid_hash(value: UUID) -> int:
    """Return what a hash set makes of a UUID."""
    both = (value.int >> 64) ^ (value.int & (1 << 64) - 1)
    return _spread(both >> 32 ^ both)


def _task_hash(task: TaskId) -> int:
    return 31 * (31 * (31 + task.subtopology) + task.partition) + _string_hash(task.topology or "")


def _string_hash(text: str) -> int:
    value = 0
    for character in text:
        value = 31 * value + ord(character)
    return value


def _spread(value: int) -> int:
    """Mix the upper half into the lower one (``HashMap.hash``); only the lower 32 bits count."""
    value &= 0xFFFFFFFF
    return value ^ value >> 16


@define(eq=False)
class JavaQueue:
    """``java.util.PriorityQueue`` of numbers, compared by their ``keys`` at that moment; ``array`` is its inside."""

    keys: Sequence[Any]
    array: list[int] = field(factory=list)

    def add(self, item: int) -> None:
        """Put something in."""
        self.array.append(item)
        self._up(len(self.array) - 1, item)

    def poll(self) -> int:
        """Take out the first."""
        first, last = self.array[0], self.array.pop()
        if self.array:
            self._down(0, last)
        return first

    def remove(self, item: int) -> None:
        """Take out one that is in it, wherever it is."""
        at, last = self.array.index(item), self.array.pop()
        if at < len(self.array):
            self._down(at, last)
            if self.array[at] == last:
                self._up(at, last)

    def _up(self, at: int, item: int) -> None:
        array, keys = self.array, self.keys
        while at and keys[item] < keys[array[(at - 1) // 2]]:
            array[at] = array[(at - 1) // 2]
            at = (at - 1) // 2
        array[at] = item

    def _down(self, at: int, item: int) -> None:
        array, keys = self.array, self.keys
        while (child := 2 * at + 1) < len(array):
            if child + 1 < len(array) and keys[array[child + 1]] < keys[array[child]]:
                child += 1
            if keys[item] <= keys[array[child]]:
                break
            array[at] = array[child]
            at = child
        array[at] = item


def queue_order(keys: Sequence[int], array: bool) -> list[int]:
    """Return the positions of ``keys`` in the order in which a ``PriorityQueue`` that they were added to gives them.

    ``array``: as its iterator does, which is the order of the array inside; otherwise as ``poll`` does. Then only
    equal keys, which come out in no sensible order, make it necessary to do what the queue does.
    """
    if not array and len(set(keys)) == len(keys):
        return sorted(range(len(keys)), key=keys.__getitem__)
    queue = JavaQueue(keys)
    for position in range(len(keys)):
        queue.add(position)
    return queue.array if array else [queue.poll() for _ in keys]
