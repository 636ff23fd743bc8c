"""``spark_sim.sweep``: a sweep inside a Spark session of the caller, from a notebook or over Spark Connect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from spark_sim.pipeline.spark.executor import engine_of
from spark_sim.pipeline.spark.session import ship_packages
from spark_sim.pipeline.suites import Suite, broker_suite, regression_suite, upgrade_suite
from spark_sim.pipeline.sweep import PARQUET, sweep_with
from spark_sim.pipeline.tables.schema import TABLES
from spark_sim.pipeline.work_units import MATRIX_CONFIGS
from upgrade.plans import MATRICES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def _upgrade_matrix(name: str) -> Suite:
    return upgrade_suite(name, MATRICES[name](), MATRIX_CONFIGS[name])


SUITES: Final[Mapping[str, Callable[[], Suite]]] = {
    **{name: partial(_upgrade_matrix, name) for name in MATRICES},
    "brokers": broker_suite,
    "history": regression_suite,
}
"""What ``sweep`` of the command line explores by default."""


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
        matrix: ``kip-268``, ``all``, ``brokers`` or ``history``, or a suite.
        out: The URI of the tables, which driver and workers reach, such as ``s3a://bucket/sweep`` or ``file:///tmp/x``.
        storage_format: The format of the tables, as Spark's DataFrame writer knows it.
        on_progress: Called several times a second.

    Returns:
        The tables by name.

    Raises:
        KeyError: There is no such matrix.
        ResultFolderError: ``out`` holds something else.
        SweepError: A worker failed; the same call resumes.
    """
    suite = SUITES[matrix]() if isinstance(matrix, str) else matrix
    ship_packages(spark)
    with engine_of(spark, out.rstrip("/"), storage_format) as engine:
        sweep_with(engine, suite, None, out, on_progress=on_progress)
    return {name: spark.read.format(storage_format).load(f"{out.rstrip('/')}/{name}") for name in TABLES}
