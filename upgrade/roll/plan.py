"""The work of a roll: rounds, the instances that each of them restarts, and its limits."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from attrs import evolve, field, frozen

from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.hazards import EMPTY_DIRECTORY, WayBackVerdict
from streams_assignor.upgrade.planner import Advice
from streams_assignor.upgrade.plans import Plan, Round, Upgrade, is_downgrade, takes_tasks_from_eager_members
from streams_assignor.upgrade.releases import Release, resolve_release
from streams_assignor.upgrade.verdict.guidance import is_pushed

RESTART: Final = "restart"
STOP: Final = "stop"
START: Final = "start"
BY_HAND: Final = "by-hand"
_OPEN: Final = WayBackVerdict.OPEN.value
_OFFLINE: Final = WayBackVerdict.OFFLINE.value
ONCE: Final = "once"
VERBS: Final = (RESTART, STOP, START, BY_HAND, ONCE)
"""An action on one instance, or once on all of them; ``by-hand``: an operator does it."""
ALL_INSTANCES: Final = "cluster"
"""In the place of an instance, where something is done once for all of them."""

GROUP: Final = "group"
BROKERS: Final = "brokers"
DEFAULT_TIMEOUT_S: Final = 900.0
DEFAULT_MAX_UNOWNED_S: Final = 300.0
DEFAULT_MAX_LAG: Final = 10_000
"""Kafka's default of ``acceptable.recovery.lag``."""
DEFAULT_SESSION_S: Final = 45.0
"""Kafka's default of ``session.timeout.ms`` since 3.0."""


class RoundAction(enum.Enum):
    """The action of a round on each of its instances."""

    RESTART = "restart"
    STOP = "stop"
    START = "start"
    ONCE = "once"
    """Nothing: something is done once for all of them."""


@frozen
class InstanceConfig:
    """The text of a ``Round``: the release, as ``resolve_release`` reads it, and ``upgrade.from``."""

    release: str
    upgrade_from: str | None = None

    @property
    def resolved(self) -> Round:
        """The round of which it is the text; ``UpgradeError`` if there is no such release."""
        return Round(_release(self.release), self.upgrade_from)

    def __str__(self) -> str:
        return f"{self.release} with upgrade.from={self.upgrade_from}" if self.upgrade_from else self.release


@cache
def _release(name: str) -> Release:
    return resolve_release(name).release


@frozen(kw_only=True)
class RollRound:
    """One restart of the instances, or one half of a stop and a start of all of them."""

    action: RoundAction
    config: InstanceConfig
    """The configuration of the instances afterwards; the one before, if they are stopped."""
    before: InstanceConfig
    hop_origin: str
    """The release to which the way back leads."""
    text: str
    """The text of the plan."""
    way_back: str
    """``open``, ``lossy`` or ``offline``, as of ``WayBackVerdict``."""
    back: str
    """How to return, in words."""
    back_needs_operator: bool = False
    """Whether returning needs what no broker shows, as of ``WayBack``."""
    needs: str = ""
    """A condition of the round that no broker shows; the operator is asked."""
    leader_last: bool = False
    """Whether the leader has to be the last one that is restarted."""
    at_once: bool = False
    """Whether all instances are one step."""

    @property
    def needs_empty_state(self) -> bool:
        """Whether the instances have to start with empty state directories."""
        return EMPTY_DIRECTORY in self.needs

    @property
    def has_way_back(self) -> bool:
        """Whether the instances can return one by one."""
        return self.way_back != _OFFLINE and self.action is not RoundAction.ONCE


@frozen
class RollInstance:
    """A process that is restarted as a whole."""

    name: str
    members: int = 1
    """How many members it has: its threads."""
    shown: str = ""
    """Its word in the group, if that is not its name."""


@frozen(kw_only=True)
class RollLimits:
    """How long is waited, and for what."""

    timeout_s: float = DEFAULT_TIMEOUT_S
    """Until a step has to be as expected."""
    max_unowned_s: float = DEFAULT_MAX_UNOWNED_S
    """How long a task may have no owner."""
    max_lag: int = DEFAULT_MAX_LAG
    """How many offsets the state of a task may be behind when its owner joins."""
    session_timeout_s: float = DEFAULT_SESSION_S
    """After so long a member that failed is not counted any more."""
    soak_s: float = 0.0
    """How long an instance has to live after it has joined; 0: it need not, and nobody waits at the end of a round."""


