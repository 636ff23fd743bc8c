"""``streams-assignor report``: shows a finished sweep again."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from streams_assignor.cli._exit_status import CommandFailed, WrongUsage, one_line_errors
from streams_assignor.cli._spark_options import STORAGE_FORMAT, LocalPath, engine_options
from streams_assignor.cli.params import output_options, print_file
from streams_assignor.cli.single_values import StrictCommand
from streams_assignor.formats.progress import step
from streams_assignor.upgrade.redaction import hide_credentials

if TYPE_CHECKING:
    from streams_assignor.formats.console import SafeConsole
    from streams_assignor.spark_sim.sweep.engine_choice import EngineOptions
    from streams_assignor.spark_sim.sweep.suites import FinishedSweep


@click.command(cls=StrictCommand)
@click.argument("source", metavar="DIR|URI")
@click.option(
    "--html", type=LocalPath(dir_okay=False, path_type=Path), metavar="FILE", help="Instead of DIR/report.html."
)
@click.option(
    "--exports",
    type=LocalPath(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Also write the files of the sweep (matrix.json, guide.json, ...) into this folder.",
)
@output_options("matrix.json (or history.json) instead of the table, and no page unless it is asked for")
@engine_options
@STORAGE_FORMAT
def report(source: str, html: Path | None, exports: Path | None, output: str, **how: Any) -> None:
    """Show a finished sweep: the matrix here, and a page for the browser with the trace of an example of each cell.

    A folder with Parquet is read without Spark.

    \b
    Examples:
      streams-assignor report sweep-results --html upgrades.html
      streams-assignor report s3a://bucket/sweep --exports sweep-results
      streams-assignor report sweep-results -o yaml
    """  # noqa: D301  # \b is the character by which click leaves lines alone
    from streams_assignor.formats.console import SafeConsole
    from streams_assignor.spark_sim.sweep.folder import REPORT
    from streams_assignor.spark_sim.sweep.report.console import print_judgement
    from streams_assignor.spark_sim.sweep.report.renderers import RENDERERS
    from streams_assignor.spark_sim.sweep.spark.paths import local_folder
    from streams_assignor.spark_sim.sweep.suites import exports as files_of
    from streams_assignor.spark_sim.sweep.tables.publishing import locked

    console = SafeConsole(stderr=output != "text", highlight=False)
    step(f"reading {source}")
    with one_line_errors():
        folder = local_folder(source)
        if folder is not None and not folder.is_dir():
            raise WrongUsage(f"{source} is no folder")
        own_page = None if folder is None or html or exports or output != "text" else folder / REPORT
        with locked(folder, "sweep", shared=own_page is None) if folder else nullcontext():
            sweep = _read(source, folder, console, **how)
            renderer = RENDERERS[sweep.kind]
            if output == "text":
                renderer.show(console, sweep.results)
            else:
                print_file([*files_of(sweep).values()][-1], output)
                print_judgement(console, renderer.judge(sweep.results))
            page = html or own_page
            step("writing the page and the files")
            if page:
                _write_page(sweep, page)
        if exports:
            exported = _write_exports(sweep, exports, has_page=not html)
            page = page or exported
            console.print(f"Files of the sweep: {exports}", soft_wrap=True)
        if page:
            console.print(f"Page for the browser: {page}", soft_wrap=True)


def _read(
    source: str,
    folder: Path | None,
    console: SafeConsole,
    *,
    engine: EngineOptions,
    storage_format: str,
) -> FinishedSweep:
    from streams_assignor.spark_sim.jobs.engine_libraries import require_engine
    from streams_assignor.spark_sim.sweep.engine_choice import EVERY_CORE, PROCESSES
    from streams_assignor.spark_sim.sweep.folder import PARQUET
    from streams_assignor.spark_sim.sweep.suites import read_sweep
    from streams_assignor.spark_sim.sweep.sweep import read_with_spark

    master = engine.master or (PROCESSES if folder is not None and storage_format == PARQUET else EVERY_CORE)
    if master == PROCESSES:
        if folder is None or storage_format != PARQUET or engine.settings:
            raise WrongUsage(f"without Spark only a folder with Parquet can be read, got {source}")
        require_engine(master)
        return read_sweep(folder)

    require_engine(master)

    def log(line: str) -> None:
        console.print(hide_credentials(line), markup=False, soft_wrap=True)

    return read_with_spark(source, master=master, storage_format=storage_format, settings=engine.settings, log=log)


def _write_exports(sweep: FinishedSweep, folder: Path, *, has_page: bool) -> Path | None:
    """Replace all files of a sweep in a folder, which may have others; return the page."""
    from streams_assignor.spark_sim.sweep.folder import EXPORTS, REPORT
    from streams_assignor.spark_sim.sweep.report.renderers import page_of
    from streams_assignor.spark_sim.sweep.suites import exports as files_of
    from streams_assignor.spark_sim.sweep.tables.publishing import open_results

    with open_results(folder, EXPORTS, has_others=True) as opened, opened.replace(EXPORTS.names) as new:
        for name, text in files_of(sweep).items():
            (new / name).write_text(text, encoding="utf-8")
        if has_page:
            (new / REPORT).write_text(page_of(sweep), encoding="utf-8")
    return folder / REPORT if has_page else None


def _write_page(sweep: FinishedSweep, page: Path) -> None:
    """Write the page for the browser.

    Raises:
        WrongUsage: The table of counterexamples has something else.
        CommandFailed: The file cannot be written; the message names the option for another one.
    """
    from streams_assignor.spark_sim.model.scenario import ScenarioError
    from streams_assignor.spark_sim.sweep.folder import is_page
    from streams_assignor.spark_sim.sweep.report.renderers import page_of
    from streams_assignor.spark_sim.sweep.tables.publishing import write_page

    try:
        write_page(page, page_of(sweep), is_page)
    except ScenarioError as error:
        raise WrongUsage(f"the table of counterexamples is damaged: {error}") from error
    except OSError as error:
        why = error.strerror or error
        raise CommandFailed(f"cannot write {page}: {why}; `report DIR --html FILE` writes it elsewhere") from error
