"""One generation of a group, as its records show it: members with their decoded metadata, and who owns what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple

from attrs import field, frozen

from assignor.audit.tables import valid_text
from assignor.inspect import DescribedGroup, DescribedGroupMember
from assignor.inspect.described_group import CLASSIC, CONSUMER_PROTOCOL
from assignor.inspect.member import releases_text, short_name
from assignor.protocol import PROTOCOL_NAME
from subscription_codec import (
    EARLIEST_PROBEABLE_VERSION,
    NO_FOLLOW_UP,
    UNKNOWN_VERSION,
    DecodeError,
    FutureAssignment,
    FutureSubscription,
    TaskId,
    decode_assignment,
    decode_subscription,
)
from subscription_codec.consumer_protocol import (
    TopicPartitions,
    decode_consumer_assignment,
    decode_consumer_subscription,
)

_CACHED_MEMBERS: Final = 2048
"""Most members of a generation are the same as in the one before, and are decoded once."""
STATE_STABLE: Final = "Stable"
STATE_EMPTY: Final = "Empty"
STATE_DEAD: Final = "Dead"


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
    envelope: tuple[int, bool] = (0, False)
    """Version of its consumer-protocol message, and whether version 1 of the userdata has trailing bytes."""
    active: frozenset[str] = frozenset()
    """Its active tasks; partitions if the group has no tasks."""
    standby: frozenset[str] = frozenset()
    """With the warm-up tasks of a classic group."""
    partitions: frozenset[str] = frozenset()
    previous: frozenset[str] = frozenset()
    """Tasks of which it had state when it joined."""
    problem: str | None = None

    @property
    def identity(self) -> tuple[str, str]:
        """What a restarted process keeps: its instance id, or its client id and host."""
        return ("", self.instance_id) if self.instance_id else (self.client_id, self.host)

    @property
    def releases(self) -> str | None:
        """The releases of Kafka Streams that send such bytes; None if it is no member of Kafka Streams."""
        if self.used_version is None:
            return None
        supported = UNKNOWN_VERSION if self.supported_version is None else self.supported_version
        return _releases(self.used_version, supported, *self.envelope)


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
        return STATE_STABLE if self.members else STATE_EMPTY

    @property
    def is_streams(self) -> bool:
        """Whether its members run Kafka Streams."""
        return self.type == "streams" or self.protocol == PROTOCOL_NAME

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
    """Decode a member; ``assignor.inspect`` decodes it once more if its checks are asked for."""
    sent, got, problem = _Sent(), _Got(), None
    try:
        sent = _sent(raw.subscription, streams) if raw.subscription else sent
        got = _got(raw.assignment, streams) if raw.assignment else got
    except DecodeError as error:
        problem = str(error)
    return GroupMember(
        member_id=raw.member_id,
        name=raw.group_instance_id or short_name(raw.member_id),
        client_id=raw.client_id,
        host=raw.host,
        instance_id=raw.group_instance_id,
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=rebalance_ms,
        process_id=sent.process_id,
        rack=None if sent.rack is None else valid_text(sent.rack),
        topics=tuple(map(valid_text, sent.topics)),
        used_version=sent.used_version,
        supported_version=sent.supported_version,
        answered_version=got.version,
        error_code=got.error_code or sent.error_code,
        next_rebalance_ms=got.next_rebalance_ms,
        rejoins=_rejoins(sent, got),
        envelope=(sent.envelope_version, sent.has_trailing_bytes),
        active=got.active if streams else got.partitions,
        standby=got.standby,
        partitions=got.partitions,
        previous=sent.previous,
        problem=problem,
    )


class _Sent(NamedTuple):
    """What a member sent when it joined."""

    envelope_version: int = 0
    topics: tuple[str, ...] = ()
    owned: frozenset[str] = frozenset()
    rack: str | None = None
    used_version: int | None = None
    supported_version: int | None = None
    process_id: str | None = None
    previous: frozenset[str] = frozenset()
    error_code: int = 0
    has_trailing_bytes: bool = False


class _Got(NamedTuple):
    """What the leader assigned to it."""

    partitions: frozenset[str] = frozenset()
    version: int | None = None
    supported_version: int | None = None
    active: frozenset[str] = frozenset()
    standby: frozenset[str] = frozenset()
    error_code: int = 0
    next_rebalance_ms: int | None = None


def _sent(encoded: bytes, streams: bool) -> _Sent:
    envelope = decode_consumer_subscription(encoded)
    found = _Sent(envelope.version, tuple(envelope.topics), _partitions(envelope.owned_partitions), envelope.rack_id)
    if not streams:
        return found
    userdata = decode_subscription(envelope.user_data)
    supported = None if userdata.supported_version == UNKNOWN_VERSION else userdata.supported_version
    found = found._replace(used_version=userdata.version, supported_version=supported)
    if isinstance(userdata, FutureSubscription):
        return found
    sums = userdata.task_offset_sums
    previous = [each.task for each in sums] if sums else (*userdata.prev_tasks, *userdata.standby_tasks)
    return found._replace(
        process_id=str(userdata.process_id),
        previous=frozenset(map(_task_text, previous)),
        error_code=userdata.error_code,
        has_trailing_bytes=userdata.version == 1 and bool(userdata.trailing),
    )


def _got(encoded: bytes, streams: bool) -> _Got:
    envelope = decode_consumer_assignment(encoded)
    partitions = _partitions(envelope.assigned_partitions)
    if not streams:
        return _Got(partitions)
    answer = decode_assignment(envelope.user_data, keep_future=True)
    supported = None if answer.supported_version == UNKNOWN_VERSION else answer.supported_version
    if isinstance(answer, FutureAssignment):
        return _Got(partitions, answer.version, supported)
    return _Got(
        partitions,
        answer.version,
        supported,
        frozenset(map(_task_text, answer.active_tasks)),
        frozenset([_task_text(standby.task) for standby in answer.standby_tasks]),
        answer.error_code,
        None if answer.next_rebalance_ms == NO_FOLLOW_UP else answer.next_rebalance_ms,
    )


def _partitions(topics: Iterable[TopicPartitions]) -> frozenset[str]:
    named = [(valid_text(topic), partitions) for topic, partitions in topics]
    return frozenset([f"{topic}-{partition}" for topic, partitions in named for partition in partitions])


@lru_cache(maxsize=1 << 16)
def _task_text(task: TaskId) -> str:
    return valid_text(str(task))


def _rejoins(sent: _Sent, got: _Got) -> bool:
    """Return whether the assignment makes the member rejoin at once (``InspectedMember.is_about_to_rejoin``)."""
    if got.next_rebalance_ms == 0 or not got.partitions >= sent.owned:
        return True
    used, version = sent.used_version or 0, got.version or 0
    return version >= EARLIEST_PROBEABLE_VERSION and (version < used or (got.supported_version or 0) > used)


_releases = lru_cache(maxsize=1024)(releases_text)


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
        state=STATE_STABLE,
        protocol_type=value["protocolType"],
        protocol=valid_text(value["protocol"] or ""),
        members=tuple(raws),
    )
