"""The formats of tables: Parquet, which all engines write, and those that only Spark writes."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Final

from streams_assignor.spark_sim.jobs.table import Table
from streams_assignor.spark_sim.sweep.tables.parquet import PARQUET, is_draft_file, is_file_of
from streams_assignor.spark_sim.sweep.tables.publishing import ResultFolderError

_PROCESSES: Final = "processes"
FILE_FORMATS: Final = frozenset({"avro", "json", "orc", PARQUET})
"""Formats whose tables are files and nothing else; others have a log."""
_BEGINNING: Final = 65_536
_FIRST_BYTES: Final = {".parquet": b"PAR1", ".orc": b"ORC", ".avro": b"Obj\x01", ".json": b"{", ".crc": b"crc\0"}
"""The first bytes of the files that Spark writes, by suffix."""


def require_format(master: str | None, storage_format: str) -> None:
    """Refuse a format that processes do not write.

    Raises:
        ResultFolderError: It names what they write.
    """
    if master == _PROCESSES and storage_format != PARQUET:
        raise ResultFolderError(
            f"--master {_PROCESSES} writes Parquet into a folder of this machine, got --format {storage_format}"
        )


def is_own_in_table(table: Table, path: str, file: IO[bytes]) -> bool:
    """Whether a file below the folder of a table belongs to it, finished or not, written with Spark or without."""
    *parents, name = path.split("/")
    suffix = Path(name).suffix
    if suffix == ".parquet" and "_temporary" not in parents:
        return is_file_of(table, file)
    head = file.read(_BEGINNING)
    if not head:  # as of a killed worker
        return name.lstrip("._").startswith(("SUCCESS", "part-")) or is_draft_file(name)
    if is_draft_file(name):
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
