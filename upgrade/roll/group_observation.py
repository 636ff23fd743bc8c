"""One look at a group of Kafka Streams, and what is remembered between looks at one step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import field, frozen

from upgrade.releases import Release
from upgrade.roll.plan import BY_HAND
from upgrade.roll.state import RollState, StepInProgress

STABLE: Final = "Stable"
NO_MEMBERS: Final = ("Empty", "Dead")
"""The states of a group without members."""


@frozen(kw_only=True)
class MemberSeen:
    """A member as a broker describes it."""

    member_id: str
    instance: str
    """The instance of the plan that it belongs to; empty: none."""
    label: str = ""
    unpinned: tuple[Release, ...] = ()
    """The releases that can have sent its metadata without ``upgrade.from``."""
    pinned: tuple[Release, ...] = ()
    """Those that can only with it."""
    used_version: int | None = None
    supported_version: int | None = None
    protocol: str = "unknown"
    """``eager``, ``cooperative`` or ``unknown``."""
    rejoins: bool = False
    """Whether it rejoins at once."""
    is_static: bool = False
    """Whether it has a ``group.instance.id``."""
    is_scheduled: bool = False
    """Whether it rejoins later, to see whether tasks have warmed up."""
    active: frozenset[str] = frozenset()
    problem: str = ""
    """Why its metadata cannot be read."""

    def can_be(self, release: Release) -> bool:
        """Whether it can run a release, or one that behaves like it."""
        return self.can_be_unpinned(release) or _is_like(release, self.pinned)

    def can_be_unpinned(self, release: Release) -> bool:
        """Whether it can run a release without an ``upgrade.from`` that lowers its version."""
        return _is_like(release, self.unpinned)

    @property
    def is_pinned(self) -> bool:
        """Whether it certainly has ``upgrade.from``."""
        return bool(self.pinned) and not self.unpinned


def _is_like(release: Release, candidates: tuple[Release, ...]) -> bool:
    return any(candidate.behaviour == release.behaviour for candidate in candidates)


@frozen(kw_only=True)
class PartitionOffsets:
    """How far a partition is processed; None: unknown."""

    committed: int | None = None
    end: int | None = None

    @property
    def lag(self) -> int | None:
        """How many records are behind the committed one; None: unknown."""
        if self.end == 0:
            return 0
        return None if self.committed is None or self.end is None else max(0, self.end - self.committed)


@frozen(kw_only=True)
class GroupObservation:
    """One look at a group."""

    seconds: float
    state: str
    """As the broker names it; empty: it is not described."""
    problem: str = ""
    """Why it is not described."""
    members: tuple[MemberSeen, ...] = ()
    offsets: Mapping[str, PartitionOffsets] | None = field(default=None, hash=False)
    """By partition; None: they were not read."""
    leader: str | None = None
    """The instance of the leader, if it is seen."""

    @property
    def is_stable(self) -> bool:
        """Whether metadata and assignments are shown."""
        return self.state == STABLE

    def of(self, instance: str) -> tuple[MemberSeen, ...]:
        """Return the members of an instance."""
        return tuple(member for member in self.members if member.instance == instance)

    def incarnations(self, instance: str) -> frozenset[str]:
        """Return the member ids of an instance."""
        return frozenset(member.member_id for member in self.of(instance))

    def owners(self) -> dict[str, str]:
        """Return the instance of each active task."""
        return {task: member.instance for member in self.members for task in member.active}


@frozen(kw_only=True)
class GroupMemory:
    """What is remembered of the looks at a step."""

    last: float
    """The time of the last look."""
    joined: Mapping[str, frozenset[str]] = field(factory=dict, hash=False)
    """The member ids that each instance had."""
    touched: frozenset[str] = frozenset()
    """The tasks of instances that commands have touched."""
    unowned: Mapping[str, float] = field(factory=dict, hash=False)
    """The tasks that nobody processes, since when."""
    longest_unowned_s: float = 0.0
    offsets: Mapping[str, PartitionOffsets] | None = field(default=None, hash=False)
    """The first ones after the commands."""


def remember(state: RollState, memory: GroupMemory | None, seen: GroupObservation) -> GroupMemory:
    """Return what is remembered after a look."""
    memory = memory or GroupMemory(last=seen.seconds)
    joined = dict(memory.joined)
    for member in seen.members:
        joined[member.instance] = joined.get(member.instance, frozenset()) | {member.member_id}
    # What is touched between two looks is without owner since the first of them.
    unowned = dict.fromkeys(_touched_tasks(state) - memory.touched, memory.last) | dict(memory.unowned)
    longest = max([memory.longest_unowned_s, *(seen.seconds - since for since in unowned.values())])
    if seen.is_stable:
        owned = _live_tasks(state, seen)
        known = {*unowned, *(state.step.owners if state.step else ()), *seen.owners()}
        unowned = {task: unowned.get(task, seen.seconds) for task in known if task not in owned}
    first = seen.offsets if state.commands_ended and memory.offsets is None else memory.offsets
    return GroupMemory(
        last=seen.seconds,
        joined=joined,
        touched=_touched_tasks(state),
        unowned=unowned,
        longest_unowned_s=longest,
        offsets=first,
    )


def _touched_tasks(state: RollState) -> frozenset[str]:
    """Return the tasks of the instances that a command has touched."""
    if state.step is None:
        return frozenset()
    touched = _touched(state.step)
    return frozenset(task for task, owner in state.step.owners.items() if owner in touched)


def _touched(step: StepInProgress) -> frozenset[str]:
    """Return the instances that a command has touched; when an operator does is not known."""
    return frozenset(instance for instance, verb in step.ended if verb != BY_HAND)


def _live_tasks(state: RollState, seen: GroupObservation) -> frozenset[str]:
    """Return the tasks of members that live: a stopped one is counted until its session times out."""
    gone = _gone(state)
    return frozenset(task for member in seen.members if member.member_id not in gone for task in member.active)


def _gone(state: RollState) -> frozenset[str]:
    """Return the member ids of before of instances that a command has touched."""
    if state.step is None:
        return frozenset()
    touched = _touched(state.step)
    return frozenset(one for name, ids in state.step.before.items() if name in touched for one in ids)
