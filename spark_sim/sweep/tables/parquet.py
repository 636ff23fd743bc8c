"""Parquet files of tables: pages have checksums, which every reader verifies, and the metadata says whose a file is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from spark_sim.table import Table
from upgrade.input_values import InvalidInput, parse_json

if TYPE_CHECKING:
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

_MARK: Final = b"streams-assignor"
_VERSION: Final = 1
VERIFY_IN_SPARK: Final = {"parquet.page.verify-checksum.enabled": "true"}
"""Options of Spark's reader. Its writer always writes checksums."""


class DamagedParquet(OSError):
    """A file whose parts contradict each other."""


def parquet_writer(file: Path, table: Table) -> pq.ParquetWriter:
    """Return a writer of a table."""
    import pyarrow.parquet as pq

    mark = {_MARK: json.dumps({"table": table.name, "version": _VERSION})}
    return pq.ParquetWriter(file, table.arrow().with_metadata(mark), write_page_checksum=True)


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
