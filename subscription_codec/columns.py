"""The long lists of a record as columns of machine integers: a member of a large group sends thousands of tasks.

Each class is a read-only sequence of the records it stands for and equals a tuple of them. The numbers are decoded
at once, into arrays of int64 or int32 (8 to 16 bytes a task instead of a few hundred); Python objects are made when
somebody looks at them, and those of tasks are shared between all messages. That is where the speed of the codec comes
from: whole columns are copied and byte-swapped in one go.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, repeat
from operator import eq
from typing import Any, Final, TypeVar, overload

from subscription_codec.records import HostInfo, HostPartitions, TaskId, TaskOffsetSum, TopicEntry, TopicPartition

T = TypeVar("T")
SWAP: Final = sys.byteorder == "little"
INT16: Final = "H"
INT32: Final = next(code for code in "il" if array(code).itemsize == 4)
INT64: Final = "q"


def native(code: str, wire: bytes | array[int]) -> array[int]:
    """Make an array of the big-endian integers in some bytes, which may be an array of other integers."""
    numbers = array(code)
    numbers.frombytes(wire if isinstance(wire, bytes) else memoryview(wire).cast("B"))
    return swapped(numbers)


def swapped(numbers: array[int]) -> array[int]:
    """Turn big-endian integers into those of this machine, in place, or the other way round."""
    if SWAP:  # pragma: no branch - the other branch is for big-endian machines
        numbers.byteswap()
    return numbers


def big_endian(numbers: array[int]) -> bytes:
    """Write an array the way it travels."""
    return swapped(numbers[:]).tobytes()


class _SharedTasks(dict[int, TaskId]):
    """Task ids by their eight bytes as one int64. Bounded, so that nonsense cannot fill the memory."""

    MOST: Final = 1 << 16

    def __missing__(self, packed: int) -> TaskId:
        if len(self) >= self.MOST:
            self.clear()
        task = self[packed] = TaskId(packed >> 32, (packed & 0xFFFFFFFF ^ 0x80000000) - 0x80000000)
        return task


task_of: Final[Callable[[int], TaskId]] = _SharedTasks().__getitem__
"""Look the task up that eight bytes, read as one int64, stand for."""


def _made(record: type[Any], *columns: Iterable[Any]) -> Iterator[Any]:
    """Make a record of each row; much quicker than calling the class."""
    return map(tuple.__new__, repeat(record), zip(*columns, strict=False))


class Column(Sequence[T]):
    """What all columns share: they behave like the tuple of their records."""

    __slots__ = ()

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        if isinstance(index, slice):
            return tuple(map(self._at, range(*index.indices(len(self)))))
        return self._at(range(len(self))[index])

    @abstractmethod
    def _at(self, index: int) -> T: ...

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Column | tuple):
            return NotImplemented
        return len(self) == len(other) and all(map(eq, self, other))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


def pairs(tasks: Collection[TaskId]) -> bytes:
    """Return the eight bytes of each task as they travel; ``ValueError`` if there is a named topology."""
    if isinstance(tasks, TaskIds):
        return big_endian(tasks.packed)
    numbers = array(INT32, bytes(8 * len(tasks)))
    if tasks:
        subtopologies, partitions, topologies = zip(*tasks, strict=True)
        if topologies.count(None) < len(topologies):
            raise ValueError("tasks of named topologies have no column")
        numbers[0::2], numbers[1::2] = array(INT32, subtopologies), array(INT32, partitions)
    return big_endian(numbers)


class TaskIds(Column[TaskId]):
    """Tasks without a named topology, eight bytes each."""

    __slots__ = ("packed",)

    def __init__(self, packed: array[int]) -> None:
        self.packed: Final = packed

    def __len__(self) -> int:
        return len(self.packed)

    def __iter__(self) -> Iterator[TaskId]:
        return map(task_of, self.packed)

    def _at(self, index: int) -> TaskId:
        return task_of(self.packed[index])


class TaskOffsetSums(Column[TaskOffsetSum]):
    """Tasks and their offset sums, sixteen bytes a pair: ``numbers`` is task, sum, task, sum, ..."""

    __slots__ = ("numbers",)

    def __init__(self, numbers: array[int]) -> None:
        self.numbers: Final = numbers

    @classmethod
    def of(cls, sums: Mapping[TaskId, int]) -> TaskOffsetSums:
        """Make it of the sums by task: several times quicker than a tuple of ``TaskOffsetSum``.

        >>> TaskOffsetSums.of({TaskId(0, 3): -2})
        (TaskOffsetSum(task=TaskId(subtopology=0, partition=3, topology=None), offset_sum=-2),)
        """
        return cls.of_columns(sums, sums.values())

    @classmethod
    def of_columns(cls, tasks: Collection[TaskId], sums: Iterable[int]) -> TaskOffsetSums:
        """Put tasks and sums in the same order together."""
        numbers = array(INT64, bytes(16 * len(tasks)))
        numbers[0::2], numbers[1::2] = native(INT64, pairs(tasks)), array(INT64, sums)
        return cls(numbers)

    @property
    def packed(self) -> array[int]:
        """The tasks, eight bytes each as one int64."""
        return self.numbers[0::2]

    @property
    def sums(self) -> array[int]:
        """The offset sums."""
        return self.numbers[1::2]

    def __len__(self) -> int:
        return len(self.numbers) // 2

    def __iter__(self) -> Iterator[TaskOffsetSum]:
        return _made(TaskOffsetSum, map(task_of, self.packed), self.sums)

    def _at(self, index: int) -> TaskOffsetSum:
        return TaskOffsetSum(task_of(self.numbers[2 * index]), self.numbers[2 * index + 1])

    def by_task(self) -> dict[TaskId, int]:
        """Return the sums by task: what Java's ``SubscriptionInfo.taskOffsetSums`` returns."""
        return dict(zip(map(task_of, self.packed), self.sums, strict=True))


