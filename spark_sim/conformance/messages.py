"""Views of decoded messages with the values that a replay compares: versions, then previous and assigned tasks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Final
from uuid import UUID

from attrs import frozen

from streams_assignor.codec import (
    EARLIEST_PROBEABLE_VERSION,
    IMMEDIATELY,
    LATEST_OFFSET,
    UNKNOWN_VERSION,
    Assignment,
    DecodeError,
    HostInfo,
    TaskId,
    TopicPartition,
)
from streams_assignor.codec.consumer_protocol import decode_leader_userdata, flatten_by_topic
from streams_assignor.groups.decoded import SubscriptionSeen, subscription_seen

_FIRST_WITH_UNIQUE_FIELD: Final = 8


@frozen
class UnreadableMessage:
    """A message that no member of Kafka Streams can have sent."""

    reason: str
    """The text of the decoding error."""


@frozen(eq=False)
class SubscriptionMessage:
    """The facts of a subscription, as sets that are compared with those of a simulated member."""

    seen: SubscriptionSeen
    """With a version."""

    @property
    def used_version(self) -> int:
        """The used version."""
        return self.seen.used_version or 0

    @property
    def supported_version(self) -> int:
        """-1 below version 3."""
        return UNKNOWN_VERSION if self.seen.supported_version is None else self.seen.supported_version

    @property
    def consumer_protocol_version(self) -> int:
        """The version of the envelope."""
        return self.seen.consumer_protocol_version or 0

    @property
    def process_id(self) -> UUID | None:
        """None in a future version."""
        return self.seen.process_id

    @cached_property
    def previous_active(self) -> frozenset[TaskId]:
        """The tasks that it ran."""
        ran = (task for task, offset_sum in self._sums.items() if offset_sum == LATEST_OFFSET)
        return frozenset(ran).union(self.seen.previous_active)

    @cached_property
    def stored_tasks(self) -> frozenset[TaskId]:
        """Other tasks with a state store on the member."""
        return frozenset(self._sums).union(self.seen.previous_standby) - self.previous_active

    @cached_property
    def offset_sums(self) -> Mapping[TaskId, int]:
        """The positions of ``stored_tasks`` (version 7 and later)."""
        return {task: offset_sum for task, offset_sum in self._sums.items() if offset_sum >= 0}

    @cached_property
    def owned_partitions(self) -> frozenset[TopicPartition]:
        """The partitions that it has not revoked."""
        return frozenset(self.seen.owned_partitions)

    @property
    def unique_field(self) -> int | None:
        """Counts the subscriptions of a member, modulo 256 (version 8 and later); else None."""
        userdata = self.seen.userdata
        return userdata.unique_field % 256 if userdata and userdata.version >= _FIRST_WITH_UNIQUE_FIELD else None

    @property
    def joined_generation(self) -> int | None:
        """The generation that the member joined last, with or without an assignment (3.4 and later); else None."""
        return self.seen.generation if self.seen.generation >= 0 else None

    @property
    def is_probeable(self) -> bool:
        """Whether a leader can answer the used version with a lower one."""
        return self.used_version >= EARLIEST_PROBEABLE_VERSION

    @property
    def _sums(self) -> Mapping[TaskId, int]:
        return self.seen.offset_sums or {}

    def __str__(self) -> str:
        return _versions(self.used_version, self.supported_version)


@frozen(eq=False)
class AssignmentMessage:
    """The facts of an assignment. ``AssignmentSeen`` would not do: it keeps no partitions of standby tasks."""

    userdata: Assignment
    partitions_by_task: Mapping[TaskId, frozenset[TopicPartition]]

    @cached_property
    def standby_partitions_by_task(self) -> Mapping[TaskId, frozenset[TopicPartition]]:
        """The standby tasks, and the partitions that each restores from."""
        return {task: frozenset(its) for task, its in self.userdata.standby_tasks}

    @property
    def version(self) -> int:
        """The used version."""
        return self.userdata.version

    @property
    def supported_version(self) -> int:
        """-1 below version 3."""
        return self.userdata.supported_version

    @property
    def error_code(self) -> int:
        """The error code for the member; 0 is no error."""
        return self.userdata.error_code

    @property
    def hosts(self) -> frozenset[HostInfo]:
        """The end points of all processes."""
        return frozenset(host for host, _ in self.userdata.partitions_by_host)

    @property
    def is_to_rejoin(self) -> bool:
        """Whether the leader asks the member to rejoin immediately."""
        return self.userdata.next_rebalance_ms == IMMEDIATELY

    @property
    def active_tasks(self) -> frozenset[TaskId]:
        """The active tasks."""
        return frozenset(self.partitions_by_task)

    def __str__(self) -> str:
        return _versions(self.version, self.supported_version) + (
            f", error code {self.error_code}" if self.error_code else ""
        )


def _versions(version: int, supported: int) -> str:
    return str(version) if version < EARLIEST_PROBEABLE_VERSION else f"{version}/{supported}"


def decode_subscription_message(encoded: bytes) -> SubscriptionMessage | UnreadableMessage:
    """Decode a subscription with its consumer-protocol envelope."""
    seen = subscription_seen(encoded, streams=True)
    if seen.used_version is None:
        return UnreadableMessage(seen.problem or "there is no subscription")
    return SubscriptionMessage(seen)


def decode_assignment_message(encoded: bytes) -> AssignmentMessage | UnreadableMessage | None:
    """Decode an assignment with its consumer-protocol envelope; None for no bytes."""
    if not encoded:
        return None
    try:
        envelope, userdata = decode_leader_userdata(encoded)
    except DecodeError as error:
        return UnreadableMessage(str(error))
    partitions = flatten_by_topic(envelope.assigned_partitions)
    if len(partitions) != len(userdata.active_tasks):
        return UnreadableMessage(f"{len(partitions)} partitions, but {len(userdata.active_tasks)} task ids")
    inputs: dict[TaskId, set[TopicPartition]] = {}
    for task, partition in zip(userdata.active_tasks, partitions, strict=True):
        inputs.setdefault(task, set()).add(partition)
    return AssignmentMessage(userdata, {task: frozenset(its) for task, its in inputs.items()})
