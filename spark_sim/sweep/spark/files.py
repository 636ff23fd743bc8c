"""Files that Spark reads for its tasks, with the file systems of its Hadoop: ``hdfs:``, ``s3a:`` and others.

A Python worker has no Hadoop. Spark's format for binary files gives each file as one row, and with it the JVM of a
session of usual size (1 GB) ended at segments of 100 MB, the default of ``__consumer_offsets``. So the lines of a file
are read, whatever they are, and joined again to the same bytes in the worker: that takes no more memory for a larger
file, and the size shows that nothing is missing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, BinaryIO, Final, Protocol, Self, TypeAlias, cast, runtime_checkable
from urllib.parse import unquote

from attrs import frozen

from streams_assignor.codec import StreamsAssignorError
from streams_assignor.spark_sim.jobs.engine import failure_reason
from streams_assignor.spark_sim.sweep.spark.paths import to_read
from streams_assignor.spark_sim.sweep.spark.session import spark_errors
from streams_assignor.upgrade.redaction import hide_credentials

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

_NEWLINE: Final = b"\n"
_IN_MEMORY: Final = 1 << 20
_SMALL_FILES: Final = 32 << 20
"""The bytes of small files that one task reads."""
_LISTED: Final = (
    "_metadata.file_path AS path",
    "_metadata.file_size AS size",
    "unix_micros(_metadata.file_modification_time) AS modified",
)
_UNKNOWN: Final = ("ClassNotFoundException", "No FileSystem for scheme")
"""The message of Hadoop for a scheme without a file system."""
_NOT_THERE: Final = "PATH_NOT_FOUND"


class SparkFilesError(StreamsAssignorError, ValueError):
    """Spark cannot read files; the message names them, without credentials."""

    def __init__(self, message: str) -> None:
        super().__init__(hide_credentials(message))


FileContent: TypeAlias = BinaryIO | SparkFilesError
"""The content of a file, or why it cannot be had."""


class NoFileSystem(SparkFilesError):
    """The Hadoop of a session has no file system for a scheme."""


@frozen
class SparkFile:
    """A file that Spark reads."""

    uri: str
    """As Hadoop takes it: nothing in it is escaped."""
    size: int
    modified: int = 0
    """Microseconds since 1970; 0 of an empty file."""

    @property
    def path(self) -> str:
        """The path in the storage."""
        return path_of(self.uri)


@runtime_checkable
class FileUnit(Protocol):
    """A unit of work that is about files, which Spark reads for it."""

    @property
    def files(self) -> Sequence[SparkFile]:
        """The files, in order."""
        ...

    def opened(self, contents: Iterator[BinaryIO]) -> Self:
        """Return the unit with the contents of its files."""
        ...


def files_of(units: Sequence[object]) -> list[SparkFile]:
    """Return the files of units that Spark has to read: those with content."""
    return [file for unit in units if isinstance(unit, FileUnit) for file in unit.files if file.size]


def path_of(uri: str) -> str:
    """Return the path of a URI; Hadoop writes ``file:/`` and ``file:///``.

    >>> path_of("hdfs://host:9000/backup 1/x"), path_of("file:/backup")
    ('/backup 1/x', '/backup')
    """
    _, _, rest = uri.partition(":")
    return "/" + rest.removeprefix("//").partition("/")[2] if rest.startswith("//") else rest


def list_spark_files(spark: SparkSession, folder: str, pattern: str) -> list[SparkFile]:
    """Return the files in a folder that a pattern matches.

    Raises:
        NoFileSystem: Hadoop does not know the scheme.
        SparkFilesError: The storage refuses it, or cannot be reached.
    """
    try:
        frame = _reader(spark, "binaryFile").load(f"{to_read(folder)}/{pattern}")
        rows = frame.selectExpr(*_LISTED).collect()
        uris = [unquote(uri) for uri in frame.inputFiles()]
    except spark_errors() as error:
        if _NOT_THERE in str(error):
            return []
        kind = NoFileSystem if any(text in str(error) for text in _UNKNOWN) else SparkFilesError
        raise kind(f"{folder} cannot be read by Spark: {failure_reason(error)}") from None
    found = {path_of(unquote(row["path"])): (row["size"], row["modified"]) for row in rows}
    return [SparkFile(uri, *found.get(path_of(uri), (0, 0))) for uri in uris]  # an empty file has no row


def _reader(spark: SparkSession, name: str) -> DataFrameReader:
    """Return a reader that takes no folder for a column of a table."""
    return spark.read.format(name).option("recursiveFileLookup", "true")


def settings_for(files: Sequence[SparkFile]) -> dict[str, str]:
    """Return the settings with which a file is read by one task, and small files together."""
    largest = max((file.size for file in files), default=0)
    return {
        "spark.sql.files.maxPartitionBytes": str(max(largest, _SMALL_FILES)),
        "spark.sql.files.minPartitionNum": "1",
    }


@contextmanager
def settings_of(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Change settings of a session meanwhile."""
    before: dict[str, str | None] = {name: spark.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, earlier in before.items():
            spark.conf.unset(name) if earlier is None else spark.conf.set(name, earlier)


def lines_of(spark: SparkSession, files: Sequence[SparkFile]) -> DataFrame:
    """Return the lines of files as bytes, with the path of their file; by ``settings_for`` a task has whole files."""
    paths = [to_read(file.uri) for file in files]
    lines = _reader(spark, "text").option("lineSep", _NEWLINE.decode()).load(paths)
    return lines.selectExpr("_metadata.file_path AS path", "CAST(value AS BINARY) AS line")


def spooled() -> tempfile.SpooledTemporaryFile[bytes]:
    """Return a file for the bytes of another one: it is in memory as long as it is small."""
    return tempfile.SpooledTemporaryFile(_IN_MEMORY, prefix="streams-assignor-")


def whole_files(batches: Iterator[pa.RecordBatch], sizes: Mapping[str, int]) -> Iterator[tuple[str, FileContent]]:
    """Yield the files of a task, by path, or why one cannot be had. A file ends when the next one is asked for."""
    lines = chain.from_iterable(
        zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True) for batch in batches
    )
    for uri, of_file in groupby(lines, itemgetter(0)):
        path = path_of(unquote(uri))
        with spooled() as opened:
            content = cast("BinaryIO", opened)
            _write(content, of_file)
            if content.tell() == sizes[path] - 1:  # whether a file ends with a newline is in its size only
                content.write(_NEWLINE)
            if content.tell() == sizes[path]:
                content.seek(0)
                yield path, content
            else:
                expected = f"expected {sizes[path]} bytes in {path}, Spark read {content.tell()}"
                yield path, SparkFilesError(f"{expected}: was it changed?")


def _write(content: BinaryIO, lines: Iterator[tuple[str, bytes]]) -> None:
    is_first = True
    for _, line in lines:
        if not is_first:
            content.write(_NEWLINE)
        content.write(line)
        is_first = False
