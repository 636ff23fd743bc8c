"""The output of ``plan`` about an application: its settings, its code and its group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from streams_assignor.cli.plan.application_code import CodeResult
from streams_assignor.cli.plan.application_settings import ConfigurationResult
from streams_assignor.formats.display import DisplayOptions
from streams_assignor.formats.text import sanitize
from streams_assignor.upgrade.application.setting_files import Settings
from streams_assignor.upgrade.application.settings import SettingsReport
from streams_assignor.upgrade.application_plan import ApplicationPlan, PlannedApplication

HINT: Final = (
    "for your application: --config FILE, --app PATH, --topology FILE and --group NAME say which hazards concern it"
)


def application_parts(plan: ApplicationPlan, view: DisplayOptions) -> tuple[Iterable[str], ...]:
    """Write what is known as parts of a plan, or which options there are."""
    application = plan.application
    parts: list[Iterable[str]] = []
    if application.group:
        parts.append(view.fact(sanitize(line)) for line in application.group.lines(verbose=view.verbose))
    parts += application_files(application, plan.settings, view)
    has_tables = plan.advice.guides is not None
    return tuple(parts) if application.settings or application.code or not has_tables else (*parts, (HINT,))


def application_files(
    application: PlannedApplication, report: SettingsReport | None, view: DisplayOptions
) -> Iterator[Iterable[str]]:
    """Yield what its settings and its code are to the release that the plan leads to."""
    if report:
        source = application.settings_source if application.settings else ""
        yield ConfigurationResult(source, application.settings or Settings(), report).lines(view)
    if application.code:
        yield CodeResult(application.code).lines(view)
