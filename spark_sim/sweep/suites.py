"""The definition of a sweep: its units, its cells, and its files. There is one suite for each kind of sweep."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from attrs import asdict, evolve, field, frozen

from streams_assignor.spark_sim.advice.upgrade_guide import derive_guide, entry_json
from streams_assignor.spark_sim.jobs.table import Row
from streams_assignor.spark_sim.model.scenario import ScenarioError
from streams_assignor.spark_sim.search.cell_result import CellResult
from streams_assignor.spark_sim.sweep.broker_units import (
    BrokerUnit,
    all_line_pairs,
    cell_keys,
)
from streams_assignor.spark_sim.sweep.equivalence import deviation_class, merge_results, upgrade_class
from streams_assignor.spark_sim.sweep.operator_deviations import possible_deviations
from streams_assignor.spark_sim.sweep.search_units import regression_units, roll_units, streams_units
from streams_assignor.spark_sim.sweep.tables.engine import TableStore
from streams_assignor.spark_sim.sweep.tables.local import LocalTables
from streams_assignor.spark_sim.sweep.tables.parquet import TablesError
from streams_assignor.spark_sim.sweep.tables.publishing import ResultFolderError
from streams_assignor.spark_sim.sweep.tables.rows import (
    BROKER_SUITE,
    REGRESSION_SUITE,
    UPGRADE_SUITE,
    KindRows,
    UnitTrace,
    counterexample_traces,
    kind_rows,
    parse_results,
)
from streams_assignor.spark_sim.sweep.tables.schema import RUNS, TABLES, UPGRADES
from streams_assignor.spark_sim.sweep.work_units import SweepConfig, WorkUnit, default_config
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.plans import MATRICES, Plan, Upgrade, kip_268_plans
from streams_assignor.upgrade.releases import resolve_release

MATRIX: Final = "matrix.json"
GUIDE: Final = "guide.json"
HISTORY: Final = "history.json"


@frozen
class Suite:
    """A sweep: all that decides its results."""

    kind: str
    """``UPGRADE_SUITE``, ``BROKER_SUITE`` or ``REGRESSION_SUITE``."""
    name: str
    units: tuple[WorkUnit, ...]
    cells: tuple[Any, ...]
    """The cells in the order of the results."""
    merge: Callable[[Sequence[Any], Iterable[Any]], list[Any]]
    """Returns one result for each cell, in their order, made of the results of units."""
    files: Mapping[str, Callable[[Sequence[Any]], str]]
    """The files that the sweep ends with, by name, in the order in which they are written."""
    parameters: Mapping[str, Any] = field(factory=dict)
    """The values that have to be equal to resume the sweep, beside its name and its units."""
    classes_of: Callable[[Any], tuple[Hashable, ...]] = lambda cell: (cell,)
    """The equivalence class of a cell, and those of its deviations."""

    @property
    def main_file(self) -> str:
        """The file that holds the results; it is written last."""
        return [*self.files][-1]

    def expand(self, results: Iterable[Any]) -> list[Any]:
        """Return one result for each cell, in their order, made of the results of the units so far."""
        return self.merge(self.cells, results)

    def with_units(self, units: Iterable[WorkUnit]) -> Suite:
        """Return the sweep of other units, mostly some of its own, and of the cells that they contribute to."""
        kept = tuple(units)
        classes = {unit.class_key for unit in kept}
        cells = tuple(cell for cell in self.cells if not classes.isdisjoint(self.classes_of(cell)))
        return evolve(self, units=kept, cells=cells)

    def unfinished(self, pending: Iterable[WorkUnit]) -> frozenset[Any]:
        """Return the cells whose results may change until the pending units are computed."""
        classes = {unit.class_key for unit in pending}
        return frozenset(cell for cell in self.cells if not classes.isdisjoint(self.classes_of(cell)))

    @property
    def description(self) -> str:
        """The subject and the options of the sweep, as JSON; equal for sweeps that may resume each other."""
        return json.dumps({"suite": self.kind, "sweep": self.name, **self.parameters}, ensure_ascii=False)


def upgrade_suite(name: str, upgrades: Iterable[Upgrade], config: SweepConfig | None = None) -> Suite:
    """Return the sweep over upgrades of Streams groups."""
    wanted, config = tuple(upgrades), config or SweepConfig()
    return Suite(
        UPGRADE_SUITE,
        name,
        tuple(config.units(wanted)),
        wanted,
        merge_results,
        _FILES[UPGRADE_SUITE],
        asdict(config),
        partial(_upgrade_classes, config.deviations),
    )


def _upgrade_classes(deviations: bool, upgrade: Upgrade) -> tuple[Hashable, ...]:
    deviating = possible_deviations(upgrade) if deviations else ()
    return upgrade_class(upgrade), *(deviation_class(upgrade, deviation) for deviation in deviating)


def _guide_json(results: Sequence[Any]) -> str:
    return json_lines(map(entry_json, derive_guide(results).values()))


def broker_suite(pairs: Iterable[tuple[str, str]] = (), *, nodes: int = 3, faults: int = 1) -> Suite:
    """Return the sweep over upgrades of brokers; without pairs, of every release line to every later one.

    Raises:
        UpgradeError: A pair is no upgrade of brokers that can finalize features.
    """
    pairs = tuple(pairs)
    keys = tuple(key for pair in pairs or all_line_pairs() for key in cell_keys(*pair, nodes=nodes, faults=faults))
    how_far = {"pairs": [list(pair) for pair in pairs], "nodes": nodes, "faults": faults}
    return Suite(
        BROKER_SUITE, BROKER_SUITE, tuple(map(BrokerUnit, keys)), keys, _in_order, _FILES[BROKER_SUITE], how_far
    )


def regression_suite(*, every: bool = False, **how_far: int) -> Suite:
    """Return the searches for Kafka's known bugs, in one affected and one fixed pair each, or in ``every`` pair."""
    return _search_suite(REGRESSION_SUITE, regression_units(every=every, **how_far), {"every": every, **how_far})


