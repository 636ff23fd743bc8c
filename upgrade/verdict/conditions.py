"""Verdicts, and the features of a topology on which they depend.

A sweep sees rebalance metadata, and no records. Two record formats have changed (KAFKA-13769, KIP-904). While members
of both sides of such a change are in one group, a topology without the feature has no such records.

A sweep has one stateful subtopology, one source topic and one thread in each process. Three bugs need more than that:
one of leaders from 2.6 to 3.0, and two of leaders that probe before KAFKA-8649 was fixed.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Final

from attrs import frozen

from streams_assignor.upgrade.errors import UpgradeError, quote_input
from streams_assignor.upgrade.plans import (
    RECORD_FORMAT_CHANGES,
    Obstacle,
    Plan,
    Upgrade,
    fails_on_stateless_tasks,
    is_downgrade,
    is_wrongly_probed,
    obstacles,
    order_by_capability,
)
from streams_assignor.upgrade.releases import Release
from streams_assignor.upgrade.upgrade_from import PINNED_VERSIONS, UpgradeFromEffect


class Verdict(enum.Enum):
    """The verdict of a plan. The values are those of ``matrix.json``."""

    SAFE = "safe"
    SAFE_IF = "safe-if"
    """Safe under conditions, which are listed beside it."""
    UNSAFE = "unsafe"
    UNKNOWN = "unknown"
    """Not every state was explored, and those that were violate nothing."""
    ERROR = "error"
    """The simulation failed."""

    @property
    def words(self) -> str:
        """The value as the first line of a plan has it."""
        return "not proven" if self is Verdict.UNKNOWN else self.value


class TopologyFeature(enum.Enum):
    """A feature on which a verdict depends. The values are those of ``plan --without``."""

    FOREIGN_KEY_JOINS = "foreign-key-joins"
    REPARTITIONED_TABLES = "repartitioned-tables"
    STATELESS_SUBTOPOLOGIES = "stateless-subtopologies"
    """The topology has subtopologies without state beside those with state."""
    SECOND_SOURCE_TOPIC = "second-source-topic"
    SECOND_THREAD = "second-thread"
    """In a process: the only one that no topology shows."""

    @property
    def condition(self) -> str:
        """The condition in JSON: the topology lacks the feature."""
        return f"no {self.value}"

    @property
    def words(self) -> str:
        """The feature in a sentence."""
        return _WORDS[self]


_WORDS: Final = {
    TopologyFeature.FOREIGN_KEY_JOINS: "foreign-key joins",
    TopologyFeature.REPARTITIONED_TABLES: "repartitioned tables",
    TopologyFeature.STATELESS_SUBTOPOLOGIES: "stateless subtopologies beside stateful ones",
    TopologyFeature.SECOND_SOURCE_TOPIC: "second source topic",
    TopologyFeature.SECOND_THREAD: "second thread in a process",
}
_FEATURES: Final[Mapping[Obstacle, TopologyFeature]] = {
    Obstacle.FOREIGN_KEY_JOINS: TopologyFeature.FOREIGN_KEY_JOINS,
    Obstacle.REPARTITIONING: TopologyFeature.REPARTITIONED_TABLES,
}
_OLD_FORMATS: Final = {
    Obstacle.FOREIGN_KEY_JOINS: UpgradeFromEffect.OLD_FOREIGN_KEY_JOINS,
    Obstacle.REPARTITIONING: UpgradeFromEffect.OLD_REPARTITIONING,
}
"""The effect of a value of ``upgrade.from`` on each obstacle."""
KAFKA_14646_LINE: Final = (3, 3)
"""KAFKA-14646: the line that reads no records of foreign-key joins but those that it writes itself."""


@frozen
class TopologyFacts:
    """The known facts of a topology; a feature that is in neither set is unknown."""

    absent: frozenset[TopologyFeature] = frozenset()
    present: frozenset[TopologyFeature] = frozenset()


UNKNOWN_TOPOLOGY: Final = TopologyFacts()


def features_named(names: str) -> frozenset[TopologyFeature]:
    """Return the features of a list with commas.

    Raises:
        UpgradeError: A name is none of a feature.

    >>> sorted(each.value for each in features_named("repartitioned-tables, foreign-key-joins"))
    ['foreign-key-joins', 'repartitioned-tables']
    """
    features = {feature.value: feature for feature in TopologyFeature}
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if unknown := [name for name in wanted if name not in features]:
        raise UpgradeError(f"unknown feature {quote_input(unknown[0])}: expected {' or '.join(features)}")
    if not wanted:
        raise UpgradeError(f"no feature is named: expected {' or '.join(features)}")
    return frozenset(features[name] for name in wanted)


def without_features(obstacles: Iterable[Obstacle], absent: Iterable[TopologyFeature]) -> tuple[Obstacle, ...]:
    """Return the obstacles that remain for a topology without some features."""
    gone = set(absent)
    return tuple(obstacle for obstacle in obstacles if _FEATURES.get(obstacle) not in gone)


def topology_conditions(upgrade: Upgrade) -> tuple[TopologyFeature, ...]:
    """List the features that a topology must not have for a plan to be safe, beside what a sweep finds.

    Offline there are none: members of both releases never meet.

    >>> from streams_assignor.upgrade.releases import release_named
    >>> bounce = Upgrade(release_named("2.8"), release_named("3.9"), Plan.ONE_BOUNCE)
    >>> [each.condition for each in topology_conditions(bounce)]
    ['no foreign-key-joins', 'no repartitioned-tables']
    >>> topology_conditions(Upgrade(release_named("2.8"), release_named("3.9"), Plan.TWO_BOUNCES, "2.8"))
    ()
    """
    if upgrade.plan is Plan.OFFLINE:
        return ()
    held_back = _formats_held_back(upgrade)
    features = {
        _FEATURES[obstacle]
        for obstacle in obstacles(upgrade.origin, upgrade.target)
        if obstacle in RECORD_FORMAT_CHANGES and _OLD_FORMATS[obstacle] not in held_back
    }
    if UpgradeFromEffect.OLD_FOREIGN_KEY_JOINS in held_back and _meets_kafka_14646(upgrade.origin, upgrade.target):
        features.add(TopologyFeature.FOREIGN_KEY_JOINS)
    if fails_on_stateless_tasks(upgrade.origin, upgrade.target):
        features.add(TopologyFeature.STATELESS_SUBTOPOLOGIES)
    if is_wrongly_probed(upgrade.origin, upgrade.target) and _value_while_mixed(upgrade) not in PINNED_VERSIONS:
        features |= {TopologyFeature.SECOND_SOURCE_TOPIC, TopologyFeature.SECOND_THREAD}
    return tuple(feature for feature in TopologyFeature if feature in features)


def _formats_held_back(upgrade: Upgrade) -> frozenset[UpgradeFromEffect]:
    """Return what the more capable members do while they are in one group with the others."""
    _, ahead = order_by_capability(upgrade.origin, upgrade.target)
    value = _value_while_mixed(upgrade)
    return frozenset() if value is None else frozenset(ahead.upgrade_from_effects(value))


def _value_while_mixed(upgrade: Upgrade) -> str | None:
    """Return the ``upgrade.from`` of the more capable members while they are in one group with the others."""
    # The value of a single bounce belongs to the target; the members that a downgrade replaces do not have it.
    is_too_late = upgrade.plan is Plan.ONE_BOUNCE and is_downgrade(upgrade.origin, upgrade.target)
    return None if is_too_late else upgrade.upgrade_from


def _meets_kafka_14646(origin: Release, target: Release) -> bool:
    behind, ahead = order_by_capability(origin, target)
    has_joins = behind.number >= RECORD_FORMAT_CHANGES[Obstacle.FOREIGN_KEY_JOINS][0]
    return has_joins and KAFKA_14646_LINE in (behind.number[:2], ahead.number[:2])
