"""The tables of a sweep under any URI, in any format of Spark; batches say which driver wrote them."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from attrs import evolve, frozen

from streams_assignor.spark_sim.jobs.table import Row, Table
from streams_assignor.spark_sim.sweep.spark.paths import folder_uri, to_read
from streams_assignor.spark_sim.sweep.spark.session import spark_errors
from streams_assignor.spark_sim.sweep.tables.engine import TableStore
from streams_assignor.spark_sim.sweep.tables.formats import FILE_FORMATS
from streams_assignor.spark_sim.sweep.tables.parquet import VERIFY_IN_SPARK, TablesError, read_file
from streams_assignor.spark_sim.sweep.tables.rows import KindRows
from streams_assignor.spark_sim.sweep.tables.schema import RUNS, TABLES, UNITS, UPGRADES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

SHARED_OUT: Final = "take an --out that driver and workers share, such as the URI of a storage that all of them reach"
_ROWS_PER_JOB: Final = 100_000
_PART: Final = r"/part-[^/]+$"


@frozen(order=True)
class Driver:
    """A driver that writes to tables; of two that do so at the same time, the one that began first goes on."""

    begun: int
    """When it began, in milliseconds since 1970."""
    identity: str

    @classmethod
    def new(cls) -> Driver:
        """Return a driver that begins now."""
        return cls(now_ms(), uuid4().hex)

    def batch(self, submitted: int) -> str:
        """Name a batch by the time of its submission, by which such names are ordered."""
        return f"b{submitted:013d}-{self.begun:013d}-{self.identity}"

    @classmethod
    def of_batch(cls, name: str) -> Driver | None:
        """Return the driver that submitted a batch; None if the name is of another kind.

        >>> Driver.of_batch("b1795409944416-1795409944000-ab12").begun, Driver.of_batch("b12")
        (1795409944000, None)
        """
        submitted, _, driver = name.partition("-")
        begun, _, identity = driver.partition("-")
        return cls(int(begun), identity) if submitted and begun.isdecimal() and identity else None


def now_ms() -> int:
    """Return the time, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


