"""Wire types of tasks and their offset sums, for every version."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

from streams_assignor.codec.columns import (
    INT16,
    INT32,
    INT64,
    FastPathMiss,
    TaskIds,
    TaskOffsetSums,
    array_bounds,
    byteswapped,
    from_big_endian,
    pack_task_ids,
    to_big_endian,
)
from streams_assignor.codec.errors import EncodeError
from streams_assignor.codec.records import TaskId, TaskOffsetSum
from streams_assignor.codec.wire.structs import Field, Struct
from streams_assignor.codec.wire.text import Utf8, Utf16, shared_name
from streams_assignor.codec.wire.types import INT_32, INT_64, Array, ColumnType, Reader


def _without_topology(task: Any) -> tuple[Any, ...]:
    if len(task) == 3 and task[2] is not None:
        raise EncodeError(f"the named topology {task[2]!r} needs version 10 or later")
    return tuple(task[:2] if len(task) == 3 else task)


def _with_topology(task: Any) -> tuple[Any, ...]:
    return tuple(task) if len(task) == 3 else (*task, None)


_TASK_NUMBERS: Final = (Field("subtopology", INT_32), Field("partition", INT_32))
TASK_ID: Final = Struct(
    "TaskId",
    *_TASK_NUMBERS,
    make=TaskId,
    unpack=_without_topology,
    from_list=lambda task: list(_without_topology(task)),
    single_line=True,
)
NAMED_TASK_ID: Final = Struct(
    "NamedTaskId",
    *_TASK_NUMBERS,
    Field("topology", Utf16()),
    make=TaskId,
    unpack=_with_topology,
    from_list=lambda task: list(_with_topology(task)),
    single_line=True,
)


class TaskIdsType(ColumnType[Sequence[TaskId]]):
    """Task ids of two numbers (versions 1 to 9)."""

    inner = Array(TASK_ID)

    def fast_read(self, data: bytes, at: int) -> tuple[Sequence[TaskId], int]:
        _, first, end = array_bounds(data, at, 8)
        return TaskIds(from_big_endian(INT64, data[first:end])), end

    def fast_write(self, value: Sequence[TaskId]) -> bytes:
        return len(value).to_bytes(4, "big") + pack_task_ids(value)


class NamedTaskIdsType(ColumnType[Sequence[TaskId]]):
    """Task ids of two numbers and a name (assignments of version 10 and later). The fast path supports no names."""

    inner = Array(NAMED_TASK_ID)

    def fast_read(self, data: bytes, at: int) -> tuple[Sequence[TaskId], int]:
        _, first, end = array_bounds(data, at, 12)
        numbers = array(INT32, data[first:end])
        if any(numbers[2::3]):
            raise FastPathMiss
        del numbers[2::3]
        return TaskIds(from_big_endian(INT64, numbers)), end

    def fast_write(self, value: Sequence[TaskId]) -> bytes:
        numbers, unnamed = array(INT32, bytes(12 * len(value))), array(INT32, pack_task_ids(value))
        numbers[0::3], numbers[1::3] = unnamed[0::2], unnamed[1::2]
        return len(value).to_bytes(4, "big") + numbers.tobytes()


class PartitionOffsetSum(NamedTuple):
    """An offset sum on the wire in versions 7 to 9, below its subtopology."""

    partition: int
    offset_sum: int


_PARTITION_OFFSET_SUM: Final = Struct(
    "PartitionOffsetSum", Field("partition", INT_32), Field("offset_sum", INT_64), make=PartitionOffsetSum
)


class SubtopologyOffsetSums(NamedTuple):
    """The offset sums of one subtopology (versions 7 to 9)."""

    subtopology: int
    sums: tuple[PartitionOffsetSum, ...]


_JSON_OFFSET_SUM: Final = Struct(
    "TaskOffsetSum",
    Field("task", NAMED_TASK_ID),
    Field("offset_sum", INT_64),
    make=TaskOffsetSum,
    from_list=lambda value: [value[:-1], *value[-1:]],
)
"""The JSON form has the sum in the same list as its task: ``[0, 3, -2]``."""


class _OffsetSumsType(ColumnType[Sequence[TaskOffsetSum]]):
    def from_json(self, value: Any) -> Sequence[TaskOffsetSum]:
        return Array(_JSON_OFFSET_SUM).from_json(value)

    @staticmethod
    def as_columns(value: Sequence[TaskOffsetSum]) -> TaskOffsetSums:
        """Return the sums as columns."""
        if isinstance(value, TaskOffsetSums):
            return value
        tasks, sums = zip(*value, strict=True) if len(value) else ((), ())
        return TaskOffsetSums.of_columns(tasks, sums)


def _row_values(value: Any) -> tuple[Any, ...]:
    """Return the four values of an offset sum in the order of a row of version 10."""
    match value:
        case (tuple() | list() as task, offset_sum) if len(task) in {2, 3}:
            subtopology, partition, topology = _with_topology(task)
            return subtopology, partition, offset_sum, topology
    raise EncodeError(f"needs (task, offset sum), got {value!r}")


class GroupedOffsetSumsType(_OffsetSumsType):
    """Offset sums by subtopology (versions 7 to 9)."""

    inner = Array(
        Struct(
            "SubtopologyOffsetSums",
            Field("subtopology", INT_32),
            Field("sums", Array(_PARTITION_OFFSET_SUM)),
            make=SubtopologyOffsetSums,
        )
    )

    def from_wire(self, value: Any, _reader: Reader) -> tuple[TaskOffsetSum, ...]:
        return tuple(
            TaskOffsetSum(TaskId(subtopology, partition), offset_sum)
            for subtopology, sums in value
            for partition, offset_sum in sums
        )

    def to_wire(self, value: Sequence[TaskOffsetSum]) -> tuple[SubtopologyOffsetSums, ...]:
        rows = []
        for index, item in enumerate(value):
            try:
                subtopology, partition, offset_sum, topology = _row_values(item)
                rows.append((*_without_topology((subtopology, partition, topology)), offset_sum))
            except EncodeError as error:
                raise error.within(f"[{index}]") from None
        return tuple(
            SubtopologyOffsetSums(subtopology, tuple(PartitionOffsetSum(*row[1:]) for row in group))
            for subtopology, group in groupby(rows, key=lambda row: row[0])
        )

    def fast_read(self, data: bytes, at: int) -> tuple[TaskOffsetSums, int]:
        groups, at, _ = array_bounds(data, at, 8)
        rows = array(INT32)
        for _ in range(groups):
            subtopology = array(INT32, data[at : at + 4])
            count, first, at = array_bounds(data, at + 4, 12)
            words = array(INT32, data[first:at])  # partition and both halves of the sum
            whole = array(INT32, bytes(16 * count))
            whole[0::4] = subtopology * count
            whole[1::4], whole[2::4], whole[3::4] = words[0::3], words[1::3], words[2::3]
            rows += whole
        return TaskOffsetSums(from_big_endian(INT64, rows)), at

    def fast_write(self, value: Sequence[TaskOffsetSum]) -> bytes:
        words = array(INT32, to_big_endian(self.as_columns(value).packed_rows))
        subtopologies = words[0::4]
        del words[0::4]
        sums, first, groups = words.tobytes(), 0, []
        for subtopology, group in groupby(subtopologies):
            count = sum(1 for _ in group)
            end = first + 12 * count
            groups.append(array(INT32, [subtopology]).tobytes() + count.to_bytes(4, "big") + sums[first:end])
            first = end
        return b"".join((len(groups).to_bytes(4, "big"), *groups))


class FlatOffsetSumsType(_OffsetSumsType):
    """Offset sums with the whole task id (version 10 and later): rows of 18 bytes, the last two ff without a name."""

    inner = Array(
        Struct(
            "TaskOffsetSum",
            *_TASK_NUMBERS,
            Field("offset_sum", INT_64),
            Field("topology", Utf8(2, nullable=True)),
            make=lambda subtopology, partition, offset_sum, topology: TaskOffsetSum(
                TaskId(subtopology, partition, topology and shared_name(topology)), offset_sum
            ),
            unpack=_row_values,
        )
    )

    def fast_read(self, data: bytes, at: int) -> tuple[TaskOffsetSums, int]:
        count, first, end = array_bounds(data, at, 18)
        words = array(INT16, data[first:end])  # a row has nine words; the ninth is ff ff without a name
        if words[8::9].tobytes() != b"\xff\xff" * count:
            raise FastPathMiss
        del words[8::9]
        numbers = array(INT64, words.tobytes())
        return TaskOffsetSums(byteswapped(numbers)), end

    def fast_write(self, value: Sequence[TaskOffsetSum]) -> bytes:
        count = len(value)
        rows = (
            _encode_rows(value)
            if count < _MIN_COLUMN_ROWS
            else _append_null_topologies(to_big_endian(self.as_columns(value).packed_rows), count)
        )
        return count.to_bytes(4, "big") + rows


_MIN_COLUMN_ROWS: Final = 32
"""Below this number of rows, encoding them one by one is faster than creating the columns."""


def _encode_rows(value: Sequence[TaskOffsetSum]) -> bytes:
    """Encode a few rows of 18 bytes."""
    if isinstance(value, TaskOffsetSums):
        wire = to_big_endian(value.packed_rows)
        return b"".join([wire[row : row + 16] + b"\xff\xff" for row in range(0, len(wire), 16)])
    out: list[bytes] = []
    for (subtopology, partition, topology), offset_sum in value:
        if topology is not None:
            raise FastPathMiss
        out += (
            subtopology.to_bytes(4, "big", signed=True),
            partition.to_bytes(4, "big", signed=True),
            offset_sum.to_bytes(8, "big", signed=True),
            b"\xff\xff",
        )
    return b"".join(out)


def _append_null_topologies(rows: bytes, count: int) -> bytearray:
    """Append ff ff to each row of 16 bytes."""
    # A row of 18 bytes does not fit int64, but every fourth row begins at a multiple of eight bytes after the one
    # four rows earlier: seen from there, columns of int64 lie nine apart, and a strided copy moves a fourth of one.
    out = bytearray(b"\xff") * (18 * count)
    to, source = memoryview(out), memoryview(rows).cast(INT64)
    for turn in range(4):
        last = (count - turn - 1) // 4
        columns = to[18 * turn : 18 * turn + 72 * last + 16].cast(INT64)
        columns[0::9], columns[1::9] = source[2 * turn :: 8], source[2 * turn + 1 :: 8]
    return out
