"""The page of a sweep: one file of HTML that needs no network, light however many releases there are.

The page is a template with data in it, drawn by its own script. Releases that behave alike have the same results but
for their names, so results are kept once, with signs in place of the names, and a cell says which it has.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import asdict, evolve

from assignor.eras import era_of
from spark_sim.cell_result import SAFE, CellResult
from spark_sim.guide import Entry, Pair, differences, guide
from spark_sim.jobs import behaviour_of
from spark_sim.naming import shared
from spark_sim.report import PLANS, Grid, judge
from spark_sim.results import write_whole
from spark_sim.scenario import Scenario
from spark_sim.schedules import schedules
from spark_sim.story import Part, generations, tell
from spark_sim.variants import WORDS
from upgrade.matrix import Upgrade

MOST_DIGITS: Final = 13
"""Longer numbers are written with a power of ten."""
MOST_TOLD: Final = 400
"""With more results than these only the examples of what goes wrong are told in full."""


def write_html(results: Sequence[CellResult], file: Path) -> None:
    """Write the page."""
    write_whole(file, html(results))


def html(results: Sequence[CellResult]) -> str:
    """Return one page with everything in it: heat map, guide, and for each cell its plans with examples told."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("spark_sim"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {}  # plans in their order, and not in that of the alphabet
    return environment.get_template("report.html.j2").render(
        judgement=judge(results),
        results=len(results),
        runs=list(runs_by_kind(results).values()),
        schedules=large(sum(result.schedules or 0 for result in results)),
        data=page_data(results),
    )


def runs_by_kind(results: Sequence[CellResult]) -> dict[Hashable, int]:
    """Return how many runs were made of each kind: upgrades that differ in names only share them."""
    return {behaviour_of(result.upgrade): result.runs for result in results}


def page_data(results: Sequence[CellResult]) -> dict[str, Any]:
    """Return what the script draws, in plain values."""
    grid, entries = Grid(results), guide(results)
    verdicts, stories, ways = _Once(), _Once(), _Once()
    tells_all = len(results) <= MOST_TOLD
    differing = {(each.origin, each.target): each for each in differences(entries)}
    cells = []
    for (origin, target), cell in grid.items():
        pair = (cell[0].upgrade.origin, cell[0].upgrade.target)
        plans = [
            [
                verdicts.place_of(_verdict(result, stories, tells_all=tells_all)),
                result.upgrade.upgrade_from,
                int(result.upgrade.documented),
            ]
            for result in cell
        ]
        difference = differing.get(pair)
        way = _way(pair, entries) | {
            "documented": shared(difference.documented, cell[0].upgrade) if difference else None,
            "reason": difference.reason.value if difference and difference.reason else None,
        }
        cells.append([grid.down.index(origin), grid.across.index(target), ways.place_of(way), plans])
    return {
        "down": [[line, grid.releases[0][line].name] for line in grid.down],
        "across": [[line, grid.releases[1][line].name] for line in grid.across],
        "notes": grid.notes,
        "plans": {plan.value: asdict(words) for plan, words in PLANS.items()},
        "verdicts": verdicts.values,
        "stories": stories.values,
        "ways": ways.values,
        "cells": cells,
    }


class _Once:
    """Values, each kept once: ``place_of`` says where."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._places: dict[str, int] = {}

    def place_of(self, value: Any) -> int:
        place = self._places.setdefault(repr(value), len(self.values))
        if place == len(self.values):
            self.values.append(value)
        return place

    def known(self, key: str, make: Callable[[], Any]) -> int:
        """Return the place of what ``key`` stands for; it is made only the first time."""
        if key not in self._places:
            self._places[key] = len(self.values)
            self.values.append(make())
        return self._places[key]


def _way(pair: Pair, entries: Mapping[Pair, Entry]) -> dict[str, Any]:
    entry = entries[pair]
    upgrade = Upgrade(*pair, plan=next(iter(PLANS)))
    return {
        "sign": entry.way.sign,
        "text": shared(str(entry.way), upgrade),
        "via": entry.way.via,
        "unseen": [each.value for each in entry.unseen],
    }


def _verdict(result: CellResult, stories: _Once, *, tells_all: bool) -> dict[str, Any]:
    """Return what the page shows of one plan, names left out."""
    upgrade, plain = result.upgrade, result.as_json()
    line = result.example or (str(next(schedules(upgrade, "ABC"))) if tells_all else "")
    scenario = shared(line, upgrade)
    told = (
        stories.known(f"{scenario} {_behaviour(upgrade)}", lambda: _shared_in(_told(line), upgrade)) if line else None
    )
    kept = ("plan", "verdict", "runs", "violations", "max_rebalances", "probes", "states", "transitions", "property")
    return {key: plain[key] for key in kept} | {
        "schedules": large(result.schedules),
        "message": shared(result.message or "", upgrade),
        "scenario": scenario,
        "story": told,
        "bad": result.verdict != SAFE and bool(result.example),
        "variants": [
            {
                "words": WORDS[name],
                "safe": each.verdict == SAFE,
                "schedules": large(each.schedules),
                "message": shared(f"{each.violated}: {each.message}", upgrade) if each.violated else "",
                "scenario": shared(each.example or "", upgrade),
            }
            for name, each in result.variants.items()
        ],
    }


def _behaviour(upgrade: Upgrade) -> tuple[object, ...]:
    """Return all that a story depends on beside its line: what the releases do, whatever they are called."""
    value = upgrade.upgrade_from
    return tuple(
        (
            evolve(each, name="", note="", upgrade_from=()),
            each.pinned_version(value),
            each.protocol(value),
            era_of(each.number).since,
        )
        for each in (upgrade.origin, upgrade.target)
    )


def large(number: int | None) -> str:
    """Write a number that may be beyond all reading, or there may be no end to it.

    >>> large(12_345), large(10**20)
    ('12,345', '1.0 × 10^20')
    """
    if number is None:
        return "endless"
    digits = str(number)
    return f"{number:,}" if len(digits) < MOST_DIGITS else f"{digits[0]}.{digits[1]} × 10^{len(digits) - 1}"


def _shared_in(value: Any, upgrade: Upgrade) -> Any:
    """Put signs in place of names in every text of a plain value."""
    if isinstance(value, str):
        return shared(value, upgrade)
    if isinstance(value, dict):
        return {key: _shared_in(each, upgrade) for key, each in value.items()}
    if isinstance(value, list):
        return [_shared_in(each, upgrade) for each in value]
    return value


_DEFAULTS: Final = asdict(Part())


def _told(line: str) -> list[dict[str, Any]]:
    """Run a scenario and return its story as plain values."""
    return [
        {"step": c.step, "meaning": c.meaning, "generations": [_generation(each) for each in generations(c.events)]}
        for c in tell(Scenario.parse(line)).chapters
    ]


def _generation(generation: Any) -> dict[str, Any]:
    """Return a generation without what is not said in it."""
    plain = asdict(generation)
    plain["parts"] = {name: _said(part) for name, part in plain["parts"].items()}
    return plain


def _said(part: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in part.items() if value != _DEFAULTS[key]}
