"""From one release to another: obstacles to a single bounce, the documented plan, and all other plans.

A plan is a list of rounds. A round restarts every member once, with a release and an ``upgrade.from``.
Sources: KIP-268, KIP-429, KIP-904, and the upgrade guides of the releases.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Final

from attrs import field, frozen

from streams_assignor.upgrade.release_behaviour import BOTH, COOPERATIVE, EAGER, ReportedTasks
from streams_assignor.upgrade.releases import RELEASES, Release, release_named

KAFKA_8649_RULE_SET: Final = "g2"
"""The rule set of the releases whose leaders answer with their own version, even to members that do not have it."""


class Plan(enum.Enum):
    """How a group is upgraded."""

    ONE_BOUNCE = "one_bounce"
    TWO_BOUNCES = "two_bounces"
    OFFLINE = "offline"


@frozen
class Round:
    """One restart of all members: the release and the configuration of each."""

    release: Release
    upgrade_from: str | None = None


@frozen
class Upgrade:
    """One plan for one pair of releases: the subject of a verdict."""

    origin: Release
    target: Release
    plan: Plan
    upgrade_from: str | None = None
    labels: tuple[str, str] | None = field(default=None, eq=False)
    """The names that the user gave the two releases; None: the lines, as in KIP-268."""

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The rounds of the plan; an offline upgrade is one round that starts after all members have stopped.

        ``upgrade.from`` is set on members of the newer release: after an upgrade, and before a downgrade.
        """
        last = Round(self.target)
        if self.plan is not Plan.TWO_BOUNCES:
            return (Round(self.target, self.upgrade_from),)
        holds_back = self.upgrade_from is not None and is_downgrade(self.origin, self.target)
        return Round(self.origin if holds_back else self.target, self.upgrade_from), last

    @property
    def sequence(self) -> tuple[Round, ...]:
        """The instances of a member: before the upgrade, and after each round."""
        return Round(self.origin), *self.rounds

    @property
    def display_names(self) -> tuple[str, str]:
        """The names of the two releases in tables and reports."""
        return self.labels or (self.origin.line, self.target.line)

    @property
    def is_documented(self) -> bool:
        """Whether KIP-268 and the upgrade guides document this plan for the two releases."""
        return self == documented_upgrade(self.origin, self.target)


class Obstacle(enum.Enum):
    """Why a single bounce is not safe, in both directions. The texts are values of guide.json."""

    VERSION = "the older release cannot decode the newer metadata version, and version probing needs 2.0 (KIP-268)"
    OVERSHOT = "leaders answer with a version above the one that a member supports (KAFKA-8649)"
    PROTOCOL = "one release rebalances eagerly, the other cooperatively (KIP-429)"
    FOREIGN_KEY_JOINS = "the older release cannot read the records of foreign-key joins (KAFKA-13769)"
    REPARTITIONING = "the older release cannot read updates of tables in repartition topics (KIP-904)"


RECORD_FORMAT_CHANGES: Final[Mapping[Obstacle, tuple[tuple[int, ...], tuple[int, ...]]]] = {
    Obstacle.FOREIGN_KEY_JOINS: ((2, 4), (3, 3)),
    Obstacle.REPARTITIONING: ((0, 10), (3, 5)),
}
"""Record formats: the first release that writes such records, and the release that changed their format."""


def order_by_capability(origin: Release, target: Release) -> tuple[Release, Release]:
    """Return the less and the more capable of two releases; of two releases of Kafka, the older one comes first."""

    def progress(release: Release) -> tuple[bool, int, tuple[int, ...]]:
        return release.rebalance_protocol() == "cooperative", release.supported_version, release.number

    behind, ahead = sorted((origin, target), key=progress)
    return behind, ahead


def is_downgrade(origin: Release, target: Release) -> bool:
    """Whether ``target`` is the less capable release."""
    return origin != target and order_by_capability(origin, target) == (target, origin)


@cache  # a sweep of all releases calls it dozens of times for each pair
def obstacles(origin: Release, target: Release) -> tuple[Obstacle, ...]:
    """List the obstacles to a single bounce between two releases.

    >>> [obstacle.name for obstacle in obstacles(release_named("2.3"), release_named("3.9"))]
    ['PROTOCOL', 'REPARTITIONING']
    """
    behind, ahead = order_by_capability(origin, target)
    in_the_way = []
    if behind.supported_version < ahead.supported_version:
        if not behind.is_probeable:
            in_the_way.append(Obstacle.VERSION)
        elif origin == ahead and origin.rule_set == KAFKA_8649_RULE_SET:
            in_the_way.append(Obstacle.OVERSHOT)
    if behind.rebalance_protocol() != ahead.rebalance_protocol():
        in_the_way.append(Obstacle.PROTOCOL)
    if behind.kafka_name and ahead.kafka_name:
        in_the_way += [
            obstacle
            for obstacle, (first, new) in RECORD_FORMAT_CHANGES.items()
            if first <= behind.number < new <= ahead.number
        ]
    return tuple(in_the_way)


