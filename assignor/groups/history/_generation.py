"""One generation of a group, as its records show it: members with their decoded metadata, and who owns what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple
from uuid import UUID

from attrs import define, field, frozen

from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.codec.columns import TaskOffsetSums, task_of
from streams_assignor.groups.check import GroupView
from streams_assignor.groups.decoded import AssignmentSeen, SubscriptionSeen, assignment_seen, subscription_seen
from streams_assignor.groups.described_group import (
    CLASSIC,
    CONSUMER_PROTOCOL,
    EMPTY,
    SHARE,
    STABLE,
    STREAMS,
    DescribedGroup,
    DescribedGroupMember,
)
from streams_assignor.groups.history.tables import valid_text
from streams_assignor.groups.member import InspectedMember, decode_members, with_unique_names
from streams_assignor.groups.member_names import short_name
from streams_assignor.protocol import PROTOCOL_NAME

_CACHED_TEXTS: Final = 1 << 16
_CACHED_NAMES: Final = 1 << 12


class DecodedAssignment(NamedTuple):
    """The assignment of a member of a classic group: the bytes in the record, and their contents."""

    encoded: bytes
    seen: AssignmentSeen
    active: frozenset[str]
    """Its active tasks; partitions if the group has no tasks."""
    standby: frozenset[str]


@frozen(kw_only=True)
class EpochFacts:
    """Fields of a member's record that only groups have that are not classic."""

    end_point: str = ""
    topology_epoch: int | None = None
    """None unless it is a member of KIP-1071."""
    is_classic: bool | None = None
    """Whether it speaks the classic protocol; None unless it is a member of KIP-848."""
    releases: str | None = None
    """The releases that a member of KIP-1071 may run."""


@frozen(kw_only=True)
class EpochProgress:
    """How far a group that is not classic came in an epoch."""

    state: str
    """The state at its end."""
    assigned_time: int | None = None
    """When the target assignment was computed."""
    complete_time: int | None = None
    """When all members had come to it; None if the next epoch began before."""
    last_member: str = ""
    """The name of the member that came to it last."""
    pending: tuple[str, ...] = ()
    """Names of the members that had not come to it at the end."""
    topology_epoch: int | None = None
    topics_hash: int = 0
    """Of what the coordinator knows of the group's topics; 0: it does not write it."""
    settings: Mapping[str, str] | None = field(default=None, hash=False)
    """Settings of the assignment; None: it does not write them."""
    describe: Callable[[], DescribedGroup] = field(eq=False)
    """Returns the group at the end of the epoch, as a broker would have described it."""


@frozen(kw_only=True)
class GroupMember(InspectedMember):
    """A member in one generation, with text that can be written, and with what the tables of an audit have of it.

    In a group that is not classic it has no messages.
    """

    session_timeout_ms: int = 0
    rebalance_timeout_ms: int = 0
    process_id: str | None = None
    rack: str | None = None
    topics: tuple[str, ...] = ()
    active: frozenset[str] = frozenset()
    """Its active tasks; partitions if the group has no tasks."""
    standby: frozenset[str] = frozenset()
    """With the warm-up tasks of a classic group."""
    has_tasks: bool = False
    task_partitions: frozenset[str] | None = None
    """The partitions of its active tasks, in a group of KIP-1071: partitions of the topics of the topology."""
    last_sign_of_life: int = -1
    """When its last record was written: the coordinator does so when it joins or confirms an assignment; -1: unknown in
    a classic group."""
    epoch_facts: EpochFacts = EpochFacts()

    @property
    def member_id(self) -> str:
        """Its id."""
        return self.described.member_id

    @property
    def instance_id(self) -> str | None:
        """The ``group.instance.id`` of a static member."""
        return self.described.group_instance_id

    @property
    def error_code(self) -> int:
        """The error code of the leader's answer, or else of the subscription."""
        return self.assignment.error_code or self.subscription.error_code

    @cached_property
    def partitions(self) -> frozenset[str]:
        """Its partitions; in a group of KIP-1071 with those that a smaller topic of the subtopology does not have."""
        if not self.has_tasks:
            return self.active
        return _texts(self.assignment.partitions) if self.task_partitions is None else self.task_partitions

    @cached_property
    def previous(self) -> frozenset[str]:
        """Tasks of which it had state when it joined."""
        userdata = self.subscription.userdata
        if userdata is None:
            return frozenset()
        if isinstance(sums := userdata.task_offset_sums, TaskOffsetSums):
            return frozenset(map(_packed_text, sums.packed))
        return _texts((*(entry.task for entry in sums), *userdata.prev_tasks, *userdata.standby_tasks))

    @property
    def identity(self) -> tuple[str, str]:
        """The identity of a restarted process: its instance id, or its client id and host."""
        return ("", self.instance_id) if self.instance_id else (self.described.client_id, self.described.host)

    @property
    def releases(self) -> str | None:
        """The releases of Kafka Streams that send such bytes; None if it is no member of Kafka Streams."""
        if self.subscription.used_version is None:
            return self.epoch_facts.releases
        return str(self.subscription.candidate_releases)

    @property
    def end_point(self) -> str:
        """Its ``application.server``; empty if it is not set."""
        return self.subscription.user_end_point or self.epoch_facts.end_point


