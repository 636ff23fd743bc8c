"""Looks at a group of Kafka Streams, and since when they show it at rest."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Final

from attrs import evolve, field, frozen

from streams_assignor.upgrade.release_detection import CandidateReleases

STABLE: Final = "Stable"
REBALANCING: Final = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")
NO_MEMBERS: Final = ("Empty", "Dead")
"""The states of a group without members."""
AT_REST: Final = "the group is not stable yet"
"""The verdict of a gate that needs metadata and assignments."""
LOOP_JOINS: Final = 3
"""A member that has joined so often fails again and again."""


@frozen(kw_only=True)
class MemberSeen:
    """A member as a broker describes it."""

    member_id: str
    instance: str
    """The instance of the plan that it belongs to; empty: none."""
    process: str = ""
    """The process id; empty: it is not shown."""
    label: str = ""
    candidates: CandidateReleases = field(factory=CandidateReleases)
    """The releases that can have sent its metadata."""
    used_version: int | None = None
    supported_version: int | None = None
    protocol: str = "unknown"
    """``eager``, ``cooperative`` or ``unknown``."""
    rejoins: bool = False
    """Whether it rejoins at once; in a streams group: whether it has to come to its target assignment."""
    epoch: int | None = None
    """Its epoch in a streams group; None: another group, or it is not shown."""
    topology_epoch: int | None = None
    """The epoch of its topology in a streams group; None: another group."""
    is_static: bool = False
    """Whether it has a ``group.instance.id``."""
    is_scheduled: bool = False
    """Whether it rejoins later, to see whether tasks have warmed up."""
    active: frozenset[str] = frozenset()
    problem: str = ""
    """Why its metadata cannot be read."""

    @property
    def releases(self) -> str:
        """The releases that it can run, the first and the last."""
        candidates = self.candidates.unpinned or self.candidates.pinned
        if not candidates:
            return "no known release"
        names = list(dict.fromkeys([candidates[0].name, candidates[-1].name]))
        return f"{' to '.join(names)}{'' if self.candidates.unpinned else ' with upgrade.from'}"


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


@frozen
class GroupEpochs:
    """The epochs of a streams group (KIP-1071)."""

    group: int
    """It rises when members, topics or settings change."""
    assignment: int
    """The epoch of the target assignment: below it, the next one is not computed yet."""
    topology: int


@frozen(kw_only=True)
class GroupObservation:
    """One look at a group."""

    seconds: float
    state: str
    """As the broker names it; empty: it is not described."""
    problem: str = ""
    """Why it is not described."""
    epochs: GroupEpochs | None = None
    """None: it is no streams group."""
    members: tuple[MemberSeen, ...] = ()
    offsets: Mapping[str, PartitionOffsets] | None = field(default=None, hash=False)
    """By partition that a member owns; None: they were not read."""
    offsets_problem: str = ""
    """Why they were not read, if somebody tried to."""
    state_lags: Mapping[str, StateBehind] = field(factory=dict, hash=False)
    """By active task with state, as far as it is known which have any."""
    leader: str | None = None
    """The instance of the leader, if it is seen."""
    coordinator: str = ""
    """The broker that counts the sessions of members."""
    coordinator_was_away: bool = False
    """Whether it did not answer at first, so that it may have restarted."""
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
        """Return the instance of each active task; of a member that belongs to none, how it is shown."""
        names = ((member.instance or member.label or member.member_id, member.active) for member in self.members)
        return {task: name for name, tasks in names for task in tasks}


@frozen
class CountedMembers:
    """The members that a coordinator counts at rest: one that has died, until its session times out.

    A rebalance begins the sessions of all members anew, also of static ones that have not joined
    (``completeClassicGroupJoin``), and so does another coordinator, or one that has restarted.
    """

    members: frozenset[str] = frozenset()
    coordinator: str = ""
    since: float = inf
    """The first look that showed the group at rest, with coordinator and members of now; infinite: not at rest."""

    def after(self, members: frozenset[str], coordinator: str, now: float, *, was_away: bool) -> CountedMembers:
        """Return what is counted at a look that shows the group at rest."""
        goes_on = (members, coordinator) == (self.members, self.coordinator) and not was_away
        return CountedMembers(members, coordinator, min(self.since, now) if goes_on else now)

    def unsettled(self) -> CountedMembers:
        """Return what is counted at a look that shows no group, or none at rest."""
        return evolve(self, since=inf)
