"""Changes of behaviour that are in no upgrade guide, or in several: the rows of ``behaviours.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib.resources import files
from typing import Final

from attrs import evolve

from streams_assignor.upgrade.hazards._application import version_number
from streams_assignor.upgrade.hazards._hazard import Hazard, HazardSubject, ReleaseRange, Severity
from streams_assignor.upgrade.hazards._known_bugs import condition_of


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
    before: str = "",
) -> Hazard:
    *backports, release = map(version_number, since.split(" "))
    return Hazard(
        name=name,
        about=HazardSubject(about),
        severity=Severity(severity),
        origins=ReleaseRange((), version_number(before) or release, tuple(backports)),
        targets=ReleaseRange(release, (), tuple(backports)),
        applies_to=applies_to,
        when=condition_of(when),
        symptom=symptom,
        remedy=remedy,
        source=source,
    )


_SOURCE: Final = 6
"""The place of the source behind the releases."""
_TABLE: Final = tomllib.loads(
    files("streams_assignor.upgrade.hazards").joinpath("behaviours.toml").read_text(encoding="utf-8")
)


def _rows() -> Iterator[Hazard]:
    for name, since, *row in _TABLE["behaviours"]:
        further = row.pop() if isinstance(row[-1], dict) else {}
        if isinstance(since, str):
            yield _behaviour(name, since, *row, **further)
        for release, text in since.items() if isinstance(since, dict) else ():
            several = f"{name}-of-{release.split()[-1]}", release, *row
            yield evolve(_behaviour(*several), detail=text) if row[_SOURCE:] else _behaviour(*(*several, text))


BEHAVIOURS: Final = tuple(_rows())
BESIDE: Final = tuple(_behaviour(name, "", *row) for name, *row in _TABLE["beside"])
"""Rows for any two releases, which only files that show them bring into a plan."""
