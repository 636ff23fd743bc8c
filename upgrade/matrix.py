"""From one release to another: what stands in the way of a single bounce, the documented plan, and KIP-268's matrix.

A plan is a list of rounds; in a round every member is stopped and started once, with a release and an ``upgrade.from``.
Sources: KIP-268 and its test matrix of 28 cells, KIP-429, KIP-904, and the upgrade guides of the releases.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from attrs import field, frozen

from upgrade.releases import BOTH, COOPERATIVE, EAGER, RELEASES, Release, release_named

FROM_LINES: Final = ("0.10.0", "0.10.1", "0.10.2", "0.11.0", "1.0", "1.1", "2.0")
TO_LINES: Final = ("0.10.1", "0.10.2", "0.11.0", "1.0", "1.1", "2.0", "simulated-4")
KAFKA_8649_RULES: Final = "g2"
"""The rules of the releases whose leaders answer with their own version, whoever is in the group."""

AS_THE_KIP_DESIGNED: Final = {"0.10.1": "0.10.1.2"}
"""The KIP counts on a fixed 0.10.1, which was never released; the cells that lead to it are judged with the fix."""


class Plan(enum.Enum):
    """How a group is brought to another release."""

    ONE_BOUNCE = "one_bounce"
    TWO_BOUNCES = "two_bounces"
    OFFLINE = "offline"


@frozen
class Round:
    """One pass over all members: what each is started as."""

    release: Release
    upgrade_from: str | None = None


@frozen
class Upgrade:
    """One plan for one pair of releases: the subject of a verdict.

    ``called`` is what the user called the two; without it a release goes by its line, as in the KIP.
    """

    origin: Release
    target: Release
    plan: Plan
    upgrade_from: str | None = None
    called: tuple[str, str] | None = field(default=None, eq=False)

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The rounds of the plan; an offline upgrade is one round that starts only after everybody has stopped.

        ``upgrade.from`` holds back who is ahead: going up the new members, going back the old ones, before they change.
        """
        last = Round(self.target)
        if self.plan is not Plan.TWO_BOUNCES:
            return (Round(self.target, self.upgrade_from),)
        holds_back = self.upgrade_from is not None and goes_back(self.origin, self.target)
        return Round(self.origin if holds_back else self.target, self.upgrade_from), last

    @property
    def names(self) -> tuple[str, str]:
        """What the two releases are called."""
        return self.called or (_line(self.origin), _line(self.target))

    @property
    def documented(self) -> bool:
        """Whether this is what KIP-268 and the upgrade guides tell a user to do."""
        plan = documented_plan(self.origin, self.target)
        return self.plan is plan and self.upgrade_from == upgrade_from_value(self.origin, self.target)


class Obstacle(enum.Enum):
    """What stands in the way of a single bounce, whichever way it goes."""

    VERSION = "who is behind cannot read what the others send, and cannot be probed (KIP-268)"
    PUSHED = "leaders push members beyond what they know (KAFKA-8649)"
    PROTOCOL = "some give up everything before they rejoin, others keep it (KIP-429)"
    FOREIGN_KEY_JOINS = "who is behind cannot read the records of foreign-key joins (KAFKA-13769)"
    REPARTITIONING = "who is behind cannot read updates of tables in repartition topics (KIP-904)"


FORMATS: Final[Mapping[Obstacle, tuple[tuple[int, ...], tuple[int, ...]]]] = {
    Obstacle.FOREIGN_KEY_JOINS: ((2, 4), (3, 3)),
    Obstacle.REPARTITIONING: ((0, 10), (3, 5)),
}
"""Formats of records: the first release that writes them at all, and the one that changed them."""


def behind_and_ahead(origin: Release, target: Release) -> tuple[Release, Release]:
    """Tell who of two releases knows less; of Kafka's it is the older one."""

    def progress(release: Release) -> tuple[bool, int, tuple[int, ...]]:
        return release.protocol() == "cooperative", release.latest_version, release.number

    behind, ahead = sorted((origin, target), key=progress)
    return behind, ahead


def goes_back(origin: Release, target: Release) -> bool:
    """Whether the way from ``origin`` to ``target`` leads to who knows less."""
    return origin != target and behind_and_ahead(origin, target) == (target, origin)


@cache  # a sweep of all releases asks for each pair dozens of times
def obstacles(origin: Release, target: Release) -> tuple[Obstacle, ...]:
    """List what stands in the way of a single bounce between two releases.

    >>> [obstacle.name for obstacle in obstacles(release_named("2.3"), release_named("3.9"))]
    ['PROTOCOL', 'REPARTITIONING']
    """
    behind, ahead = behind_and_ahead(origin, target)
    found = []
    if behind.latest_version < ahead.latest_version:
        if not behind.can_be_probed:
            found.append(Obstacle.VERSION)
        elif origin == ahead and origin.rules == KAFKA_8649_RULES:
            found.append(Obstacle.PUSHED)
    if behind.protocol() != ahead.protocol():
        found.append(Obstacle.PROTOCOL)
    if behind.of_kafka and ahead.of_kafka:
        found += [each for each, (first, new) in FORMATS.items() if first <= behind.number < new <= ahead.number]
    return tuple(found)


NOT_BACK: Final = frozenset({Obstacle.VERSION, Obstacle.PUSHED})
"""What nobody documents a rolling way back for."""
_EAGER_AND_PROBED: Final = "2.3"
"""The value that stands for members of ours that are eager and can be probed."""


