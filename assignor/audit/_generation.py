"""One generation of a group, as its records show it: members with their decoded metadata, and who owns what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple

from attrs import field, frozen

from assignor.audit.tables import valid_text
from assignor.inspect import DescribedGroup, DescribedGroupMember, InspectedGroup, inspect_group
from assignor.inspect.described_group import CLASSIC, CONSUMER_PROTOCOL, EMPTY, STABLE, STREAMS
from assignor.inspect.member import (
    AssignmentSeen,
    SubscriptionSeen,
    assignment_seen,
    name_members,
    short_name,
    subscription_seen,
    will_rejoin,
)
from assignor.protocol import PROTOCOL_NAME
from subscription_codec import TaskId, TopicPartition

_CACHED_TEXTS: Final = 1 << 16
_CACHED_NAMES: Final = 1 << 12


class DecodedMember(NamedTuple):
    """What a member of a classic group sent and got: the bytes in the record, and what they say."""

    subscription: bytes
    assignment: bytes
    sent: SubscriptionSeen
    got: AssignmentSeen


@frozen(kw_only=True)
class GroupMember:
    """A member in one generation."""

    member_id: str
    name: str
    """Short: the instance id, the beginning of the UUID in the member id, or the member id."""
    client_id: str = ""
    host: str = ""
    instance_id: str | None = None
    session_timeout_ms: int = 0
    rebalance_timeout_ms: int = 0
    process_id: str | None = None
    rack: str | None = None
    topics: tuple[str, ...] = ()
    used_version: int | None = None
    supported_version: int | None = None
    answered_version: int | None = None
    """Of the leader's answer, like the next two."""
    error_code: int = 0
    next_rebalance_ms: int | None = None
    """0: immediately; None: none is scheduled."""
    rejoins: bool = False
    """Whether its assignment makes it rejoin at once."""
    active: frozenset[str] = frozenset()
    """Its active tasks; partitions if the group has no tasks."""
    standby: frozenset[str] = frozenset()
    """With the warm-up tasks of a classic group."""
    has_tasks: bool = False
    decoded: DecodedMember | None = None
    """None in a group that is not classic."""

    @cached_property
    def partitions(self) -> frozenset[str]:
        """Its partitions; of a group of KIP-1071 they are not known."""
        if not self.has_tasks:
            return self.active
        return frozenset() if self.decoded is None else _texts(self.decoded.got.partitions)

    @cached_property
    def previous(self) -> frozenset[str]:
        """Tasks of which it had state when it joined."""
        if self.decoded is None:
            return frozenset()
        sent = self.decoded.sent
        return _texts(sent.offset_sums or (*sent.previous_active, *sent.previous_standby))

    @property
    def identity(self) -> tuple[str, str]:
        """What a restarted process keeps: its instance id, or its client id and host."""
        return ("", self.instance_id) if self.instance_id else (self.client_id, self.host)

    @property
    def releases(self) -> str | None:
        """The releases of Kafka Streams that send such bytes; None if it is no member of Kafka Streams."""
        if self.decoded is None or self.used_version is None:
            return None
        return str(self.decoded.sent.candidate_releases)


@frozen(kw_only=True)
class Generation:
    """A generation, or an epoch of a group that is not classic."""

    group: str
    type: str = CLASSIC
    number: int
    offset: int
    """Of the record."""
    time: int
    """Timestamp of the record: the end of the rebalance. Milliseconds since 1970, like all times."""
    joined_time: int | None = None
    """When all members had joined; None where the record has no such time."""
    protocol_type: str = ""
    protocol: str = ""
    leader: str = ""
    """Member id."""
    members: Mapping[str, GroupMember] = field(factory=dict)
    """By member id."""
    record_bytes: int = 0

    def inspect(self) -> InspectedGroup | None:
        """Inspect the group as if a broker described it; None if it is not one of consumers, or not classic."""
        decoded = [
            (_described(member, member.decoded), member.decoded.sent, member.decoded.got)
            for member in self.members.values()
            if member.decoded is not None
        ]
        if self.protocol_type != CONSUMER_PROTOCOL or not decoded:
            return None
        described = DescribedGroup(
            name=self.group,
            state=STABLE,
            protocol_type=self.protocol_type,
            protocol=self.protocol,
            members=tuple(raw for raw, _, _ in decoded),
        )
        return inspect_group(described, name_members(decoded))

    @property
    def state(self) -> str:
        """``Stable`` or ``Empty``."""
        return STABLE if self.members else EMPTY

    @property
    def is_streams(self) -> bool:
        """Whether its members run Kafka Streams."""
        return self.type == STREAMS or self.protocol == PROTOCOL_NAME

    @cached_property
    def owners(self) -> Mapping[str, tuple[str, ...]]:
        """The member ids that own each task or partition."""
        found: dict[str, tuple[str, ...]] = {}
        for member in self.members.values():
            alone = (member.member_id,)
            for task in member.active:
                found[task] = found[task] + alone if task in found else alone
        return found

    def owner_name(self, member_id: str) -> str:
        """Return what a member keeps when it restarts: its instance id, or else its member id."""
        return self.members[member_id].instance_id or member_id

    def versions(self, name: str) -> list[int]:
        """List the distinct used or supported versions of the members."""
        return sorted({number for member in self.members.values() if (number := getattr(member, name)) is not None})


