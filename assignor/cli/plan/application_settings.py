"""``plan --config``: the settings of an application beside both releases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from assignor.cli.plan.text import DisplayOptions
from assignor.formats.text import sanitize
from upgrade import UpgradeError
from upgrade.application.setting_files import UTF_8_SUFFIXES, Settings, parse_settings
from upgrade.application.settings import Effect, SettingsReport
from upgrade.input_values import read_text


@frozen
class ConfigurationResult:
    """The settings of a file, and what the release that the plan leads to makes of them."""

    file: str
    settings: Settings
    report: SettingsReport

    def lines(self, view: DisplayOptions) -> Iterator[str]:
        """Write what is not fine, one line each."""
        counted = Counter(finding.status for finding in self.report.findings)
        counts = ", ".join(f"{counted[status]} {status.value}" for status in Effect if counted[status])
        yield f"configuration {self.file}: {counts or 'no settings'}"
        if not any(finding.place and finding.status is not Effect.UNKNOWN for finding in self.report.findings):
            yield sanitize(f"- {self.file} sets no key of Kafka Streams or its clients: is it the application's?")
        clients_by_text: dict[tuple[str, str, str, str], list[str]] = {}
        for finding in self.report.notable:
            clients_by_text.setdefault((finding.status.value, finding.place, finding.key, finding.text), []).append(
                finding.config
            )
        for (status, place, key, text), configs in clients_by_text.items():
            clients = ", ".join(name for name in configs if name not in {"", "streams"})
            name = f"{place and f'{place}: '}{key}{clients and f' ({clients})'}"
            yield view.fact(sanitize(f"- {status}: {name}: {text}"))
        if self.settings.left_out:
            yield f"- {self.settings.left_out} further keys of the file are not read"


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