NO_ROLLING_DOWNGRADE: Final = frozenset({Obstacle.VERSION, Obstacle.OVERSHOT})
"""Obstacles for which no rolling downgrade is documented."""
_OWN_EAGER_VALUE: Final = "2.3"
"""The value that stands for our own members that are eager and can be probed."""


@cache
def documented_plan(origin: Release, target: Release) -> Plan:
    """Return the documented plan for a pair of releases, without a bridge release.

    One bounce if there is no obstacle, because versions are probed. Else two bounces, if the newer release starts with
    the ``upgrade.from`` of the older one. Else offline (KAFKA-6054, 3.5.0 and 3.5.1, 4.x).
    """
    in_the_way = obstacles(origin, target)
    if not in_the_way:
        return Plan.ONE_BOUNCE
    if is_downgrade(origin, target) and NO_ROLLING_DOWNGRADE.intersection(in_the_way):
        return Plan.OFFLINE
    behind, ahead = order_by_capability(origin, target)
    return Plan.TWO_BOUNCES if ahead.can_start_with(_upgrade_from_of(behind)) else Plan.OFFLINE


def upgrade_from_value(origin: Release, target: Release) -> str | None:
    """Return the ``upgrade.from`` that the first of two bounces needs; None if the plan is not two bounces.

    >>> upgrade_from_value(release_named("0.10.0"), release_named("1.1"))
    '0.10.0'
    """
    if documented_plan(origin, target) is not Plan.TWO_BOUNCES:
        return None
    return _upgrade_from_of(order_by_capability(origin, target)[0])


def documented_upgrade(origin: Release, target: Release) -> Upgrade:
    """Return the documented plan for a pair of releases, with the ``upgrade.from`` that it needs."""
    return Upgrade(origin, target, documented_plan(origin, target), upgrade_from_value(origin, target))


def is_wrongly_probed(origin: Release, target: Release) -> bool:
    """Whether a leader of the less capable release probes members of the other with wrong answers (KAFKA-8649).

    >>> is_wrongly_probed(release_named("2.1.1"), release_named("2.8.2"))
    True
    """
    behind, ahead = order_by_capability(origin, target)
    is_probing = behind.rule_set == KAFKA_8649_RULE_SET and behind.supported_version < ahead.supported_version
    return is_probing and bool(ahead.kafka_name)


def fails_on_stateless_tasks(origin: Release, target: Release) -> bool:
    """Whether a leader of one release looks up lags of stateless tasks that members of the other report (2.6 to 3.0).

    >>> fails_on_stateless_tasks(release_named("2.3.1"), release_named("2.8.2"))
    True
    """
    behind, ahead = order_by_capability(origin, target)
    if not (behind.kafka_name and ahead.kafka_name):
        return False
    return behind.behaviour.reported_tasks is ReportedTasks.ALL and ahead.behaviour.fails_on_missing_lag


def takes_tasks_from_eager_members(origin: Release, target: Release) -> bool:
    """Whether a leader of one release takes the tasks of its own eager members, beside members of the other.

    An eager member since 2.6 has suspended its tasks when it writes its subscription. Beside a release without the
    cooperative protocol the version is below 7 and has no offsets, so the lag of these tasks is unknown. Up to 3.1 a
    member has not caught up on them. Since 3.2 an unknown lag is the least one (KAFKA-13600).

    >>> takes_tasks_from_eager_members(release_named("2.3.1"), release_named("3.1.2"))
    True
    """
    behind, ahead = order_by_capability(origin, target)
    if not (behind.kafka_name and ahead.kafka_name):
        return False
    return behind.rebalance_protocols == EAGER and ahead.behaviour.lag_based and not ahead.behaviour.least_lag_fallback


def deals_tasks_without_lags(origin: Release, target: Release) -> bool:
    """Whether members of ``target`` that all have ``upgrade.from`` of ``origin`` are dealt tasks as if none had state.

    The value pins version 1 or 2, which has no offsets, and makes members eager, so that all have suspended their tasks
    when they report them: no process has caught up on a large task. Up to 3.1 a leader then deals tasks to processes in
    turn. Since 3.2 an unknown lag is the least one (KAFKA-13600).

    >>> deals_tasks_without_lags(release_named("1.1.1"), release_named("2.8.2"))
    True
    """
    pins = target.pinned_version(origin.line) is not None
    return pins and target.behaviour.lag_based and not target.behaviour.least_lag_fallback


