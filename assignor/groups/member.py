"""One decoded member: its last subscription and assignment, as far as the bytes can be decoded."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import Any, Final
from uuid import UUID

from attrs import evolve, field, frozen

from assignor.groups._release_detection import CandidateReleases, find_candidates
from assignor.groups.broker_assigned import Assigned, BrokerAssignment
from assignor.groups.described_group import DescribedGroupMember
from assignor.protocol.member import hosts_of
from subscription_codec import (
    EARLIEST_PROBEABLE_VERSION,
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
from subscription_codec.columns import SortedPartitions, TaskIds, without_repeats
from subscription_codec.consumer_protocol import (
    HIGHEST_SUPPORTED_VERSION,
    ConsumerAssignment,
    TopicPartitions,
    decode_consumer_assignment,
    decode_consumer_subscription,
    flatten_by_topic,
)
from upgrade import ConfigException
from upgrade.cluster.features.carried_levels import NO_LEVELS, Levels, decode_levels
from upgrade.config_types import parse_end_point
from upgrade.releases import NEWEST, Release

_UUID: Final = re.compile(r"([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_KAFKA_UUID: Final = re.compile(r"[\w+/-]{22}", re.ASCII)
"""A UUID in base64, of Kafka or librdkafka: the whole member id in groups of KIP-848 and KIP-1071."""

UNKNOWN_PROTOCOL: Final = "unknown"
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


class RejoinCause(Enum):
    """Why a member rejoins as soon as it has its assignment. If the next one is alike, the group never settles."""

    VERSION = "it changes its version"
    REVOKES = "it has to revoke partitions"
    REQUESTED = "the leader asks it to, because it waits for a task of another member"
    END_POINT = "the leader has not found its application.server"
    NOT_SUBSCRIBED = "it has partitions of topics that it does not subscribe to"


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
    """What a member is taken for that supports a version above all of the table; None: nothing is assumed."""

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
    problem: str | None = None


@frozen(kw_only=True)
class InspectedMember:
    """A member of an inspected group."""

    name: str
    """Short: the instance id, the beginning of the broker's UUID, or the member id.

    It is unique in what ``with_unique_names`` returns.
    """

    described: DescribedGroupMember
    subscription: SubscriptionSeen
    assignment: AssignmentSeen
    rejoin_causes: tuple[RejoinCause, ...] = field(init=False)
    """Why the member rejoins immediately; empty if it does not."""

    @rejoin_causes.default
    def _find_rejoin_causes(self) -> tuple[RejoinCause, ...]:
        return rejoin_causes(self.subscription, self.assignment)

    @property
    def label(self) -> str:
        """The name for people: instance id or client id, host, and the beginning of the UUID if it is not static.

        It does not depend on the other members, so it is the same in every description.
        """
        return member_label(self.described)

    @property
    def is_about_to_rejoin(self) -> bool:
        """Whether the member rejoins immediately."""
        return bool(self.rejoin_causes)

    @property
    def rebalance_protocol(self) -> str:
        """``eager``, ``cooperative`` or ``unknown``. Userdata does not contain it; it is inferred.

        Consumers before 2.4 (envelope 0) and members with ``upgrade.from`` up to 1.1 are eager. A member that rejoins
        with owned partitions is cooperative (KIP-429). One that rejoins without may have had none.
        """
        if self.subscription.owned_partitions:
            return "cooperative"
        candidates = self.subscription.candidate_releases
        if self.subscription.consumer_protocol_version == 0 or candidates.certainly_pinned:
            return "eager"
        return candidates.rebalance_protocol or UNKNOWN_PROTOCOL


def rejoin_causes(sent: SubscriptionSeen, got: AssignmentSeen) -> tuple[RejoinCause, ...]:
    """Compare what a member sent with what it got, as the member does."""
    used, version = sent.used_version or 0, got.used_version or 0
    causes: list[RejoinCause] = []  # a generator would cost more than the comparisons
    if version >= EARLIEST_PROBEABLE_VERSION and (version < used or (got.supported_version or 0) > used):
        causes.append(RejoinCause.VERSION)
    if sent.owned_partitions and not _holds_all(got.partitions, sent.owned_partitions):
        causes.append(RejoinCause.REVOKES)
    if got.next_rebalance_ms == 0:
        causes.append(RejoinCause.REQUESTED)
    if got.hosts and _misses_end_point(sent, got):
        causes.append(RejoinCause.END_POINT)
    if sent.topics and unsubscribed_topics(sent, got):
        causes.append(RejoinCause.NOT_SUBSCRIBED)
    return tuple(causes)


def _misses_end_point(sent: SubscriptionSeen, got: AssignmentSeen) -> bool:
    """Whether the hosts lack the end point of a member that looks for it. Java: ``verifyHostInfo``, since 2.6."""
    if not sent.user_end_point or (sent.readable_version or 0) < FIRST_VERSION_WITH_OFFSET_SUMS:
        return False
    try:
        end_point = parse_end_point(sent.user_end_point)
    except ConfigException:  # such a member does not start
        return False
    return end_point is not None and end_point not in got.hosts


def unsubscribed_topics(sent: SubscriptionSeen, got: AssignmentSeen) -> tuple[str, ...]:
    """Return the topics of assigned partitions that the member does not subscribe to."""
    if not sent.topics or not isinstance(got.partitions, SortedPartitions):
        return ()
    topics = got.partitions.topics
    if len(topics) == 1 and topics[0] in sent.topics:  # most members read one topic
        return ()
    return tuple(sorted({*topics}.difference(sent.topics)))


def _holds_all(assigned: Sequence[TopicPartition], owned: SortedPartitions) -> bool:
    """Whether all owned partitions are assigned; only members that decode have any."""
    return isinstance(assigned, SortedPartitions) and assigned.includes(owned)


def decode_members(
    members: Iterable[DescribedGroupMember], *, streams: bool, assumed: Release | None = None
) -> tuple[InspectedMember, ...]:
    """Decode all members, sorted by client id and member id; userdata only if the group runs Kafka Streams.

    Those that support a version above all of the table are taken for the ``assumed`` release, if one is given.
    """
    return with_unique_names(_decoded(raw, streams, assumed) for raw in members)


def _decoded(raw: DescribedGroupMember, streams: bool, assumed: Release | None) -> InspectedMember:
    assignment = raw.broker_assignment
    if assignment:
        sent, got = _known_to_broker(assignment), _assigned_by_broker(assignment.current)
    else:
        sent, got = subscription_seen(raw.subscription, streams), assignment_seen(raw.assignment, streams)
        sent = evolve(sent, assumed=assumed) if assumed else sent
    return InspectedMember(name=member_name(raw), described=raw, subscription=sent, assignment=got)


def member_name(raw: DescribedGroupMember) -> str:
    """Return the instance id, the beginning of the broker's UUID, or the member id."""
    return raw.group_instance_id or short_name(raw.member_id)