_NEW: Final = GroupMember(
    name="", described=DescribedGroupMember(member_id=""), subscription=SubscriptionSeen(), assignment=AssignmentSeen()
)
"""Stands for the last generation of a member that was not in it."""


@frozen(kw_only=True)
class Generation:
    """A generation, or an epoch of a group that is not classic."""

    group: str
    type: str = CLASSIC
    number: int
    offset: int
    """The offset of its record."""
    time: int
    """Timestamp of the record: the end of the rebalance. Milliseconds since 1970, like all times."""
    joined_time: int | None = None
    """When all members had joined; None where the record has no such time."""
    protocol_type: str = ""
    protocol: str = ""
    leader: str = ""
    """Member id."""
    members: Mapping[str, GroupMember] = field(factory=dict)
    """The members by member id."""
    record_bytes: int = 0
    is_conversion: bool = False
    """Whether the group had another type just before: its coordinator starts a rebalance at once."""

    progress: EpochProgress | None = None
    """None in a classic group."""

    @property
    def view(self) -> GroupView | None:
        """The group as if a broker described it.

        None if it is empty, a share group, or a classic one that is not of consumers.
        """
        if not self.members or self.type == SHARE:
            return None
        if self.progress is not None:
            described = self.progress.describe()
            return GroupView(described, decode_members(described.members, streams=False))
        if self.protocol_type != CONSUMER_PROTOCOL:
            return None
        members = with_unique_names(self.members.values())
        described = DescribedGroup(
            name=self.group,
            state=STABLE,
            protocol_type=self.protocol_type,
            protocol=self.protocol,
            members=tuple(member.described for member in members),
        )
        return GroupView(described, members)

    @property
    def state(self) -> str:
        """The state at its end: of a classic group ``Stable`` or ``Empty``."""
        if self.progress is not None:
            return self.progress.state
        return STABLE if self.members else EMPTY

    @property
    def duration_ms(self) -> int | None:
        """How long the rebalance took, as far as that is known.

        From the last member's join to the assignment; in a group that is not classic, from the record of the epoch
        until all members had come to the target assignment.
        """
        if self.progress is None:
            return None if self.joined_time is None else max(0, self.time - self.joined_time)
        end = self.progress.complete_time
        return None if end is None else max(0, end - self.time)

    @property
    def is_streams(self) -> bool:
        """Whether its members run Kafka Streams."""
        return self.type == STREAMS or self.protocol == PROTOCOL_NAME

    @cached_property
    def owners(self) -> Mapping[str, tuple[str, ...]]:
        """The member ids that own each task or partition."""
        owners: dict[str, tuple[str, ...]] = {}
        shared: dict[str, list[str]] = {}
        for member in self.members.values():
            alone = (member.member_id,)
            for task in member.active:
                if (before := owners.setdefault(task, alone)) is not alone:
                    shared.setdefault(task, [*before]).append(member.member_id)
        return owners | {task: tuple(names) for task, names in shared.items()}

    def owner_names(self, owners: Sequence[str]) -> tuple[str, ...]:
        """Return what members keep when they restart, sorted: their instance id, or else their member id."""
        if len(owners) == 1:
            return (self.members[owners[0]].instance_id or owners[0],)
        return tuple(sorted({self.members[owner].instance_id or owner for owner in owners}))

    @property
    def used_versions(self) -> list[int]:
        """The distinct used versions of the members, as far as they are known."""
        return _distinct([member.subscription.used_version for member in self.members.values()])

    @property
    def supported_versions(self) -> list[int]:
        """The distinct supported versions of the members, as far as they are known."""
        return _distinct([member.subscription.supported_version for member in self.members.values()])


def _distinct(versions: Iterable[int | None]) -> list[int]:
    return sorted({version for version in versions if version is not None})


@lru_cache(maxsize=_CACHED_TEXTS)
def _text(value: TaskId | TopicPartition) -> str:
    return valid_text(str(value))


@lru_cache(maxsize=_CACHED_TEXTS)
def _packed_text(packed: int) -> str:
    return str(task_of(packed))


# Members stay in their group for many generations.
_short_name: Final = lru_cache(maxsize=_CACHED_NAMES)(short_name)


