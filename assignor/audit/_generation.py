"""One generation of a group, as its records show it: members with their decoded metadata, and who owns what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Final

from attrs import field, frozen

from assignor.audit.tables import valid_text
from assignor.inspect import DescribedGroup, DescribedGroupMember
from assignor.inspect.described_group import CLASSIC, CONSUMER_PROTOCOL, EMPTY, STABLE, STREAMS
from assignor.inspect.member import SubscriptionSeen, decode_members
from assignor.protocol import PROTOCOL_NAME
from subscription_codec import TaskId, TopicPartition

_CACHED_MEMBERS: Final = 2048
"""Most members of a generation are the same as in the one before, and are decoded once."""
_CACHED_TEXTS: Final = 1 << 16


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
    subscription: SubscriptionSeen | None = None
    """None in a group that is not classic."""
    active: frozenset[str] = frozenset()
    """Its active tasks; partitions if the group has no tasks."""
    standby: frozenset[str] = frozenset()
    """With the warm-up tasks of a classic group."""
    partitions: frozenset[str] = frozenset()
    previous: frozenset[str] = frozenset()
    """Tasks of which it had state when it joined."""

    @property
    def identity(self) -> tuple[str, str]:
        """What a restarted process keeps: its instance id, or its client id and host."""
        return ("", self.instance_id) if self.instance_id else (self.client_id, self.host)

    @property
    def releases(self) -> str | None:
        """The releases of Kafka Streams that send such bytes; None if it is no member of Kafka Streams."""
        if self.subscription is None or self.used_version is None:
            return None
        return str(self.subscription.candidate_releases)


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
    described: DescribedGroup | None = None
    """For the checks of ``assignor.inspect``."""

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
            for task in member.active:
                found[task] = (*found.get(task, ()), member.member_id)
        return found

    def owner_name(self, member_id: str) -> str:
        """Return what a member keeps when it restarts: its instance id, or else its member id."""
        return self.members[member_id].instance_id or member_id

    def versions(self, name: str) -> list[int]:
        """List the distinct used or supported versions of the members."""
        return sorted({number for member in self.members.values() if (number := getattr(member, name)) is not None})


@lru_cache(maxsize=_CACHED_MEMBERS)
def _member(raw: DescribedGroupMember, streams: bool, session_ms: int, rebalance_ms: int) -> GroupMember:
    (found,) = decode_members((raw,), streams=streams)
    sent, got = found.subscription, found.assignment
    partitions = _texts(got.partitions)
    return GroupMember(
        member_id=raw.member_id,
        name=found.name,
        client_id=raw.client_id,
        host=raw.host,
        instance_id=raw.group_instance_id,
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=rebalance_ms,
        process_id=None if sent.process_id is None else str(sent.process_id),
        rack=None if sent.rack is None else valid_text(sent.rack),
        topics=tuple(map(valid_text, sent.topics)),
        used_version=sent.used_version,
        supported_version=sent.supported_version,
        answered_version=got.used_version,
        error_code=got.error_code or sent.error_code,
        next_rebalance_ms=got.next_rebalance_ms,
        rejoins=found.is_about_to_rejoin,
        subscription=sent,
        active=_texts(got.active) if streams else partitions,
        standby=_texts(got.standbys),
        partitions=partitions,
        previous=_texts(sent.offset_sums or (*sent.previous_active, *sent.previous_standby)),
    )


@lru_cache(maxsize=_CACHED_TEXTS)
def _text(each: TaskId | TopicPartition) -> str:
    return valid_text(str(each))


def _texts(each: Iterable[TaskId | TopicPartition]) -> frozenset[str]:
    return frozenset(map(_text, each))


def classic_generation(group: str, offset: int, time: int, value: Mapping[str, Any], record_bytes: int) -> Generation:
    """Return the generation of a ``GroupMetadata`` record."""
    protocol = value["protocol"] or ""
    has_userdata = value["protocolType"] == CONSUMER_PROTOCOL
    streams = has_userdata and protocol == PROTOCOL_NAME
    raws = [_described(member, has_userdata) for member in value["members"]]
    members: dict[str, GroupMember] = {}
    for raw, each in zip(raws, value["members"], strict=True):
        session_ms = each["sessionTimeout"]
        members[raw.member_id] = _member(raw, streams, session_ms, each.get("rebalanceTimeout", session_ms))
    joined_time = value.get("currentStateTimestamp", -1)
    return Generation(
        group=group,
        number=value["generation"],
        offset=offset,
        time=time,
        joined_time=joined_time if joined_time >= 0 else None,
        protocol_type=valid_text(value["protocolType"]),
        protocol=valid_text(protocol),
        leader=valid_text(value["leader"] or ""),
        members=members,
        record_bytes=record_bytes,
        described=_described_group(group, value, raws) if raws and has_userdata else None,
    )


def _described(member: Mapping[str, Any], has_userdata: bool) -> DescribedGroupMember:
    """Return a member as a broker describes it; the bytes of another protocol type stay opaque."""
    instance_id = member.get("groupInstanceId")
    return DescribedGroupMember(
        member_id=valid_text(member["memberId"]),
        group_instance_id=None if instance_id is None else valid_text(instance_id),
        client_id=valid_text(member["clientId"]),
        host=valid_text(member["clientHost"]),
        subscription=member["subscription"] if has_userdata else b"",
        assignment=member["assignment"] if has_userdata else b"",
    )


def _described_group(group: str, value: Mapping[str, Any], raws: Sequence[DescribedGroupMember]) -> DescribedGroup:
    return DescribedGroup(
        name=group,
        state=STABLE,
        protocol_type=value["protocolType"],
        protocol=valid_text(value["protocol"] or ""),
        members=tuple(raws),
    )
