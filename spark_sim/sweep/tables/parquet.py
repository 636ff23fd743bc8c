"""Parquet files of tables: pages have checksums, which every reader verifies, and the metadata says whose a file is.

All tables of sweeps, audits and comparisons are written by ``TableWriter``. A file is written under a name with a
leading dot, which all readers skip, and then renamed.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final
from uuid import uuid4

from attrs import define, field

from streams_assignor.codec import StreamsAssignorError
from streams_assignor.spark_sim.jobs.table import Table
from streams_assignor.upgrade.input_values import InvalidInput, parse_json

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

PARQUET: Final = "parquet"
_DRAFT: Final = re.compile(r"\.[0-9a-f]{32}")
ROWS_PER_BATCH: Final = 1_000
"""Rows that are in memory while a table is read."""
_MARK: Final = b"streams-assignor"
_VERSION: Final = 1
VERIFY_IN_SPARK: Final = {"parquet.page.verify-checksum.enabled": "true"}
"""Options of Spark's reader. Its writer always writes checksums."""


class DamagedParquet(OSError):
    """A file whose parts contradict each other."""


class TablesError(StreamsAssignorError):
    """Tables that do not hold the results of a finished command; the message says what is missing."""


# -- writing ---------------------------------------------------------------------------------------------------------


@define
class TableWriter:
    """Writes rows of a table into a file.

    Rows wait as their values: a dict for each would take three times the memory.
    """

    file: Path
    table: Table
    rows_per_group: int | None = None
    """Rows of a row group; None: ``flush`` ends it."""
    count: int = 0
    """Rows that are in the file."""
    _waiting: list[tuple[Any, ...]] = field(factory=list)
    _writer: pq.ParquetWriter = field(init=False)
    _schema: pa.Schema = field(init=False)
    _values: Any = field(init=False)

    def __attrs_post_init__(self) -> None:
        import pyarrow.parquet as pq

        mark = {_MARK: json.dumps({"table": self.table.name, "version": _VERSION})}
        self._schema = self.table.arrow()
        self._values = values_of(self.table)
        self._writer = pq.ParquetWriter(self.file, self._schema.with_metadata(mark), write_page_checksum=True)

    def add(self, row: Mapping[str, Any]) -> None:
        """Take a row."""
        self._waiting.append(self._values(row))
        if len(self._waiting) == self.rows_per_group:
            self.flush()

    def flush(self) -> None:
        """Write what waits as a row group."""
        import pyarrow as pa

        rows, self._waiting = self._waiting, []
        if rows:
            self.count += len(rows)
            typed = zip(self._schema, zip(*rows, strict=True), strict=True)
            columns = [pa.array(values, column.type) for column, values in typed]
            self._writer.write_table(pa.Table.from_arrays(columns, schema=self._schema))

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.flush()
        self._writer.close()


def values_of(table: Table) -> Any:
    """Return a function that returns the values of a row in the order of the columns."""
    names = [column.name for column in table.columns]
    return itemgetter(*names) if len(names) > 1 else lambda row: (row[names[0]],)


