"""Shows a sweep over brokers in a terminal: a table for each pair of releases, examples, and the judgement."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from streams_assignor.spark_sim.brokers.plans import PLANS
from streams_assignor.spark_sim.search.cell_result import SAFE
from streams_assignor.spark_sim.sweep.broker_units import BrokerCellResult
from streams_assignor.spark_sim.sweep.report import judgement
from streams_assignor.spark_sim.sweep.report._terminal import ASCII_MARKS, MARKS, STYLES
from streams_assignor.spark_sim.sweep.report.console import print_dim
from streams_assignor.spark_sim.sweep.report.judgement import Judgement
from streams_assignor.spark_sim.sweep.suites import MATRIX


def judge(results: Sequence[BrokerCellResult]) -> Judgement:
    """Judge a sweep: every plan that Kafka documents for a dialect is safe, and in every cell something happens."""
    return judgement.judge(results, shows_nothing=lambda result: result.is_vacuous, why="nothing happened")


def print_results(console: Console, results: Sequence[BrokerCellResult], max_examples: int) -> None:
    """Print a table for each pair of releases, and some examples of unsafe plans."""
    ascii_only = bool(console.options.ascii_only)
    for pair in dict.fromkeys((result.cell.origin, result.cell.target) for result in results):
        of_pair = [result for result in results if (result.cell.origin, result.cell.target) == pair]
        console.print(_table(pair, of_pair, ascii_only=ascii_only))
    marks = ASCII_MARKS if ascii_only else MARKS
    legend = f"{marks['safe']} safe, {marks['unsafe']} unsafe, * documented; (held up) the plan never came to its end"
    print_dim(console, (legend, *judgement.example_lines(results, max_examples, _describe, "cells", MATRIX)))
    states, schedules = sum(result.states or 0 for result in results), sum(result.schedules or 0 for result in results)
    console.print(f"{states:,} states, {schedules:,} schedules", soft_wrap=True)


def _describe(result: BrokerCellResult) -> str:
    return f"{result.title} ({PLANS[result.cell.plan].description}): {result.property}"


def _table(pair: tuple[str, str], results: Sequence[BrokerCellResult], *, ascii_only: bool) -> Table:
    """Draw the plans of one pair down, dialects and kinds of nodes across."""
    table = Table(
        box=None, padding=(0, 2, 0, 0), header_style="bold", title=f"{pair[0]} to {pair[1]}", title_justify="left"
    )
    table.add_column("plan", style="bold", no_wrap=True)
    columns = dict.fromkeys((result.cell.dialect, result.cell.nodes) for result in results)
    for dialect, nodes in columns:
        table.add_column(f"{dialect}\n{' '.join(nodes)}")
    table.add_column("what the operator does", style="dim")
    cells = {(result.cell.plan, result.cell.dialect, result.cell.nodes): result for result in results}
    for name, plan in PLANS.items():
        row = [cells.get((name, *column)) for column in columns]
        if any(row):
            table.add_row(name, *(_mark(result, ascii_only=ascii_only) for result in row), plan.description)
    return table


def _mark(result: BrokerCellResult | None, *, ascii_only: bool) -> Text:
    if result is None:
        return Text("")
    mark = (ASCII_MARKS if ascii_only else MARKS)[result.verdict]
    held_up = " held up" if result.verdict == SAFE and not result.completed else ""
    return Text(f"{mark}{'*' if result.is_documented else ''}{held_up}", STYLES[result.verdict])
