"""A member of a release that does not exist: its version is 12, as ``FutureStreamsPartitionAssignor`` encodes it.

Kafka's test class sends other fields than version 11 has: tasks without offsets, and zeros at the end. Assignments of
version 12 look like those of 11.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from attrs import evolve

from streams_assignor.clients.adapter import ClientAdapter
from streams_assignor.cluster import ClusterSnapshot
from streams_assignor.codec import (
    Subscription,
    TaskId,
    TaskOffsetSum,
    TopicPartition,
    decode_subscription,
    encode_subscription,
    layout,
)
from streams_assignor.codec.consumer_protocol import decode_consumer_subscription, encode_consumer_subscription
from streams_assignor.codec.records import LATEST_OFFSET
from streams_assignor.codec.wire.tasks import NamedTaskIdsType
from streams_assignor.codec.wire.types import INT_32, Reader, Uuid
from streams_assignor.protocol.internal_topics import InternalTopicPlan
from streams_assignor.upgrade import OURS

VERSION: Final = 12
RELEASE: Final = evolve(OURS, name="streams-assignor-12", behaviour=evolve(OURS.behaviour, supported_version=VERSION))
_ROOM: Final = 8
"""Kafka's class counts 8 bytes for a task of 12, and 8 more in all; what is left of them are zeros."""


def install() -> None:
    """Let the codec of this process know version 12; inside, it is the layout of 11."""
    for layouts in (layout.SUBSCRIPTION_LAYOUTS, layout.ASSIGNMENT_LAYOUTS):
        layouts[VERSION] = layouts[VERSION - 1]  # type: ignore[index]  # it is a dict, and this process is ours


class FutureVersion(ClientAdapter):
    """Translates subscriptions of version 12 between the two layouts."""

    def subscription(self, topics: Iterable[str], owned: Iterable[TopicPartition] = ()) -> bytes:
        return _translated(super().subscription(topics, owned), _to_wire)

    def perform_assignment(
        self, cluster: ClusterSnapshot, subscriptions: Mapping[str, bytes], plan: InternalTopicPlan | None = None
    ) -> dict[str, bytes]:
        translated = {member: _translated(each, _from_wire) for member, each in subscriptions.items()}
        return super().perform_assignment(cluster, translated, plan)


def _translated(message: bytes, translate: Any) -> bytes:
    whole = decode_consumer_subscription(message)
    if INT_32.read(Reader(whole.user_data)) != VERSION:
        return message
    return encode_consumer_subscription(whole._replace(user_data=translate(whole.user_data)))


def _to_wire(user_data: bytes) -> bytes:
    record = decode_subscription(user_data, supported_version=VERSION)
    sums = record.task_offset_sums
    active = [task for task, offset in sums if offset == LATEST_OFFSET]
    standby = [task for task, offset in sums if offset != LATEST_OFFSET]
    end_point = record.user_end_point.encode()
    room = bytes(max(0, _ROOM - 4 * len(sums)))
    head = struct.pack(">ii16s", VERSION, VERSION, record.process_id.bytes)
    return head + _tasks(active) + _tasks(standby) + struct.pack(">i", len(end_point)) + end_point + room


def _tasks(tasks: Sequence[TaskId]) -> bytes:
    return struct.pack(">i", len(tasks)) + b"".join(struct.pack(">iii", *task[:2], 0) for task in tasks)


def _from_wire(user_data: bytes) -> bytes:
    reader = Reader(user_data)
    reader.read_bytes(8)
    process, tasks = Uuid().read(reader), NamedTaskIdsType()
    active, standby = tasks.read(reader), tasks.read(reader)
    record = Subscription(
        version=VERSION,
        supported_version=VERSION,
        process_id=process,
        task_offset_sums=[
            *(TaskOffsetSum(task, LATEST_OFFSET) for task in active),
            *(TaskOffsetSum(task, 0) for task in standby),
        ],
        user_end_point=reader.read_bytes(reader.read_count(1)).decode(),
    )
    return encode_subscription(record)
