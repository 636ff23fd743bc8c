"""Decodes captured messages into the values that are compared: versions, then previous and assigned tasks."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final
from uuid import UUID

from attrs import frozen

from subscription_codec import (
    EARLIEST_PROBEABLE_VERSION,
    LATEST_OFFSET,
    NO_FOLLOW_UP,
    DecodeError,
    FutureSubscription,
    HostInfo,
    TaskId,
    TopicPartition,
    decode_assignment,
    decode_subscription,
)
from subscription_codec.consumer_protocol import (
    decode_consumer_assignment,
    decode_consumer_subscription,
    flatten_by_topic,
)

_FIRST_WITH_OFFSET_SUMS: Final = 7
_FIRST_WITH_UNIQUE_FIELD: Final = 8


@frozen
class UnreadableMessage:
    """A message that no member of Kafka Streams can have sent."""

    reason: str
    """The text of the decoding error."""


@frozen(kw_only=True)
class SubscriptionMessage:
    """A decoded subscription."""

    used_version: int
    supported_version: int
    """-1 below version 3."""
    consumer_protocol_version: int
    topics: tuple[str, ...]
    process_id: UUID | None
    """None in a future version."""
    previous_active: frozenset[TaskId] = frozenset()
    stored_tasks: frozenset[TaskId] = frozenset()
    """Other tasks with a state store on the member."""
    offset_sums: Mapping[TaskId, int] = {}
    """Offset sums of ``stored_tasks`` (version 7 and later)."""
    owned_partitions: frozenset[TopicPartition] = frozenset()
    user_endpoint: str = ""
    client_tags: Mapping[str, str] = {}
    error_code: int = 0
    unique_field: int | None = None
    """Counts the subscriptions of a member, modulo 256 (version 8 and later); else None."""
    joined_generation: int | None = None
    """The generation that the member joined last, with or without an assignment (3.4 and later); else None."""

    @property
    def is_probeable(self) -> bool:
        """Whether a leader can answer the used version with a lower one."""
        return self.used_version >= EARLIEST_PROBEABLE_VERSION

    def __str__(self) -> str:
        return _versions(self.used_version, self.supported_version)


class NextRebalance(enum.Enum):
    """When an assignment schedules the next rebalance."""

    NEVER = "never"
    IMMEDIATE = "at once"
    LATER = "later"


@frozen(kw_only=True)
class AssignmentMessage:
    """A decoded assignment."""

    version: int
    supported_version: int
    error_code: int
    partitions_by_task: Mapping[TaskId, frozenset[TopicPartition]]
    standby_partitions_by_task: Mapping[TaskId, frozenset[TopicPartition]]
    hosts: frozenset[HostInfo]
    next_rebalance: NextRebalance

    @property
    def active_tasks(self) -> frozenset[TaskId]:
        """The active tasks."""
        return frozenset(self.partitions_by_task)

    @property
    def partitions(self) -> frozenset[TopicPartition]:
        """The partitions of all active tasks."""
        return frozenset[TopicPartition]().union(*self.partitions_by_task.values())

    def __str__(self) -> str:
        return _versions(self.version, self.supported_version) + (
            f", error code {self.error_code}" if self.error_code else ""
        )


def _versions(version: int, supported: int) -> str:
    return str(version) if version < EARLIEST_PROBEABLE_VERSION else f"{version}/{supported}"


def decode_subscription_message(encoded: bytes) -> SubscriptionMessage | UnreadableMessage:
    """Decode a subscription with its consumer-protocol envelope."""
    try:
        envelope = decode_consumer_subscription(encoded)
        userdata = decode_subscription(envelope.user_data)
    except DecodeError as error:
        return UnreadableMessage(str(error))
    owned = frozenset(flatten_by_topic(envelope.owned_partitions))
    joined = envelope.generation_id if envelope.generation_id >= 0 else None
    if isinstance(userdata, FutureSubscription):
        return SubscriptionMessage(
            used_version=userdata.version,
            supported_version=userdata.supported_version,
            consumer_protocol_version=envelope.version,
            topics=tuple(envelope.topics),
            process_id=None,
            owned_partitions=owned,
            joined_generation=joined,
        )
    sums = (
        {each.task: each.offset_sum for each in userdata.task_offset_sums}
        if userdata.version >= _FIRST_WITH_OFFSET_SUMS
        else {}
    )
    ran = {task for task, known in sums.items() if known == LATEST_OFFSET}.union(userdata.prev_tasks)
    return SubscriptionMessage(
        used_version=userdata.version,
        supported_version=userdata.supported_version,
        consumer_protocol_version=envelope.version,
        topics=tuple(envelope.topics),
        process_id=userdata.process_id,
        previous_active=frozenset(ran),
        stored_tasks=frozenset(sums).union(userdata.standby_tasks) - ran,
        offset_sums={task: known for task, known in sums.items() if known >= 0},
        owned_partitions=owned,
        user_endpoint=userdata.user_end_point,
        client_tags=dict(userdata.client_tags),
        error_code=userdata.error_code,
        unique_field=userdata.unique_field % 256 if userdata.version >= _FIRST_WITH_UNIQUE_FIELD else None,
        joined_generation=joined,
    )


def decode_assignment_message(encoded: bytes) -> AssignmentMessage | UnreadableMessage | None:
    """Decode an assignment with its consumer-protocol envelope; None for no bytes."""
    if not encoded:
        return None
    try:
        envelope = decode_consumer_assignment(encoded)
        userdata = decode_assignment(envelope.user_data)
    except DecodeError as error:
        return UnreadableMessage(str(error))
    partitions = flatten_by_topic(envelope.assigned_partitions)
    if len(partitions) != len(userdata.active_tasks):
        return UnreadableMessage(f"{len(partitions)} partitions, but {len(userdata.active_tasks)} task ids")
    inputs: dict[TaskId, set[TopicPartition]] = {}
    for task, partition in zip(userdata.active_tasks, partitions, strict=True):
        inputs.setdefault(task, set()).add(partition)
    return AssignmentMessage(
        version=userdata.version,
        supported_version=userdata.supported_version,
        error_code=userdata.error_code,
        partitions_by_task={task: frozenset(its) for task, its in inputs.items()},
        standby_partitions_by_task={task: frozenset(its) for task, its in userdata.standby_tasks},
        hosts=frozenset(host for host, _ in userdata.partitions_by_host),
        next_rebalance=_next_rebalance(userdata.next_rebalance_ms),
    )


def _next_rebalance(milliseconds: int) -> NextRebalance:
    if milliseconds == NO_FOLLOW_UP:
        return NextRebalance.NEVER
    return NextRebalance.LATER if milliseconds else NextRebalance.IMMEDIATE
