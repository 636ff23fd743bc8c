"""``spark.read.format("rolling_bounces")``: the tables of a sweep as a Python data source of Spark.

Nothing is stored: a table is computed each time that it is read, one slice in each Spark task.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from attrs import define
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from streams_assignor.spark_sim.jobs.row_filter import KEEPS_ALL, RowFilter, kept_rows, take_filters, takes_filters
from streams_assignor.spark_sim.sweep.spark.worker_errors import one_line
from streams_assignor.spark_sim.sweep.tables.computed import TableRequest
from streams_assignor.spark_sim.sweep.tables.schema import TABLES

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

NAME: Final = "rolling_bounces"
ROWS_PER_BATCH: Final = 1_000
KIND: Final = "kind_id"
_FILTERED: Final = (KIND, "from_release", "to_release", "plan", "origin", "target")
"""Columns of which filters are taken. The computation depends on the first one only."""


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
        with one_line():
            return TableRequest.parse(self.options).table.ddl()

    def reader(self, schema: StructType) -> RollingBouncesReader:  # noqa: ARG002  # the interface of Spark
        """Return what reads the table."""
        with one_line():
            filters = takes_filters(self.options, DataSourceReader)
        return (FilteringBouncesReader if filters else RollingBouncesReader)(dict(self.options))


@define
class RollingBouncesReader(DataSourceReader):
    """Reads one table; it is pickled, and so holds nothing but the options and filters."""

    options: dict[str, str]
    kept: RowFilter = KEEPS_ALL

    def partitions(self) -> Sequence[InputPartition]:
        """Cut the table into partitions, each with a ``TableSlice``."""
        with one_line():
            request = TableRequest.parse(self.options)
            slices = request.slices(lambda kind: self.kept.keeps({KIND: kind}, (KIND,)))
            return [InputPartition(table_slice) for table_slice in slices]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """Compute the rows of a partition."""
        rows = kept_rows(partition.value.rows(), self.kept)
        with one_line():
            yield from TABLES[partition.value.table].batches(rows, ROWS_PER_BATCH)


class FilteringBouncesReader(RollingBouncesReader):
    """Takes filters from Spark."""

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:
        """Take the filters about kinds, which decide what is computed, and about releases; return the others."""
        self.kept, others = take_filters(filters, _FILTERED)
        return others
