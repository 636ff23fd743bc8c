"""The guide of all releases, small enough to be kept and read: signs, what a single bounce breaks, differences.

``summary`` is what ``docs/reference/upgrade-matrix.json`` holds; the tables of the page are made of that file, as the
sweep behind it takes minutes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from spark_sim.advice.upgrade_guide import (
    DifferenceReason,
    Pair,
    PairGuide,
    derive_guide,
    guide_differences,
    path_text,
)
from spark_sim.search.cell_result import UpgradeResult
from upgrade.plans import Plan
from upgrade.releases import RELEASES, Release

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
        "states": sum(each.states for each in results),
        "transitions": sum(each.transitions for each in results),
        "schedules": str(sum(each.schedules or 0 for each in results)),
        "releases": [release.name for release in releases],
        "signs": [" ".join(sign(entries, origin, target) for target in releases) for origin in releases],
        **_plan_verdicts(results, releases),
        "broken": list(_broken(results)),
        "differences": list(_differences(entries)),
        "unexplained": [
            f"{each.origin} to {each.target}" for each in guide_differences(entries) if each.reason is None
        ],
    }


def _plan_verdicts(results: Iterable[UpgradeResult], releases: Sequence[Release]) -> dict[str, Any]:
    """Return the verdict of every plan: the distinct cells, and for each pair the place of its cell among them."""
    cells: dict[Pair, list[str]] = {}
    for each in results:
        upgrade = each.upgrade
        words = [upgrade.plan.value, *filter(None, [upgrade.upgrade_from]), each.verdict]
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
    found: dict[str, list[UpgradeResult]] = {}
    for each in results:
        upgrade = each.upgrade
        if upgrade.plan is Plan.ONE_BOUNCE and upgrade.upgrade_from is None and not each.holds:
            found.setdefault(str(each.property), []).append(each)
    for violated, unsafe in sorted(found.items()):
        shortest = min(unsafe, key=lambda each: (len(each.example or ""), each.example or ""))
        yield {"property": violated, "pairs": len(unsafe), "example": shortest.example}


def _differences(entries: Mapping[Pair, PairGuide]) -> Iterator[dict[str, Any]]:
    """Yield the differences from Kafka's guides, those with the same reason and the same signs together."""
    found: dict[tuple[str, int, str], list[Any]] = {}
    for each in guide_differences(entries):
        way = entries[each.origin, each.target].path
        steps = sum(hop.plan is not Plan.OFFLINE for hop in each.documented)
        key = (each.reason.name if each.reason else "", steps, way.sign)
        found.setdefault(key, []).append(each)
    for (reason, _, sign_), those in found.items():
        example = those[-1]
        yield {
            "reason": reason,
            "sign": sign_,
            "pairs": len(those),
            "origins": _release_span(each.origin for each in those),
            "targets": _release_span(each.target for each in those),
            "for_example": f"{example.origin} to {example.target}",
            "documented": path_text(example.documented),
            "derived": example.derived,
        }


def _release_span(releases: Iterable[Release]) -> str:
    """Name the first and the last of some releases."""
    found = sorted(set(releases), key=lambda release: release.number)
    return str(found[0]) if len(found) == 1 else f"{found[0]} to {found[-1]}"


# -- tables of what was kept -----------------------------------------------------------------------------------------


def groups_of_releases(kept: Mapping[str, Any]) -> list[list[int]]:
    """Group the places of releases that have the same signs from and to all others."""
    signs, found = _rows_of_signs(kept), list[list[int]]()
    for place in range(len(signs)):
        fitting = (group for group in found if _have_equal_signs(signs, group[0], place))
        if (group := next(fitting, None)) is None:
            found.append([place])
        else:
            group.append(place)
    return found


def _rows_of_signs(kept: Mapping[str, Any]) -> list[list[str]]:
    return [row.split() for row in kept["signs"]]


def _have_equal_signs(signs: Sequence[Sequence[str]], one: int, other: int) -> bool:
    return signs[one][other] == signs[other][one] and all(
        signs[one][each] == signs[other][each] and signs[each][one] == signs[each][other]
        for each in range(len(signs))
        if each not in {one, other}
    )


def matrix_rows(kept: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of the matrix: releases with the same signs share a row and a column."""
    signs, found = _rows_of_signs(kept), groups_of_releases(kept)
    letters = [column_name(place) for place in range(len(found))]
    rows = [
        [f"**{letters[place]}**", release_ranges([RELEASES[kept["releases"][each]] for each in group])]
        + [_between(signs, group, other) for other in found]
        for place, group in enumerate(found)
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
        [each[key] for key in ("pairs", "origins", "targets", "for_example", "documented", "derived")]
        + [DifferenceReason[each["reason"]].value if each["reason"] else "**unexplained**"]
        for each in kept["differences"]
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
