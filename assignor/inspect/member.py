"""One decoded member: its last subscription and assignment, as far as the bytes can be decoded."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, Final
from uuid import UUID

from attrs import field, frozen

from assignor.inspect._release_detection import CandidateReleases, common_rebalance_protocol, find_candidates
from assignor.inspect.described_group import BrokerAssignment, DescribedGroupMember
from assignor.protocol import feature_levels
from assignor.protocol.feature_levels import NO_LEVELS, Levels
from subscription_codec import (
    EARLIEST_PROBEABLE_VERSION,
    FIRST_VERSION_WITH_OFFSET_SUMS,
    LATEST_OFFSET,
    NO_FOLLOW_UP,
    OFFSET_UNKNOWN,
    UNKNOWN_VERSION,
    DecodeError,
    FutureAssignment,
    FutureSubscription,
    Subscription,
    TaskId,
    TopicPartition,
    decode_assignment,
    decode_subscription,
)
from subscription_codec.columns import without_repeats
from subscription_codec.consumer_protocol import (
    HIGHEST_SUPPORTED_VERSION,
    ConsumerAssignment,
    ConsumerSubscription,
    TopicPartitions,
    decode_consumer_assignment,
    decode_consumer_subscription,
    flatten_by_topic,
)

_UUID: Final = re.compile(r"([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
UNKNOWN_PROTOCOL: Final = "unknown"
NO_CANDIDATES: Final = CandidateReleases()


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
        positions = [each for each in sums.values() if each >= 0]
        return cls(
            running=kinds[LATEST_OFFSET],
            unknown=kinds[OFFSET_UNKNOWN],
            restored_tasks=len(positions),
            total=sum(positions),
        )


@frozen(kw_only=True)
class SubscriptionSeen:
    """A decoded subscription; fields that cannot be decoded or are not in this version are None or empty."""

    consumer_protocol_version: int | None = None
    topics: Sequence[str] = ()
    owned_partitions: Sequence[TopicPartition] = ()
    generation: int = -1
    rack: str | None = None
    used_version: int | None = None
    supported_version: int | None = None
    process_id: UUID | None = None
    previous_active: tuple[TaskId, ...] = ()
    previous_standby: tuple[TaskId, ...] = ()
    offset_sums: Mapping[TaskId, int] | None = field(default=None, hash=False)
    user_end_point: str = ""
    client_tags: Mapping[str, str] = field(factory=dict, hash=False)
    error_code: int = 0
    levels: Levels = field(default=NO_LEVELS, hash=False)
    has_trailing_bytes: bool = False
    """Whether bytes follow the last field of version 1, as some releases send them."""

    problem: str | None = None
    """Why the message cannot be decoded."""

    @property
    def candidate_releases(self) -> CandidateReleases:
        """The releases that could have sent it."""
        if self.used_version is None or self.consumer_protocol_version is None:
            return NO_CANDIDATES
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
    standbys: tuple[TaskId, ...] = ()
    """With the warm-up tasks of a classic group: an assignment does not mark them (``standbys.classify_standbys``)."""

    warm_ups: tuple[TaskId, ...] = ()
    """Of a group of KIP-1071."""

    error_code: int = 0
    next_rebalance_ms: int | None = None
    """Milliseconds since 1970; 0: immediately, None: no rebalance scheduled."""

    levels: Levels = field(default=NO_LEVELS, hash=False)
    problem: str | None = None


@frozen(kw_only=True)
class InspectedMember:
    """A member of an inspected group."""

    name: str
    """Short and unique in the group: the instance id, the beginning of the broker's UUID, or the member id."""

    described: DescribedGroupMember
    subscription: SubscriptionSeen
    assignment: AssignmentSeen

    @property
    def is_about_to_rejoin(self) -> bool:
        """Whether the member rejoins immediately: on request, to change its version, or to revoke partitions."""
        sent, got = self.subscription, self.assignment
        assigned = iter(got.partitions)
        if got.next_rebalance_ms == 0 or not all(owned in assigned for owned in sent.owned_partitions):
            return True  # both are sorted, so one pass over the assigned partitions finds all that it owns
        used, version = sent.used_version or 0, got.used_version or 0
        return version >= EARLIEST_PROBEABLE_VERSION and (version < used or (got.supported_version or 0) > used)

    @property
    def rebalance_protocol(self) -> str:
        """``eager``, ``cooperative`` or ``unknown``. Userdata does not contain it; it is inferred.

        Consumers before 2.4 (envelope 0) and members with ``upgrade.from`` up to 1.1 are eager. A member that rejoins
        with owned partitions is cooperative (KIP-429). One that rejoins without may have had none.
        """
        if self.subscription.owned_partitions:
            return "cooperative"
        if self.subscription.consumer_protocol_version == 0 or self.subscription.candidate_releases.certainly_pinned:
            return "eager"
        found = (*self.subscription.candidate_releases.unpinned, *self.subscription.candidate_releases.pinned)
        return common_rebalance_protocol(found) or UNKNOWN_PROTOCOL


def decode_members(members: Iterable[DescribedGroupMember], *, streams: bool) -> tuple[InspectedMember, ...]:
    """Decode all members, sorted by client id and member id; userdata only if the group runs Kafka Streams."""
    ordered = sorted(members, key=lambda raw: (raw.client_id, raw.group_instance_id or "", raw.member_id))
    names = _unique_names(ordered)
    return tuple(
        InspectedMember(
            name=name,
            described=raw,
            subscription=_known_to_broker(raw.broker_assignment)
            if raw.broker_assignment
            else _subscription_seen(raw.subscription, streams),
            assignment=_assigned_by_broker(raw.broker_assignment)
            if raw.broker_assignment
            else _assignment_seen(raw.assignment, streams),
        )
        for name, raw in zip(names, ordered, strict=True)
    )


