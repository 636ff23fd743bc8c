"""The subscription and the assignment of a member, decoded as far as the bytes can be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import Any, Final
from uuid import UUID

from attrs import field, frozen

from streams_assignor.codec import (
    FIRST_VERSION_WITH_OFFSET_SUMS,
    LATEST_OFFSET,
    NO_FOLLOW_UP,
    OFFSET_UNKNOWN,
    UNKNOWN_VERSION,
    ClientTag,
    DecodeError,
    FutureAssignment,
    HostInfo,
    Subscription,
    TaskId,
    TopicPartition,
    decode_assignment,
    decode_subscription,
)
from streams_assignor.codec.columns import SortedPartitions, TaskIds, without_repeats
from streams_assignor.codec.consumer_protocol import (
    HIGHEST_SUPPORTED_VERSION,
    ConsumerAssignment,
    TopicPartitions,
    decode_consumer_assignment,
    decode_consumer_subscription,
    flatten_by_topic,
)
from streams_assignor.groups.broker_assigned import Assigned, BrokerAssignment
from streams_assignor.groups.member_names import UUID_TEXT
from streams_assignor.protocol.member import hosts_of
from streams_assignor.upgrade.cluster.features.carried_levels import NO_LEVELS, Levels, decode_levels
from streams_assignor.upgrade.release_detection import CandidateReleases, find_candidates
from streams_assignor.upgrade.releases import NEWEST, Release

NO_CANDIDATES: Final = CandidateReleases()
_NO_PARTITIONS: Final = SortedPartitions(())
MAX_TOPIC_NAME: Final = 249
"""Characters of the longest name of a topic. Java: ``Topic.MAX_NAME_LENGTH``."""


@frozen(kw_only=True)
class OffsetSumTotals:
    """A summary of offset sums."""

    running: int = 0
    """Number of active tasks that run (``LATEST_OFFSET``)."""

    unknown: int = 0
    """Number of tasks with an unknown offset sum."""

    restored_tasks: int = 0
    """Number of the other tasks."""

    total: int = 0
    """Sum of their offset sums."""

    @classmethod
    def summarize(cls, sums: Mapping[TaskId, int]) -> OffsetSumTotals:
        """Summarize the offset sums of a subscription."""
        kinds = Counter(sums.values())
        positions = [offset_sum for offset_sum in sums.values() if offset_sum >= 0]
        return cls(
            running=kinds[LATEST_OFFSET],
            unknown=kinds[OFFSET_UNKNOWN],
            restored_tasks=len(positions),
            total=sum(positions),
        )


@frozen(kw_only=True)
class SubscriptionSeen:
    """A decoded subscription; fields that cannot be decoded or are not in this version are None or empty.

    Fields of the userdata are read when they are asked for: an audit needs few of each.
    """

    consumer_protocol_version: int | None = None
    topics: Sequence[str] = ()
    owned_partitions: SortedPartitions = _NO_PARTITIONS
    generation: int = -1
    rack: str | None = None
    used_version: int | None = None
    supported_version: int | None = None
    process_id: UUID | None = None
    userdata: Subscription | None = field(default=None, hash=False)
    problem: str | None = None
    """Why the message cannot be decoded."""

    assumed: Release | None = None
    """The stand-in release of a member that supports a version above all of the table; None: nothing is assumed."""

    @property
    def previous_active(self) -> tuple[TaskId, ...]:
        """The active tasks that it had (up to version 6)."""
        return tuple(self.userdata.prev_tasks) if self.userdata else ()

    @property
    def previous_standby(self) -> tuple[TaskId, ...]:
        """The other tasks of which it had state (up to version 6)."""
        return tuple(self.userdata.standby_tasks) if self.userdata else ()

    @cached_property
    def offset_sums(self) -> Mapping[TaskId, int] | None:
        """The tasks of which it had state, with their offset sums (version 7 and later)."""
        if self.userdata is None or (self.used_version or 0) < FIRST_VERSION_WITH_OFFSET_SUMS:
            return None
        return {entry.task: entry.offset_sum for entry in self.userdata.task_offset_sums}

    @property
    def user_end_point(self) -> str:
        """``application.server``; empty: not configured."""
        return self.userdata.user_end_point if self.userdata else ""

    @property
    def client_tags(self) -> Mapping[str, str]:
        """Its tags by key."""
        return {tag.key: tag.value for tag in self.userdata.client_tags} if self.userdata else {}

    @property
    def error_code(self) -> int:
        """The error that it sent."""
        return self.userdata.error_code if self.userdata else 0

    @cached_property
    def levels(self) -> Levels:
        """Its levels of features."""
        return decode_levels(self.userdata.trailing) if self.userdata else NO_LEVELS

    @property
    def has_trailing_bytes(self) -> bool:
        """Whether bytes follow the last field of version 1, as some releases send them."""
        return self.used_version == 1 and self.userdata is not None and bool(self.userdata.trailing)

    @property
    def candidate_releases(self) -> CandidateReleases:
        """The releases that could have sent it."""
        if self.used_version is None or self.consumer_protocol_version is None:
            return NO_CANDIDATES
        if self.assumed and (self.supported_version or 0) > NEWEST.supported_version:
            return CandidateReleases((self.assumed,))
        return find_candidates(
            self.used_version,
            UNKNOWN_VERSION if self.supported_version is None else self.supported_version,
            consumer_protocol_version=min(self.consumer_protocol_version, HIGHEST_SUPPORTED_VERSION),
            has_trailing_bytes=self.has_trailing_bytes,
        )

    @property
    def readable_version(self) -> int | None:
        """The highest version that the member is known to read."""
        return self.used_version if self.supported_version is None else self.supported_version


@frozen(kw_only=True)
class AssignmentSeen:
    """A decoded assignment; fields as in ``SubscriptionSeen``."""

    partitions: Sequence[TopicPartition] = ()
    used_version: int | None = None
    supported_version: int | None = None
    active: tuple[TaskId, ...] = ()
    tasks_of_partitions: Sequence[TaskId] = field(default=(), hash=False)
    """The task of each partition, as the leader has sent them; empty if it has not."""

    standbys: tuple[TaskId, ...] = ()
    """With the warm-up tasks of a classic group: an assignment does not mark them (``standbys.classify_standbys``)."""

    warm_ups: tuple[TaskId, ...] = ()
    """The warm-up tasks in a group of KIP-1071, which marks them."""

    error_code: int = 0
    next_rebalance_ms: int | None = None
    """Milliseconds since 1970; 0: immediately, None: no rebalance scheduled."""

    hosts: Sequence[HostInfo] = field(default=(), hash=False)
    """Each ``application.server`` that the leader has found (version 2 and later)."""

    levels: Levels = field(default=NO_LEVELS, hash=False)
    has_unread_userdata: bool = False
    """Whether there is userdata of another assignor than that of Kafka Streams."""

    problem: str | None = None


def known_to_broker(assignment: BrokerAssignment) -> SubscriptionSeen:
    """Return what a member of a group that is not classic sent in its heartbeats."""
    return SubscriptionSeen(
        topics=assignment.topics,
        process_id=UUID(assignment.process_id) if UUID_TEXT.fullmatch(assignment.process_id) else None,
        rack=assignment.rack,
        userdata=Subscription(
            user_end_point=assignment.end_point, client_tags=tuple(map(ClientTag._make, assignment.client_tags.items()))
        ),
    )


def assigned_by_broker(assigned: Assigned) -> AssignmentSeen:
    return AssignmentSeen(
        partitions=assigned.partitions,
        active=in_order(assigned.active),
        standbys=in_order(assigned.standby),
        warm_ups=in_order(assigned.warm_up),
    )


def subscription_seen(encoded: bytes, streams: bool) -> SubscriptionSeen:
    """Decode a subscription; its userdata only if the group runs Kafka Streams."""
    if not encoded:
        return SubscriptionSeen()
    try:
        envelope = decode_consumer_subscription(encoded)
    except DecodeError as error:
        return SubscriptionSeen(problem=f"subscription: {error}")
    if problem := _too_long_topic(envelope.owned_partitions):
        return SubscriptionSeen(problem=f"subscription: {problem}")
    userdata = None
    if streams:
        try:
            userdata = decode_subscription(envelope.user_data)
        except DecodeError as error:
            problem = f"userdata of the subscription: {error}"
    decoded = userdata if isinstance(userdata, Subscription) else None
    supported = UNKNOWN_VERSION if userdata is None else userdata.supported_version
    return SubscriptionSeen(
        consumer_protocol_version=envelope.version,
        topics=envelope.topics,
        owned_partitions=flatten_by_topic(envelope.owned_partitions),
        generation=envelope.generation_id,
        rack=envelope.rack_id,
        used_version=None if userdata is None else userdata.version,
        supported_version=None if supported == UNKNOWN_VERSION else supported,
        process_id=None if decoded is None else decoded.process_id,
        userdata=decoded,
        problem=problem,
    )


def assignment_seen(encoded: bytes, streams: bool) -> AssignmentSeen:
    """Decode an assignment; its userdata only if the group runs Kafka Streams."""
    if not encoded:
        return AssignmentSeen()
    try:
        envelope = decode_consumer_assignment(encoded)
    except DecodeError as error:
        return AssignmentSeen(problem=f"assignment: {error}")
    if problem := _too_long_topic(envelope.assigned_partitions):
        return AssignmentSeen(problem=f"assignment: {problem}")
    partitions = flatten_by_topic(envelope.assigned_partitions)
    read = _assignment_userdata(envelope) if streams else {"has_unread_userdata": bool(envelope.user_data)}
    return AssignmentSeen(partitions=partitions, **read)


def _too_long_topic(groups: Iterable[TopicPartitions]) -> str | None:
    """Find a name that no topic has: written with each of many partitions, a long one would fill the memory."""
    for topic, _ in groups:
        if len(topic) > MAX_TOPIC_NAME:
            return f"partitions of a topic with a name of {len(topic)} characters; the longest has {MAX_TOPIC_NAME}"
    return None


def _assignment_userdata(envelope: ConsumerAssignment) -> dict[str, Any]:
    """Return the fields of ``AssignmentSeen`` that are in the userdata."""
    try:
        answer: Any = decode_assignment(envelope.user_data, keep_future=True)
    except DecodeError as error:
        return {"problem": f"userdata of the assignment: {error}"}
    numbers = {
        "used_version": answer.version,
        "supported_version": None if answer.supported_version == UNKNOWN_VERSION else answer.supported_version,
    }
    if isinstance(answer, FutureAssignment):
        return numbers
    return numbers | {
        "active": in_order(answer.active_tasks),
        "tasks_of_partitions": answer.active_tasks,
        "standbys": in_order(standby.task for standby in answer.standby_tasks),
        "error_code": answer.error_code,
        "next_rebalance_ms": None if answer.next_rebalance_ms == NO_FOLLOW_UP else answer.next_rebalance_ms,
        "hosts": hosts_of(answer.partitions_by_host),
        "levels": decode_levels(answer.trailing) if answer.trailing else NO_LEVELS,
    }


def in_order(tasks: Iterable[TaskId]) -> tuple[TaskId, ...]:
    """Sort by name of the topology, subtopology, partition, and drop repeats."""
    if isinstance(tasks, TaskIds):
        return tuple(without_repeats(sorted(tasks)))
    unnamed: list[TaskId] = []
    named: list[TaskId] = []
    for task in tasks:
        (unnamed if task.topology is None else named).append(task)
    unnamed.sort()
    named.sort()
    named.sort(key=attrgetter("topology"))
    return tuple(without_repeats(chain(unnamed, named)))


def topology_order(task: TaskId) -> tuple[str, int, int]:
    """Return the sort key of ``in_order``."""
    return (task.topology or "", task.subtopology, task.partition)
