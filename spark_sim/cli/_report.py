"""``streams-assignor report``: shows a finished sweep again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spark_sim.cli._exit_status import CommandFailed, WrongUsage, one_line_errors
from spark_sim.cli._spark_options import REMOTE, SETTINGS, STORAGE_FORMAT

if TYPE_CHECKING:
    from rich.console import Console

    from spark_sim.pipeline.suites import FinishedSweep


@click.command
@click.argument("source", metavar="DIR|URI")
@click.option(
    "--html", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Instead of DIR/report.html."
)
@click.option(
    "--exports",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Also write the files of the sweep (matrix.json, guide.json, ...) into this folder.",
)
@click.option("--master", metavar="MASTER", help="Read with Spark on this master. Default for a URI: local[*].")
@REMOTE
@STORAGE_FORMAT
@SETTINGS
def report(source: str, html: Path | None, exports: Path | None, **how: Any) -> None:
    """Show a finished sweep: the matrix here, and a page for the browser with the trace of an example of each cell.

    A folder with Parquet is read without Spark.

    \b
    Examples:
      streams-assignor report sweep-results --html upgrades.html
      streams-assignor report s3a://bucket/sweep --exports sweep-results
    """  # noqa: D301  # \b is the character by which click leaves lines alone
    from rich.console import Console

    from spark_sim.pipeline.folder import REPORT, write_atomically
    from spark_sim.pipeline.suites import exports as files_of
    from spark_sim.report.renderers import RENDERERS

    console = Console(highlight=False)
    with one_line_errors():
        folder, sweep = _read(source, console, **how)
        renderer = RENDERERS[sweep.kind]
        if html and not renderer.has_page:
            raise WrongUsage(f"there is no page of a sweep over {sweep.kind}: leave out --html")
        renderer.show(console, sweep.results)
        if exports:
            exports.mkdir(parents=True, exist_ok=True)
            for name, text in files_of(sweep).items():
                write_atomically(exports / name, text)
            console.print(f"Files of the sweep: {exports}", soft_wrap=True)
        target = exports or folder
        if renderer.has_page and (page := html or (target / REPORT if target else None)):
            write_page(sweep, page)
            console.print(f"Page for the browser: {page}", soft_wrap=True)


def _read(
    source: str,
    console: Console,
    *,
    master: str | None,
    remote: str | None,
    storage_format: str,
    settings: dict[str, str],
) -> tuple[Path | None, FinishedSweep]:
    """Return the local folder of a sweep, if it has one, and the sweep."""
    from spark_sim.pipeline.suites import read_sweep
    from spark_sim.pipeline.sweep import PARQUET, PROCESSES, local_folder, read_with_spark

    if master and remote:
        raise WrongUsage("--remote is a Spark Connect server: leave out --master")
    folder = local_folder(source)
    if folder is not None and not folder.is_dir():
        raise WrongUsage(f"{source} is no folder")
    engine = remote or master or (PROCESSES if folder is not None and storage_format == PARQUET else "local[*]")
    if engine == PROCESSES:
        if folder is None or storage_format != PARQUET or settings:
            raise WrongUsage(f"without Spark only a folder with Parquet can be read, got {source}")
        return folder, read_sweep(folder)

    def log(line: str) -> None:
        console.print(line, markup=False, soft_wrap=True)

    found = read_with_spark(source, master=engine, storage_format=storage_format, settings=settings, log=log)
    return folder, found


def write_page(sweep: FinishedSweep, page: Path) -> None:
    """Write the page for the browser.

    Raises:
        WrongUsage: The table of counterexamples has something else.
        CommandFailed: The file cannot be written; the message names the option for another one.
    """
    from spark_sim.model.scenario import ScenarioError
    from spark_sim.report.html import write_html

    try:
        write_html(sweep.results, page, sweep.traces)
    except ScenarioError as error:
        raise WrongUsage(f"the table of counterexamples is damaged: {error}") from error
    except OSError as error:
        why = error.strerror or error
        raise CommandFailed(f"cannot write {page}: {why}; `report DIR --html FILE` writes it elsewhere") from error
