"""The page of a sweep: one file of HTML that needs no network, light however many releases there are.

The page is a template with data, drawn by its own script: plotly would add megabytes to it, and Vega comes from another
server. Upgrades of one equivalence class have the same results except for the names of releases, so each result is
stored once, with placeholders for the names, and cells refer to it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import asdict

from streams_assignor.formats.page import json_block, page_parts
from streams_assignor.spark_sim.advice.upgrade_guide import Pair, PairGuide, derive_guide, guide_differences, path_text
from streams_assignor.spark_sim.model.scenario import Scenario, ScenarioError
from streams_assignor.spark_sim.search.cell_result import SAFE_IF, UpgradeResult, groups_in_words
from streams_assignor.spark_sim.search.release_roles import ROLES, Recast
from streams_assignor.spark_sim.search.schedules import upgrade_schedules
from streams_assignor.spark_sim.sweep.equivalence import upgrade_class
from streams_assignor.spark_sim.sweep.operator_deviations import DEVIATION_DESCRIPTIONS
from streams_assignor.spark_sim.sweep.report.judgement import format_count
from streams_assignor.spark_sim.sweep.report.terminal import PLANS, MatrixGrid, judge
from streams_assignor.spark_sim.sweep.report.trace_view import trace_view
from streams_assignor.spark_sim.sweep.traces import group_steps, recast_rows, trace, trace_rows
from streams_assignor.upgrade.planner import documented_hops
from streams_assignor.upgrade.plans import Upgrade

TITLE: Final = "Upgrade sweep"
PAGES: Final = Path(__file__).parent / "pages"
Stories = Mapping[str, Sequence[Mapping[str, Any]]]
MAX_TRACED_RESULTS: Final = 400
"""With more results, only counterexamples have a trace."""


StoredTraces = Iterable[tuple[Upgrade, str, Sequence[Mapping[str, Any]]]]
"""The upgrade, the scenario and the trace of counterexamples, as the tables have them."""


def render_html(results: Sequence[UpgradeResult], traces: StoredTraces = ()) -> str:
    """Return the page: for each pair its plans with the traces of their examples, and the matrix of all pairs."""
    runs = list(runs_by_class(results).values())
    schedules = format_count(sum(result.schedules or 0 for result in results))
    explored = "" if schedules == "0" else f", every schedule of each explored ({schedules} in all)"
    parts = page_parts(
        TITLE,
        (PAGES / "upgrades.mjs").read_text("utf-8"),
        [json_block("data", page_data(results, traces) | {"judgement": judge(results).as_json()})],
        heading="Rolling upgrades of Kafka Streams, simulated",
        lead=f"{len(results):,} upgrades of {len(runs):,} kinds (the others differ in names only){explored}; "
        f"{sum(runs):,} runs of groups whose members drive the real assignor. A plan is safe if no schedule violates a "
        "property, and safe-if where the topology decides as well.",
        origin="Made by streams-assignor report from matrix.json. The rows of all runs are in runs/. A sweep sees "
        "rebalance metadata and who owns what, and no records, stores or brokers; safe-if adds what is known of record "
        "formats.",
        style=(PAGES / "upgrades.css").read_text("utf-8"),
    )
    return "".join(parts)


def runs_by_class(results: Sequence[UpgradeResult]) -> dict[Hashable, int]:
    """Return the runs of each equivalence class: its upgrades share them."""
    return {upgrade_class(result.upgrade): result.runs for result in results}


def page_data(results: Sequence[UpgradeResult], traces: StoredTraces = ()) -> dict[str, Any]:
    """Return the data of the script, as plain values.

    Args:
        results: One result for each cell.
        traces: Traces of counterexamples; what is missing is simulated again.
    """
    stored = dict(_stored_stories(traces))
    grid, entries = MatrixGrid(results), derive_guide(results)
    verdicts, stories, ways = _Interned(), _Interned(), _Interned()
    traces_all = len(results) <= MAX_TRACED_RESULTS
    differing = {(difference.origin, difference.target): difference for difference in guide_differences(entries)}
    cells = []
    for (origin, target), cell in grid.items():
        pair = (cell[0].upgrade.origin, cell[0].upgrade.target)
        plans = [
            [
                verdicts.index_of(_verdict_json(result, stories, stored, traces_all=traces_all)),
                result.upgrade.upgrade_from,
                int(result.upgrade.is_documented),
            ]
            for result in cell
        ]
        difference = differing.get(pair)
        recast = Recast(cell[0].upgrade, ROLES)
        way = _path_json(entries[pair], recast) | {
            "documented": _guide_text(pair, entries[pair], recast),
            "reason": difference.reason.value if difference and difference.reason else None,
        }
        cells.append([grid.down.index(origin), grid.across.index(target), ways.index_of(way), plans])
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


class _Interned:
    """Stores the value of each key once."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._indexes: dict[str, int] = {}

    def index_of(self, value: Any) -> int:
        """Return the place of a value."""
        return self.index_of_key(repr(value), lambda: value)

    def index_of_key(self, key: str, make: Callable[[], Any]) -> int:
        """Return the place of the value for a key; ``make`` is called only the first time."""
        if key not in self._indexes:
            self._indexes[key] = len(self.values)
            self.values.append(make())
        return self._indexes[key]


