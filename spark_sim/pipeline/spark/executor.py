"""Batches of partitions on Spark: one task and one Parquet file for each partition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from spark_sim.pipeline.runs import RUNS_TABLE, Run
from spark_sim.pipeline.sink import StagedResults
from spark_sim.pipeline.work_units import Partition, PartitionResult
from spark_sim.pipeline.worker import Log, SweepExecutor, compute_partition

if TYPE_CHECKING:
    from pyspark import Accumulator
    from pyspark.sql import SparkSession

MAX_CONCURRENT_JOBS: Final = 8
"""Batches that run at the same time: a few more than needed, because the first are small while executors register."""


@contextmanager
def spark_executor(master: str, log: Log) -> Iterator[SweepExecutor]:
    """Start Spark, or use the active session.

    Raises:
        JavaNotFound, SparkNotStarted: Spark cannot be started.
    """
    from py4j.protocol import Py4JError

    from spark_sim.pipeline.spark.java import find_java
    from spark_sim.pipeline.spark.session import describe, spark_session

    java = find_java()
    log(describe(java, master))
    with spark_session(master, java) as spark, ThreadPoolExecutor(MAX_CONCURRENT_JOBS) as threads:
        batches = _SparkBatches(spark)

        def cancel() -> None:
            threads.shutdown(wait=False, cancel_futures=True)
            with suppress(Py4JError):  # a Spark that does not answer has nothing left to cancel
                spark.sparkContext.cancelAllJobs()

        yield SweepExecutor(
            threads,
            batches.compute_batch,
            one_partition_per_batch=False,
            cores=batches.cores,
            cancel=cancel,
            completed=batches.completed,
        )


class _ListAccumulator:
    """Adds up an accumulator of lists; PySpark requires exactly these two methods."""

    def zero(self, _value: list[PartitionResult]) -> list[PartitionResult]:
        return []

    def addInPlace(self, value: list[PartitionResult], more: list[PartitionResult]) -> list[PartitionResult]:
        value += more
        return value


class _SparkBatches:
    """Batches on Spark. An accumulator reports each finished partition long before its batch is finished."""

    def __init__(self, spark: SparkSession) -> None:
        adds_up: Any = _ListAccumulator()
        self._spark = spark
        self._accumulator: Accumulator[list[PartitionResult]] = spark.sparkContext.accumulator([], adds_up)
        self._reported = 0
        self._locations: dict[str, tuple[Path, int]] = {}

    def cores(self) -> int:
        """Return the cores that are registered now."""
        return self._spark.sparkContext.defaultParallelism

    def compute_batch(self, batch: Sequence[Partition], folder: Path) -> StagedResults:
        """Compute a batch; return all its results."""
        finished = self._accumulator

        def rows(partitions: Iterable[Partition]) -> Iterator[Run]:
            for partition in partitions:
                rows, result = compute_partition(partition)
                finished.add([result])
                yield from rows

        folder = folder / batch[0].key
        keys = {work.key for work in batch}
        self._locations |= {work.key: (folder, place) for place, work in enumerate(batch)}
        frame = self._spark.sparkContext.parallelize(batch, len(batch)).mapPartitions(rows)
        self._spark.createDataFrame(frame, RUNS_TABLE.ddl(), verifySchema=False).write.parquet(
            folder.absolute().as_uri()
        )
        return self._staged(result for result in finished.value if result.key in keys)

    def completed(self) -> StagedResults:
        """Return the partitions that finished since the last call."""
        new = self._accumulator.value[self._reported :]
        self._reported += len(new)
        return self._staged(new)

    def _staged(self, results: Iterable[PartitionResult]) -> StagedResults:
        return [(each, self._file(each)) for each in results]

    def _file(self, result: PartitionResult) -> Path | None:
        """Return the file of a partition, if it has rows. Spark commits the file before it reports the result.

        Spark names files after its tasks: part-00003-....parquet holds the rows of the fourth partition of the batch.
        """
        if not any(found.runs for found in result.results):
            return None
        folder, place = self._locations[result.key]
        return next(folder.glob(f"part-{place:05}-*.parquet"), folder / f"part-{place:05}.parquet")
