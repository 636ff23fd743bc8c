"""What a captured message says, as far as it is compared: versions first, then what a member had and what it got."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final
from uuid import UUID

from attrs import frozen

from subscription_codec import (
    EARLIEST_PROBEABLE_VERSION,
    NO_REBALANCE,
    RUNNING,
    DecodeError,
    FutureSubscription,
    HostInfo,
    TaskId,
    TopicPartition,
    decode_assignment,
    decode_subscription,
)
from subscription_codec.consumer_protocol import decode_member_assignment, decode_member_subscription, flattened

_FIRST_WITH_SUMS: Final = 7
_FIRST_WITH_UNIQUE_FIELD: Final = 8


@frozen
class Unreadable:
    """A message that no member of Kafka Streams can have written, and why."""

    problem: str


@frozen(kw_only=True)
class Sent:
    """A subscription. ``supported`` is -1 below version 3, ``process_id`` None in a version from the future.

    ``envelope`` is the version of the consumer protocol. ``ran`` are the tasks it says it was running, ``stored`` those
    of which it has other state, ``sums`` how far that is where it says so, ``owned`` the partitions it has not given
    up. ``unique`` counts its subscriptions (modulo 256; version 8 and later), ``joined`` is the generation that it
    joined last, where its consumer says so (3.4 and later): whether it has heard the answer is another matter.
    """

    used: int
    supported: int
    envelope: int
    topics: tuple[str, ...]
    process_id: UUID | None
    ran: frozenset[TaskId] = frozenset()
    stored: frozenset[TaskId] = frozenset()
    sums: Mapping[TaskId, int] = {}
    owned: frozenset[TopicPartition] = frozenset()
    end_point: str = ""
    tags: Mapping[str, str] = {}
    error_code: int = 0
    unique: int | None = None
    joined: int | None = None

    @property
    def probes(self) -> bool:
        """Whether it sends a version that can be answered with a lower one."""
        return self.used >= EARLIEST_PROBEABLE_VERSION

    def __str__(self) -> str:
        return _versions(self.used, self.supported)


class Next(enum.Enum):
    """When an assignment asks for another rebalance."""

    NEVER = "never"
    AT_ONCE = "at once"
    LATER = "later"


@frozen(kw_only=True)
class Got:
    """An assignment. ``inputs`` has the partitions of each active task, ``hosts`` are those of the group."""

    version: int
    supported: int
    error_code: int
    inputs: Mapping[TaskId, frozenset[TopicPartition]]
    standby: Mapping[TaskId, frozenset[TopicPartition]]
    hosts: frozenset[HostInfo]
    next_rebalance: Next

    @property
    def active(self) -> frozenset[TaskId]:
        """The active tasks."""
        return frozenset(self.inputs)

    @property
    def partitions(self) -> frozenset[TopicPartition]:
        """The partitions of all active tasks."""
        return frozenset[TopicPartition]().union(*self.inputs.values())

    def __str__(self) -> str:
        return _versions(self.version, self.supported) + (f", error code {self.error_code}" if self.error_code else "")


def _versions(version: int, supported: int) -> str:
    return str(version) if version < EARLIEST_PROBEABLE_VERSION else f"{version}/{supported}"


def read_sent(blob: bytes) -> Sent | Unreadable:
    """Read a whole consumer-protocol subscription."""
    try:
        envelope = decode_member_subscription(blob)
        said = decode_subscription(envelope.user_data)
    except DecodeError as error:
        return Unreadable(str(error))
    owned = frozenset(flattened(envelope.owned_partitions))
    joined = envelope.generation_id if envelope.generation_id >= 0 else None
    if isinstance(said, FutureSubscription):
        return Sent(
            used=said.version,
            supported=said.latest_supported,
            envelope=envelope.version,
            topics=envelope.topics,
            process_id=None,
            owned=owned,
            joined=joined,
        )
    sums = {each.task: each.offset_sum for each in said.task_offset_sums} if said.version >= _FIRST_WITH_SUMS else {}
    ran = {task for task, known in sums.items() if known == RUNNING}.union(said.prev_tasks)
    return Sent(
        used=said.version,
        supported=said.latest_supported,
        envelope=envelope.version,
        topics=envelope.topics,
        process_id=said.process_id,
        ran=frozenset(ran),
        stored=frozenset(sums).union(said.standby_tasks) - ran,
        sums={task: known for task, known in sums.items() if known >= 0},
        owned=owned,
        end_point=said.user_end_point,
        tags=dict(said.client_tags),
        error_code=said.error_code,
        unique=said.unique_field % 256 if said.version >= _FIRST_WITH_UNIQUE_FIELD else None,
        joined=joined,
    )


def read_got(blob: bytes) -> Got | Unreadable | None:
    """Read a whole consumer-protocol assignment; None if there is none."""
    if not blob:
        return None
    try:
        envelope = decode_member_assignment(blob)
        said = decode_assignment(envelope.user_data)
    except DecodeError as error:
        return Unreadable(str(error))
    partitions = flattened(envelope.assigned_partitions)
    if len(partitions) != len(said.active_tasks):
        return Unreadable(f"{len(partitions)} partitions, but {len(said.active_tasks)} task ids")
    inputs: dict[TaskId, set[TopicPartition]] = {}
    for task, partition in zip(said.active_tasks, partitions, strict=True):
        inputs.setdefault(task, set()).add(partition)
    return Got(
        version=said.version,
        supported=said.latest_supported,
        error_code=said.error_code,
        inputs={task: frozenset(its) for task, its in inputs.items()},
        standby={task: frozenset(its) for task, its in said.standby_tasks},
        hosts=frozenset(host for host, _ in said.partitions_by_host),
        next_rebalance=_next(said.next_rebalance_ms),
    )


def _next(milliseconds: int) -> Next:
    if milliseconds == NO_REBALANCE:
        return Next.NEVER
    return Next.LATER if milliseconds else Next.AT_ONCE
