"""The steps with which a group changes its protocol: offline, in either direction.

Sources: KIP-1071, the upgrade guides and the developer guide of 4.2 and 4.3, and what real groups did
(docs/how-to/streams-protocol.md lists what was run).
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any, Final

from attrs import field, frozen

from upgrade.errors import UpgradeError
from upgrade.hazards import (
    Hazard,
    StepKind,
    WayBack,
    WayBackVerdict,
    count_by_severity,
    hazards_between,
    order_hazards,
    way_back,
)
from upgrade.planner import Advice, advise
from upgrade.plans import Plan, Upgrade
from upgrade.releases import Release
from upgrade.streams_protocol._commands import Target
from upgrade.streams_protocol._facts import AVAILABLE, EARLY_ACCESS, GROUP_PROTOCOL, SURVIVALS, Protocol
from upgrade.streams_protocol._requirements import (
    Facts,
    JudgedRequirement,
    RequirementStatus,
    judge,
    require_streams_client,
)
from upgrade.streams_protocol._settings import CarriedSetting, carried_settings, ignored_settings
from upgrade.verdict import UNKNOWN_TOPOLOGY, TopologyFacts, Verdict

_SOURCE: Final = "KIP-1071, upgrade guide of 4.2"
_COVERED_HAZARD: Final = "streams-groups-of-4.2.0"
"""A requirement says the same."""


class _Text(enum.StrEnum):
    """The texts of steps and notes, as templates."""

    CONFIGURE = "set the group configurations that replace settings of the members"
    CONFIGURE_WHY = (
        "brokers assign the tasks of a streams group, and ignore these settings of members; a classic group ignores "
        "the configurations, so they can be set before it stops"
    )
    CONFIGURE_BACK = "remove the configurations, or leave them: a classic group ignores them"
    STOP = "stop every member of {origin}, and wait until the group is empty"
    STOP_WHY = "a group has one protocol, and only an empty group changes it: there is no online migration"
    STOP_CLASSIC_WHY = STOP_WHY + (
        "; a classic member that is closed does not leave, so the group is empty when the last session has timed out"
    )
    STOP_SKIPPED_STREAMS = (
        'while a classic member is left, every new member fails: GROUP_ID_NOT_FOUND "Group {group} is not a streams '
        'group"'
    )
    STOP_SKIPPED_CLASSIC = (
        "while a member of the streams group is left, every new member fails: InconsistentGroupProtocolException"
    )
    STOP_BACK = "start every member as {origin} again, with {option}"
    START = "start every member as {target} with {option}"
    START_WHY = "the first member that joins turns the empty group into a {protocol} group, with its committed offsets"
    START_CLASSIC_WHY = START_WHY + "; the settings of the members have effect again"
    START_SKIPPED = "nothing is processed, and committed offsets expire after offsets.retention.minutes"
    START_BACK = (
        "no bounce leads back: stop every member, wait until the group is empty, and start every member as {origin} "
        "with {option}"
    )
    CHECK = "check that the group is a {protocol} group, has its tasks and standby tasks, and that lags fall"
    CHECK_WHY = "a {protocol} group starts anew: it has the committed offsets, and nothing else of the group before"
    CHECK_SKIPPED = "a group without standby tasks, or one that waits for topics (NotReady), is not noticed"
    REMOVE = "remove the group configurations"
    REMOVE_WHY = "a classic group ignores them, and a later streams group of this name would have them"
    REMOVE_SKIPPED = "nothing, until the group is a streams group again"
    REMOVE_BACK = "set them again"

    NO_SETTINGS = "give the settings of the members with --config, and the printed kafka-configs line has their values"
    LIMITED = (
        "{setting}={given} is outside what brokers accept of {configuration} unless {limit} is changed: the line sets "
        "{applied}"
    )
    NO_EFFECT = "{setting} has no effect with the streams protocol: {consequence}"
    TOPOLOGY = (
        "a streams group accepts no other topology while it exists (KAFKA-20170): deploy a changed topology with the "
        "classic protocol, before or after"
    )
    EARLIER = "the release changes first, under the classic protocol: {origin} has no streams protocol"


@frozen
class MigrationStep:
    """One step; of a rolling upgrade it has no commands."""

    do: str
    why: str
    if_skipped: str
    way_back: WayBack
    source: str
    commands: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return plain values; ``commands`` only if there are any."""
        plain: dict[str, Any] = {
            "do": self.do,
            "why": self.why,
            "if_skipped": self.if_skipped,
            "way_back": self.way_back.as_json(),
            "source": self.source,
        }
        return plain | ({"commands": list(self.commands)} if self.commands else {})


