"""Does many slices of work at once, on Spark or in plain processes, and stores what comes of them.

Rule 1: Spark is a way to run many, not a place for logic. What a worker does is ``compute``, and it knows no Spark.
Rule 2: a failing run is a row, a failing exploration a result. Only what is not about them (no Java, a full disk, a
        lost worker) ends a sweep early.
Rule 3: the same sweep gives the same rows in the same files, whatever the master, the workers and the kills on its way.

Slices go to Spark in waves, a slice a task, so that a wave's rows become one Parquet file a slice. Two waves are under
way at any time: while the last slices of one are computed and its files are moved, the other keeps the cores busy.
The costliest slices come first, so that no straggler is left at the end.
PySpark is imported where a sweep really runs on it, so that looking at results needs neither Spark nor Java.
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import re
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from attrs import frozen

from spark_sim.cell_result import CellResult
from spark_sim.jobs import Job, Slice, behaviour_of, slices
from spark_sim.results import Results, SliceResult, Sweep, digest_of, merged, opened
from spark_sim.runs import Run, run_all, summarise
from spark_sim.scenario import Scenario
from spark_sim.schema import ddl
from spark_sim.shrink import with_smallest_example
from upgrade.matrix import Upgrade

if TYPE_CHECKING:
    from pyspark import Accumulator
    from pyspark.sql import SparkSession

PROCESSES: Final = "processes"
"""The master that is none: a pool of processes on this machine, without Spark and Java."""
WAVE: Final = 2
"""Slices of a wave for each core: a wave of a few seconds, of which little is lost when killed."""
TICK_SECONDS: Final = 0.2
SHOWN_AT_EVERY_TICK: Final = 1_000
"""With more upgrades than these, how far it is is looked at only when a wave is done."""
REPEATED: Final = 100
"""One run in so many is done twice."""

ERROR: Final = "error"
FAILED: Final = "always: the simulation does not fail"
REPEATABLE: Final = "always: the same scenario gives the same history"


class SweepError(Exception):
    """A sweep that could not go on; what is stored stays stored."""


# -- what a worker does ----------------------------------------------------------------------------------------------


def compute(work: Slice) -> tuple[list[Run], SliceResult]:
    """Do the jobs of a slice: a row for each run, whatever happens in it, and a sum for each job."""
    _freeze_memory()
    rows, sums = list[Run](), list[CellResult]()
    for job in work.jobs:
        found = list(_repeated(job, work.key, _rows(job, work.key)))
        sums.append(with_smallest_example(_found(job).plus(summarise(job.upgrade, found))))
        rows += found
    return rows, SliceResult(work.key, tuple(sums), digest_of(map(repr, (*rows, *sums))))


def _found(job: Job) -> CellResult:
    """Return what a job knows without real members; if it fails, that is what there is to know."""
    try:
        return job.found()
    except Exception as error:  # whatever it is, the other thousand cells are still worth having
        return CellResult(job.upgrade, violated=FAILED, message=f"{type(error).__name__}: {error}")


def _rows(job: Job, key: str) -> list[Run]:
    try:
        return list(run_all(job.scenarios(), job.upgrade, key))
    except Exception:  # runs share beginnings, so this says nothing about which of them failed: run each by itself
        return [_alone(job, key, line) for line in sorted(map(str, job.scenarios()))]


def _alone(job: Job, key: str, line: str) -> Run:
    """Run one scenario by itself, from the line that ``replay`` takes; if the simulation fails, the row says so."""
    try:
        (row,) = run_all([Scenario.parse(line)], job.upgrade, key)
    except Exception as error:
        return _error(job, key, line, FAILED, f"{type(error).__name__}: {error}")
    return row


def _repeated(job: Job, key: str, rows: list[Run]) -> Iterator[Run]:
    """Do one run in a hundred again, by itself; two that differ are an error."""
    for place, row in enumerate(rows):
        again = row if place % REPEATED else _alone(job, key, row.scenario)
        differs = f"digest {row.digest}, and by itself {again.digest}"
        yield row if row == again else _error(job, key, row.scenario, REPEATABLE, differs)


def _error(job: Job, key: str, scenario: str, violated: str, message: str) -> Run:
    upgrade = job.upgrade
    return Run(
        origin=upgrade.origin.name,
        target=upgrade.target.name,
        plan=upgrade.plan.value,
        upgrade_from=upgrade.upgrade_from,
        slice=key,
        scenario=scenario,
        verdict=ERROR,
        property=violated,
        message=message,
        generations=0,
        max_rebalances=0,
        probes=0,
        moved=0,
        unowned_task_ms=0,
        member_bytes=0,
        group_bytes=0,
        digest="",
    )


@cache
def _freeze_memory() -> None:
    """Once a process: leave what was imported alone, or each collection would copy the pages it shares with others."""
    gc.collect()
    gc.freeze()


# -- where it is done ------------------------------------------------------------------------------------------------

Written = list[tuple[SliceResult, Path | None]]


@frozen
class Runner:
    """Somewhere to compute waves of slices, ``wave`` slices at a time.

    ``compute`` runs in ``pool`` and writes the rows of each slice into a file in the folder it is given; ``heard``
    tells of slices that are computed and not yet written; ``cancel`` makes all waves fail soon.
    """

    pool: Executor
    compute: Callable[[Sequence[Slice], Path], Written]
    wave: int
    cancel: Callable[[], None]
    heard: Callable[[], Iterable[SliceResult]] = tuple


Tell = Callable[[str], None]


def storage_of(master: str) -> str:
    """Say how rows are stored: Parquet by Spark, and JSON lines without it."""
    return "jsonl" if master == PROCESSES else "parquet"


@contextmanager
def _spark(master: str, tell: Tell) -> Iterator[Runner]:
    from spark_sim.java import find_java
    from spark_sim.session import describe, spark_session

    java = find_java()
    tell(describe(java, master))
    with spark_session(master, java) as spark, ThreadPoolExecutor(max_workers=2) as threads:
        adds_up: Any = _JoinLists()
        heard: Accumulator[list[SliceResult]] = spark.sparkContext.accumulator([], adds_up)
        compute = partial(_spark_wave, spark, heard)

        def cancel() -> None:
            threads.shutdown(wait=False, cancel_futures=True)
            spark.sparkContext.cancelAllJobs()

        wave = WAVE * spark.sparkContext.defaultParallelism
        yield Runner(threads, compute, wave, cancel, heard=lambda: tuple(heard.value))


class _JoinLists:
    """How an accumulator adds up, for PySpark, which wants these two methods and no more."""

    def zero(self, _value: list[SliceResult]) -> list[SliceResult]:
        return []

    def addInPlace(self, value: list[SliceResult], more: list[SliceResult]) -> list[SliceResult]:
        value += more
        return value


def _spark_wave(spark: SparkSession, heard: Accumulator[list[SliceResult]], wave: Sequence[Slice], to: Path) -> Written:
    def rows(partition: Iterable[Slice]) -> Iterator[Run]:
        for work in partition:
            rows, result = compute(work)
            heard.add([result])
            yield from rows

    folder = to / wave[0].key
    frame = spark.sparkContext.parallelize(wave, len(wave)).mapPartitions(rows)
    spark.createDataFrame(frame, ddl(), verifySchema=False).write.parquet(folder.absolute().as_uri())
    results = {result.key: result for result in heard.value}
    # Spark names a file after its partition: part-00003-....parquet holds the rows of the fourth slice, if it has any.
    files = {int(file.name.split("-")[1]): file for file in folder.glob("part-*.parquet")}
    return [(results[work.key], files.get(place)) for place, work in enumerate(wave)]


@contextmanager
def _processes(tell: Tell) -> Iterator[Runner]:
    count = len(os.sched_getaffinity(0))
    tell(f"{count} processes of this machine, without Spark; rows become JSON lines")
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, context, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
        yield Runner(pool, _process_wave, wave=1, cancel=_end_children)


def _end_children() -> None:
    """End the processes of a pool, which then fails what it has not done: left alone, they would do more first.

    No future is cancelled, as Python 3.11's pool trips over those when its processes are gone.
    """
    for child in multiprocessing.active_children():
        child.terminate()


def _process_wave(wave: Sequence[Slice], to: Path) -> Written:
    written: Written = []
    for work in wave:
        rows, result = compute(work)
        file = to / f"{work.key}.jsonl"
        file.write_text("".join(json.dumps(row._asdict(), ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        written.append((result, file))
    return written


# -- the sweep -------------------------------------------------------------------------------------------------------


@frozen
class Progress:
    """How far a sweep is; ``unfinished`` are the upgrades whose results may still change."""

    slices: int
    all_slices: int
    runs: int
    results: tuple[CellResult, ...]
    unfinished: frozenset[Upgrade]
    seconds_left: float | None


def _ignore(_: object) -> None:
    pass


def run_sweep(
    sweep: Sweep,
    folder: Path,
    *,
    master: str = "local[*]",
    fresh: bool = False,
    on_progress: Callable[[Progress], None] = _ignore,
    tell: Tell = _ignore,
) -> list[CellResult]:
    """Run a sweep, or the rest of one, into a folder; return one result for each upgrade.

    ``ResultsError`` if the folder is not to be had, ``SweepError`` if the sweep cannot go on, ``JavaNotFound`` or
    ``SparkNotStarted`` if it cannot begin. After any of these, and after a kill, the same call goes on.
    """
    work = slices(sweep.extent.jobs(sweep.upgrades))
    with opened(folder, sweep, work, storage_of(master), fresh=fresh) as results:
        if todo := results.todo():
            if results.done:
                tell(f"going on with {folder}: {len(results.done)} of {len(work)} slices are there")
            with _processes(tell) if master == PROCESSES else _spark(master, tell) as runner:
                _run(todo, runner, results, _Measure(sweep, results, todo), on_progress)
        return results.finish(sweep.upgrades)


def _run(
    todo: list[Slice], runner: Runner, results: Results, measure: _Measure, on_progress: Callable[[Progress], None]
) -> None:
    costliest_first = sorted(todo, key=measure.cost, reverse=True)
    waves = [costliest_first[at : at + runner.wave] for at in range(0, len(todo), runner.wave)]
    waiting: set[Future[Written]] = set()
    try:
        waiting |= {runner.pool.submit(runner.compute, wave, results.unfinished) for wave in waves}
        while waiting:
            finished, waiting = wait(waiting, TICK_SECONDS, FIRST_COMPLETED)
            for future in finished:
                results.store(_result(future))
            if measure.due(bool(finished)):
                on_progress(measure.progress(runner.heard()))
    finally:
        if waiting:  # an error, or Ctrl-C
            runner.cancel()


def _result(future: Future[Written]) -> Written:
    """Return what a wave has written. No failing run gets here (those are rows): a worker is lost, or a disk full."""
    try:
        return future.result()
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines()] or [repr(error)]
        telling = [line for line in lines if re.search(r"Error|Exception", line)]
        raise SweepError(f"a worker failed: {(telling or lines)[-1]}") from error


class _Measure:
    """Knows how far a sweep is, and from the cost of what is done how long the rest will take."""

    def __init__(self, sweep: Sweep, results: Results, todo: list[Slice]) -> None:
        self._upgrades = sweep.upgrades
        self._results = results
        self._costs = {each.key: each.cost for each in todo}
        self._begun = time.monotonic()

    def cost(self, work: Slice) -> float:
        return self._costs[work.key]

    def due(self, anything_new: bool) -> bool:
        """Whether there is something to show: with thousands of upgrades it costs too much to look all the time."""
        return anything_new or len(self._upgrades) <= SHOWN_AT_EVERY_TICK

    def progress(self, heard: Iterable[SliceResult]) -> Progress:
        done = self._results.done | {result.key: result for result in heard}
        work = self._results.slices
        results = merged(self._upgrades, done.values())
        unfinished = {behaviour_of(job.upgrade) for key, each in work.items() if key not in done for job in each.jobs}
        return Progress(
            len(done),
            len(work),
            sum(found.runs for each in done.values() for found in each.sums),
            tuple(results),
            frozenset(upgrade for upgrade in self._upgrades if behaviour_of(upgrade) in unfinished),
            self._seconds_left(done.keys()),
        )

    def _seconds_left(self, done: Iterable[str]) -> float | None:
        so_far = sum(self._costs.get(key, 0) for key in done)
        left = sum(self._costs.values()) - so_far
        return left * (time.monotonic() - self._begun) / so_far if so_far else None
