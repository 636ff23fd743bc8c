"""Tables in a folder of this machine, written and read with Arrow: what a sweep without Spark uses.

units/batch=ID/part-0.parquet   a committed batch of work units
kinds/part-0.parquet, ...       the other tables
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

from attrs import frozen

from streams_assignor.spark_sim.jobs.table import Row
from streams_assignor.spark_sim.sweep.tables.engine import TableStore
from streams_assignor.spark_sim.sweep.tables.parquet import commit_batch, read_batches, remove_drafts, write_parquet
from streams_assignor.spark_sim.sweep.tables.rows import KindRows
from streams_assignor.spark_sim.sweep.tables.schema import RUNS, TABLES, UNITS
from streams_assignor.spark_sim.sweep.worker import UnitTask, row_chunks

ROWS_PER_GROUP: Final = 1_000
"""Rows that are in memory while the table of runs is written."""


@frozen
class LocalTables(TableStore):
    """Tables in a folder."""

    folder: Path

    def units(self, columns: Sequence[str], keys: Collection[str]) -> Iterator[Row]:
        """Yield committed units."""
        wanted = set(keys)
        for batch in read_batches(self.folder, UNITS, [*dict.fromkeys(["unit_key", *columns])]):
            for row in batch.to_pylist():
                if row["unit_key"] in wanted:
                    wanted.discard(row["unit_key"])
                    yield row

    def sweeps(self) -> dict[str, str]:
        """Return the sweeps of committed units."""
        batches = read_batches(self.folder, UNITS, ["sweep_id", "sweep"])
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
        return [row for batch in read_batches(self.folder, TABLES[table]) for row in batch.to_pylist()]

    def count(self, table: str) -> int:
        """Count the rows of a table."""
        first = TABLES[table].columns[0].name
        return sum(batch.num_rows for batch in read_batches(self.folder, TABLES[table], [first]))

    def prepare(self, *, fresh: bool) -> None:  # noqa: ARG002  # opening the folder has removed them
        """Remove files that a killed sweep did not finish."""
        remove_drafts(self.folder, UNITS)


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


def commit_task(task: UnitTask, folder: Path) -> list[tuple[str, str]]:
    """Compute a task and commit its units as one batch: what a local process does."""
    results = list[tuple[str, str]]()

    def chunks() -> Iterator[list[Row]]:
        for rows in row_chunks(task):
            results.extend((row["unit_key"], row["result"]) for row in rows)
            yield rows

    commit_batch(folder, UNITS, chunks())
    return results
