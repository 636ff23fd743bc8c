"""An audit without tables: summaries and the last rebalances of each group, in memory and without PyArrow.

The page of ``streams-assignor web`` has it. The summaries are those of ``audit.json``.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from functools import partial, reduce
from typing import Any, Final, TypeVar

from attrs import define, field

from streams_assignor.groups.history.group_history import GroupSummary
from streams_assignor.groups.history.history import PartitionHistory
from streams_assignor.groups.history.log_segment import SegmentReader
from streams_assignor.groups.history.tables import AUDIT_TABLES, FINDINGS, GENERATIONS, Row
from streams_assignor.spark_sim.audit.group_summaries import KeptRows, joined_lives
from streams_assignor.spark_sim.audit.job import NOT_VERIFIED, SCHEMA, is_complete
from streams_assignor.spark_sim.audit.partition_audit import rows_of
from streams_assignor.spark_sim.audit.sources import Source, SourceError

T = TypeVar("T")

MOST_REBALANCES: Final = 200
"""Of a group; the last ones."""
MOST_ROWS: Final = 50_000
"""Rebalances of all groups; those of later groups are left out."""
MOST_GROUPS: Final = 5_000
"""Groups in the result, those that need attention first."""
_RECORDS_PER_REPORT: Final = 5_000
_MOST_TEXT: Final = 300
_COLUMNS: Final = (
    *("generation", "time", "duration_ms", "members", "cause", "confidence", "detail"),
    *("tasks", "tasks_moved", "used_versions", "supported_versions", "probing", "state"),
)


@define
class _Groups:
    """The summaries of all groups."""

    summaries: defaultdict[str, list[dict[str, Any]]] = field(factory=lambda: defaultdict(list))
    """The lives of each group."""
    rebalances: dict[str, deque[Row]] = field(factory=dict)
    rows: Counter[str] = field(factory=Counter)
    left_out: int = 0
    _open: dict[str, KeptRows] = field(factory=dict)

    def add(self, table: str, row: Row) -> None:
        """Take a row of a table."""
        self.rows[table] += 1
        if table in (GENERATIONS.name, FINDINGS.name):
            self._open.setdefault(row["group"], KeptRows()).add(table, row)
        if table == GENERATIONS.name:
            self._keep(row)

    def _keep(self, row: Row) -> None:
        rebalances = self.rebalances.get(row["group"])
        if rebalances is None:
            if len(self.rebalances) * MOST_REBALANCES >= MOST_ROWS and self._count() >= MOST_ROWS:
                self.left_out += 1
                return
            rebalances = self.rebalances[row["group"]] = deque(maxlen=MOST_REBALANCES)
        rebalances.append({name: row[name] for name in _COLUMNS} | {"detail": row["detail"][:_MOST_TEXT]})

    def _count(self) -> int:
        return sum(map(len, self.rebalances.values()))

    def complete(self, group: GroupSummary) -> None:
        """Take a group of which all rows were taken."""
        self.summaries[group.group].append(self._open.pop(group.group, KeptRows()).summary(group))

    def in_order(self) -> list[dict[str, Any]]:
        """Return one summary for each group, those that need attention first."""
        groups = [reduce(joined_lives, lives) for lives in self.summaries.values()]
        for group in groups:
            group.pop("is_trace")
        return sorted(groups, key=_attention)


def _attention(group: dict[str, Any]) -> tuple[Any, ...]:
    severities = Counter(finding["severity"] for finding in group["findings"])
    return -severities["problem"], -severities["notice"], -group["generations"], group["group"]


def audit_in_memory(source: Source, on_progress: Callable[[int, int], None] = lambda _done, _all: None) -> Row:
    """Audit a source, one partition after the other.

    Args:
        source: The records.
        on_progress: Called from time to time with the bytes that were read, and all; 0 if a dump does not say.

    Raises:
        SourceError: The source cannot be read, or has no record.
    """
    groups, counts, problems = _Groups(), Counter[str](), list[str]()
    times: list[tuple[int | None, int]] = []
    done, total = 0, sum(partition.size for partition in source.partitions)
    for partition in source.partitions:
        reader = SegmentReader()
        histories = defaultdict[int, PartitionHistory](lambda: PartitionHistory(on_complete=groups.complete))
        report = partial(_report, on_progress, done, total, reader)
        for table, row in rows_of(_reported(partition.records(reader), report), histories):
            groups.add(table, row)
        done += partition.size
        counts += reader.counts
        problems += reader.problems
        for number, history in histories.items():
            counts += history.counts
            problems += [f"partition {number}: {problem}" for problem in history.problems]
            times.append((history.first_time, history.last_time))
    on_progress(total, total)
    if not times:
        raise SourceError("; ".join([f"expected records at {source.name}, got none", *problems[:1]]))
    summaries = groups.in_order()
    return {
        **SCHEMA,
        "source": source.name,
        "complete": is_complete(counts),
        "checksums": NOT_VERIFIED if source.unverified else "verified",
        "from_time": min((first for first, _ in times if first is not None and first >= 0), default=None),
        "until_time": max((last for _, last in times if last > 0), default=None),
        "records": dict(sorted(counts.items())),
        "rows": {name: groups.rows[name] for name in AUDIT_TABLES},
        "problems": problems,
        "groups": summaries[:MOST_GROUPS],
        "further_groups": max(0, len(summaries) - MOST_GROUPS),
        "rebalances": {
            summary["group"]: list(groups.rebalances[summary["group"]])
            for summary in summaries[:MOST_GROUPS]
            if summary["group"] in groups.rebalances
        },
        "further_rebalances": groups.left_out,
    }


def _report(on_progress: Callable[[int, int], None], done: int, total: int, reader: SegmentReader) -> None:
    on_progress(done + reader.counts["bytes"], total)


def _reported(records: Iterator[T], report: Callable[[], None]) -> Iterator[T]:
    for place, record in enumerate(records):
        if place % _RECORDS_PER_REPORT == 0:
            report()
        yield record
