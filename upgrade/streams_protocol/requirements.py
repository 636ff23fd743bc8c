"""The requirements before a group changes its protocol: one row per requirement, with what follows otherwise."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from attrs import evolve, field, frozen

from streams_assignor.upgrade.errors import UpgradeError, quote_input
from streams_assignor.upgrade.group_configurations import AVAILABLE, EARLY_ACCESS
from streams_assignor.upgrade.hazards import (
    NAMED_TOPOLOGIES,
    NOT_RUN,
    PATTERN_SOURCES,
    STATIC_AFTERWARDS,
    STORES,
    Answer,
    Application,
    Ask,
    Brokers,
    Concern,
    Condition,
    GroupFacts,
    SettingFacts,
    judge_condition,
)
from streams_assignor.upgrade.releases import Release
from streams_assignor.upgrade.streams_protocol._facts import (
    FIXED_BROKERS,
    GROUP_PROTOCOL,
    STATIC_MEMBERSHIP,
    STREAMS_VERSION_LEVEL,
    Protocol,
)
from streams_assignor.upgrade.streams_protocol._settings import CarriedSetting
from streams_assignor.upgrade.verdict import TopologyFeature


class Reliance(enum.Enum):
    """Something an application can rely on that streams groups lack. The values are those of ``plan --without``."""

    STATIC_MEMBERS = "static-members"
    BROKER_DOWNGRADE = "broker-downgrade"
    PATTERN_SUBSCRIPTIONS = "pattern-subscriptions"
    NAMED_TOPOLOGIES = "named-topologies"
    WARM_UPS = "warm-ups"


class RequirementStatus(enum.Enum):
    """Whether a requirement holds."""

    MET = "met"
    OPEN = "open"
    """Nothing that was given decides it."""
    BLOCKED = "blocked"


_STATUS: Final = {
    Answer.YES: RequirementStatus.BLOCKED,
    Answer.NO: RequirementStatus.MET,
    Answer.UNKNOWN: RequirementStatus.OPEN,
}


@frozen(kw_only=True)
class Requirement:
    """A row."""

    name: str
    """Unique; stays the same when the wording changes."""
    condition: str
    """The condition, as the end of a sentence that begins with "if"."""
    violated: Condition = field(eq=False, repr=False)
    """The opposite for files, groups and brokers."""
    symptom: str
    """The symptom otherwise; an exception is named verbatim."""
    remedy: str
    source: str
    seen: tuple[str, ...] = ()
    """The releases whose jars showed the symptom; empty: it was not run."""
    targets: tuple[int, ...] = ()
    """The first release of members that can meet it; empty: any."""

    @property
    def evidence(self) -> str:
        """Whether real jars showed it, and which."""
        if not self.seen:
            return NOT_RUN
        *others, last = self.seen
        return f"seen with {' and '.join(filter(None, (', '.join(others), last)))}"


@frozen
class JudgedRequirement:
    """A requirement and whether it holds."""

    requirement: Requirement
    concern: Concern
    """Whether it is violated, and how that is known."""

    @property
    def status(self) -> RequirementStatus:
        """Whether it holds."""
        return _STATUS[self.concern.answer]

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        row = self.requirement
        return {
            "name": row.name,
            "status": self.status.value,
            "condition": row.condition,
            "because": list(self.concern.evidence),
            "decided_by": list(self.concern.decided_by),
            "symptom": row.symptom,
            "remedy": row.remedy,
            "source": row.source,
            "evidence": row.evidence,
        }

    def lines(self) -> tuple[str, ...]:
        """Write it as a list item."""
        row, because = self.requirement, "; ".join(self.concern.evidence)
        if self.status is RequirementStatus.MET:
            return (f"- met: {row.condition}{because and f' ({because})'}",)
        open_by = "; ".join(filter(None, (because, *self.concern.decided_by)))
        shown = f"shown by: {because}" if self.status is RequirementStatus.BLOCKED else f"decided by: {open_by}"
        return (
            f"- {self.status.value}: {row.condition}; else {row.symptom}",
            f"    {shown}",
            f"    remedy: {row.remedy}",
            f"    source: {row.source}; {row.evidence}",
        )


BROKER_RELEASE: Final = Requirement(
    name="broker-release",
    condition="every broker is of 4.2 or later",
    violated=Brokers(before=AVAILABLE),
    symptom="brokers before 4.1 do not know the requests (UnsupportedVersionException), those of 4.1 have an early "
    "access version of the protocol",
    remedy="upgrade the brokers first (plan --brokers)",
    source="KIP-1071, upgrade guide of 4.2",
)
STREAMS_VERSION_RAISED: Final = Requirement(
    name="streams-version",
    condition=f"the feature streams.version is {STREAMS_VERSION_LEVEL} or higher",
    violated=Ask("--group (the finalized level)"),
    symptom='every member fails: UnsupportedVersionException "The cluster does not support the STREAMS group protocol"',
    remedy=f"kafka-features upgrade --feature streams.version={STREAMS_VERSION_LEVEL}, when every broker is of 4.2 or "
    "later",
    source="KIP-1071, KIP-584",
    seen=("4.2.2", "4.3.1", "4.4.0"),
)
KAFKA_20254: Final = Requirement(
    name="kafka-20254",
    condition="no broker is of 4.2.0",
    violated=Brokers(AVAILABLE, FIXED_BROKERS),
    symptom="when compaction has removed the tombstone of the classic group, a coordinator of 4.2.0 cannot load its "
    'partition of __consumer_offsets (IllegalStateException "Group NAME is not a streams group"), and no group of that '
    "partition works",
    remedy="upgrade every broker to 4.2.1 or later first (plan --brokers)",
    source="KAFKA-20254, upgrade guide of 4.2",
    seen=("4.2.0",),
)
GROUP_LIMITS: Final = Requirement(
    name="group-limits",
    condition="every broker accepts the values of the kafka-configs line",
    violated=Ask("--group (the limits of each broker)"),
    symptom="kafka-configs fails, and the group has the values of the brokers",
    remedy="compare the values with the limits that the brokers did not tell, or let the user describe their "
    "configurations",
    source="KIP-1071, KIP-848",
)
RELIANCES: Final[Mapping[Reliance, Requirement]] = {
    Reliance.STATIC_MEMBERS: Requirement(
        name=Reliance.STATIC_MEMBERS.value,
        condition="the application has no static members, or clients and brokers are of 4.4 or later",
        violated=STATIC_AFTERWARDS,
        symptom='members do not start: ConfigException "Streams rebalance protocol does not support static membership"',
        remedy="remove group.instance.id, or stay on the classic protocol until clients and brokers are of 4.4; older "
        "brokers end a static member of 4.4 with INVALID_REQUEST",
        source="KIP-1071",
        seen=("4.2.2", "4.3.1"),
    ),
    Reliance.BROKER_DOWNGRADE: Requirement(
        name=Reliance.BROKER_DOWNGRADE.value,
        condition="no broker goes back to a release before 4.4 while the application has static members",
        violated=STATIC_AFTERWARDS & Ask("whether a broker may go back to a release before 4.4"),
        symptom='every static member ends: InvalidRequestException "Static membership is not yet supported."',
        remedy="remove group.instance.id from all members, and restart them, before the first broker goes back",
        source="upgrade guide of 4.4",
        seen=("4.4.0 on 4.3.1",),
        targets=STATIC_MEMBERSHIP,
    ),
    Reliance.PATTERN_SUBSCRIPTIONS: Requirement(
        name=Reliance.PATTERN_SUBSCRIPTIONS.value,
        condition="the topology has no pattern of source topics",
        violated=PATTERN_SOURCES,
        symptom='members do not start: UnsupportedOperationException "Pattern subscriptions are not supported with '
        'the STREAMS protocol"',
        remedy="name the topics, or stay on the classic protocol",
        source="KIP-1071",
        seen=("4.2.2", "4.3.1", "4.4.0"),
    ),
    Reliance.NAMED_TOPOLOGIES: Requirement(
        name=Reliance.NAMED_TOPOLOGIES.value,
        condition="the application has no named topologies",
        violated=NAMED_TOPOLOGIES,
        symptom='members do not start: UnsupportedOperationException "Named topologies are not supported with the '
        'STREAMS protocol"',
        remedy="stay on the classic protocol, or make each of them an application of its own",
        source="KIP-1071",
    ),
    Reliance.WARM_UPS: Requirement(
        name=Reliance.WARM_UPS.value,
        condition="the application does not rely on warm-up tasks",
        violated=STORES & Ask("whether you rely on warm-up tasks: --without warm-ups says that you do not"),
        symptom="a task moves at once to a member without its store, and processes nothing until it is restored",
        remedy="stay on the classic protocol, or set streams.num.standby.replicas for members that fail; a new member "
        "restores all the same, with brokers of 4.4.0 too",
        source="KIP-1071, KAFKA-20665",
    ),
}


REQUIREMENTS: Final = (BROKER_RELEASE, STREAMS_VERSION_RAISED, KAFKA_20254, *RELIANCES.values(), GROUP_LIMITS)
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
    """The known facts of an application and its brokers."""

    applications: tuple[Application, ...] = (Application(),)
    """Its files and its group: once, or for each condition under which it has other settings."""
    absent: frozenset[Reliance] = frozenset()
    """The features on which it does not rely, as a user says."""
    streams_version: int | None = None
    """The finalized level; None: not known."""
    limits: Mapping[str, int] = field(factory=dict, hash=False)
    """The limits of configurations of groups, by the names of the brokers' configurations, as far as they are known."""
    told: Mapping[int, frozenset[str]] = field(factory=dict, hash=False)
    """The names of the limits that each broker told; empty if none was asked."""

    @property
    def settings(self) -> tuple[SettingFacts, ...] | None:
        """The settings of the members: without conditions, then under each condition; None: not known."""
        known = tuple(application.settings for application in self.applications if application.settings)
        return known or None

    @property
    def group(self) -> GroupFacts:
        """The live group."""
        return self.applications[0].group or GroupFacts("")

    @property
    def broker(self) -> tuple[int, ...] | None:
        """The oldest release of the brokers as numbers, a line if its patch is not known; None: not known."""
        return self.group.brokers[0] if self.group.brokers else None

    def with_brokers(self, oldest: tuple[int, ...]) -> Facts:
        """Return these facts with the oldest release of the brokers, as a user says."""
        return self.with_group(evolve(self.group, brokers=(oldest, oldest)))

    def with_group(self, group: GroupFacts) -> Facts:
        """Return these facts with what a cluster shows."""
        return evolve(self, applications=tuple(evolve(application, group=group) for application in self.applications))


