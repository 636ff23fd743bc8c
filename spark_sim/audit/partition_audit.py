"""The audit of one part of a source: records in, Parquet files and a summary out. The work of a process."""

from __future__ import annotations

import gc
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from difflib import get_close_matches
from io import BytesIO
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from attrs import define, field, fields, frozen

from streams_assignor.groups.history.group_history import GroupSummary
from streams_assignor.groups.history.history import PartitionHistory
from streams_assignor.groups.history.log_segment import MAX_BATCH_BYTES, LogRecord, SegmentReader
from streams_assignor.groups.history.record_columns import RecordColumns
from streams_assignor.groups.history.tables import (
    ASSUMED_SESSION_MS,
    COMMITS,
    FINDINGS,
    GENERATIONS,
    MEMBERS,
    TASKS,
    Row,
)
from streams_assignor.spark_sim.audit.finished_units import RESULT
from streams_assignor.spark_sim.audit.group_summaries import SummaryBuilder
from streams_assignor.spark_sim.audit.schema import TABLES
from streams_assignor.spark_sim.audit.sources import PartitionSource
from streams_assignor.spark_sim.conformance.bounces import Bounce, BounceFinders, RecordFile
from streams_assignor.spark_sim.sweep.tables.parquet import TableWriter

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_PER_WRITE: Final = 20_000
"""Rows that are in memory at most, by table."""
_OBJECTS_PER_COLLECTION: Final = 1_000_000
_MOST_COMPARED: Final = 10_000  # names of groups in a partition
_MOST_NAMED: Final = 3
_SUMMED_UP: Final = (GENERATIONS.name, FINDINGS.name)
_INTERVALS: Final[Mapping[str, tuple[str, str]]] = {
    GENERATIONS.name: ("time", "until"),
    MEMBERS.name: ("first_time", "last_time"),
    TASKS.name: ("from_time", "until_time"),
    COMMITS.name: ("first_time", "last_time"),
    FINDINGS.name: ("from_time", "until_time"),
}
BOUNCES: Final = "bounces"
"""The file of a unit with the generations of its rolling bounces."""
GROUPS: Final = "groups.parquet"
"""The file of a unit with the summaries of its groups."""


def _matches(group: str, pattern: str) -> bool:
    """Whether a name is meant: ``*`` is any text, and every other character is itself, as names of groups have any.

    >>> _matches("billing[1]", "billing[*"), _matches("billing1", "billing[1]")
    (True, False)
    """
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), group, re.DOTALL) is not None


@frozen(kw_only=True)
class AuditFilter:
    """Which rows an audit keeps. All records are read: the state before ``since`` matters."""

    groups: tuple[str, ...] = ()
    """Names or patterns such as ``billing-*``; empty: all."""
    since: int | None = None
    """Milliseconds since 1970, like ``until``; rows that overlap the interval are kept."""
    until: int | None = None
    reads_commits: bool = True
    max_batch_bytes: int = MAX_BATCH_BYTES
    """A batch that has more bytes uncompressed is skipped and counted."""
    assumed_session_ms: int = ASSUMED_SESSION_MS
    """The session timeout of groups that are not classic: no record has it."""
    finds_bounces: bool = False
    """Whether rolling bounces are collected, for ``conformance``."""

    @property
    def keeps_all(self) -> bool:
        """Whether every row is asked for."""
        return not self.groups and self.since is None and self.until is None

    def keeps_group(self, group: str) -> bool:
        """Whether a group is asked for."""
        return not self.groups or any(_matches(group, pattern) for pattern in self.groups)

    def unmatched(self, names: Collection[str]) -> list[str]:
        """Return the patterns that match none of the names."""
        return [pattern for pattern in self.groups if not any(_matches(name, pattern) for name in names)]

    def nearest(self, names: Iterable[str]) -> list[str]:
        """Return the names of other groups that may have been meant; without such names, a few of them."""
        if not self.groups:
            return []
        others = [name for name in islice(names, _MOST_COMPARED) if not self.keeps_group(name)]
        close = [
            name for pattern in self.groups for name in get_close_matches(pattern.replace("*", ""), others, _MOST_NAMED)
        ]
        return list(dict.fromkeys(close)) or sorted(others)[:_MOST_NAMED]

    def keeps(self, table: str, row: Row) -> bool:
        """Whether a row is asked for."""
        begin, end = _INTERVALS[table]
        return self._overlaps(row[begin], row[end]) and self.keeps_group(row["group"])

    def keeps_bounce(self, bounce: Bounce) -> bool:
        """Whether a rolling bounce is asked for."""
        return self._overlaps(bounce.from_time, bounce.until_time)

    def _overlaps(self, begin: int, end: int | None) -> bool:
        is_over = self.since is not None and end is not None and end < self.since
        return not is_over and (self.until is None or begin <= self.until)


def _ignore(_: object) -> None:
    pass


OnRead = Callable[[Mapping[int, PartitionHistory]], None]


@define
class PartitionSummary:
    """The facts for the summary of an audit from one part of a source."""

    counts: Counter[str] = field(factory=Counter)
    groups: pa.Table | None = None
    """The summaries of its groups; None if none was read."""
    others: list[str] = field(factory=list)
    """Groups that are not asked for, with the names that are nearest to those that are."""
    problems: list[str] = field(factory=list)
    bounces: list[Bounce] = field(factory=list)
    rows: Counter[str] = field(factory=Counter)
    has_records: bool = False
    first_time: int | None = None
    last_time: int = 0
    gone_count: int = 0
    """How often a group went of which nothing is left."""
    came_back: bool = False
    """Whether one of them came back."""
    is_separate: bool = True
    """Whether no record is of interest for other groups than its own."""

    def add(self, number: int, history: PartitionHistory) -> None:
        """Add what a partition has beside its groups."""
        self.has_records = True
        self.counts += history.counts
        self.problems += [f"partition {number}: {problem}" for problem in history.problems]
        if history.first_time is not None and history.first_time >= 0:  # records of format 0 have no timestamps
            self.first_time = min(history.first_time, self.first_time or history.first_time)
        self.last_time = max(self.last_time, history.last_time)
        self.gone_count += history.gone_count
        self.came_back = self.came_back or history.came_back
        self.is_separate = self.is_separate and not history.problems


