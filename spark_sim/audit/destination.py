"""Where an audit, or a comparison of captures, puts its results: a folder of this machine, or a URI.

Finished units are there from the moment at which they are finished; results replace earlier ones at the end, as a whole
or not at all. Of a URI, both are in a temporary folder too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from attrs import define, frozen

from streams_assignor.spark_sim.audit.finished_units import UNITS, FinishedUnits, InFolder
from streams_assignor.spark_sim.audit.storage import StoredResults, require_own, upload
from streams_assignor.spark_sim.jobs.engine import Log, WorkEngine
from streams_assignor.spark_sim.jobs.table import Table
from streams_assignor.spark_sim.sweep.spark.paths import is_uri
from streams_assignor.spark_sim.sweep.tables.formats import FILE_FORMATS
from streams_assignor.spark_sim.sweep.tables.parquet import PARQUET, TablesError
from streams_assignor.spark_sim.sweep.tables.publishing import OpenFolder, ResultFolderError, Results, open_results
from streams_assignor.upgrade.redaction import hide_credentials

if TYPE_CHECKING:
    from streams_assignor.spark_sim.sweep.spark.target import SparkTarget


@frozen
class Draft:
    """New results."""

    new: Path
    """The folder of the results."""
    scratch: Path
    """A folder for anything else, on the same disk."""


@define
class Destination:
    """An open folder of results."""

    out: str
    """Its name for the user."""
    opened: OpenFolder
    units: FinishedUnits
    has_results: bool
    storage_format: str
    stored: StoredResults | None = None
    """The contents of the URI, if it is one."""

    @property
    def _results(self) -> Results:
        return self.opened.results

    @property
    def tables(self) -> list[Table]:
        """The tables of the results."""
        return [table for table in self._results.tables.values() if table is not UNITS]

    @contextmanager
    def replace(self, engine: WorkEngine) -> Iterator[Draft]:
        """Yield a draft, whose tables are Parquet; it replaces the results at the end unless it is empty.

        Raises:
            ResultFolderError: It cannot be written, or Spark does not know the format.
        """
        target = None if self.storage_format == PARQUET else _spark_target(self, engine)
        is_new = False
        with self.opened.replace(self._results.names if target is None else target.moved) as new:
            scratch = self.opened.scratch_of(new)
            yield Draft(new, scratch)
            is_new = any(new.iterdir())
            if is_new and target is not None:
                if target.moved != self._results.names:  # who requires the main file sees none until all are written
                    self.remove_main()
                target.write(new, scratch)
        if is_new and self.stored is not None:
            names = self._results.names if target is None else target.moved
            upload(self.opened.path, self.stored.uri, self._results, names)

    def is_beside(self, path: str) -> bool:
        """Whether a file of a unit is in the results as it is: as Parquet that has not gone through Spark."""
        return self.storage_format == PARQUET and path.partition("/")[0] in self._results.tables

    def keep(self, keys: Sequence[str], draft: Draft, dropped: str = "") -> None:
        """Write what is kept of units into the draft."""
        self.units.keep(keys, draft.new, self.is_beside, self._marker, dropped)

    @property
    def _marker(self) -> str:
        return f"tables in {self.storage_format}"

    def remove_main(self) -> None:
        """Remove the main file."""
        main = self._results.names[-1]
        if self.stored is None:
            self.opened.remove([main])
        else:
            self.stored.remove([main])

    def read(self, path: str) -> bytes:
        """Return a file of the results that are there; empty if there is none."""
        folder = self.units.folder
        return b"" if folder.size(path) is None else b"".join(folder.pieces(path))

    def log_finished(self, keys: Sequence[str], log: Log) -> None:
        """Say what an earlier command has finished of the work of this one."""
        finished = self.units.earlier(keys)
        if finished and not (self.has_results and self.units.kept.issuperset(keys)):
            log(f"resuming {self.out}: {finished} of {len(keys)} units are finished")

    def has_results_of(self, keys: Sequence[str], log: Log) -> bool:
        """Whether the results of exactly these units are there already; then it says so."""
        has_them = self.has_results and self.units.kept == {*keys, self._marker}
        if has_them:
            log(f"{self.out} has these results already, of the same inputs and options: they stay; --fresh begins anew")
        return has_them


def _spark_target(destination: Destination, engine: WorkEngine) -> SparkTarget:
    from streams_assignor.spark_sim.sweep.spark.target import SparkTarget

    results, tables = destination.opened.results, destination.tables
    in_draft = destination.stored is None and destination.storage_format in FILE_FORMATS
    own = tuple(name for name in results.names if name not in {table.name for table in tables})
    out = None if destination.stored is None else destination.stored.uri.rstrip("/")
    moved = results.names if in_draft else own
    return SparkTarget(engine, destination.out, out, destination.opened.path, destination.storage_format, tables, moved)


@contextmanager
def open_destination(
    out: str | Path, results: Results, *, fresh: bool = False, storage_format: str = PARQUET
) -> Iterator[Destination]:
    """Open a folder or a URI for results.

    Args:
        out: The folder or URI.
        results: Its permitted contents.
        fresh: First remove the results of an earlier command, and what it has finished.
        storage_format: The format of the tables, as Spark's DataFrame writer knows it.

    Raises:
        ResultFolderError: It has something else, or cannot be written.
        StorageError: The storage cannot be read or written.
    """
    try:
        if is_uri(str(out)):
            with _open_uri(str(out), results, storage_format, fresh=fresh) as destination:
                yield destination
            return
        with open_results(Path(out), results) as opened:
            if fresh:
                opened.remove(results.names)
            units = FinishedUnits(opened.path, InFolder(opened.path))
            has_results = (opened.path / results.names[-1]).exists()
            yield Destination(str(out), opened, units, has_results, storage_format)
    except TablesError as error:
        raise ResultFolderError(f"{error}; --fresh begins anew") from error


@contextmanager
def _open_uri(uri: str, results: Results, storage_format: str, *, fresh: bool) -> Iterator[Destination]:
    require_own(uri, results)
    stored = StoredResults(uri)
    if fresh:
        stored.remove(results.names)
    with TemporaryDirectory(prefix="streams-assignor-") as name:
        folder = Path(name, "results")
        with open_results(folder, results) as opened:
            stored.download(UNITS.name, folder)
            units = FinishedUnits(folder, stored, lambda file: stored.add(file, folder))
            has_results = stored.size(results.names[-1]) is not None
            yield Destination(hide_credentials(uri), opened, units, has_results, storage_format, stored)
