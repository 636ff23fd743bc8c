"""Rows of the tables, made of the results of a sweep, and results that are made of rows again.

All exports (``matrix.json``, ``guide.json``, ``history.json``, the report, the terminal) are made of results that were
read from the tables.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from attrs import evolve, fields, frozen

from spark_sim.model.scenario import Scenario
from spark_sim.regressions.regression_search import RegressionKey, RegressionResult
from spark_sim.search.cell_result import CellResult, UpgradeResult
from spark_sim.search.records import schedules_log10, schedules_text
from spark_sim.search.release_roles import Recast
from spark_sim.sweep.broker_units import BrokerCellKey, BrokerCellResult
from spark_sim.sweep.tables.schema import COUNTEREXAMPLES, DEVIATIONS, KINDS, UPGRADES
from spark_sim.sweep.traces import recast_rows
from spark_sim.sweep.work_units import digest_of
from subscription_codec import StreamsAssignorError
from upgrade.plans import Plan, Upgrade
from upgrade.releases import release_named

UPGRADE_SUITE: Final = "upgrades"
BROKER_SUITE: Final = "brokers"
REGRESSION_SUITE: Final = "regressions"

C = TypeVar("C", bound=CellResult)
Row = dict[str, Any]
_FAULTS: Final = ("crashes", "rebalance_timeouts", "spurious_joins", "wait_for_quiescence")
_SPECIAL: Final = frozenset({"cell", "violated", "message", "example", "schedules", "faults", "deviations"})
"""Fields of results that are no column of the same name and type."""


class TablesError(StreamsAssignorError):
    """Tables that do not hold the results of a finished sweep; the message says what is missing."""


@frozen
class _CellForm:
    """How the cells of one kind of sweep are columns of ``upgrades``."""

    result_type: type[CellResult]
    columns: Callable[[Any], Row]
    parse: Callable[[Row], Any]


def _upgrade_columns(cell: Upgrade) -> Row:
    names = zip(("from", "to"), cell.display_names, strict=True)
    releases = {"from_release": cell.origin.spelling, "to_release": cell.target.spelling}
    return {**dict(names), **releases, "plan": cell.plan.value, "upgrade_from": cell.upgrade_from}


def _parse_upgrade(row: Row) -> Upgrade:
    origin, target = release_named(row["from_release"]), release_named(row["to_release"])
    return Upgrade(origin, target, Plan(row["plan"]), row["upgrade_from"], (row["from"], row["to"]))


def _broker_columns(cell: BrokerCellKey) -> Row:
    releases = {"from": cell.origin, "to": cell.target, "from_release": cell.origin, "to_release": cell.target}
    return {**releases, "plan": cell.plan, "dialect": cell.dialect, "nodes": list(cell.nodes), "faults": cell.faults}


def _parse_broker(row: Row) -> BrokerCellKey:
    return BrokerCellKey(row["from"], row["to"], row["dialect"], row["plan"], tuple(row["nodes"]), row["faults"])


def _regression_columns(cell: RegressionKey) -> Row:
    ends = dict(zip(("from", "to"), (cell.instances[0], cell.instances[-1]), strict=True))
    releases = {f"{name}_release": instance.partition(" ")[0] for name, instance in ends.items()}
    return {**ends, **releases, **cell._asdict(), "instances": list(cell.instances)}


def _parse_regression(row: Row) -> RegressionKey:
    return RegressionKey(row["bug"], tuple(row["instances"]), row["affected"])


_FORMS: Final[Mapping[str, _CellForm]] = {
    UPGRADE_SUITE: _CellForm(UpgradeResult, _upgrade_columns, _parse_upgrade),
    BROKER_SUITE: _CellForm(BrokerCellResult, _broker_columns, _parse_broker),
    REGRESSION_SUITE: _CellForm(RegressionResult, _regression_columns, _parse_regression),
}


def _complete(names: Iterable[str], row: Row) -> Row:
    """Return the row with all columns of its table."""
    return dict.fromkeys(names) | row


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
    tables: dict[str, list[Row]] = {each.name: [] for each in (KINDS, COUNTEREXAMPLES, DEVIATIONS, UPGRADES)}
    ids: dict[Any, str] = {}
    units = list[tuple[str, str]]()
    for position, result in enumerate(results):
        keys = unit_keys(result.cell)
        conditions = result.conditions if isinstance(result, UpgradeResult) else ()
        identity = (*(key for of_class in keys for key in of_class), *conditions)
        kind_id = ids.get(identity)
        if kind_id is None:
            kind_id = ids[identity] = digest_of([suite, *identity])
            _add_kind(tables, kind_id, position, result, [traces[key] for of in keys for key in of if key in traces])
            units += [(key, kind_id) for key in keys[0]]
        tables[UPGRADES.name].append(
            _complete(
                _names(UPGRADES),
                {
                    "position": position,
                    "suite": suite,
                    "documented": result.is_documented,
                    "kind_id": kind_id,
                    **_FORMS[suite].columns(result.cell),
                },
            )
        )
    return KindRows(tables, tuple(units))


def _names(table: Any) -> list[str]:
    return [column.name for column in table.columns]


def _add_kind(
    tables: Mapping[str, list[Row]], kind_id: str, position: int, result: CellResult, traces: Sequence[UnitTrace]
) -> None:
    plain = {each.name: getattr(result, each.name) for each in fields(type(result)) if each.name not in _SPECIAL}
    if isinstance(result, UpgradeResult):
        plain |= {**result.faults, "schedule_classes": sorted(result.schedule_classes)}
    row = plain | _explored(kind_id, result) | {"position": position}
    conditions = list(result.conditions) if isinstance(result, UpgradeResult) else []
    tables[KINDS.name].append(_complete(_names(KINDS), row | {"conditions": conditions}))
    deviations: Mapping[str, CellResult] = result.deviations if isinstance(result, UpgradeResult) else {}
    for name, each in deviations.items():
        tables[DEVIATIONS.name].append(_explored(kind_id, each) | {"deviation": name})
    for deviation, each in ((None, result), *deviations.items()):
        if each.example:
            found = (trace.shown_as(result.cell, each.example) for trace in traces)
            trace = next((rows for rows in found if rows is not None), [])
            tables[COUNTEREXAMPLES.name].append(
                {
                    "kind_id": kind_id,
                    "deviation": deviation,
                    "property": each.violated,
                    "message": each.message,
                    "scenario": each.example,
                    "trace": trace,
                }
            )


def _explored(kind_id: str, result: CellResult) -> Row:
    return {
        "kind_id": kind_id,
        "verdict": result.verdict,
        "property": result.violated,
        "message": result.message,
        "states": result.states,
        "transitions": result.transitions,
        "schedules": schedules_text(result),
        "schedules_log10": schedules_log10(result),
    }


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
    form = _FORMS[suite]
    kinds = {row["kind_id"]: row for row in tables[KINDS.name]}
    examples = {(row["kind_id"], row["deviation"]): row["scenario"] for row in tables[COUNTEREXAMPLES.name]}
    deviations = defaultdict[str, list[Row]](list)
    for row in tables[DEVIATIONS.name]:
        deviations[row["kind_id"]].append(row)
    cells = [form.parse(row) for row in upgrades]
    by_kind: dict[str, CellResult] = {}
    for kind_id in dict.fromkeys(row["kind_id"] for row in upgrades):
        if kind_id not in kinds:
            raise TablesError(f"the table kinds lacks the kind {kind_id} of the table upgrades")
        found = _result(form.result_type, cells[kinds[kind_id]["position"]], kinds[kind_id], examples)
        if isinstance(found, UpgradeResult):
            named = {row["deviation"]: _result(UpgradeResult, found.cell, row, examples) for row in deviations[kind_id]}
            found = evolve(found, deviations=named)
        by_kind[kind_id] = found
    return suite, [_of_cell(by_kind[row["kind_id"]], cell) for row, cell in zip(upgrades, cells, strict=True)]


def escaped(text: str | None) -> str | None:
    r"""Return text without control characters, which a terminal would obey.

    >>> escaped("a\x1b[31m")
    'a\\x1b[31m'
    """
    if text is None or text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def _of_cell(result: CellResult, cell: Any) -> CellResult:
    return result.for_upgrade(cell) if isinstance(result, UpgradeResult) else result


def _result(type_: type[C], cell: Any, row: Row, examples: Mapping[Any, str]) -> C:
    """Return a result of its row of ``kinds`` or ``deviations``; columns that the row lacks have their default."""
    known = ((each, row.get(each.name)) for each in fields(type_) if each.name not in _SPECIAL)
    values: Row = {each.name: value for each, value in known if value is not None or each.default is None}
    schedules = row["schedules"]
    values |= {
        "violated": escaped(row["property"]),
        "message": escaped(row["message"]),
        "example": escaped(examples.get((row["kind_id"], row.get("deviation")))),
        "schedules": None if schedules is None else int(schedules),
        "states": row["states"],
    }
    if row.get("crashes") is not None:
        values["faults"] = {name: row[name] for name in _FAULTS}
    return type_(cell, **values)


def counterexample_traces(tables: Mapping[str, Sequence[Row]]) -> Iterator[tuple[Upgrade, str, list[Row]]]:
    """Yield the upgrade, the scenario and the trace of each counterexample whose operator follows the plan."""
    upgrades = {row["position"]: row for row in tables[UPGRADES.name]}
    positions = {row["kind_id"]: row["position"] for row in tables[KINDS.name]}
    for row in tables[COUNTEREXAMPLES.name]:
        if row["deviation"] is None and row["trace"]:
            yield _parse_upgrade(upgrades[positions[row["kind_id"]]]), row["scenario"], row["trace"]