def streams_suite() -> Suite:
    """Return the searches for the findings about streams groups (KIP-1071), where each is and where it is not."""
    return _search_suite("streams", streams_units(), {})


def roll_suite() -> Suite:
    """Return the rolls of a few plans, with faults: what each must not do."""
    return _search_suite("roll", roll_units(), {})


def _search_suite(name: str, units: Sequence[WorkUnit], how_far: Mapping[str, Any]) -> Suite:
    keys = tuple(unit.cell for unit in units)
    return Suite(REGRESSION_SUITE, name, tuple(units), keys, _in_order, _FILES[REGRESSION_SUITE], how_far)


def _history_json(results: Sequence[Any]) -> str:
    return json.dumps([result.as_record() for result in results], indent=1) + "\n"


def _matrix_json(results: Sequence[Any]) -> str:
    return json_lines(result.as_record() for result in results)


def json_lines(records: Iterable[Any]) -> str:
    r"""Return a JSON list with one record a line.

    >>> json_lines([{"a": 1}, {"a": 2}])
    '[\n{"a": 1},\n{"a": 2}\n]\n'
    """
    return "[\n" + ",\n".join(json.dumps(record, ensure_ascii=False) for record in records) + "\n]\n"


_FILES: Final[Mapping[str, Mapping[str, Callable[[Sequence[Any]], str]]]] = {
    UPGRADE_SUITE: {GUIDE: _guide_json, MATRIX: _matrix_json},
    BROKER_SUITE: {MATRIX: _matrix_json},
    REGRESSION_SUITE: {HISTORY: _history_json},
}


def _in_order(cells: Sequence[Any], results: Iterable[CellResult]) -> list[CellResult]:
    by_cell = {result.cell: result for result in results}
    return [by_cell[cell] for cell in cells if cell in by_cell]


# -- the sweeps that have a name, and those of two releases ----------------------------------------------------------


def matrix_suite(name: str, members: int = 3) -> Suite:
    """Return the sweep over a matrix of upgrades, explored as far as it is by default."""
    return upgrade_suite(name, MATRICES[name](), default_config(name, members))


SUITES: Final[Mapping[str, Callable[[], Suite]]] = {
    **{name: partial(matrix_suite, name) for name in MATRICES},
    "brokers": broker_suite,
    "history": regression_suite,
    "streams": streams_suite,
    "roll": roll_suite,
}
"""The default extent of ``sweep`` of the command line."""


def pair_suite(upgrades: Sequence[Upgrade], config: SweepConfig) -> Suite:
    """Return the sweep over plans for one pair of releases."""
    plans = ", ".join(map(_plan_title, upgrades))
    return upgrade_suite(f"{upgrades[0].origin} to {upgrades[0].target}: {plans}", upgrades, config)


def _plan_title(upgrade: Upgrade) -> str:
    return upgrade.plan.value + (f" with upgrade.from={upgrade.upgrade_from}" if upgrade.upgrade_from else "")


def upgrades_between(
    origin: str, target: str, plan: str | None = None, upgrade_from: str | None = None
) -> tuple[Upgrade, ...]:
    """Return the plans for one pair of releases.

    Args:
        origin: The release that runs now, by any of its names.
        target: The release after the upgrade.
        plan: One plan only.
        upgrade_from: Of the plan that is asked for; without one, of the two bounces.

    Raises:
        UpgradeError: A release is unknown, or does not start with this ``upgrade.from``.
    """
    takes_value = plan or Plan.TWO_BOUNCES.value
    upgrades = tuple(
        evolve(
            upgrade,
            upgrade_from=upgrade_from if upgrade_from and upgrade.plan.value == takes_value else upgrade.upgrade_from,
            labels=(origin, target),
        )
        for upgrade in kip_268_plans(resolve_release(origin).release, resolve_release(target).release)
        if plan in (None, upgrade.plan.value)
    )
    for upgrade in upgrades:
        _check_starts(upgrade)
    return upgrades


