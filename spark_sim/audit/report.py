"""The page of an audit: one file of HTML that needs no network, with the history of every group.

All data is compressed and encoded, so no name in it can end a script. The table of groups is one block; what a group
shows when it is opened is in blocks of some hundred groups, which the page decompresses on demand. Blocks are written
one after the other: memory while writing does not depend on the number of records.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import accumulate, chain, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from attrs import define, field

from streams_assignor.formats.page import gzip_block, json_block, page_parts
from streams_assignor.groups.history.tables import GENERATIONS, MEMBERS, TASKS, Row
from streams_assignor.spark_sim.audit._report_data import MOST_INTERVALS, Columns, GroupData, group_data
from streams_assignor.spark_sim.audit.conformance import conformance_summary
from streams_assignor.spark_sim.audit.group_summaries import GroupSummaries

if TYPE_CHECKING:
    import pyarrow as pa

TITLE: Final = "Audit of consumer groups"
_PAGES: Final = Path(__file__).parent / "pages"
_BLOCK_BYTES: Final = 1_000_000
"""The size of a block of JSON, which ends with the group that exceeds it."""
_BLOCK_GROUPS: Final = 400
_MOST_PROBLEMS: Final = 20
_MOST_FINDINGS: Final = 100
"""Findings of one group: those of commits are as many as partitions."""
_NO_BLOCK: Final = (-1, -1)
_PIECE: Final = 4096
"""Values of a column that are Python's at a time."""
_MOST_BOUNCES: Final = 5_000


class AuditSummary(Protocol):
    """The facts that the page needs of an audit, beside its tables."""

    @property
    def source(self) -> str:
        """Where the records are from."""

    @property
    def records(self) -> Mapping[str, int]:
        """Records by kind."""

    @property
    def groups(self) -> GroupSummaries:
        """The summary of each group, those that need attention first."""

    @property
    def problems(self) -> Sequence[str]:
        """Damaged places of the source."""

    @property
    def is_complete(self) -> bool:
        """Whether all of the source was read."""

    @property
    def unverified(self) -> str:
        """Why checksums were not verified; empty: they were."""

    @property
    def first_time(self) -> int | None:
        """The first timestamp of the records."""

    @property
    def last_time(self) -> int | None:
        """The last timestamp of the records."""


def write_report(audit: AuditSummary, out: Path, bounces: Sequence[Row] | None = None) -> None:
    """Write ``report.html`` from the summary and the tables in ``out``.

    Args:
        audit: The summary.
        out: The folder.
        bounces: Rows of the table ``conformance``; None if rolling bounces were not compared.
    """
    parts = page_parts(
        TITLE,
        (_PAGES / "audit.mjs").read_text("utf-8"),
        _parts(audit, out, bounces),
        heading="Consumer groups and their rebalances",
        lead=f"{len(audit.groups):,} groups with {audit.groups.total('generations'):,} rebalances, from the records of "
        f"__consumer_offsets in {audit.source}, {_extent(audit)}. All times are UTC.",
        origin="Made by streams-assignor audit. The tables generations, members, tasks, commits and findings beside "
        "this file have every row. Records do not say why a group rebalanced: causes are inferred, and each has its "
        "confidence.",
        style=(_PAGES / "audit.css").read_text("utf-8"),
    )
    with (out / "report.html").open("w", encoding="utf-8") as file:
        file.writelines(parts)


def _parts(audit: AuditSummary, out: Path, bounces: Sequence[Row] | None) -> Iterator[str]:
    """Yield the data; the table of groups is the last, as it says in which block each group is."""
    blocks = _Blocks({group["group"]: group["findings"] for group in audit.groups.needing_attention})
    yield json_block("summary", _summary(audit, sum(map(_has_problem, blocks.findings.values()))))
    yield from blocks.encoded(group_data(out))
    table = table_texts(audit, blocks.places(audit.groups.names), bounce_data(bounces))
    yield gzip_block('id="table"', table)


