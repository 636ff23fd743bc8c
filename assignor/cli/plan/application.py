"""``plan`` for an application: its group, its settings and its code, and what a group of a given size sees of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from attrs import evolve, frozen

from streams_assignor.cli.plan._group_options import GroupOptions
from streams_assignor.cli.plan._hazards import feature_lines, static_verdict_lines
from streams_assignor.cli.plan._same_release import UNKNOWN_PROTOCOL
from streams_assignor.cli.plan.application_code import CodeResult
from streams_assignor.cli.plan.application_settings import ConfigurationResult
from streams_assignor.cli.plan.impact import estimate_impact, impact_lines
from streams_assignor.cli.plan.text import alternative, group_headline, group_plan_lines, undecided_note
from streams_assignor.formats.display import DisplayOptions
from streams_assignor.formats.text import sanitize
from streams_assignor.upgrade.application.setting_files import Settings
from streams_assignor.upgrade.application.settings import SettingsReport
from streams_assignor.upgrade.application_plan import ApplicationPlan, PlannedApplication
from streams_assignor.upgrade.verdict import Verdict

if TYPE_CHECKING:
    from streams_assignor.spark_sim.advice.impact import Impact

HINT: Final = (
    "for your application: --config FILE, --app PATH, --topology FILE and --group NAME say which hazards concern it"
)


@frozen
class GroupPlan:
    """The plan of an application and its group."""

    planned: ApplicationPlan
    impact: Impact | None
    """The simulation of a group of this size; None if its size is not given."""
    rolls_static_members: bool

    @property
    def told(self) -> Verdict:
        """The verdict of the plan."""
        return self.planned.verdict

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        planned = self.planned
        first = group_headline(planned.advice, planned.blocked, planned.judged, is_proven=planned.is_proven)
        plain = planned.as_json() | {"headline": first, "alternative": alternative(planned.advice) or None}
        return plain | ({"group": self.impact.as_json()} if self.impact else {})

    def lines(self, view: DisplayOptions) -> Iterator[str]:
        """Write the plan as text."""
        planned = self.planned
        hops, change = planned.advice.guidance.hops, planned.application.change
        below = static_verdict_lines(hops[0].origin, hops[-1].target) if self.rolls_static_members else ()
        parts = (
            (*feature_lines(planned.features, planned.advice), *below),
            change.lines() if change else (),
            impact_lines(self.impact) if self.impact else (),
            *self._application(view),
        )
        return group_plan_lines(
            planned.advice,
            view,
            planned.checked,
            parts,
            blocked=planned.blocked,
            judged=planned.judged,
            is_proven=planned.is_proven,
        )

    def _application(self, view: DisplayOptions) -> Iterator[Iterable[str]]:
        """Yield what is known of the application, or which options there are."""
        application = self.planned.application
        if application.group:
            yield (view.fact(sanitize(line)) for line in application.group.lines(verbose=view.verbose))
        yield from application_files(application, self.planned.settings, view)
        if self.planned.advice.guides is not None and not (application.settings or application.code):
            yield (HINT,)


def group_plan(planned: ApplicationPlan, options: GroupOptions, *, offline: bool) -> GroupPlan:
    """Return the plan with why it is not proven, after a simulation if the size of the group is given."""
    why = (
        *undecided_note(planned.undecided),
        *((UNKNOWN_PROTOCOL,) if planned.has_unknown_protocol else ()),
    )
    notes = (*planned.advice.notes, *options.contradicted, *(why if planned.is_safe else ()))
    advice = evolve(planned.advice, notes=(*notes, *filter(None, [planned.open_protocol])))
    impact = estimate_impact(advice.guidance.hops, **options.size) if options.size else None
    if impact and not impact.safe:  # the simulation of this very group decides, and the verdict is on the first line
        verdict = Verdict(impact.verdict)
        advice = evolve(advice, guidance=evolve(advice.guidance, verdict=verdict, features=(), if_met=()))
    return GroupPlan(evolve(planned, advice=advice), impact, options.is_static and not offline)


def application_files(
    application: PlannedApplication, report: SettingsReport | None, view: DisplayOptions
) -> Iterator[Iterable[str]]:
    """Yield what its settings and its code are to the release that the plan leads to."""
    if report:
        source = application.settings_source if application.settings else ""
        yield ConfigurationResult(source, application.settings or Settings(), report).lines(view)
    if application.code:
        yield CodeResult(application.code).lines(view)
