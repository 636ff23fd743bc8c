"""The pages of sweeps that are no matrix of upgrades: brokers, and the known bugs of Kafka.

Tables of cells stand below one cell with its trace. Sweeps differ in the meaning of a row, a column and a cell
are; a new kind of sweep is a function that returns its tables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import asdict, field, frozen

from streams_assignor.formats.page import json_block, page_parts
from streams_assignor.spark_sim.brokers.plans import PLANS
from streams_assignor.spark_sim.model.scenario import ScenarioError
from streams_assignor.spark_sim.regressions.known_bugs import BUGS
from streams_assignor.spark_sim.regressions.regression_search import RegressionResult
from streams_assignor.spark_sim.rolls import ROLL
from streams_assignor.spark_sim.search.cell_result import SAFE, UNKNOWN, UNSAFE
from streams_assignor.spark_sim.streams_groups.searches import FINDINGS
from streams_assignor.spark_sim.sweep.broker_units import BrokerCellResult
from streams_assignor.spark_sim.sweep.report.judgement import Judgement, format_count
from streams_assignor.spark_sim.sweep.report.trace_view import trace_view
from streams_assignor.spark_sim.sweep.traces import trace_line
from streams_assignor.upgrade.errors import UpgradeError

_PAGES: Final = Path(__file__).parent / "pages"


@frozen
class ShownCell:
    """One cell of a table: what stands in it, and what is shown when it is chosen."""

    text: str
    verdict: str
    """The colour."""
    title: str
    message: str = ""
    """The violated property, or the finding; "" if there is none."""
    example: str | None = None
    """The scenario of the trace."""
    is_documented: bool = False
    facts: Mapping[str, str] = field(factory=dict)


@frozen
class ShownTable:
    """One table: ``rows`` are the name of the row, its meaning, and the cells of each column."""

    title: str
    row_title: str
    """The meaning of a row."""
    columns: Sequence[str]
    rows: Sequence[tuple[str, str, Sequence[Sequence[ShownCell]]]]


def cells_page(tables: Iterable[ShownTable], judgement: Judgement, *, title: str, heading: str, lead: str) -> str:
    """Return the page of some tables; the trace of each example is simulated once."""
    examples: dict[str, int] = {}
    plain = [
        {
            "title": table.title,
            "row_title": table.row_title,
            "columns": list(table.columns),
            "rows": [
                {
                    "name": name,
                    "meaning": meaning,
                    "cells": [[_cell_json(cell, examples) for cell in cells] for cells in columns],
                }
                for name, meaning, columns in table.rows
            ],
        }
        for table in tables
    ]
    data = {"judgement": judgement.as_json(), "tables": plain, "traces": [*map(_view, examples)]}
    parts = page_parts(
        title,
        (_PAGES / "cells.mjs").read_text("utf-8"),
        [json_block("data", data)],
        heading=heading,
        lead=lead,
        origin="Made by streams-assignor report from the tables of the sweep.",
        style=(_PAGES / "cells.css").read_text("utf-8"),
    )
    return "".join(parts)


def _cell_json(cell: ShownCell, examples: dict[str, int]) -> dict[str, Any]:
    plain = asdict(cell)
    trace = examples.setdefault(cell.example, len(examples)) if cell.example else None
    return {name: value for name, value in plain.items() if value} | ({} if trace is None else {"trace": trace})


def _view(example: str) -> dict[str, Any]:
    """Return the drawing of an example; it has no steps if a member does not even start, which is what was found."""
    try:
        return trace_view(trace_line(example).as_json()["steps"])
    except (ScenarioError, UpgradeError):
        return trace_view([])


# -- brokers -----------------------------------------------------------------------------------------------------------

BROKERS: Final = "Broker sweep"


def broker_page(results: Sequence[BrokerCellResult], judgement: Judgement) -> str:
    """Return the page of a sweep over brokers: for each pair a table of plans by dialect and kind of nodes."""
    pairs = dict.fromkeys((result.cell.origin, result.cell.target) for result in results)
    of_pair: dict[tuple[str, str], list[BrokerCellResult]] = {pair: [] for pair in pairs}
    for result in results:
        of_pair[result.cell.origin, result.cell.target].append(result)
    states, schedules = (sum(getattr(result, name) or 0 for result in results) for name in ("states", "schedules"))
    return cells_page(
        (_broker_table(pair, cells) for pair, cells in of_pair.items()),
        judgement,
        title=BROKERS,
        heading="Upgrades of brokers, simulated",
        lead=f"{len(results):,} cells, each a plan of the operator in one dialect of Kafka's features; every order of "
        f"restarts, finalizations and faults was explored: {states:,} states, {format_count(schedules)} schedules.",
    )


def _broker_table(pair: tuple[str, str], results: Sequence[BrokerCellResult]) -> ShownTable:
    columns = [*dict.fromkeys((result.cell.dialect, result.cell.nodes) for result in results)]
    cells: dict[tuple[str, tuple[str, tuple[str, ...]]], list[ShownCell]] = {}
    for result in results:
        key = result.cell.plan, (result.cell.dialect, result.cell.nodes)
        cells.setdefault(key, []).append(_broker_cell(result))
    plans = [name for name in PLANS if any((name, column) in cells for column in columns)]
    return ShownTable(
        f"{pair[0]} to {pair[1]}",
        "plan",
        [f"{dialect}, nodes {' '.join(nodes)}" for dialect, nodes in columns],
        [(name, PLANS[name].description, [cells.get((name, column), []) for column in columns]) for name in plans],
    )


def _broker_cell(result: BrokerCellResult) -> ShownCell:
    is_stalled = result.verdict == SAFE and not result.completed
    return ShownCell(
        result.verdict + (", held up" if is_stalled else ""),
        UNKNOWN if is_stalled else result.verdict,
        result.title,
        message=result.message or ("The plan never came to its end; this is one such run." if is_stalled else ""),
        example=result.example or (result.stalled_example if is_stalled else None),
        is_documented=result.is_documented,
        facts={
            "states": f"{result.states or 0:,}",
            "schedules": format_count(result.schedules),
            "ends with the plan complete": f"{result.completed:,} of {result.terminal_states:,}",
            "refused updates": f"{result.refused_requests:,}",
            "rejected nodes": f"{result.rejected_nodes:,}",
        },
    )


# -- known bugs --------------------------------------------------------------------------------------------------------

KNOWN_BUGS: Final = "Known bugs"
_BUGS: Final = {
    **{bug.name: (bug.issue, bug.description) for bug in BUGS},
    **{finding.name: (finding.source, finding.description) for finding in FINDINGS},
}
"""Source and description by name."""
_STREAMS: Final = frozenset(finding.name for finding in FINDINGS)


def history_page(results: Sequence[RegressionResult], judgement: Judgement) -> str:
    """Return the page of the searches for Kafka's known bugs: a row a bug, where Kafka has it and where it has not."""
    of_bug: dict[str, list[RegressionResult]] = {}
    for result in results:
        of_bug.setdefault(result.cell.bug, []).append(result)
    rows = []
    for name, cells in of_bug.items():
        source, description = _BUGS.get(name, ("", ""))  # a table may be older than this version, or newer
        columns = [_searches(cells, affected) for affected in (True, False)]
        rows.append((f"{name} {source}".rstrip(), description, columns))
    heading, lead = _introduction(of_bug)
    return cells_page(
        [ShownTable("Bugs", "bug", ["where it is", "where it is not"], rows)],
        judgement,
        title=KNOWN_BUGS,
        heading=heading,
        lead=f"{len(results):,} searches. {lead}",
    )