@frozen(kw_only=True)
class Migration:
    """The plan of a change of the protocol."""

    origin: Release
    target: Release
    protocol: Protocol
    """The protocol afterwards."""
    judgements: tuple[JudgedRequirement, ...]
    steps: tuple[MigrationStep, ...]
    settings: tuple[CarriedSetting, ...]
    warnings: tuple[str, ...]
    hazards: tuple[Hazard, ...]
    first: Advice | None = field(default=None)
    """The rolling upgrade under the classic protocol that comes before; None if there is none."""

    @property
    def verdict(self) -> Verdict:
        """``UNSAFE`` if something blocks; ``SAFE_IF`` if a requirement, or the rolling upgrade, is open."""
        statuses = {judgement.status for judgement in self.judgements}
        before = self.first.guidance.verdict if self.first else Verdict.SAFE
        if RequirementStatus.BLOCKED in statuses or before is Verdict.UNSAFE:
            return Verdict.UNSAFE
        return Verdict.SAFE_IF if RequirementStatus.OPEN in statuses or before is Verdict.SAFE_IF else Verdict.SAFE

    @property
    def beyond_metadata(self) -> dict[str, int]:
        """How many hazards there are of each severity: the verdict says nothing of them."""
        return count_by_severity(self.hazards)

    @property
    def conditions(self) -> tuple[str, ...]:
        """The names of what is open, or, if something blocks, of what blocks."""
        wanted = RequirementStatus.BLOCKED if self.verdict is Verdict.UNSAFE else RequirementStatus.OPEN
        before = self.first.guidance.conditions if self.first and self.first.guidance.verdict is self.verdict else ()
        return (*before, *(judgement.requirement.name for judgement in self.judgements if judgement.status is wanted))

    def as_json(self) -> dict[str, Any]:
        """Return plain values, with the keys of other plans and those of this one."""
        return {
            "from": self.origin.name,
            "to": self.target.name,
            "from_protocol": self.protocol.other.value,
            "to_protocol": self.protocol.value,
            "verdict": self.verdict.value,
            "conditions": list(self.conditions),
            "plan": Plan.OFFLINE.value,
            "upgrade_from": self.first.upgrade_from if self.first else None,
            "first": self.first.plan.value if self.first else None,
            "requirements": [judgement.as_json() for judgement in self.judgements],
            "steps": [step.as_json() for step in self.steps],
            "settings": [setting.as_json() for setting in self.settings],
            "survives": [
                {
                    "what": survival.what,
                    "survives": survival.survives,
                    "how": survival.how,
                    "evidence": survival.evidence,
                }
                for survival in SURVIVALS
            ],
            "warnings": list(self.warnings),
            "hazards": [hazard.as_json() for hazard in self.hazards],
            "beyond_metadata": self.beyond_metadata,
        }


def plan_migration(
    origin: Release,
    target: Release,
    protocol: Protocol,
    facts: Facts,
    at: Target,
    *,
    offline: bool = False,
    topology: TopologyFacts = UNKNOWN_TOPOLOGY,
) -> Migration:
    """Return the plan with which a group changes to ``protocol``, and from one release to the other if they differ.

    A group of a release without streams protocol is first upgraded under the classic one, except ``offline``.

    Raises:
        UpgradeError: The release that has to run the streams protocol does not have it, or a setting is no number.

    >>> from upgrade.releases import release_named
    >>> new = release_named("4.3.1")
    >>> str(plan_migration(new, new, Protocol.CLASSIC, Facts(), Target()).steps[1].do)
    'start every member as 4.3.1 with group.protocol=classic'
    """
    to_streams = protocol is Protocol.STREAMS
    require_streams_client(*((target, "TO") if to_streams else (origin, "FROM")))
    if not target.kafka_name or not origin.kafka_name:
        raise UpgradeError(f"a change of the protocol is planned for releases of Kafka, got {origin} and {target}")
    needs_upgrade = to_streams and origin.number < AVAILABLE and not offline
    first = advise(origin, target, facts=topology) if needs_upgrade else None
    start = target if first else origin
    settings = carried_settings(facts.settings, facts.broker)
    change = _Change(start, target, protocol, at, settings, facts)
    hazards = first.hazards if first else hazards_between(start, target, Plan.OFFLINE) if start != target else ()
    before = tuple(
        MigrationStep(str(step.do), str(step.why), str(step.if_skipped), step.way_back, step.source)
        for step in (first.steps if first else ())
    )
    return Migration(
        origin=origin,
        target=target,
        protocol=protocol,
        judgements=judge(target, protocol, facts),
        steps=(*before, *change.steps()),
        settings=settings if to_streams else (),
        warnings=(*(map(str, first.warnings) if first else ()), *change.notes(after=origin if first else None)),
        hazards=order_hazards(hazard for hazard in hazards if hazard.name != _COVERED_HAZARD),
        first=first,
    )