@cache
def documented_plan(origin: Release, target: Release) -> Plan:
    """Return the advice for a pair of releases, without others in between.

    One bounce if nothing is in the way, as versions are probed; else two, if who is ahead can be held back with
    ``upgrade.from``; else offline, as with a target that does not accept the value (KAFKA-6054, 3.5.0 and 3.5.1, 4.x).
    """
    found = obstacles(origin, target)
    if not found:
        return Plan.ONE_BOUNCE
    if goes_back(origin, target) and NOT_BACK.intersection(found):
        return Plan.OFFLINE
    behind, ahead = behind_and_ahead(origin, target)
    return Plan.TWO_BOUNCES if ahead.starts_with(_value(behind)) else Plan.OFFLINE


def upgrade_from_value(origin: Release, target: Release) -> str | None:
    """Return the ``upgrade.from`` that the first of two bounces needs; None where it is not two bounces.

    >>> upgrade_from_value(release_named("0.10.0"), release_named("1.1"))
    '0.10.0'
    """
    if documented_plan(origin, target) is not Plan.TWO_BOUNCES:
        return None
    return _value(behind_and_ahead(origin, target)[0])


def bridge_between(origin: Release, target: Release) -> Release | None:
    """Return the newest release through which a group can be rolled from eager to cooperative members, or back.

    None if it needs none or there is none. Kafka's own bridges (KAFKA-18839) are the releases that know both protocols;
    with one of 3.5 to 3.9 three bounces are enough.

    >>> str(bridge_between(release_named("2.3.1"), release_named("4.0.0")))
    '3.9.2'
    """
    if {origin.rebalance_protocols, target.rebalance_protocols} != {EAGER, COOPERATIVE}:
        return None
    newest = [each for each in RELEASES.values() if each.released and each.rebalance_protocols == BOTH][-1]
    rolls = Plan.OFFLINE not in {documented_plan(origin, newest), documented_plan(newest, target)}
    return newest if rolls else None


def _value(release: Release) -> str:
    return release.line if release.of_kafka else _EAGER_AND_PROBED


def cells() -> Iterator[tuple[Release, Release]]:
    """Yield the 28 cells of the matrix, a line standing for its newest release (as a target, 0.10.1 for the fix)."""
    for row, origin in enumerate(FROM_LINES):
        for target in TO_LINES[row:]:
            yield release_named(origin), release_named(AS_THE_KIP_DESIGNED.get(target, target))


def plans(origin: Release, target: Release) -> tuple[Upgrade, ...]:
    """List what is tried in a cell: one bounce without any config, two bounces with the right one, and offline."""
    value = upgrade_from_value(origin, target)
    return (
        Upgrade(origin, target, Plan.ONE_BOUNCE),
        Upgrade(origin, target, Plan.TWO_BOUNCES, value),
        Upgrade(origin, target, Plan.OFFLINE),
    )


def _line(release: Release) -> str:
    promised = {name: line for line, name in AS_THE_KIP_DESIGNED.items()}
    return promised.get(release.name, release.line)


def kip_268() -> tuple[Upgrade, ...]:
    """List all 84 upgrades of the matrix."""
    return tuple(upgrade for origin, target in cells() for upgrade in plans(origin, target))


# -- every pair of releases ------------------------------------------------------------------------------------------


def every_plan(origin: Release, target: Release) -> Iterator[Upgrade]:
    """Yield what anybody could do with a pair: one bounce, two with each kind of value, values left in, and offline.

    Values that make members do the same are one kind, for which the documented one stands, or else the newest. A value
    that changes nothing in members is left out, unless it is the documented one (it may change records).

    >>> found = every_plan(release_named("2.3.1"), release_named("2.4.1"))
    >>> [f"{each.plan.value} {each.upgrade_from}" for each in found][:4]
    ['one_bounce None', 'one_bounce 2.3', 'two_bounces 2.3', 'one_bounce 1.1']
    """
    called = (origin.name, target.name)
    yield Upgrade(origin, target, Plan.ONE_BOUNCE, called=called)
    held_back = origin if goes_back(origin, target) else target
    for value in _kinds_of_values(held_back, upgrade_from_value(origin, target)):
        if target.starts_with(value):
            yield Upgrade(origin, target, Plan.ONE_BOUNCE, value, called)
        yield Upgrade(origin, target, Plan.TWO_BOUNCES, value, called)
    yield Upgrade(origin, target, Plan.OFFLINE, called=called)


def _kinds_of_values(release: Release, documented: str | None) -> tuple[str, ...]:
    """List one value of each kind with which a release starts, the documented one first."""
    kinds: dict[object, str] = {}
    for value in ([documented] if documented else []) + list(release.upgrade_from[::-1]):
        if release.starts_with(value):
            kinds.setdefault((release.pinned_version(value), release.protocol(value)), value)
    nothing = (None, release.protocol())
    return tuple(value for kind, value in kinds.items() if kind != nothing or value == documented)


def everything() -> tuple[Upgrade, ...]:
    """List all plans for all pairs of the releases of Kafka."""
    released = [release for release in RELEASES.values() if release.released]
    pairs = ((origin, target) for origin in released for target in released if origin != target)
    return tuple(upgrade for pair in pairs for upgrade in every_plan(*pair))
