"""What an audit reads: a source, which is split by partition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from attrs import frozen

from assignor.audit.log_segment import LogRecord, SegmentReader
from assignor.audit.record_columns import RecordColumns


class SourceError(ValueError):
    """The source cannot be read; the message names what was expected and where."""


class PartitionSource(Protocol):
    """The records of one partition of ``__consumer_offsets``. It is pickled."""

    @property
    def partition(self) -> int:
        """The number of the partition."""
        ...

    @property
    def size(self) -> int:
        """How much there is to read, to begin with the largest partition."""
        ...

    def records(self, reader: SegmentReader, *, reads_commits: bool = True) -> Iterator[LogRecord | RecordColumns]:
        """Yield the records in order; ``reader`` counts batches and collects problems."""
        ...


@frozen
class Source:
    """All partitions of a source."""

    name: str
    partitions: tuple[PartitionSource, ...]