def _introduction(names: Collection[str]) -> tuple[str, str]:
    """Return the heading of the page, and what its searches look for."""
    if names and all(name.startswith(ROLL) for name in names):
        return "Upgrades by roll, with faults, by simulation", (
            "Every decision of roll, every answer of an operator, and a fault at any moment: roll must not enter an "
            "unsafe state that it could foresee, repeat a restart unasked, report another outcome, or never end."
        )
    sought = (
        "The only input of a search is the violated property: a bug has to be found in the releases that have it, and "
        "in no others."
    )
    if names and _STREAMS.issuperset(names):
        also = " The rules called fixed are those of 4.3.1 without what was found."
        return "What goes wrong in streams groups, found by simulation", sought + also
    return "Known bugs of Kafka, found by simulation", sought


def _where(result: RegressionResult) -> str:
    """Name the releases: of members one after the other, or of the members and the coordinator of a streams group."""
    if result.cell.bug in _STREAMS:
        members, coordinator = result.cell.instances
        return f"members {members}, coordinator {coordinator}"
    return " → ".join(result.cell.instances)


def _searches(results: Iterable[RegressionResult], affected: bool) -> list[ShownCell]:
    return [
        ShownCell(
            f"{'found' if result.found else 'not found'} in {_where(result)}",
            SAFE if result.as_expected else UNSAFE,
            result.title,
            message=result.message or "",
            example=result.example,
            facts={"states": f"{result.states:,}"} if result.states else {},
        )
        for result in results
        if result.cell.affected == affected
    ]
