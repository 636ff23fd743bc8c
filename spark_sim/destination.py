"""Where an audit, or a comparison of captures, puts its results: a folder of this machine, or a URI.

Finished units are there from the moment at which they are finished; results replace earlier ones at the end, as a whole
or not at all. Of a URI, both are in a temporary folder too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from attrs import define, frozen

from spark_sim.audit.storage import StoredResults, require_own, upload
from spark_sim.engine import Log
from spark_sim.finished_units import UNITS, FinishedUnits, InFolder
from spark_sim.sweep.spark.paths import is_uri
from spark_sim.sweep.tables.parquet import TablesError
from spark_sim.sweep.tables.publishing import OpenFolder, ResultFolderError, Results, open_results
from upgrade.redaction import hide_credentials


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
    """What the user calls it."""
    opened: OpenFolder
    units: FinishedUnits
    has_results: bool
    is_replaced: bool = False

    @contextmanager
    def replace(self) -> Iterator[Draft]:
        """Yield a draft, which replaces the results at the end unless it is empty."""
        with self.opened.replace(self.opened.results.names) as new:
            scratch = self.opened.scratch_of(new)
            yield Draft(new, scratch)
            self.is_replaced = any(new.iterdir())

    def read(self, path: str) -> bytes:
        """Return a file of the results that are there; empty if there is none."""
        folder = self.units.folder
        return b"" if folder.size(path) is None else b"".join(folder.pieces(path))

    def log_finished(self, keys: Sequence[str], log: Log) -> None:
        """Say what an earlier command has finished of the work of this one."""
        if finished := self.units.earlier(keys):
            log(f"resuming {self.out}: {finished} of {len(keys)} units are finished")

    def has_results_of(self, keys: Sequence[str], log: Log) -> bool:
        """Whether the results of exactly these units are there already; then it says so."""
        has_them = self.has_results and self.units.are_kept(keys)
        if has_them:
            log(f"{self.out} has these results already, of the same inputs and options: they stay; --fresh begins anew")
        return has_them


@contextmanager
def open_destination(out: str | Path, results: Results, *, fresh: bool = False) -> Iterator[Destination]:
    """Open a folder or a URI for results.

    Args:
        out: The folder or URI.
        results: What may be in it.
        fresh: First remove the results of an earlier command, and what it has finished.

    Raises:
        ResultFolderError: It has something else, or cannot be written.
        StorageError: The storage cannot be read or written.
    """
    try:
        if is_uri(str(out)):
            with _open_uri(str(out), results, fresh=fresh) as destination:
                yield destination
            return
        with open_results(Path(out), results) as opened:
            if fresh:
                opened.remove(results.names)
            units = FinishedUnits(opened.path, InFolder(opened.path))
            has_results = (opened.path / results.names[-1]).exists()
            yield Destination(str(out), opened, units, has_results)
    except TablesError as error:
        raise ResultFolderError(f"{error}; --fresh begins anew") from error


@contextmanager
def _open_uri(uri: str, results: Results, *, fresh: bool) -> Iterator[Destination]:
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
            destination = Destination(hide_credentials(uri), opened, units, has_results)
            yield destination
        if destination.is_replaced:
            upload(folder, uri, results)
