"""Fixed bugs of Kafka Streams that an upgrade can meet: data loss, hangs and crashes of the release that it leads to.

A bug with ``applies_to`` makes a hazard of its own; another one names the rows that have it, or why it needs none.
Sources: Kafka's issues, as numbered; their fix versions, and the release notes of the releases named.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from attrs import frozen

from upgrade.hazards._hazard import Hazard, HazardSubject, ReleaseRange, Severity


@frozen(kw_only=True)
class KnownBug:
    """One bug, and the releases that have it."""

    issue: str
    affected: ReleaseRange
    symptom: str
    applies_to: str = ""
    """The applications that meet it in a release that has it; empty if it makes no hazard of its own."""
    about: HazardSubject = HazardSubject.CODE
    severity: Severity = Severity.STOPS
    rows: tuple[str, ...] = ()
    """The hazards and rules that have it besides its own hazard."""
    reason: str = ""
    """Why it needs no row; empty if it has one."""

    def hazards(self) -> Iterator[Hazard]:
        """Yield the row of an upgrade to a release that has the bug."""
        if self.applies_to:
            yield Hazard(
                name=self.issue.lower(),
                about=self.about,
                severity=self.severity,
                targets=self.affected,
                applies_to=self.applies_to,
                symptom=self.symptom,
                remedy=f"take {_fixed_in(self.affected)}",
                source=self.issue,
            )


def _fixed_in(affected: ReleaseRange) -> str:
    """Name the releases that have the fix.

    >>> _fixed_in(ReleaseRange((3, 3), (3, 7), ((3, 5, 2), (3, 6, 1))))
    '3.5.2, 3.6.1, 3.7 or later'
    """
    fixed = [*affected.backports, affected.before]
    return f"{', '.join('.'.join(map(str, each)) for each in fixed)} or later"


KNOWN_BUGS: Final = (
    KnownBug(
        issue="KAFKA-19748",
        affected=ReleaseRange((4, 1), (4, 1, 1)),
        symptom="memory is not freed by range scans",
        rows=("leak-of-4.1.0",),
    ),
    KnownBug(
        issue="KAFKA-20616",
        affected=ReleaseRange((4, 3), (4, 3, 1)),
        symptom="memory outside the heap is not freed when tasks are closed",
        rows=("leak-of-4.3.0",),
    ),
)
