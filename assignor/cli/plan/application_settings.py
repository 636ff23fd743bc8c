"""``plan --config``: the settings of an application beside both releases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import frozen

from assignor.cli.plan.text import DisplayOptions
from assignor.formats.text import sanitize
from upgrade import Release, UpgradeError
from upgrade.application.code import code_of
from upgrade.application.configuration import configuration_of
from upgrade.application.parameters import PlanParameters, plan_parameters
from upgrade.application.setting_files import UTF_8_SUFFIXES, Settings, parse_settings
from upgrade.application.settings import Effect, KnownClasses, SettingsReport, judge_settings
from upgrade.input_values import read_text


@frozen
class ConfigurationResult:
    """The settings of a file, and what the release that the plan leads to makes of them."""

    file: str
    target: str
    settings: Settings
    report: SettingsReport
    parameters: PlanParameters

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
            "parameters": self.parameters.as_json(),
            "settings": [each.as_json() for each in self.report.findings],
        }

    def lines(self, view: DisplayOptions) -> Iterator[str]:
        """Write what is not fine, one line each."""
        counted = Counter(each.status for each in self.report.findings)
        counts = ", ".join(f"{counted[status]} {status.value}" for status in Effect if counted[status])
        yield f"configuration {self.file}: {counts or 'no settings'}"
        same: dict[tuple[str, str, str, str], list[str]] = {}
        for each in self.report.notable:
            same.setdefault((each.status.value, each.place, each.key, each.text), []).append(each.config)
        for (status, place, key, text), configs in same.items():
            clients = ", ".join(name for name in configs if name not in {"", "streams"})
            name = f"{place and f'{place}: '}{key}{clients and f' ({clients})'}"
            yield view.fact(sanitize(f"- {status}: {name}: {text}"))
        if self.settings.left_out:
            yield f"- {self.settings.left_out} further keys of the file are not of Kafka Streams"


def check_settings(
    path: Path, settings: Settings, origin: Release, target: Release, application: KnownClasses | None = None
) -> ConfigurationResult:
    """Judge the settings of a file.

    Raises:
        NoTable: Kafka has not published a release.
    """
    ends = configuration_of(origin), configuration_of(target)
    report = judge_settings(settings, *ends, code_of(target), application)
    return ConfigurationResult(str(path), target.name, settings, report, plan_parameters(settings))


def read_settings(path: Path) -> Settings:
    """Read properties, or JSON or YAML if the name says so; values are in no error.

    Raises:
        UpgradeError: The file cannot be read, or is of another form.
    """
    suffix = path.suffix.lower()
    try:
        text = read_text(path, "utf-8-sig" if suffix in UTF_8_SUFFIXES else "latin-1")
        if "\0" in text:
            raise UpgradeError("expected text, got NUL bytes: is it UTF-16?")
        return parse_settings(text, suffix)
    except (OSError, UpgradeError) as error:
        raise UpgradeError(f"cannot read {path}: {error}") from error
