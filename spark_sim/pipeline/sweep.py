"""Computes many partitions, on Spark or in local processes, and commits their results.

Rule 1: Spark runs partitions and holds no logic. What a worker does is ``compute_partition``, which knows no Spark.
Rule 2: A failing run is a row, a failing exploration is a result. Only what is outside of them (no Java, a full disk, a
        lost worker) ends a sweep early.
Rule 3: The same sweep yields the same rows in the same files, whatever the master, the workers and the kills.

Partitions go to Spark in batches (one Spark job each, one task a partition), so that the rows of each partition become
one Parquet file. Two batches are in flight at any time: while the last tasks of one are running, the other keeps the
cores busy. A partition is committed as soon as its task has ended, so a kill loses only what is running. The costliest
partitions come first, so that no straggler is left at the end.
PySpark is imported only when a sweep runs on it, so that reading results needs neither Spark nor Java.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from spark_sim.pipeline._local import local_executor
from spark_sim.pipeline.sink import ResultSink, StagedResults, open_sink
from spark_sim.pipeline.spark.executor import spark_executor
from spark_sim.pipeline.suites import Suite
from spark_sim.pipeline.work_units import Partition, PartitionResult, partition_units
from spark_sim.pipeline.worker import Log, SweepExecutor

PROCESSES: Final = "processes"
"""Instead of a Spark master: a pool of processes on this machine, without Spark and Java."""
BATCH_PER_CORE: Final = 2
"""Partitions of a batch for each core."""
BATCHES_IN_FLIGHT: Final = 2
"""Batches that are computed at the same time."""
TICK_SECONDS: Final = 0.2


class SweepError(Exception):
    """A sweep that could not go on. The committed partitions remain."""


def storage_format(master: str) -> str:
    """Return how rows are stored: as Parquet by Spark, and as JSON lines without it."""
    return "jsonl" if master == PROCESSES else "parquet"


@frozen
class Progress:
    """How far a sweep is. Results are made when they are asked for, because the cells may be thousands."""

    suite: Suite
    partitions: int
    seconds_left: float | None
    """None until the first partition is finished."""
    _committed: tuple[PartitionResult, ...]
    _pending: tuple[Partition, ...]

    @property
    def committed_partitions(self) -> int:
        """The number of finished partitions."""
        return len(self._committed)

    @property
    def runs(self) -> int:
        """The number of finished runs of simulated members."""
        return sum(found.runs for each in self._committed for found in each.results)

    @property
    def results(self) -> list[Any]:
        """One result for each cell, as far as it is known."""
        return self.suite.expand(found for each in self._committed for found in each.results)

    @property
    def unfinished(self) -> frozenset[Any]:
        """The cells whose results may still change."""
        return self.suite.unfinished(unit for each in self._pending for unit in each.units)


def _ignore(_: object) -> None:
    pass


def run_sweep(
    suite: Suite,
    folder: Path,
    *,
    master: str = PROCESSES,
    fresh: bool = False,
    on_progress: Callable[[Progress], None] = _ignore,
    log: Log = _ignore,
) -> list[Any]:
    """Run a sweep, or resume one.

    Args:
        suite: What is swept.
        folder: Where the results go; after an error or a kill the same call resumes there.
        master: ``PROCESSES`` or any Spark master.
        fresh: Remove the results of an earlier sweep first.
        on_progress: Called several times a second.
        log: Called with lines for the user.

    Returns:
        One result for each cell of the suite.

    Raises:
        ResultFolderError: The folder cannot be used.
        SweepError: A worker failed.
        JavaNotFound, SparkNotStarted: Spark cannot be started.
    """
    partitions = partition_units(suite.units)
    with open_sink(folder, suite, partitions, storage_format(master), fresh=fresh) as sink:
        if pending := sink.pending():
            if sink.committed:
                log(f"resuming {folder}: {len(sink.committed)} of {len(partitions)} partitions are finished")
            with local_executor(log) if master == PROCESSES else spark_executor(master, log) as executor:
                _run_partitions(pending, executor, sink, on_progress)
        return sink.write_final()


def _run_partitions(
    pending: list[Partition],
    executor: SweepExecutor,
    sink: ResultSink,
    on_progress: Callable[[Progress], None],
) -> None:
    estimator = _ProgressEstimator(sink, pending)
    costliest_last = sorted(pending, key=lambda each: each.cost)
    in_flight: dict[Future[StagedResults], int] = {}
    try:
        while costliest_last or in_flight:
            batch_size = BATCH_PER_CORE * executor.cores()
            while costliest_last and sum(in_flight.values()) < BATCHES_IN_FLIGHT * batch_size:
                count = min(len(costliest_last), 1 if executor.one_partition_per_batch else batch_size)
                batch = [costliest_last.pop() for _ in range(count)]
                in_flight[executor.pool.submit(executor.compute_batch, batch, sink.staging)] = count
            finished, _ = wait(in_flight, TICK_SECONDS, FIRST_COMPLETED)
            sink.commit(executor.completed())
            for future in finished:
                sink.commit(_result(future))
                del in_flight[future]
            on_progress(estimator.progress(executor.cores()))
    except BaseException:  # an error or Ctrl-C, which may come between `submit` and the entry in `in_flight`
        executor.cancel()
        while not all(batch.done() for batch in in_flight):  # a batch that was just submitted was no Spark job yet
            time.sleep(TICK_SECONDS)
            executor.cancel()
        raise


def _result(future: Future[StagedResults]) -> StagedResults:
    """Return the result of a batch. Failing runs are rows, so an exception means a lost worker or a full disk."""
    try:
        return future.result()
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines()] or [repr(error)]
        errors = [line for line in lines if re.search(r"Error|Exception", line)]
        raise SweepError(f"a worker failed: {(errors or lines)[-1]}") from error


class _ProgressEstimator:
    """Estimates the remaining time from the costs of the partitions."""

    def __init__(self, sink: ResultSink, pending: Iterable[Partition]) -> None:
        self._sink = sink
        self._costs = {each.key: each.cost for each in pending}
        self._begun = time.monotonic()

    def progress(self, cores: int) -> Progress:
        committed, pending = self._sink.committed, tuple(self._sink.pending())
        seconds = seconds_left(
            sum(self._costs.get(key, 0) for key in committed),  # those of an earlier sweep took none of this time
            (self._costs[each.key] for each in pending),
            cores,
            time.monotonic() - self._begun,
        )
        return Progress(self._sink.suite, len(self._sink.partitions), seconds, tuple(committed.values()), pending)


def seconds_left(done_cost: float, left_costs: Iterable[float], cores: int, seconds: float) -> float | None:
    """Estimate the remaining seconds; None if nothing is done.

    The costliest partitions are running, and are taken as half done.

    >>> seconds_left(3, [3, 3, 3, 3, 3], cores=2, seconds=10)  # one and two halves took ten seconds, and four are left
    20.0
    """
    if not done_cost:
        return None
    costliest = sorted(left_costs, reverse=True)
    begun = sum(costliest[:cores]) / 2
    return (sum(costliest) - begun) * seconds / (done_cost + begun)