def write_parquet(file: Path, table: Table, chunks: Iterable[Sequence[Mapping[str, Any]]]) -> None:
    """Write rows into a file, as a whole or not at all; each chunk is a row group."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{uuid4().hex}")
    try:
        with TableWriter(draft, table) as writer:
            for rows in chunks:
                for row in rows:
                    writer.add(row)
                writer.flush()
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)


def commit_batch(folder: Path, table: Table, chunks: Iterable[Sequence[Mapping[str, Any]]]) -> Path:
    """Write rows as one batch of a table below a folder, beside others; return its file."""
    file = folder / table.name / f"batch={uuid4().hex}" / "part-0.parquet"
    write_parquet(file, table, chunks)
    return file


def remove_drafts(folder: Path, table: Table) -> None:
    """Remove files of batches that a killed command did not finish."""
    for file in (folder / table.name).glob("*/.*"):
        if is_draft_file(file.name):
            file.unlink(missing_ok=True)


def is_draft_file(name: str) -> bool:
    """Whether an unfinished file may have this name."""
    return _DRAFT.fullmatch(name) is not None


# -- reading ---------------------------------------------------------------------------------------------------------


def read_batches(
    folder: Path, table: Table, columns: list[str] | None = None, size: int = ROWS_PER_BATCH
) -> Iterator[pa.RecordBatch]:
    """Yield what is stored of a table below a folder, at most ``size`` rows at a time.

    Raises:
        TablesError: A file is damaged, or lacks a column.
    """
    for file in table_files(folder / table.name):
        yield from read_file(file, table, columns, size)


def read_file(
    file: Path, table: Table, columns: list[str] | None = None, size: int = ROWS_PER_BATCH
) -> Iterator[pa.RecordBatch]:
    """Yield what is in one file of a table, at most ``size`` rows at a time.

    Raises:
        TablesError: It is damaged, or lacks a column.
    """
    names = columns or [column.name for column in table.columns]
    try:
        with open_parquet(file) as opened:
            if lacking := [name for name in names if name not in opened.schema_arrow.names]:
                raise TablesError(f"{file} lacks the column {lacking[0]}: it is no table of {table.name}")
            if opened.num_row_groups:  # PyArrow 18 reads no file without one
                yield from opened.iter_batches(batch_size=size, columns=names)
    except OSError as error:
        raise TablesError(f"{file} cannot be read: {str(error).splitlines()[0]}") from None


def table_files(folder: Path) -> list[Path]:
    """List the files of a table; ``glob`` would leave out a folder that cannot be read.

    Raises:
        TablesError: A folder cannot be read.
    """

    def on_error(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):  # the table does not exist
            raise TablesError(f"{error.filename} cannot be read: {error.strerror}")

    paths = (Path(where, name) for where, _, names in os.walk(folder, onerror=on_error) for name in names)
    return sorted(path for path in paths if path.suffix == ".parquet" and path.name[0] not in "._")


@contextmanager
def open_parquet(file: Path | IO[bytes]) -> Iterator[pq.ParquetFile]:
    """Open a file; damage is an error when it is opened, or when the damaged page is read.

    Raises:
        OSError: It is damaged, or no Parquet.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if isinstance(file, Path) and file.exists() and not file.is_file():
        raise DamagedParquet(f"expected a regular file, got {file}")  # to open a FIFO would wait for a writer
    try:
        with pq.ParquetFile(file, page_checksum_verification=True) as opened:
            metadata = opened.metadata
            # No checksum covers the footer.
            if metadata.num_rows != sum(metadata.row_group(place).num_rows for place in range(metadata.num_row_groups)):
                raise DamagedParquet("its footer counts other rows than its row groups")
            yield opened
    except (pa.ArrowException, UnicodeDecodeError) as error:  # names of columns are text
        raise DamagedParquet(str(error)) from error


def parquet_format() -> ds.ParquetFileFormat:
    """Return the format of a dataset."""
    import pyarrow.dataset as ds

    return ds.ParquetFileFormat(
        default_fragment_scan_options=ds.ParquetFragmentScanOptions(page_checksum_verification=True)
    )


def is_file_of(table: Table, file: IO[bytes]) -> bool:
    """Whether a file is one of a table: it has the mark, or, written before there was one or by Spark, all columns."""
    try:
        with open_parquet(file) as opened:
            schema = opened.schema_arrow
    except OSError:
        return False
    columns = {column.name for column in table.columns}
    return _marked_table(schema.metadata or {}) == table.name or columns <= {*schema.names}


def _marked_table(metadata: dict[bytes, bytes]) -> Any:
    try:
        return parse_json(metadata.get(_MARK, b"{}")).get("table")
    except (InvalidInput, AttributeError):
        return None
