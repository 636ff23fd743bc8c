"""The local folder of a sweep: its tables and the files that are exports of them. One sweep writes to it at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from streams_assignor.spark_sim.sweep.suites import GUIDE, HISTORY, MATRIX
from streams_assignor.spark_sim.sweep.tables.formats import FILE_FORMATS, is_own_in_table
from streams_assignor.spark_sim.sweep.tables.parquet import PARQUET as PARQUET
from streams_assignor.spark_sim.sweep.tables.publishing import (
    IsOwn,
    OpenFolder,
    ResultFolderError,
    Results,
    begins_with,
    open_results,
    page_titled,
)
from streams_assignor.spark_sim.sweep.tables.schema import TABLES, UNITS

REPORT: Final = "report.html"
is_page: Final = page_titled("Upgrade sweep", "Broker sweep", "Known bugs")
_EXPORTS: Final[Mapping[str, IsOwn]] = {
    GUIDE: begins_with(b"[\n{", "from", "to", "verdict", "bounces", "via", "way"),
    REPORT: is_page,
    MATRIX: begins_with(b"[\n{", "from", "to", "plan", "verdict"),
    HISTORY: begins_with(b"[\n {", "bug", "affected", "found"),
}
_DRAFTS: Final = {f".{name}.unfinished": is_own for name, is_own in _EXPORTS.items()}
"""Files that a killed command has begun to write beside the exports."""
EXPORTS: Final = Results("export", {**_DRAFTS, **_EXPORTS}, {})


@contextmanager
def open_folder(folder: Path, *, fresh: bool = False, storage_format: str = PARQUET) -> Iterator[OpenFolder]:
    """Open the folder of a new sweep, or of one to resume; no other sweep can open it meanwhile.

    Args:
        folder: Created if it does not exist; then removed if nothing was written into it.
        fresh: First remove the results of an earlier sweep (and nothing else).
        storage_format: The format of the tables. If it has a log, only Spark changes what is in their folders.

    Raises:
        ResultFolderError: The folder holds something else, or cannot be written to.
    """
    has_log = storage_format not in FILE_FORMATS
    results = Results(
        "sweep",
        EXPORTS.files,
        {UNITS.name: UNITS, **TABLES},
        (lambda _table, _path, _file: True) if has_log else is_own_in_table,
    )
    with open_results(folder, results) as opened:
        if fresh:
            opened.remove(EXPORTS.names if has_log else results.names)
        _require_tables(folder)
        yield opened


def _require_tables(folder: Path) -> None:
    """Refuse exports without the tables that they are made of."""
    for name in _EXPORTS:
        if (folder / name).exists() and not (folder / UNITS.name).exists():
            raise ResultFolderError(
                f"{folder} holds another sweep ({name} without tables): take another --out, or --fresh to begin anew"
            )
