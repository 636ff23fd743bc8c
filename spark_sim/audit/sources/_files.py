"""Files as a source: segments copied from brokers, on this machine or in an object store."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from itertools import repeat
from pathlib import Path, PurePath, PurePosixPath
from typing import BinaryIO, Final, TypeVar

from attrs import evolve, frozen

from streams_assignor.groups.history.frames import LOG_OVERHEAD, checksum_function
from streams_assignor.groups.history.log_segment import LogRecord, SegmentReader
from streams_assignor.groups.history.record_columns import RecordColumns
from streams_assignor.spark_sim.audit.sources._source import Source, SourceError, file_inputs
from streams_assignor.spark_sim.audit.storage import list_files, local_copy
from streams_assignor.spark_sim.sweep.spark.paths import is_uri
from streams_assignor.upgrade.extras import how_to_install
from streams_assignor.upgrade.redaction import hide_credentials

_FOLDER: Final = re.compile(r"__consumer_offsets-(\d+)")
_SEGMENT: Final = re.compile(r"\d{20}\.log")
_RENAMED_SEGMENT: Final = re.compile(r".*\.log\.(?!deleted$|cleaned$).+")
"""Bytes of a segment under another name: a broker that is replacing segments (``.log.swap``), or a packed copy. Those
that it deletes are in other segments, too, and those that it has not finished to clean."""
P = TypeVar("P", bound=PurePath)
Numbered = tuple[int, LogRecord | RecordColumns]


@frozen
class FilePartition:
    """The records of one partition in files."""

    partition: int
    files: tuple[Path, ...]
    """Segments in the order of their base offsets."""
    is_last: bool = True
    """Whether the partition has no later segment."""

    @property
    def name(self) -> str:
        """The name of the files with its rows."""
        return f"partition-{self.partition}"

    @property
    def size(self) -> int:
        """Bytes of the files."""
        return sum(_size(file) for file in self.files)

    @property
    def inputs(self) -> object:
        """The files with their sizes and times."""
        return file_inputs(self.files)

    @property
    def pieces(self) -> Sequence[FilePartition]:
        """Each segment."""
        return [evolve(self, files=(file,), is_last=file == self.files[-1]) for file in self.files]

    def records(self, reader: SegmentReader, *, reads_commits: bool = True) -> Iterator[Numbered]:
        """Yield the records of all segments."""
        for file in self.files:
            is_last = self.is_last and file == self.files[-1]
            yield from _segment_records(self.partition, file, str(file), reader, is_last, reads_commits)


@contextmanager
def _reading(name: Path | str) -> Iterator[None]:
    """Name the file if it cannot be read."""
    try:
        yield
    except OSError as error:
        raise SourceError(f"{name} cannot be read: {error.strerror or error}") from None


def _size(file: Path, name: str = "") -> int:
    with _reading(name or file):
        status = file.stat()
    if not stat.S_ISREG(status.st_mode):  # to open a FIFO would wait for a writer
        raise SourceError(f"expected a regular file, got {name or file}")
    return status.st_size


def _segment_records(
    partition: int, file: Path, name: str, reader: SegmentReader, is_last: bool, reads_commits: bool
) -> Iterator[Numbered]:
    _size(file, name)  # what was listed may have been replaced since
    with _reading(name), file.open("rb") as opened:
        yield from scanned(partition, opened, name, reader, is_last, reads_commits)


def scanned(
    partition: int, file: BinaryIO, name: str, reader: SegmentReader, is_last: bool, reads_commits: bool
) -> Iterator[Numbered]:
    """Yield the records of an open segment."""
    records: Iterator[LogRecord | RecordColumns]
    try:
        from streams_assignor.spark_sim.audit.sources._scanner import scan_segment
    except ImportError:  # without numpy
        records = reader.records(file, name, is_last=is_last)
    else:
        records = scan_segment(reader, file, name, is_last=is_last, reads_commits=reads_commits)
    return zip(repeat(partition), records)


@frozen
class ObjectPartition:
    """The records of one partition in segments of an object store, one at a time on this machine."""

    partition: int
    uri: str
    paths: tuple[str, ...]
    """The paths of the segments in the storage, in the order of their base offsets."""
    size: int
    """Bytes of the segments."""
    is_last: bool = True
    """Whether the partition has no later segment."""
    times: tuple[object, ...] = ()
    """When the segments were written."""

    @property
    def name(self) -> str:
        """The name of the files with its rows."""
        return f"partition-{self.partition}"

    @property
    def inputs(self) -> object:
        """The segments with their sizes and times."""
        return self.uri, self.paths, self.size, self.times

    @property
    def pieces(self) -> Sequence[ObjectPartition]:
        """Each segment."""
        size = self.size // len(self.paths)
        return [evolve(self, paths=(path,), size=size, is_last=path == self.paths[-1]) for path in self.paths]

    def records(self, reader: SegmentReader, *, reads_commits: bool = True) -> Iterator[Numbered]:
        """Yield the records of all segments."""
        for path in self.paths:
            with local_copy(self.uri, path) as file:
                is_last = self.is_last and path == self.paths[-1]
                yield from _segment_records(self.partition, file, path, reader, is_last, reads_commits)


def segments_source(location: Path | str) -> Source:
    """Return the partitions of a folder with ``__consumer_offsets-N`` folders, or of one such folder.

    Args:
        location: The folder, or its URI in a storage that PyArrow knows.

    Raises:
        SourceError: There is no such folder, or no segment in it.
        StorageError: The storage cannot be read.
    """
    if is_uri(str(location)):
        return _object_source(str(location))
    folder = Path(location)
    if not folder.is_dir():
        raise SourceError(f"expected a folder with __consumer_offsets-N folders, got {folder}, which is no folder")
    named = folder if _FOLDER.fullmatch(folder.name) else folder.resolve()  # "." and a link have no number
    folders = [named] if _FOLDER.fullmatch(named.name) else [entry for entry in _entries(named) if is_partition(entry)]
    segments_of = by_partition([file for folder in folders for file in _entries(folder) if not file.is_dir()], folder)
    for partition_folder in folders:
        if int(partition_folder.name.rpartition("-")[2]) not in segments_of:
            raise SourceError(f"expected .log files, found none in {partition_folder}")
    for segments in segments_of.values():
        _check_no_copy(segments)
    partitions = tuple(FilePartition(number, tuple(files)) for number, files in segments_of.items())
    return Source(str(folder), partitions, unverified())


def unverified() -> str:
    """Say why checksums of segments are not verified, if they are not."""
    return "" if checksum_function() else f"crc32c is not installed: {how_to_install(['crc32c'])}"


def is_partition(path: PurePath) -> bool:
    return _FOLDER.fullmatch(path.name) is not None


def _entries(folder: Path) -> list[Path]:
    """List a folder, which ``glob`` would leave out if it cannot be read."""
    with _reading(folder):
        return list(folder.iterdir())


def _object_source(uri: str) -> Source:
    found = {PurePosixPath(file.path): file for file in list_files(uri)}
    partitions = (
        ObjectPartition(
            number,
            uri,
            tuple(map(str, files)),
            sum(found[file].size for file in files),
            times=tuple((found[file].size, found[file].mtime_ns) for file in files),
        )
        for number, files in by_partition(found, uri).items()
    )
    return Source(hide_credentials(uri), tuple(partitions), unverified())


def by_partition(paths: Iterable[P], source: Path | str) -> dict[int, list[P]]:
    """Return the segments of each partition, both in order.

    The name of a segment is its base offset in 20 digits. Other names are accepted only where no segment of the
    partition has such a name.
    """
    segments: dict[int, list[P]] = {}
    folders: dict[int, PurePath] = {}
    for path in sorted(paths):
        folder = _FOLDER.fullmatch(path.parent.name)
        if folder and _RENAMED_SEGMENT.fullmatch(path.name):
            raise SourceError(f"expected segments with names *.log, got {path}: is the copy complete?")
        if folder:
            folders[int(folder[1])] = path.parent
        if folder and path.suffix == ".log":
            segments.setdefault(int(folder[1]), []).append(path)
    if not segments:
        raise SourceError(f"expected __consumer_offsets-N folders with .log files, found none in {source}")
    for without in folders.keys() - segments:
        raise SourceError(f"expected .log files, found none in {folders[without]}")
    return {number: _in_order(files) for number, files in sorted(segments.items())}


def _in_order(files: list[P]) -> list[P]:
    named = [file for file in files if _SEGMENT.fullmatch(file.name)]
    if named and len(named) < len(files):  # a copy would count twice, and a renamed segment must not be lost
        stray = next(file for file in files if file not in named)
        raise SourceError(f"expected segments named by their base offset, as {named[0].name}, got {stray} beside them")
    return named or files


def _check_no_copy(segments: list[Path]) -> None:
    """Refuse two segments that begin with the same batch: one is a copy, and its records would count twice.

    Raises:
        SourceError: There are such segments.
    """
    beginnings: dict[int, Path] = {}
    for file in segments:
        first = _first_offset(file)
        if first is not None and (other := beginnings.setdefault(first, file)) is not file:
            raise SourceError(f"expected each segment once, but {other} and {file} both begin at offset {first}")


def _first_offset(file: Path) -> int | None:
    """Return the offset of the first batch; None of a file without one (preallocated files have zeros)."""
    with _reading(file), file.open("rb") if _size(file) else BytesIO() as opened:
        start = opened.read(LOG_OVERHEAD)
    return int.from_bytes(start[:8], "big", signed=True) if any(start) and len(start) == LOG_OVERHEAD else None
