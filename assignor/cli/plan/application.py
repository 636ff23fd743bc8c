"""What ``plan`` prints about an application: its settings, its code and its group."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from assignor.cli.plan.application_code import CodeResult
from assignor.cli.plan.application_settings import ConfigurationResult
from assignor.cli.plan.text import DisplayOptions
from assignor.formats.text import sanitize
from upgrade.application_plan import ApplicationPlan

HINT: Final = (
    "for your application: --config FILE, --app PATH, --topology FILE and --group NAME say which hazards concern it"
)


def application_parts(plan: ApplicationPlan, view: DisplayOptions) -> tuple[Iterable[str], ...]:
    """Write what is known as parts of a plan, or which options there are."""
    known = plan.application
    found: list[Iterable[str]] = []
    if known.group:
        found.append(view.fact(sanitize(line)) for line in known.group.lines(verbose=view.verbose))
    if known.settings and plan.settings:
        found.append(ConfigurationResult(known.settings_source, known.settings, plan.settings).lines(view))
    if known.code:
        found.append(CodeResult(known.code).lines(view))
    has_tables = plan.advice.guides is not None
    return tuple(found) if known.settings or known.code or not has_tables else (*found, (HINT,))
