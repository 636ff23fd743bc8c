"""The hazards of upgrades beyond the metadata of a group, and the guides' entries and known bugs that they answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final

from blocks.markdown import NOT_THERE, table
from streams_assignor.upgrade.hazards import (
    HAZARDS,
    KNOWN_BUGS,
    Application,
    Guide,
    Hazard,
    Rule,
    Severity,
    guide_entries,
    wrapper_lines,
)


def hazards() -> str:
    """List every row of the table."""
    head = ("name", "severity", "from", "to", "applies to", "decided by", "symptom", "remedy", "source", "evidence")
    return table(
        head,
        (
            (
                *(f"`{row.name}`", row.severity.value, row.origins, row.targets, row.applies_to, _decided_by(row)),
                row.words,
                *(row.remedy, row.source, row.evidence),
            )
            for row in HAZARDS
        ),
    )


def _decided_by(row: Hazard) -> str:
    """Say what decides whether a row concerns an application of which nothing is known."""
    found = row.when.concern(Application())
    return "; ".join(found.decided_by or found.evidence)


def wrappers() -> str:
    """List what wrappers do by themselves."""
    head = ("library", "line", "read", "Kafka", "calls for every application", "close deletes stores", "sets")
    return table(
        head,
        (
            (
                *(row.library, row.line, row.release, row.kafka or NOT_THERE, ", ".join(row.shows) or NOT_THERE),
                NOT_THERE if row.deletes_stores is None else ("yes" if row.deletes_stores else "no"),
                ", ".join(f"`{key}`" for key in row.sets) or NOT_THERE,
            )
            for row in wrapper_lines().values()
        ),
    )


def severities() -> str:
    """Count the rows of each severity."""
    number = {each: sum(row.severity is each for row in HAZARDS) for each in Severity}
    return table(("severity", "rows"), ((each.value, number[each]) for each in Severity))


def entries(guide: Guide) -> str:
    """List the entries of a guide."""
    rows = (each for each in guide_entries() if each.guide is guide)
    return table(
        ("release", "entry", "answered by"),
        ((each.release, each.summary, _answer(each.rows, each.reason)) for each in rows),
    )


def known_bugs() -> str:
    """List every known bug with the releases that have it."""
    return table(
        ("issue", "releases", "what happens", "answered by"),
        (
            (
                bug.issue,
                bug.affected,
                bug.symptom,
                ", ".join(f"`{name}`" for name in (*bug.rows, *(row.name for row in bug.hazards()))),
            )
            for bug in KNOWN_BUGS
        ),
    )


def rules() -> str:
    """List what answers entries besides hazards."""
    return table(("rule", "where it is"), ((f"`{rule.label}`", f"`{rule.value}`") for rule in Rule))


def _answer(rows: Iterable[str], reason: str) -> str:
    return ", ".join(f"`{name}`" for name in rows) or f"{NOT_THERE} ({reason})"


BLOCKS: Final[Mapping[str, Callable[[], str]]] = {
    "hazards": hazards,
    "wrappers": wrappers,
    "severities": severities,
    "guide entries of streams": partial(entries, Guide.STREAMS),
    "guide entries of upgrade": partial(entries, Guide.UPGRADE),
    "known bugs": known_bugs,
    "rules of guide entries": rules,
}