def _extent(audit: AuditSummary) -> str:
    if audit.first_time is None or audit.last_time is None:
        return "without records"
    return " to ".join(
        datetime.fromtimestamp(time / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
        for time in (audit.first_time, audit.last_time)
    )


def _summary(audit: AuditSummary, troubled: int) -> dict[str, Any]:
    """Return what the page says of the audit as a whole."""
    groups = len(audit.groups)
    if troubled:
        text = f"✗ {troubled:,} of {groups:,} groups {'has' if troubled == 1 else 'have'} a problem."
    elif audit.is_complete:
        text = "✓ No group has a problem."
    else:
        text = "No group has a problem in what could be read."
    if not audit.is_complete:
        text += " ✗ A part of the source is damaged or missing; the end of this page says what."
    more = len(audit.problems) - _MOST_PROBLEMS
    return {
        "judgement": {"verdict": "unsafe" if troubled or not audit.is_complete else "safe", "text": text},
        "notes": [f"Checksums: not verified; {audit.unverified}."] if audit.unverified else [],
        "records": dict(audit.records),
        "problems": [*audit.problems[:_MOST_PROBLEMS], *([f"{more} more are in audit.json"] if more > 0 else [])],
    }


def _json(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"))


@define
class _Blocks:
    """The blocks of groups; ``places`` is complete when all have been taken."""

    findings: Mapping[str, Sequence[Mapping[str, Any]]]
    """The findings of each group that has some."""
    _names: list[pa.Array] = field(factory=list)
    """The names of the groups in each block: a column, as there may be millions."""

    def encoded(self, groups: Iterable[GroupData]) -> Iterator[str]:
        """Yield the blocks."""
        import pyarrow as pa

        waiting: list[tuple[GroupData, str]] = []
        size = 0
        for group, text in chain(self._texts(groups), [(None, "")]):
            if waiting and (group is None or size >= _BLOCK_BYTES or len(waiting) == _BLOCK_GROUPS):
                self._names.append(pa.array([shown.group for shown, _ in waiting], pa.string()))
                yield gzip_block('class="block"', ["[", ",".join(text for _, text in waiting), "]"])
                yield gzip_block('class="times"', [_json(times_json([shown for shown, _ in waiting]))])
                waiting, size = [], 0
            if group is not None:
                waiting.append((group, text))
                size += len(text)

    def places(self, groups: pa.ChunkedArray) -> Iterator[tuple[int, int]]:
        """Yield the block of each group, and its place in it."""
        import pyarrow as pa
        import pyarrow.compute as pc

        begins = list(accumulate(map(len, self._names), initial=0))
        positions = pc.index_in(groups, value_set=pa.chunked_array(self._names, pa.string()).combine_chunks())
        self._names = []
        for place in chain.from_iterable(chunk.to_pylist() for chunk in _pieces(positions)):
            block = 0 if place is None else bisect_right(begins, place) - 1
            yield _NO_BLOCK if place is None else (block, place - begins[block])

    def _texts(self, groups: Iterable[GroupData]) -> Iterator[tuple[GroupData, str]]:
        left = dict(self.findings)
        for group in groups:
            yield group, self._text(group)
            left.pop(group.group, None)
        # A group without a rebalance in the tables may still have findings.
        for name in left:
            group = GroupData(name, {}, {})
            yield group, self._text(group)

    def _text(self, group: GroupData) -> str:
        return _json(group_json(group, self.findings.get(group.group, [])))


def _pieces(column: pa.ChunkedArray) -> Iterator[pa.ChunkedArray]:
    for begin in range(0, len(column), _PIECE):
        yield column.slice(begin, _PIECE)


def group_json(group: GroupData, findings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what the page shows of an opened group.

    Times of generations are differences, other times are relative to ``base``: they take fewer bytes.
    """
    tables = {name: dict(columns) for name, columns in group.tables.items()}
    base = min(
        (min(of[name]) for of in tables.values() for name in ("time", "first_time", "from_time") if name in of),
        default=0,
    )
    for columns in tables.values():
        columns.pop("offset", None)
        for name in ("first_time", "last_time", "from_time", "until_time"):
            if name in columns:
                columns[name] = [None if value is None else value - base for value in columns[name]]
        if "versions" in columns:
            columns["versions"] = [_sent_versions(versions, base) for versions in columns["versions"]]
        if "time" in columns:
            columns["time"] = differences([base, *columns["time"]])
        for name in ("protocol", "leader", "cause", "confidence", "state"):
            if name in columns:
                columns[name] = _interned(columns[name])
    return {
        "base": base,
        "generations": tables.get(GENERATIONS.name),
        "members": tables.get(MEMBERS.name),
        "intervals": tables.get(TASKS.name),
        "all": [group.all_rows.get(GENERATIONS.name, 0), group.all_rows.get(MEMBERS.name, 0)],
        "cut": len(group.tables.get(TASKS.name, {}).get("role", ())) >= MOST_INTERVALS,
        "findings": [
            [
                finding["code"],
                finding["severity"],
                finding["text"],
                finding["generation"],
                finding["from_time"],
                finding["until_time"],
            ]
            for finding in sorted(findings, key=_severity)[:_MOST_FINDINGS]
        ],
        "more_findings": max(0, len(findings) - _MOST_FINDINGS),
    }


def times_json(groups: Iterable[GroupData]) -> dict[str, Any]:
    """Return what the axis over all groups shows of them.

    For each, its first second, the seconds between rebalances, their causes, and those that leave no members.
    """
    causes: dict[str, int] = {}
    rows = []
    for group in groups:
        columns = group.tables.get(GENERATIONS.name, {})
        # Clocks of brokers differ, and the page looks for times in their order.
        seconds = [*accumulate((time // 1000 for time in columns.get("time", ())), max)]
        kinds = [causes.setdefault(cause, len(causes)) for cause in columns.get("cause", ())]
        empty = [place for place, members in enumerate(columns.get("members", ())) if not members]
        base = min(seconds, default=0)
        rows.append([base, differences([base, *seconds]), kinds, empty])
    return {"causes": [*causes], "groups": rows}


def _sent_versions(versions: Sequence[Mapping[str, int | None]], base: int) -> list[list[int | None]]:
    """Return triples of time, used and supported version; none if the version never changed: the last one is enough."""
    if len(versions) < 2:
        return []
    return [
        [(version["from_time"] or 0) - base, version["used_version"], version["supported_version"]]
        for version in versions
    ]


def differences(values: Sequence[int]) -> list[int]:
    """Return how much each value exceeds the one before.

    >>> differences([100, 100, 130])
    [0, 30]
    """
    return [after - before for before, after in pairwise(values)]


def _interned(values: Sequence[str]) -> list[Any]:
    """Return the distinct values and the place of each: ``[["a", "b"], [0, 1, 0]]``."""
    places = {value: place for place, value in enumerate(dict.fromkeys(values))}
    return [list(places), [places[value] for value in values]]


def _severity(finding: Mapping[str, Any]) -> int:
    return 0 if finding["severity"] == "problem" else 1


def _has_problem(findings: Iterable[Mapping[str, Any]]) -> bool:
    return any(finding["severity"] == "problem" for finding in findings)


def table_texts(
    audit: AuditSummary, places: Iterator[tuple[int, int]], bounces: Mapping[str, Any] | None
) -> Iterator[str]:
    """Yield the JSON of the table of groups, in the order in which they need attention.

    A column is a list of texts until it is written: as values, the columns would take some hundred bytes a group.
    """
    columns: dict[str, list[str]] = {}
    words: dict[str, dict[str, int]] = {"type": {}, "state": {}, "causes": {}}
    for groups in audit.groups.batches():
        for name, values in _columns_of(groups, places).items():
            if (numbers := words.get(name)) is not None:
                values = [numbers.setdefault(_json(value), len(numbers)) for value in values]
            columns.setdefault(name, []).append(_json(values)[1:-1])
    yield f'{{"from":{_json(audit.first_time)},"until":{_json(audit.last_time)},"groups":{{'
    for number, name in enumerate(_COLUMN_NAMES):
        yield f'{"," if number else ""}"{name}":'
        if name in words:
            yield f"[[{','.join(words[name])}],"
        yield "["
        for part, text in enumerate(columns.pop(name, ())):
            yield f",{text}" if part else text
        yield "]]" if name in words else "]"
    yield f'}},"bounces":{_json(bounces)}}}'


_COLUMN_NAMES: Final = (
    *("group", "type", "state", "rebalances", "members", "last_time", "causes", "codes", "problems", "text", "place"),
)


def _columns_of(groups: Sequence[Mapping[str, Any]], places: Iterator[tuple[int, int]]) -> Columns:
    """Return the columns of some groups."""
    first_findings = [min(group["findings"], key=_severity, default=None) for group in groups]
    values = (
        [group["group"] for group in groups],
        [group["type"] for group in groups],
        [group["last_state"] for group in groups],
        [group["generations"] for group in groups],
        [group["members"] for group in groups],
        [group["last_time"] for group in groups],
        [group["causes"] for group in groups],
        [Counter(finding["code"] for finding in group["findings"]) for group in groups],
        [sum(finding["severity"] == "problem" for finding in group["findings"]) for group in groups],
        [finding["text"] if finding else "" for finding in first_findings],
        list(islice(places, len(groups))),
    )
    return dict(zip(_COLUMN_NAMES, values, strict=True))


def bounce_data(rows: Sequence[Row] | None) -> dict[str, Any] | None:
    """Return the rolling bounces that the page shows: those that differ first, then those that cannot be compared."""
    if rows is None:
        return None
    shown = sorted(rows, key=lambda row: (row["conforms"] is not False, row["conforms"] is not None))[:_MOST_BOUNCES]
    return conformance_summary(rows) | {"rows": shown}
