"""The data of the page of an audit for each group: columns of its tables, read in batches of bounded size.

A pass over the tables counts the rows of each group. Groups are then read in batches of at most ``_BATCH_ROWS`` rows; a
group with more rows than the page shows keeps its last ones. So memory does not depend on the number of records; of the
groups it has names and counts in columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from attrs import frozen

from streams_assignor.groups.history.tables import GENERATIONS, MEMBERS, TASKS
from streams_assignor.spark_sim.sweep.tables.parquet import parquet_format

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

_BATCH_ROWS: Final = 50_000
"""Rows of a table in memory, about."""
_SCAN_ROWS: Final = 32_768
_PIECE: Final = 4096
"""Groups that are Python's at a time."""
MOST_REBALANCES: Final = 1_000_000
"""Rebalances on a page. If there are more, each group shows fewer of its last ones."""
_MOST_OF_GROUP: Final = (1000, 500, 200, 100, 50, 20, 10)
_MOST_MEMBERS: Final = 300
MOST_INTERVALS: Final = 1000
_MOST_TEXT: Final = 300
"""Characters of a detail, which names every member that it is about."""
_SHOWN_ROLES: Final = ("unowned", "owned-twice", "awaited")
"""Faulty ownership: a task has no owner, or two, or a member waits for it."""

Columns = dict[str, list[Any]]


@frozen
class _View:
    """The columns of a table on the page."""

    table: str
    columns: Callable[[], dict[str, pc.Expression]]
    order: tuple[str, ...]
    """Within a group; the last rows are kept."""
    is_shown: Callable[[], pc.Expression] | None = None
    fold: Callable[[pa.Table], pa.Table] = lambda table: table
    """Makes fewer rows of many; may be applied to its own result."""


def _generation_columns() -> dict[str, pc.Expression]:
    import pyarrow.compute as pc

    names = (
        "offset generation time duration_ms assignment_ms skipped state protocol leader members cause confidence"
        " used_versions supported_versions probing tasks tasks_moved tasks_moved_without_state tasks_revoked"
        " record_bytes"
    )
    return {name: pc.field(name) for name in names.split()} | {
        "joined": pc.list_value_length(pc.field("joined")),
        "gone": pc.list_value_length(pc.field("gone")),
        "pending": pc.list_value_length(pc.field("pending")),
        "detail": pc.utf8_slice_codeunits(pc.field("detail"), 0, _MOST_TEXT),
    }


def _member_columns() -> dict[str, pc.Expression]:
    import pyarrow.compute as pc

    names = (
        "member_id name client_id host instance_id process_id first_generation last_generation first_time last_time"
        " rack end_point topology_epoch is_classic began ended used_version supported_version releases versions"
    )
    return {name: pc.field(name) for name in names.split()}


def _interval_columns() -> dict[str, pc.Expression]:
    import pyarrow.compute as pc

    names = ("role", "from_generation", "from_time", "until_time")
    return {name: pc.field(name) for name in names} | {
        "owners": pc.field("member"),
        "first": pc.field("task"),
        "last": pc.field("task"),
        "tasks": pc.scalar(1),
    }


def _is_shown_interval() -> pc.Expression:
    import pyarrow.compute as pc

    return pc.field("role").isin(_SHOWN_ROLES)


_INTERVAL: Final = ("group", "role", "from_generation", "from_time", "until_time")


def _fold_intervals(table: pa.Table) -> pa.Table:
    """Return one row for all tasks that have no owner, two, or one to come, for the same time."""
    sums = [("owners", "min"), ("first", "min"), ("last", "max"), ("tasks", "sum")]
    folded = table.group_by(list(_INTERVAL)).aggregate(sums)
    names = [*_INTERVAL, *(f"{name}_{function}" for name, function in sums)]
    return folded.select(names).rename_columns([*_INTERVAL, *(name for name, _ in sums)])


_VIEWS: Final = (
    _View(GENERATIONS.name, _generation_columns, ("offset",)),
    _View(MEMBERS.name, _member_columns, ("last_time", "first_time", "member_id")),
    _View(TASKS.name, _interval_columns, ("from_time", "role"), _is_shown_interval, _fold_intervals),
)


@frozen
class GroupData:
    """The data of one group on the page."""

    group: str
    tables: Mapping[str, Columns]
    """The columns of each table by its name; a table without rows is missing."""
    all_rows: Mapping[str, int]
    """Rows by table, with those that the page does not show."""


def group_data(out: Path, most_rebalances: int = MOST_REBALANCES) -> Iterator[GroupData]:
    """Yield the groups with rows in the tables of an audit, each once.

    Args:
        out: The folder with the tables.
        most_rebalances: On the whole page.
    """
    groups = _count(out)
    rebalances = groups.column(GENERATIONS.name).to_pylist()
    limits = {
        GENERATIONS.name: rebalances_per_group(rebalances, most_rebalances),
        MEMBERS.name: _MOST_MEMBERS,
        TASKS.name: MOST_INTERVALS,
    }
    for batch in _batches(groups):
        counts = {group["group"]: {view.table: group[view.table] for view in _VIEWS} for group in batch}
        files = range(min(group["first_file"] for group in batch), max(group["last_file"] for group in batch) + 1)
        by_table = {view.table: _read(view, _files(out, view, files), [*counts], limits[view.table]) for view in _VIEWS}
        places = {table: (rows, _places(rows)) for table, rows in by_table.items() if rows is not None}
        for name, rows_of in counts.items():
            tables = {table: _columns(rows.slice(*of[name])) for table, (rows, of) in places.items() if name in of}
            yield GroupData(name, tables, rows_of)


