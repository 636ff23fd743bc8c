"""The steps of an upgrade: what to do in which order, why, and what follows if a step is skipped.

Sources: KIP-268, KIP-429, KIP-904, and the upgrade guides of the releases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from attrs import evolve, frozen

from streams_assignor.codec.errors import require_type
from streams_assignor.upgrade._messages import MessageCode, MessageList, PlanMessage
from streams_assignor.upgrade._warnings import hop_warnings
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.hazards import (
    CheckedScope,
    Hazard,
    ReadGuides,
    Remedy,
    StepKind,
    WayBack,
    WayBackVerdict,
    assumptions_of,
    count_by_severity,
    hazards_between,
    order_hazards,
    scope_of,
    source_of,
    way_back,
)
from streams_assignor.upgrade.hazards import in_streams_group as hazards_in_streams_group
from streams_assignor.upgrade.plans import (
    RECORD_FORMAT_CHANGES,
    Obstacle,
    Plan,
    Upgrade,
    documented_upgrade_hops,
    is_downgrade,
    is_wrongly_probed,
    obstacles,
    order_by_capability,
)
from streams_assignor.upgrade.releases import Release
from streams_assignor.upgrade.upgrade_from import PINNED_VERSIONS
from streams_assignor.upgrade.verdict import (
    NO_GUIDANCE,
    UNKNOWN_TOPOLOGY,
    Guidance,
    TopologyFacts,
    TopologyFeature,
    guidance,
)
from streams_assignor.upgrade.verdict.conditions import without_features
from streams_assignor.upgrade.verdict.guidance import is_pushed


@frozen
class PlanStep:
    """One step."""

    do: PlanMessage
    """The instruction."""
    why: PlanMessage | MessageList
    if_skipped: PlanMessage | MessageList
    """The consequence of skipping the step."""
    way_back: WayBack
    """How to return to the release before it."""
    source: str
    """The documents that require it."""
    remedies: tuple[Remedy, ...] = ()
    """The changes that an application makes for itself; empty: the step is a round that every group makes."""

    def as_json(self) -> dict[str, Any]:
        """Return plain values: texts, the way back, and the changes of a remedy."""
        texts = {name: str(getattr(self, name)) for name in ("do", "why", "if_skipped")}
        plain = {**texts, "way_back": self.way_back.as_json(), "source": self.source}
        return plain | ({"remedies": [remedy.as_json() for remedy in self.remedies]} if self.remedies else {})


@frozen
class Advice:
    """The advised way from one release to another."""

    origin: str
    target: str
    plan: Plan
    """How the group is upgraded; with ``via``, in the hop that needs a configuration."""
    upgrade_from: str | None
    """The ``upgrade.from`` that the first of two bounces needs; None if it is not two bounces."""
    steps: tuple[PlanStep, ...]
    warnings: tuple[PlanMessage, ...] = ()
    via: tuple[str, ...] = ()
    """The bridge releases, in order."""
    hazards: tuple[Hazard, ...] = ()
    """The hazards beyond the metadata, the most severe first."""
    guidance: Guidance = NO_GUIDANCE
    """The verdict, and the conditions on which it depends."""
    assumed: tuple[str, ...] = ()
    """The assumptions about releases that the table lacks: the plan is none that was checked or that has sources."""
    patch_levels: tuple[str, ...] = ()
    """For which release a spelling without a known patch level was taken, if its candidates differ for this plan."""
    notes: tuple[str, ...] = ()
    """How the spellings of the two releases were read."""
    is_of_streams_group: bool = False
    """Whether brokers assign the tasks of the group."""

    @property
    def beyond_metadata(self) -> dict[str, int]:
        """How many hazards there are of each severity: the verdict says nothing of them."""
        return count_by_severity(self.hazards)

    @property
    def guides(self) -> ReadGuides | None:
        """Which of Kafka's guides were read; None if a release is not of Kafka."""
        hops = self.guidance.hops
        return ReadGuides.between(hops[0].origin, hops[-1].target)

    @property
    def checked(self) -> CheckedScope:
        """The checked and the unchecked subjects of the plan."""
        scope = scope_of(self.guides)
        return (scope.in_streams_group() if self.is_of_streams_group else scope).assuming(self.assumed)

    def as_json(self) -> dict[str, Any]:
        """Return plain values in the names of ``matrix.json``; ``via`` only if there is a bridge release."""
        plain: dict[str, Any] = {
            "from": self.origin,
            "to": self.target,
            **self.guidance.as_json(),
            "plan": self.plan.value,
            "upgrade_from": self.upgrade_from,
            "steps": [step.as_json() for step in self.steps],
            "warnings": [str(warning) for warning in self.warnings],
            "hazards": [hazard.as_json() for hazard in self.hazards],
            "beyond_metadata": self.beyond_metadata,
            "assumed": list(self.assumed),
            "patch_levels": list(self.patch_levels),
            "guides": self.guides.as_json() if self.guides else None,
            **self.checked.as_json(),
        }
        return plain | ({"via": self.via} if self.via else {})


