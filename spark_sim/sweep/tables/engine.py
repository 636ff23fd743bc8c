"""The store of the tables of a sweep and the engine of its work units: local processes with Arrow, or Spark."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from streams_assignor.spark_sim.jobs.engine import WorkEngine
from streams_assignor.spark_sim.jobs.table import Row
from streams_assignor.spark_sim.sweep.tables.rows import KindRows
from streams_assignor.spark_sim.sweep.worker import UnitTask


class TableStore(ABC):
    """Stores tables. A unit is committed with all its rows or not at all; committing it twice changes nothing."""

    @abstractmethod
    def units(self, columns: Sequence[str], keys: Collection[str]) -> Iterator[Row]:
        """Yield these columns of each committed unit with one of the keys, once for each unit."""

    @abstractmethod
    def sweeps(self) -> dict[str, str]:
        """Return ``sweep`` by ``sweep_id`` of all committed units."""

    @abstractmethod
    def within(self, folder: Path) -> TableStore | None:
        """Return the tables in a local folder; None if they cannot be moved from there, as a format has a log."""

    @abstractmethod
    def write(self, rows: KindRows, units: TableStore) -> None:
        """Replace all tables but ``units``, of which there are others; ``upgrades`` is written last: it is finished."""

    @abstractmethod
    def read(self, table: str) -> list[Row]:
        """Return all rows of a table; none if it does not exist."""

    @abstractmethod
    def count(self, table: str) -> int:
        """Return the number of rows of a table."""

    @abstractmethod
    def prepare(self, *, fresh: bool) -> None:
        """Prepare for a sweep, which will replace the tables; ``fresh``: empty all of them.

        Raises:
            TablesError: Something else is stored there.
        """


class SweepJob(ABC):
    """The platform of a sweep: an engine that computes batches, and the store to which they are committed."""

    engine: WorkEngine
    store: TableStore
    compute: Callable[[Sequence[UnitTask]], list[tuple[str, str]]]
    """Computes a batch and commits it; returns the key and the result of each unit, as JSON."""

    @abstractmethod
    def refuse_earlier_driver(self) -> None:
        """Raise ``TablesError`` if a driver that began earlier writes to the store."""
