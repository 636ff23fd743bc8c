"""The plan for one application: the way between two releases, and what its files and its group decide about it.

It is pure: what is known of the application is read before, and passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from attrs import evolve, field, frozen

from streams_assignor.codec.errors import require_type
from streams_assignor.upgrade.application.code import code_of
from streams_assignor.upgrade.application.configuration import configuration_of
from streams_assignor.upgrade.application.evidence import setting_facts
from streams_assignor.upgrade.application.live_group import LiveGroup, listed
from streams_assignor.upgrade.application.parameters import PlanParameters, has_streams_protocol, plan_parameters
from streams_assignor.upgrade.application.setting_files import Settings
from streams_assignor.upgrade.application.settings import (
    SettingsReport,
    judge_settings,
    values_in_code,
    variants_of,
    with_code,
)
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.hazards import (
    TOPOLOGY_UPDATES,
    Answer,
    Application,
    ApplicationTopology,
    CheckedScope,
    CodeSettings,
    Hazard,
    JudgedFeatures,
    JudgedHazard,
    TopologyChange,
    count_concerns,
    judge_features,
    judge_hazards,
    with_fixed_releases,
)
from streams_assignor.upgrade.patch_levels import advise_between, is_same_release
from streams_assignor.upgrade.planner import Advice, in_streams_group, with_new_topology, with_other_protocol
from streams_assignor.upgrade.plans import Plan
from streams_assignor.upgrade.releases import Release, ResolvedRelease, resolve_release
from streams_assignor.upgrade.remedy_steps import through_bridge, with_remedies
from streams_assignor.upgrade.verdict import UNKNOWN_TOPOLOGY, TopologyFeature, Verdict, features_of_nodes

if TYPE_CHECKING:
    from streams_assignor.upgrade.application.code_report import (
        CodeReport,  # a plan without code needs none of what reads it
    )

DO_NOT_ROLL: Final = "do not roll: the topologies differ, see below"
TOPOLOGY_IS_KEPT: Final = "the streams group does not accept the new topology, see below"
_OF_SETTINGS: Final = frozenset({TopologyFeature.SECOND_THREAD})
"""Facts that only settings show: an option of the user counts more."""


@frozen(kw_only=True)
class PlannedApplication:
    """The known facts of an application; none is required."""

    settings: Settings | None = None
    settings_source: str = "the settings"
    """The name of their file."""
    code: CodeReport | None = None
    """Its code beside the two releases of the plan."""
    topology: ApplicationTopology | None = None
    group: LiveGroup | None = None
    absent: frozenset[TopologyFeature] = frozenset()
    """The features that it lacks, as a user says."""
    libraries: Mapping[str, str] = field(factory=dict, hash=False)
    """The versions of libraries that its files do not show, as a user says."""
    change: TopologyChange | None = None
    """The changes of a new topology in the same upgrade."""
    goes_on: bool = False
    """Whether its group may be anywhere on the way, also where no member runs the old release any more."""

    @property
    def known_topology(self) -> ApplicationTopology | None:
        """Its topology, by a text that the user gives or else by its group."""
        return self.topology or (self.group.topology if self.group else None)

    @property
    def settings_in_code(self) -> CodeSettings | None:
        """The settings that its classes make."""
        return self.code.facts.settings if self.code else None

    @property
    def has_files(self) -> bool:
        """Whether there are settings or code of the application: without them a plan is for any."""
        return self.settings is not None or self.code is not None

    def undecided(self, judged: Iterable[JudgedHazard] | None) -> tuple[JudgedHazard, ...]:
        """Return the hazards by which a plan is not proven (``JudgedHazard.is_undecided``).

        None without files of the application: the plan is then for any.
        """
        return tuple(each for each in (judged or () if self.has_files else ()) if each.is_undecided)

    def facts(self) -> tuple[Application, ...]:
        """Return what conditions are compared with: once, or for each of the conditions that the settings have."""
        settings = setting_facts(self.settings_source, self.settings) if self.settings else (None,)
        code = self.code.facts if self.code else None
        group = self.group.facts if self.group else None
        return tuple(
            Application(
                settings=variant, code=code, topology=self.known_topology, group=group, libraries=self.libraries
            )
            for variant in settings
        )


@frozen
class ApplicationPlan:
    """The plan of an application."""

    application: PlannedApplication
    advice: Advice
    """Its verdict and its notes are about this application."""
    reasons: tuple[str, ...]
    """Why the steps must not be made, the first on the first line; none if they may."""
    settings: SettingsReport | None
    parameters: PlanParameters
    judged: tuple[JudgedHazard, ...] | None
    """The hazards with their answers; None if nothing is known of the application."""
    features: JudgedFeatures = field(repr=False)
    checked: CheckedScope
    """The checked subjects of the plan."""

    @property
    def blocked(self) -> str:
        """Why the steps must not be made, in one sentence; empty if they may."""
        return self.reasons[0] if self.reasons else ""

    @property
    def is_safe(self) -> bool:
        """Whether no step stops members, or leads to what the plan calls unsafe."""
        return self.advice.guidance.verdict in {Verdict.SAFE, Verdict.SAFE_IF}

    @property
    def undecided(self) -> tuple[JudgedHazard, ...]:
        """The hazards by which the plan is not proven; none without files of the application."""
        return self.application.undecided(self.judged)

    @property
    def is_proven(self) -> bool:
        """Whether nothing is left open that would make a safe plan unsafe."""
        return not (self.undecided or self.has_unknown_protocol or self.open_protocol)

    @property
    def open_protocol(self) -> str:
        """Why the protocol of the settings, which they do not tell, decides about a bounce; empty if it does not."""
        if self.advice.plan is Plan.OFFLINE:
            return ""
        hops = self.advice.guidance.hops
        return self.parameters.open_protocol(hops[0].origin, hops[-1].target, self.application.group)

    @property
    def verdict(self) -> Verdict:
        """Of the application: ``UNKNOWN`` if no step is known to stop members, and that is not proven."""
        return Verdict.UNKNOWN if self.is_safe and not self.is_proven else self.advice.guidance.verdict

    @property
    def has_unknown_protocol(self) -> bool:
        """Whether it depends on the protocol of the group, which nothing shows, if the new topology is accepted."""
        change = self.application.change
        return change is not None and change.is_undecided(rolled=self.advice.plan is not Plan.OFFLINE)

    def as_json(self) -> dict[str, Any]:
        """Return plain values: those of the plan, and keys for each part of the application that is known."""
        application, notes = self.application, [*self.reasons[:1], *self.advice.notes]
        plain: dict[str, Any] = {**self.advice.as_json(), "notes": notes, **self.checked.as_json()}
        plain["verdict"] = self.verdict.value
        if self.reasons or self.judged is not None:
            plain["blocked"] = list(self.reasons)
        if application.change:
            plain["topologies"] = application.change.as_json()
        if self.settings:
            settings = application.settings
            plain["configuration"] = {
                "file": application.settings_source if settings else None,
                "framework": settings is not None and settings.framework,
                "left_out": settings.left_out if settings else 0,
                "parameters": self.parameters.as_json(),
                "settings": [finding.as_json() for finding in self.settings.findings],
            }
        if application.code:
            plain |= application.code.as_json()
        if application.group:
            plain["live_group"] = application.group.as_json()
        if self.judged is not None:
            plain |= {
                "hazards": [judged.as_json() for judged in self.judged],
                **count_concerns(self.judged),
                "undecided": [judged.hazard.name for judged in self.undecided],
                "features": {feature.value: concern.as_json() for feature, concern in self.features.concerns.items()},
            }
        return plain


def plan_for(
    application: PlannedApplication,
    origin: ResolvedRelease | str,
    target: ResolvedRelease | str,
    *,
    offline: bool = False,
    changes_protocol: bool = False,
) -> ApplicationPlan:
    """Return the plan of an application from one release to another.

    Args:
        application: The known facts of it.
        origin: The release of its group now, or a name that ``resolve_release`` reads.
        target: The release afterwards.
        offline: Stop the whole group instead.
        changes_protocol: The settings may have the protocol of later: another plan says when it changes.

    Raises:
        UpgradeError: Both are the same release, Kafka has not published one, or what is known contradicts itself.

    >>> from streams_assignor.upgrade.application.setting_files import parse_settings
    >>> settings = parse_settings("processing.guarantee=exactly_once", ".properties")
    >>> plan = plan_for(PlannedApplication(settings=settings), "2.8", "4.3")
    >>> plan.is_safe, plan.blocked
    (False, 'members of 4.3.1 do not start with the configuration, see below')
    """
    require_type("application", application, PlannedApplication)
    for argument, release in (("origin", origin), ("target", target)):
        require_type(argument, release, ResolvedRelease, str)
    start, end = (resolve_release(release) if isinstance(release, str) else release for release in (origin, target))
    settings, parameters = _judged_settings(application, start.release, end.release)
    if changes_protocol:
        parameters = evolve(parameters, has_streams_protocol=False)
    of_streams_group = parameters.in_streams_group(start.release, application.group)
    if application.change:
        application = evolve(application, change=evolve(application.change, in_streams_group=of_streams_group))
    facts = application.facts()
    features = _features(facts, application)
    advice = advise_between(start, end, offline=offline, facts=features.facts)
    if of_streams_group and has_streams_protocol(end.release):
        advice = in_streams_group(advice)
        if application.change:  # what was compared is no question
            rest = tuple(hazard for hazard in advice.hazards if hazard.name != TOPOLOGY_UPDATES.name)
            advice = evolve(advice, hazards=rest)
    judged = judge_hazards(advice.hazards, facts, end.release, start.release) if any(facts) else None
    around = through_bridge(advice, judged or (), facts, features.facts)
    if around is not advice:
        advice, judged = around, judge_hazards(around.hazards, facts, end.release, start.release)
    refused = _refused(application, start.release, advice)
    judged = _without_refused(with_fixed_releases(judged, facts, end.release), refused[-1]) if judged else judged
    against = _reasons(
        application,
        start,
        end.release,
        advice,
        settings,
        parameters,
        judged,
        refused,
        changes_protocol=changes_protocol,
    )
    reasons = tuple(filter(None, against))
    if not changes_protocol and _is_of_two_protocols(application, parameters, start.release, end.release):
        around = advise_between(start, end, offline=True, facts=features.facts)
        advice = with_other_protocol(evolve(around, hazards=advice.hazards))
    compared = (*start.tables, *end.tables) if application.has_files else ()
    needed = advice.upgrade_from
    notes = (
        *reasons[1:],
        *advice.notes,
        *_believed(application, start, end, advice, features, offline=offline),
        *dict.fromkeys(compared),
        *(application.code.notes(start, end) if application.code else ()),
        *_contradictions(features),
        *_interrupted(application, start, advice),
        *parameters.notes(start.release, end.release, needed),
    )
    advice = with_remedies(evolve(advice, notes=notes), judged or (), facts, refused)
    if TOPOLOGY_IS_KEPT in reasons and advice.is_of_streams_group:  # TO has the protocol
        advice = with_new_topology(advice)
    if reasons:
        unsafe = evolve(advice.guidance, verdict=Verdict.UNSAFE, features=(), if_met=(), hops_features=())
        advice = evolve(advice, guidance=unsafe)
    checked = advice.checked.with_topologies() if application.change else advice.checked
    checked = checked.with_application(
        configuration=application.settings is not None, code=application.code is not None
    )
    return ApplicationPlan(application, advice, reasons, settings, parameters, judged, features, checked)


def _is_of_two_protocols(
    application: PlannedApplication, parameters: PlanParameters, origin: Release, target: Release
) -> bool:
    """Whether members before and after cannot be in one group, so that only steps through an empty one lead on."""
    group = application.group
    return bool(parameters.blocked(origin, target, group) or parameters.contradicted(group))


def blocked_by(change: TopologyChange) -> str:
    """Return the reason that a refused topology is for a plan."""
    return TOPOLOGY_IS_KEPT if change.in_streams_group else DO_NOT_ROLL


def _judged_settings(
    application: PlannedApplication, origin: Release, target: Release
) -> tuple[SettingsReport | None, PlanParameters]:
    made = application.settings_in_code
    if application.settings is None and not (made and made.values):
        return None, PlanParameters()
    classes = application.code.known_classes if application.code else None
    ends = configuration_of(origin), configuration_of(target)
    code = code_of(target)
    settings = application.settings or Settings()
    report = judge_settings(settings, *ends, code, classes) if application.settings else None
    if made:
        of_code = [judge_settings(variant, *ends, code, classes) for variant in variants_of(made, application.settings)]
        report = with_code(report, of_code, made)
        first, *others = settings.variants
        settings = evolve(settings, variants=(evolve(first, values={**values_in_code(made), **first.values}), *others))
    return report, plan_parameters(settings)


def _refused(application: PlannedApplication, origin: Release, advice: Advice) -> list[list[str]]:
    """Return for each hop the keys of the settings with which its release does not start."""
    reports = [_judged_settings(application, origin, hop.target)[0] for hop in advice.guidance.hops]
    return [[finding.key for finding in report.stopping] if report else [] for report in reports]


def _without_refused(judged: Iterable[JudgedHazard], refused: Sequence[str]) -> tuple[JudgedHazard, ...]:
    """Leave out what cannot be told of settings that TO refuses: the refusal names them already."""

    def is_refused(hazard: Hazard) -> bool:
        keys = {remedy.key for remedy in hazard.remedies if remedy.is_edit}
        return bool(keys) and keys <= set(refused)

    return tuple(each for each in judged if each.concern.answer is not Answer.UNKNOWN or not is_refused(each.hazard))


def _features(facts: Sequence[Application], application: PlannedApplication) -> JudgedFeatures:
    """Return the features on which the verdict depends, as far as they are known."""
    judged, absent = judge_features(facts), application.absent
    topology = application.known_topology
    shown = features_of_nodes(topology.nodes) if topology else UNKNOWN_TOPOLOGY
    if decided := sorted(feature.value for feature in absent & (shown.absent | shown.present)):
        source = "--topology" if application.topology else "--group"
        raise UpgradeError(f"{source} shows whether there are {', '.join(decided)}: leave this out of --without")
    for feature in sorted(absent & judged.facts.present - _OF_SETTINGS, key=lambda feature: feature.value):
        evidence = "; ".join(judged.concerns[feature].evidence)
        raise UpgradeError(f"{evidence}: leave {feature.value} out of --without")
    known_facts = evolve(judged.facts, absent=judged.facts.absent | absent, present=judged.facts.present - absent)
    return evolve(judged, facts=known_facts)


def _believed(
    application: PlannedApplication,
    start: ResolvedRelease,
    end: ResolvedRelease,
    advice: Advice,
    features: JudgedFeatures,
    *,
    offline: bool,
) -> Iterator[str]:
    """Say that the plan depends on a release that the members may run, and do not show."""
    group = application.group
    if group is None or not group.common_releases or group.blocked(start):
        return
    shown = group.origin(end)
    if {*shown.candidates} <= {*start.candidates} or is_same_release(shown, end):
        return
    careful = advise_between(shown, end, offline=offline, facts=features.facts)
    if len(careful.steps) > len(advice.steps):
        yield (
            f"{shown.reading[0]}; that they run {start.release} is what you say. If they do not, these steps are not "
            f"enough: from {careful.origin} there are {len(careful.steps)}, the first: {careful.steps[0].do}"
        )


def _is_between(application: PlannedApplication, origin: ResolvedRelease, advice: Advice) -> bool:
    """Whether the group is in the middle of this upgrade."""
    group, along = application.group, frozenset(hop.target for hop in advice.guidance.hops)
    has_begun = group is not None and (group.is_mixed or group.has_some_on(origin) or application.goes_on)
    return group is not None and has_begun and group.is_between(origin, along)


def _interrupted(application: PlannedApplication, origin: ResolvedRelease, advice: Advice) -> Iterator[str]:
    """Say that an upgrade has begun: the steps are for all members, and what led to this state is not judged."""
    if application.group and _is_between(application, origin, advice):
        left = listed(application.group.left(origin))
        said = f"group {application.group.name} is in the middle of an upgrade; no longer on {origin.release}: {left}"
        again = ". upgrade.from is not always seen: bounce these again, and first"
        yield f"{said}{'' if advice.is_of_streams_group else again}"


def _contradictions(features: JudgedFeatures) -> Iterator[str]:
    for feature, concern in features.concerns.items():
        if concern.answer is Answer.YES and feature in features.facts.absent:
            yield f"--without {feature.value} counts, and not {'; '.join(concern.evidence)}"


def _reasons(
    application: PlannedApplication,
    origin: ResolvedRelease,
    target: Release,
    advice: Advice,
    settings: SettingsReport | None,
    parameters: PlanParameters,
    judged: Sequence[JudgedHazard] | None,
    refused: Sequence[Sequence[str]],
    *,
    changes_protocol: bool,
) -> Iterator[str]:
    """Yield why the steps must not be made; empty texts among them."""
    is_rolled = advice.plan is not Plan.OFFLINE
    if application.change and application.change.is_refused(rolled=is_rolled):
        yield blocked_by(application.change)
    if settings and settings.stopping:
        yield f"members of {target} do not start with the configuration, see below"
    for hop, keys in zip(advice.guidance.hops[:-1], refused, strict=False):
        if keys:
            yield f"members of {hop.target}, a bridge release, do not start with {' and '.join(dict.fromkeys(keys))}"
    if application.code:
        yield application.code.blocked
    if is_rolled and application.group:
        yield "" if _is_between(application, origin, advice) else application.group.blocked(origin)
    if is_rolled:
        yield parameters.blocked(origin.release, target, application.group)
        yield parameters.contradicted(application.group) if not changes_protocol else ""
    stopping = next((judged_hazard.hazard for judged_hazard in judged or () if judged_hazard.stops_members), None)
    is_said = (settings and settings.stopping) or (application.code and application.code.blocked)
    if stopping and not is_said:  # what the configuration and the code show is the reason then
        yield f"members of {target} stop ({stopping.applies_to}), see below"