@frozen(kw_only=True)
class RollPlan:
    """A roll: the group, its instances in order, and the rounds."""

    name: str
    """The group."""
    origin: str
    """The release from which the rounds are derived: the least of ``origins``, if it is not known."""
    target: str
    rounds: tuple[RollRound, ...]
    instances: tuple[RollInstance, ...]
    verbs: tuple[str, ...] = (RESTART,)
    """The commands that restart an instance, one after the other."""
    batch: int = 1
    canary: str | None = None
    """The instance that is alone in the first step of each round."""
    leader: str | None = None
    """The instance that leads, as an operator says; it counts where a look does not show the leader."""
    limits: RollLimits = field(factory=RollLimits)
    notes: tuple[str, ...] = ()
    kind: str = GROUP
    """The kind of roll: ``group`` or ``brokers``."""
    bounced: tuple[str, ...] = ()
    """The instances that an interrupted upgrade has bounced: how is not known, and they are restarted first."""
    begun: int = 0
    """How many of the rounds it may have begun."""

    origins: tuple[str, ...] = ()
    """The releases that can have run before, if neither the group nor an operator says which: none is ever started."""
    cluster_id: str = ""
    """The id of the cluster; empty: not known."""
    may_be_done: bool = False
    """Whether all members may run the target already, and no operator says what they run."""

    @property
    def has_leader_last(self) -> bool:
        """Whether the leader has to be the last instance of a round."""
        return any(roll_round.leader_last for roll_round in self.rounds)

    def members_of(self, instance: str) -> int:
        """Return how many members an instance has."""
        return next(known.members for known in self.instances if known.name == instance)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the instances, the canary first."""
        ordered = [instance.name for instance in self.instances]
        return tuple(sorted(ordered, key=lambda name: name != self.canary))

    def verbs_of(self, roll_round: RollRound) -> tuple[str, ...]:
        """Return what is done to each instance of a round."""
        if roll_round.action is RoundAction.RESTART or self.verbs == (BY_HAND,):
            return self.verbs
        return (roll_round.action.value,)


def check_plan(plan: RollPlan) -> None:
    """Raise ``UpgradeError`` if a plan cannot be executed."""
    names = [instance.name for instance in plan.instances]
    if not names:
        raise UpgradeError(f"{plan.name}: expected instances, got none")
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UpgradeError(f"{plan.name}: expected each instance once, got {', '.join(twice)} several times")
    if plan.canary is not None and plan.canary not in names:
        raise UpgradeError(f"expected one of {', '.join(names)} as the canary, got {plan.canary!r}")
    if plan.leader is not None and plan.leader not in names:
        raise UpgradeError(f"expected one of {', '.join(names)} as the leader, got {plan.leader!r}")
    if plan.leader is not None and plan.leader == plan.canary and plan.has_leader_last:
        raise UpgradeError(f"expected another canary than {plan.canary}, which leads and has to be the last instance")
    apart = any(roll_round.action in (RoundAction.STOP, RoundAction.START) for roll_round in plan.rounds)
    if apart and RESTART in plan.verbs:
        raise UpgradeError("the plan stops all instances before it starts them: expected a stop and a start command")


def group_rounds(advice: Advice) -> tuple[RollRound, ...]:
    """Return the rounds of a plan for a group of Kafka Streams, with the words and the ways back of its steps.

    >>> from streams_assignor.upgrade.planner import advise
    >>> from streams_assignor.upgrade.releases import release_named
    >>> rounds = group_rounds(advise(release_named("2.3.1"), release_named("4.3.1")))
    >>> [str(each.config) for each in rounds]
    ['3.9.2 with upgrade.from=2.3', '3.9.2', '4.3.1']
    """
    steps = (step for step in advice.steps if not step.remedies)
    return tuple(
        evolve(
            roll_round,
            text=str(step.do),
            way_back=step.way_back.verdict.value,
            back=step.way_back.how,
            back_needs_operator=step.way_back.needs_operator,
        )
        for hop in advice.guidance.hops
        for roll_round, step in zip(_rounds_of(hop), steps, strict=False)
    )


def _rounds_of(hop: Upgrade) -> Iterator[RollRound]:
    origin, target = InstanceConfig(hop.origin.spelling), InstanceConfig(hop.target.spelling)
    if hop.plan is Plan.OFFLINE:
        yield from _stop_and_start(origin, target, origin.release)
        return
    before = origin
    for planned in hop.rounds:
        config = InstanceConfig(planned.release.spelling, planned.upgrade_from)
        yield RollRound(
            action=RoundAction.RESTART,
            config=config,
            before=before,
            hop_origin=origin.release,
            text="",
            way_back=_OPEN,
            back="",
            leader_last=is_leader_last(hop),
        )
        before = config


def _stop_and_start(
    before: InstanceConfig, after: InstanceConfig, origin: str, back: str = ""
) -> tuple[RollRound, RollRound]:
    common: dict[str, Any] = {"before": before, "hop_origin": origin, "way_back": _OPEN, "back": back, "at_once": True}
    return (
        RollRound(action=RoundAction.STOP, config=before, text="stop every instance", **common),
        RollRound(action=RoundAction.START, config=after, text=f"start every instance as {after}", **common),
    )


def is_leader_last(hop: Upgrade) -> bool:
    """Whether a leader of the new release must not meet members of the old one.

    It would make them use a version that they do not have (KAFKA-8649), fail on the tasks that they report (2.6 to
    3.0), or give them those of the new members (2.6 to 3.1).
    """
    takes = not is_downgrade(hop.origin, hop.target) and takes_tasks_from_eager_members(hop.origin, hop.target)
    return is_pushed(hop.origin, hop.target) or takes


def back_rounds(rounds: Sequence[RollRound], configs: Mapping[str, InstanceConfig]) -> tuple[RollRound, ...]:
    """Return the rounds that lead back, from the last one that has begun to the first.

    Args:
        rounds: Those that have begun, in order.
        configs: The present configuration of each instance.
    """
    planned: list[RollRound] = []
    pending = list(rounds)
    while pending:
        last = pending.pop()
        # The furthest round of a hop says what its way back needs: it depends on what the members have done.
        furthest = next(each for each in reversed(rounds) if each.hop_origin == last.hop_origin)
        needs = furthest.back if furthest.back_needs_operator else ""
        if last.action is RoundAction.RESTART and last.has_way_back:
            if planned or last.config in configs.values():
                undone = evolve(last, config=last.before, before=last.config, leader_last=False, way_back=_OPEN)
                leaves = last.before.release != last.config.release
                text = f"bounce every instance back to {last.before}"
                planned.append(evolve(undone, text=text, back="", needs=needs if leaves else ""))
            continue
        # The group has to stop: whatever the rounds of this hop were, all instances start as its origin.
        while pending and pending[-1].hop_origin == last.hop_origin:
            pending.pop()
        stop, start = _stop_and_start(last.config, InstanceConfig(last.hop_origin), last.hop_origin, last.back)
        planned += (
            [evolve(start, needs=needs)] if last.action is RoundAction.STOP else [evolve(stop, needs=needs), start]
        )
    return tuple(planned)


def with_origin(plan: RollPlan, advice: Advice) -> RollPlan:
    """Return a plan whose origin was not known, after an operator has named it: the rounds and their ways back.

    Args:
        plan: The plan. Its rounds stay what they were, also if fewer would have done.
        advice: The advice from that origin to the same target.
    """
    words = {each.config.release: each for each in group_rounds(advice)}

    def named(config: InstanceConfig) -> InstanceConfig:
        return evolve(config, release=advice.origin) if config.release == plan.origin else config

    def renamed(each: RollRound) -> RollRound:
        known = words.get(each.config.release, each)
        return evolve(
            each,
            config=named(each.config),
            before=named(each.before),
            hop_origin=named(InstanceConfig(each.hop_origin)).release,
            way_back=known.way_back,
            back=known.back,
            back_needs_operator=known.back_needs_operator,
        )

    rounds = tuple(map(renamed, plan.rounds))
    return evolve(plan, origin=advice.origin, origins=(), rounds=rounds)
