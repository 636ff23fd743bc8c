"""Does many slices of work at once, on Spark or in plain processes, and stores what comes of them.

Rule 1: Spark is a way to run many, not a place for logic. What a worker does is ``compute``, and it knows no Spark.
Rule 2: a failing run is a row, a failing exploration a result. Only what is not about them (no Java, a full disk, a
        lost worker) ends a sweep early.
Rule 3: the same sweep gives the same rows in the same files, whatever the master, the workers and the kills on its way.

Slices go to Spark in waves, a slice a task, so that a wave's rows become one Parquet file a slice. Two waves are under
way at any time: while the last slices of one are computed, the other keeps the cores busy. A slice is stored as soon as
its task has ended, whatever the rest of its wave does, so a kill loses no more than what is running.
The costliest slices come first, so that no straggler is left at the end.
PySpark is imported where a sweep really runs on it, so that looking at results needs neither Spark nor Java.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from attrs import frozen

from spark_sim.cell_result import CellResult
from spark_sim.computing import compute
from spark_sim.jobs import Slice, behaviour_of, slices
from spark_sim.results import Results, SliceResult, Sweep, merged, opened
from spark_sim.runs import Run
from spark_sim.schema import ddl
from upgrade.matrix import Upgrade

if TYPE_CHECKING:
    from pyspark import Accumulator
    from pyspark.sql import SparkSession

PROCESSES: Final = "processes"
"""The master that is none: a pool of processes on this machine, without Spark and Java."""
WAVE: Final = 2
"""Slices of a wave for each core."""
UNDER_WAY: Final = 2
"""Waves that are under way at any time."""
MOST_JOBS: Final = 8
"""Waves that Spark is given at any time: a few more, as the first are small while the cores of a cluster turn up."""
TICK_SECONDS: Final = 0.2


class SweepError(Exception):
    """A sweep that could not go on; what is stored stays stored."""


# -- where it is done ------------------------------------------------------------------------------------------------

Written = list[tuple[SliceResult, Path | None]]


@frozen
class Runner:
    """Somewhere to compute waves of slices: ``cores()`` says on how many cores, as those of a cluster turn up slowly.

    ``compute`` runs in ``pool`` and writes the rows of each slice into a file in the folder it is given; ``alone``: a
    wave is one slice; ``heard`` tells what is written of waves that are not done; ``cancel`` makes all waves fail soon.
    """

    pool: Executor
    compute: Callable[[Sequence[Slice], Path], Written]
    alone: bool
    cores: Callable[[], int]
    cancel: Callable[[], None]
    heard: Callable[[], Written] = list


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
    with spark_session(master, java) as spark, ThreadPoolExecutor(MOST_JOBS) as threads:
        waves = _Waves(spark)

        def cancel() -> None:
            threads.shutdown(wait=False, cancel_futures=True)
            spark.sparkContext.cancelAllJobs()

        yield Runner(threads, waves.compute, alone=False, cores=waves.cores, cancel=cancel, heard=waves.heard)


class _JoinLists:
    """How an accumulator adds up, for PySpark, which wants these two methods and no more."""

    def zero(self, _value: list[SliceResult]) -> list[SliceResult]:
        return []

    def addInPlace(self, value: list[SliceResult], more: list[SliceResult]) -> list[SliceResult]:
        value += more
        return value


class _Waves:
    """Waves on Spark. Its workers tell of each slice through an accumulator, long before a wave is done."""

    def __init__(self, spark: SparkSession) -> None:
        adds_up: Any = _JoinLists()
        self._spark = spark
        self._told: Accumulator[list[SliceResult]] = spark.sparkContext.accumulator([], adds_up)
        self._heard = 0
        self._places: dict[str, tuple[Path, int]] = {}

    def cores(self) -> int:
        """Return how many cores there are by now."""
        return self._spark.sparkContext.defaultParallelism

    def compute(self, wave: Sequence[Slice], to: Path) -> Written:
        """Compute a wave; return all that is written of it."""
        told = self._told

        def rows(partition: Iterable[Slice]) -> Iterator[Run]:
            for work in partition:
                rows, result = compute(work)
                told.add([result])
                yield from rows

        folder = to / wave[0].key
        keys = {work.key for work in wave}
        self._places |= {work.key: (folder, place) for place, work in enumerate(wave)}
        frame = self._spark.sparkContext.parallelize(wave, len(wave)).mapPartitions(rows)
        self._spark.createDataFrame(frame, ddl(), verifySchema=False).write.parquet(folder.absolute().as_uri())
        return self._written(result for result in told.value if result.key in keys)

    def heard(self) -> Written:
        """Return what is written since this was last asked."""
        new = self._told.value[self._heard :]
        self._heard += len(new)
        return self._written(new)

    def _written(self, results: Iterable[SliceResult]) -> Written:
        return [(each, self._file(each)) for each in results]

    def _file(self, result: SliceResult) -> Path | None:
        """Return the file of a slice, if it has rows; the file is there before its worker is heard.

        Spark names files after partitions: part-00003-....parquet holds the rows of the fourth slice of its wave.
        """
        if not any(found.runs for found in result.sums):
            return None
        folder, place = self._places[result.key]
        return next(folder.glob(f"part-{place:05}-*.parquet"), folder / f"part-{place:05}.parquet")


@contextmanager
def _processes(tell: Tell) -> Iterator[Runner]:
    count = len(os.sched_getaffinity(0))
    tell(f"{count} processes of this machine, without Spark; rows become JSON lines")
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, context, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
        yield Runner(pool, _process_wave, alone=True, cores=lambda: count, cancel=_end_children)


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
    """How far a sweep is. What is known of each upgrade is worked out when it is looked at: they may be thousands."""

    slices: int
    all_slices: int
    runs: int
    seconds_left: float | None
    _upgrades: tuple[Upgrade, ...]
    _done: tuple[SliceResult, ...]
    _left: tuple[Slice, ...]

    @property
    def upgrades(self) -> int:
        """Return how many upgrades there are."""
        return len(self._upgrades)

    @property
    def results(self) -> list[CellResult]:
        """Return one result for each upgrade, as far as it is known."""
        return merged(self._upgrades, self._done)

    @property
    def unfinished(self) -> frozenset[Upgrade]:
        """Return the upgrades whose results may still change."""
        kinds = {behaviour_of(job.upgrade) for each in self._left for job in each.jobs}
        return frozenset(upgrade for upgrade in self._upgrades if behaviour_of(upgrade) in kinds)


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
    costliest_last = sorted(todo, key=measure.cost)
    waiting: dict[Future[Written], int] = {}
    try:
        while costliest_last or waiting:
            slices_of_a_wave = WAVE * runner.cores()
            while costliest_last and sum(waiting.values()) < UNDER_WAY * slices_of_a_wave:
                count = min(len(costliest_last), 1 if runner.alone else slices_of_a_wave)
                wave = [costliest_last.pop() for _ in range(count)]
                waiting[runner.pool.submit(runner.compute, wave, results.unfinished)] = count
            finished, _ = wait(waiting, TICK_SECONDS, FIRST_COMPLETED)
            results.store(runner.heard())
            for future in finished:
                results.store(_result(future))
                del waiting[future]
            on_progress(measure.progress())
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

    def progress(self) -> Progress:
        done, work = self._results.done, self._results.slices
        return Progress(
            len(done),
            len(work),
            sum(found.runs for each in done.values() for found in each.sums),
            self._seconds_left(done.keys()),
            self._upgrades,
            tuple(done.values()),
            tuple(each for key, each in work.items() if key not in done),
        )

    def _seconds_left(self, done: Iterable[str]) -> float | None:
        so_far = sum(self._costs.get(key, 0) for key in done)
        left = sum(self._costs.values()) - so_far
        return left * (time.monotonic() - self._begun) / so_far if so_far else None
