"""``plan --config --app``: the settings and the code of an application beside both releases."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from assignor.cli.plan.application_code import CodeResult, check_code
from assignor.cli.plan.application_settings import ConfigurationResult, check_settings
from assignor.cli.plan.text import DisplayOptions
from upgrade import Release
from upgrade.application.setting_files import Settings
from upgrade.hazards import CheckedScope
from upgrade.releases import ResolvedRelease

HINT: Final = "for your application: --config FILE, --app PATH and --topology FILE say which hazards concern it"


@frozen
class ApplicationFiles:
    """What the options name of an application."""

    settings: Path | None = None
    code: tuple[Path, ...] = ()

    def __bool__(self) -> bool:
        return self.settings is not None or bool(self.code)

    def notes(self, origin: ResolvedRelease, target: ResolvedRelease) -> tuple[str, ...]:
        """Say whose jars the files are compared with, if a release is not named as Kafka names it."""
        return tuple(dict.fromkeys((*origin.tables, *target.tables))) if self else ()

    def check(self, origin: Release, target: Release, settings: Settings | None) -> ApplicationResult:
        """Read the code and judge both; ``UpgradeError`` if Kafka has not published a release."""
        code = check_code(self.code, origin, target) if self.code else None
        known = code.known_classes if code else None
        return ApplicationResult(
            check_settings(self.settings, settings, origin, target, known) if self.settings and settings else None,
            code,
            has_tables=bool(origin.kafka_name and target.kafka_name),
        )


@frozen
class ApplicationResult:
    """What the files of an application decide about a plan."""

    configuration: ConfigurationResult | None = None
    code: CodeResult | None = None
    has_tables: bool = True
    """Whether both releases are Kafka's, so that files can be compared with them."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the steps must not be made; none if they may."""
        return tuple(each.blocked for each in (self.configuration, self.code) if each and each.blocked)

    def scope(self, checked: CheckedScope) -> CheckedScope:
        """Return what the plan was checked for with these files."""
        return checked.with_application(configuration=self.configuration is not None, code=self.code is not None)

    def as_json(self) -> dict[str, Any]:
        """Return plain values: keys for each kind of file."""
        configuration = {"configuration": self.configuration.as_json()} if self.configuration else {}
        return configuration | (self.code.as_json() if self.code else {})

    def parts(self, view: DisplayOptions) -> tuple[Iterable[str], ...]:
        """Write it as parts of a plan, or which options there are."""
        found = tuple(each.lines(view) for each in (self.configuration, self.code) if each)
        return found or (((HINT,),) if self.has_tables else ())