_IN_STREAMS_GROUP: Final = {
    MessageCode.SAME_VERSION: MessageCode.BROKERS_ASSIGN,
    MessageCode.STARTS_ANEW: MessageCode.KEEPS_TOPOLOGY,
}
"""The text for a group whose brokers assign the tasks, instead of one about metadata of members."""


def in_streams_group(advice: Advice) -> Advice:
    """Return the advice for a streams group (KIP-1071), between releases that have the protocol."""
    codes = [
        _IN_STREAMS_GROUP.get(step.why.code) if isinstance(step.why, PlanMessage) else None for step in advice.steps
    ]
    steps = tuple(
        evolve(step, why=PlanMessage(code)) if code else step for step, code in zip(advice.steps, codes, strict=True)
    )
    return evolve(advice, steps=steps, hazards=hazards_in_streams_group(advice.hazards), is_of_streams_group=True)


def with_other_protocol(advice: Advice) -> Advice:
    """Return the offline advice for a group whose protocol is not in both releases: no bounce leads back either."""
    *steps, last = advice.steps
    stopped = Upgrade(advice.guidance.hops[0].origin, advice.guidance.hops[-1].target, Plan.OFFLINE)
    return evolve(advice, steps=(*steps, evolve(last, way_back=_no_bounce_back(stopped))))


def _no_bounce_back(stopped: Upgrade, option: str = "") -> WayBack:
    of_release = way_back(stopped, StepKind.DONE)
    how = "no bounce leads back: stop every member, wait until the group is empty, and start every member as "
    words = [f"{how}{stopped.origin}{option}", *of_release.how.split("; ")[1:]]
    return WayBack(WayBackVerdict.OFFLINE, "; ".join(words), of_release.source)


def with_new_topology(advice: Advice) -> Advice:
    """Return the advice for a streams group of another topology: its remedies, then the way through a classic group.

    Run with 4.2.2, 4.3.1 and 4.4.0: committed offsets are kept.
    """
    origin, target = advice.guidance.hops[0].origin, advice.guidance.hops[-1].target
    stopped = Upgrade(origin, target, Plan.OFFLINE)

    def step(do: MessageCode, why: MessageCode, if_skipped: MessageCode, option: str, back: WayBack) -> PlanStep:
        what = PlanMessage.of(do, {"origin": origin, "target": target, "option": option})
        return PlanStep(what, PlanMessage(why), PlanMessage(if_skipped), back, "KIP-1071, upgrade guide of 4.2")

    def back(protocol: str) -> WayBack:
        return _no_bounce_back(stopped, f" with group.protocol={protocol} and the old topology")

    code = MessageCode
    new = "group.protocol={} and the new topology".format
    steps = (
        step(code.STOP, code.ONE_PROTOCOL, code.TOPOLOGY_REFUSED, "", way_back(stopped, StepKind.STOPPED)),
        step(code.START_WITH, code.BECOMES_CLASSIC, code.TOPOLOGY_REFUSED, new("classic"), back("streams")),
        step(code.STOP_AGAIN, code.ONE_PROTOCOL, code.PROTOCOL_REFUSED, "", back("streams")),
        step(code.START_WITH, code.BECOMES_STREAMS, code.NOTHING_PROCESSED, new("streams"), back("classic")),
    )
    remedies = (each for each in advice.steps if each.remedies)
    return evolve(advice, plan=Plan.OFFLINE, steps=(*remedies, *steps))


