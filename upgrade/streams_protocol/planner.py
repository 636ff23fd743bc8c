"""The steps with which a group changes its protocol: offline, in either direction.

Sources: KIP-1071, the upgrade guides and the developer guide of 4.2 to 4.4, and what real groups did
(docs/reference/streams-groups.md lists what was run).
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any, Final

from attrs import evolve, field, frozen

from streams_assignor.upgrade._messages import MessageCode
from streams_assignor.upgrade.application.setting_files import is_placeholder
from streams_assignor.upgrade.application_plan import ApplicationPlan, PlannedApplication, plan_for
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.group_configurations import AVAILABLE, EARLY_ACCESS
from streams_assignor.upgrade.hazards import (
    Application,
    Hazard,
    JudgedHazard,
    Setting,
    StepKind,
    TopologyChange,
    WayBack,
    WayBackVerdict,
    count_by_severity,
    count_concerns,
    judge_hazards,
    order_hazards,
    way_back,
)
from streams_assignor.upgrade.patch_levels import is_same_release
from streams_assignor.upgrade.planner import Advice
from streams_assignor.upgrade.plans import Plan, Upgrade
from streams_assignor.upgrade.release_behaviour import UPGRADE_FROM
from streams_assignor.upgrade.releases import Release, ResolvedRelease
from streams_assignor.upgrade.streams_protocol._commands import Target
from streams_assignor.upgrade.streams_protocol._facts import (
    GROUP_PROTOCOL,
    SURVIVALS,
    TOPOLOGY_SURVIVALS,
    Protocol,
    Survival,
)
from streams_assignor.upgrade.streams_protocol._hazards import hazards_of_change
from streams_assignor.upgrade.streams_protocol._settings import (
    CarriedSetting,
    LostSetting,
    carried_settings,
    limits_of,
    lost_settings,
    main_consumer_setting,
)
from streams_assignor.upgrade.streams_protocol.requirements import (
    Facts,
    JudgedRequirement,
    RequirementStatus,
    judge,
    judge_limits,
    require_streams_client,
)
from streams_assignor.upgrade.upgrade_from import format_effects
from streams_assignor.upgrade.verdict import Verdict

_SOURCE: Final = "KIP-1071, upgrade guide of 4.2"
_COVERED_HAZARDS: Final = frozenset(
    {"streams-groups-of-4.2.0", "static-members-of-streams-groups", "streams-members-leave"}
)
"""A requirement, or a hazard of the change, says the same."""


class _Text(enum.StrEnum):
    """The texts of steps and notes, as templates."""

    CONFIGURE = "set the group configurations that replace settings of the members"
    CONFIGURE_WHY = (
        "brokers assign the tasks of a streams group, and ignore these settings of members; a classic group ignores "
        "the configurations, so they can be set before it stops"
    )
    CONFIGURE_BACK = "remove the configurations, or leave them: a classic group ignores them"
    STOP = "stop every member of {origin}, and wait until the group is empty"
    STOP_WHY = MessageCode.ONE_PROTOCOL.value
    STOP_STREAMS_WHY = STOP_WHY + (
        "; members that are closed leave, except static ones, which are gone when their sessions have timed out"
    )
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
    WITH_TOPOLOGY = " and the new topology"
    BACK_WITH_TOPOLOGY = " and the old topology"
    START_DETOUR_WHY = MessageCode.BECOMES_CLASSIC.value
    START_DETOUR_SKIPPED = MessageCode.TOPOLOGY_REFUSED.value
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
    NO_EFFECT = "{setting} ({where}) has no effect with the streams protocol, and nothing replaces it: {consequence}"
    UPGRADE_FROM = (
        "upgrade.from={value} ({where}) lowers no metadata with the streams protocol, but a member of {target} "
        "{effects}"
    )
    UPGRADE_FROM_UNTOLD = "{where} does not tell the value of upgrade.from, which with {target} can still set formats"
    HEARTBEATS = (
        "heartbeat.interval.ms is not set, and has another default: members of a streams group send heartbeats every "
        "5 s (streams.heartbeat.interval.ms), classic ones every 3 s"
    )
    EARLIER = "the release changes first, under the classic protocol: {origin} has no streams protocol"
    EARLIER_TOPOLOGY = "the rolling upgrade is made with the old topology: the new one comes with the protocol"


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
    lost: tuple[LostSetting, ...]
    warnings: tuple[str, ...]
    hazards: tuple[Hazard, ...]
    judged: tuple[JudgedHazard, ...] | None
    """The hazards, compared with what is known of the application; None if nothing is."""
    between: ApplicationPlan | None = field(default=None)
    """The plan from one release to the other; None if they are the same."""
    application: PlannedApplication = field(factory=PlannedApplication)
    """Its files."""
    change: TopologyChange | None = None
    """The changes of a new topology, if there is one."""
    is_upgraded_first: bool = False
    """Whether that is a rolling upgrade before, under the classic protocol; else it is part of the change."""
    is_there: bool = False
    """Whether the group has the protocol already, so that nothing changes."""

    @property
    def survivals(self) -> tuple[Survival, ...]:
        """The fate of the facts of the group."""
        return (*SURVIVALS, *(TOPOLOGY_SURVIVALS if self.change else ()))

    @property
    def first(self) -> Advice | None:
        """The rolling upgrade that comes before; None if there is none."""
        return self.between.advice if self.between and self.is_upgraded_first else None

    @property
    def blocked(self) -> tuple[str, ...]:
        """Why the steps must not be made, beside the requirements."""
        stopping = next((judged.hazard for judged in self.judged or () if judged.stops_members), None)
        reasons = self.between.reasons if self.between else ()
        if stopping and not reasons:
            return (f"members of {self.target} stop ({stopping.applies_to}), see below",)
        return reasons

    @property
    def verdict(self) -> Verdict:
        """``UNSAFE`` if something blocks; ``SAFE_IF`` if a requirement, or the rolling upgrade, is open."""
        statuses = {judgement.status for judgement in self.judgements}
        before = self.first.guidance.verdict if self.first else Verdict.SAFE
        if RequirementStatus.BLOCKED in statuses or self.blocked or before is Verdict.UNSAFE:
            return Verdict.UNSAFE
        return Verdict.SAFE_IF if RequirementStatus.OPEN in statuses or before is Verdict.SAFE_IF else Verdict.SAFE

    @property
    def beyond_metadata(self) -> dict[str, int]:
        """How many hazards concern the application, or may, of each severity: the verdict says nothing of them."""
        if self.judged is None:
            return count_by_severity(self.hazards)
        return count_concerns(self.judged)["beyond_metadata"]

    @property
    def conditions(self) -> tuple[str, ...]:
        """The names of what is open, or, if something blocks, of what blocks."""
        wanted = RequirementStatus.BLOCKED if self.verdict is Verdict.UNSAFE else RequirementStatus.OPEN
        before = self.first.guidance.conditions if self.first and self.first.guidance.verdict is self.verdict else ()
        return (*before, *(judgement.requirement.name for judgement in self.judgements if judgement.status is wanted))

    def as_json(self) -> dict[str, Any]:
        """Return plain values, with the keys of other plans and those of this one."""
        plain: dict[str, Any] = {
            "from": self.origin.name,
            "to": self.target.name,
            "from_protocol": self.protocol.other.value,
            "to_protocol": self.protocol.value,
            "verdict": self.verdict.value,
            "conditions": list(self.conditions),
            "blocked": list(self.blocked),
            "plan": Plan.OFFLINE.value,
            "upgrade_from": self.first.upgrade_from if self.first else None,
            "first": self.first.plan.value if self.first else None,
            "requirements": [judgement.as_json() for judgement in self.judgements],
            "steps": [step.as_json() for step in self.steps],
            "settings": [setting.as_json() for setting in self.settings],
            "ignored": [setting.as_json() for setting in self.lost],
            "survives": [
                {
                    "what": survival.what,
                    "survives": survival.survives,
                    "how": survival.how,
                    "evidence": survival.evidence,
                }
                for survival in self.survivals
            ],
            "warnings": list(self.warnings),
            "hazards": [hazard.as_json() for hazard in self.judged or self.hazards],
            "beyond_metadata": self.beyond_metadata,
            **self._files_as_json(),
        }
        if self.change:
            plain["topologies"] = self.change.as_json()
        if self.judged is None:
            return plain
        return plain | count_concerns(self.judged)

    def _files_as_json(self) -> dict[str, Any]:
        """Return what the files are to the releases, with the keys of the plan between these."""
        shown = self.between.as_json() if self.between else {}
        settings, code = self.application.settings, self.application.code
        if settings and not self.between:  # nothing of Kafka differs
            shown["configuration"] = {
                "file": self.application.settings_source,
                "framework": settings.framework,
                "left_out": settings.left_out,
                "settings": [],
            }
        shown |= code.as_json() if code else {}
        return {key: shown[key] for key in ("configuration", "application", "missing", "features") if key in shown}


def plan_migration(
    origin: ResolvedRelease,
    target: ResolvedRelease,
    protocol: Protocol,
    facts: Facts,
    at: Target,
    *,
    offline: bool = False,
    application: PlannedApplication = PlannedApplication(),  # noqa: B008 - it is frozen
    is_classic: bool = False,
) -> Migration:
    """Return the plan with which a group changes to ``protocol``, and from one release to the other if they differ.

    A group of a release without streams protocol is first upgraded under the classic one, except ``offline``.

    Args:
        origin: The release of the group now.
        target: The release afterwards; it may be the same.
        protocol: The protocol afterwards.
        facts: The known facts of the application and its brokers.
        at: The group and the cluster that the commands name.
        offline: Whether the release changes while the group is stopped for the protocol, even if it need not.
        application: The files of the application, for what the releases have to do with them.
        is_classic: Whether the group is shown to be no streams group now; else a new topology gets into one through
            the classic protocol.

    Raises:
        UpgradeError: The release that has to run the streams protocol does not have it, or a setting is no number.

    >>> from streams_assignor.upgrade.releases import resolve_release
    >>> new = resolve_release("4.3.1")
    >>> str(plan_migration(new, new, Protocol.CLASSIC, Facts(), Target()).steps[1].do)
    'start every member as 4.3.1 with group.protocol=classic'
    """
    to_streams, first, last = protocol is Protocol.STREAMS, origin.release, target.release
    require_streams_client(*((last, "TO") if to_streams else (first, "FROM")))
    if not last.kafka_name or not first.kafka_name:
        raise UpgradeError(f"a change of the protocol is planned for releases of Kafka, got {first} and {last}")
    is_upgraded_first = to_streams and first.number < AVAILABLE and not offline
    is_same = is_same_release(origin, target)
    new_topology = application.change if application.change and not application.change.is_compatible else None
    application = evolve(application, change=None)  # the steps below are about it
    between = (
        None if is_same else plan_for(application, origin, target, offline=not is_upgraded_first, changes_protocol=True)
    )
    start = last if is_upgraded_first or is_same else first
    settings = carried_settings(facts.settings, facts.limits)
    lost = lost_settings(facts.settings) if to_streams else ()
    detour = bool(new_topology) and to_streams and not (is_classic or is_upgraded_first or first.number < EARLY_ACCESS)
    change = _Change(
        start, last, protocol, at, settings, lost, facts, has_new_topology=bool(new_topology), detour=detour
    )
    advice = between.advice if between else None
    of_releases = (hazard for hazard in (advice.hazards if advice else ()) if hazard.name not in _COVERED_HAZARDS)
    hazards = order_hazards((*of_releases, *hazards_of_change(protocol, last)))
    applications = tuple(_afterwards(known, protocol) for known in facts.applications)
    is_known = any(facts.applications)
    before = advice if advice and is_upgraded_first else None
    read = {*origin.notes, *target.notes}
    notes = [note for note in (advice.notes if advice else ()) if note not in read]
    notes += map(str, before.warnings if before else ())
    return Migration(
        origin=first,
        target=last,
        protocol=protocol,
        judgements=(*judge(last, protocol, facts), *(judge_limits(settings, facts) if to_streams else ())),
        steps=(
            *(
                MigrationStep(str(step.do), str(step.why), str(step.if_skipped), step.way_back, step.source)
                for step in (before.steps if before else ())
            ),
            *change.steps(),
        ),
        settings=settings if to_streams else (),
        lost=lost,
        warnings=(*notes, *change.notes(after=first if before else None)),
        hazards=hazards,
        judged=judge_hazards(hazards, applications, None if is_same else last) if is_known else None,
        between=between,
        application=application,
        change=new_topology and evolve(new_topology, in_streams_group=detour),
        is_upgraded_first=is_upgraded_first,
    )


def _afterwards(application: Application, protocol: Protocol) -> Application:
    """Return an application with the protocol that it will have, whatever its settings say now."""
    chosen = {GROUP_PROTOCOL: Setting(protocol.value, f"--to-protocol {protocol.value}")}
    settings = application.settings and evolve(application.settings, values={**application.settings.values, **chosen})
    return evolve(application, settings=settings, wrapped=chosen)


@frozen
class _Change:
    """The offline part of a plan."""

    origin: Release
    target: Release
    protocol: Protocol
    at: Target
    settings: tuple[CarriedSetting, ...]
    lost: tuple[LostSetting, ...]
    facts: Facts
    has_new_topology: bool = False
    detour: bool = False
    """Whether the group may be a streams group already, which gets the new topology through the classic protocol."""

    def steps(self) -> Iterator[MigrationStep]:
        """Yield the steps in order."""
        if self.protocol is Protocol.STREAMS:
            if self.settings:
                yield configure_step(self.at, self.settings, _Text.CONFIGURE_WHY, _SOURCE)
            if self.detour:
                yield from self._through_classic()
            yield self._stop(_Text.STOP_CLASSIC_WHY, _Text.STOP_SKIPPED_STREAMS)
            yield self._start(_Text.START_WHY)
            yield self._check("kafka-streams-groups", self.at.show_configurations())
        else:
            yield self._stop(_Text.STOP_STREAMS_WHY, _Text.STOP_SKIPPED_CLASSIC)
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
            if self.has_new_topology:
                yield _Text.EARLIER_TOPOLOGY.value
        if self.facts.settings is None:
            yield _Text.NO_SETTINGS.value
        yield from limits_of(self.settings)
        for setting in self.lost:
            yield _Text.NO_EFFECT.format(setting=setting.name, where=setting.where, consequence=setting.consequence)
        if not after:
            yield from self._upgrade_from()
        if self.facts.settings is not None and "heartbeat.interval.ms" not in {
            setting.configuration.replaces for setting in self.settings
        }:
            yield _Text.HEARTBEATS.value

    def _upgrade_from(self) -> Iterator[str]:
        """Say what ``upgrade.from`` does nevertheless; before a rolling upgrade its own plan says it."""
        for variant in (self.facts.settings or ())[:1]:
            setting = main_consumer_setting(variant, "upgrade.from")
            if setting and (setting.is_default or is_placeholder(setting.value)):
                yield _Text.UPGRADE_FROM_UNTOLD.format(where=setting.where, target=self.target)
            if setting and setting.value in UPGRADE_FROM:
                effects = format_effects(setting.value, self.target.known_number)
                yield _Text.UPGRADE_FROM.format(
                    value=setting.value,
                    where=setting.where,
                    target=self.target,
                    effects=" and ".join(effect.value for effect in effects) or "does nothing else with it",
                )

    def _through_classic(self) -> Iterator[MigrationStep]:
        """Yield the steps after which the group is a classic one of the new topology."""
        back = evolve(self, protocol=Protocol.CLASSIC, detour=False)
        yield back._stop(_Text.STOP_STREAMS_WHY, _Text.STOP_SKIPPED_CLASSIC)
        start = back._start(_Text.START_DETOUR_WHY)
        yield evolve(start, if_skipped=_Text.START_DETOUR_SKIPPED, commands=(self.at.wait_until_stable(),))

    def _stop(self, why: _Text, skipped: _Text) -> MigrationStep:
        origin = self.target if self.detour else self.origin
        option = _option(origin, self.protocol.other)
        back = WayBack(WayBackVerdict.OPEN, _Text.STOP_BACK.format(origin=origin, option=option), "KIP-1071")
        do = _Text.STOP.format(origin=origin)
        why_not = skipped.format(group=self.at.group)
        return MigrationStep(do, why, why_not, back, _SOURCE, (self.at.wait_until_empty(),))

    def _start(self, why: _Text) -> MigrationStep:
        do = _Text.START.format(target=self.target, option=_option(self.target, self.protocol))
        do += _Text.WITH_TOPOLOGY if self.has_new_topology else ""
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
        option += _Text.BACK_WITH_TOPOLOGY if self.has_new_topology else ""
        words, sources = [_Text.START_BACK.format(origin=self.origin, option=option)], ["KIP-1071"]
        if self.origin != self.target:
            of_release = way_back(Upgrade(self.origin, self.target, Plan.OFFLINE), StepKind.DONE)
            words += of_release.how.split("; ")[1:]  # its first part says how members are restarted
            sources.append(of_release.source)
        return WayBack(WayBackVerdict.OFFLINE, "; ".join(words), ", ".join(sources))


def configure_step(at: Target, settings: tuple[CarriedSetting, ...], why: str, source: str) -> MigrationStep:
    """Return the step that sets configurations of a group, which a classic group ignores."""
    lost = "; ".join(f"without {setting.configuration.name} {setting.configuration.if_lost}" for setting in settings)
    back = WayBack(WayBackVerdict.OPEN, _Text.CONFIGURE_BACK, source)
    return MigrationStep(_Text.CONFIGURE, why, lost, back, source, (at.configure(settings),))


def _option(release: Release, protocol: Protocol) -> str:
    """Return the setting of a member; before 4.1 there is none."""
    if protocol is Protocol.CLASSIC and release.number < EARLY_ACCESS:
        return f"no {GROUP_PROTOCOL}, which {release} does not have"
    return f"{GROUP_PROTOCOL}={protocol.value}"
