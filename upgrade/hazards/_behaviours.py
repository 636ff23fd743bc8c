"""Changes of behaviour: the rows of ``guide_hazards.toml`` and ``behaviours.toml``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any, Final

from attrs import evolve

from streams_assignor.upgrade.hazards._application import version_number
from streams_assignor.upgrade.hazards._condition_words import condition_of
from streams_assignor.upgrade.hazards._hazard import Hazard, HazardSubject, ReleaseRange, Severity
from streams_assignor.upgrade.hazards._remedy import Remedy, RemedyKind, edit, edit_first, edit_on


def _behaviour(
    name: str,
    since: str,
    severity: str,
    about: str,
    applies_to: str,
    when: str,
    symptom: str,
    remedy: str,
    source: str,
    *,
    before: str = "",
    first: str = "",
    until: str = "",
    back: bool = False,
    seen: str = "",
    remedies: Sequence[str] = (),
    is_certain: bool = False,
    mixed_only: bool = False,
) -> Hazard:
    *backports, release = map(version_number, since.split(" "))
    ported = tuple(backports)
    older = ReleaseRange(version_number(first), version_number(before) or release, ported)
    newer = ReleaseRange(release, version_number(until), ported)
    return Hazard(
        name=name,
        about=HazardSubject(about),
        severity=Severity(severity),
        origins=newer if back else older,
        targets=older if back else newer,
        applies_to=applies_to,
        when=condition_of(when),
        symptom=symptom,
        remedy=remedy,
        source=source,
        seen=tuple(seen.split()),
        remedies=tuple(map(_remedy, remedies)),
        is_certain=is_certain,
        mixed_only=mixed_only,
    )


_REMEDY: Final = re.compile(r"(?:(first) |([\d.]+) to ([\d.]+) )?([^=]+)(?:=(.+))?")


def _remedy(text: str) -> Remedy:
    """Return the change of a text: ``code``, or of a key without or with its new value.

    >>> print(_remedy("2.6 to 4.0 processing.guarantee=exactly_once").since, _remedy("first a").kind.value)
    (2, 6) edit-first
    """
    if text == RemedyKind.CODE.value:
        return Remedy(RemedyKind.CODE)
    match = _REMEDY.fullmatch(text)
    assert match, text
    is_first, since, before, key, value = match.groups()
    if since:
        return edit_on(version_number(since), version_number(before), key, value)
    return edit_first(key, value) if is_first else edit(key, value)


_SOURCE: Final = 6
"""The place of the source behind the releases."""


def _read(name: str) -> Mapping[str, Any]:
    return tomllib.loads(files("streams_assignor.upgrade.hazards").joinpath(name).read_text(encoding="utf-8"))


def _rows(rows: Sequence[Sequence[Any]]) -> Iterator[Hazard]:
    for name, since, *row in rows:
        further = row.pop() if isinstance(row[-1], dict) else {}
        if isinstance(since, str):
            yield _behaviour(name, since, *row, **further)
        for release, text in since.items() if isinstance(since, dict) else ():
            several = f"{name}-of-{release.split()[-1]}", release, *row
            yield evolve(_behaviour(*several), detail=text) if row[_SOURCE:] else _behaviour(*(*several, text))


_TABLE: Final = _read("behaviours.toml")
GUIDE_HAZARDS: Final = tuple(_rows(_read("guide_hazards.toml")["guides"]))
BEHAVIOURS: Final = tuple(_rows(_TABLE["behaviours"]))
BESIDE: Final = tuple(_behaviour(name, "", *row) for name, *row in _TABLE["beside"])
"""Rows for any two releases, which only files that show them bring into a plan."""
