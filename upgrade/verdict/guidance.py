"""Which way is advised from one release to another, for a topology as far as it is known."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Final

from attrs import frozen

from streams_assignor.upgrade.plans import (
    KAFKA_8649_RULE_SET,
    Plan,
    Upgrade,
    bridge_release,
    documented_upgrade,
    is_downgrade,
    is_wrongly_probed,
    obstacles,
    order_by_capability,
)
from streams_assignor.upgrade.releases import Release
from streams_assignor.upgrade.verdict.conditions import (
    UNKNOWN_TOPOLOGY,
    TopologyFacts,
    TopologyFeature,
    Verdict,
    topology_conditions,
    without_features,
)

_KAFKA_8649_VALUE: Final = "1.1"
"""With it members send version 2, to which no leader answers with a version of its own."""
_HARMED_BY_PROBING: Final = frozenset({TopologyFeature.SECOND_SOURCE_TOPIC, TopologyFeature.SECOND_THREAD})


@frozen
class Guidance:
    """The advised way, its verdict, and the simpler way if there is one under conditions."""

    hops: tuple[Upgrade, ...]
    """The way whose steps are printed; none if the two releases are the same."""
    verdict: Verdict
    features: tuple[TopologyFeature, ...] = ()
    """The features that decide: none of them may be in the topology (``SAFE_IF``), or one of them is (``UNSAFE``)."""
    if_met: tuple[Upgrade, ...] = ()
    """The way that is enough if the conditions are met; empty if it is that of ``hops``."""
    hops_features: tuple[TopologyFeature, ...] = ()
    """The features with which ``hops`` is unsafe; usually none, because it is the way for any topology."""

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions of ``SAFE_IF``, and those that are not met of ``UNSAFE``."""
        return tuple(feature.condition for feature in self.features)

    def as_json(self) -> dict[str, Any]:
        """Return the verdict as plain values; ``if_met`` only if there is a simpler way under the conditions."""
        plain: dict[str, Any] = {"verdict": self.verdict.value, "conditions": list(self.conditions)}
        if self.hops_features:
            plain["steps_conditions"] = [feature.condition for feature in self.hops_features]
        if self.if_met:
            plain["if_met"] = {"plan": plan_of(self.if_met).value, "upgrade_from": value_of(self.if_met)}
        return plain


NO_GUIDANCE: Final = Guidance((), Verdict.SAFE)
"""The guidance from a release to itself."""


def plan_of(hops: Iterable[Upgrade]) -> Plan:
    """Return the plan by which a way of several hops is known: the one that needs a configuration."""
    plans = [hop.plan for hop in hops]
    return Plan.TWO_BOUNCES if Plan.TWO_BOUNCES in plans else plans[0]


def value_of(hops: Iterable[Upgrade]) -> str | None:
    """Return the ``upgrade.from`` that a way needs; None if it needs none."""
    return next((hop.upgrade_from for hop in hops if hop.upgrade_from), None)


def guidance(
    origin: Release, target: Release, facts: TopologyFacts = UNKNOWN_TOPOLOGY, *, offline: bool = False
) -> Guidance:
    """Return the advised way between two releases, and its verdict.

    ``SAFE_IF`` means that the topology decides: ``if_met`` (or ``hops``) is safe if it has none of ``features``.

    >>> from streams_assignor.upgrade.releases import release_named
    >>> found = guidance(release_named("2.8"), release_named("3.9"))
    >>> found.verdict.value, found.hops[0].plan.value, found.if_met[0].plan.value
    ('safe-if', 'two_bounces', 'one_bounce')
    """
    if origin == target:
        return NO_GUIDANCE
    if offline:
        return Guidance((Upgrade(origin, target, Plan.OFFLINE),), Verdict.SAFE)
    hops = advised_hops(origin, target, facts.absent)
    needed = _needed(hops, facts.absent)
    if broken := tuple(feature for feature in needed if feature in facts.present):
        return Guidance(hops, Verdict.UNSAFE, broken, hops_features=needed)
    unknown = frozenset(TopologyFeature) - facts.absent - facts.present
    simplest = advised_hops(origin, target, facts.absent | unknown)
    if simplest != hops:
        return Guidance(hops, Verdict.SAFE_IF, _needed(simplest, facts.absent), simplest, needed)
    return Guidance(hops, Verdict.SAFE_IF if needed else Verdict.SAFE, needed, hops_features=needed)


def advised_hops(
    origin: Release, target: Release, absent: frozenset[TopologyFeature] = frozenset()
) -> tuple[Upgrade, ...]:
    """Return the advised way as upgrades, one after the other, for a topology without some features.

    It is that of Kafka's guides, except that KAFKA-8649 rules out version probing: the first of two bounces
    pins version 2.
    """
    bridge = bridge_release(origin, target)
    return tuple(advised_hop(*hop, absent) for hop in pairwise([origin, *([bridge] if bridge else []), target]))


def advised_hop(origin: Release, target: Release, absent: frozenset[TopologyFeature] = frozenset()) -> Upgrade:
    """Return the advised upgrade between two releases without a bridge release."""
    documented = documented_upgrade(origin, target)
    if is_pushed(origin, target) or _is_better_pinned(documented, absent):
        return Upgrade(origin, target, Plan.TWO_BOUNCES, _KAFKA_8649_VALUE)
    if documented.plan is not Plan.ONE_BOUNCE and not without_features(obstacles(origin, target), absent):
        return Upgrade(origin, target, Plan.ONE_BOUNCE)
    return documented


def _is_better_pinned(documented: Upgrade, absent: frozenset[TopologyFeature]) -> bool:
    """Whether a value keeps members from being probed by leaders that answer wrongly (KAFKA-8649).

    Where two bounces are needed anyway it costs nothing, so the topology does not matter.
    """
    origin, target = documented.origin, documented.target
    _, ahead = order_by_capability(origin, target)
    if not is_wrongly_probed(origin, target) or not ahead.can_start_with(_KAFKA_8649_VALUE):
        return False
    if documented.plan is Plan.ONE_BOUNCE:
        return not absent >= _HARMED_BY_PROBING
    return documented.plan is Plan.TWO_BOUNCES


def is_pushed(origin: Release, target: Release) -> bool:
    """Whether a leader of the target makes members of the origin use a version that they do not have (KAFKA-8649)."""
    return (
        not is_downgrade(origin, target)
        and target.rule_set == KAFKA_8649_RULE_SET
        and origin.is_probeable
        and origin.supported_version < target.supported_version
        and target.can_start_with(_KAFKA_8649_VALUE)
    )


def _needed(hops: Iterable[Upgrade], absent: frozenset[TopologyFeature]) -> tuple[TopologyFeature, ...]:
    features = {feature for hop in hops for feature in topology_conditions(hop)} - absent
    return tuple(feature for feature in TopologyFeature if feature in features)
