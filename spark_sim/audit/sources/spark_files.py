"""Segments in a storage that Spark reads: with its Hadoop, its settings and its credentials."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, Final

from attrs import evolve, frozen

from streams_assignor.groups.history.log_segment import SegmentReader
from streams_assignor.spark_sim.audit.sources._files import Numbered, by_partition, is_partition, scanned, unverified
from streams_assignor.spark_sim.audit.sources._source import Source, SourceError
from streams_assignor.spark_sim.sweep.spark.files import SparkFile, list_spark_files
from streams_assignor.upgrade.redaction import hide_credentials

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_IN_A_FOLDER: Final = "__consumer_offsets-*/*"


@frozen
class SparkPartition:
    """The records of one partition in segments that Spark reads."""

    partition: int
    files: tuple[SparkFile, ...]
    """Segments in the order of their base offsets."""
    is_last: bool = True
    """Whether the partition has no later segment."""
    contents: Iterator[BinaryIO] | None = None
    """Those of the segments that are not empty, where Spark has read them."""

    @property
    def name(self) -> str:
        """The name of the files with its rows."""
        return f"partition-{self.partition}"

    @property
    def size(self) -> int:
        """Bytes of the segments."""
        return sum(file.size for file in self.files)

    @property
    def inputs(self) -> object:
        """The segments with their sizes and times."""
        return self.files

    @property
    def pieces(self) -> Sequence[SparkPartition]:
        """Each segment."""
        return [evolve(self, files=(file,), is_last=file == self.files[-1]) for file in self.files]

    def opened(self, contents: Iterator[BinaryIO]) -> SparkPartition:
        """Return the partition with the contents of its files."""
        return evolve(self, contents=contents)

    def records(self, reader: SegmentReader, *, reads_commits: bool = True) -> Iterator[Numbered]:
        """Yield the records of all segments; only a task of Spark has them."""
        contents = self.contents or iter(())
        for file in self.files:
            if not file.size:
                continue
            content = next(contents, None)
            if content is None:
                raise SourceError(
                    f"expected {file.size} bytes in {file.path}, Spark read none: was it changed meanwhile?"
                )
            is_last = self.is_last and file == self.files[-1]
            yield from scanned(self.partition, content, file.path, reader, is_last, reads_commits)


def spark_segments(spark: SparkSession, uri: str) -> Source:
    """Return the partitions of a folder with ``__consumer_offsets-N`` folders, or of one such folder.

    Raises:
        NoFileSystem: The Hadoop of this Spark does not know the scheme.
        SourceError: There is no such folder, or no segment in it.
        SparkFilesError: The storage cannot be read.
    """
    folder = uri.rstrip("/")
    pattern = "*" if is_partition(PurePosixPath(folder)) else _IN_A_FOLDER
    files = {PurePosixPath(file.path): file for file in list_spark_files(spark, folder, pattern)}
    partitions = (
        SparkPartition(number, tuple(files[path] for path in paths))
        for number, paths in by_partition(files, hide_credentials(uri)).items()
    )
    return Source(hide_credentials(uri), tuple(partitions), unverified())
