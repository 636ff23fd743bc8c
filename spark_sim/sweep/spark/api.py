"""``spark_sim.sweep``: a sweep inside a Spark session of the caller, from a notebook or over Spark Connect."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from streams_assignor.spark_sim.jobs.engine_libraries import SPARK
from streams_assignor.spark_sim.jobs.row_filter import PUSH_FILTERS
from streams_assignor.spark_sim.sweep.folder import PARQUET
from streams_assignor.spark_sim.sweep.spark.executor import on_session, sweep_on_spark
from streams_assignor.spark_sim.sweep.spark.paths import to_read
from streams_assignor.spark_sim.sweep.spark.session import ship_packages
from streams_assignor.spark_sim.sweep.suites import SUITES, Suite
from streams_assignor.spark_sim.sweep.sweep import sweep_with
from streams_assignor.spark_sim.sweep.tables.schema import TABLES
from streams_assignor.upgrade.extras import require

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def sweep(
    spark: SparkSession,
    matrix: str | Suite = "kip-268",
    *,
    out: str,
    storage_format: str = PARQUET,
    on_progress: Callable[[Any], None] = lambda _progress: None,
) -> dict[str, DataFrame]:
    """Run a sweep in a Spark session, or resume one; the session stays as it is.

    Args:
        spark: A session of the caller, also of Spark Connect.
        matrix: ``kip-268``, ``all``, ``brokers``, ``history`` or ``streams``, or a suite.
        out: The URI of the tables, which driver and workers reach, such as ``s3a://bucket/sweep`` or ``file:///tmp/x``.
        storage_format: The format of the tables, as Spark's DataFrame writer knows it.
        on_progress: Called several times a second.

    Returns:
        The tables by name.

    Raises:
        KeyError: There is no such matrix.
        MissingExtraError: A library of Spark is not installed.
        ResultFolderError: ``out`` holds something else.
        EngineError: A worker failed; the same call resumes.
    """
    require(*SPARK)
    suite = SUITES[matrix]() if isinstance(matrix, str) else matrix
    ship_packages(spark)
    with on_session(spark) as engine, sweep_on_spark(engine, out.rstrip("/"), storage_format) as job:
        sweep_with(job, suite, None, out, on_progress=on_progress)
    return {name: spark.read.format(storage_format).load(to_read(f"{out.rstrip('/')}/{name}")) for name in TABLES}


def register(spark: SparkSession) -> None:
    """Add the data source ``rolling_bounces`` to a session of the caller, also of Spark Connect.

    Raises:
        MissingExtraError: A library of Spark is not installed.
    """
    require(*SPARK)
    from streams_assignor.spark_sim.sweep.spark._data_source import RollingBounces

    ship_packages(spark)
    spark.conf.set(PUSH_FILTERS, "true")
    spark.dataSource.register(RollingBounces)
