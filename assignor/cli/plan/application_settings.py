"""``plan --config``: the settings of an application beside both releases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from attrs import evolve, frozen

from streams_assignor.formats.display import DisplayOptions
from streams_assignor.formats.text import sanitize
from streams_assignor.upgrade import UpgradeError
from streams_assignor.upgrade.application.broker_configuration import broker_settings
from streams_assignor.upgrade.application.setting_files import Settings, combined_settings
from streams_assignor.upgrade.application.setting_forms import PROPERTIES, form_of
from streams_assignor.upgrade.application.settings import STOPPING, Effect, SettingsReport
from streams_assignor.upgrade.input_values import read_text


@frozen
class ConfigurationResult:
    """The settings of a file, and what the release that the plan leads to makes of them."""

    file: str
    """Empty if only classes make settings."""
    settings: Settings
    report: SettingsReport

    def lines(self, view: DisplayOptions) -> Iterator[str]:
        """Write what is not fine, one line each; a terminal gets no default of TLS or SASL that nothing asks for."""
        clients_by_row: dict[tuple[Effect, str, str, str], list[str]] = {}
        for finding in self.report.findings:
            row = finding.status, finding.place, finding.key, finding.text
            clients_by_row.setdefault(row, []).append(finding.config)
        secured = self.protocols() if view.is_short else SECURED
        rows = {
            row: clients
            for row, clients in clients_by_row.items()
            if row[0] is not Effect.DEFAULT or row[2].partition(".")[0].upper() not in SECURED - secured
        }
        counted = Counter(status for status, *_ in rows)
        counts = ", ".join(f"{counted[status]} {status.value}" for status in Effect if counted[status])
        nothing = "no settings" if self.file else "nothing to change"
        yield f"configuration {self.file or 'in your classes'}: {counts or nothing}"
        for name, words in self.settings.elsewhere:
            yield view.fact(sanitize(f"- {name or self.file} {words}"))
        unset = dict[str, None]()
        for (status, place, key, text), configs in rows.items():
            if status is Effect.DEFAULT and view.is_short:
                unset[key] = None
            elif status is not Effect.FINE:
                clients = ", ".join(name for name in configs if name not in {"", "streams"})
                name = f"{place and f'{place}: '}{key}{clients and f' ({clients})'}"
                line = sanitize(f"- {status.value}: {name}: {text}")
                yield line if status in STOPPING else view.fact(line)
        if unset:
            yield sanitize(f"- {Effect.DEFAULT.value}: not set: {', '.join(unset)} (-v: from what to what)")
        if self.settings.left_out:
            yield f"- further keys of the file that are not read: {self.settings.left_out}"

    def protocols(self) -> frozenset[str]:
        """Return which of TLS and SASL the values of security.protocol ask for; both if one may not be known."""
        if self.settings.elsewhere:
            return SECURED
        given = (
            value
            for variant in self.settings.variants
            for key, value in {**variant.values, **dict.fromkeys(variant.unread, "")}.items()
            if key.endswith("security.protocol")
        )
        return frozenset[str]().union(*(_ASKED_FOR.get(value.strip().upper(), SECURED) for value in given))


SECURED: Final = frozenset({"SSL", "SASL"})
"""Beginnings of keys that matter only with a security.protocol that asks for them."""
_ASKED_FOR: Final = {
    "PLAINTEXT": frozenset[str](),
    "SSL": frozenset({"SSL"}),
    "SASL_PLAINTEXT": frozenset({"SASL"}),
    "SASL_SSL": SECURED,
}


def asked_for(word: str) -> frozenset[str]:
    """Return what a word asks for if it is the name of a protocol; nothing for another word."""
    return _ASKED_FOR.get(word, frozenset())


def read_settings(*paths: Path) -> Settings:
    """Read files of settings, and all of a folder; their names say their forms. Values are in no error.

    Raises:
        UpgradeError: A file cannot be read, or is of another form; a folder has none.
    """
    return _combined(combined_settings, paths)


def read_broker_settings(*paths: Path) -> Settings:
    """Read files of settings of brokers as ``read_settings`` does."""
    return _combined(broker_settings, paths)


def _combined(combine: Callable[..., Settings], paths: Sequence[Path]) -> Settings:
    files, further = list[tuple[str, str]](), list[Path]()
    try:
        for path in paths:
            given = _files_of(path) if path.is_dir() else [path]
            further += _further_folders(path, paths) if path.is_dir() else []
            files += ((str(file), _text_of(file)) for file in given)
    except OSError as error:
        raise UpgradeError(f"cannot read {error.filename or paths[0]}: {error.strerror or error}") from error
    try:
        settings = combine(files, of_folder=any(path.is_dir() for path in paths))
    except UpgradeError as error:
        raise UpgradeError(f"cannot read {error if len(files) > 1 else f'{paths[0]}: {error}'}") from error
    inside = ((str(folder), "has files of settings that were not read (--config)") for folder in further)
    return evolve(settings, elsewhere=(*settings.elsewhere, *inside))


def _files_of(folder: Path) -> list[Path]:
    """Return the files of settings in a folder and its ``config``, from the ones that Spring Boot likes least."""
    beside = [folder / "config"] if (folder / "config").is_dir() else []
    inside = sorted(place for config in beside for place in config.iterdir() if place.is_dir())
    named = [file for place in (folder, *beside, *inside) for file in _named_files(place)]
    if not named:
        raise UpgradeError(f"expected files of settings in {folder}, got none")
    return named


def _named_files(folder: Path) -> list[Path]:
    files = [file for file in folder.iterdir() if file.is_file() and form_of(file.name).words in _FORMS_OF_FOLDERS]
    named = [file for file in files if form_of(file.name) is not PROPERTIES or file.suffix in {".properties", ".env"}]
    return sorted(named, key=lambda file: (_FORMS_OF_FOLDERS.index(form_of(file.name).words), file.name))


def _further_folders(folder: Path, given: Sequence[Path]) -> list[Path]:
    """Return the folders in a folder that have files of settings, too: overlays of manifests, one for each stage."""
    inside = (each for each in folder.iterdir() if each.is_dir() and each.name != "config" and each.name[0] != ".")
    return sorted(each for each in inside if each not in given and _has_settings(each))


def _has_settings(folder: Path) -> bool:
    """Whether a folder has files of settings at any depth; JSON there is data of other kinds."""
    forms = {form_of(file.name).words for file in _named_files(folder)} - {"JSON"}
    return bool(forms) or any(map(_has_settings, (each for each in folder.iterdir() if each.is_dir())))


_FORMS_OF_FOLDERS: Final = ("JSON", "TOML", "HOCON", "YAML", "a Dockerfile", "properties")


def _text_of(path: Path) -> str:
    try:
        text = read_text(path, "utf-8-sig" if form_of(path.name).is_utf_8 else "latin-1")
    except UpgradeError as error:
        raise UpgradeError(f"cannot read {path}: {error}") from error
    if "\0" in text:
        raise UpgradeError(f"cannot read {path}: expected text, got NUL bytes: is it UTF-16?")
    return text


def source_of(paths: Sequence[Path]) -> str:
    """Return the names of files in one text."""
    return ", ".join(map(str, paths)) or "the settings"
