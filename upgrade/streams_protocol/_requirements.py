"""What must hold before a group changes its protocol: one row per requirement, with what follows otherwise."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Any, Final

from attrs import field, frozen

from upgrade.application.setting_files import setting_of
from upgrade.errors import UpgradeError, quote_input
from upgrade.hazards import NOT_RUN
from upgrade.releases import Release
from upgrade.streams_protocol._facts import (
    AVAILABLE,
    EARLY_ACCESS,
    FIRST_BROKERS,
    GROUP_PROTOCOL,
    STATIC_MEMBERSHIP,
    STREAMS_VERSION_LEVEL,
    Protocol,
)
from upgrade.topology_description import DescribedNode
from upgrade.verdict import TopologyFeature


class Reliance(enum.Enum):
    """Something an application can rely on that streams groups lack. The values are those of ``plan --without``."""

    STATIC_MEMBERS = "static-members"
    PATTERN_SUBSCRIPTIONS = "pattern-subscriptions"
    NAMED_TOPOLOGIES = "named-topologies"
    WARM_UPS = "warm-ups"


class RequirementStatus(enum.Enum):
    """Whether a requirement holds."""

    MET = "met"
    OPEN = "open"
    """Nothing that was given decides it."""
    BLOCKED = "blocked"


@frozen(kw_only=True)
class Requirement:
    """A row."""

    name: str
    """Unique; stays the same when the wording changes."""
    condition: str
    """What must hold, as the end of a sentence that begins with "if"."""
    symptom: str
    """What is observed otherwise; an exception is named verbatim."""
    remedy: str
    source: str
    seen: tuple[str, ...] = ()
    """The releases whose jars showed the symptom; empty: it was not run."""

    @property
    def evidence(self) -> str:
        """Whether real jars showed it, and which."""
        return f"seen with {' and '.join(self.seen)}" if self.seen else NOT_RUN


@frozen
class JudgedRequirement:
    """A requirement and whether it holds."""

    requirement: Requirement
    status: RequirementStatus

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        row = self.requirement
        return {
            "name": row.name,
            "status": self.status.value,
            "condition": row.condition,
            "symptom": row.symptom,
            "remedy": row.remedy,
            "source": row.source,
            "evidence": row.evidence,
        }

    def lines(self) -> tuple[str, ...]:
        """Write it as a list item."""
        row = self.requirement
        if self.status is RequirementStatus.MET:
            return (f"- met: {row.condition}",)
        return (
            f"- {self.status.value}: {row.condition}; else {row.symptom}",
            f"    remedy: {row.remedy}",
            f"    source: {row.source}; {row.evidence}",
        )


BROKER_RELEASE: Final = Requirement(
    name="broker-release",
    condition="every broker is of 4.2 or later",
    symptom="brokers before 4.1 do not know the requests (UnsupportedVersionException), those of 4.1 have an early "
    "access version of the protocol",
    remedy="upgrade the brokers first (plan --brokers)",
    source="KIP-1071, upgrade guide of 4.2",
)
STREAMS_VERSION_RAISED: Final = Requirement(
    name="streams-version",
    condition=f"the feature streams.version is {STREAMS_VERSION_LEVEL} or higher",
    symptom='every member fails: UnsupportedVersionException "The cluster does not support the STREAMS group protocol"',
    remedy=f"kafka-features upgrade --feature streams.version={STREAMS_VERSION_LEVEL}, when every broker is of 4.2 or "
    "later",
    source="KIP-1071, KIP-584",
    seen=("4.2.2", "4.3.1"),
)
KAFKA_20254: Final = Requirement(
    name="kafka-20254",
    condition="no broker is of 4.2.0",
    symptom="when compaction has removed the tombstone of the classic group, a coordinator of 4.2.0 cannot load its "
    'partition of __consumer_offsets (IllegalStateException "Group NAME is not a streams group"), and no group of that '
    "partition works",
    remedy="upgrade every broker to 4.2.1 or later first (plan --brokers)",
    source="KAFKA-20254, upgrade guide of 4.2",
    seen=("4.2.0",),
)
RELIANCES: Final[Mapping[Reliance, Requirement]] = {
    Reliance.STATIC_MEMBERS: Requirement(
        name=Reliance.STATIC_MEMBERS.value,
        condition="the application has no static members, or clients and brokers are of 4.4 or later",
        symptom='members do not start: ConfigException "Streams rebalance protocol does not support static membership"',
        remedy="remove group.instance.id, or stay on the classic protocol until clients and brokers are of 4.4; older "
        "brokers, also after a downgrade, end a static member of 4.4 with INVALID_REQUEST",
        source="KIP-1071",
        seen=("4.2.2", "4.3.1"),
    ),
    Reliance.PATTERN_SUBSCRIPTIONS: Requirement(
        name=Reliance.PATTERN_SUBSCRIPTIONS.value,
        condition="the topology has no pattern of source topics",
        symptom='members do not start: UnsupportedOperationException "Pattern subscriptions are not supported with '
        'the STREAMS protocol"',
        remedy="name the topics, or stay on the classic protocol",
        source="KIP-1071",
        seen=("4.2.2", "4.3.1"),
    ),
    Reliance.NAMED_TOPOLOGIES: Requirement(
        name=Reliance.NAMED_TOPOLOGIES.value,
        condition="the application has no named topologies",
        symptom='members do not start: UnsupportedOperationException "Named topologies are not supported with the '
        'STREAMS protocol"',
        remedy="stay on the classic protocol, or make each of them an application of its own",
        source="KIP-1071",
    ),
    Reliance.WARM_UPS: Requirement(
        name=Reliance.WARM_UPS.value,
        condition="the application does not rely on warm-up tasks",
        symptom="a task moves at once to a member without its store, and processes nothing until it is restored",
        remedy="stay on the classic protocol, or set streams.num.standby.replicas for members that fail; a new member "
        "restores all the same",
        source="KIP-1071, KAFKA-20665",
    ),
}


REQUIREMENTS: Final = (BROKER_RELEASE, STREAMS_VERSION_RAISED, KAFKA_20254, *RELIANCES.values())
"""All rows, in the order of a plan."""


def reliances_named(names: str) -> tuple[frozenset[Reliance], frozenset[TopologyFeature]]:
    """Return the names of a list with commas: those of this protocol, and those on which rolling upgrades depend.

    Raises:
        UpgradeError: A name is none of these.

    >>> [[each.value for each in group] for group in reliances_named("warm-ups, second-thread")]
    [['warm-ups'], ['second-thread']]
    """
    by_name: dict[str, Reliance | TopologyFeature] = {choice.value: choice for choice in (*Reliance, *TopologyFeature)}
    named = [name.strip() for name in names.split(",") if name.strip()]
    if unknown := [name for name in named if name not in by_name]:
        raise UpgradeError(f"unknown feature {quote_input(unknown[0])}: expected {' or '.join(by_name)}")
    if not named:
        raise UpgradeError(f"no feature is named: expected {' or '.join(by_name)}")
    chosen = [by_name[name] for name in named]
    return (
        frozenset(choice for choice in chosen if isinstance(choice, Reliance)),
        frozenset(choice for choice in chosen if isinstance(choice, TopologyFeature)),
    )


@frozen(kw_only=True)
class Facts:
    """What is known of an application and its brokers."""

    absent: frozenset[Reliance] = frozenset()
    seen: frozenset[Reliance] = frozenset()
    """What members of the live group were seen to have."""
    nodes: tuple[DescribedNode, ...] | None = None
    """The nodes of the topology; None: not known."""
    settings: Mapping[str, str] | None = field(default=None, hash=False)
    """The settings of the members; None: not known."""
    broker: tuple[int, ...] | None = None
    """The oldest release of the brokers as numbers, a line if its patch is not known; None: not known."""
    streams_version: int | None = None
    """The finalized level; None: not known."""

    @property
    def present(self) -> frozenset[Reliance]:
        """What the application is known to rely on. Settings of warm-ups do not prove that it relies on them."""
        reliances = set(self.seen)
        if self.settings is not None and setting_of(self.settings, "group.instance.id"):
            reliances.add(Reliance.STATIC_MEMBERS)
        if self.nodes is not None and any(node.has_pattern for node in self.nodes):
            reliances.add(Reliance.PATTERN_SUBSCRIPTIONS)
        return frozenset(reliances)

    @property
    def excluded(self) -> frozenset[Reliance]:
        """What the application is known not to rely on."""
        reliances = set(self.absent)
        if self.nodes is not None:
            reliances.add(Reliance.PATTERN_SUBSCRIPTIONS)
            if not any(node.stores for node in self.nodes):
                reliances.add(Reliance.WARM_UPS)
        return frozenset(reliances)


def judge(target: Release, protocol: Protocol, facts: Facts) -> tuple[JudgedRequirement, ...]:
    """Return every requirement of a change to ``protocol`` with members of ``target``, and whether it holds."""
    if protocol is Protocol.CLASSIC:
        return ()
    return (*_judge_brokers(facts), *(_judge_reliance(reliance, target, facts) for reliance in Reliance))


def _judge_brokers(facts: Facts) -> Iterator[JudgedRequirement]:
    number = facts.broker
    yield JudgedRequirement(BROKER_RELEASE, _status(None if number is None else number >= AVAILABLE))
    level = facts.streams_version
    yield JudgedRequirement(STREAMS_VERSION_RAISED, _status(None if level is None else level >= STREAMS_VERSION_LEVEL))
    is_decided = number not in (None, AVAILABLE)  # of the line 4.2 it is the patch that decides
    yield JudgedRequirement(KAFKA_20254, _status(number[:3] != FIRST_BROKERS if number and is_decided else None))


def _judge_reliance(reliance: Reliance, target: Release, facts: Facts) -> JudgedRequirement:
    row = RELIANCES[reliance]
    if reliance is Reliance.STATIC_MEMBERS and allows_static_members(target, facts):
        return JudgedRequirement(row, RequirementStatus.MET)
    if reliance in facts.present:
        return JudgedRequirement(row, RequirementStatus.BLOCKED)
    return JudgedRequirement(row, RequirementStatus.MET if reliance in facts.excluded else RequirementStatus.OPEN)


def allows_static_members(target: Release, facts: Facts) -> bool:
    """Return whether members of ``target`` can be static in a streams group; False if the brokers are not known."""
    return min(target.number, facts.broker or ()) >= STATIC_MEMBERSHIP


def _status(holds: bool | None) -> RequirementStatus:
    return RequirementStatus.OPEN if holds is None else RequirementStatus.MET if holds else RequirementStatus.BLOCKED


def require_streams_client(release: Release, role: str) -> None:
    """Refuse a release whose members have no streams protocol; ``role`` is ``FROM`` or ``TO``.

    Raises:
        UpgradeError: The release is too old, or none of Kafka's.
    """
    if release.kafka_name and release.number >= AVAILABLE:
        return
    why = f"{release} has an early access version of it" if release.number[:2] == EARLY_ACCESS else f"got {release}"
    raise UpgradeError(f"{GROUP_PROTOCOL}=streams needs a {role} of Kafka Streams 4.2 or later (KIP-1071): {why}")
