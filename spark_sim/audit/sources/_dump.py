"""A dump as a source: JSON lines with the records of all partitions. It is read once, so it may be a pipe."""

from __future__ import annotations

import errno
import gzip
import os
import stat
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from attrs import frozen

from streams_assignor.groups.history.log_segment import LogRecord, SegmentReader, known_time
from streams_assignor.spark_sim.audit.sources._source import (
    WITHOUT_CHECKSUMS,
    OffsetOrder,
    Source,
    SourceError,
    file_inputs,
)
from streams_assignor.upgrade.input_values import open_input, parse_json

_MAX_LINE: Final = 1 << 26
"""Bytes of a line: a record of a broker is far smaller."""
_GZIP_MAGIC: Final = b"\x1f\x8b"
_RECORD_ERRORS: Final = (ValueError, KeyError, TypeError, OverflowError)


@frozen
class Dump:
    """The records of all partitions in a file."""

    file: Path
    name: str = "dump"
    size: int = 0
    partition: None = None

    @property
    def inputs(self) -> object:
        """The file with its size and time; None of a pipe."""
        return file_inputs([self.file])

    @property
    def pieces(self) -> Sequence[Dump]:
        """The dump itself."""
        return [self]

    def records(self, reader: SegmentReader, *, reads_commits: bool = True) -> Iterator[tuple[int, LogRecord]]:  # noqa: ARG002  # the interface
        """Yield the records of all lines; ``reader`` counts them."""
        for partition, record in read_dump(self.file):
            reader.counts["records"] += 1
            yield partition, record


def dump_source(file: Path) -> Source:
    """Return a dump as a source; it is not opened yet."""
    return Source(str(file), (Dump(file),), unverified=WITHOUT_CHECKSUMS)


def read_dump(file: Path) -> Iterator[tuple[int, LogRecord]]:
    """Yield partition and record of each line of a dump, which may be compressed with gzip.

    A line is ``{"partition": 0, "offset": 17, "timestamp": 1700000000000, "key": "0001…", "value": "0003…" or null}``,
    key and value in hexadecimal.

    Raises:
        SourceError: A line is something else, or the offsets of a partition are not in order.
    """
    order, number = OffsetOrder(), 0
    try:
        with _opened(file) as opened:
            while line := opened.readline(_MAX_LINE + 1):
                number += 1
                if len(line) > _MAX_LINE:
                    raise SourceError(f"expected lines of at most {_MAX_LINE:,} bytes, got a longer one")
                if line.strip():
                    partition, record = _dump_record(parse_json(line))
                    order.check(partition, record.offset)
                    yield partition, record
    except SourceError as error:
        raise SourceError(f"{file}, line {number}: {error}") from None
    except (OSError, EOFError, zlib.error) as error:
        after = f" after line {number}" if number else ""
        raise SourceError(f"{file} cannot be read{after}: {getattr(error, 'strerror', None) or error}") from None
    except _RECORD_ERRORS as error:
        raise SourceError(
            f"{file}, line {number}: expected partition, offset, timestamp, key and value (hexadecimal); "
            f"{type(error).__name__}: {error}"
        ) from None


@contextmanager
def _opened(file: Path) -> Iterator[BinaryIO]:
    """Open a file, or a pipe that has a writer; its first bytes say whether it is compressed."""
    with open_input(file) as opened:
        beginning = cast("BufferedReader", opened).peek(len(_GZIP_MAGIC))[: len(_GZIP_MAGIC)]
        if not beginning and stat.S_ISFIFO(os.fstat(opened.fileno()).st_mode):
            raise OSError(errno.EPIPE, "it is a pipe without a writer: start the writer before")
        if beginning != _GZIP_MAGIC:
            yield opened
            return
        with gzip.GzipFile(fileobj=opened) as unpacked:
            yield cast("BinaryIO", unpacked)


def _dump_record(line: dict[str, Any]) -> tuple[int, LogRecord]:
    key, value = line["key"], line["value"]
    partition, offset, timestamp = (_integer(line, name) for name in ("partition", "offset", "timestamp"))
    if not 0 <= offset < 1 << 63 or not 0 <= partition < 1 << 31:
        raise ValueError(f"partition {partition}, offset {offset}")
    return partition, LogRecord(
        offset,
        known_time(timestamp),
        None if key is None else bytes.fromhex(key),
        None if value is None else bytes.fromhex(value),
    )


def _integer(line: dict[str, Any], name: str) -> int:
    value = line[name]
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{name} {value!r:.40} is no integer")
    return value
