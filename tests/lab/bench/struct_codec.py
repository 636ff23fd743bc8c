"""What a careful person would write with `struct`: a private yardstick for version 11, same records, same checks.

The product has to do without `struct` (it is fixed by the user); this says what that costs.
"""

import struct
from uuid import UUID

from streams_assignor.codec import (
    Assignment,
    ClientTag,
    HostInfo,
    HostPartitions,
    StandbyTask,
    Subscription,
    TaskId,
    TaskOffsetSum,
    TopicPartition,
)

HEAD = struct.Struct(">ii16si")
SUM = struct.Struct(">iiqh")
TAIL = struct.Struct(">bii")
INT = struct.Struct(">i")
LENGTH = struct.Struct(">H")
TASK = struct.Struct(">iii")
PAIR = struct.Struct(">ii")
END = struct.Struct(">iq")


class Refused(ValueError):
    """The bytes are not a message (of the usual kind: without named topologies)."""


def decode_subscription(data):
    version, supported, process_id, size = HEAD.unpack_from(data)
    at = 28 + check(size, 1, data, 28)
    end_point = data[28:at].decode("utf-8", "surrogateescape")
    (count,) = INT.unpack_from(data, at)
    first, at = at + 4, at + 4 + check(count, 18, data, at + 4)
    sums = []
    for subtopology, partition, offset_sum, unnamed in SUM.iter_unpack(data[first:at]):
        if unnamed != -1:
            raise Refused
        sums.append(TaskOffsetSum(TaskId(subtopology, partition), offset_sum))
    unique, error, count = TAIL.unpack_from(data, at)
    at += 9
    check(count, 8, data, at)
    tags = []
    for _ in range(count):
        key, at = text(data, at)
        value, at = text(data, at)
        tags.append(ClientTag(key, value))
    return Subscription(
        version,
        supported,
        UUID(bytes=process_id),
        user_end_point=end_point,
        task_offset_sums=tuple(sums),
        unique_field=unique,
        error_code=error,
        client_tags=tuple(tags),
        trailing=data[at:],
    )


def encode_subscription(record):
    end_point = record.user_end_point.encode("utf-8", "surrogateescape")
    out = [
        HEAD.pack(record.version, record.supported_version, record.process_id.bytes, len(end_point)),
        end_point,
        INT.pack(len(record.task_offset_sums)),
    ]
    for task, offset_sum in record.task_offset_sums:
        if task.topology is not None:
            raise Refused
        out.append(SUM.pack(task.subtopology, task.partition, offset_sum, -1))
    out.append(TAIL.pack(record.unique_field, record.error_code, len(record.client_tags)))
    for tag in record.client_tags:
        for word in tag:
            encoded = word.encode("utf-8", "surrogateescape")
            out += (INT.pack(len(encoded)), encoded)
    out.append(record.trailing)
    return b"".join(out)


def decode_assignment(data):
    version, supported, count = struct.unpack_from(">iii", data)
    at = 12 + check(count, 12, data, 12)
    active = tuple(map(task, TASK.iter_unpack(data[12:at])))
    count, at = number(data, at)
    check(count, 16, data, at)
    standby = []
    for _ in range(count):
        task_id, (partitions, at) = task(TASK.unpack_from(data, at)), number(data, at + 12)
        check(partitions, 6, data, at)
        found = []
        for _ in range(partitions):
            topic, at = java_text(data, at)
            partition, at = number(data, at)
            found.append(TopicPartition(topic, partition))
        standby.append(StandbyTask(task_id, tuple(found)))
    count, at = number(data, at)
    check(count, 6, data, at)
    topics = {}
    for _ in range(count):
        index, at = number(data, at)
        topics[index], at = java_text(data, at)
    by_host, at = hosts(data, at, topics)
    standby_by_host, at = hosts(data, at, topics)
    error, next_rebalance = END.unpack_from(data, at)
    return Assignment(
        version,
        supported,
        active,
        tuple(standby),
        by_host,
        standby_by_host,
        error,
        next_rebalance,
        data[at + 12 :],
    )


def hosts(data, at, topics):
    count, at = number(data, at)
    check(count, 10, data, at)
    found = []
    for _ in range(count):
        name, at = java_text(data, at)
        port, partitions = PAIR.unpack_from(data, at)
        first, at = at + 8, at + 8 + check(partitions, 8, data, at + 8)
        pairs = PAIR.iter_unpack(data[first:at])
        found.append(
            HostPartitions(
                HostInfo(name, port),
                tuple([TopicPartition(topics.get(topic), partition) for topic, partition in pairs]),
            )
        )
    return tuple(found), at


def encode_assignment(record):
    out = [struct.pack(">iii", record.version, record.supported_version, len(record.active_tasks))]
    out += [TASK.pack(each.subtopology, each.partition, 0) for each in record.active_tasks]
    out.append(INT.pack(len(record.standby_tasks)))
    for each, partitions in record.standby_tasks:
        out += (TASK.pack(each.subtopology, each.partition, 0), INT.pack(len(partitions)))
        for topic, partition in partitions:
            out += (packed(topic), INT.pack(partition))
    out.append(INT.pack(len(record.topics)))
    index_of = {}
    for index, topic in record.topics:
        index_of[topic] = index
        out += (INT.pack(index), packed(topic))
    for entries in (record.partitions_by_host, record.standby_partitions_by_host):
        out.append(INT.pack(len(entries)))
        for (name, port), partitions in entries:
            out += (packed(name), PAIR.pack(port, len(partitions)))
            out += [PAIR.pack(index_of[topic], partition) for topic, partition in partitions]
    out += (END.pack(record.error_code, record.next_rebalance_ms), record.trailing)
    return b"".join(out)


def task(numbers):
    subtopology, partition, name = numbers
    if name:
        raise Refused
    return TaskId(subtopology, partition)


def check(count, size, data, at):
    if not 0 <= count * size <= len(data) - at:
        raise Refused
    return count * size


def number(data, at):
    return INT.unpack_from(data, at)[0], at + 4


def text(data, at):
    size, at = number(data, at)
    end = at + check(size, 1, data, at)
    return data[at:end].decode("utf-8", "surrogateescape"), end


def java_text(data, at):
    (size,) = LENGTH.unpack_from(data, at)
    end = at + 2 + check(size, 1, data, at + 2)
    return data[at + 2 : end].decode("ascii"), end


def packed(name):
    encoded = name.encode("ascii")
    return LENGTH.pack(len(encoded)) + encoded
