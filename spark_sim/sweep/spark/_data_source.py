"""``spark.read.format("rolling_bounces")``: the tables of a sweep as a Python data source of Spark.

Nothing is stored: a table is computed each time that it is read, one slice in each Spark task.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from spark_sim.sweep.tables.computed import TableRequest
from spark_sim.sweep.tables.schema import TABLES

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

NAME = "rolling_bounces"
ROWS_PER_BATCH = 1_000


class RollingBounces(DataSource):
    """The tables of a sweep; ``docs/reference/tables.md`` lists the options."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return NAME

    def schema(self) -> str:
        """Return the schema of the table.

        Raises:
            OptionError: An option is wrong.
        """
        return TableRequest.parse(self.options).table.ddl()

    def reader(self, schema: StructType) -> RollingBouncesReader:  # noqa: ARG002  # the interface of Spark
        """Return what reads the table."""
        return RollingBouncesReader(dict(self.options))


@frozen
class RollingBouncesReader(DataSourceReader):
    """Reads one table; it is pickled, and so holds nothing but the options."""

    options: dict[str, str]

    def partitions(self) -> Sequence[InputPartition]:
        """Cut the table into partitions, each with a ``TableSlice``."""
        return [InputPartition(table_slice) for table_slice in TableRequest.parse(self.options).slices()]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """Compute the rows of a partition."""
        return TABLES[partition.value.table].batches(partition.value.rows(), ROWS_PER_BATCH)