def _path_json(entry: PairGuide, recast: Recast) -> dict[str, Any]:
    by_metadata = entry.by_metadata
    return {
        "sign": entry.sign,
        "verdict": entry.verdict,
        "conditions": entry.conditions,
        "text": path_text(recast.hops(entry.way)),
        "if_met": path_text(recast.hops(entry.if_met)) if entry.if_met else None,
        "by_metadata": path_text(recast.hops(hop.upgrade for hop in by_metadata.hops)) if by_metadata else None,
        "via": [hop.target.name for hop in entry.way[:-1]],
        "unseen": [obstacle.value for obstacle in entry.unseen_obstacles],
    }


def _guide_text(pair: Pair, entry: PairGuide, recast: Recast) -> str | None:
    """Return the way of Kafka's guides if it is another one."""
    documented = documented_hops(*pair)
    return None if path_text(documented) == path_text(entry.way) else path_text(recast.hops(documented))


def _stored_stories(traces: StoredTraces) -> Iterator[tuple[str, Sequence[Mapping[str, Any]]]]:
    for upgrade, line, rows in traces:
        scenario = Scenario.parse(line)
        shown = Recast(upgrade, ROLES).scenario(scenario)
        yield f"{shown} {_trace_key(upgrade)}", recast_rows(rows, scenario, shown)


def _story(key: str, scenario: Scenario, shown: Scenario, stored: Stories) -> dict[str, Any]:
    """Return a trace, as it is stored, or simulated if it is not; it has no steps if the members cannot play it."""
    rows = stored.get(key)
    if rows is None:
        try:
            rows = recast_rows(trace_rows(trace(scenario).steps), scenario, shown)
        except ScenarioError:  # the verdict says so already
            rows = []
    try:
        return trace_view(step.as_json() for step in group_steps(rows))
    except (ValueError, TypeError, LookupError) as error:
        raise ScenarioError(f"expected the values of each kind of event: {error}") from None


def _verdict_json(result: UpgradeResult, stories: _Interned, stored: Stories, *, traces_all: bool) -> dict[str, Any]:
    """Return what the page shows of one plan, with roles instead of releases."""
    upgrade = result.upgrade
    recast = Recast(upgrade, ROLES)
    story = None
    if line := result.example or (str(next(upgrade_schedules(upgrade, "ABC"))) if traces_all else ""):
        scenario = Scenario.parse(line)
        shown = recast.scenario(scenario)
        key = f"{shown} {_trace_key(upgrade)}"
        story = stories.index_of_key(key, lambda: _story(key, scenario, shown, stored))
    return {
        "plan": upgrade.plan.value,
        "verdict": result.verdict,
        "groups": groups_in_words(result.group_size),
        "conditions": result.conditions if result.verdict == SAFE_IF else (),
        "runs": result.runs,
        "violations": result.violations,
        "max_rebalances": result.max_rebalances,
        "probes": result.probes,
        "states": result.states,
        "transitions": result.transitions,
        "property": result.property,
        "schedules": format_count(result.schedules),
        "message": result.message or "",
        "scenario": recast.line(line),
        "story": story,
        "bad": not result.holds and bool(result.example),
        "deviations": [
            {
                "words": DEVIATION_DESCRIPTIONS[name],
                "safe": deviation.holds,
                "schedules": format_count(deviation.schedules),
                "message": f"{deviation.property}: {deviation.message}" if deviation.property else "",
                "scenario": recast.line(deviation.example or ""),
            }
            for name, deviation in result.deviations.items()
        ],
    }


def _trace_key(upgrade: Upgrade) -> tuple[object, ...]:
    """Return what a trace depends on beside its scenario: the behaviour of the releases, without their names."""
    value = upgrade.upgrade_from
    return tuple(
        (
            release.supported_version,
            release.rule_set,
            release.rebalance_protocols,
            release.leaves_on_close,
            release.task_assignor,
            release.pinned_version(value),
            release.rebalance_protocol(value),
            release.behaviour.task_columns,
        )
        for release in (upgrade.origin, upgrade.target)
    )
