"""Waves of slices on Spark: a task a slice, and a Parquet file for the rows of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from spark_sim.computing import compute
from spark_sim.jobs import Slice
from spark_sim.results import SliceResult
from spark_sim.runner import Runner, Tell, Written
from spark_sim.runs import Run
from spark_sim.schema import ddl

if TYPE_CHECKING:
    from pyspark import Accumulator
    from pyspark.sql import SparkSession

MOST_JOBS: Final = 8
"""Waves that Spark is given at any time: a few more, as the first are small while the cores of a cluster turn up."""


@contextmanager
def on_spark(master: str, tell: Tell) -> Iterator[Runner]:
    """Start Spark, or use the session that there is. ``JavaNotFound``, ``SparkNotStarted`` if it cannot be."""
    from py4j.protocol import Py4JError

    from spark_sim.java import find_java
    from spark_sim.session import describe, spark_session

    java = find_java()
    tell(describe(java, master))
    with spark_session(master, java) as spark, ThreadPoolExecutor(MOST_JOBS) as threads:
        waves = _Waves(spark)

        def cancel() -> None:
            threads.shutdown(wait=False, cancel_futures=True)
            with suppress(Py4JError):  # a Spark that does not answer has nothing left to cancel
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
