"""Kafka's releases, what ``upgrade.from`` pins, the documented plan between any two; dialects of the feature system."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from blocks.markdown import table, word
from streams_assignor.upgrade.cluster.features.dialects import DIALECT_POINTS, DIALECTS, Code
from streams_assignor.upgrade.plans import (
    FROM_LINES,
    TO_LINES,
    Plan,
    documented_plan,
    kip_268_cells,
    upgrade_from_value,
)
from streams_assignor.upgrade.release_names import CONFLUENT_PLATFORM
from streams_assignor.upgrade.releases import RELEASES, Release, release_named
from streams_assignor.upgrade.upgrade_from import PINNED_VERSIONS


def releases() -> str:
    """List the releases; neighbours that behave alike share a row."""

    def columns(release: Release) -> tuple[str, tuple[object, ...]]:
        protocols = " or ".join(reversed(release.rebalance_protocols))
        about = (release.supported_version, f"`{release.rule_set}`", protocols, release.task_assignor)
        return release.line, (*about, _accepted(release.upgrade_from), release.note)

    rows = []
    for (_, about), group in groupby(RELEASES.values(), key=columns):
        found = list(group)
        first, last = found[0], found[-1]
        names = f"`{first}`" if first is last else f"`{first}` to `{last}`"
        rows.append((names, *about))
    head = ("release", "latest version", "rules", "protocol", "task assignor", "`upgrade.from`", "note")
    return table(head, rows)


def _accepted(values: Sequence[str]) -> str:
    """Name the first and the last: there are no gaps."""
    if not values:
        return "not known, ignored"
    return " to ".join(f"`{value}`" for value in dict.fromkeys((values[0], values[-1])))


def pinned() -> str:
    """Show which version each value of ``upgrade.from`` makes a member send."""
    rows = [(f"`{value}`", version) for value, version in PINNED_VERSIONS.items()]
    return table(("`upgrade.from`", "version sent"), rows)


def matrix() -> str:
    """Show the documented plan for each of the KIP's 28 cells."""
    found = {(origin.line, target.name): _plan(origin, target) for origin, target in kip_268_cells()}
    targets = {line: next(name for _, name in found if release_named(name).line == line) for line in TO_LINES}
    rows = [[f"**{line}**", *(found.get((line, targets[to]), "") for to in TO_LINES)] for line in FROM_LINES]
    return table(("from \\ to", *TO_LINES), rows)


def _plan(origin: Release, target: Release) -> str:
    if documented_plan(origin, target) is Plan.TWO_BOUNCES:
        return f"2, `{upgrade_from_value(origin, target)}`"
    return "1, probing" if origin.supported_version < target.supported_version else "1"


def dialects() -> str:
    """Show what the dialects of the feature system differ in."""
    rows = [
        (rows, what, *(_said(getattr(dialect, point)) for dialect in DIALECTS))
        for point, (rows, what) in DIALECT_POINTS.items()
    ]
    return table(("row", "point", *(dialect.name for dialect in DIALECTS)), rows)


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Code):
        return f"{value.name} {value.value or '(no number)'}"
    if isinstance(value, Mapping):
        return ", ".join(f"{code} {word(kind)}" for code, kind in value.items())
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(getattr(value, "value", value))


def confluent_platform() -> str:
    """List the lines of Confluent Platform with their line of Kafka."""
    return table(
        ("Confluent Platform", "Kafka"), [(f"`{line}`", f"`{kafka}`") for line, kafka in CONFLUENT_PLATFORM.items()]
    )


BLOCKS: Final[Mapping[str, Callable[[], str]]] = {
    "releases": releases,
    "pinned versions": pinned,
    "confluent platform": confluent_platform,
    "matrix": matrix,
    "dialects": dialects,
}
