"""Runs many blocks at once, on Spark or in plain processes, and stores what comes of them.

Rule 1: Spark is a way to run many, not a place for logic. What a worker does is ``compute``, and it knows no Spark.
Rule 2: a failing run is a row. Only what is not about a run (no Java, a full disk, a lost worker) ends a sweep early.
Rule 3: the same sweep gives the same rows in the same files, whatever the master, the workers and the kills on its way.

Blocks go to Spark in waves, a block a task, so that a wave's rows become one Parquet file a block. Two waves are under
way at any time: while the last blocks of one are computed and its files are moved, the other keeps the cores busy.
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

from spark_sim.results import BlockResult, Results, Sweep, digest_of, merged, opened
from spark_sim.runs import CellResult, Run, run_block, summarise
from spark_sim.scenario import Scenario
from spark_sim.schedules import Block, blocks
from spark_sim.schema import ddl
from upgrade.matrix import Upgrade

if TYPE_CHECKING:
    from pyspark import Accumulator
    from pyspark.sql import SparkSession

PROCESSES: Final = "processes"
"""The master that is none: a pool of processes on this machine, without Spark and Java."""
WAVE: Final = 2
"""Blocks of a wave for each core: a wave of a few seconds, of which little is lost when killed."""
TICK_SECONDS: Final = 0.2
REPEATED: Final = 100
"""One run in so many is done twice."""

ERROR: Final = "error"
FAILED: Final = "always: the simulation does not fail"
REPEATABLE: Final = "always: the same scenario gives the same history"


class SweepError(Exception):
    """A sweep that could not go on; what is stored stays stored."""


# -- what a worker does ----------------------------------------------------------------------------------------------


def compute(block: Block) -> tuple[list[Run], BlockResult]:
    """Run a block: a row a run, whatever happens in it, and what they come to."""
    _freeze_memory()
    rows = list(_repeated(block, _rows(block)))
    return rows, BlockResult(block.key, summarise(block.upgrade, rows), digest_of(map(repr, rows)))


class _AsTheyAre(Block):
    """A block whose schedules are run as they stand, without the crashes that a block adds."""

    def scenarios(self) -> Iterator[Scenario]:
        return iter(self.schedules)


def _alone(block: Block, line: str) -> Run:
    """Run one scenario by itself, from the line that ``replay`` takes; if the simulation fails, the row says so."""
    try:
        (row,) = run_block(_AsTheyAre(block.upgrade, block.number, (Scenario.parse(line),)))
    except Exception as error:  # whatever it is, the other hundred thousand runs are still worth having
        return _error(block, line, FAILED, f"{type(error).__name__}: {error}")
    return row


def _rows(block: Block) -> list[Run]:
    try:
        return list(run_block(block))
    except Exception:  # runs share beginnings, so this says nothing about which of them failed: run each by itself
        return [_alone(block, line) for line in sorted(map(str, block.scenarios()))]


def _repeated(block: Block, rows: list[Run]) -> Iterator[Run]:
    """Do one run in a hundred again, by itself; two that differ are an error."""
    for place, row in enumerate(rows):
        again = row if place % REPEATED else _alone(block, row.scenario)
        differs = f"digest {row.digest}, and by itself {again.digest}"
        yield row if row == again else _error(block, row.scenario, REPEATABLE, differs)


def _error(block: Block, scenario: str, violated: str, message: str) -> Run:
    upgrade = block.upgrade
    return Run(
        origin=upgrade.origin.name,
        target=upgrade.target.name,
        plan=upgrade.plan.value,
        upgrade_from=upgrade.upgrade_from,
        block=block.key,
        scenario=scenario,
        verdict=ERROR,
        property=violated,
        message=message,
        generations=0,
        max_rebalances=0,
        probes=0,
        digest="",
    )


@cache
def _freeze_memory() -> None:
    """Once a process: leave what was imported alone, or each collection would copy the pages it shares with others."""
    gc.collect()
    gc.freeze()


# -- where it is done ------------------------------------------------------------------------------------------------

Written = list[tuple[BlockResult, Path]]


@frozen
class Runner:
    """Somewhere to compute waves of blocks, ``wave`` blocks at a time.

    ``compute`` runs in ``pool`` and writes the rows of each block into a file in the folder it is given; ``heard``
    tells of blocks that are computed and not yet written; ``cancel`` makes all waves fail soon.
    """

    pool: Executor
    compute: Callable[[Sequence[Block], Path], Written]
    wave: int
    cancel: Callable[[], None]
    heard: Callable[[], Iterable[BlockResult]] = tuple


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
        heard: Accumulator[list[BlockResult]] = spark.sparkContext.accumulator([], adds_up)
        compute = partial(_spark_wave, spark, heard)

        def cancel() -> None:
            threads.shutdown(wait=False, cancel_futures=True)
            spark.sparkContext.cancelAllJobs()

        wave = WAVE * spark.sparkContext.defaultParallelism
        yield Runner(threads, compute, wave, cancel, heard=lambda: tuple(heard.value))


class _JoinLists:
    """How an accumulator adds up, for PySpark, which wants these two methods and no more."""

    def zero(self, _value: list[BlockResult]) -> list[BlockResult]:
        return []

    def addInPlace(self, value: list[BlockResult], more: list[BlockResult]) -> list[BlockResult]:
        value += more
        return value


def _spark_wave(spark: SparkSession, heard: Accumulator[list[BlockResult]], wave: Sequence[Block], to: Path) -> Written:
    def rows(partition: Iterable[Block]) -> Iterator[Run]:
        for block in partition:
            rows, result = compute(block)
            heard.add([result])
            yield from rows

    folder = to / wave[0].key
    frame = spark.sparkContext.parallelize(wave, len(wave)).mapPartitions(rows)
    spark.createDataFrame(frame, ddl(), verifySchema=False).write.parquet(folder.absolute().as_uri())
    results = {result.key: result for result in heard.value}
    # Spark names a file after its partition: part-00003-....parquet holds the rows of the fourth block.
    return [(results[wave[int(file.name.split("-")[1])].key], file) for file in sorted(folder.glob("part-*.parquet"))]


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


def _process_wave(wave: Sequence[Block], to: Path) -> Written:
    written = []
    for block in wave:
        rows, result = compute(block)
        file = to / f"{block.key}.jsonl"
        file.write_text("".join(json.dumps(row._asdict(), ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        written.append((result, file))
    return written


# -- the sweep -------------------------------------------------------------------------------------------------------


@frozen
class Progress:
    """How far a sweep is; ``unfinished`` are the upgrades whose results may still change."""

    blocks: int
    all_blocks: int
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
    work = blocks(sweep.upgrades, members=sweep.members, seed=sweep.seed, sample=sweep.sample)
    with opened(folder, sweep, work, storage_of(master), fresh=fresh) as results:
        if todo := results.todo():
            if results.done:
                tell(f"going on with {folder}: {len(results.done)} of {len(work)} blocks are there")
            with _processes(tell) if master == PROCESSES else _spark(master, tell) as runner:
                _run(todo, runner, results, on_progress)
        return results.finish()


def _run(todo: list[Block], runner: Runner, results: Results, on_progress: Callable[[Progress], None]) -> None:
    measure = _Measure(results, todo)
    waves = [
        sorted(todo[at : at + runner.wave], key=measure.cost, reverse=True) for at in range(0, len(todo), runner.wave)
    ]
    waiting: set[Future[Written]] = set()
    try:
        waiting |= {runner.pool.submit(runner.compute, wave, results.unfinished) for wave in waves}
        while waiting:
            finished, waiting = wait(waiting, TICK_SECONDS, FIRST_COMPLETED)
            for future in finished:
                results.store(_result(future))
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
    """Knows how long the rest will take: runs cost about the same, so it goes by their number."""

    def __init__(self, results: Results, todo: list[Block]) -> None:
        self._results = results
        self._costs = {block.key: block.cost for block in todo}
        self._begun = time.monotonic()

    def cost(self, block: Block) -> int:
        return self._costs[block.key]

    def progress(self, heard: Iterable[BlockResult]) -> Progress:
        done = self._results.done | {result.key: result for result in heard}
        work = self._results.blocks
        results = merged(work.values(), done.values())
        return Progress(
            len(done),
            len(work),
            sum(result.runs for result in results),
            tuple(results),
            frozenset(block.upgrade for key, block in work.items() if key not in done),
            self._seconds_left(done.keys()),
        )

    def _seconds_left(self, done: Iterable[str]) -> float | None:
        so_far = sum(self._costs.get(key, 0) for key in done)
        left = sum(self._costs.values()) - so_far
        return left * (time.monotonic() - self._begun) / so_far if so_far else None
