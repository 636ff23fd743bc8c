"""One look at a group of Kafka Streams, and what is remembered between looks at one step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

from attrs import field, frozen

from upgrade.releases import Release
from upgrade.roll.plan import BY_HAND, RoundAction
from upgrade.roll.state import RollState, StepInProgress

STABLE: Final = "Stable"
REBALANCING: Final = ("PreparingRebalance", "CompletingRebalance")
NO_MEMBERS: Final = ("Empty", "Dead")
"""The states of a group without members."""
AT_REST: Final = "the group is not stable yet"
"""What a gate says that needs metadata and assignments."""


@frozen(kw_only=True)
class MemberSeen:
    """A member as a broker describes it."""

    member_id: str
    instance: str
    """The instance of the plan that it belongs to; empty: none."""
    process: str = ""
    """The process id; empty: it is not shown."""
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
    def releases(self) -> str:
        """The releases that it can run, the first and the last."""
        candidates = self.unpinned or self.pinned
        if not candidates:
            return "no known release"
        names = list(dict.fromkeys([candidates[0].name, candidates[-1].name]))
        return f"{' to '.join(names)}{'' if self.unpinned else ' with upgrade.from'}"

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
    task: str = ""
    """The task that reads it; empty: unknown."""
    owner: str = ""
    """The member id of its owner."""

    @property
    def lag(self) -> int | None:
        """How many records are behind the committed one; None: unknown."""
        if self.end == 0:
            return 0
        return None if self.committed is None or self.end is None else max(0, self.end - self.committed)


@frozen
class StateBehind:
    """How far the state of an active task was behind its changelogs, at most, when its owner joined."""

    owner: str
    """The member id."""
    offsets: int | None
    """As ``acceptable.recovery.lag`` counts; 0: it ran already; None: not shown."""


_Owned = TypeVar("_Owned", PartitionOffsets, StateBehind)


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
    """By partition that a member owns; None: they were not read."""
    offsets_problem: str = ""
    """Why they were not read, if somebody tried to."""
    state_lags: Mapping[str, StateBehind] = field(factory=dict, hash=False)
    """By active task with state, as far as it is known which have any."""
    leader: str | None = None
    """The instance of the leader, if it is seen."""
    ready: Mapping[str, str] | None = field(default=None, hash=False)
    """Why each instance of the step is not ready, says the probe of the operator; empty: it is. None: no probe."""

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
    eager: frozenset[str] = frozenset()
    """The tasks of eager members when the group was stable last: nobody processes them while it rebalances."""
    unowned: Mapping[str, float] = field(factory=dict, hash=False)
    """The tasks that nobody processes, since when."""
    held: Mapping[str, str] = field(factory=dict, hash=False)
    """The member of before that has a task, if it lives: a stopped one is counted until its session times out."""
    longest_unowned_s: float = 0.0
    longest_gap_s: float = 0.0
    """The longest time between two looks: so exact are times."""
    offsets: Mapping[str, PartitionOffsets] | None = field(default=None, hash=False)
    """The first ones of each partition with its present owner, after the commands or before a step; None: not read."""
    state_lags: Mapping[str, StateBehind] = field(factory=dict, hash=False)
    """The first ones that are known of each task with its present owner: what is written later is no lag of before."""


def remember(state: RollState, memory: GroupMemory | None, seen: GroupObservation) -> GroupMemory:
    """Return what is remembered after a look."""
    memory = memory or GroupMemory(last=seen.seconds)
    joined = dict(memory.joined)
    for member in seen.members:
        joined[member.instance] = joined.get(member.instance, frozenset()) | {member.member_id}
    suspended = memory.eager if seen.state in REBALANCING else frozenset()
    # What is touched between two looks is without owner since the first of them.
    unowned = dict.fromkeys(_touched_tasks(state) - memory.touched, memory.last)
    unowned = dict.fromkeys(suspended, seen.seconds) | unowned | dict(memory.unowned)
    held = _held_tasks(state, seen) if seen.is_stable else memory.held
    times = (seen.seconds - since for task, since in unowned.items() if task not in held)
    longest = max([memory.longest_unowned_s, *times])
    eager = memory.eager
    if seen.is_stable:
        owned = _live_tasks(state, seen)
        known = {*unowned, *(state.step.owners if state.step else ()), *seen.owners()}
        unowned = {task: unowned.get(task, seen.seconds) for task in known if task not in owned}
        eager = frozenset(task for member in seen.members if member.protocol == "eager" for task in member.active)
    offsets, state_lags = memory.offsets, memory.state_lags
    if (state.step is None or state.commands_ended) and seen.offsets is not None:
        offsets = _first_of_owner(offsets or {}, seen.offsets)
        shown = {task: first for task, first in state_lags.items() if first.offsets is not None}
        state_lags = _first_of_owner(shown, seen.state_lags)
    return GroupMemory(
        last=seen.seconds,
        joined=joined,
        touched=_touched_tasks(state),
        eager=eager,
        unowned=unowned,
        held=held,
        longest_unowned_s=longest,
        offsets=offsets,
        state_lags=state_lags,
        longest_gap_s=max(memory.longest_gap_s, seen.seconds - memory.last),
    )


def _first_of_owner(before: Mapping[str, _Owned], now: Mapping[str, _Owned]) -> dict[str, _Owned]:
    """Return what there is now as it was first seen, with the same owner."""
    return {
        name: first if (first := before.get(name)) and first.owner == seen.owner else seen for name, seen in now.items()
    }


def _touched_tasks(state: RollState) -> frozenset[str]:
    """Return the tasks of the instances that a command has touched; of a stopped group nobody has any."""
    if state.step is None:
        return frozenset()
    starts = state.round is not None and state.round.action is RoundAction.START
    if starts and state.plan.verbs != (BY_HAND,):
        return frozenset(state.step.owners)
    touched = _touched(state.step)
    return frozenset(task for task, owner in state.step.owners.items() if owner in touched)


def _touched(step: StepInProgress) -> frozenset[str]:
    """Return the instances that a command has touched; when an operator does is not known."""
    return frozenset(instance for instance, verb in step.ended if verb != BY_HAND)


def _live_tasks(state: RollState, seen: GroupObservation) -> frozenset[str]:
    """Return the tasks of members that live: a stopped one is counted until its session times out."""
    gone = _gone(state)
    return frozenset(task for member in seen.members if member.member_id not in gone for task in member.active)


def _held_tasks(state: RollState, seen: GroupObservation) -> Mapping[str, str]:
    """Return the tasks of members that a command is to have stopped, and that are counted."""
    gone = _gone(state)
    return {task: member.member_id for member in seen.members if member.member_id in gone for task in member.active}


def _gone(state: RollState) -> frozenset[str]:
    """Return the member ids of before of instances that a command has touched."""
    if state.step is None:
        return frozenset()
    touched = _touched(state.step)
    return frozenset(one for name, ids in state.step.before.items() if name in touched for one in ids)
