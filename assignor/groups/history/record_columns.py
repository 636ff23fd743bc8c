"""Records of a segment as columns: most are offset commits, which are summed up without an object each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from attrs import frozen

from streams_assignor.groups.history.log_segment import LogRecord


class CommitRun(NamedTuple):
    """Commits of one partition of a topic by one group, in the order of their records, summed up."""

    first_record: int
    first_time: int
    last_time: int
    latest_time: int
    """The largest of their times."""
    first_offset: int
    """The offset of the first one."""
    known_offset: int
    """The offset of the first one that is not -1; -1 if there is none."""
    last_offset: int
    commits: int = 1
    longest_gap_ms: int = 0
    """The longest time between two of them."""
    moved_back: int = 0
    """Those with a lower offset than the one before them."""


class PlacedRun(NamedTuple):
    """A run with the places of its first record in the bytes. All its records have the same key and topic id."""

    key: int
    key_end: int
    value: int
    value_end: int
    topic_id: int
    """-1 if it has none."""
    run: CommitRun


@frozen
class Commits(ABC):
    """Consecutive offset commits as brokers write them, none of them a tombstone."""

    kinds: Mapping[str, int]
    """How many there are of each type of record."""

    @abstractmethod
    def runs(self) -> Sequence[PlacedRun] | None:
        """Return their runs by the order of the first commits; None if two runs would be of the same partition."""

    @abstractmethod
    def records(self) -> Iterator[LogRecord]:
        """Yield the records."""


@frozen
class RecordColumns(ABC):
    """Consecutive records that are neither compressed nor transactional."""

    data: bytes
    first_time: int
    """The first timestamp of all records that were read, those included that are not here."""
    last_time: int

    @abstractmethod
    def parts(self) -> Iterator[LogRecord | Commits]:
        """Yield all records in order, consecutive commits together."""

    @abstractmethod
    def split(self, bucket_of: Callable[[bytes], int]) -> Mapping[int, RecordColumns]:
        """Return the records of each bucket, which their keys say; they can be pickled, and have no other bytes."""

    def records(self) -> Iterator[LogRecord]:
        """Yield all records."""
        for part in self.parts():
            if isinstance(part, Commits):
                yield from part.records()
            else:
                yield part