def judge(target: Release, protocol: Protocol, facts: Facts) -> tuple[JudgedRequirement, ...]:
    """Return every requirement of a change to ``protocol`` with members of ``target``, and whether it holds."""
    if protocol is Protocol.CLASSIC:
        return ()
    return (*_judge_brokers(facts), *_judge_application(target, facts))


def judge_limits(settings: Sequence[CarriedSetting], facts: Facts) -> Iterator[JudgedRequirement]:
    """Yield that the brokers accept what is set, if there is one that did not tell a limit of it."""
    names = dict.fromkeys(name for setting in settings for name in setting.compared_with)
    untold = {name: [str(broker) for broker, told in sorted(facts.told.items()) if name not in told] for name in names}
    by = tuple(f"{name}, which broker {', '.join(brokers)} did not tell" for name, brokers in untold.items() if brokers)
    if by:
        yield JudgedRequirement(GROUP_LIMITS, Concern(Answer.UNKNOWN, decided_by=by))


def _judge_brokers(facts: Facts) -> Iterator[JudgedRequirement]:
    for row in (BROKER_RELEASE, KAFKA_20254):
        yield JudgedRequirement(row, concern_of(row.violated, facts))
        if row is BROKER_RELEASE:
            yield JudgedRequirement(STREAMS_VERSION_RAISED, _judge_level(facts.streams_version))


