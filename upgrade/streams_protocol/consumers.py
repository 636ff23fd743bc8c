"""A group of plain consumers changes from the classic to the consumer protocol (KIP-848): requirements, steps, checks.

Sources: KIP-848, the classes of brokers and clients (``tests/upgrade/streams_protocol/test_consumer_protocol_java.py``)
and what real groups of each client did (``tests/lab/integration/test_consumer_protocol.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from attrs import field, frozen

from streams_assignor.upgrade.application.live_group import LiveGroup
from streams_assignor.upgrade.application.setting_files import is_placeholder
from streams_assignor.upgrade.cluster.features.rpc import FeatureMetadata
from streams_assignor.upgrade.group_configurations import CONSUMER_SETTINGS, MIGRATION_POLICY
from streams_assignor.upgrade.hazards import (
    Answer,
    Ask,
    Brokers,
    Concern,
    Setting,
    WayBack,
    WayBackVerdict,
)
from streams_assignor.upgrade.plans import Plan
from streams_assignor.upgrade.streams_protocol._commands import Target
from streams_assignor.upgrade.streams_protocol._settings import (
    CarriedSetting,
    LostSetting,
    carried_settings,
    limits_of,
    stated,
)
from streams_assignor.upgrade.streams_protocol.planner import MigrationStep, configure_step
from streams_assignor.upgrade.streams_protocol.preflight import (
    STREAMS_PROTOCOL_NAME,
    Check,
    Level,
    broker_text,
    line_of,
    unseen_group,
)
from streams_assignor.upgrade.streams_protocol.requirements import (
    Facts,
    JudgedRequirement,
    Requirement,
    RequirementStatus,
    concern_of,
    judge_limits,
)
from streams_assignor.upgrade.verdict import Verdict

CONSUMER_PROTOCOL: Final = "consumer"
"""The value of ``group.protocol``, and the type of the group."""
_AVAILABLE: Final = (4, 0)
_GROUP_VERSION: Final = "group.version"
_CLASSIC: Final = "classic"
_STRATEGY: Final = "partition.assignment.strategy"
_RANGE: Final = frozenset({"range", "org.apache.kafka.clients.consumer.RangeAssignor"})
_WITH_USERDATA: Final = "cooperative-sticky"
_BACKWARDS: Final = frozenset({"bidirectional", "downgrade"})
_FORWARDS: Final = frozenset({"bidirectional", "upgrade"})
_SOURCE: Final = "KIP-848"

REMOVED_SETTINGS: Final[Mapping[str, str]] = {
    _STRATEGY: "the brokers assign; group.remote.assignor names another assignor of theirs",
    "session.timeout.ms": "consumer.session.timeout.ms of the group replaces it",
    "heartbeat.interval.ms": "consumer.heartbeat.interval.ms of the group replaces it",
    "group.protocol.type": "librdkafka only",
}
"""Settings with which no consumer starts (Java: ConfigException, librdkafka: _INVALID_ARG), and what replaces each."""

_BROKERS: Final = Requirement(
    name="broker-release",
    condition="every broker is of 4.0 or later",
    violated=Brokers(before=_AVAILABLE),
    symptom="brokers before 4.0 do not know the requests, or have a preview that is switched off and converts no group",
    remedy="upgrade the brokers first (plan --brokers)",
    source="KIP-848, upgrade guide of 4.0",
)
_VERSION: Final = Requirement(
    name="group-version",
    condition="the feature group.version is 1 or higher",
    violated=Ask("--group (the finalized level of group.version)"),
    symptom="every new member fails: UnsupportedVersionException",
    remedy="kafka-features upgrade --feature group.version=1, when every broker is of 4.0 or later",
    source="KIP-848, KIP-584",
)
_CLIENTS: Final = Requirement(
    name="client-release",
    condition="every member is a Java client of 4.0 or later, or librdkafka of 2.12 or later (confluent-kafka 2.12)",
    violated=Ask("the libraries of the members; kafka-python 3.0.12 and aiokafka 0.14.0 have no group.protocol"),
    symptom="a member of another library stays classic, and with it the group is never through",
    seen=("4.4.0",),
    remedy="upgrade the library, or replace it: classic members and new ones share the group meanwhile",
    source="KIP-848",
)
_POLICY: Final = Requirement(
    name="migration-policy",
    condition=f"{MIGRATION_POLICY} of the brokers is bidirectional, the default, or upgrade",
    violated=Ask(f"--group ({MIGRATION_POLICY})"),
    symptom="a group with classic members takes no new one: GROUP_ID_NOT_FOUND",
    remedy="set it on the brokers, or give --offline",
    source=_SOURCE,
)
_USERDATA: Final = Requirement(
    name="no-userdata",
    condition="no assignment has userdata, as those of librdkafka's cooperative-sticky have after a rebalance",
    violated=Ask("--group (its assignments, after a rebalance with all members)"),
    symptom="the first new member ends: GROUP_ID_NOT_FOUND",
    remedy="give --offline",
    source="KAFKA-18134",
    seen=("4.4.0",),
)

_START: Final = "{how} with group.protocol=consumer{assignor}, without {removed}"
_REMOTE_RANGE: Final = {
    Answer.YES: " and group.remote.assignor=range",
    Answer.NO: "",
    Answer.UNKNOWN: " and, if members assign by range now, group.remote.assignor=range",
}
_ONLINE: Final = "restart the members one by one"
_ONLINE_WHY: Final = "the first new member makes the group one of the consumer protocol, in which classic members go on"
_ONLINE_SKIPPED: Final = "members stay classic; a member with one of these settings does not start"
_CONFIGURE_WHY: Final = (
    "brokers have the timeouts of a consumer group; a classic group ignores the configurations, so they can be set "
    "before"
)
_STOP: Final = "stop every member, and wait until the group is empty"
_STOP_WHY: Final = "an empty group takes the protocol of the first member that joins, and keeps its committed offsets"
_STOP_SKIPPED: Final = "while a classic member is left, every new member can fail: GROUP_ID_NOT_FOUND"
_BACK: Final = "restart the members one by one with group.protocol=classic and the settings of before"
_BACK_MORE: Final = "; the group is a classic one again when the last new member has left"
_BACK_IF: Final = f", if {MIGRATION_POLICY} is bidirectional or downgrade"
_BACK_OFFLINE: Final = "stop every member, wait until the group is empty, and start all as before"
_RANGE_NOTE: Final = (
    "{given} by range: without group.remote.assignor=range the brokers take uniform, and one member no longer "
    "gets the same partition of each topic"
)
_UNTOLD_NOTE: Final = (
    f"{{where}} does not tell the value of {_STRATEGY}: if it is range, give group.remote.assignor=range, too, and if "
    f"it is librdkafka's {_WITH_USERDATA}, give --offline"
)
_OWN_NOTE: Final = (
    "{where} names the assignor {given}, which no broker has: members get uniform, unless one like it is installed on "
    "the brokers (group.consumer.assignors)"
)


_CHECK: Final = "check that the group is of type consumer, that no member is classic, and that lags fall"
_CHECK_WHY: Final = "as long as one member is classic, the group rebalances by its rules"
_CHECK_SKIPPED: Final = "a member that was forgotten stays classic, until the protocol ends with 6.0 (KIP-1274)"


@frozen(kw_only=True)
class SeenConsumers:
    """The view of a cluster: the group and its brokers."""

    brokers: Mapping[int, FeatureMetadata]
    group: LiveGroup | None
    """None if it does not exist."""
    policies: Mapping[int, str] = field(factory=dict, hash=False)
    """The migration policy of each broker; empty of one that did not tell it."""


@frozen(kw_only=True)
class ConsumerMigration:
    """The plan."""

    judgements: tuple[JudgedRequirement, ...]
    steps: tuple[MigrationStep, ...]
    settings: tuple[CarriedSetting, ...]
    removed: tuple[LostSetting, ...]
    warnings: tuple[str, ...]
    checks: tuple[Check, ...] = ()
    """The findings about the live group."""
    offline: str = ""
    """Why the group has to stop; empty if its members change one by one."""
    is_there: bool = False
    """Whether every member has the protocol already."""

    is_looked_at: bool = False
    """Whether settings or a live group are given, which leave open what is open."""

    @property
    def verdict(self) -> Verdict:
        """``UNSAFE`` if something blocks; if something is open ``UNKNOWN``, or ``SAFE_IF`` if the plan is for any."""
        statuses = {judgement.status for judgement in self.judgements}
        if RequirementStatus.BLOCKED in statuses or any(check.level is Level.BLOCKED for check in self.checks):
            return Verdict.UNSAFE
        if RequirementStatus.OPEN not in statuses:
            return Verdict.SAFE
        return Verdict.UNKNOWN if self.is_looked_at else Verdict.SAFE_IF

    @property
    def conditions(self) -> tuple[str, ...]:
        """The names of what blocks or, if nothing does, of what is open."""
        wanted = RequirementStatus.BLOCKED if self.verdict is Verdict.UNSAFE else RequirementStatus.OPEN
        names = [check.name for check in self.checks if check.level is Level.BLOCKED]
        names += [judged.requirement.name for judged in self.judgements if judged.status is wanted]
        return tuple(dict.fromkeys(names))

    @property
    def headline(self) -> str:
        """The first line in every form."""
        way = "online: one rolling bounce, member by member"
        if self.is_there:
            way = "every member has it already, nothing to change"
        elif self.offline:
            way = f"offline: stop everything, then start everything ({self.offline})"
        names = ", ".join(self.conditions)
        blocked = self.verdict is Verdict.UNSAFE
        reason = names and (f"; blocked by {names}" if blocked else f", if these hold: {names}")
        return f"classic to consumer protocol: {self.verdict.words}: {way}{reason}"

    def as_json(self) -> dict[str, Any]:
        """Return plain values, with the keys of other plans; ``preflight`` only if there is a live group to check."""
        plain: dict[str, Any] = {
            "from": None,
            "to": None,
            "from_protocol": _CLASSIC,
            "to_protocol": CONSUMER_PROTOCOL,
            "verdict": self.verdict.value,
            "conditions": list(self.conditions),
            "headline": self.headline,
            "plan": (Plan.OFFLINE if self.offline else Plan.ONE_BOUNCE).value,
            "requirements": [judgement.as_json() for judgement in self.judgements],
            "steps": [step.as_json() for step in self.steps],
            "settings": [setting.as_json() for setting in self.settings],
            "removed": [setting.as_json() for setting in self.removed],
            "warnings": list(self.warnings),
        }
        return plain | ({"preflight": [check.as_json() for check in self.checks]} if self.checks else {})


def plan_consumers(
    facts: Facts, at: Target, seen: SeenConsumers | None = None, *, offline: bool = False
) -> ConsumerMigration:
    """Return the plan; ``offline``: the group may stop, also where it need not.

    Raises:
        ConfigException: A timeout in the settings is not a number that Kafka accepts.
    """
    settings = carried_settings(facts.settings, facts.limits, CONSUMER_SETTINGS)
    removed = tuple(
        LostSetting(name, given[0].where, consequence)
        for name, consequence in REMOVED_SETTINGS.items()
        if (given := stated(name, facts.settings))
    )
    group = seen.group if seen else None
    why = "--offline" if offline else _why_offline(facts, seen)
    checks = tuple(_checks(at.group, seen, why)) if seen else ()
    is_there = bool(group and group.type == CONSUMER_PROTOCOL and group.members and not group.classic)
    if is_there:
        return ConsumerMigration(
            judgements=(), steps=(), settings=(), removed=(), warnings=(), checks=checks, is_there=True
        )
    return ConsumerMigration(
        judgements=(*_judge(facts, seen, is_online=not why), *judge_limits(settings, facts)),
        steps=tuple(_Steps(at, settings, removed, _has_range(facts, group), bool(why), seen).steps()),
        settings=settings,
        removed=removed,
        warnings=tuple(_notes(facts, group, settings)),
        checks=checks,
        offline=why,
        is_looked_at=seen is not None or facts.settings is not None,
    )


def _why_offline(facts: Facts, seen: SeenConsumers | None) -> str:
    """Say why no coordinator converts the group while it has members, or need not; empty if nothing shows that."""
    if seen and seen.group and not (seen.group.members or seen.group.error):
        return "it has no members"
    if seen and seen.group and seen.group.userdata:
        return "assignments have userdata, KAFKA-18134"
    if forbidden := _policies(seen, allowed=_FORWARDS):
        return f"{MIGRATION_POLICY} is {forbidden}"
    given = [
        name for setting in stated(_STRATEGY, facts.settings) for name in _names(setting) if name == _WITH_USERDATA
    ]
    return f"librdkafka's {given[0]} puts userdata into assignments, KAFKA-18134" if given else ""


def _policies(seen: SeenConsumers | None, *, allowed: frozenset[str] = frozenset()) -> str:
    """Write the known policies that are not allowed, each with its brokers if not all brokers have it."""
    brokers: dict[str, list[str]] = {}
    for number, policy in sorted(seen.policies.items() if seen else ()):
        brokers.setdefault(policy.lower(), []).append(str(number))
    known = {policy: numbers for policy, numbers in brokers.items() if policy and policy not in allowed}
    if len(brokers) == 1:
        return "".join(known)
    return "; ".join(f"{policy} on broker {', '.join(numbers)}" for policy, numbers in known.items())


def _names(setting: Setting) -> list[str]:
    """Return the assignors that a setting names, the first one first; a placeholder is none."""
    names = (name.strip() for name in setting.value.split(","))
    return [name for name in names if name and not is_placeholder(name)]


def _is_told(setting: Setting) -> bool:
    """Whether a setting tells the assignor: it has no placeholder, whose default is not what members have for sure."""
    return setting.reaches_kafka and not setting.is_default and not is_placeholder(setting.value)


def _has_range(facts: Facts, group: LiveGroup | None) -> Answer:
    """Whether the group assigns by range, or its settings say so; the default of Java and librdkafka does."""
    if group and group.protocol:
        return Answer.YES if group.protocol in _RANGE else Answer.NO
    given = stated(_STRATEGY, facts.settings)
    if not all(map(_is_told, given)):
        return Answer.UNKNOWN
    firsts = {(_names(setting) or ["range"])[0] in _RANGE for setting in given} or {True}
    return Answer.UNKNOWN if len(firsts) > 1 else Answer.YES if firsts == {True} else Answer.NO


def _notes(facts: Facts, group: LiveGroup | None, settings: tuple[CarriedSetting, ...]) -> Iterator[str]:
    if facts.settings is None:
        yield "give the settings of a member with --config, and the steps name those that have to go"
    yield from limits_of(settings)
    given = stated(_STRATEGY, facts.settings)
    if _has_range(facts, group) is Answer.YES:
        is_shown = given or (group and group.protocol)
        yield _RANGE_NOTE.format(given="the members assign" if is_shown else "by default Java and librdkafka assign")
    for setting in given:
        if not _is_told(setting):
            yield _UNTOLD_NOTE.format(where=setting.where)
        for name in _names(setting):
            if name.rpartition(".")[2] not in _KNOWN:
                yield _OWN_NOTE.format(where=setting.where, given=name)


_KNOWN: Final = frozenset(
    {"range", "roundrobin", _WITH_USERDATA}
    | {f"{name}Assignor" for name in ("Range", "RoundRobin", "Sticky", "CooperativeSticky")}
)


_WITHOUT_USERDATA: Final = frozenset({"range", "roundrobin", "sticky"})
"""Assignors whose assignments have none, whichever library has them: each was run."""


def _judge(facts: Facts, seen: SeenConsumers | None, *, is_online: bool) -> Iterator[JudgedRequirement]:
    yield JudgedRequirement(_BROKERS, concern_of(_BROKERS.violated, facts))
    known = [broker.finalized for broker in (seen.brokers if seen else {}).values() if broker.epoch is not None]
    level = min((finalized.get(_GROUP_VERSION, 0) for finalized in known), default=None)
    shown = None if level is None else Concern(Answer.NO if level else Answer.YES, (f"{_GROUP_VERSION} is {level}",))
    yield JudgedRequirement(_VERSION, shown or concern_of(_VERSION.violated, facts))
    yield JudgedRequirement(_CLIENTS, concern_of(_CLIENTS.violated, facts))
    if not is_online:
        return
    yield JudgedRequirement(_POLICY, _policy(facts, seen))
    yield JudgedRequirement(_USERDATA, _userdata(facts, seen.group if seen else None))


def _policy(facts: Facts, seen: SeenConsumers | None) -> Concern:
    """Return whether a broker forbids the change, which no known policy does if it is online."""
    evidence = (f"it is {known}",) if (known := _policies(seen)) else ()
    if silent := [str(number) for number, policy in sorted(seen.policies.items() if seen else ()) if not policy]:
        return Concern(Answer.UNKNOWN, evidence, (f"broker {', '.join(silent)}, which did not tell it",))
    return Concern(Answer.NO, evidence) if evidence else concern_of(_POLICY.violated, facts)


def _userdata(facts: Facts, group: LiveGroup | None) -> Concern:
    """Return whether assignments may have userdata; those of the group were none if it is online."""
    if group is None or not group.protocol:
        return concern_of(_USERDATA.violated, facts)
    if group.protocol == _WITH_USERDATA:
        return Concern(Answer.UNKNOWN, decided_by=("whether a member is of librdkafka: then give --offline",))
    if group.protocol not in _WITHOUT_USERDATA:
        return Concern(Answer.UNKNOWN, decided_by=(f"whether the assignor {group.protocol} ever has any",))
    return Concern(Answer.NO, (f"the assignor is {group.protocol}, and no assignment has any",))


@frozen
class _Steps:
    """The parts of the steps."""

    at: Target
    settings: tuple[CarriedSetting, ...]
    removed: tuple[LostSetting, ...]
    has_range: Answer
    is_offline: bool
    seen: SeenConsumers | None

    def steps(self) -> Iterator[MigrationStep]:
        """Yield the steps in order."""
        if self.settings:
            yield configure_step(self.at, self.settings, _CONFIGURE_WHY, _SOURCE)
        removed = ", ".join(f"{setting.name} ({setting.where})" for setting in self.removed)
        words = {
            "assignor": _REMOTE_RANGE[self.has_range],
            "removed": removed or ", ".join(REMOVED_SETTINGS),
        }
        if self.is_offline:
            again = WayBack(WayBackVerdict.OPEN, "start every member as before", _SOURCE)
            yield MigrationStep(_STOP, _STOP_WHY, _STOP_SKIPPED, again, _SOURCE, (self.at.wait_until_empty(),))
            do = _START.format(how="start every member", **words)
            yield MigrationStep(do, _STOP_WHY, "nothing is processed", self._way_back(), _SOURCE)
        else:
            do, wait = _START.format(how=_ONLINE, **words), self.at.wait_until_stable()
            yield MigrationStep(do, _ONLINE_WHY, _ONLINE_SKIPPED, self._way_back(), _SOURCE, (wait,))
        commands = (self.at.wait_until_stable(), self.at.show_members(), self.at.show_offsets("kafka-consumer-groups"))
        yield MigrationStep(_CHECK, _CHECK_WHY, _CHECK_SKIPPED, self._way_back(), _SOURCE, commands)

    def _way_back(self) -> WayBack:
        """Return the way back: online, unless the policy of the brokers forbids it."""
        if forbidden := _policies(self.seen, allowed=_BACKWARDS):
            return WayBack(WayBackVerdict.OFFLINE, f"{_BACK_OFFLINE} ({MIGRATION_POLICY} is {forbidden})", _SOURCE)
        is_known = self.seen and self.seen.policies and all(self.seen.policies.values())
        unless = "" if is_known else _BACK_IF
        return WayBack(WayBackVerdict.OPEN, f"{_BACK}{_BACK_MORE}{unless}", _SOURCE, _BACK + unless)


def _checks(name: str, seen: SeenConsumers, offline: str) -> Iterator[Check]:
    for number, features in sorted(seen.brokers.items()):
        line = line_of(features)
        level = Level.BLOCKED if line < _AVAILABLE else Level.OK
        yield Check("broker-release", level, broker_text(number, features))
    group = seen.group
    if group is None or group.error:
        yield unseen_group(name, group.error if group else "")
        return
    yield _check_type(name, group)
    if group.classic:
        yield Check("classic-members", Level.WARNING, f"members still classic: {', '.join(group.classic)}")
    if group.userdata:
        text = f"userdata in the assignments of {', '.join(group.userdata)}: the group cannot be converted online"
        yield Check("no-userdata", Level.WARNING, text)
    stop = "; all of them have to stop" if offline and group.members else ""
    yield Check("group-state", Level.OK, f"{group.state}, members: {len(group.members)}{stop}")


def _check_type(name: str, group: LiveGroup) -> Check:
    if group.type == CONSUMER_PROTOCOL:
        return Check("group-type", Level.OK, f"{name} is a {group.type} group already")
    if group.type != _CLASSIC or group.protocol_type not in {"", CONSUMER_PROTOCOL}:
        kind = group.type if group.type != _CLASSIC else group.protocol_type
        return Check("group-type", Level.BLOCKED, f"{name} is a group of {kind}, expected plain consumers")
    if group.protocol == STREAMS_PROTOCOL_NAME:
        text = f"the members of {name} run Kafka Streams, which refuses it: --to-protocol streams is for them"
        return Check("group-type", Level.BLOCKED, text)
    return Check("group-type", Level.OK, f"{name} is a classic group{group.protocol and f', {group.protocol}'}")
