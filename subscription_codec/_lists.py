"""Wire types of the long lists: tasks, offset sums, and which host serves what.

Each has the careful half in common with everybody else (``inner``), and a quick half of its own, ``load`` and
``dump``, which moves whole columns. The quick half only knows what all real members send: where a task has a named
topology it raises ``Unusual``, and the careful half does the work.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any, Final, NamedTuple, TypeVar

from subscription_codec._wire import Array, Integer, JavaUtf, Reader, Struct, Utf8, Utf16, Wire, from_java, to_java
from subscription_codec.columns import (
    INT16,
    INT32,
    INT64,
    HostMap,
    TaskIds,
    TaskOffsetSums,
    big_endian,
    native,
    swapped,
)
from subscription_codec.errors import EncodeError
from subscription_codec.records import (
    HostInfo,
    HostPartitions,
    TaskId,
    TaskOffsetSum,
    TopicEntry,
    TopicPartition,
)

T = TypeVar("T")


class Unusual(Exception):
    """Nothing that the quick half knows; whether it is right or wrong, the careful half will say."""


def _unnamed(task: Any) -> tuple[Any, ...]:
    if len(task) == 3 and task[2] is not None:
        raise EncodeError(f"the named topology {task[2]!r} needs version 10 or later")
    return tuple(task[:2] if len(task) == 3 else task)


def _named(task: Any) -> tuple[Any, ...]:
    return tuple(task) if len(task) == 3 else (*task, None)


INT_32: Final = Integer(4)
INT_64: Final = Integer(8)
TASK_ID: Final = Struct(
    "TaskId", TaskId, take=_unnamed, listed=lambda task: list(_unnamed(task)), whole=True,
    subtopology=INT_32, partition=INT_32,
)  # fmt: skip
NAMED_TASK_ID: Final = Struct(
    "NamedTaskId", TaskId, take=_named, listed=lambda task: list(_named(task)), whole=True,
    subtopology=INT_32, partition=INT_32, topology=Utf16(),
)  # fmt: skip
TOPIC_PARTITION: Final = Struct("TopicPartition", TopicPartition, whole=True, topic=JavaUtf(), partition=INT_32)
HOST_INFO: Final = Struct("HostInfo", HostInfo, whole=True, host=JavaUtf(), port=INT_32)
HOST_PARTITIONS: Final = Struct("HostPartitions", HostPartitions, host=HOST_INFO, partitions=Array(TOPIC_PARTITION))


class List(Wire[T]):
    """A list that is not on the wire as it is in the record: ``inner`` is how it travels."""

    inner: Wire[Any]

    def __init__(self) -> None:
        self.name = self.inner.name
        self.size = self.inner.size

    def read(self, reader: Reader) -> T:
        return self.decoded(self.inner.read(reader), reader)

    def write(self, out: bytearray, value: T) -> None:
        self.inner.write(out, self.encoded(value))

    def from_json(self, value: Any) -> T:
        return self.inner.from_json(value)  # type: ignore[no-any-return]

    def decoded(self, value: Any, _reader: Reader) -> T:
        """Turn what travels into what the record holds."""
        return value  # type: ignore[no-any-return]

    def encoded(self, value: T) -> Any:
        """Turn what the record holds into what travels."""
        return value


def _items(data: bytes, at: int, size: int) -> tuple[int, int, int]:
    """Read a count of items of ``size`` bytes: the count, and where the items begin and end."""
    count, first = int.from_bytes(data[at : at + 4], "big"), at + 4  # a negative one is far too large
    end = first + count * size
    if end > len(data):
        raise Unusual
    return count, first, end


def _pairs(tasks: Sequence[TaskId]) -> bytes:
    """Return the eight bytes of each task."""
    if isinstance(tasks, TaskIds):
        return big_endian(tasks.packed)
    numbers = array(INT32, bytes(8 * len(tasks)))
    if tasks:
        subtopologies, partitions, topologies = zip(*tasks, strict=True)
        if topologies.count(None) < len(topologies):
            raise Unusual
        numbers[0::2], numbers[1::2] = array(INT32, subtopologies), array(INT32, partitions)
    return big_endian(numbers)


class Tasks(List[Sequence[TaskId]]):
    """Task ids of two numbers (versions 1 to 9)."""

    inner = Array(TASK_ID)

    def load(self, data: bytes, at: int) -> tuple[Sequence[TaskId], int]:
        _, first, end = _items(data, at, 8)
        return TaskIds(native(INT64, data[first:end])), end

    def dump(self, value: Sequence[TaskId]) -> bytes:
        return len(value).to_bytes(4, "big") + _pairs(value)


class NamedTasks(List[Sequence[TaskId]]):
    """Task ids of two numbers and a name (assignments of version 10 and later); the quick half knows those without."""

    inner = Array(NAMED_TASK_ID)

    def load(self, data: bytes, at: int) -> tuple[Sequence[TaskId], int]:
        _, first, end = _items(data, at, 12)
        numbers = array(INT32, data[first:end])
        if any(numbers[2::3]):
            raise Unusual
        del numbers[2::3]
        return TaskIds(native(INT64, numbers)), end

    def dump(self, value: Sequence[TaskId]) -> bytes:
        numbers, pairs = array(INT32, bytes(12 * len(value))), array(INT32, _pairs(value))
        numbers[0::3], numbers[1::3] = pairs[0::2], pairs[1::2]
        return len(value).to_bytes(4, "big") + numbers.tobytes()


class PartitionSum(NamedTuple):
    """An offset sum as it travels in versions 7 to 9, below its subtopology."""

    partition: int
    offset_sum: int


class SubtopologySums(NamedTuple):
    """The offset sums of one subtopology (versions 7 to 9)."""

    subtopology: int
    sums: tuple[PartitionSum, ...]


_JSON_SUM: Final = Struct(
    "TaskOffsetSum",
    TaskOffsetSum,
    listed=lambda value: [value[:-1], *value[-1:]],
    task=NAMED_TASK_ID,
    offset_sum=INT_64,
)
"""In JSON a sum stands in the same list as its task: ``[0, 3, -2]``."""


class _Sums(List[Sequence[TaskOffsetSum]]):
    def from_json(self, value: Any) -> tuple[TaskOffsetSum, ...]:
        return Array(_JSON_SUM).from_json(value)

    @staticmethod
    def column(value: Sequence[TaskOffsetSum]) -> TaskOffsetSums:
        """Return the sums as columns."""
        if isinstance(value, TaskOffsetSums):
            return value
        tasks, sums = zip(*value, strict=True) if len(value) else ((), ())
        return TaskOffsetSums.of(native(INT64, _pairs(tasks)), sums)


def _flat(value: Any) -> tuple[Any, ...]:
    """Return the four values of an offset sum, as they stand in a row of version 10."""
    match value:
        case (tuple() | list() as task, offset_sum) if len(task) in {2, 3}:
            subtopology, partition, topology = _named(task)
            return subtopology, partition, offset_sum, topology
    raise EncodeError(f"needs (task, offset sum), got {value!r}")


class GroupedSums(_Sums):
    """Offset sums by subtopology (versions 7 to 9)."""

    inner = Array(
        Struct(
            "SubtopologySums",
            SubtopologySums,
            subtopology=INT_32,
            sums=Array(Struct("PartitionSum", PartitionSum, partition=INT_32, offset_sum=INT_64)),
        )
    )

    def decoded(self, value: Any, _reader: Reader) -> tuple[TaskOffsetSum, ...]:
        return tuple(
            TaskOffsetSum(TaskId(subtopology, partition), offset_sum)
            for subtopology, sums in value
            for partition, offset_sum in sums
        )

    def encoded(self, value: Sequence[TaskOffsetSum]) -> tuple[SubtopologySums, ...]:
        rows = []
        for index, each in enumerate(value):
            try:
                subtopology, partition, offset_sum, topology = _flat(each)
                rows.append((*_unnamed((subtopology, partition, topology)), offset_sum))
            except EncodeError as error:
                raise error.within(f"[{index}]") from None
        return tuple(
            SubtopologySums(subtopology, tuple(PartitionSum(*row[1:]) for row in group))
            for subtopology, group in groupby(rows, key=lambda row: row[0])
        )

    def load(self, data: bytes, at: int) -> tuple[TaskOffsetSums, int]:
        groups, at, _ = _items(data, at, 8)
        rows = array(INT32)
        for _ in range(groups):
            subtopology = array(INT32, data[at : at + 4])
            count, first, at = _items(data, at + 4, 12)
            words = array(INT32, data[first:at])  # partition and both halves of the sum
            whole = array(INT32, bytes(16 * count))
            whole[0::4] = subtopology * count
            whole[1::4], whole[2::4], whole[3::4] = words[0::3], words[1::3], words[2::3]
            rows += whole
        return TaskOffsetSums(native(INT64, rows)), at

    def dump(self, value: Sequence[TaskOffsetSum]) -> bytes:
        words = array(INT32, big_endian(self.column(value).numbers))
        subtopologies = words[0::4]
        del words[0::4]
        sums, first, groups = words.tobytes(), 0, []
        for subtopology, group in groupby(subtopologies):
            count = sum(1 for _ in group)
            end = first + 12 * count
            groups.append(array(INT32, [subtopology]).tobytes() + count.to_bytes(4, "big") + sums[first:end])
            first = end
        return b"".join((len(groups).to_bytes(4, "big"), *groups))


class FlatSums(_Sums):
    """Offset sums with the whole task id (version 10 and later): rows of 18 bytes, the last two ff where unnamed."""

    inner = Array(
        Struct(
            "TaskOffsetSum",
            lambda subtopology, partition, offset_sum, topology: TaskOffsetSum(
                TaskId(subtopology, partition, topology), offset_sum
            ),
            take=_flat,
            subtopology=INT_32,
            partition=INT_32,
            offset_sum=INT_64,
            topology=Utf8(2, nullable=True),
        )
    )

    def load(self, data: bytes, at: int) -> tuple[TaskOffsetSums, int]:
        count, first, end = _items(data, at, 18)
        words = array(INT16, data[first:end])  # a row is nine words, and the ninth says that there is no name
        if words[8::9].tobytes() != b"\xff\xff" * count:
            raise Unusual
        del words[8::9]
        return TaskOffsetSums(native(INT64, words)), end

    def dump(self, value: Sequence[TaskOffsetSum]) -> bytes:
        count = len(value)
        rows = _rows(value) if count < _FEW else _with_names(big_endian(self.column(value).numbers), count)
        return count.to_bytes(4, "big") + rows


_FEW: Final = 32
"""Below this many rows, writing them one by one is quicker than setting up the columns."""


def _rows(value: Sequence[TaskOffsetSum]) -> bytes:
    """Write a few rows of 18 bytes."""
    if isinstance(value, TaskOffsetSums):
        wire = big_endian(value.numbers)
        return b"".join([wire[row : row + 16] + b"\xff\xff" for row in range(0, len(wire), 16)])
    out: list[bytes] = []
    for (subtopology, partition, topology), offset_sum in value:
        if topology is not None:
            raise Unusual
        out += (
            subtopology.to_bytes(4, "big", signed=True),
            partition.to_bytes(4, "big", signed=True),
            offset_sum.to_bytes(8, "big", signed=True),
            b"\xff\xff",
        )
    return b"".join(out)


def _with_names(rows: bytes, count: int) -> bytearray:
    """Turn rows of 16 bytes into rows of 18."""
    # A row of 18 bytes does not fit int64, but every fourth row begins at a multiple of eight bytes after the one
    # four rows earlier: seen from there, columns of int64 lie nine apart, and a strided copy moves a fourth of one.
    out = bytearray(b"\xff") * (18 * count)
    to, source = memoryview(out), memoryview(rows).cast(INT64)
    for turn in range(4):
        last = (count - turn - 1) // 4
        columns = to[18 * turn : 18 * turn + 72 * last + 16].cast(INT64)
        columns[0::9], columns[1::9] = source[2 * turn :: 8], source[2 * turn + 1 :: 8]
    return out


class Topics(List[Sequence[TopicEntry]]):
    """The dictionary of an assignment (version 5 and later). What is read after it may refer to it."""

    inner = Array(Struct("TopicEntry", TopicEntry, number=INT_32, topic=JavaUtf()))

    def decoded(self, value: Any, reader: Reader) -> Sequence[TopicEntry]:
        reader.topics = value
        return value  # type: ignore[no-any-return]


class IndexedPartition(NamedTuple):
    """One partition of a topic that the dictionary names."""

    topic_index: int
    partition: int

    def __str__(self) -> str:
        return f"topic {self.topic_index}, partition {self.partition}"


class IndexedHost(NamedTuple):
    """One host of an assignment of version 5 or later, as it travels."""

    host: HostInfo
    partitions: tuple[IndexedPartition, ...]


class Hosts(List[Sequence[HostPartitions]]):
    """Which host serves which partitions, by the dictionary (version 5 and later)."""

    inner = Array(
        Struct(
            "IndexedHost",
            IndexedHost,
            host=HOST_INFO,
            partitions=Array(
                Struct("IndexedPartition", IndexedPartition, whole=True, topic_index=INT_32, partition=INT_32)
            ),
        )
    )

    def from_json(self, value: Any) -> Sequence[HostPartitions]:
        return Array(HOST_PARTITIONS).from_json(value)

    def decoded(self, value: Any, reader: Reader) -> HostMap:
        numbers = array(INT32, [number for _, partitions in value for each in partitions for number in each])
        return HostMap(reader.topics, [host for host, _ in value], [len(each) for _, each in value], numbers)

    def encoded(self, value: Sequence[HostPartitions]) -> tuple[IndexedHost, ...]:
        rows = []
        for host, end, size in zip(value.hosts, value.ends, value.counts, strict=True):  # type: ignore[attr-defined]
            numbers = value.numbers[2 * (end - size) : 2 * end]  # type: ignore[attr-defined]  # see with_dictionary
            rows.append(IndexedHost(host, tuple(map(IndexedPartition, numbers[0::2], numbers[1::2]))))
        return tuple(rows)

    def load_with(self, data: bytes, at: int, topics: Sequence[TopicEntry]) -> tuple[HostMap, int]:
        """Like ``load``, with the dictionary."""
        hosts, counts, numbers = [], [], array(INT32)
        entries, at, _ = _items(data, at, 10)
        for _ in range(entries):
            first = at + 10 + (data[at] << 8 | data[at + 1])
            head = data[at:first]
            host, count = _known_head(head) if len(head) < _MOST_REMEMBERED else _head(head)
            hosts.append(host)
            counts.append(count)
            at = first + 8 * count
            numbers.frombytes(data[first:at])
        if at > len(data):
            raise Unusual
        return HostMap(topics, tuple(hosts), tuple(counts), swapped(numbers)), at

    def dump(self, value: Any) -> bytes:
        numbers = big_endian(value.numbers)
        out = [len(value.hosts).to_bytes(4, "big")]
        add = out.append
        first = 0
        for host, count in zip(value.hosts, value.counts, strict=True):
            end = first + 8 * count
            add(_known_bytes(host) if len(host[0]) < _MOST_REMEMBERED else _host_bytes(host))
            add(count.to_bytes(4, "big"))
            add(numbers[first:end])
            first = end
        return b"".join(out)


# The hosts of a group are the same in every rebalance, in the active and the standby map, and in all answers.
_MOST_REMEMBERED: Final = 300
"""Bytes of a host that are worth remembering; the name of a real one has 253 at most."""


def _head(raw: bytes) -> tuple[HostInfo, int]:
    """Read name, port and the number of partitions behind them."""
    number = int.from_bytes
    host = HostInfo(from_java(raw[2:-8]), number(raw[-8:-4], "big", signed=True))
    return host, number(raw[-4:], "big")


def _host_bytes(host: HostInfo) -> bytes:
    name, port = host
    return to_java(name) + port.to_bytes(4, "big", signed=True)


_known_head: Final = lru_cache(maxsize=1 << 14)(_head)
_known_bytes: Final = lru_cache(maxsize=1 << 14)(_host_bytes)
