"""One member, read: what it sent and what it was answered, as far as the bytes can be understood."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from attrs import evolve, field, frozen

from assignor import carried_levels
from assignor.carried_levels import NO_LEVELS, Levels
from assignor.inspect.raw import RawMember
from assignor.inspect.senders import Senders, eager_or_cooperative, senders
from subscription_codec import (
    FIRST_WITH_OFFSET_SUMS,
    NO_REBALANCE,
    RUNNING,
    UNKNOWN_SUM,
    UNKNOWN_VERSION,
    Assignment,
    DecodeError,
    FutureAssignment,
    FutureSubscription,
    Subscription,
    TaskId,
    TopicPartition,
    decode_assignment,
    decode_subscription,
)
from subscription_codec.consumer_protocol import (
    MemberAssignment,
    MemberSubscription,
    decode_member_assignment,
    decode_member_subscription,
    flattened,
)

_UUID: Final = re.compile(r"([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
UNKNOWN: Final = "unknown"
NOBODY_KNOWN: Final = Senders()


@frozen(kw_only=True)
class Sums:
    """Offset sums in short: tasks that run, tasks of unknown position, and the positions of the others added up."""

    running: int = 0
    unknown: int = 0
    restored: int = 0
    total: int = 0

    @classmethod
    def of(cls, sums: Mapping[TaskId, int]) -> Sums:
        """Add up."""
        kinds = Counter(sums.values())
        positions = [each for each in sums.values() if each >= 0]
        return cls(running=kinds[RUNNING], unknown=kinds[UNKNOWN_SUM], restored=len(positions), total=sum(positions))


@frozen(kw_only=True)
class Sent:
    """A subscription, from the version of its envelope to its end; None and empty where there is nothing to read."""

    envelope: int | None = None
    topics: tuple[str, ...] = ()
    owned: tuple[TopicPartition, ...] = ()
    generation: int = -1
    rack: str | None = None
    used: int | None = None
    supported: int | None = None
    process_id: UUID | None = None
    tasks: tuple[TaskId, ...] = ()
    standbys: tuple[TaskId, ...] = ()
    sums: Mapping[TaskId, int] | None = field(default=None, hash=False)
    end_point: str = ""
    tags: Mapping[str, str] = field(factory=dict, hash=False)
    error_code: int = 0
    levels: Levels = field(default=NO_LEVELS, hash=False)
    senders: Senders = NOBODY_KNOWN
    problem: str | None = None

    @property
    def highest(self) -> int | None:
        """The highest version that it is known to read."""
        return self.used if self.supported is None else self.supported


@frozen(kw_only=True)
class Got:
    """An assignment likewise. ``next_rebalance_ms`` is 0 for at once and None for none."""

    partitions: tuple[TopicPartition, ...] = ()
    version: int | None = None
    supported: int | None = None
    active: tuple[TaskId, ...] = ()
    standbys: tuple[TaskId, ...] = ()
    error_code: int = 0
    next_rebalance_ms: int | None = None
    levels: Levels = field(default=NO_LEVELS, hash=False)
    problem: str | None = None


@frozen(kw_only=True)
class Member:
    """A member under a name that is short and its own within the group."""

    name: str
    raw: RawMember
    sent: Sent
    got: Got

    @property
    def rebalance_protocol(self) -> str:
        """``eager``, ``cooperative`` or ``unknown``: userdata does not say it, so it is concluded.

        Consumers before 2.4 (envelope 0) and members on ``upgrade.from`` up to 1.1 are eager; who rejoins with
        partitions is cooperative (KIP-429). Who rejoins without may have had none.
        """
        if self.sent.owned:
            return "cooperative"
        if self.sent.envelope == 0 or self.sent.senders.surely_pinned:
            return "eager"
        found = (*self.sent.senders.plain, *self.sent.senders.pinned)
        return eager_or_cooperative(found) or UNKNOWN


def read_members(members: Iterable[RawMember], *, streams: bool) -> tuple[Member, ...]:
    """Read all members, sorted by client and member id; without ``streams`` userdata is somebody else's."""
    ordered = sorted(members, key=lambda raw: (raw.client_id, raw.instance_id or "", raw.member_id))
    names = _names(ordered)
    return tuple(
        Member(name=name, raw=raw, sent=_sent(raw.subscription, streams), got=_got(raw.assignment, streams))
        for name, raw in zip(names, ordered, strict=True)
    )


