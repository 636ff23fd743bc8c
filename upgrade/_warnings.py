"""Warnings beside the steps of a plan: bugs on the way, records that are left, releases that help.

Sources: Kafka's issues, as numbered, and the code of the releases that have or fix them; the upgrade guides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from attrs import define

from streams_assignor.upgrade._messages import MessageCode, MessageList, PlanMessage
from streams_assignor.upgrade.plans import (
    KAFKA_8649_RULE_SET,
    NO_ROLLING_DOWNGRADE,
    RECORD_FORMAT_CHANGES,
    Obstacle,
    Plan,
    Upgrade,
    bridge_release,
    documented_plan,
    fails_on_stateless_tasks,
    is_downgrade,
    obstacles,
    order_by_capability,
    upgrade_from_value,
)
from streams_assignor.upgrade.release_behaviour import ReportedTasks
from streams_assignor.upgrade.releases import RELEASES, Release
from streams_assignor.upgrade.upgrade_from import PINNED_VERSIONS, StartupOutcome, UpgradeFromEffect
from streams_assignor.upgrade.verdict.conditions import (
    KAFKA_14646_LINE,
    UNKNOWN_TOPOLOGY,
    TopologyFacts,
    TopologyFeature,
)

_KAFKA_14646_UPGRADE_FROM: Final = "3.4"
"""The oldest value with which foreign-key joins write what 3.3 writes."""
_RECORD_FORMATS: Final = {
    Obstacle.FOREIGN_KEY_JOINS: MessageCode.FOREIGN_KEY_JOINS,
    Obstacle.REPARTITIONING: MessageCode.REPARTITIONED_TABLES,
}
_START_FAILURES: Final = {
    StartupOutcome.IGNORED: MessageCode.VALUE_IGNORED,
    StartupOutcome.REFUSED: MessageCode.VALUE_REFUSED,
    StartupOutcome.FAILS: MessageCode.VALUE_FAILS,
}
_RELEASE_BUGS: Final = {"2.4.0": MessageCode.KAFKA_9335}
"""Bugs of a release that matter to an upgrade to it."""


@define
class _Hop:
    """One upgrade, and what all warnings ask about it."""

    upgrade: Upgrade
    facts: TopologyFacts

    @property
    def origin(self) -> Release:
        return self.upgrade.origin

    @property
    def target(self) -> Release:
        return self.upgrade.target

    @property
    def plan(self) -> Plan:
        return self.upgrade.plan

    @cached_property
    def behind(self) -> Release:
        return order_by_capability(self.origin, self.target)[0]

    @cached_property
    def ahead(self) -> Release:
        return order_by_capability(self.origin, self.target)[1]

    @cached_property
    def obstacles(self) -> tuple[Obstacle, ...]:
        return obstacles(self.origin, self.target)

    @cached_property
    def documented(self) -> Plan:
        return documented_plan(self.origin, self.target)

    @cached_property
    def is_downgrade(self) -> bool:
        return is_downgrade(self.origin, self.target)

    @cached_property
    def params(self) -> Mapping[str, Any]:
        return {
            "origin": self.origin,
            "target": self.target,
            "behind": self.behind,
            "ahead": self.ahead,
            "value": upgrade_from_value(self.origin, self.target),
        }

    def message(self, code: MessageCode, **further: Any) -> PlanMessage:
        return PlanMessage.of(code, {**self.params, **further})


def hop_warnings(upgrade: Upgrade, facts: TopologyFacts) -> Iterator[PlanMessage]:
    """Yield the warnings for one hop, which may be offline although the group could be rolled.

    Nothing is said of features that the topology is known to lack, nor of bugs that the plan avoids.
    """
    hop = _Hop(upgrade, facts)
    for warnings in (
        _release_warnings,
        _offline_warnings,
        _record_format_warnings,
        _kafka_14646_warnings,
        _mixed_release_warnings,
        _kafka_8649_warnings,
    ):
        yield from warnings(hop)


def _release_warnings(hop: _Hop) -> Iterator[PlanMessage]:
    """Warn of bugs of the two releases."""
    for release in (hop.origin, hop.target):
        if release.note:
            yield hop.message(MessageCode.RELEASE_NOTE, release=release)
    if bug := _RELEASE_BUGS.get(hop.target.assumed_like or hop.target.name):
        yield hop.message(bug)


def _offline_warnings(hop: _Hop) -> Iterator[PlanMessage]:
    """Name the release through which a group can be rolled after all."""
    if hop.documented is not Plan.OFFLINE:
        return
    bridge = bridge_release(hop.origin, hop.target)
    if bridge:
        yield hop.message(MessageCode.BRIDGE, bridge=bridge)
    elif not (hop.is_downgrade and NO_ROLLING_DOWNGRADE.intersection(hop.obstacles)):
        outcome = hop.ahead.startup_outcome(hop.behind.line)
        newer = (release for release in RELEASES.values() if release.is_released and release.number > hop.ahead.number)
        fixed = next((release for release in newer if release.can_start_with(hop.behind.line)), None)
        remedy = MessageCode.BOUNCE_TO_FIX if hop.ahead == hop.origin else MessageCode.FIXED_IN
        yield hop.message(
            _START_FAILURES[outcome.outcome],
            exception=outcome.exception,
            remedy=PlanMessage(remedy, {"fixed": fixed}) if fixed else "",
        )


def _record_format_warnings(hop: _Hop) -> Iterator[PlanMessage]:
    """Name the topologies to which record formats matter, and warn of records that are left."""
    in_the_way = set(hop.obstacles)
    if not RECORD_FORMAT_CHANGES.keys() & in_the_way:
        return
    if RECORD_FORMAT_CHANGES.keys() >= in_the_way and hop.plan is hop.documented and hop.facts == UNKNOWN_TOPOLOGY:
        formats = MessageList.of([code for obstacle, code in _RECORD_FORMATS.items() if obstacle in in_the_way], {})
        two_bounces = hop.plan is Plan.TWO_BOUNCES
        code = MessageCode.TWO_BOUNCES_FOR_RECORDS if two_bounces else MessageCode.STOPPING_FOR_RECORDS
        yield hop.message(code, formats=formats)
    if hop.plan is Plan.OFFLINE and hop.is_downgrade:
        yield hop.message(MessageCode.RECORDS_LEFT)


def _kafka_14646_warnings(hop: _Hop) -> Iterator[PlanMessage]:
    """Warn of members of 3.3 that read foreign-key joins as others write them, of themselves or with a value."""
    behind, ahead, value = hop.behind, hop.ahead, hop.params["value"]
    behind_has_it, ahead_has_it = (release.number[:2] == KAFKA_14646_LINE for release in (behind, ahead))
    old_joins = value is not None and UpgradeFromEffect.OLD_FOREIGN_KEY_JOINS in ahead.upgrade_from_effects(value)
    has_joins = behind.number >= RECORD_FORMAT_CHANGES[Obstacle.FOREIGN_KEY_JOINS][0]
    may_have_joins = has_joins and TopologyFeature.FOREIGN_KEY_JOINS not in hop.facts.absent
    if not (old_joins and may_have_joins and (behind_has_it or ahead_has_it)):
        return
    offline = hop.plan is Plan.OFFLINE
    if ahead_has_it and ahead == hop.target:
        yield hop.message(MessageCode.KAFKA_14646_RECORDS_LEFT if offline else MessageCode.KAFKA_14646_RECORDS)
    elif not offline:
        remedy = MessageCode.TAKE_VALUE_3_4_AND_3_5_2
        if ahead_has_it:
            remedy = MessageCode.BOUNCE_TO_3_4
        elif ahead.can_start_with(_KAFKA_14646_UPGRADE_FROM):
            remedy = MessageCode.TAKE_VALUE_3_4
        yield hop.message(MessageCode.KAFKA_14646_VALUE, remedy=PlanMessage(remedy))


def _mixed_release_warnings(hop: _Hop) -> Iterator[PlanMessage]:
    """Warn of leaders of the newer release that members of the older one fail or rebalance without end."""
    behind, ahead = hop.behind.behaviour, hop.ahead.behaviour
    if hop.plan is Plan.OFFLINE or not (hop.behind.kafka_name and hop.ahead.kafka_name):
        return
    if TopologyFeature.STATELESS_SUBTOPOLOGIES not in hop.facts.absent and fails_on_stateless_tasks(
        hop.origin, hop.target
    ):
        yield hop.message(MessageCode.MISSING_LAG)
    # A cooperative thread of 2.4 or 2.5 reports all that its process has on disk but does not run itself.
    if behind.reported_tasks is ReportedTasks.ALL_UNLESS_COOPERATIVE and ahead.reported_tasks is ReportedTasks.STATEFUL:
        yield hop.message(MessageCode.ENDLESS_REBALANCES)


def _kafka_8649_warnings(hop: _Hop) -> Iterator[PlanMessage]:
    """Warn of leaders that make members use too high a version.

    While ``upgrade.from`` holds all members at version 2, none is probed.
    """
    origin, target = hop.origin, hop.target
    if hop.upgrade.upgrade_from in PINNED_VERSIONS:
        return
    newer = max(origin, target, key=lambda release: release.supported_version)
    if newer.rule_set == KAFKA_8649_RULE_SET and {origin.supported_version, target.supported_version} == {3, 4}:
        yield hop.message(MessageCode.KAFKA_8649_OVERSHOT, newer=newer)
