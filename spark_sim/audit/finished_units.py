"""Finished work of audits and comparisons, in the folder of the results: the same command goes on where it was killed.

A unit is a part of the work, such as a partition. It yields some files. Its key has the digest of the computing
code and of everything that the unit is given, and of its inputs: their names, sizes and times. So a unit of other
inputs, options or code is never taken over. As in a sweep, finished units are batches of the table ``units``:

    units/batch=ID/part-0.parquet   the files of a finished unit, in pieces
    units/part-0.parquet            what a finished command keeps: files that are not beside the table

The files of a unit that are results themselves stay in their places, and are taken from there again while they have
the size that they had.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Generic, Protocol, TypeVar

from attrs import define, evolve, field, frozen

from streams_assignor.spark_sim.jobs.code_digest import code_digest, digest_of
from streams_assignor.spark_sim.jobs.engine import WorkEngine, WorkProgress
from streams_assignor.spark_sim.jobs.table import Row, Table, columns_of
from streams_assignor.spark_sim.sweep.tables.parquet import (
    TablesError,
    commit_batch,
    read_file,
    remove_drafts,
    table_files,
    write_parquet,
)
from streams_assignor.upgrade.input_values import InvalidInput, parse_json

U = TypeVar("U")

UNITS: Final = Table(
    "units",
    "The finished work of an audit, or of a comparison of captures: the files of each unit, in pieces. Where the "
    "command has ended, files that are beside the table are not in it.",
    ("unit_key", "path", "piece"),
    columns_of(
        (
            "unit_key",
            "string",
            "the unit: its name, and the digest of the computing code, of its inputs and options; one "
            "row has the format of the tables instead",
        ),
        ("path", "string", "a file of the unit"),
        ("size", "bigint", "its bytes"),
        ("piece", "bigint", "the number of a piece of it, from 0; -1: it is beside the table, under this path"),
        ("content?", "binary", "the bytes of the piece; null of a file beside the table"),
    ),
)
KEPT: Final = f"{UNITS.name}/part-0.parquet"
"""The file of the units of a command that has ended."""
RESULT: Final = "result.json"
"""The file of a unit with its result, if that is JSON."""
_NAMES: Final = [column.name for column in UNITS.columns]
_INDEX: Final = ["unit_key", "path", "size", "piece"]
_BESIDE: Final = -1
PIECE_BYTES: Final = 1 << 24
_ROWS: Final = 16
"""Pieces that are in memory at a time."""


def unit_key(name: str, *given: object) -> str:
    """Return the key of a unit: its name, and the digest of the computing code and of everything it is given."""
    return f"{name}-{digest_of([code_digest(), *map(repr, given)])}"


# -- what a worker does ----------------------------------------------------------------------------------------------


@frozen
class KeyedUnit(Generic[U]):
    """A unit with its key."""

    key: str
    given: U


@frozen
class KeyedFiles(KeyedUnit[Any]):
    """A unit whose files Spark reads (``spark_sim.sweep.spark.files.FileUnit``), and so one of them."""

    @property
    def files(self) -> Any:
        """The files."""
        return self.given.files

    def opened(self, contents: Any) -> KeyedFiles:
        """Return the unit with the contents of its files."""
        return evolve(self, given=self.given.opened(contents))


def keyed(key: str, given: U) -> KeyedUnit[U]:
    """Return a unit with its key."""
    return KeyedFiles(key, given) if hasattr(given, "opened") else KeyedUnit(key, given)


@frozen
class MakeUnit(Generic[U]):
    """The work of a worker on a unit: it makes its files, and commits them if it has the folders of the command."""

    make: Callable[[U, Path], None]
    """Makes the files of a unit in a folder; it can be pickled."""
    out: Path | None = None
    """The folder of the results; None if the worker does not see it."""
    scratch: Path | None = None
    """Where files may be meanwhile; None: in a temporary folder of the worker."""

    def __call__(self, unit: KeyedUnit[U]) -> Path | list[Row]:
        """Return the file of the committed unit, or its rows if it is not committed."""
        with TemporaryDirectory(prefix="streams-assignor-", dir=self.scratch) as name:
            self.make(unit.given, Path(name))
            rows = _unit_rows(unit.key, Path(name))
            return list(rows) if self.out is None else commit_batch(self.out, UNITS, _chunks(rows))


def make_json(function: Callable[[U], Any], unit: U, folder: Path) -> None:
    """Make the result of a unit, which is JSON."""
    (folder / RESULT).write_text(json.dumps(function(unit)), encoding="ascii")


def _unit_rows(key: str, folder: Path) -> Iterator[Row]:
    """Yield the files below a folder in pieces."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        size = path.stat().st_size
        with path.open("rb") as file:
            for piece in range(max(1, -(-size // PIECE_BYTES))):
                values = (key, path.relative_to(folder).as_posix(), size, piece, file.read(PIECE_BYTES))
                yield dict(zip(_NAMES, values, strict=True))


def _chunks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield rows in lists that have a piece's bytes, about."""
    chunk, size = list[Row](), 0
    for row in rows:
        chunk.append(row)
        size += len(row["content"] or b"")
        if size >= PIECE_BYTES:
            yield chunk
            chunk, size = [], 0
    yield chunk


# -- what the command does -------------------------------------------------------------------------------------------


@define
class _Unit:
    """Where a finished unit is."""

    file: Path
    sizes: dict[str, int] = field(factory=dict)
    beside: set[str] = field(factory=set)
    """The files that are beside the table."""


class Beside(Protocol):
    """Where the results are that are beside the table."""

    def size(self, path: str) -> int | None:
        """Return the bytes of a file; None if there is none."""

    def pieces(self, path: str) -> Iterator[bytes]:
        """Yield a file in pieces."""


@frozen
class InFolder:
    """Results in a folder of this machine."""

    folder: Path

    def size(self, path: str) -> int | None:
        """Return the bytes of a file."""
        file = self.folder / path
        return file.stat().st_size if file.is_file() else None

    def pieces(self, path: str) -> Iterator[bytes]:
        """Yield a file in pieces."""
        with (self.folder / path).open("rb") as opened:
            while piece := opened.read(PIECE_BYTES):
                yield piece


@define
class FinishedUnits:
    """The finished units of a folder of results, which the caller has locked."""

    out: Path
    folder: Beside
    on_commit: Callable[[Path], None] = lambda _file: None
    """Called with the file of each batch that was committed."""
    _units: dict[str, _Unit] = field(factory=dict)
    _earlier: frozenset[str] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Look what is finished.

        Raises:
            TablesError: A file is damaged.
        """
        remove_drafts(self.out, UNITS)
        for file in table_files(self.out / UNITS.name):
            self._add(file)
        self._earlier = frozenset(self._units)

    def _add(self, file: Path) -> None:
        found: dict[str, _Unit] = {}
        for batch in read_file(file, UNITS, _INDEX):
            for row in batch.to_pylist():
                if ".." in row["path"].split("/") or row["path"].startswith("/"):
                    raise TablesError(f"{file} is damaged: expected a path in the folder, got {row['path']}")
                unit = found.setdefault(row["unit_key"], _Unit(file))
                unit.sizes[row["path"]] = row["size"]
                if row["piece"] == _BESIDE:
                    unit.beside.add(row["path"])
        self._units |= {key: unit for key, unit in found.items() if self._has_files(unit)}

    def _has_files(self, unit: _Unit) -> bool:
        return all(self.folder.size(path) == unit.sizes[path] for path in unit.beside)

    def __contains__(self, key: str) -> bool:
        return key in self._units

    def discard(self) -> None:
        """Remove what this command has finished: it is of no use."""
        for file in {unit.file for key, unit in self._units.items() if key not in self._earlier}:
            file.unlink()
            for folder in (file.parent, self.out / UNITS.name):
                with suppress(OSError):  # it has others
                    folder.rmdir()

    def earlier(self, keys: Iterable[str]) -> int:
        """The number of these units that an earlier command has finished."""
        return len(self._earlier.intersection(keys))

    def finish(
        self,
        engine: WorkEngine,
        make: Callable[[U, Path], None],
        units: Mapping[str, U],
        cost: Callable[[U], float],
        scratch: Path,
        on_progress: Callable[[WorkProgress], None] = lambda _progress: None,
    ) -> None:
        """Make all units that are not finished.

        Args:
            engine: Where it runs.
            make: Makes the files of a unit in a folder; it can be pickled.
            units: The units by key.
            cost: Estimates the work of a unit.
            scratch: A folder on the disk of the results, for the time being.
            on_progress: Called several times a second.

        Raises:
            EngineError: A worker failed. Finished work stays.
        """
        pending = [keyed(key, unit) for key, unit in units.items() if key not in self]
        function = self.maker(engine, make, scratch)
        for _, made in engine.map(function, pending, lambda unit: cost(unit.given), on_progress):
            self.commit(made)

    def maker(self, engine: WorkEngine, make: Callable[[U, Path], None], scratch: Path) -> MakeUnit[U]:
        """Return what a worker does with a key and a unit; ``commit`` takes what it returns."""
        return MakeUnit(make, self.out, scratch) if engine.shares_files else MakeUnit(make)

    def commit(self, made: Path | list[Row]) -> None:
        """Take a unit that a worker has made."""
        file = made if isinstance(made, Path) else commit_batch(self.out, UNITS, _chunks(made))
        self._add(file)
        self.on_commit(file)

    def files(self, keys: Iterable[str], is_wanted: Callable[[str], bool]) -> Iterator[tuple[str, str, bytes]]:
        """Yield the wanted files of finished units in pieces: key, path and bytes. Each table is read once."""
        by_file: dict[Path, set[str]] = {}
        for key in keys:
            by_file.setdefault(self._units[key].file, set()).add(key)
        for file, wanted in by_file.items():
            for row in self._rows(file):
                if row["unit_key"] in wanted and is_wanted(row["path"]):
                    if row["piece"] == _BESIDE:
                        for content in self.folder.pieces(row["path"]):
                            yield row["unit_key"], row["path"], content
                    else:
                        yield row["unit_key"], row["path"], row["content"]

    def results(self, keys: Sequence[str]) -> list[Any]:
        """Return the results of finished units that are JSON, in the order of the keys."""
        texts: dict[str, bytes] = {}
        for key, _, content in self.files(keys, RESULT.__eq__):
            texts[key] = texts.get(key, b"") + content
        return [self._parsed(key, texts.get(key, b"")) for key in keys]

    def _parsed(self, key: str, text: bytes) -> Any:
        try:
            return parse_json(text)
        except InvalidInput as error:
            raise TablesError(f"{self._units[key].file} is damaged at {key}: {error}; --fresh begins anew") from None

    def extract(self, keys: Sequence[str], folder: Path, is_wanted: Callable[[str], bool]) -> None:
        """Write files of finished units into a folder, in which they have the same paths."""
        for _, path, content in self.files(keys, is_wanted):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            with (folder / path).open("ab") as file:
                file.write(content)

    def keep(
        self, keys: Sequence[str], folder: Path, is_beside: Callable[[str], bool], marker: str, dropped: str
    ) -> None:
        """Write the units of a finished command below a folder.

        Args:
            keys: Their keys.
            folder: The folder.
            is_beside: Whether a file is a result, and so beside the table.
            marker: A further key, which says what the results are.
            dropped: A file that is not kept.
        """
        rows = chain([dict(zip(_NAMES, (marker, "", 0, 0, b""), strict=True))], self._kept(keys, is_beside, dropped))
        write_parquet(folder / KEPT, UNITS, _chunks(rows))

    def _kept(self, keys: Sequence[str], is_beside: Callable[[str], bool], dropped: str) -> Iterator[Row]:
        """Yield the rows in the order of the keys, whatever tables the units are in."""
        pieces: dict[str, list[tuple[str, bytes]]] = {}
        for key, path, content in self.files(keys, lambda path: path != dropped and not is_beside(path)):
            pieces.setdefault(key, []).append((path, content))
        for key in keys:
            unit, numbers = self._units[key], Counter[str]()
            for path in filter(is_beside, unit.sizes):
                yield dict(zip(_NAMES, (key, path, unit.sizes[path], _BESIDE, None), strict=True))
            for path, content in pieces.pop(key, ()):
                yield dict(zip(_NAMES, (key, path, unit.sizes[path], numbers[path], content), strict=True))
                numbers[path] += 1

    @property
    def kept(self) -> set[str]:
        """The units that an earlier command has kept when it had ended, and the marker."""
        return {key for key, unit in self._units.items() if unit.file == self.out / KEPT}

    @staticmethod
    def _rows(file: Path) -> Iterator[Row]:
        for batch in read_file(file, UNITS, size=_ROWS):
            yield from batch.to_pylist()