def _check_starts(upgrade: Upgrade) -> None:
    for round_ in upgrade.rounds:
        outcome = round_.release.startup_outcome(round_.upgrade_from)
        if outcome.exception:
            raise UpgradeError(
                f"{round_.release} does not start with upgrade.from={round_.upgrade_from}: "
                f"{outcome.exception}: {outcome.text}"
            )


# -- tables ----------------------------------------------------------------------------------------------------------


def table_rows(
    suite: Suite,
    units: Mapping[str, WorkUnit],
    results: Mapping[str, CellResult] | None,
    traces: Mapping[str, Sequence[Row]],
) -> KindRows:
    """Return the rows of the tables of a sweep.

    Args:
        suite: The sweep.
        units: Its units by key.
        results: Their results; None if only ``upgrades`` and the kinds of units are wanted, which no result changes.
        traces: The traces of the units with a counterexample, as ``units`` has them.
    """
    of_class: dict[Hashable, list[str]] = {}
    for key, unit in units.items():
        of_class.setdefault(unit.class_key, []).append(key)
    if results is None:
        expanded = [suite.units[0].result_type(cell) for cell in suite.cells]
        unit_traces = {}
    else:
        expanded = suite.expand(results[key] for key in units)
        unit_traces = {
            key: UnitTrace(units[key].cell, example, rows)
            for key, rows in traces.items()
            if rows
            for example in counterexample_of(results[key])
        }
    return kind_rows(
        suite.kind, expanded, lambda cell: [of_class.get(class_, []) for class_ in suite.classes_of(cell)], unit_traces
    )


def counterexample_of(result: CellResult) -> list[str]:
    """Return the counterexample of a unit; there is at most one."""
    deviating = getattr(result, "deviations", {}).values()
    return [violating.example for violating in (result, *deviating) if violating.example]


# -- finished sweeps -------------------------------------------------------------------------------------------------


@frozen
class FinishedSweep:
    """A finished sweep, as its tables have it."""

    kind: str
    """``UPGRADE_SUITE``, ``BROKER_SUITE`` or ``REGRESSION_SUITE``."""
    results: list[Any]
    """One result for each cell, in the order of the matrix."""
    traces: tuple[tuple[Upgrade, str, list[Row]], ...]
    """For sweeps of upgrades the upgrade, the scenario and the trace of counterexamples."""


def finished_sweep(store: TableStore) -> FinishedSweep:
    """Read the results of a finished sweep from its tables.

    Raises:
        TablesError: The tables are not whole, or not all of one sweep.
    """
    before = store.read(UPGRADES.name)
    tables = {name: store.read(name) for name in TABLES if name not in (RUNS.name, UPGRADES.name)}
    stored, expected = store.count(RUNS.name), sum(row["runs"] for row in tables["kinds"])
    tables[UPGRADES.name] = store.read(UPGRADES.name)
    first, last = (sorted(rows, key=lambda row: row["position"]) for rows in (before, tables[UPGRADES.name]))
    if first != last:  # a sweep empties it first and writes it last
        raise TablesError("another sweep has replaced the tables while they were read: read them again")
    kind, results = parse_results(tables)
    if stored != expected:
        raise TablesError(f"the table runs has {stored} rows, and the table kinds counts {expected}")
    return FinishedSweep(kind, results, tuple(counterexample_traces(tables)) if kind == UPGRADE_SUITE else ())


def read_sweep(folder: Path) -> FinishedSweep:
    """Read the results of a finished sweep from the tables in a folder.

    Raises:
        ResultFolderError: The folder holds no finished sweep, or its files are damaged.
    """
    if not (folder / "upgrades").exists():
        begun = (folder / "units").exists()
        why = "this sweep is not finished; run its command again to resume" if begun else "no sweep was run there"
        raise ResultFolderError(f"{folder} has no table `upgrades`: {why}")
    return read_store(LocalTables(folder), str(folder))


def exports(sweep: FinishedSweep) -> dict[str, str]:
    """Return the files of a finished sweep by name, the main one last."""
    return {name: text_of(sweep.results) for name, text_of in _FILES[sweep.kind].items()}


def read_store(store: TableStore, where: str) -> FinishedSweep:
    """Read the results of a finished sweep from its tables.

    Raises:
        ResultFolderError: There is no finished sweep, or its tables are damaged.
    """
    try:
        return finished_sweep(store)
    except (TablesError, UpgradeError, ScenarioError, LookupError, TypeError, ValueError, RecursionError) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise ResultFolderError(f"{where} cannot be read: {why}") from None
