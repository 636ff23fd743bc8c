"""Iteration orders of Java collections, as far as assignments depend on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar
from uuid import UUID

from attrs import define, field

from streams_assignor.codec import TaskId

Key = TypeVar("Key")
DEFAULT_BUCKETS: Final = 16
"""How many buckets a hash set begins with."""


def hash_order(tasks: Iterable[TaskId]) -> list[TaskId]:
    """Return tasks in the iteration order of a ``HashMap`` that grew with them (Kafka 3.0 and later).

    A bucket that Java would turn into a tree (nine tasks or more in it, which takes as many subtopologies) is taken
    for a plain one.
    """
    hashes = {task: spread(_task_hash(task)) for task in tasks}
    return bucket_order(list(hashes), hashes)


def hash_order_before_3_0(tasks: Iterable[TaskId]) -> list[TaskId]:
    """Return tasks in the order of a ``HashSet`` before Kafka 3.0; those in one bucket by their number.

    >>> [str(task) for task in hash_order_before_3_0([TaskId(1, 0), TaskId(0, 2), TaskId(0, 0)])]
    ['0_0', '1_0', '0_2']
    """
    hashes = {task: spread(((task.subtopology << 32) + task.partition) % 0xFFFFFFFF) for task in sorted(tasks)}
    return bucket_order(list(hashes), hashes)


def bucket_order(keys: Sequence[Key], hashes: Mapping[Key, int], buckets: int = DEFAULT_BUCKETS) -> list[Key]:
    """Sort keys, given in insertion order, by their buckets in a hash set that begins with so many ``buckets``."""
    while len(keys) > 0.75 * buckets:
        buckets *= 2
    return sorted(keys, key=lambda key: hashes[key] % buckets)


def table_size(capacity: int) -> int:
    """Return how many buckets a hash set of this initial capacity begins with."""
    return 1 << max(0, capacity - 1).bit_length()


def buckets_of_copy(size: int) -> int:
    """Return how many buckets a hash set begins with that is made of a collection with so many elements."""
    return table_size(max(DEFAULT_BUCKETS, int(size / 0.75) + 1))


def uuid_hash(value: UUID) -> int:
    """Return the hash of a UUID in a hash set."""
    both = (value.int >> 64) ^ (value.int & (1 << 64) - 1)
    return spread(both >> 32 ^ both)


def _task_hash(task: TaskId) -> int:
    return 31 * (31 * (31 + task.subtopology) + task.partition) + string_hash(task.topology or "")


def string_hash(text: str) -> int:
    """Return ``String.hashCode``, of which only the lower 32 bits count."""
    value = 0
    utf_16 = text.encode("utf-16", "surrogatepass")[2:]  # in native order, without the byte order mark
    for unit in memoryview(utf_16).cast("H"):
        value = 31 * value + unit
    return value


def spread(value: int) -> int:
    """Mix the upper half into the lower one (``HashMap.hash``); only the lower 32 bits count."""
    value &= 0xFFFFFFFF
    return value ^ value >> 16


@define(eq=False)
class JavaPriorityQueue:
    """``java.util.PriorityQueue`` of numbers, compared by their current ``keys``; ``array`` is its internal array."""

    keys: Sequence[Any]
    array: list[int] = field(factory=list)

    def add(self, item: int) -> None:
        """Insert an item."""
        self.array.append(item)
        self._up(len(self.array) - 1, item)

    def poll(self) -> int:
        """Remove and return the first item."""
        first, last = self.array[0], self.array.pop()
        if self.array:
            self._down(0, last)
        return first

    def remove(self, item: int) -> None:
        """Remove an item at any position."""
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


def priority_queue_order(keys: Sequence[int], array: bool) -> list[int]:
    """Return the positions of ``keys`` in the order of a ``PriorityQueue`` to which they were added.

    ``array``: in the order of its iterator, which is that of the internal array; otherwise in the order of ``poll``.
    It needs the queue only if keys are equal, as their order is arbitrary.
    """
    if not array and len(set(keys)) == len(keys):
        return sorted(range(len(keys)), key=keys.__getitem__)
    queue = JavaPriorityQueue(keys)
    for position in range(len(keys)):
        queue.add(position)
    return queue.array if array else [queue.poll() for _ in keys]