def without_uuids(text: str) -> str:
    """Shorten what nobody can read.

    >>> without_uuids("app-a6cdcd8c-a8df-47ff-ba6a-d5ea8d10ca11-StreamThread-1-consumer")
    'app-a6cdcd8c…-StreamThread-1-consumer'
    """
    return _UUID.sub(r"\1…", text)


def _names(members: Sequence[RawMember]) -> list[str]:
    """Name members by their instance id, or the beginning of the id that the broker gave them."""
    short = [raw.instance_id or _short(raw.member_id) for raw in members]
    often = Counter(short)
    return [name if often[name] == 1 else raw.member_id for name, raw in zip(short, members, strict=True)]


def _short(member_id: str) -> str:
    found = _UUID.findall(member_id)
    return str(found[-1]) if found else member_id


def _sent(blob: bytes, streams: bool) -> Sent:
    if not blob:
        return Sent()
    try:
        envelope = decode_member_subscription(blob)
    except DecodeError as error:
        return Sent(problem=f"subscription: {error}")
    outside = Sent(
        envelope=envelope.version,
        topics=envelope.topics,
        owned=flattened(envelope.owned_partitions),
        generation=envelope.generation_id,
        rack=envelope.rack_id,
    )
    return _with_userdata(outside, envelope) if streams else outside


def _with_userdata(outside: Sent, envelope: MemberSubscription) -> Sent:
    try:
        userdata = decode_subscription(envelope.user_data)
    except DecodeError as error:
        return evolve(outside, problem=f"userdata of the subscription: {error}")
    supported = userdata.latest_supported
    numbers = evolve(
        outside,
        used=userdata.version,
        supported=None if supported == UNKNOWN_VERSION else supported,
        senders=senders(
            userdata.version,
            supported,
            envelope=min(envelope.version, 3),
            tail=isinstance(userdata, Subscription) and userdata.version == 1 and bool(userdata.trailing),
        ),
    )
    if isinstance(userdata, FutureSubscription):
        return numbers
    return evolve(
        numbers,
        process_id=userdata.process_id,
        tasks=tuple(userdata.prev_tasks),
        standbys=tuple(userdata.standby_tasks),
        sums=_sums(userdata),
        end_point=userdata.user_end_point,
        tags={tag.key: tag.value for tag in userdata.client_tags},
        error_code=userdata.error_code,
        levels=carried_levels.read(userdata.trailing),
    )


def _sums(userdata: Subscription) -> dict[TaskId, int] | None:
    if userdata.version < FIRST_WITH_OFFSET_SUMS:
        return None
    return {entry.task: entry.offset_sum for entry in userdata.task_offset_sums}


def _got(blob: bytes, streams: bool) -> Got:
    if not blob:
        return Got()
    try:
        envelope = decode_member_assignment(blob)
    except DecodeError as error:
        return Got(problem=f"assignment: {error}")
    outside = Got(partitions=flattened(envelope.assigned_partitions))
    return _with_answer(outside, envelope) if streams else outside


def _with_answer(outside: Got, envelope: MemberAssignment) -> Got:
    try:
        answer: Any = decode_assignment(envelope.user_data, keep_future=True)
    except DecodeError as error:
        return evolve(outside, problem=f"userdata of the assignment: {error}")
    numbers = evolve(
        outside,
        version=answer.version,
        supported=None if answer.latest_supported == UNKNOWN_VERSION else answer.latest_supported,
    )
    if isinstance(answer, FutureAssignment):
        return numbers
    assert isinstance(answer, Assignment)
    return evolve(
        numbers,
        active=tuple(sorted(set(answer.active_tasks), key=task_order)),
        standbys=tuple(sorted((standby.task for standby in answer.standby_tasks), key=task_order)),
        error_code=answer.error_code,
        next_rebalance_ms=None if answer.next_rebalance_ms == NO_REBALANCE else answer.next_rebalance_ms,
        levels=carried_levels.read(answer.trailing),
    )


def task_order(task: TaskId) -> tuple[str, int, int]:
    """Sort by name of the topology, subtopology, partition."""
    return (task.topology or "", task.subtopology, task.partition)
