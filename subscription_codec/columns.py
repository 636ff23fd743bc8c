"""The long lists of a record as columns of machine integers: a member of a large group sends thousands of tasks.

Each class is a read-only sequence of its records and equals a tuple of them. The decoder only fills arrays of int64 or
int32 (8 to 16 bytes per task instead of a few hundred). Records are created on access, and all messages share the task
ids. The codec is fast because it copies and byte-swaps whole columns at a time.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, repeat
from operator import eq, itemgetter
from typing import Any, Final, TypeVar, overload

from streams_assignor.codec.records import HostInfo, HostPartitions, TaskId, TaskOffsetSum, TopicEntry, TopicPartition

T = TypeVar("T")
LITTLE_ENDIAN: Final = sys.byteorder == "little"
INT16: Final = "H"
INT32: Final = next(code for code in "il" if array(code).itemsize == 4)
INT64: Final = "q"


def from_big_endian(code: str, wire: bytes | array[int]) -> array[int]:
    """Return an array of the big-endian integers in ``wire``, which may be an array of another type."""
    numbers = array(code)
    numbers.frombytes(wire if isinstance(wire, bytes) else memoryview(wire).cast("B"))
    return byteswapped(numbers)


def byteswapped(numbers: array[int]) -> array[int]:
    """Convert between big-endian and native integers, in place, and return the same array."""
    if LITTLE_ENDIAN:  # pragma: no branch - the other branch is for big-endian machines
        numbers.byteswap()
    return numbers


def to_big_endian(numbers: array[int]) -> bytes:
    """Return the integers as big-endian bytes."""
    return byteswapped(numbers[:]).tobytes()


class FastPathMiss(Exception):
    """The fast path does not support this message; the reference path decides whether it is valid."""


def array_bounds(data: bytes, at: int, item_size: int) -> tuple[int, int, int]:
    """Read a count of items of ``item_size`` bytes; return it with the start and the end of the items."""
    count, first = int.from_bytes(data[at : at + 4], "big"), at + 4  # a negative count is far too large
    end = first + count * item_size
    if end > len(data):
        raise FastPathMiss
    return count, first, end


class _TaskIdCache(dict[int, TaskId]):
    """Task ids by their eight bytes as one int64. Bounded, so that malformed input cannot exhaust the memory."""

    MAX_SIZE: Final = 1 << 16

    def __missing__(self, packed: int) -> TaskId:
        if len(self) >= self.MAX_SIZE:
            self.clear()
        task = self[packed] = TaskId(packed >> 32, (packed & 0xFFFFFFFF ^ 0x80000000) - 0x80000000)
        return task


task_of: Final[Callable[[int], TaskId]] = _TaskIdCache().__getitem__
"""Return the task id whose eight bytes are this int64."""


def make_records(record: type[Any], *columns: Iterable[Any]) -> Iterator[Any]:
    """Yield a record for each row. Much faster than calling the class."""
    return map(tuple.__new__, repeat(record), zip(*columns, strict=False))


def partitions_of(topic: str, numbers: Iterable[int]) -> Iterator[TopicPartition]:
    """Yield partitions of a topic."""
    return make_records(TopicPartition, repeat(topic), numbers)


class RecordSequence(Sequence[T]):
    """Base class of columns: sequences that behave like the tuple of their records."""

    __slots__ = ()

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        if isinstance(index, slice):
            return tuple(map(self._record_at, range(*index.indices(len(self)))))
        return self._record_at(range(len(self))[index])

    @abstractmethod
    def _record_at(self, index: int) -> T: ...

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RecordSequence | tuple):
            return NotImplemented
        return len(self) == len(other) and all(map(eq, self, other))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


class Rows(RecordSequence[T]):
    """The rows of a list whose rows differ in size: the whole message, and the offset of each row in it.

    A row is decoded each time it is asked for: a text of three bytes on the wire is an object of 76.
    """

    __slots__ = ("_data", "_decode", "_offsets")

    def __init__(self, data: bytes, offsets: array[int], decode: Callable[[bytes, int], T]) -> None:
        self._data = data
        self._offsets = offsets
        self._decode = decode

    def __len__(self) -> int:
        return len(self._offsets)

    def __iter__(self) -> Iterator[T]:
        return map(self._decode, repeat(self._data), self._offsets)

    def _record_at(self, index: int) -> T:
        return self._decode(self._data, self._offsets[index])

    def __reduce__(self) -> tuple[type[tuple[T, ...]], tuple[tuple[T, ...]]]:
        return tuple, (tuple(self),)


def pack_task_ids(tasks: Collection[TaskId]) -> bytes:
    """Return the eight big-endian bytes of each task; ``ValueError`` if there is a named topology."""
    if isinstance(tasks, TaskIds):
        return to_big_endian(tasks.packed)
    numbers = array(INT32, bytes(8 * len(tasks)))
    if tasks:
        subtopologies, partitions, topologies = zip(*tasks, strict=True)
        if topologies.count(None) < len(topologies):
            raise ValueError("tasks of named topologies have no column")
        numbers[0::2], numbers[1::2] = array(INT32, subtopologies), array(INT32, partitions)
    return to_big_endian(numbers)


class TaskIds(RecordSequence[TaskId]):
    """Task ids without a named topology."""

    __slots__ = ("packed",)

    def __init__(self, packed: array[int]) -> None:
        self.packed: Final = packed
        """One int64 per task: subtopology (high half) and partition (low half)."""

    def __len__(self) -> int:
        return len(self.packed)

    def __iter__(self) -> Iterator[TaskId]:
        return map(task_of, self.packed)

    def _record_at(self, index: int) -> TaskId:
        return task_of(self.packed[index])


class TaskOffsetSums(RecordSequence[TaskOffsetSum]):
    """Task ids without a named topology, with their offset sums."""

    __slots__ = ("packed_rows",)

    def __init__(self, numbers: array[int]) -> None:
        self.packed_rows: Final = numbers
        """Two int64 per task: the packed task id and its offset sum."""

    @classmethod
    def of(cls, sums: Mapping[TaskId, int]) -> TaskOffsetSums:
        """Make the column from the sums by task. Several times faster than a tuple of ``TaskOffsetSum``.

        >>> TaskOffsetSums.of({TaskId(0, 3): -2})
        (TaskOffsetSum(task=TaskId(subtopology=0, partition=3, topology=None), offset_sum=-2),)
        """
        return cls.of_columns(sums, sums.values())

    @classmethod
    def of_columns(cls, tasks: Collection[TaskId], sums: Iterable[int]) -> TaskOffsetSums:
        """Make the column from tasks and their sums, both in the same order."""
        numbers = array(INT64, bytes(16 * len(tasks)))
        numbers[0::2], numbers[1::2] = from_big_endian(INT64, pack_task_ids(tasks)), array(INT64, sums)
        return cls(numbers)

    @property
    def packed(self) -> array[int]:
        """The packed task ids."""
        return self.packed_rows[0::2]

    @property
    def sums(self) -> array[int]:
        """The offset sums."""
        return self.packed_rows[1::2]

    def __len__(self) -> int:
        return len(self.packed_rows) // 2

    def __iter__(self) -> Iterator[TaskOffsetSum]:
        return make_records(TaskOffsetSum, map(task_of, self.packed), self.sums)

    def _record_at(self, index: int) -> TaskOffsetSum:
        return TaskOffsetSum(task_of(self.packed_rows[2 * index]), self.packed_rows[2 * index + 1])

    def as_dict(self) -> dict[TaskId, int]:
        """Return the sums by task. Java: ``SubscriptionInfo.taskOffsetSums``."""
        return dict(zip(map(task_of, self.packed), self.sums, strict=True))


class TopicDictionary(tuple[TopicEntry, ...]):
    """The topic dictionary that many assignments share; like a host map, it keeps its bytes."""

    encoded: bytes | None = None
    """The bytes of the dictionary, once the fast path has encoded it."""


class HostMap(RecordSequence[HostPartitions]):
    """The partitions that each host serves, as indices into the topic dictionary of the assignment."""

    def __init__(
        self, topics: Sequence[TopicEntry], hosts: Sequence[HostInfo], counts: Sequence[int], numbers: array[int]
    ) -> None:
        self.topic_dictionary: Final = topics
        self.hosts: Final = hosts
        self.counts: Final = counts
        """The number of partitions of each host."""
        self.packed_partitions: Final = numbers
        """Two int32 per partition: the index of the topic and the partition; one host after the other."""
        self.encoded: bytes | None = None
        """The bytes of the column, once the fast path has encoded it."""

    @classmethod
    def of(cls, entries: Iterable[HostPartitions], topics: Sequence[TopicEntry]) -> HostMap:
        """Make the column from records; ``KeyError`` for a topic that the dictionary does not have."""
        index_of = {topic: number for number, topic in topics}
        hosts, counts, numbers = [], [], array(INT32)
        for host, partitions in entries:
            numbers.extend([number for topic, partition in partitions for number in (index_of[topic], partition)])
            hosts.append(host)
            counts.append(len(partitions))
        return cls(topics, hosts, counts, numbers)

    @classmethod
    def empty(cls, topics: Sequence[TopicEntry]) -> HostMap:
        """Return a column without hosts, over a dictionary."""
        return cls(topics, (), (), array(INT32))

    @cached_property
    def ends(self) -> Sequence[int]:
        """The end of each host's partitions, counted in partitions."""
        return tuple(accumulate(self.counts))

    @cached_property
    def topics_by_index(self) -> Mapping[int, str]:
        """The names of the dictionary by index."""
        return dict(self.topic_dictionary)

    def __len__(self) -> int:
        return len(self.hosts)

    def _record_at(self, index: int) -> HostPartitions:
        end = self.ends[index]
        return HostPartitions(self.hosts[index], tuple(self._partitions(end - self.counts[index], end)))

    def __iter__(self) -> Iterator[HostPartitions]:
        partitions = tuple(self._partitions(0, len(self.packed_partitions) // 2))
        firsts = (0, *self.ends)
        return make_records(
            HostPartitions, self.hosts, (partitions[a:b] for a, b in zip(firsts, self.ends, strict=False))
        )

    def _partitions(self, first: int, end: int) -> Iterator[TopicPartition]:
        topics, partitions = (
            self.packed_partitions[2 * first : 2 * end : 2],
            self.packed_partitions[2 * first + 1 : 2 * end : 2],
        )
        return make_records(TopicPartition, map(self.topics_by_index.get, topics), partitions)


def without_repeats(ordered: Iterable[T]) -> Iterator[T]:
    """Yield sorted values, each once."""
    last: T | None = None
    for item in ordered:
        if item != last:
            yield item
        last = item


_FEW: Final = 1024
"""So many partitions may be in a set, which takes ten times the memory of a column."""


class SortedPartitions(RecordSequence[TopicPartition]):
    """All partitions of some groups (topic, numbers), sorted by (topic, partition).

    >>> groups = [("b", (1, 0)), ("a", (7,)), ("b", (0,))]
    >>> [str(each) for each in SortedPartitions(groups)]
    ['a-7', 'b-0', 'b-0', 'b-1']
    """

    __slots__ = ("_ends", "_numbers", "topics")

    topics: list[str]
    """The topics of the partitions, sorted; not to be changed."""

    def __init__(self, groups: Sequence[tuple[str, Sequence[int]]]) -> None:
        if len(groups) == 1 and groups[0][1]:  # most members read one topic
            ((topic, numbers),) = groups
            self.topics, self._numbers = [topic], array(INT32, sorted(numbers))
            self._ends = array(INT32, (len(numbers),))
            return
        self.topics = []
        self._ends, self._numbers = array(INT32), array(INT32)
        last: list[int] = []
        for topic, numbers in _sorted_groups(groups):
            if not self.topics or self.topics[-1] != topic:
                self._close(last)
                self.topics.append(topic)
                last = []
            last.extend(numbers)
        self._close(last)

    def __len__(self) -> int:
        return len(self._numbers)

    def includes(self, other: SortedPartitions) -> bool:
        """Whether all partitions of ``other`` are here, too: one pass over both, for each topic."""
        if self._numbers == other._numbers and self._ends == other._ends and self.topics == other.topics:
            return True
        if self.topics == other.topics and len(self.topics) == 1 and len(self) <= _FEW:
            wanted = set(other._numbers)
            if len(wanted) == len(other):
                return wanted.issubset(self._numbers)
        mine = dict(self.by_topic())
        for topic, numbers in other.by_topic():
            left = iter(mine.get(topic, ()))
            if not all(number in left for number in numbers):
                return False
        return True

    def by_topic(self) -> Iterator[tuple[str, array[int]]]:
        """Yield each topic with its partitions."""
        if len(self.topics) == 1:
            yield self.topics[0], self._numbers
            return
        first = 0
        for topic, end in zip(self.topics, self._ends, strict=True):
            yield topic, self._numbers[first:end]
            first = end

    def __iter__(self) -> Iterator[TopicPartition]:
        for topic, numbers in self.by_topic():
            yield from partitions_of(topic, numbers)

    def _record_at(self, index: int) -> TopicPartition:
        return TopicPartition(self.topics[bisect_right(self._ends, index)], self._numbers[index])

    def _close(self, numbers: list[int]) -> None:
        """Add the partitions of the last topic."""
        if self.topics:
            numbers.sort()
            self._numbers.extend(numbers)
            self._ends.append(len(self._numbers))


def count_distinct(columns: Iterable[SortedPartitions]) -> int:
    """Count the different partitions in all columns, without an object for each.

    >>> count_distinct([SortedPartitions([("a", (0, 1))]), SortedPartitions([("a", (1,)), ("b", (0,))])])
    3
    """
    by_topic: defaultdict[str, set[int]] = defaultdict(set)
    for column in columns:
        if len(column.topics) == 1:  # most members read one topic
            by_topic[column.topics[0]].update(column._numbers)
        else:
            for topic, numbers in column.by_topic():
                by_topic[topic].update(numbers)
    return sum(map(len, by_topic.values()))


def _sorted_groups(groups: Sequence[tuple[str, Sequence[int]]]) -> Iterator[tuple[str, Sequence[int]]]:
    """Yield the groups that are not empty by topic; of rows, one at a time is decoded, and its topic before."""
    if not isinstance(groups, Rows):
        yield from sorted((group for group in groups if group[1]), key=itemgetter(0))
        return
    places, topics = array(INT32), []
    for place, (topic, numbers) in enumerate(groups):
        if numbers:
            places.append(place)
            topics.append(topic)
    for index in sorted(range(len(places)), key=topics.__getitem__):
        yield groups[places[index]]
