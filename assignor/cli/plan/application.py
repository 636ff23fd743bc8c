"""``plan --config --app``: the settings and the code of an application beside both releases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from assignor.cli.plan.application_code import CodeResult, check_code
from assignor.cli.plan.text import DisplayOptions
from assignor.formats.text import sanitize
from upgrade import Release, UpgradeError
from upgrade.application.code import code_of
from upgrade.application.configuration import configuration_of
from upgrade.application.setting_files import Settings, flatten, kafka_settings
from upgrade.application.settings import Effect, SettingsReport, judge_settings
from upgrade.cluster.client.command_config import parse_properties
from upgrade.hazards import CheckedScope
from upgrade.input_values import parse_json, read_text

HINT: Final = "for your application: --config FILE, --app PATH and --topology FILE say which hazards concern it"


@frozen
class ConfigurationResult:
    """The settings of a file, and what the release that the plan leads to makes of them."""

    file: str
    target: str
    settings: Settings
    report: SettingsReport

    @property
    def blocked(self) -> str:
        """Why members do not start; empty if they do, as far as settings decide."""
        found = self.report.stopping
        return f"members of {self.target} do not start with the configuration, see below" if found else ""

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "file": self.file,
            "framework": self.settings.framework,
            "left_out": self.settings.left_out,
            "settings": [each.as_json() for each in self.report.findings],
        }

    def lines(self, view: DisplayOptions) -> Iterator[str]:
        """Write what is not fine, one line each."""
        counted = Counter(each.status for each in self.report.findings)
        counts = ", ".join(f"{counted[status]} {status.value}" for status in Effect if counted[status])
        yield f"configuration {self.file}: {counts or 'no settings'}"
        same: dict[tuple[str, str, str], list[str]] = {}
        for each in self.report.notable:
            same.setdefault((each.status.value, each.key, each.text), []).append(each.config)
        for (status, key, text), configs in same.items():
            clients = ", ".join(name for name in configs if name not in {"", "streams"})
            yield view.fact(sanitize(f"- {status}: {key}{clients and f' ({clients})'}: {text}"))
        if self.settings.left_out:
            yield f"- {self.settings.left_out} further keys of the file are not of Kafka Streams"


def check_settings(path: Path, origin: Release, target: Release) -> ConfigurationResult:
    """Read a file of settings and judge them.

    Raises:
        UpgradeError: The file cannot be read, or Kafka has not published a release.
    """
    settings = read_settings(path)
    report = judge_settings(settings.values, configuration_of(origin), configuration_of(target), code_of(target))
    return ConfigurationResult(str(path), target.name, settings, report)


def read_settings(path: Path) -> Settings:
    """Read properties, or JSON if the name ends with ``.json``; values are in no error.

    Raises:
        UpgradeError: The file cannot be read, or is of another form.
    """
    suffix = path.suffix.lower()
    if suffix in {".yaml", ".yml"}:
        raise UpgradeError(f"expected Java properties or JSON, got {path}: YAML is not read")
    try:
        if suffix == ".json":
            return kafka_settings(flatten(parse_json(read_text(path))))
        return kafka_settings(parse_properties(read_text(path, "latin-1")))
    except (OSError, UpgradeError) as error:
        raise UpgradeError(f"cannot read {path}: {error}") from error


@frozen
class ApplicationFiles:
    """What the options name of an application."""

    settings: Path | None = None
    code: tuple[Path, ...] = ()

    def __bool__(self) -> bool:
        return self.settings is not None or bool(self.code)

    def check(self, origin: Release, target: Release) -> ApplicationResult:
        """Read the files; ``UpgradeError`` if one cannot be read, or Kafka has not published a release."""
        return ApplicationResult(
            check_settings(self.settings, origin, target) if self.settings else None,
            check_code(self.code, origin, target) if self.code else None,
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
    def blocked(self) -> str:
        """Why the steps must not be made; empty if they may."""
        return next((each.blocked for each in (self.configuration, self.code) if each and each.blocked), "")

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
