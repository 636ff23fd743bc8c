"""Fixed bugs of Kafka Streams and of the clients that it runs: the rows of ``known_bugs.toml``.

A bug with ``applies_to`` makes a hazard of its own; another one names the rows that have it.
Sources: Kafka's issues, as numbered; their fix versions, and the release notes of the releases named.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Final, TypedDict, Unpack

from attrs import frozen

from streams_assignor.upgrade.hazards._application import version_number
from streams_assignor.upgrade.hazards._condition_words import condition_of
from streams_assignor.upgrade.hazards._hazard import Hazard, HazardSubject, ReleaseRange, Severity
from streams_assignor.upgrade.hazards._remedy import YOURS, Remedy, RemedyKind, edit
from streams_assignor.upgrade.hazards.conditions import Condition


@frozen(kw_only=True)
class KnownBug:
    """One bug, and the releases that have it."""

    issue: str
    affected: ReleaseRange
    symptom: str
    applies_to: str = ""
    """The applications that meet it in a release that has it; empty if it makes no hazard of its own."""
    when: Condition | None = None
    """The condition in files that it concerns an application, or the place to look at."""
    is_certain: bool = False
    about: HazardSubject = HazardSubject.CODE
    severity: Severity = Severity.STOPS
    new_only: bool = False
    """It has nothing to do with upgrades, so only one from a release without it names it."""
    remedy: str = ""
    """Another remedy than a release with the fix."""
    edit: str = ""
    """The key that this remedy changes."""
    rows: Sequence[str] = ()
    """The hazards and rules that have it besides its own hazard."""

    def hazards(self) -> Iterator[Hazard]:
        """Yield the row of an upgrade to a release that has the bug."""
        if self.when:
            yield Hazard(
                name=self.issue.lower(),
                about=self.about,
                severity=self.severity,
                targets=self.affected,
                applies_to=self.applies_to,
                when=self.when,
                is_certain=self.is_certain,
                symptom=self.symptom,
                remedy=" or ".join(filter(None, (self.remedy, f"take {_fixed_in(self.affected)}"))),
                remedies=(edit(self.edit, YOURS),) if self.edit else (Remedy(RemedyKind.RELEASE),),
                source=self.issue,
                new_only=self.new_only,
            )


def _fixed_in(affected: ReleaseRange) -> str:
    """Name the releases that have the fix.

    >>> _fixed_in(ReleaseRange((3, 3), (3, 7), ((3, 5, 2), (3, 6, 1))))
    '3.5.2, 3.6.1, 3.7 or later'
    """
    return f"{', '.join('.'.join(map(str, number)) for number in (*affected.backports, affected.before))} or later"


def _affected(since: str, fixed: str) -> ReleaseRange:
    *backports, before = map(version_number, fixed.split())
    return ReleaseRange(version_number(since), before, tuple(backports))


class _Further(TypedDict, total=False):
    is_certain: bool
    new_only: bool
    remedy: str
    edit: str
    rows: list[str]


def _bug(
    issue: str,
    since: str,
    fixed: str,
    severity: str,
    about: str,
    applies_to: str,
    when: str,
    symptom: str,
    **further: Unpack[_Further],
) -> KnownBug:
    return KnownBug(
        issue=issue,
        affected=_affected(since, fixed),
        symptom=symptom,
        applies_to=applies_to,
        when=condition_of(when),
        about=HazardSubject(about),
        severity=Severity(severity),
        **further,
    )


def _elsewhere(issue: str, since: str, fixed: str, symptom: str, rows: list[str]) -> KnownBug:
    return KnownBug(issue=issue, affected=_affected(since, fixed), symptom=symptom, rows=rows)


_TABLE: Final = tomllib.loads(
    files("streams_assignor.upgrade.hazards").joinpath("known_bugs.toml").read_text(encoding="utf-8")
)
KNOWN_BUGS: Final = (
    *(_elsewhere(*row) for row in _TABLE["elsewhere"]),
    *(_bug(*row[:8], **further) for row in _TABLE["bugs"] for further in row[8:] or [{}]),
)
WITHOUT_ROW: Final[Mapping[str, tuple[str, ...]]] = {
    reason: tuple(issues.split()) for reason, issues in _TABLE["without-row"].items()
}
"""The other issues of the patch releases, by the reason why they need no row."""
