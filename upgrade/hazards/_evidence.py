"""The witnesses of an answer: what was read of an application, and what could still contradict a "no".

A "no" is only possible where no row of ``CONTRADICTIONS`` is open. All conditions ask this one table.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterator
from typing import Final

from attrs import field, frozen

from streams_assignor.upgrade.hazards._application import Application, CodeSettings, SettingFacts

ENVIRONMENT: Final = "environment"
COMMAND_LINE: Final = "command line"
FOLDER: Final = "folder"
COULD_SET: Final = "could set it"
"""In each text about a key that no file sets."""
_MOST_SHOWN: Final = 50
"""A framework's jar that may be the application's had thousands, and each hazard repeats them."""
_FORM: Final = re.compile(" as [^/]*$")
_FRAMEWORKS: Final = frozenset({"spring-boot", "quarkus-core", "micronaut-core"})
"""Libraries that read profiles, the environment and the command line by themselves."""


class Subject(enum.Enum):
    """The subject of an answer."""

    SETTINGS = "settings"
    """The value of a key, or whether it is set."""
    CODE = "code"
    """The references of class files."""


@frozen
class Contradiction:
    """Something that could still contradict a "no"."""

    name: str
    subject: Subject
    open_in: Callable[[Application], Iterator[str]] = field(eq=False)
    """Yields in words what could, with the option that would show it; nothing if it cannot."""


def contradictions(application: Application, subject: Subject) -> tuple[str, ...]:
    """Return what could still contradict a "no" about an application, in words; of very many the first ones."""
    rows = (row for row in CONTRADICTIONS if row.subject is subject)
    texts = tuple(dict.fromkeys(text for row in rows for text in row.open_in(application)))
    left = len(texts) - _MOST_SHOWN
    return (*texts[:_MOST_SHOWN], f"{left:,} more like these {COULD_SET}") if left > 0 else texts


def witnesses(application: Application, subject: Subject) -> tuple[str, ...]:
    """Return what was read of an application, and how."""
    settings, code = application.settings, application.code
    classes = (f"{code.source} as class files",) if code else ()
    if subject is not Subject.SETTINGS:
        return classes
    files = (settings.read or (settings.source,)) if settings else ()
    return (*files, *(f"{read}, without settings that libraries make" for read in classes))


def _settings(application: Application) -> SettingFacts:
    return application.settings or SettingFacts("", {})


def _settings_in_code(application: Application) -> CodeSettings | None:
    code = application.code
    return code.settings if code and code.has_own_classes else None


def _has_framework(application: Application) -> bool:
    return _settings(application).is_of_framework or not _FRAMEWORKS.isdisjoint(application.all_libraries)


def _files_that_were_not_read(application: Application) -> Iterator[str]:
    yield from _settings(application).elsewhere


def _code_could_set(application: Application) -> Iterator[str]:
    made = _settings_in_code(application)
    if application.code is None or not application.code.has_own_classes:
        yield "your code could set it (--app)"
    elif made is None:
        yield f"your code could set it: no settings were looked for in {application.code.source}"
    else:
        if not application.code.makes_streams and not _has_framework(application):
            yield f"your code could set it: no class of yours in {application.code.source} makes a KafkaStreams"
        yield from (f"{name} makes a KafkaStreams, and could set it" for name in application.code.streams_of_libraries)
        yield from (f"your code could set it: {reason}" for reason in made.not_followed)
        yield from (f"your code could set it: {part} was not read" for part in application.code.unread)


def _files_that_code_loads(application: Application) -> Iterator[str]:
    """Yield the files that own classes load and that are not given; those without a constant name may have any."""
    made, settings = _settings_in_code(application), application.settings
    given = [_FORM.sub("", read) for read in settings.read] if settings else []
    for loaded in sorted(made.loads, key=lambda loaded: not loaded.name) if made else ():
        matching = [name for name in given if _last_part(name) == loaded.name or not loaded.name]
        if matching:
            given.remove(matching[0])
        else:
            yield f"{loaded.where} loads {loaded.name or 'a file'} (--config)"


def _files_in_archives(application: Application) -> Iterator[str]:
    """Yield the files of a framework's settings among the application's own that are not given as such."""
    code, given = application.code, [_last_part(_FORM.sub("", read)) for read in _settings(application).read]
    for path in code.setting_files if code and _has_framework(application) else ():
        if _last_part(path) in given:
            given.remove(_last_part(path))
        else:
            yield f"{path} could set it (--config)"


def _last_part(path: str) -> str:
    return re.split(r"[/\\:]", path)[-1]


def _no_settings(application: Application) -> Iterator[str]:
    if application.settings is None and (_settings_in_code(application) is None or _has_framework(application)):
        yield "a file of settings could set it (--config)"


def _profiles(application: Application) -> Iterator[str]:
    if _has_framework(application) and FOLDER not in _settings(application).shows:
        yield "another profile or file could set it (--config with their folder)"


def _environment(application: Application) -> Iterator[str]:
    if _has_framework(application):
        missing = {ENVIRONMENT, COMMAND_LINE} - _settings(application).shows
        if missing:
            yield f"the {' or the '.join(sorted(missing, reverse=True))} could set it (--config with the manifest)"


def _no_code(application: Application) -> Iterator[str]:
    code = application.code
    if code and not code.has_own_classes:
        yield f"--app with your classes, which {code.source} does not have"


def _topology_of_other_classes(application: Application) -> Iterator[str]:
    code = application.code
    if code and code.has_own_classes and not code.builds_topology:
        yield f"--app with the classes that build the topology: no class of yours in {code.source} does"


def _parts_that_were_not_read(application: Application) -> Iterator[str]:
    for part in application.code.unread if application.code else ():
        yield f"{part} was not read"


CONTRADICTIONS: Final = (
    Contradiction("unread-files", Subject.SETTINGS, _files_that_were_not_read),
    Contradiction("code", Subject.SETTINGS, _code_could_set),
    Contradiction("loaded-files", Subject.SETTINGS, _files_that_code_loads),
    Contradiction("files-in-archives", Subject.SETTINGS, _files_in_archives),
    Contradiction("files", Subject.SETTINGS, _no_settings),
    Contradiction("profiles", Subject.SETTINGS, _profiles),
    Contradiction("environment", Subject.SETTINGS, _environment),
    Contradiction("own-classes", Subject.CODE, _no_code),
    Contradiction("topology", Subject.CODE, _topology_of_other_classes),
    Contradiction("unread-parts", Subject.CODE, _parts_that_were_not_read),
)
"""Everything that could: one table for all hazards."""