_VALUES: Final = [member.name for member in fields(PartitionSummary) if member.name not in {"groups", "bounces"}]
"""The fields of a summary that JSON has."""


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Collect garbage rarely: a collection visits the objects of all open groups, and none of them is in a cycle."""
    before = gc.get_threshold()
    gc.set_threshold(_OBJECTS_PER_COLLECTION, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)


@frozen
class AuditUnit:
    """The work of a worker on one part of a source; it can be pickled."""

    kept: AuditFilter

    def __call__(self, source: PartitionSource, folder: Path) -> None:
        """Make the files of one part of a source."""
        write_summary(audit_partition(source, self.kept, folder), folder)


def write_summary(summary: PartitionSummary, folder: Path) -> None:
    """Write a summary as files of its unit; the generations of its bounces are in the folder already."""
    import pyarrow.parquet as pq

    if summary.groups is not None:
        pq.write_table(summary.groups, folder / GROUPS, write_page_checksum=True)
    values = {name: getattr(summary, name) for name in _VALUES}
    bounces = [bounce.as_json() for bounce in summary.bounces]
    (folder / RESULT).write_text(json.dumps(values | {"bounces": bounces}), encoding="ascii")


def read_summary(values: Mapping[str, Any], groups: bytes, bounces: Path) -> PartitionSummary:
    """Return the summary of a unit.

    Args:
        values: Its result.
        groups: Its file of groups; empty if it has none.
        bounces: The file with the generations of its bounces.
    """
    import pyarrow.parquet as pq

    summary = PartitionSummary(**{name: values[name] for name in _VALUES})
    summary.counts, summary.rows = Counter(summary.counts), Counter(summary.rows)
    summary.groups = pq.read_table(BytesIO(groups), page_checksum_verification=True) if groups else None
    summary.bounces = [Bounce.of_json(bounce, bounces) for bounce in values["bounces"]]
    return summary


@_rare_collections()
def audit_partition(
    source: PartitionSource, kept: AuditFilter, out: Path, on_read: OnRead = _ignore
) -> PartitionSummary:
    """Write the rows of one part of a source below ``out``, and return its summary.

    Args:
        source: The part.
        kept: Which rows are kept.
        out: The folder.
        on_read: Called with the histories when all records have been read, and before what is open is closed.
    """
    reader, summary, finders = SegmentReader(max_batch_bytes=kept.max_batch_bytes), PartitionSummary(), None
    if kept.finds_bounces:
        finders = BounceFinders(kept.keeps_group, RecordFile(out / BOUNCES))
    on_metadata = finders.on_group_metadata if finders else None
    groups, others = SummaryBuilder(), list[str]()

    def on_complete(group: GroupSummary) -> None:
        if kept.keeps_group(group.group):
            groups.complete(group)
        elif len(others) < _MOST_COMPARED:
            others.append(group.group)

    histories = defaultdict[int, PartitionHistory](
        lambda: PartitionHistory(kept.reads_commits, on_metadata, on_complete, kept.assumed_session_ms)
    )
    with ExitStack() as stack:
        writers = _Writers(out, f"{source.name}.parquet", stack)
        keeps_all = kept.keeps_all
        for table, row in rows_of(source.records(reader, reads_commits=kept.reads_commits), histories, on_read):
            if keeps_all or kept.keeps(table, row):
                writers.add(table, row)
                if table in _SUMMED_UP:
                    groups.add_row(table, row)
    summary.rows = writers.rows
    summary.bounces = [bounce for bounce in finders.close() if kept.keeps_bounce(bounce)] if finders else []
    summary.counts, summary.problems = Counter(reader.counts), list(reader.problems)
    for number, history in histories.items():
        summary.add(number, history)
    summary.groups = groups.table()
    summary.others = kept.nearest(others)
    return summary


def rows_of(
    records: Iterator[tuple[int, LogRecord | RecordColumns]],
    histories: defaultdict[int, PartitionHistory],
    on_read: OnRead = _ignore,
) -> Iterator[tuple[str, Row]]:
    """Yield the rows of records with the numbers of their partitions, whose histories are in ``histories``."""
    for number, pairs in groupby(records, itemgetter(0)):
        yield from histories[number].read(map(itemgetter(1), pairs))
    on_read(histories)
    for history in histories.values():
        yield from history.close()


@define
class _Writers:
    """One file for each table, opened with its first row."""

    out: Path
    file: str
    stack: ExitStack
    _open: dict[str, TableWriter] = field(factory=dict)

    def add(self, table: str, row: Row) -> None:
        """Take a row."""
        writer = self._open.get(table)
        if writer is None:
            path = self.out / table / self.file
            path.parent.mkdir(exist_ok=True)
            writer = self.stack.enter_context(TableWriter(path, TABLES[table], ROWS_PER_WRITE))
            self._open[table] = writer
        writer.add(row)

    @property
    def rows(self) -> Counter[str]:
        """The rows that were written, by table."""
        return Counter({name: writer.count for name, writer in self._open.items()})
