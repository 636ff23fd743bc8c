"""The summaries of all groups in columns: a group that has no finding takes about a hundred bytes, as a dict 2 KB.

A cluster of jobs or consoles makes one group a run, so there may be millions, nearly all of them deleted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, reduce
from itertools import groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, overload

from attrs import define, field

from streams_assignor.groups.history.group_history import GroupSummary
from streams_assignor.groups.history.tables import FINDINGS, GENERATIONS, Row

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS: Final = 4096
"""Summaries that are dicts at a time."""
_ORDER: Final = (
    ("problems", "descending"),
    ("notices", "descending"),
    ("generations", "descending"),
    ("group", "ascending"),
)
"""The order of the groups: those that need attention come first."""
_NOT_SHOWN: Final = ("problems", "notices", "is_trace")


@cache
def _schema() -> pa.Schema:
    import pyarrow as pa

    word = pa.dictionary(pa.int32(), pa.string())
    return pa.schema(
        [
            ("group", pa.string()),
            ("type", word),
            ("generations", pa.int64()),
            ("members", pa.int64()),
            ("last_state", word),
            ("last_time", pa.int64()),
            ("causes", word),  # as JSON, like the findings
            ("findings", word),
            ("problems", pa.int64()),
            ("notices", pa.int64()),
            ("is_trace", pa.bool_()),
        ]
    )


def group_table(groups: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return summaries as a table; a summary is what ``audit.json`` has of a group.

    ``is_trace`` may be a further value of each: whether only tombstones of the group were seen.
    """
    import pyarrow as pa

    rows = [
        {
            "is_trace": False,
            **group,
            "causes": json.dumps(group["causes"]),
            "findings": json.dumps(group["findings"]),
            "problems": _count(group, "problem"),
            "notices": _count(group, "notice"),
        }
        for group in groups
    ]
    return pa.Table.from_pylist(rows, schema=_schema())


def _count(group: Mapping[str, Any], severity: str) -> int:
    return sum(finding["severity"] == severity for finding in group["findings"])


class GroupSummaries(Sequence[dict[str, Any]]):
    """The summaries of groups as dicts, made when they are asked for; those that need attention first."""

    def __init__(self, tables: Iterable[pa.Table]) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        table = pa.concat_tables([_schema().empty_table(), *tables])
        table = table.take(pc.sort_indices(table, sort_keys=list(_ORDER)))
        self._table: Final = table.unify_dictionaries().combine_chunks()

    @property
    def names(self) -> pa.ChunkedArray:
        """The names of the groups."""
        return self._table.column("group")

    def __len__(self) -> int:
        return int(self._table.num_rows)

    @overload
    def __getitem__(self, place: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, place: slice) -> list[dict[str, Any]]: ...

    def __getitem__(self, place: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        """Return one summary, or some."""
        import pyarrow as pa

        chosen = range(len(self))[place]
        places = [chosen] if isinstance(chosen, int) else list(chosen)
        rows = list(_dicts(self._table.take(pa.array(places, pa.int64()))))
        return rows[0] if isinstance(chosen, int) else rows

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return _dicts(self._table)

    def batches(self) -> Iterator[list[dict[str, Any]]]:
        """Yield all summaries, some thousand at a time."""
        for place in range(0, len(self), _ROWS):
            yield list(_dicts(self._table.slice(place, _ROWS)))

    @property
    def needing_attention(self) -> Iterator[dict[str, Any]]:
        """The summaries with a finding."""
        import pyarrow.compute as pc

        column = self._table.column
        is_clean = pc.and_(pc.equal(column("problems"), 0), pc.equal(column("notices"), 0))
        return _dicts(self._table.filter(pc.invert(is_clean)))

    def total(self, column: str) -> int:
        """Return the sum of a column."""
        import pyarrow.compute as pc

        return int(pc.sum(self._table.column(column)).as_py() or 0)


def _dicts(table: pa.Table, *others: str) -> Iterator[dict[str, Any]]:
    """Yield rows as ``audit.json`` has them, and other columns."""
    shown = [*(name for name in table.column_names if name not in _NOT_SHOWN), *others]
    for place in range(0, table.num_rows, _ROWS):
        for row in table.slice(place, _ROWS).select(shown).to_pylist():
            yield {**row, "causes": json.loads(row["causes"]), "findings": json.loads(row["findings"])}


@define
class KeptRows:
    """The facts for the summary of a group, from the kept rows."""

    causes: Counter[str] = field(factory=Counter)
    """Generations by cause."""
    findings: list[Row] = field(factory=list)

    def add(self, table: str, row: Row) -> None:
        """Take a row."""
        if table == GENERATIONS.name:
            self.causes[row["cause"]] += 1
        elif table == FINDINGS.name:
            self.findings.append({name: value for name, value in row.items() if name != "group"})

    def summary(self, group: GroupSummary) -> dict[str, Any]:
        """Return the summary of a group of which all rows were taken: that of ``audit.json``, and ``is_trace``."""
        return {
            "group": group.group,
            "type": group.type,
            "generations": self.causes.total(),
            "members": group.members,
            "last_state": group.state,
            "last_time": group.last_time,
            "causes": dict(self.causes.most_common()),
            "findings": self.findings,
            "is_trace": group.is_trace,
        }


@define
class SummaryBuilder:
    """Makes the summaries of the groups of a partition, as their rows and then their histories are complete."""

    _rows: dict[str, KeptRows] = field(factory=dict)
    """The rows of groups whose history is not complete yet."""
    _waiting: list[dict[str, Any]] = field(factory=list)
    _tables: list[Any] = field(factory=list)

    def add_row(self, table: str, row: Row) -> None:
        """Take a row of a group."""
        self._rows.setdefault(row["group"], KeptRows()).add(table, row)

    def complete(self, group: GroupSummary) -> None:
        """Take a group of which all rows were taken."""
        self._waiting.append(self._rows.pop(group.group, KeptRows()).summary(group))
        if len(self._waiting) >= _ROWS:
            self._flush()

    def _flush(self) -> None:
        lives, self._waiting = self._waiting, []
        self._tables.append(group_table(lives))

    def table(self) -> pa.Table:
        """Return the summaries, one for each group."""
        import pyarrow as pa

        self._flush()
        return _one_each(pa.concat_tables(self._tables))


def _one_each(lives: pa.Table) -> pa.Table:
    """Return one summary for each group: some have had several lives."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = lives.column("group")
    if pc.count_distinct(names).as_py() == len(names):
        return lives
    counts = names.value_counts()
    repeated = pc.is_in(names, value_set=counts.filter(pc.greater(counts.field("counts"), 1)).field("values"))
    in_order = lives.filter(repeated).sort_by("group")  # the sort is stable
    one_per_group = (
        reduce(joined_lives, lives_of_group)
        for _, lives_of_group in groupby(_dicts(in_order, "is_trace"), itemgetter("group"))
    )
    joined = iter(lambda: list(islice(one_per_group, _ROWS)), [])
    return pa.concat_tables([lives.filter(pc.invert(repeated)), *map(group_table, joined)])


def joined_lives(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return the summary of two lives: the sums, and the state of the later one, unless only tombstones are left."""
    causes = Counter(before["causes"]) + Counter(after["causes"])
    return {
        **(before if after["is_trace"] else after),
        "last_time": max(before["last_time"], after["last_time"]),
        "generations": before["generations"] + after["generations"],
        "causes": dict(causes.most_common()),
        "findings": before["findings"] + after["findings"],
    }
