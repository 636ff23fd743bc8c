"""``streams-assignor report``: shows a finished sweep again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from spark_sim.cli._exit_status import CommandFailed, WrongUsage, one_line_errors

if TYPE_CHECKING:
    from spark_sim.pipeline.suites import FinishedSweep


@click.command
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--html", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Instead of DIR/report.html."
)
def report(folder: Path, html: Path | None) -> None:
    """Show a finished sweep: the matrix here, and a page for the browser with the trace of an example of each cell.

    \b
    Example:
      streams-assignor report sweep-results --html upgrades.html
    """  # noqa: D301  # \b is the character by which click leaves lines alone
    from rich.console import Console

    from spark_sim.pipeline.folder import REPORT
    from spark_sim.pipeline.suites import read_sweep
    from spark_sim.report.renderers import RENDERERS

    console = Console(highlight=False)
    with one_line_errors():
        sweep = read_sweep(folder)
        renderer = RENDERERS[sweep.kind]
        if html and not renderer.has_page:
            raise WrongUsage(f"there is no page of a sweep over {sweep.kind}: leave out --html")
        renderer.show(console, sweep.results)
        if renderer.has_page:
            page = html or folder / REPORT
            write_page(sweep, page)
            console.print(f"Page for the browser: {page}", soft_wrap=True)


def write_page(sweep: FinishedSweep, page: Path) -> None:
    """Write the page for the browser.

    Raises:
        CommandFailed: The file cannot be written; the message names the option for another one.
    """
    from spark_sim.report.html import write_html

    try:
        write_html(sweep.results, page, sweep.traces)
    except OSError as error:
        why = error.strerror or error
        raise CommandFailed(f"cannot write {page}: {why}; `report DIR --html FILE` writes it elsewhere") from error