def bridge_release(origin: Release, target: Release) -> Release | None:
    """Return the newest release through which a group can be rolled from eager to cooperative members, or back.

    None if it needs none or there is none. Bridge releases (KAFKA-18839) have both protocols; with one of 3.5 to 3.9
    three bounces are enough.

    >>> str(bridge_release(release_named("2.3.1"), release_named("4.0.0")))
    '3.9.2'
    """
    if {origin.rebalance_protocols, target.rebalance_protocols} != {EAGER, COOPERATIVE}:
        return None
    newest = [release for release in RELEASES.values() if release.is_released and release.rebalance_protocols == BOTH][
        -1
    ]
    rolls = Plan.OFFLINE not in {documented_plan(origin, newest), documented_plan(newest, target)}
    return newest if rolls else None


def documented_upgrade_hops(origin: Release, target: Release) -> tuple[Upgrade, ...]:
    """Return the documented way between two releases as upgrades, one after the other."""
    bridge = bridge_release(origin, target)
    return tuple(documented_upgrade(*hop) for hop in pairwise([origin, *([bridge] if bridge else []), target]))


def _upgrade_from_of(release: Release) -> str:
    return release.line if release.kafka_name else _OWN_EAGER_VALUE


def all_plans(origin: Release, target: Release) -> Iterator[Upgrade]:
    """Yield all plans for a pair: one bounce, two with each kind of value, one with a value that stays, and offline.

    Values with the same effect on members are one kind; the documented value represents its kind, else the newest. A
    value without an effect on members is left out, unless it is the documented one (it may change records).

    >>> plans = all_plans(release_named("2.3.1"), release_named("2.4.1"))
    >>> [f"{each.plan.value} {each.upgrade_from}" for each in plans][:4]
    ['one_bounce None', 'one_bounce 2.3', 'two_bounces 2.3', 'one_bounce 1.1']
    """
    labels = (origin.name, target.name)
    yield Upgrade(origin, target, Plan.ONE_BOUNCE, labels=labels)
    held_back = origin if is_downgrade(origin, target) else target
    for value in _distinct_upgrade_from_values(held_back, upgrade_from_value(origin, target)):
        if target.can_start_with(value):
            yield Upgrade(origin, target, Plan.ONE_BOUNCE, value, labels)
        yield Upgrade(origin, target, Plan.TWO_BOUNCES, value, labels)
    yield Upgrade(origin, target, Plan.OFFLINE, labels=labels)


def _distinct_upgrade_from_values(release: Release, documented: str | None) -> tuple[str, ...]:
    """List one value of each kind with which a member starts, the documented one first."""
    kinds: dict[object, str] = {}
    for value in ([documented] if documented else []) + list(release.upgrade_from[::-1]):
        if release.can_start_with(value):
            kinds.setdefault((release.pinned_version(value), release.rebalance_protocol(value)), value)
    nothing = (None, release.rebalance_protocol())
    return tuple(value for kind, value in kinds.items() if kind != nothing or value == documented)


def all_upgrades() -> tuple[Upgrade, ...]:
    """List all plans for all pairs of the releases of Kafka."""
    released = [release for release in RELEASES.values() if release.is_released]
    pairs = ((origin, target) for origin in released for target in released if origin != target)
    return tuple(upgrade for pair in pairs for upgrade in all_plans(*pair))


# -- the test matrix of KIP-268: 28 cells, each a pair of releases -----------------------------------------------------

FROM_LINES: Final = ("0.10.0", "0.10.1", "0.10.2", "0.11.0", "1.0", "1.1", "2.0")
TO_LINES: Final = ("0.10.1", "0.10.2", "0.11.0", "1.0", "1.1", "2.0", "simulated-4")
_FIXED_RELEASES: Final = {"0.10.1": "0.10.1.2"}
"""The KIP counts on a fixed 0.10.1, which was never released; the cells that lead to it are judged with the fix."""


def kip_268_cells() -> Iterator[tuple[Release, Release]]:
    """Yield the 28 cells; a line stands for its newest release, and 0.10.1 as a target for the fixed one."""
    for row, origin in enumerate(FROM_LINES):
        for target in TO_LINES[row:]:
            yield release_named(origin), release_named(_FIXED_RELEASES.get(target, target))


def kip_268_plans(origin: Release, target: Release) -> tuple[Upgrade, ...]:
    """List the plans of a cell: one bounce without any config, two bounces with the right one, and offline."""
    value = upgrade_from_value(origin, target)
    return (
        Upgrade(origin, target, Plan.ONE_BOUNCE),
        Upgrade(origin, target, Plan.TWO_BOUNCES, value),
        Upgrade(origin, target, Plan.OFFLINE),
    )


def kip_268_upgrades() -> tuple[Upgrade, ...]:
    """List all 84 upgrades of the matrix."""
    return tuple(upgrade for origin, target in kip_268_cells() for upgrade in kip_268_plans(origin, target))


MATRICES: Final[Mapping[str, Callable[[], tuple[Upgrade, ...]]]] = {"kip-268": kip_268_upgrades, "all": all_upgrades}
"""The upgrades of each test matrix, by its name."""
