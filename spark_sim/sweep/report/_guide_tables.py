"""The guide of all releases, small enough to be kept and read: signs, what a single bounce breaks, differences.

``summary`` is what ``docs/reference/upgrade-matrix.json`` holds; the tables of the page are made of that file, as the
sweep behind it takes minutes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from streams_assignor.spark_sim.advice.upgrade_guide import (
    DifferenceReason,
    Pair,
    PairGuide,
    derive_guide,
    guide_differences,
    path_text,
)
from streams_assignor.spark_sim.search.cell_result import UpgradeResult
from streams_assignor.upgrade.plans import Plan
from streams_assignor.upgrade.releases import RELEASES, Release

NO_PATH: Final = "-"
"""The sign of a release and itself."""
LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"


def guide_summary(results: Sequence[UpgradeResult]) -> dict[str, Any]:
    """Return what is kept of a sweep over all releases, in plain values."""
    entries = derive_guide(results)
    releases = sorted({release for pair in entries for release in pair}, key=lambda release: release.number)
    some = results[0]
    return {
        "members": some.members,
        "faults": dict(some.faults),
        "upgrades": len(results),
        "group_sizes": group_sizes(results),
        "states": sum(result.states for result in results),
        "transitions": sum(result.transitions for result in results),
        "schedules": str(sum(result.schedules or 0 for result in results)),
        "releases": [release.name for release in releases],
        "signs": [" ".join(sign(entries, origin, target) for target in releases) for origin in releases],
        **_plan_verdicts(results, releases),
        "broken": list(_broken(results)),
        "differences": list(_differences(entries)),
        "unexplained": [
            f"{difference.origin} to {difference.target}"
            for difference in guide_differences(entries)
            if difference.reason is None
        ],
    }


def group_sizes(results: Iterable[UpgradeResult]) -> dict[str, int]:
    """Return how many verdicts are about groups of each size (``UpgradeResult.group_size``)."""
    sizes = Counter(result.group_size for result in results if result.group_size)
    return {size: sizes[size] for size in sorted(sizes)}


def _plan_verdicts(results: Iterable[UpgradeResult], releases: Sequence[Release]) -> dict[str, Any]:
    """Return the verdict of every plan: the distinct cells, and for each pair the place of its cell among them."""
    cells: dict[Pair, list[str]] = {}
    for result in results:
        upgrade = result.upgrade
        words = [upgrade.plan.value, *filter(None, [upgrade.upgrade_from]), result.verdict]
        cells.setdefault((upgrade.origin, upgrade.target), []).append(" ".join(words))
    distinct = {cell: place for place, cell in enumerate(dict.fromkeys(", ".join(cell) for cell in cells.values()))}
    places = {pair: str(distinct[", ".join(cell)]) for pair, cell in cells.items()}
    rows = [" ".join(places.get((origin, target), NO_PATH) for target in releases) for origin in releases]
    return {"plans": list(distinct), "cells": rows}


def sign(entries: Mapping[Pair, PairGuide], origin: Release, target: Release) -> str:
    """Return the number of bounces, or the sign of an offline upgrade; ``1/2`` if the topology decides."""
    entry = entries.get((origin, target))
    return entry.sign if entry else NO_PATH


def _broken(results: Iterable[UpgradeResult]) -> Iterator[dict[str, Any]]:
    """Yield what single bounces without configuration break: how many pairs, and the shortest example of all."""
    by_property: dict[str, list[UpgradeResult]] = {}
    for result in results:
        upgrade = result.upgrade
        if upgrade.plan is Plan.ONE_BOUNCE and upgrade.upgrade_from is None and not result.holds:
            by_property.setdefault(str(result.property), []).append(result)
    for violated, unsafe in sorted(by_property.items()):
        shortest = min(unsafe, key=lambda result: (len(result.example or ""), result.example or ""))
        yield {"property": violated, "pairs": len(unsafe), "example": shortest.example}


def _differences(entries: Mapping[Pair, PairGuide]) -> Iterator[dict[str, Any]]:
    """Yield the differences from Kafka's guides, those with the same reason and the same signs together."""
    by_kind: dict[tuple[str, int, str], list[Any]] = {}
    for difference in guide_differences(entries):
        way = entries[difference.origin, difference.target].path
        steps = sum(hop.plan is not Plan.OFFLINE for hop in difference.documented)
        key = (difference.reason.name if difference.reason else "", steps, way.sign)
        by_kind.setdefault(key, []).append(difference)
    for (reason, _, sign_), differences in by_kind.items():
        example = differences[-1]
        yield {
            "reason": reason,
            "sign": sign_,
            "pairs": len(differences),
            "origins": _release_span(difference.origin for difference in differences),
            "targets": _release_span(difference.target for difference in differences),
            "for_example": f"{example.origin} to {example.target}",
            "documented": path_text(example.documented),
            "derived": example.derived,
        }