class HostMap(Column[HostPartitions]):
    """The partitions that each host serves, by the index of their topic in the dictionary of the assignment.

    ``numbers`` holds index and partition of each, one host after the other; ``counts`` how many each host has.
    """

    def __init__(
        self, topics: Sequence[TopicEntry], hosts: Sequence[HostInfo], counts: Sequence[int], numbers: array[int]
    ) -> None:
        self.topics: Final = topics
        self.hosts: Final = hosts
        self.counts: Final = counts
        self.numbers: Final = numbers

    @classmethod
    def of(cls, entries: Iterable[HostPartitions], topics: Sequence[TopicEntry]) -> HostMap:
        """Look all topics up in the dictionary; ``KeyError`` for one that is not there."""
        index_of = {topic: number for number, topic in topics}
        hosts, counts, numbers = [], [], array(INT32)
        for host, partitions in entries:
            numbers.extend([number for topic, partition in partitions for number in (index_of[topic], partition)])
            hosts.append(host)
            counts.append(len(partitions))
        return cls(topics, hosts, counts, numbers)

    @classmethod
    def empty(cls, topics: Sequence[TopicEntry]) -> HostMap:
        """No hosts, over a dictionary."""
        return cls(topics, (), (), array(INT32))

    @cached_property
    def ends(self) -> Sequence[int]:
        """Where the partitions of each host end, counted in partitions."""
        return tuple(accumulate(self.counts))

    @cached_property
    def topic_of(self) -> Mapping[int, str]:
        """The dictionary, by index."""
        return dict(self.topics)

    def __len__(self) -> int:
        return len(self.hosts)

    def _at(self, index: int) -> HostPartitions:
        end = self.ends[index]
        return HostPartitions(self.hosts[index], tuple(self._partitions(end - self.counts[index], end)))

    def __iter__(self) -> Iterator[HostPartitions]:
        partitions = tuple(self._partitions(0, len(self.numbers) // 2))
        firsts = (0, *self.ends)
        return _made(HostPartitions, self.hosts, (partitions[a:b] for a, b in zip(firsts, self.ends, strict=False)))

    def _partitions(self, first: int, end: int) -> Iterator[TopicPartition]:
        topics, partitions = self.numbers[2 * first : 2 * end : 2], self.numbers[2 * first + 1 : 2 * end : 2]
        return _made(TopicPartition, map(self.topic_of.get, topics), partitions)
