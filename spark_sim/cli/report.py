"""``streams-assignor report``: a finished sweep, shown again. ``sweep`` shows its own in the same way."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from spark_sim.cli.ending import Failed, Wrong, one_line_errors

if TYPE_CHECKING:
    from rich.console import Console

    from spark_sim.cell_result import CellResult

EXAMPLES_SHOWN: Final = 3


@click.command
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--html", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Instead of DIR/report.html."
)
def report(folder: Path, html: Path | None) -> None:
    """Show a finished sweep: the matrix here, and a page for the browser with an example of each cell told in full.

    \b
    Example:
      streams-assignor report sweep-results --html upgrades.html
    """  # noqa: D301  # \b is the character by which click leaves lines alone
    from rich.console import Console

    from spark_sim.brokers.results import is_broker_sweep
    from spark_sim.report import read_matrix
    from spark_sim.results import REPORT

    if is_broker_sweep(folder):
        _report_brokers(folder, html)
        return
    console = Console(highlight=False)
    page = html or folder / REPORT
    with one_line_errors():
        results = read_matrix(folder)
        show(console, results)
        write_page(results, page)
    console.print(f"Page for the browser: {page}", soft_wrap=True)


def _report_brokers(folder: Path, html: Path | None) -> None:
    from spark_sim.brokers.cli import report_brokers

    if html:
        raise Wrong("there is no page of a sweep over brokers: leave out --html")
    with one_line_errors():
        report_brokers(folder)


def write_page(results: list[CellResult], page: Path) -> None:
    """Write the page for the browser; if it cannot be written there, say where else."""
    from spark_sim.page import write_html

    try:
        write_html(results, page)
    except OSError as error:
        why = error.strerror or error
        raise Failed(f"cannot write {page}: {why}; `report DIR --html FILE` writes it elsewhere") from error


def show(console: Console, results: list[CellResult]) -> None:
    """Print the matrix (or the guide, if that is too large), a few examples of what goes wrong, what it comes to."""
    from spark_sim.guide_page import summary
    from spark_sim.report import (
        Grid,
        example_lines,
        guide_legend,
        guide_table,
        judge,
        legend,
        matrix_table,
        measures,
        notes,
        unseen_lines,
        variant_lines,
    )
    from spark_sim.screen import style_of

    ascii_only = bool(console.options.ascii_only)
    if Grid(results).large:
        console.print(guide_table(summary(results)))
        console.print(guide_legend(ascii_only=ascii_only), soft_wrap=True)
    else:
        console.print(matrix_table(results, ascii_only=ascii_only))
        console.print(legend(ascii_only=ascii_only), soft_wrap=True)
    for line in (
        *notes(results),
        *measures(results),
        *example_lines(results, EXAMPLES_SHOWN),
        *variant_lines(results),
        *unseen_lines(results),
    ):
        console.print(line, markup=False, soft_wrap=True, style="dim")
    judgement = judge(results)
    console.print(judgement.text, markup=False, soft_wrap=True, style=style_of(judgement.good))