def _texts(values: Iterable[TaskId | TopicPartition]) -> frozenset[str]:
    return frozenset(map(_text, values))


@define
class AssignmentDecoder:
    """Decodes the assignments of a group. Those of its last two generations, of any member, are decoded already."""

    _now: dict[tuple[bytes, bool], DecodedAssignment] = field(factory=dict)
    _last: dict[tuple[bytes, bool], DecodedAssignment] = field(factory=dict)
    _before: dict[tuple[bytes, bool], DecodedAssignment] = field(factory=dict)

    def begin_generation(self) -> None:
        """Forget all but the last two generations."""
        self._now, self._last, self._before = {}, self._now, self._last

    def decode(self, encoded: bytes, streams: bool) -> DecodedAssignment:
        """Decode an assignment; its userdata only if the group runs Kafka Streams."""
        key = encoded, streams
        decoded = self._now.get(key) or self._last.get(key) or self._before.get(key)
        if decoded is None:
            seen = assignment_seen(encoded, streams)
            active = _texts(seen.active if streams else seen.partitions)
            decoded = DecodedAssignment(encoded, seen, active, _texts(seen.standbys))
        self._now[decoded.encoded, streams] = decoded
        return decoded


def classic_generation(
    group: str,
    offset: int,
    time: int,
    value: Mapping[str, Any],
    record_bytes: int,
    assignments: AssignmentDecoder,
    before: Generation | None,
) -> Generation:
    """Return the generation of a ``GroupMetadata`` record. An assignment equal to the one before is not decoded."""
    protocol_type, protocol = valid_text(value["protocolType"]), valid_text(value["protocol"] or "")
    earlier_members = before.members if before is not None and before.type == CLASSIC else {}
    members: dict[str, GroupMember] = {}
    has_userdata = protocol_type == CONSUMER_PROTOCOL
    streams = has_userdata and protocol == PROTOCOL_NAME
    assignments.begin_generation()
    for record in value["members"]:
        member_id = valid_text(record["memberId"])
        # The bytes of another protocol type stay opaque.
        sent, got = (record["subscription"], record["assignment"]) if has_userdata else (b"", b"")
        members[member_id] = _member(
            member_id, record, sent, assignments.decode(got, streams), streams, earlier_members.get(member_id)
        )
    joined_time = value.get("currentStateTimestamp", -1)
    return Generation(
        group=group,
        number=value["generation"],
        offset=offset,
        time=time,
        joined_time=joined_time if joined_time >= 0 else None,
        protocol_type=protocol_type,
        protocol=protocol,
        leader=valid_text(value["leader"] or ""),
        members=members,
        record_bytes=record_bytes,
    )


def _member(
    member_id: str,
    record: Mapping[str, Any],
    subscription: bytes,
    assignment: DecodedAssignment,
    streams: bool,
    last: GroupMember | None,
) -> GroupMember:
    """Return a member; most of its texts are as in ``last``."""
    sent = subscription_seen(subscription, streams)
    client_id, host, instance_id = record["clientId"], record["clientHost"], record.get("groupInstanceId")
    before = last or _NEW
    raw = before.described
    if last is not None and (raw.client_id, raw.host, raw.group_instance_id) == (client_id, host, instance_id):
        member_id, name = raw.member_id, last.name
        client_id, host, instance_id = raw.client_id, raw.host, raw.group_instance_id
    else:
        name = valid_text(instance_id) if instance_id else _short_name(member_id)
        client_id, host = valid_text(client_id), valid_text(host)
        instance_id = None if instance_id is None else valid_text(instance_id)
    if _is_same(sent.process_id, before.subscription.process_id):
        process_id = before.process_id
    else:
        process_id = None if sent.process_id is None else str(sent.process_id)
    topics = before.topics if sent.topics == before.subscription.topics else tuple(map(valid_text, sent.topics))
    return GroupMember(
        name=name,
        described=DescribedGroupMember(
            member_id=member_id,
            group_instance_id=instance_id,
            client_id=client_id,
            host=host,
            subscription=subscription,
            assignment=assignment.encoded,
        ),
        subscription=sent,
        assignment=assignment.seen,
        session_timeout_ms=record["sessionTimeout"],
        rebalance_timeout_ms=record.get("rebalanceTimeout", record["sessionTimeout"]),
        process_id=process_id,
        rack=None if sent.rack is None else valid_text(sent.rack),
        topics=topics,
        active=assignment.active,
        standby=assignment.standby,
        has_tasks=streams,
    )


def _is_same(one: UUID | None, other: UUID | None) -> bool:
    """Whether two process ids are equal: their numbers are, which is faster than to compare them."""
    return one is other or (one is not None and other is not None and one.int == other.int)
