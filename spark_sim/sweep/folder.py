"""The local folder of a sweep: its tables and the files that are exports of them. One sweep writes to it at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from spark_sim.sweep.spark.tables import FILE_FORMATS
from spark_sim.sweep.suites import GUIDE, HISTORY, MATRIX
from spark_sim.sweep.tables.parquet import is_file_of
from spark_sim.sweep.tables.publishing import (
    IsOwn,
    OpenFolder,
    ResultFolderError,
    Results,
    begins_with,
    open_results,
    page_titled,
)
from spark_sim.sweep.tables.schema import TABLES, UNITS
from spark_sim.table import Table

PARQUET: Final = "parquet"
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
_LOCAL_DRAFT: Final = re.compile(r"\.[0-9a-f]{32}")
_BEGINNING: Final = 65_536
_FIRST_BYTES: Final = {".parquet": b"PAR1", ".orc": b"ORC", ".avro": b"Obj\x01", ".json": b"{", ".crc": b"crc\0"}
"""The first bytes of the files that Spark writes, by suffix."""


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


def is_own_in_table(table: Table, path: str, file: IO[bytes]) -> bool:
    """Whether a file below the folder of a table belongs to it, finished or not, written with Spark or without."""
    *parents, name = path.split("/")
    suffix = Path(name).suffix
    if suffix == ".parquet" and "_temporary" not in parents:
        return is_file_of(table, file)
    head = file.read(_BEGINNING)
    if not head:  # as of a killed worker
        return name.lstrip("._").startswith(("SUCCESS", "part-")) or bool(_LOCAL_DRAFT.fullmatch(name))
    if _LOCAL_DRAFT.fullmatch(name):
        return b"PAR1".startswith(head[:4])
    if "_temporary" in parents or suffix == ".crc":
        return suffix in _FIRST_BYTES and _FIRST_BYTES[suffix].startswith(head[: len(_FIRST_BYTES[suffix])])
    return suffix in _FIRST_BYTES and _has_columns(table, suffix, head, file)


def _has_columns(table: Table, suffix: str, head: bytes, file: IO[bytes]) -> bool:
    names = [column.name for column in table.columns if not column.is_nullable]
    if suffix == ".orc":
        return {*names} <= _orc_columns(file)
    if suffix == ".json":
        names = names[:1]  # a value may be longer than the beginning
    return head.startswith(_FIRST_BYTES[suffix]) and all(f'"{name}"'.encode() in head for name in names)


def _orc_columns(file: IO[bytes]) -> set[str]:
    import pyarrow as pa
    from pyarrow import orc

    try:
        return {*orc.ORCFile(file).schema.names}
    except (pa.ArrowException, OSError):
        return set()


def _require_tables(folder: Path) -> None:
    """Refuse exports without the tables that they are made of."""
    for name in _EXPORTS:
        if (folder / name).exists() and not (folder / UNITS.name).exists():
            raise ResultFolderError(
                f"{folder} holds another sweep ({name} without tables): take another --out, or --fresh to begin anew"
            )