def shorten_uuids(text: str) -> str:
    """Shorten each UUID to its first eight digits.

    >>> shorten_uuids("app-a6cdcd8c-a8df-47ff-ba6a-d5ea8d10ca11-StreamThread-1-consumer")
    'app-a6cdcd8c…-StreamThread-1-consumer'
    """
    return _UUID.sub(r"\1…", text)


def _unique_names(members: Sequence[DescribedGroupMember]) -> list[str]:
    """Name members by instance id or the beginning of their UUID; by member id where these are not unique."""
    short = [raw.group_instance_id or _short_name(raw.member_id) for raw in members]
    counts = Counter(short)
    return [name if counts[name] == 1 else raw.member_id for name, raw in zip(short, members, strict=True)]


def _short_name(member_id: str) -> str:
    """Return the beginning of the last UUID in a member id; the member id if it has none."""
    found = _UUID.findall(member_id)
    return str(found[-1]) if found else member_id


def _known_to_broker(found: BrokerAssignment) -> SubscriptionSeen:
    """Return what a member of a group that is not classic sent in its heartbeats."""
    return SubscriptionSeen(
        topics=found.topics,
        process_id=UUID(found.process_id) if _UUID.fullmatch(found.process_id) else None,
        rack=found.rack,
        user_end_point=found.end_point,
        client_tags=found.client_tags,
    )


def _assigned_by_broker(found: BrokerAssignment) -> AssignmentSeen:
    return AssignmentSeen(
        partitions=found.partitions,
        active=in_order(found.active),
        standbys=in_order(found.standby),
        warm_ups=in_order(found.warm_up),
    )


def _subscription_seen(encoded: bytes, streams: bool) -> SubscriptionSeen:
    if not encoded:
        return SubscriptionSeen()
    try:
        envelope = decode_consumer_subscription(encoded)
    except DecodeError as error:
        return SubscriptionSeen(problem=f"subscription: {error}")
    if problem := _too_long_topic(envelope.owned_partitions):
        return SubscriptionSeen(problem=f"subscription: {problem}")
    return SubscriptionSeen(
        consumer_protocol_version=envelope.version,
        topics=envelope.topics,
        owned_partitions=flatten_by_topic(envelope.owned_partitions),
        generation=envelope.generation_id,
        rack=envelope.rack_id,
        **(_subscription_userdata(envelope) if streams else {}),
    )


def _subscription_userdata(envelope: ConsumerSubscription) -> dict[str, Any]:
    """Return the fields of ``SubscriptionSeen`` that are in the userdata."""
    try:
        userdata = decode_subscription(envelope.user_data)
    except DecodeError as error:
        return {"problem": f"userdata of the subscription: {error}"}
    supported = userdata.supported_version
    numbers = {
        "used_version": userdata.version,
        "supported_version": None if supported == UNKNOWN_VERSION else supported,
    }
    if isinstance(userdata, FutureSubscription):
        return numbers
    return numbers | {
        "process_id": userdata.process_id,
        "previous_active": tuple(userdata.prev_tasks),
        "previous_standby": tuple(userdata.standby_tasks),
        "offset_sums": _offset_sums(userdata),
        "user_end_point": userdata.user_end_point,
        "client_tags": {tag.key: tag.value for tag in userdata.client_tags},
        "error_code": userdata.error_code,
        "levels": feature_levels.decode_levels(userdata.trailing),
        "has_trailing_bytes": userdata.version == 1 and bool(userdata.trailing),
    }


def _offset_sums(userdata: Subscription) -> dict[TaskId, int] | None:
    if userdata.version < FIRST_VERSION_WITH_OFFSET_SUMS:
        return None
    return {entry.task: entry.offset_sum for entry in userdata.task_offset_sums}


def _assignment_seen(encoded: bytes, streams: bool) -> AssignmentSeen:
    if not encoded:
        return AssignmentSeen()
    try:
        envelope = decode_consumer_assignment(encoded)
    except DecodeError as error:
        return AssignmentSeen(problem=f"assignment: {error}")
    if problem := _too_long_topic(envelope.assigned_partitions):
        return AssignmentSeen(problem=f"assignment: {problem}")
    partitions = flatten_by_topic(envelope.assigned_partitions)
    return AssignmentSeen(partitions=partitions, **(_assignment_userdata(envelope) if streams else {}))


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
        "standbys": in_order(standby.task for standby in answer.standby_tasks),
        "error_code": answer.error_code,
        "next_rebalance_ms": None if answer.next_rebalance_ms == NO_FOLLOW_UP else answer.next_rebalance_ms,
        "levels": feature_levels.decode_levels(answer.trailing),
    }


def in_order(tasks: Iterable[TaskId]) -> tuple[TaskId, ...]:
    """Sort by name of the topology, subtopology, partition, and drop repeats."""
    unnamed: list[TaskId] = []
    named: list[TaskId] = []
    for task in tasks:
        (unnamed if task.topology is None else named).append(task)
    unnamed.sort()
    named.sort()
    named.sort(key=attrgetter("topology"))
    return tuple(without_repeats(chain(unnamed, named)))


def task_order(task: TaskId) -> tuple[str, int, int]:
    """Return the sort key of ``in_order``."""
    return (task.topology or "", task.subtopology, task.partition)