def rebalances_per_group(counts: Sequence[int], most: int) -> int:
    """Return how many of its last rebalances each group shows, so that the page has at most so many.

    >>> rebalances_per_group([5000, 10], 1_000_000), rebalances_per_group([5000, 10], 600)
    (1000, 500)
    """
    fitting = (limit for limit in _MOST_OF_GROUP if sum(min(limit, number) for number in counts) <= most)
    return next(fitting, _MOST_OF_GROUP[-1])


def _count(out: Path) -> pa.Table:
    """Return how many rows each group has in each table, and in which files: those of a partition have one name."""
    parts = [_sums(list(_counts(out, number, name))) for number, name in enumerate(_file_names(out))]
    return _sums(parts, is_distinct=True)


def _counts(out: Path, number: int, name: str) -> Iterator[pa.Table]:
    """Yield the rows of each group in parts of the files with a name."""
    import pyarrow as pa

    for view in _VIEWS:
        if not (file := out / view.table / name).exists():
            continue
        for batch in _scan(view, [file], ("group",)):
            groups, rows = batch.column("group").value_counts().flatten()
            none, own = (pa.repeat(pa.scalar(value, pa.int32()), len(groups)) for value in (0, number))
            others = {other.table: none for other in _VIEWS}
            rows = {**others, view.table: rows.cast(pa.int32())}
            yield pa.table({"group": groups, "first_file": own, "last_file": own, **rows})


def _sums(parts: list[pa.Table], *, is_distinct: bool = False) -> pa.Table:
    """Return one row for each group, by file and name.

    Args:
        parts: Tables of counts.
        is_distinct: Whether each part has one row for each group, in order; then most groups are in one part.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = {"first_file": "min", "last_file": "max", **dict.fromkeys((view.table for view in _VIEWS), "sum")}
    schema = pa.schema([("group", pa.string()), *((name, pa.int32()) for name in columns)])
    totals = pa.concat_tables([schema.empty_table(), *parts])
    if not is_distinct or pc.count_distinct(totals.column("group")).as_py() < len(totals):
        totals = totals.group_by("group", use_threads=False).aggregate(list(columns.items()))
        totals = totals.select(["group", *map("_".join, columns.items())]).rename_columns(schema.names).cast(schema)
        totals = totals.sort_by([("first_file", "ascending"), ("group", "ascending")])
    return totals


def _file_names(out: Path) -> list[str]:
    return sorted({file.name for view in _VIEWS for file in (out / view.table).glob("*.parquet")})


def _files(out: Path, view: _View, numbers: range) -> list[Path]:
    names = _file_names(out)
    return [file for number in numbers if (file := out / view.table / names[number]).exists()]


def _batches(groups: pa.Table) -> Iterator[list[dict[str, Any]]]:
    """Yield the groups to read together: those of the same files follow each other."""
    waiting: list[dict[str, Any]] = []
    rows = 0
    for group in (row for begin in range(0, len(groups), _PIECE) for row in groups.slice(begin, _PIECE).to_pylist()):
        group_rows = sum(group[view.table] for view in _VIEWS)
        if waiting and rows + group_rows > _BATCH_ROWS:
            yield waiting
            waiting, rows = [], 0
        waiting.append(group)
        rows += group_rows
    if waiting:
        yield waiting


def _scan(
    view: _View, files: Iterable[Path], columns: Sequence[str] = (), groups: Sequence[str] = ()
) -> Iterator[pa.RecordBatch]:
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    wanted = {"group": pc.field("group")} | ({} if columns else view.columns())
    row_filter = None if view.is_shown is None else view.is_shown()
    if groups:
        asked = pc.field("group").isin(groups)
        row_filter = asked if row_filter is None else row_filter & asked
    dataset: ds.Dataset = ds.dataset([str(file) for file in files], format=parquet_format())
    yield from dataset.to_batches(
        columns=wanted, filter=row_filter, batch_size=_SCAN_ROWS, batch_readahead=2, fragment_readahead=1
    )


def _read(view: _View, files: Sequence[Path], groups: Sequence[str], limit: int) -> pa.Table | None:
    """Return the rows of some groups, sorted, the last ones of each."""
    import pyarrow as pa

    waiting: list[pa.Table] = []
    rows = 0
    for batch in _scan(view, files, groups=groups) if files else ():
        if batch.num_rows:
            waiting.append(pa.Table.from_batches([batch]))
            rows += batch.num_rows
        if rows > 2 * _BATCH_ROWS:
            waiting = [_shown_rows(view, waiting, limit)]
            rows = waiting[0].num_rows
    return _shown_rows(view, waiting, limit) if waiting else None


def _shown_rows(view: _View, parts: list[pa.Table], limit: int) -> pa.Table:
    import pyarrow as pa

    table = view.fold(pa.concat_tables(parts))
    table = table.sort_by([(name, "ascending") for name in ("group", *view.order)])
    places = list(_places(table).values())
    if all(rows <= limit for _, rows in places):
        return table
    shown = (table.slice(begin + max(0, rows - limit), min(rows, limit)) for begin, rows in places)
    return pa.concat_tables(shown).combine_chunks()


def _places(table: pa.Table) -> dict[str, tuple[int, int]]:
    """Return the first row and the number of rows of each group in a table that is sorted by group.

    A slice takes kilobytes: a table of many groups is not cut before a group is written.
    """
    places: dict[str, tuple[int, int]] = {}
    begin = 0
    for entry in table.column("group").value_counts().to_pylist():
        places[entry["values"]] = (begin, entry["counts"])
        begin += entry["counts"]
    return places


def _columns(table: pa.Table) -> Columns:
    columns: Columns = table.drop_columns(["group"]).to_pydict()
    return columns
