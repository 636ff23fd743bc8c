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

import re
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Final

from attrs import frozen

from spark_sim.cell_result import CellResult
from spark_sim.jobs import Slice, behaviour_of, slices
from spark_sim.results import Results, SliceResult, Sweep, merged, opened
from spark_sim.runner import Runner, Tell, Written
from spark_sim.waves import on_spark
from spark_sim.workers import in_processes
from upgrade.matrix import Upgrade

PROCESSES: Final = "processes"
"""The master that is none: a pool of processes on this machine, without Spark and Java."""
WAVE: Final = 2
"""Slices of a wave for each core."""
UNDER_WAY: Final = 2
"""Waves that are under way at any time."""
TICK_SECONDS: Final = 0.2


class SweepError(Exception):
    """A sweep that could not go on; what is stored stays stored."""


def storage_of(master: str) -> str:
    """Say how rows are stored: Parquet by Spark, and JSON lines without it."""
    return "jsonl" if master == PROCESSES else "parquet"


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
            with in_processes(tell) if master == PROCESSES else on_spark(master, tell) as runner:
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
            on_progress(measure.progress(runner.cores()))
    except BaseException:  # an error or Ctrl-C, which may come before what is submitted stands in `waiting`
        runner.cancel()
        while not all(wave.done() for wave in waiting):  # a wave that was just given to Spark was no job yet
            time.sleep(TICK_SECONDS)
            runner.cancel()
        raise


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

    def progress(self, cores: int) -> Progress:
        done, work = self._results.done, self._results.slices
        left = tuple(each for key, each in work.items() if key not in done)
        return Progress(
            len(done),
            len(work),
            sum(found.runs for each in done.values() for found in each.sums),
            seconds_left(
                sum(self._costs.get(key, 0) for key in done),  # what an earlier sweep has done took none of our time
                map(self.cost, left),
                cores,
                time.monotonic() - self._begun,
            ),
            self._upgrades,
            tuple(done.values()),
            left,
        )


def seconds_left(done: float, left: Iterable[float], cores: int, seconds: float) -> float | None:
    """Estimate from the costs of what is done and what is left, of which the costliest are under way: half done, say.

    >>> seconds_left(3, [3, 3, 3, 3, 3], cores=2, seconds=10)  # one and two halves took ten seconds, and four are left
    20.0
    """
    if not done:
        return None
    costliest = sorted(left, reverse=True)
    begun = sum(costliest[:cores]) / 2
    return (sum(costliest) - begun) * seconds / (done + begun)