def advise(
    origin: Release, target: Release, *, offline: bool = False, facts: TopologyFacts = UNKNOWN_TOPOLOGY
) -> Advice:
    """Return the advised way from one release to the other: that of Kafka's guides, except where it is unsafe.

    Args:
        origin: The release of the group now.
        target: The release of the group afterwards.
        offline: Stop the whole group instead: "An 'offline upgrade' is also possible" (KIP-268), always.
        facts: The known facts of the topology. A feature that it lacks asks for no bounce.

    Raises:
        UpgradeError: The two releases are the same.

    >>> from streams_assignor.upgrade.releases import release_named
    >>> [str(step.do) for step in advise(release_named("2.0.1"), release_named("simulated-4")).steps]
    ['bounce every member to simulated-4, one by one']
    >>> advise(release_named("2.3.1"), release_named("4.3.1")).via
    ('3.9.2',)
    """
    for argument, release in (("origin", origin), ("target", target)):
        require_type(argument, release, Release, use="release_named finds one by its name")
    require_type("facts", facts, TopologyFacts)
    _require_different(origin, target)
    guided = guidance(origin, target, facts, offline=offline)
    hops = guided.hops
    values = [hop.upgrade_from for hop in hops if hop.upgrade_from]
    return Advice(
        origin.name,
        target.name,
        Plan.TWO_BOUNCES if values else hops[0].plan,
        values[0] if values else None,
        tuple(step for hop in hops for step in _steps(hop, facts.absent)),
        tuple(dict.fromkeys(text for hop in hops for text in hop_warnings(hop, facts))),
        tuple(hop.target.name for hop in hops[:-1]),
        order_hazards(hazard for hop in hops for hazard in hazards_between(hop.origin, hop.target, hop.plan)),
        guided,
        assumptions_of(origin, target),
    )


def documented_hops(origin: Release, target: Release, *, offline: bool = False) -> tuple[Upgrade, ...]:
    """Return the way of Kafka's guides as upgrades, one after the other; ``UpgradeError`` if the releases are the same.

    >>> from streams_assignor.upgrade.releases import release_named
    >>> [str(hop.target) for hop in documented_hops(release_named("2.3.1"), release_named("4.3.1"))]
    ['3.9.2', '4.3.1']
    """
    _require_different(origin, target)
    return (Upgrade(origin, target, Plan.OFFLINE),) if offline else documented_upgrade_hops(origin, target)


def _require_different(origin: Release, target: Release) -> None:
    if origin == target:
        raise UpgradeError(f"{origin} is already {target}: nothing to do")


@frozen
class _Effects:
    """The effect of ``upgrade.from`` on one obstacle."""

    with_value: MessageCode
    without: MessageCode
    removed: MessageCode
    kept: MessageCode


_EFFECTS: Final[Mapping[Obstacle, _Effects]] = {
    Obstacle.VERSION: _Effects(
        MessageCode.OLD_VERSION,
        MessageCode.UNREADABLE_VERSION,
        MessageCode.NEW_VERSION,
        MessageCode.VERSION_STAYS,
    ),
    Obstacle.OVERSHOT: _Effects(
        MessageCode.NOT_PUSHED,
        MessageCode.PUSHED,
        MessageCode.NEW_VERSION_PINNED,
        MessageCode.PIN_STAYS,
    ),
    Obstacle.PROTOCOL: _Effects(
        MessageCode.OLD_PROTOCOL,
        MessageCode.TWO_OWNERS,
        MessageCode.NEW_PROTOCOL,
        MessageCode.PROTOCOL_STAYS,
    ),
    Obstacle.FOREIGN_KEY_JOINS: _Effects(
        MessageCode.OLD_FOREIGN_KEY_JOINS,
        MessageCode.UNREADABLE_FOREIGN_KEY_JOINS,
        MessageCode.NEW_RECORDS,
        MessageCode.RECORDS_STAY,
    ),
    Obstacle.REPARTITIONING: _Effects(
        MessageCode.OLD_REPARTITIONING,
        MessageCode.MISREAD_REPARTITIONING,
        MessageCode.NEW_RECORDS,
        MessageCode.RECORDS_STAY,
    ),
}
_NOT_PROBED: Final = _Effects(
    MessageCode.NOT_PUSHED, MessageCode.WRONG_ANSWERS, MessageCode.NEW_VERSION_PINNED, MessageCode.PIN_STAYS
)
"""The effect of a value that pins version 2 where leaders probe with wrong answers."""


