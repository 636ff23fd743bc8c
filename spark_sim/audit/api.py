"""``spark_sim.register``: the data sources of this package in a Spark session of the caller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streams_assignor.spark_sim.sweep.spark.api import register as register_tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Add ``rolling_bounces`` and ``consumer_offsets`` to a session of the caller, also of Spark Connect.

    Raises:
        MissingExtraError: A library of Spark is not installed.
    """
    register_tables(spark)
    from streams_assignor.spark_sim.audit._spark_source import ConsumerOffsets

    spark.dataSource.register(ConsumerOffsets)
