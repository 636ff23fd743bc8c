"""Rows of the tables, made of the results of a sweep, and results that are made of rows again.

All exports (``matrix.json``, ``guide.json``, ``history.json``, the report, the terminal) are made of results that were
read from the tables.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from attrs import evolve, frozen

from streams_assignor.spark_sim.jobs.table import Row
from streams_assignor.spark_sim.model.scenario import Scenario
from streams_assignor.spark_sim.search.cell_result import DEVIATION_COLUMNS, CellResult, UpgradeResult
from streams_assignor.spark_sim.search.release_roles import Recast
from streams_assignor.spark_sim.sweep.tables.parquet import TablesError
from streams_assignor.spark_sim.sweep.tables.schema import COUNTEREXAMPLES, DEVIATIONS, KINDS, RESULT_TYPES, UPGRADES
from streams_assignor.spark_sim.sweep.traces import recast_rows
from streams_assignor.spark_sim.sweep.work_units import digest_of
from streams_assignor.upgrade.plans import Upgrade

UPGRADE_SUITE: Final = "upgrades"
BROKER_SUITE: Final = "brokers"
REGRESSION_SUITE: Final = "regressions"

_RESULT_TYPES: Final[Mapping[str, type[CellResult]]] = dict(
    zip((UPGRADE_SUITE, BROKER_SUITE, REGRESSION_SUITE), RESULT_TYPES, strict=True)
)


# -- results to rows -------------------------------------------------------------------------------------------------


@frozen
class KindRows:
    """The rows of all tables but ``runs``; those are in the rows of the work units."""

    tables: Mapping[str, list[Row]]
    units: tuple[tuple[str, str], ...]
    """``unit_key`` and ``kind_id`` of every unit that has runs of a kind."""


@frozen
class UnitTrace:
    """The counterexample of a unit with its trace."""

    cell: Any
    example: str
    rows: Sequence[Row]

    def shown_as(self, cell: Any, example: str) -> list[Row] | None:
        """Return the trace if the example of another cell of the class is this one with other releases."""
        if not isinstance(cell, Upgrade):
            return list(self.rows) if example == self.example else None
        if Recast(self.cell, cell).line(self.example) != example:
            return None
        return recast_rows(self.rows, Scenario.parse(self.example), Scenario.parse(example))


def kind_rows(
    suite: str,
    results: Sequence[CellResult],
    unit_keys: Callable[[Any], Sequence[Sequence[str]]],
    traces: Mapping[str, UnitTrace],
) -> KindRows:
    """Return the rows of the results of a sweep.

    Args:
        suite: The kind of the sweep.
        results: One result for each cell, in the order of the matrix.
        unit_keys: The keys of the units that a cell's result is made of: those of its class, then those of each class
            of deviations.
        traces: Traces of counterexamples, by unit key.
    """
    tables: dict[str, list[Row]] = {table.name: [] for table in (KINDS, COUNTEREXAMPLES, DEVIATIONS, UPGRADES)}
    ids: dict[Any, str] = {}
    units = list[tuple[str, str]]()
    for position, result in enumerate(results):
        keys = unit_keys(result.cell)
        identity = (*(key for of_class in keys for key in of_class), *result.conditions)
        kind_id = ids.get(identity)
        if kind_id is None:
            kind_id = ids[identity] = digest_of([suite, *identity])
            _add_kind(tables, kind_id, position, result, [traces[key] for of in keys for key in of if key in traces])
            units += [(key, kind_id) for key in keys[0]]
        place = {"position": position, "suite": suite, "documented": result.is_documented, "kind_id": kind_id}
        tables[UPGRADES.name].append(UPGRADES.row(place | result.cell_row()))
    return KindRows(tables, tuple(units))


def _add_kind(
    tables: Mapping[str, list[Row]], kind_id: str, position: int, result: CellResult, traces: Sequence[UnitTrace]
) -> None:
    tables[KINDS.name].append(KINDS.row({"kind_id": kind_id, "position": position} | result.row()))
    deviations: Mapping[str, CellResult] = result.deviations if isinstance(result, UpgradeResult) else {}
    for name, deviation_result in deviations.items():
        row = {"kind_id": kind_id, "deviation": name} | deviation_result.row(DEVIATION_COLUMNS)
        tables[DEVIATIONS.name].append(DEVIATIONS.row(row))
    for deviation, shown in ((None, result), *deviations.items()):
        if shown.example:
            traced = (trace.shown_as(result.cell, shown.example) for trace in traces)
            values = {
                "kind_id": kind_id,
                "deviation": deviation,
                "property": shown.property,
                "message": shown.message,
                "example": shown.example,
                "trace": next((rows for rows in traced if rows is not None), []),
            }
            tables[COUNTEREXAMPLES.name].append(COUNTEREXAMPLES.row(values))


# -- rows to results -------------------------------------------------------------------------------------------------


def parse_results(tables: Mapping[str, Sequence[Row]]) -> tuple[str, list[Any]]:
    """Return the kind of a sweep and its results in their order, from the rows of its tables.

    Raises:
        TablesError: A row is missing, or there is none.
    """
    upgrades = sorted(tables[UPGRADES.name], key=lambda row: row["position"])
    if not upgrades:
        raise TablesError("no table `upgrades`: no sweep has finished there; the command of a sweep resumes it")
    if [row["position"] for row in upgrades] != list(range(len(upgrades))):
        raise TablesError(f"the table upgrades lacks rows: it has {len(upgrades)}")
    suite = upgrades[0]["suite"]
    result_type = _RESULT_TYPES[suite]
    kinds = {row["kind_id"]: row for row in tables[KINDS.name]}
    deviations = defaultdict[str, list[Row]](list)
    for row in tables[DEVIATIONS.name]:
        deviations[row["kind_id"]].append(row)
    cells = [result_type.parse_cell(row) for row in upgrades]
    by_kind: dict[str, CellResult] = {}
    for kind_id in dict.fromkeys(row["kind_id"] for row in upgrades):
        if kind_id not in kinds:
            raise TablesError(f"the table kinds lacks the kind {kind_id} of the table upgrades")
        result = result_type.of_row(cells[kinds[kind_id]["position"]], _escaped(kinds[kind_id]))
        if isinstance(result, UpgradeResult):
            named = {
                row["deviation"]: UpgradeResult.of_row(result.cell, _escaped(row), DEVIATION_COLUMNS)
                for row in deviations[kind_id]
            }
            result = evolve(result, deviations=named)
        by_kind[kind_id] = result
    return suite, [_of_cell(by_kind[row["kind_id"]], cell) for row, cell in zip(upgrades, cells, strict=True)]


def _escaped(row: Row) -> Row:
    """Return the row with texts that a terminal can show."""
    return {name: escaped(value) if isinstance(value, str) else value for name, value in row.items()}


def escaped(text: str | None) -> str | None:
    r"""Return text without control characters, which a terminal would obey.

    >>> escaped("a\x1b[31m")
    'a\\x1b[31m'
    """
    if text is None or text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )


def _of_cell(result: CellResult, cell: Any) -> CellResult:
    return result.for_upgrade(cell) if isinstance(result, UpgradeResult) else result


def counterexample_traces(tables: Mapping[str, Sequence[Row]]) -> Iterator[tuple[Upgrade, str, list[Row]]]:
    """Yield the upgrade, the scenario and the trace of each counterexample whose operator follows the plan."""
    upgrades = {row["position"]: row for row in tables[UPGRADES.name]}
    positions = {row["kind_id"]: row["position"] for row in tables[KINDS.name]}
    for row in tables[COUNTEREXAMPLES.name]:
        if row["deviation"] is None and row["trace"]:
            yield UpgradeResult.parse_cell(upgrades[positions[row["kind_id"]]]), row["example"], row["trace"]