def with_unique_names(members: Iterable[InspectedMember]) -> tuple[InspectedMember, ...]:
    """Return the members of a group sorted by client id and member id; the name is the member id if not unique."""
    ordered = sorted(members, key=lambda member: _sort_key(member.described))
    if len({member.name for member in ordered}) == len(ordered):
        return tuple(ordered)
    counts = Counter(member.name for member in ordered)
    return tuple(
        member if counts[member.name] == 1 else evolve(member, name=member.described.member_id) for member in ordered
    )


def _sort_key(raw: DescribedGroupMember) -> tuple[str, str, str]:
    return raw.client_id, raw.group_instance_id or "", raw.member_id


def shorten_uuids(text: str) -> str:
    """Shorten each UUID to its first eight digits.

    >>> shorten_uuids("app-a6cdcd8c-a8df-47ff-ba6a-d5ea8d10ca11-StreamThread-1-consumer")
    'app-a6cdcd8c…-StreamThread-1-consumer'
    """
    return _UUID.sub(r"\1…", text)


def short_name(member_id: str) -> str:
    """Return the beginning of the last UUID in a member id; the member id if it has none.

    >>> short_name("app-a6cdcd8c-a8df-47ff-ba6a-d5ea8d10ca11"), short_name("D0mU8HO4RSaQvoRUEoWQnQ")
    ('a6cdcd8c', 'D0mU8HO4')
    """
    if _KAFKA_UUID.fullmatch(member_id):
        return member_id[:8]
    uuids = _UUID.findall(member_id)
    return str(uuids[-1]) if uuids else member_id


def place_of(member: DescribedGroupMember) -> str:
    """Return what a member keeps when its process is restarted: instance id or client id, and host.

    A client id may contain the process id, which is new without a state directory.

    >>> client = "app-a6cdcd8c-a8df-47ff-ba6a-d5ea8d10ca11-StreamThread-1-consumer"
    >>> place_of(DescribedGroupMember(member_id="x", client_id=client, host="/10.0.0.1"))
    'app-…-StreamThread-1 (10.0.0.1)'
    """
    client = member.group_instance_id or _UUID.sub("…", member.client_id.removesuffix("-consumer"))
    return f"{client} ({host})" if (host := member.host.removeprefix("/")) else client


def member_label(member: DescribedGroupMember, uuid: str = "") -> str:
    """Name a member for people; ``uuid`` stands in the place of that in its member id.

    >>> member_label(DescribedGroupMember(member_id="D0mU8HO4RSaQvoRUEoWQnQ", client_id="a-consumer", host="/10.0.0.1"))
    'a (10.0.0.1, D0mU8HO4)'
    """
    own_name = short_name(member.member_id)
    client = member.group_instance_id or shorten_uuids(member.client_id.removesuffix("-consumer")) or own_name
    shown = uuid or ("" if member.group_instance_id or client == own_name else own_name)
    beside = ", ".join(filter(None, (member.host.removeprefix("/"), shown)))
    return f"{client} ({beside})" if beside else client


def _known_to_broker(assignment: BrokerAssignment) -> SubscriptionSeen:
    """Return what a member of a group that is not classic sent in its heartbeats."""
    return SubscriptionSeen(
        topics=assignment.topics,
        process_id=UUID(assignment.process_id) if _UUID.fullmatch(assignment.process_id) else None,
        rack=assignment.rack,
        userdata=Subscription(
            user_end_point=assignment.end_point, client_tags=tuple(map(ClientTag._make, assignment.client_tags.items()))
        ),
    )


def _assigned_by_broker(assigned: Assigned) -> AssignmentSeen:
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