def _effects(hop: Upgrade, in_the_way: Sequence[Obstacle]) -> list[_Effects]:
    """List what ``upgrade.from`` changes: about each obstacle, and about version probing."""
    effects = [_EFFECTS[obstacle] for obstacle in in_the_way]
    if is_pushed(hop.origin, hop.target):
        effects.append(_EFFECTS[Obstacle.OVERSHOT])
    if hop.upgrade_from in PINNED_VERSIONS and is_wrongly_probed(hop.origin, hop.target):
        effects.append(_NOT_PROBED)
    return effects


def _steps(hop: Upgrade, absent: frozenset[TopologyFeature]) -> tuple[PlanStep, ...]:
    behind, ahead = order_by_capability(hop.origin, hop.target)
    params = {
        "origin": hop.origin,
        "target": hop.target,
        "behind": behind,
        "ahead": ahead,
        "value": hop.upgrade_from,
    }

    def text(code: MessageCode, **further: MessageList) -> PlanMessage:
        return PlanMessage.of(code, {**params, **further})

    def step(
        kind: StepKind, do: PlanMessage, why: PlanMessage | MessageList, if_skipped: PlanMessage | MessageList
    ) -> PlanStep:
        return PlanStep(do, why, if_skipped, way_back(hop, kind, absent), source_of(hop))

    if hop.plan is Plan.OFFLINE:
        return (
            step(
                StepKind.STOPPED, text(MessageCode.STOP), text(MessageCode.NEVER_MEET), text(MessageCode.MEMBERS_MEET)
            ),
            step(
                StepKind.DONE,
                text(MessageCode.START),
                text(MessageCode.STARTS_ANEW),
                text(MessageCode.NOTHING_PROCESSED),
            ),
        )
    if hop.plan is Plan.ONE_BOUNCE:
        same_version = hop.origin.supported_version == hop.target.supported_version
        why, skipped = (
            (MessageCode.SAME_VERSION, MessageCode.ONE_STAYS)
            if same_version
            else (MessageCode.VERSION_PROBING, MessageCode.LOWER_VERSION)
        )
        return (step(StepKind.DONE, text(MessageCode.BOUNCE), text(why), text(skipped)),)
    in_the_way = without_features(obstacles(hop.origin, hop.target), absent)
    effects = _effects(hop, in_the_way)
    with_value = text(MessageCode.WITH_VALUE, effects=MessageList.of([effect.with_value for effect in effects], params))
    without = MessageList.of([effect.without for effect in effects], params)
    if is_downgrade(hop.origin, hop.target):
        drains = not RECORD_FORMAT_CHANGES.keys().isdisjoint(in_the_way)
        hold_back = MessageCode.HOLD_BACK_AND_DRAIN if drains else MessageCode.HOLD_BACK
        return (
            step(StepKind.HELD_BACK, text(hold_back), with_value, without),
            step(
                StepKind.DONE, text(MessageCode.BOUNCE_BACK), text(MessageCode.NOTHING_NEW), text(MessageCode.ONE_STAYS)
            ),
        )
    return (
        step(StepKind.PINNED, text(MessageCode.BOUNCE_PINNED), with_value, without),
        step(
            StepKind.DONE,
            text(MessageCode.BOUNCE_AGAIN),
            MessageList.of([effect.removed for effect in effects], params),
            MessageList.of([effect.kept for effect in effects], params),
        ),
    )