@lru_cache(maxsize=_CACHED_TEXTS)
def _text(each: TaskId | TopicPartition) -> str:
    return valid_text(str(each))


# Members and processes stay in their group for many generations.
_process_text: Final = lru_cache(maxsize=_CACHED_NAMES)(str)
_short_name: Final = lru_cache(maxsize=_CACHED_NAMES)(short_name)


def _texts(each: Iterable[TaskId | TopicPartition]) -> frozenset[str]:
    return frozenset(map(_text, each))


def classic_generation(
    group: str, offset: int, time: int, value: Mapping[str, Any], record_bytes: int, before: Generation | None = None
) -> Generation:
    """Return the generation of a ``GroupMetadata`` record. What is as in the one before is not decoded again."""
    protocol_type, protocol = valid_text(value["protocolType"]), valid_text(value["protocol"] or "")
    is_known = before is not None and (before.protocol_type, before.protocol) == (protocol_type, protocol)
    known = before.members if before is not None and is_known else {}
    members: dict[str, GroupMember] = {}
    for record in value["members"]:
        member_id = valid_text(record["memberId"])
        members[member_id] = _member(member_id, record, protocol_type, protocol, known.get(member_id))
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
    member_id: str, record: Mapping[str, Any], protocol_type: str, protocol: str, last: GroupMember | None
) -> GroupMember:
    """Decode a member; the bytes of another protocol type stay opaque. Most assignments are as in ``last``."""
    has_userdata = protocol_type == CONSUMER_PROTOCOL
    streams = has_userdata and protocol == PROTOCOL_NAME
    subscription: bytes = record["subscription"] if has_userdata else b""
    assignment: bytes = record["assignment"] if has_userdata else b""
    sent = subscription_seen(subscription, streams)
    if last is not None and last.decoded is not None and last.decoded.assignment == assignment:
        assignment, got, active, standby = last.decoded.assignment, last.decoded.got, last.active, last.standby
    else:
        got = assignment_seen(assignment, streams)
        active, standby = _texts(got.active if streams else got.partitions), _texts(got.standbys)
    instance_id = record.get("groupInstanceId")
    return GroupMember(
        member_id=member_id,
        name=valid_text(instance_id) if instance_id else _short_name(member_id),
        client_id=valid_text(record["clientId"]),
        host=valid_text(record["clientHost"]),
        instance_id=None if instance_id is None else valid_text(instance_id),
        session_timeout_ms=record["sessionTimeout"],
        rebalance_timeout_ms=record.get("rebalanceTimeout", record["sessionTimeout"]),
        process_id=None if sent.process_id is None else _process_text(sent.process_id),
        rack=None if sent.rack is None else valid_text(sent.rack),
        topics=tuple(map(valid_text, sent.topics)),
        used_version=sent.used_version,
        supported_version=sent.supported_version,
        answered_version=got.used_version,
        error_code=got.error_code or sent.error_code,
        next_rebalance_ms=got.next_rebalance_ms,
        rejoins=will_rejoin(sent, got),
        active=active,
        standby=standby,
        has_tasks=streams,
        decoded=DecodedMember(subscription, assignment, sent, got),
    )


def _described(member: GroupMember, decoded: DecodedMember) -> DescribedGroupMember:
    return DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        host=member.host,
        subscription=decoded.subscription,
        assignment=decoded.assignment,
    )
