"""Computes the work units of a sweep, on Spark or in local processes, and makes its tables and exports.

How it works.

1. The units that the table ``units`` does not have are cut into tasks of about three seconds. A unit's key has the
   digest of the computing code and of everything the unit is given, so results of other code are never taken over.
2. Tasks go to the engine (``spark_sim.jobs.engine``) in batches, the costliest first. A batch is committed as a whole.
3. The other tables are made of the rows of the units, each unit once, and the exports of the tables.

A failing run is a row, a failing exploration is a result. Only what is outside of them (no Java, a full disk, a lost
worker) ends a sweep early. The same sweep yields the same tables, whatever the engine, the workers and the kills.
PySpark is imported only when a sweep runs on it, so that reading results needs neither Spark nor Java.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from streams_assignor.spark_sim.jobs.engine import NO_SETTINGS, Log, Processes, WorkProgress
from streams_assignor.spark_sim.jobs.engine_libraries import require_engine
from streams_assignor.spark_sim.search.cell_result import CellResult
from streams_assignor.spark_sim.sweep.engine_choice import PROCESSES, EngineOptions, open_engine
from streams_assignor.spark_sim.sweep.folder import EXPORTS, PARQUET, REPORT, open_folder
from streams_assignor.spark_sim.sweep.spark.executor import SparkEngine, sweep_on_spark
from streams_assignor.spark_sim.sweep.spark.paths import folder_uri, local_folder
from streams_assignor.spark_sim.sweep.suites import (
    FinishedSweep,
    Suite,
    counterexample_of,
    finished_sweep,
    read_store,
    table_rows,
)
from streams_assignor.spark_sim.sweep.tables.engine import SweepJob, TableStore
from streams_assignor.spark_sim.sweep.tables.formats import require_format
from streams_assignor.spark_sim.sweep.tables.local import LocalTables, commit_task
from streams_assignor.spark_sim.sweep.tables.parquet import TablesError
from streams_assignor.spark_sim.sweep.tables.publishing import OpenFolder, ResultFolderError
from streams_assignor.spark_sim.sweep.tables.schema import TABLES
from streams_assignor.spark_sim.sweep.work_units import SECONDS_PER_COST, WorkUnit, cut_into_tasks, digest_of, unit_key
from streams_assignor.spark_sim.sweep.worker import UnitTask
from streams_assignor.upgrade.input_values import parse_json

MAX_REPORT_SHARE: Final = 0.05
"""The share of the time for progress, as drawing thousands of cells takes longer than a batch of small units."""


Page = Callable[[FinishedSweep], str]


@frozen
class Progress(WorkProgress):
    """How far a sweep is. Results are made when they are asked for, because the cells may be thousands."""

    suite: Suite
    runs: int
    """The number of finished runs of simulated members."""
    _work: _Work

    @property
    def detail(self) -> str:
        """The number of runs."""
        return f", {self.runs:,} runs" if self.runs else ""

    @property
    def results(self) -> list[Any]:
        """One result for each cell, as far as it is known."""
        return self.suite.expand(self._work.committed.values())

    @property
    def unfinished(self) -> frozenset[Any]:
        """The cells whose results may still change."""
        return self.suite.unfinished(unit for _, unit in self._work.pending)


def _ignore(_: object) -> None:
    pass


def chosen_engine(given: EngineOptions, suite: Suite, out: str | Path, storage_format: str = PARQUET) -> EngineOptions:
    """Return the options with the engine of a sweep: only Spark reaches other storages, and writes other formats."""
    core_seconds = sum(unit.cost for unit in suite.units) * SECONDS_PER_COST
    return given.chosen(core_seconds, needs_spark=local_folder(out) is None or storage_format != PARQUET)


def run_sweep(
    suite: Suite,
    out: str | Path,
    *,
    master: str = PROCESSES,
    storage_format: str = PARQUET,
    settings: Mapping[str, str] = NO_SETTINGS,
    processes: int | None = None,
    fresh: bool = False,
    page: Page | None = None,
    on_progress: Callable[[Progress], None] = _ignore,
    log: Log = _ignore,
) -> FinishedSweep:
    """Run a sweep, or resume one. New results replace those in a local folder as a whole or not at all.

    Args:
        suite: The subject of the sweep.
        out: The folder, or for Spark the URI, of the tables; after an error or a kill the same call resumes there. A
            local folder also gets the exports.
        master: ``PROCESSES``, any Spark master, or the ``sc://`` address of a Spark Connect server.
        storage_format: The format of the tables, as Spark's DataFrame writer knows it.
        settings: Settings of Spark, such as the address of a storage.
        processes: Processes of this machine, if these compute; None: one for each core.
        fresh: Remove the results of an earlier sweep first.
        page: Returns the page for the browser, which is an export, too.
        on_progress: Called several times a second, less often if that would take a twentieth of the time.
        log: Called with lines for the user.

    Returns:
        The results, read from the tables.

    Raises:
        MissingExtraError: A library of the engine is not installed.
        ResultFolderError: The folder cannot be used.
        EngineError: A worker failed.
        SparkNotStarted: Spark cannot be started, or there is no Java (``JavaNotFound``).
    """
    require_engine(master)
    folder = local_folder(out)
    require_format(master, storage_format)
    if master == PROCESSES and folder is None:
        raise ResultFolderError(f"--master {PROCESSES} writes Parquet into a folder of this machine, got {out}")
    with ExitStack() as stack:
        opened = None
        if folder is not None:
            opened = stack.enter_context(open_folder(folder, fresh=fresh, storage_format=storage_format))
        options = EngineOptions(master, settings, processes)
        job = stack.enter_context(_job(options, out, folder, storage_format, log))
        return sweep_with(job, suite, opened, str(out), fresh=fresh, page=page, on_progress=on_progress, log=log)


def read_with_spark(
    out: str,
    *,
    master: str,
    storage_format: str = PARQUET,
    settings: Mapping[str, str] = NO_SETTINGS,
    log: Log = _ignore,
) -> FinishedSweep:
    """Read the results of a finished sweep from any storage and format.

    Raises:
        MissingExtraError: A library of Spark is not installed.
        ResultFolderError: There is no finished sweep, or it cannot be read.
        SparkNotStarted: Spark cannot be started, or there is no Java (``JavaNotFound``).
    """
    require_engine(master)
    with _job(EngineOptions(master, settings), out, local_folder(out), storage_format, log) as job:
        return read_store(job.store, out)


class _LocalSweep(SweepJob):
    """A sweep in processes of this machine, each of which commits a task at a time to a folder."""

    def __init__(self, engine: Processes, folder: Path) -> None:
        self.engine: Processes = engine
        self.store = LocalTables(folder)
        self.compute = partial(_commit_batch, folder)

    def refuse_earlier_driver(self) -> None:
        """Do nothing: the folder is locked."""


def _commit_batch(folder: Path, tasks: Sequence[UnitTask]) -> list[tuple[str, str]]:
    return [committed for task in tasks for committed in commit_task(task, folder)]


@contextmanager
def _job(
    options: EngineOptions, out: str | Path, folder: Path | None, storage_format: str, log: Log
) -> Iterator[SweepJob]:
    with open_engine(options, log, "streams-assignor sweep") as engine:
        if isinstance(engine, Processes):
            assert folder is not None
            yield _LocalSweep(engine, folder)
        else:
            assert isinstance(engine, SparkEngine)
            uri = str(out).rstrip("/") if folder is None else folder_uri(folder)
            with sweep_on_spark(engine, uri, storage_format) as on_spark:
                yield on_spark


def sweep_with(
    job: SweepJob,
    suite: Suite,
    folder: OpenFolder | None,
    out: str,
    *,
    fresh: bool = False,
    page: Page | None = None,
    on_progress: Callable[[Progress], None] = _ignore,
    log: Log = _ignore,
) -> FinishedSweep:
    """Run a sweep; ``folder`` gets the exports."""
    try:
        job.store.prepare(fresh=fresh)
        work = _Work(suite, {unit_key(unit): unit for unit in suite.units})
        _require_own_tables(job, work, out)
        work.commit((row["unit_key"], row["result"]) for row in job.store.units(["result"], work.units))
        if work.pending:
            if work.committed:
                log(f"resuming {out}: {len(work.committed)} of {len(work.units)} units are finished")
            _run_tasks(job, work, on_progress)
            job.refuse_earlier_driver()
        return _write_tables(job.store, work) if folder is None else _publish(job.store, work, folder, page)
    except TablesError as error:
        raise ResultFolderError(str(error)) from error


class _Work:
    """The units of a sweep by key, and the results of those that are committed."""

    def __init__(self, suite: Suite, units: dict[str, WorkUnit]) -> None:
        self.suite, self.units = suite, units
        self.committed: dict[str, CellResult] = {}
        self.sweep_id = digest_of([suite.description])
        self.runs = 0

    @property
    def pending(self) -> list[tuple[str, WorkUnit]]:
        """The units that are not committed."""
        return [item for item in self.units.items() if item[0] not in self.committed]

    def commit(self, results: Iterable[tuple[str, str]]) -> None:
        """Take over results as they are stored."""
        for key, text in results:
            unit = self.units[key]
            try:
                result = unit.result_type.of_json(unit.cell, parse_json(text))
            except (ValueError, TypeError, LookupError, AttributeError) as error:
                why = f"{error}; --fresh begins anew"
                raise ResultFolderError(f"the table of units is damaged at {key}: {why}") from None
            self.committed[key] = result
            self.runs += result.runs

    def tasks(self) -> list[tuple[float, UnitTask]]:
        """Cut the pending units into tasks, each with its cost, the costliest last."""
        cut = cut_into_tasks(self.pending, lambda item: item[1].cost)
        tasks = [UnitTask(self.sweep_id, self.suite.description, units) for units in cut]
        return sorted(((task.cost, task) for task in tasks), key=lambda pair: pair[0])


def _require_own_tables(job: SweepJob, work: _Work, out: str) -> None:
    """Refuse tables of another sweep, as this one would replace them."""
    others = job.store.sweeps()
    if others and work.sweep_id not in others:
        theirs, ours = _description(next(iter(others.values())), out), json.loads(work.suite.description)
        names = [name for name in ours if theirs.get(name) != ours[name]] or ["sweep"]
        differences = ", ".join(f"{name} {theirs.get(name)} and not {ours[name]}" for name in names)
        raise ResultFolderError(
            f"{out} holds another sweep ({differences}): take another --out, or --fresh to throw that one away"
        )


def _description(text: str, out: str) -> dict[str, Any]:
    try:
        return dict(parse_json(text))
    except (ValueError, TypeError) as error:
        raise ResultFolderError(f"the table of units in {out} is damaged: {error}; --fresh begins anew") from None


def _run_tasks(job: SweepJob, work: _Work, on_progress: Callable[[Progress], None]) -> None:
    """Compute the pending units."""
    next_report = 0.0
    with closing(job.engine.run(job.compute, work.tasks())) as steps:
        for batches, schedule in steps:
            for results in batches:
                work.commit(results)
            if (now := time.monotonic()) >= next_report or schedule.is_finished:
                counts = len(work.units), len(work.committed), schedule.seconds_left
                on_progress(Progress(*counts, work.suite, work.runs, work))
                next_report = now + (time.monotonic() - now) / MAX_REPORT_SHARE


def _publish(store: TableStore, work: _Work, folder: OpenFolder, page: Page | None) -> FinishedSweep:
    """Make tables and exports, and put them into a local folder as a whole.

    Tables of a format with a log stay where they are: Spark replaces each.
    """
    is_movable = store.within(folder.path) is not None
    with folder.replace((*TABLES, *EXPORTS.names) if is_movable else EXPORTS.names) as new:
        finished = _write_tables(store, work, store.within(new))
        for name, text in _exports(work.suite, finished, page):
            (new / name).write_text(text, encoding="utf-8")
    return finished


def _exports(suite: Suite, finished: FinishedSweep, page: Page | None) -> Iterator[tuple[str, str]]:
    for name, text_of in suite.files.items():
        yield name, text_of(finished.results)
    if page:
        yield REPORT, page(finished)


def _write_tables(store: TableStore, work: _Work, target: TableStore | None = None) -> FinishedSweep:
    """Make the tables of the units, and read the results from them."""
    violating = [key for key, result in work.committed.items() if counterexample_of(result)]
    traces = {row["unit_key"]: row["trace"] for row in store.units(["trace"], violating)}
    target = target or store
    target.write(table_rows(work.suite, work.units, work.committed, traces), store)
    return finished_sweep(target)
