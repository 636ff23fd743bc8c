"""The audit of one part of a source: records in, Parquet files and a summary out. What a process does."""

from __future__ import annotations

import gc
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from difflib import get_close_matches
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from attrs import define, field, frozen

from assignor.groups.history.group_history import GroupSummary
from assignor.groups.history.history import PartitionHistory
from assignor.groups.history.log_segment import MAX_BATCH_BYTES, LogRecord, SegmentReader
from assignor.groups.history.record_columns import RecordColumns
from assignor.groups.history.tables import COMMITS, FINDINGS, GENERATIONS, MEMBERS, TASKS, Row
from spark_sim.audit._groups import SummaryBuilder
from spark_sim.audit._schema import TABLES
from spark_sim.audit.sources import PartitionSource
from spark_sim.conformance.bounces import Bounce, BounceFinders, RecordFile
from spark_sim.sweep.tables.parquet import parquet_writer

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

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
_VALUES: Final = {name: itemgetter(*[column.name for column in table.columns]) for name, table in TABLES.items()}
"""Returns the values of a row in the order of the columns, by table."""


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
    """What the summary of an audit needs of one part of a source."""

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
class AuditTask:
    """What a worker does with one part of a source; it can be pickled."""

    kept: AuditFilter
    draft: Path | None
    """Where the files go; None if the worker has not the folders of the command, which writes them then."""

    def __call__(self, source: PartitionSource, on_read: OnRead = _ignore) -> tuple[PartitionSummary, dict[str, bytes]]:
        """Return the summary of one part of a source, and the files that are not in the draft, by path."""
        if self.draft is not None:
            return audit_partition(source, self.kept, self.draft, on_read), {}
        with TemporaryDirectory(prefix="streams-assignor-") as name:
            folder = Path(name)
            summary = audit_partition(source, self.kept, folder, on_read)
            summary.bounces = [bounce.loaded() for bounce in summary.bounces]
            files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.glob("*/*")}
        return summary, files


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
        finders = BounceFinders(kept.keeps_group, RecordFile(out / f"bounces-{source.name}"))
    on_metadata = finders.on_group_metadata if finders else None
    groups, others = SummaryBuilder(), list[str]()

    def on_complete(group: GroupSummary) -> None:
        if kept.keeps_group(group.group):
            groups.complete(group)
        elif len(others) < _MOST_COMPARED:
            others.append(group.group)

    histories = defaultdict[int, PartitionHistory](
        lambda: PartitionHistory(kept.reads_commits, on_metadata, on_complete)
    )
    with ExitStack() as stack:
        writers = _Writers(out, f"{source.name}.parquet", stack)
        keeps_all = kept.keeps_all
        for table, row in rows_of(source.records(reader, reads_commits=kept.reads_commits), histories, on_read):
            if keeps_all or kept.keeps(table, row):
                writers.add(table, row)
                if table in _SUMMED_UP:
                    groups.add_row(table, row)
        writers.flush_all()
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
    """One Parquet file for each table, opened with its first rows.

    Rows wait as their values: a dict for each would take three times the memory.
    """

    out: Path
    file: str
    stack: ExitStack
    rows: Counter[str] = field(factory=Counter)
    _waiting: defaultdict[str, list[tuple[Any, ...]]] = field(factory=lambda: defaultdict(list))
    _open: dict[str, pq.ParquetWriter] = field(factory=dict)

    def add(self, table: str, row: Row) -> None:
        """Take a row."""
        waiting = self._waiting[table]
        waiting.append(_VALUES[table](row))
        if len(waiting) >= ROWS_PER_WRITE:
            self._flush(table)

    def flush_all(self) -> None:
        """Write what waits."""
        for table in TABLES:
            if self._waiting.get(table):
                self._flush(table)

    def _flush(self, table: str) -> None:
        import pyarrow as pa

        schema, rows = TABLES[table].arrow(), self._waiting.pop(table)
        self.rows[table] += len(rows)
        if table not in self._open:
            path = self.out / table / self.file
            path.parent.mkdir(exist_ok=True)
            self._open[table] = self.stack.enter_context(parquet_writer(path, TABLES[table]))
        columns = [
            pa.array(values, column.type) for column, values in zip(schema, zip(*rows, strict=True), strict=True)
        ]
        self._open[table].write_table(pa.Table.from_arrays(columns, schema=schema))