def _release_span(releases: Iterable[Release]) -> str:
    """Name the first and the last of some releases."""
    ordered = sorted(set(releases), key=lambda release: release.number)
    return str(ordered[0]) if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"


# -- tables of what was kept -----------------------------------------------------------------------------------------


def groups_of_releases(kept: Mapping[str, Any]) -> list[list[int]]:
    """Group the places of releases that have the same signs from and to all others."""
    signs, groups = _rows_of_signs(kept), list[list[int]]()
    for place in range(len(signs)):
        fitting = (group for group in groups if _have_equal_signs(signs, group[0], place))
        if (group := next(fitting, None)) is None:
            groups.append([place])
        else:
            group.append(place)
    return groups


def _rows_of_signs(kept: Mapping[str, Any]) -> list[list[str]]:
    return [row.split() for row in kept["signs"]]


def _have_equal_signs(signs: Sequence[Sequence[str]], place: int, other: int) -> bool:
    return signs[place][other] == signs[other][place] and all(
        signs[place][third] == signs[other][third] and signs[third][place] == signs[third][other]
        for third in range(len(signs))
        if third not in {place, other}
    )


def matrix_rows(kept: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of the matrix: releases with the same signs share a row and a column."""
    signs, groups = _rows_of_signs(kept), groups_of_releases(kept)
    letters = [column_name(place) for place in range(len(groups))]
    rows = [
        [f"**{letters[place]}**", release_ranges([RELEASES[kept["releases"][release]] for release in group])]
        + [_between(signs, group, other) for other in groups]
        for place, group in enumerate(groups)
    ]
    return ["", "from \\ to", *letters], rows


def _between(signs: Sequence[Sequence[str]], group: Sequence[int], other: Sequence[int]) -> str:
    """Return the sign between two groups; within one it is that of its first two."""
    if group is other:
        return signs[group[0]][group[1]] if len(group) > 1 else ""
    return signs[group[0]][other[0]]


def difference_rows(kept: Mapping[str, Any]) -> list[list[object]]:
    """Return the rows of the differences from Kafka's guides."""
    return [
        [difference[key] for key in ("pairs", "origins", "targets", "for_example", "documented", "derived")]
        + [DifferenceReason[difference["reason"]].value if difference["reason"] else "**unexplained**"]
        for difference in kept["differences"]
    ]


def column_name(place: int) -> str:
    """Name a column.

    >>> column_name(0), column_name(27)
    ('a', 'ab')
    """
    more, rest = divmod(place, len(LETTERS))
    return (LETTERS[more - 1] if more else "") + LETTERS[rest]


def release_ranges(group: Sequence[Release]) -> str:
    """Name releases, neighbours as a range.

    >>> release_ranges([RELEASES[name] for name in ("2.1.0", "2.1.1", "2.2.0", "2.2.1", "2.3.0")])
    '2.1.0-2.2.1, 2.3.0'
    """
    places = {release: place for place, release in enumerate(RELEASES.values())}
    runs: list[list[Release]] = []
    for release in group:
        if runs and places[release] == places[runs[-1][-1]] + 1:
            runs[-1].append(release)
        else:
            runs.append([release])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