@frozen
class SparkTables(TableStore):
    """Tables under a URI."""

    spark: SparkSession
    out: str
    storage_format: str

    def frame(self, table: Table, part: str = "", *, opens_files: bool = True) -> DataFrame | None:
        """Return a table, or a part of its folder; None if it does not exist.

        Unless ``opens_files``, the columns are those of the schema, which a file may lack.

        Raises:
            TablesError: The stored table is another one.
        """
        from pyspark.errors import AnalysisException

        try:
            reader = self.spark.read if opens_files else self.spark.read.schema(table.ddl())
            reader = reader.options(**VERIFY_IN_SPARK)
            frame = reader.format(self.storage_format).load(to_read(f"{self.out}/{table.name}{part}"))
            names = frame.columns  # over Spark Connect only this asks the server
        except AnalysisException as error:
            if error.getCondition() in {"PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA"}:
                return None
            raise TablesError(f"{self.out}/{table.name} cannot be read: {str(error).splitlines()[0]}") from None
        if not names and self.storage_format == "json":
            return None  # a table without rows has no columns
        if lacking := [column.name for column in table.columns if column.name not in names]:
            raise TablesError(f"{self.out}/{table.name} lacks the column {lacking[0]}: it is another table")
        return frame

    def units(self, columns: Sequence[str], keys: Collection[str]) -> Iterator[Row]:
        """Yield committed units."""
        names = [*dict.fromkeys(["unit_key", *columns])]
        if keys and (frame := self.frame(UNITS)) is not None:
            wanted = self._create([{"unit_key": key} for key in keys], {"unit_key": "string"})
            frame = frame.select(names).dropDuplicates(["unit_key"]).join(wanted, "unit_key", "left_semi")
            yield from rows_of(frame)

    def create_log(self) -> None:
        """Create the table of units, if its format has a log: two batches cannot create it at the same time."""
        from pyspark.sql.functions import lit

        if self.storage_format not in FILE_FORMATS and self.frame(UNITS) is None:
            empty = self.spark.createDataFrame([], UNITS.ddl()).withColumn("batch", lit(""))
            self._writer(empty).partitionBy("batch").mode("append").save(f"{self.out}/{UNITS.name}")

    def append(self, rows: DataFrame, batch: str) -> None:
        """Commit rows of units as one batch.

        Files of two batches never share a folder, because Hadoop's committer of the first would remove the unfinished
        files of the second; formats with a log of their own append to one table.
        """
        from pyspark.sql.functions import lit

        units = f"{self.out}/{UNITS.name}"
        if self.storage_format in FILE_FORMATS:
            self._writer(rows).save(f"{units}/batch={batch}")
        else:
            table = rows.withColumn("batch", lit(batch))
            self._writer(table).partitionBy("batch").mode("append").save(units)

    def batch(self, name: str) -> list[tuple[str, str]]:
        """Return the key and the result of each unit of a batch that was just committed."""
        if self.storage_format in FILE_FORMATS:  # listing the folders of all batches would take longer with each batch
            frame = self.frame(UNITS, f"/batch={name}", opens_files=False)
        elif (frame := self.frame(UNITS)) is not None:
            frame = frame.where(frame["batch"] == name)
        rows = [] if frame is None else frame.select("unit_key", "result").collect()
        return [(row["unit_key"], row["result"]) for row in rows]

    def refuse_earlier_driver(self, driver: Driver) -> None:
        """Refuse to go on beside a driver that began earlier.

        Raises:
            TablesError: After ``driver`` began, one that had begun before it submitted batches. Those that a killed
                driver left running were submitted before.
        """
        if (frame := self.frame(UNITS)) is None:
            return
        column = frame["batch"]
        of_others = (column > f"b{driver.begun:013d}") & ~column.endswith(f"-{driver.identity}")
        names = [row["batch"] for row in frame.where(of_others).select(column).distinct().collect()]
        others = {Driver.of_batch(name) for name in names} - {None, driver}
        if older := sorted(other for other in others if other is not None and other < driver):
            begun = datetime.fromtimestamp(older[0].begun // 1000, UTC).isoformat(" ").removesuffix("+00:00")
            raise TablesError(
                f"another sweep, begun at {begun} UTC, is writing to {self.out}: "
                "run the same command again when it has ended, or take another --out"
            )

    def sweeps(self) -> dict[str, str]:
        """Return the sweeps of committed units."""
        frame = self.frame(UNITS)
        rows = [] if frame is None else frame.select("sweep_id", "sweep").distinct().collect()
        return {row["sweep_id"]: row["sweep"] for row in rows}

    def within(self, folder: Path) -> SparkTables | None:
        """Return the tables in a local folder."""
        return evolve(self, out=folder_uri(folder)) if self.storage_format in FILE_FORMATS else None

    def write(self, rows: KindRows, units: TableStore) -> None:
        """Replace the tables."""
        assert isinstance(units, SparkTables)
        self._clear(UPGRADES)
        for name, table in TABLES.items():
            self._save(units._runs(rows) if table is RUNS else self._of_rows(table, rows.tables[name]), table)

    def _runs(self, rows: KindRows) -> DataFrame:
        """Join the runs of units, each once, to their kinds."""
        pairs = [{"unit_key": key, "kind_id": kind_id} for key, kind_id in rows.units]
        kinds = self._create(pairs, {"unit_key": "string", "kind_id": "string"})
        frame = self.frame(UNITS)
        if frame is None:
            return self._of_rows(RUNS, [])
        units = frame.select("unit_key", "runs").dropDuplicates(["unit_key"])
        return units.join(kinds, "unit_key").selectExpr("kind_id", "inline(runs)")

    def _save(self, frame: DataFrame, table: Table) -> None:
        self._writer(frame).mode("overwrite").save(f"{self.out}/{table.name}")

    def _of_rows(self, table: Table, rows: list[Row]) -> DataFrame:
        import pyarrow as pa

        rows_of_table: Any = pa.Table.from_pylist(rows, table.arrow())
        return self.spark.createDataFrame(rows_of_table, table.ddl())

    def _create(self, rows: list[Row], types: Mapping[str, str]) -> DataFrame:
        import pyarrow as pa

        return self.spark.createDataFrame(
            pa.Table.from_pylist(rows, pa.schema([(name, pa.string()) for name in types]))
        )

    def read(self, table: str) -> list[Row]:
        """Return the rows of a table."""
        frame = self.frame(TABLES[table])
        return [] if frame is None else list(rows_of(frame))

    def count(self, table: str) -> int:
        """Count the rows of a table."""
        return self._count(TABLES[table])

    def _count(self, table: Table) -> int:
        frame = self.frame(table)
        return 0 if frame is None else frame.count()

    def prepare(self, *, fresh: bool) -> None:
        """Refuse what is no table of a sweep; empty the tables that are there, if ``fresh``."""
        tables = [UPGRADES, UNITS, *(table for table in TABLES.values() if table is not UPGRADES)]
        for table in self.present(tables):
            if fresh:
                self._clear(table)

    def present(self, tables: Collection[Table]) -> list[Table]:
        """Return the tables that are there; they may be replaced.

        Raises:
            TablesError: Something else is there, or there is no such format.
        """
        for table in tables:
            self._require_own_files(table)
        return [table for table in tables if self.frame(table) is not None]

    def copy(self, table: Table, files: Sequence[Path]) -> None:
        """Replace a table by the rows of Parquet files of this machine, which workers need not see.

        Raises:
            TablesError: Workers have written the rows where the driver does not see them.
        """
        import pyarrow as pa

        count, schema = 0, table.arrow()
        batches = (batch for file in files for batch in read_file(file, table, size=_ROWS_PER_JOB))
        self._save(self._of_rows(table, []), table)
        for batch in batches:
            rows: Any = pa.Table.from_batches([batch.cast(schema)])
            frame = self.spark.createDataFrame(rows, table.ddl())
            self._writer(frame).mode("append").save(f"{self.out}/{table.name}")
            count += batch.num_rows
        if (found := self._count(table) if count else 0) != count:
            raise TablesError(f"{found} of {count} rows of {table.name} are in {self.out}: {SHARED_OUT}")

    def _writer(self, frame: DataFrame) -> DataFrameWriter:
        """Return what writes a frame; lines of JSON name null columns too, or a table would lack them."""
        return frame.write.format(self.storage_format).option("ignoreNullFields", "false")

    def _require_own_files(self, table: Table) -> None:
        """Refuse files below the folder of a table that Spark did not write: replacing the table would remove them.

        Names that begin with a dot or an underscore do not show in any list of Spark.
        """
        if self.storage_format not in FILE_FORMATS:
            return
        files = self.spark.read.format("binaryFile").option("recursiveFileLookup", "true")
        try:
            names = files.load(to_read(f"{self.out}/{table.name}")).select("path")
            foreign = names.where(~names["path"].rlike(_PART)).limit(1).collect()
        except spark_errors() as error:
            if "PATH_NOT_FOUND" in str(error):
                return
            raise
        if foreign:
            path = foreign[0]["path"]
            raise TablesError(f"{path} is no part of a table in {self.storage_format}: take another --out")

    def _clear(self, table: Table) -> None:
        if (frame := self.frame(table)) is not None:
            self._save(self._empty(frame), table)

    @staticmethod
    def _empty(frame: DataFrame) -> DataFrame:
        return frame.sparkSession.createDataFrame([], frame.schema)


def rows_of(frame: DataFrame) -> Iterator[Row]:
    """Yield the rows of a frame, through Arrow."""
    for batch in frame.toArrow().to_batches():
        yield from batch.to_pylist()
