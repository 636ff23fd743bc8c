"""Files as a source: segments copied from brokers, on this machine or in an object store, or a dump."""

from __future__ import annotations

import gzip
import mmap
import os
import re
import stat
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, Final, TextIO, TypeVar

from attrs import frozen

from assignor.audit.log_segment import LOG_OVERHEAD, MAX_OFFSET, LogRecord, SegmentReader, known_time
from assignor.audit.record_columns import RecordColumns
from spark_sim.audit.sources._scanner import compiled_kernel, scan_segment
from spark_sim.audit.sources._source import Source, SourceError
from spark_sim.audit.storage import is_uri, list_files, local_copy
from upgrade.input_values import InvalidInput, open_input, parse_json, read_lines

_FOLDER: Final = re.compile(r"__consumer_offsets-(\d+)")
_SEGMENT: Final = re.compile(r"\d{20}\.log")
_MAX_LINE: Final = 1 << 26
"""Characters of a line of a dump: a record of 32 MiB; brokers accept 1 MiB by default."""
_MAX_PARTITION: Final = (1 << 31) - 1
P = TypeVar("P", bound=PurePath)


@frozen
class FilePartition:
    """The records of one partition in files."""

    partition: int
    files: tuple[Path, ...]
    """Segments in the order of their base offsets; the one file of a dump."""
    is_dump: bool = False

    @property
    def size(self) -> int:
        """Bytes of the files."""
        return sum(_size(file) for file in self.files)

    def records(self, reader: SegmentReader, *, reads_commits: bool = True) -> Iterator[LogRecord | RecordColumns]:
        """Yield the records of all files."""
        if self.is_dump:
            for record in read_dump(self.files[0]):
                if record[0] == self.partition:
                    yield record[1]
            return
        for file in self.files:
            if _size(file):
                yield from _segment_records(file, reader, reads_commits)


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    """Name the file if it cannot be read."""
    try:
        yield
    except OSError as error:
        raise SourceError(f"{file} cannot be read: {error.strerror or error}") from None


def _size(file: Path) -> int:
    return _status(file).st_size


def _status(file: Path) -> os.stat_result:
    with _reading(file):
        return file.stat()


def _segment_records(file: Path, reader: SegmentReader, reads_commits: bool) -> Iterator[LogRecord | RecordColumns]:
    kernel = compiled_kernel()
    with _reading(file), file.open("rb") as opened:
        mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)  # unmapped with the last array that shows it
    if kernel is None:
        yield from reader.records(mapped, str(file))
    else:
        yield from scan_segment(reader, mapped, str(file), reads_commits=reads_commits, kernel=kernel)


@frozen
class ObjectPartition:
    """The records of one partition in segments of an object store, one at a time on this machine."""

    partition: int
    uri: str
    paths: tuple[str, ...]
    """Of the segments in the storage, in the order of their base offsets."""
    size: int
    """Bytes of the segments."""

    def records(self, reader: SegmentReader, *, reads_commits: bool = True) -> Iterator[LogRecord | RecordColumns]:
        """Yield the records of all segments."""
        for path in self.paths:
            with local_copy(self.uri, path) as file:
                yield from FilePartition(self.partition, (file,)).records(reader, reads_commits=reads_commits)


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
    files = [each for each in (*named.glob("*.log"), *named.glob("*/*.log")) if not each.is_dir()]
    if odd := [each for each in files if not stat.S_ISREG(_status(each).st_mode)]:
        raise SourceError(f"expected segments, got {odd[0]}, which is a pipe or a device and no file")
    found = _by_partition(files, folder)
    for segments in found.values():
        _check_no_copy(segments)
    return Source(str(folder), tuple(FilePartition(number, tuple(files)) for number, files in found.items()))


def _object_source(uri: str) -> Source:
    sizes = {PurePosixPath(each.path): each.size for each in list_files(uri)}
    found = _by_partition(sizes, uri)
    partitions = (
        ObjectPartition(number, uri, tuple(map(str, files)), sum(map(sizes.__getitem__, files)))
        for number, files in found.items()
    )
    return Source(uri, tuple(partitions))


def _by_partition(paths: Iterable[P], source: Path | str) -> dict[int, list[P]]:
    """Return the segments of each partition, both in order.

    The name of a segment is its base offset in 20 digits. Other names are accepted only where no segment of the
    partition has such a name.
    """
    segments: dict[int, list[P]] = {}
    for path in sorted(paths):
        if (folder := _FOLDER.fullmatch(path.parent.name)) and path.suffix == ".log":
            segments.setdefault(int(folder[1]), []).append(path)
    if not segments:
        raise SourceError(f"expected __consumer_offsets-N folders with .log files, found none in {source}")
    return {number: _in_order(files) for number, files in sorted(segments.items())}


def _in_order(files: list[P]) -> list[P]:
    named = [each for each in files if _SEGMENT.fullmatch(each.name)]
    if named and len(named) < len(files):  # a copy would count twice, and a renamed segment must not be lost
        stray = next(each for each in files if each not in named)
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
    with _reading(file), file.open("rb") as opened:
        start = opened.read(LOG_OVERHEAD)
    return int.from_bytes(start[:8], "big", signed=True) if any(start) and len(start) == LOG_OVERHEAD else None


def dump_source(file: Path) -> Source:
    """Return the partitions of a dump.

    Raises:
        SourceError: The file is not a dump.
    """
    partitions = sorted({partition for partition, _ in read_dump(file)})
    if not partitions:
        raise SourceError(f"expected JSON lines with records, found none in {file}")
    return Source(str(file), tuple(FilePartition(each, (file,), is_dump=True) for each in partitions))


def read_dump(file: Path) -> Iterator[tuple[int, LogRecord]]:
    """Yield partition and record of each line of a dump.

    A line is ``{"partition": 0, "offset": 17, "timestamp": 1700000000000, "key": "0001…", "value": "0003…" or null}``,
    key and value in hexadecimal.

    Raises:
        SourceError: A line is something else.
    """
    with _open_text(file) as lines:
        for number, line in enumerate(_text_lines(file, lines), start=1):
            if line.strip():
                try:
                    yield _dump_record(parse_json(line))
                except (ValueError, KeyError, TypeError) as error:
                    raise SourceError(
                        f"{file}, line {number}: expected partition, offset, timestamp, key and value (hexadecimal); "
                        f"{type(error).__name__}: {error}"
                    ) from None


def _text_lines(file: Path, lines: TextIO) -> Iterator[str]:
    try:
        yield from read_lines(lines, _MAX_LINE)
    except InvalidInput as error:
        raise SourceError(f"{file}: {error}") from None
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise SourceError(f"{file} is no dump: expected JSON lines, {type(error).__name__}: {error}") from None


def _open_text(file: Path) -> TextIO:
    with _reading(file):
        opened: Any = open_input(file)
        return TextIOWrapper(gzip.GzipFile(fileobj=opened) if file.suffix == ".gz" else opened, encoding="utf-8")


def _dump_record(line: dict[str, Any]) -> tuple[int, LogRecord]:
    key, value = line["key"], line["value"]
    offset, partition, timestamp = line["offset"], line["partition"], line["timestamp"]
    for name, number, most in (("offset", offset, MAX_OFFSET), ("partition", partition, _MAX_PARTITION)):
        if type(number) is not int or not 0 <= number <= most:
            raise ValueError(f"{name} {number!r}")
    if type(timestamp) is not int:
        raise ValueError(f"timestamp {timestamp!r}")
    return partition, LogRecord(
        offset,
        known_time(timestamp),
        None if key is None else bytes.fromhex(key),
        None if value is None else bytes.fromhex(value),
    )
