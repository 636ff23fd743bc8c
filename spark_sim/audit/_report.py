"""The page of an audit: one file of HTML that needs no network, with the history of every group.

All data is compressed and encoded, so no name in it can end a script. The table of groups is one block; what a group
shows when it is opened is in blocks of some hundred groups, which the page decompresses on demand. Blocks are written
one after the other: memory while writing does not depend on the number of records.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Protocol

from attrs import define, field

from assignor.audit.tables import GENERATIONS, MEMBERS, TASKS, Row
from spark_sim.audit._report_data import MOST_INTERVALS, Columns, GroupData, group_data
from spark_sim.audit.conformance import conformance_summary
from spark_sim.report.pages import page_template

_BLOCK_BYTES: Final = 1_000_000
"""Of JSON; a block ends with the group that exceeds it."""
_BLOCK_GROUPS: Final = 400
_MOST_PROBLEMS: Final = 20
_MOST_FINDINGS: Final = 100
"""Findings of one group: those of commits are as many as partitions."""
_NO_BLOCK: Final = (-1, -1)
_MOST_BOUNCES: Final = 5_000


class AuditSummary(Protocol):
    """What the page needs of an audit, beside its tables."""

    @property
    def source(self) -> str:
        """Where the records are from."""

    @property
    def records(self) -> Mapping[str, int]:
        """Records by kind."""

    @property
    def groups(self) -> Sequence[Mapping[str, Any]]:
        """The summary of each group, those that need attention first."""

    @property
    def problems(self) -> Sequence[str]:
        """Damaged places of the source."""

    @property
    def is_complete(self) -> bool:
        """Whether all of the source was read."""

    @property
    def has_checksums(self) -> bool:
        """Whether checksums were verified."""

    @property
    def first_time(self) -> int | None:
        """Of the records."""

    @property
    def last_time(self) -> int | None:
        """Of the records."""


def write_report(audit: AuditSummary, out: Path, bounces: Sequence[Row] | None = None) -> None:
    """Write ``report.html`` from the summary and the tables in ``out``.

    Args:
        audit: The summary.
        out: The folder.
        bounces: Rows of the table ``conformance``; None if rolling bounces were not compared.
    """
    blocks = _Blocks({group["group"]: group["findings"] for group in audit.groups})
    parts = page_template("spark_sim.audit").generate(
        source=audit.source,
        groups=len(audit.groups),
        rebalances=sum(group["generations"] for group in audit.groups),
        troubled=sum(any(each["severity"] == "problem" for each in group["findings"]) for group in audit.groups),
        records=audit.records,
        is_complete=audit.is_complete,
        has_checksums=audit.has_checksums,
        problems=audit.problems[:_MOST_PROBLEMS],
        more_problems=max(0, len(audit.problems) - _MOST_PROBLEMS),
        blocks=blocks.encoded(group_data(out)),
        table=lambda: encode(table_data(audit, blocks.places) | {"bounces": bounce_data(bounces)}),
    )
    with (out / "report.html").open("w", encoding="utf-8") as file:
        file.writelines(parts)


def encode(data: Any) -> str:
    """Return data as gzipped JSON in base64, whose characters mean nothing to HTML."""
    return _encode_json(json.dumps(data, separators=(",", ":")))


def _encode_json(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=6, mtime=0)).decode()


@define
class _Blocks:
    """The blocks of groups; ``places`` is complete when all have been taken."""

    findings: Mapping[str, Sequence[Mapping[str, Any]]]
    places: dict[str, tuple[int, int]] = field(factory=dict)
    """The block of a group, and its place in it."""

    def encoded(self, groups: Iterable[GroupData]) -> Iterator[str]:
        """Yield the blocks."""
        waiting: list[str] = []
        number = size = 0
        for group, text in self._texts(groups):
            self.places[group] = (number, len(waiting))
            waiting.append(text)
            size += len(text)
            if size >= _BLOCK_BYTES or len(waiting) == _BLOCK_GROUPS:
                yield _encode_json(f"[{','.join(waiting)}]")
                waiting, number, size = [], number + 1, 0
        if waiting:
            yield _encode_json(f"[{','.join(waiting)}]")

    def _texts(self, groups: Iterable[GroupData]) -> Iterator[tuple[str, str]]:
        for group in groups:
            yield group.group, self._text(group)
        # A group without a rebalance in the tables may still have findings.
        for name, findings in self.findings.items():
            if findings and name not in self.places:
                yield name, self._text(GroupData(name, {}, {}))

    def _text(self, group: GroupData) -> str:
        return json.dumps(group_json(group, self.findings.get(group.group, [])), separators=(",", ":"))


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
                columns[name] = [None if each is None else each - base for each in columns[name]]
        if "versions" in columns:
            columns["versions"] = [_sent_versions(each, base) for each in columns["versions"]]
        if "time" in columns:
            columns["time"] = differences([base, *columns["time"]])
        for name in ("protocol", "leader", "cause", "confidence"):
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
            [each["code"], each["severity"], each["text"], each["generation"], each["from_time"], each["until_time"]]
            for each in sorted(findings, key=_severity)[:_MOST_FINDINGS]
        ],
        "more_findings": max(0, len(findings) - _MOST_FINDINGS),
    }


def _sent_versions(versions: Sequence[Mapping[str, int | None]], base: int) -> list[list[int | None]]:
    """Return triples of time, used and supported version; none if the version never changed: the last one is enough."""
    if len(versions) < 2:
        return []
    return [[(each["from_time"] or 0) - base, each["used_version"], each["supported_version"]] for each in versions]


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


def table_data(audit: AuditSummary, places: dict[str, tuple[int, int]]) -> dict[str, Any]:
    """Return the columns of the table of groups, in the order in which they need attention."""
    groups = audit.groups
    first_findings = [min(group["findings"], key=_severity, default=None) for group in groups]
    columns: Columns = {
        "group": [group["group"] for group in groups],
        "type": _interned([group["type"] for group in groups]),
        "state": _interned([group["last_state"] for group in groups]),
        "rebalances": [group["generations"] for group in groups],
        "members": [group["members"] for group in groups],
        "last_time": [group["last_time"] for group in groups],
        "causes": [group["causes"] for group in groups],
        "codes": [Counter(each["code"] for each in group["findings"]) for group in groups],
        "problems": [sum(each["severity"] == "problem" for each in group["findings"]) for group in groups],
        "text": [each["text"] if each else "" for each in first_findings],
        "place": [places.get(group["group"], _NO_BLOCK) for group in groups],
    }
    return {"from": audit.first_time, "until": audit.last_time, "groups": columns}


def bounce_data(rows: Sequence[Row] | None) -> dict[str, Any] | None:
    """Return the rolling bounces that the page shows: those that differ first, then those that cannot be compared."""
    if rows is None:
        return None
    shown = sorted(rows, key=lambda row: (row["conforms"] is not False, row["conforms"] is not None))[:_MOST_BOUNCES]
    return conformance_summary(rows) | {"rows": shown}
