"""The input of an audit: a source, which is split by partition."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Protocol

from attrs import define, field, frozen

from streams_assignor.codec import StreamsAssignorError
from streams_assignor.groups.history.log_segment import LogRecord, SegmentReader
from streams_assignor.groups.history.record_columns import RecordColumns

SEGMENT_BYTES_PER_SECOND: Final = 10_000_000.0
RECORDS_PER_SECOND: Final = 100_000.0


class SourceError(StreamsAssignorError, ValueError):
    """The source cannot be read; the message names what was expected and where."""


class PartitionSource(Protocol):
    """The records of one partition of ``__consumer_offsets``, or of all partitions in one file. It is pickled."""

    @property
    def name(self) -> str:
        """The name of the files with its rows."""
        ...

    @property
    def size(self) -> int:
        """How much there is to read, to begin with the largest partition."""
        ...

    @property
    def partition(self) -> int | None:
        """The number of the partition; None of a file with several."""
        ...

    @property
    def inputs(self) -> object:
        """The files, with sizes and times: its ``repr`` changes with it. None if it can be read only once."""
        ...

    @property
    def pieces(self) -> Sequence[PartitionSource]:
        """Parts that can be read side by side, in the order of their offsets."""
        ...

    def records(
        self, reader: SegmentReader, *, reads_commits: bool = True
    ) -> Iterator[tuple[int, LogRecord | RecordColumns]]:
        """Yield records with the number of their partition; ``reader`` counts batches and collects problems.

        The records of each partition are in the order of their offsets.

        Raises:
            SourceError: They cannot be read.
        """
        ...


WITHOUT_CHECKSUMS: Final = "the source has none"
"""Why those of dumps and preserved records are not verified."""


@frozen
class Source:
    """All partitions of a source."""

    name: str
    partitions: tuple[PartitionSource, ...]
    unverified: str = ""
    """Why checksums of batches are not verified; empty: they are."""
    sizes_per_second: float = SEGMENT_BYTES_PER_SECOND
    """How much of the size of a partition is audited in a second of CPU, about."""

    @property
    def core_seconds(self) -> float:
        """The CPU time of an audit, about."""
        return sum(partition.size for partition in self.partitions) / self.sizes_per_second


def file_inputs(files: Iterable[Path]) -> object:
    """Return what tells files from others, and from later ones in their place; None if one is no regular file."""
    found = []
    for file in files:
        try:
            status = file.stat()
        except OSError:
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        found.append((str(file), str(file.absolute()), status.st_size, status.st_mtime_ns))
    return found


@define
class OffsetOrder:
    """Refuses records that are not in the order of their offsets: a copy, or files in another order."""

    _last: dict[int, int] = field(factory=dict)

    def check(self, partition: int, offset: int) -> None:
        """Take the next offset of a partition; ``SourceError`` if it is not behind the last one."""
        last = self._last.get(partition, -1)
        if offset <= last:
            raise SourceError(
                f"expected the records of partition {partition} in the order of their offsets, "
                f"got offset {offset} behind {last}"
            )
        self._last[partition] = offset