def concern_of(condition: Condition, facts: Facts) -> Concern:
    """Return whether a condition holds; of the brokers, with the options that would tell."""
    concern = judge_condition(condition, facts.applications)
    options = (_BROKERS_OPTION if text.endswith(_OF_BROKERS) else text for text in concern.decided_by)
    return evolve(concern, decided_by=tuple(options))


_OF_BROKERS: Final = "(the release of the brokers)"
_BROKERS_OPTION: Final = f"--broker-release or --group {_OF_BROKERS}"


def _judge_level(level: int | None) -> Concern:
    if level is None:
        return Concern(Answer.UNKNOWN, decided_by=("--group (the finalized level of streams.version)",))
    return Concern(Answer.NO if level >= STREAMS_VERSION_LEVEL else Answer.YES, (f"streams.version is {level}",))


def _judge_application(target: Release, facts: Facts) -> Iterator[JudgedRequirement]:
    for reliance, row in RELIANCES.items():
        if target.number < row.targets:
            continue
        violated = row.violated
        if reliance is Reliance.STATIC_MEMBERS and target.number >= STATIC_MEMBERSHIP:
            violated &= Brokers(before=STATIC_MEMBERSHIP)
        concern = concern_of(violated, facts)
        if concern.answer is Answer.UNKNOWN and reliance in facts.absent:
            concern = Concern(Answer.NO, (f"--without {reliance.value}",))
        yield JudgedRequirement(row, concern)


def require_streams_client(release: Release, role: str) -> None:
    """Refuse a release whose members have no streams protocol; ``role`` is ``FROM`` or ``TO``.

    Raises:
        UpgradeError: The release is too old, or none of Kafka's.
    """
    if release.kafka_name and release.number >= AVAILABLE:
        return
    why = f"{release} has an early access version of it" if release.number[:2] == EARLY_ACCESS else f"got {release}"
    raise UpgradeError(f"{GROUP_PROTOCOL}=streams needs a {role} of Kafka Streams 4.2 or later (KIP-1071): {why}")
