"""The local folder of a sweep: its tables and the files that are exports of them. One sweep writes to it at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from spark_sim.pipeline.suites import GUIDE, HISTORY, MATRIX, ResultFolderError
from spark_sim.pipeline.tables.local import LocalTables
from spark_sim.pipeline.tables.schema import TABLES, UNITS

REPORT: Final = "report.html"
_EXPORTS: Final = (MATRIX, GUIDE, HISTORY, REPORT)


def _draft_name(name: str) -> str:
    return f".{name}.unfinished"


_WRITTEN_FILES: Final = (*_EXPORTS, *map(_draft_name, _EXPORTS))
OWN_FILES: Final = frozenset({*_WRITTEN_FILES, UNITS.name, *TABLES})


@contextmanager
def open_folder(folder: Path, *, fresh: bool = False) -> Iterator[None]:
    """Open the folder of a new sweep, or of one to resume; no other sweep can open it meanwhile.

    Args:
        folder: Created if it does not exist; removed if nothing was written into it.
        fresh: First remove the results of an earlier sweep (and nothing else).

    Raises:
        ResultFolderError: The folder holds something else, or cannot be written to.
    """
    try:
        _require_own_folder(folder)
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder):
            if fresh:
                LocalTables(folder).clear()
                remove_exports(folder)
            _require_tables(folder)
            LocalTables(folder).remove_uncommitted()
            try:
                yield
            finally:
                with suppress(OSError):
                    folder.rmdir()  # if it is empty
    except BlockingIOError:
        raise ResultFolderError(f"another sweep is writing to {folder}") from None
    except OSError as error:
        raise ResultFolderError(f"cannot write to {folder}: {error.strerror or error}") from error


def remove_exports(folder: Path) -> None:
    """Remove the files that are exports of tables."""
    for name in _WRITTEN_FILES:
        (folder / name).unlink(missing_ok=True)


def write_atomically(path: Path, text: str) -> None:
    """Write a file as a whole or not at all."""
    draft = path.with_name(_draft_name(path.name))
    try:
        with draft.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Exclude other sweeps; the lock ends with the process, however that ends."""
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(lock)


def _require_tables(folder: Path) -> None:
    """Refuse exports without the tables that they are made of."""
    for name in _EXPORTS:
        if (folder / name).exists() and not (folder / UNITS.name).exists():
            raise ResultFolderError(
                f"{folder} holds another sweep ({name} without tables): take another --out, or --fresh to begin anew"
            )


def _require_own_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise ResultFolderError(f"{folder} is a file; --out wants a folder")
    if folder.exists() and (foreign := sorted({path.name for path in folder.iterdir()} - OWN_FILES)):
        raise ResultFolderError(f"{folder} holds something else ({foreign[0]}): take another --out")
