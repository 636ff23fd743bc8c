"""Tables in a folder of this machine, written and read with Arrow: what a sweep without Spark uses.

    units/batch=ID/part-0.parquet   a committed batch of work units
    kinds/part-0.parquet, ...       the other tables

Every file is written under a name with a leading dot, which all readers skip, and then renamed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from attrs import frozen

from spark_sim.sweep.tables.engine import TableStore
from spark_sim.sweep.tables.parquet import open_parquet, parquet_writer
from spark_sim.sweep.tables.rows import KindRows, TablesError
from spark_sim.sweep.tables.schema import RUNS, TABLES, UNITS
from spark_sim.sweep.worker import UnitTask, row_chunks
from spark_sim.table import Row, Table

if TYPE_CHECKING:
    import pyarrow as pa

_DRAFT: Final = re.compile(r"\.[0-9a-f]{32}")
ROWS_PER_GROUP: Final = 1_000
"""Rows that are in memory while the table of runs is written."""


@frozen
class LocalTables(TableStore):
    """Tables in a folder."""

    folder: Path

    def units(self, columns: Sequence[str], keys: Collection[str]) -> Iterator[Row]:
        """Yield committed units."""
        wanted = set(keys)
        for batch in self._batches(UNITS, [*dict.fromkeys(["unit_key", *columns])]):
            for row in batch.to_pylist():
                if row["unit_key"] in wanted:
                    wanted.discard(row["unit_key"])
                    yield row

    def sweeps(self) -> dict[str, str]:
        """Return the sweeps of committed units."""
        batches = self._batches(UNITS, ["sweep_id", "sweep"])
        return {row["sweep_id"]: row["sweep"] for batch in batches for row in batch.to_pylist()}

    def within(self, folder: Path) -> LocalTables:
        """Return the tables in another folder."""
        return LocalTables(folder)

    def write(self, rows: KindRows, units: TableStore) -> None:
        """Write the tables."""
        for name, table in TABLES.items():
            chunks = _run_rows(rows, units) if table is RUNS else iter([rows.tables[name]])
            write_parquet(self.folder / name / "part-0.parquet", table, chunks)

    def read(self, table: str) -> list[Row]:
        """Return the rows of a table."""
        return [row for batch in self._batches(TABLES[table]) for row in batch.to_pylist()]

    def count(self, table: str) -> int:
        """Count the rows of a table."""
        return sum(batch.num_rows for batch in self._batches(TABLES[table], [TABLES[table].columns[0].name]))

    def prepare(self, *, fresh: bool) -> None:  # noqa: ARG002  # opening the folder has removed them
        """Remove files that a killed sweep did not finish."""
        for file in (self.folder / UNITS.name).glob("*/.*"):
            if _DRAFT.fullmatch(file.name):
                file.unlink(missing_ok=True)

    def _batches(self, table: Table, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield what is stored of a table.

        Raises:
            TablesError: A file is damaged, or lacks a column.
        """
        names = columns or [column.name for column in table.columns]
        for file in _parquet_files(self.folder / table.name):
            try:
                with open_parquet(file) as opened:
                    if lacking := [name for name in names if name not in opened.schema_arrow.names]:
                        raise TablesError(f"{file} lacks the column {lacking[0]}: it is no table of a sweep")
                    yield from opened.iter_batches(batch_size=ROWS_PER_GROUP, columns=names)
            except OSError as error:
                raise TablesError(f"{file} cannot be read: {str(error).splitlines()[0]}") from None


def _run_rows(rows: KindRows, units: TableStore) -> Iterator[list[Row]]:
    kinds: dict[str, list[str]] = {}
    for key, kind_id in rows.units:
        kinds.setdefault(key, []).append(kind_id)
    chunk: list[Row] = []
    for unit in units.units(["runs"], kinds):
        chunk += ({"kind_id": kind, **run} for kind in kinds[unit["unit_key"]] for run in unit["runs"])
        if len(chunk) >= ROWS_PER_GROUP:
            yield chunk
            chunk = []
    yield chunk


def _parquet_files(folder: Path) -> list[Path]:
    """List the files of a table; ``glob`` would leave out a folder that cannot be read.

    Raises:
        TablesError: A folder cannot be read.
    """

    def on_error(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):  # the table does not exist
            raise TablesError(f"{error.filename} cannot be read: {error.strerror}")

    paths = (Path(where, name) for where, _, names in os.walk(folder, onerror=on_error) for name in names)
    return sorted(path for path in paths if path.suffix == ".parquet" and path.name[0] not in "._")


def write_parquet(file: Path, table: Table, chunks: Iterator[list[Row]]) -> None:
    """Write rows into a file, as a whole or not at all."""
    import pyarrow as pa

    file.parent.mkdir(parents=True, exist_ok=True)
    draft, schema = file.with_name(f".{uuid4().hex}"), table.arrow()
    try:
        with parquet_writer(draft, table) as writer:
            for rows in chunks:
                writer.write_table(pa.Table.from_pylist(rows, schema=schema))
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)


def commit_task(task: UnitTask, folder: Path) -> list[tuple[str, str]]:
    """Compute a task and commit its units as one batch: what a local process does."""
    results = list[tuple[str, str]]()

    def chunks() -> Iterator[list[Row]]:
        for rows in row_chunks(task):
            results.extend((row["unit_key"], row["result"]) for row in rows)
            yield rows

    write_parquet(folder / UNITS.name / f"batch={uuid4().hex}" / "part-0.parquet", UNITS, chunks())
    return results
