"""How each kind of sweep is shown, in a terminal and as a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from attrs import frozen
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from streams_assignor.spark_sim.brokers.plans import PLANS
from streams_assignor.spark_sim.regressions.regression_search import RegressionResult
from streams_assignor.spark_sim.rolls import ROLL
from streams_assignor.spark_sim.search.cell_result import SAFE
from streams_assignor.spark_sim.sweep.broker_units import BrokerCellResult
from streams_assignor.spark_sim.sweep.report import terminal
from streams_assignor.spark_sim.sweep.report.cells_page import broker_page, history_page
from streams_assignor.spark_sim.sweep.report.console import print_dim, print_judgement
from streams_assignor.spark_sim.sweep.report.html import render_html
from streams_assignor.spark_sim.sweep.report.judgement import Judgement, example_lines, judge, replay_line
from streams_assignor.spark_sim.sweep.suites import MATRIX, FinishedSweep
from streams_assignor.spark_sim.sweep.sweep import Progress
from streams_assignor.spark_sim.sweep.tables.rows import BROKER_SUITE, REGRESSION_SUITE, UPGRADE_SUITE

MAX_EXAMPLES: Final = 3


def _draw_nothing(_progress: Progress, *, ascii_only: bool) -> RenderableType | None:
    del ascii_only
    return None


@frozen
class Renderer:
    """How one kind of sweep is shown."""

    judge: Callable[[Sequence[Any]], Judgement]
    page: Callable[[FinishedSweep], str]
    print_results: Callable[[Console, Sequence[Any], int], None]
    draw_progress: Callable[..., RenderableType | None] = _draw_nothing
    """Draws the results so far above the progress bar."""

    def show(self, console: Console, results: Sequence[Any]) -> Judgement:
        """Print the results and the judgement."""
        self.print_results(console, results, MAX_EXAMPLES)
        judgement = self.judge(results)
        print_judgement(console, judgement)
        return judgement


# -- brokers: a table for each pair of releases ----------------------------------------------------------------------


def judge_brokers(results: Sequence[BrokerCellResult]) -> Judgement:
    """Judge a sweep: every plan that Kafka documents for a dialect is safe, and in every cell something happens."""
    return judge(results, shows_nothing=lambda result: result.is_vacuous, why="nothing happened")


def _print_brokers(console: Console, results: Sequence[BrokerCellResult], max_examples: int) -> None:
    """Print a table for each pair of releases, and some examples of unsafe plans."""
    ascii_only = bool(console.options.ascii_only)
    for pair in dict.fromkeys((result.cell.origin, result.cell.target) for result in results):
        of_pair = [result for result in results if (result.cell.origin, result.cell.target) == pair]
        console.print(_broker_table(pair, of_pair, ascii_only=ascii_only))
    marks = terminal.ASCII_MARKS if ascii_only else terminal.MARKS
    legend = f"{marks['safe']} safe, {marks['unsafe']} unsafe, * documented; (held up) the plan never came to its end"
    print_dim(console, (legend, *example_lines(results, max_examples, _describe, "cells", MATRIX)))
    states, schedules = sum(result.states or 0 for result in results), sum(result.schedules or 0 for result in results)
    console.print(f"{states:,} states, {schedules:,} schedules", soft_wrap=True)


def _describe(result: BrokerCellResult) -> str:
    return f"{result.title} ({PLANS[result.cell.plan].description}): {result.property}"


def _broker_table(pair: tuple[str, str], results: Sequence[BrokerCellResult], *, ascii_only: bool) -> Table:
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
    mark = (terminal.ASCII_MARKS if ascii_only else terminal.MARKS)[result.verdict]
    held_up = " held up" if result.verdict == SAFE and not result.completed else ""
    return Text(f"{mark}{'*' if result.is_documented else ''}{held_up}", terminal.STYLES[result.verdict])


# -- searches for known bugs: a line each ----------------------------------------------------------------------------


def judge_searches(results: Sequence[RegressionResult]) -> Judgement:
    """Judge the searches: each bug is found exactly where Kafka has it."""
    unexpected = [result.title for result in results if not result.as_expected]
    is_roll = bool(results) and all(result.cell.bug.startswith(ROLL) for result in results)
    good = "no roll does what it must not" if is_roll else "every bug found where it was, and nowhere else"
    verdict = f"not as expected: {', '.join(unexpected)}" if unexpected else good
    return Judgement(not unexpected, f"{len(results)} searches; {verdict}")


def _print_searches(console: Console, results: Sequence[RegressionResult], _max_examples: int) -> None:
    """Print what each search found, with its example."""
    for result in results:
        style = "green" if result.as_expected else "bold red"
        message = result.message or "nothing, in every schedule"
        console.print(Text.assemble((f"{result.title}: ", "bold"), (message, style)), soft_wrap=True)
        if result.example:
            is_roll = result.cell.bug.startswith(ROLL)
            print_dim(console, [result.example if is_roll else replay_line(result.example)])


RENDERERS: Final[Mapping[str, Renderer]] = {
    UPGRADE_SUITE: Renderer(
        terminal.judge,
        lambda sweep: render_html(sweep.results, sweep.traces),
        terminal.print_results,
        terminal.draw_progress,
    ),
    BROKER_SUITE: Renderer(
        judge_brokers, lambda sweep: broker_page(sweep.results, judge_brokers(sweep.results)), _print_brokers
    ),
    REGRESSION_SUITE: Renderer(
        judge_searches, lambda sweep: history_page(sweep.results, judge_searches(sweep.results)), _print_searches
    ),
}
"""The renderers by the kind of the suite."""


def page_of(sweep: FinishedSweep) -> str:
    """Return the page of a finished sweep for the browser."""
    return RENDERERS[sweep.kind].page(sweep)