@frozen
class _Change:
    """The offline part of a plan."""

    origin: Release
    target: Release
    protocol: Protocol
    at: Target
    settings: tuple[CarriedSetting, ...]
    facts: Facts

    def steps(self) -> Iterator[MigrationStep]:
        """Yield the steps in order."""
        if self.protocol is Protocol.STREAMS:
            if self.settings:
                yield self._configure()
            yield self._stop(_Text.STOP_CLASSIC_WHY, _Text.STOP_SKIPPED_STREAMS)
            yield self._start(_Text.START_WHY)
            yield self._check("kafka-streams-groups", self.at.show_configurations())
        else:
            yield self._stop(_Text.STOP_WHY, _Text.STOP_SKIPPED_CLASSIC)
            yield self._start(_Text.START_CLASSIC_WHY)
            yield self._check("kafka-consumer-groups")
            if self.settings:
                yield self._remove()

    def notes(self, *, after: Release | None) -> Iterator[str]:
        """Yield what to know beside the steps; ``after`` is the release before a rolling upgrade."""
        if self.protocol is Protocol.CLASSIC:
            return
        if after:
            yield _Text.EARLIER.format(origin=after)
        if self.facts.settings is None:
            yield _Text.NO_SETTINGS.value
        yield from (_limited(setting) for setting in self.settings if setting.limit)
        for name, consequence in ignored_settings(self.facts.settings, self.facts.broker):
            yield _Text.NO_EFFECT.format(setting=name, consequence=consequence)
        yield _Text.TOPOLOGY.value

    def _configure(self) -> MigrationStep:
        lost = "; ".join(
            f"without {setting.configuration.name} {setting.configuration.if_lost}" for setting in self.settings
        )
        back = WayBack(WayBackVerdict.OPEN, _Text.CONFIGURE_BACK, "KIP-1071")
        return MigrationStep(
            _Text.CONFIGURE, _Text.CONFIGURE_WHY, lost, back, _SOURCE, (self.at.configure(self.settings),)
        )

    def _stop(self, why: _Text, skipped: _Text) -> MigrationStep:
        option = _option(self.origin, self.protocol.other)
        back = WayBack(WayBackVerdict.OPEN, _Text.STOP_BACK.format(origin=self.origin, option=option), "KIP-1071")
        do = _Text.STOP.format(origin=self.origin)
        why_not = skipped.format(group=self.at.group)
        return MigrationStep(do, why, why_not, back, _SOURCE, (self.at.wait_until_empty(),))

    def _start(self, why: _Text) -> MigrationStep:
        do = _Text.START.format(target=self.target, option=_option(self.target, self.protocol))
        reason = why.format(protocol=self.protocol.value)
        return MigrationStep(do, reason, _Text.START_SKIPPED, self._way_back(), _SOURCE)

    def _check(self, offsets_tool: str, *further: str) -> MigrationStep:
        words = {"protocol": self.protocol.value}
        commands = (self.at.wait_until_stable(), *further, self.at.show_offsets(offsets_tool))
        do, why = _Text.CHECK.format(**words), _Text.CHECK_WHY.format(**words)
        return MigrationStep(do, why, _Text.CHECK_SKIPPED, self._way_back(), _SOURCE, commands)

    def _remove(self) -> MigrationStep:
        back = WayBack(WayBackVerdict.OPEN, _Text.REMOVE_BACK, "KIP-1071")
        commands = (self.at.remove(self.settings),)
        return MigrationStep(_Text.REMOVE, _Text.REMOVE_WHY, _Text.REMOVE_SKIPPED, back, _SOURCE, commands)

    def _way_back(self) -> WayBack:
        """Return the way back after the start: the protocol, and what the other release cannot read."""
        option = _option(self.origin, self.protocol.other)
        words, sources = [_Text.START_BACK.format(origin=self.origin, option=option)], ["KIP-1071"]
        if self.origin != self.target:
            of_release = way_back(Upgrade(self.origin, self.target, Plan.OFFLINE), StepKind.DONE)
            words += of_release.how.split("; ")[1:]  # its first part says how members are restarted
            sources.append(of_release.source)
        return WayBack(WayBackVerdict.OFFLINE, "; ".join(words), ", ".join(sources))


def _limited(setting: CarriedSetting) -> str:
    row = setting.configuration
    return _Text.LIMITED.format(
        setting=row.replaces,
        given=setting.given,
        configuration=row.name,
        limit=setting.limit,
        applied=setting.applied,
    )


def _option(release: Release, protocol: Protocol) -> str:
    """Return the setting of a member; before 4.1 there is none."""
    if protocol is Protocol.CLASSIC and release.number < EARLY_ACCESS:
        return f"no {GROUP_PROTOCOL}, which {release} does not have"
    return f"{GROUP_PROTOCOL}={protocol.value}"
