"""Searches for a known bug in a pair of releases; the only input is the violated property.

The exhaustive search explores every schedule of three members with one crash and one missed rebalance timeout, with an
operator that waits for quiescence. The coarse search runs every schedule of up to three steps (``coarse_bfs``).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple

from attrs import evolve, field, frozen

from streams_assignor.spark_sim.jobs.table import NO_COLUMN, Row, column
from streams_assignor.spark_sim.model.processes import SHUTDOWN_REQUEST_SINCE
from streams_assignor.spark_sim.model.scenario import Instance
from streams_assignor.spark_sim.model.violations import REBALANCING_TERMINATES
from streams_assignor.spark_sim.model.workload import DEFAULT_WORKLOAD, Workload
from streams_assignor.spark_sim.packed import FaultBudget, OperatorDeviation, UpgradeCell, explore
from streams_assignor.spark_sim.packed.bfs import bfs
from streams_assignor.spark_sim.packed.encoding import Encoding
from streams_assignor.spark_sim.packed.equivalence import behaviour_key, equivalence_class
from streams_assignor.spark_sim.packed.paths import cycle_scenario, scenario_to
from streams_assignor.spark_sim.regressions._coarse_bfs import CoarseSearch, coarse_bfs
from streams_assignor.spark_sim.regressions._extra_properties import never_completed
from streams_assignor.spark_sim.regressions.known_bugs import BUGS, RegressionBug, ReleasePairs, SearchMethod
from streams_assignor.spark_sim.search.cell_result import SIMULATION_FAILS, CellResult
from streams_assignor.spark_sim.search.path_counting import count_paths
from streams_assignor.upgrade.releases import Release

FAULTS: Final = FaultBudget(crashes=1, rebalance_timeouts=1)
MAX_STEPS: Final = 3


class RegressionKey(NamedTuple):
    """One search by names."""

    bug: str
    instances: tuple[str, ...]
    """The instances of each member, from the first release to the last."""
    affected: bool
    """Whether Kafka has the bug there."""

    def __str__(self) -> str:
        return f"{self.bug} {' '.join(self.instances)}"


@frozen(kw_only=True)
class RegressionResult(CellResult):
    """The result of one search: ``message`` is None if the bug was not found."""

    cell: RegressionKey = field(kw_only=False, metadata=NO_COLUMN)
    confirmed: bool | None = column(
        "boolean", "regressions: whether simulated members replay the example; null if that was not tried", default=None
    )

    @property
    def found(self) -> bool:
        """Whether the search found the bug."""
        return self.message is not None and self.property != SIMULATION_FAILS

    def cell_row(self) -> Row:
        """Return the search as columns of the table ``upgrades``."""
        first, last = self.cell.instances[0], self.cell.instances[-1]
        return {
            "bug": self.cell.bug,
            "instances": list(self.cell.instances),
            "affected": self.cell.affected,
            "from": first,
            "to": last,
            "from_release": first.partition(" ")[0],
            "to_release": last.partition(" ")[0],
        }

    @staticmethod
    def parse_cell(row: Row) -> RegressionKey:
        """Return the search of a row of the table ``upgrades``."""
        return RegressionKey(row["bug"], tuple(row["instances"]), row["affected"])

    def as_record(self) -> dict[str, Any]:
        """Return the result as ``history.json`` has it."""
        return super().as_record() | {"found": self.found}

    @property
    def as_expected(self) -> bool:
        """Whether the bug was found exactly where Kafka has it."""
        return self.found == self.cell.affected and self.confirmed is not False and self.property != SIMULATION_FAILS


@frozen
class RegressionSearch:
    """The search for one bug in one pair of releases."""

    bug: RegressionBug
    release_pairs: ReleasePairs
    origin: Release
    target: Release
    affected: bool
    """Whether the pair has the bug."""

    @property
    def key(self) -> RegressionKey:
        """The search by names."""
        return RegressionKey(self.bug.name, tuple(map(str, self.instance_sequence)), self.affected)

    @property
    def instance_sequence(self) -> tuple[Instance, ...]:
        """The instances of each member, from the first release to the last."""
        return self.release_pairs.instance_sequence(self.origin, self.target)

    def result(self, message: str | None, example: object = None, **values: Any) -> RegressionResult:
        """Return the result of the search; ``message`` is None if the bug was not found."""
        violated = None if message is None else self.bug.violated_property
        return RegressionResult(
            self.key, property=violated, message=message, example=str(example) if example else None, **values
        )

    @property
    def cell(self) -> UpgradeCell:
        """The cell that is explored."""
        variant = OperatorDeviation.NEVER_REMOVED if self.release_pairs.never_removed else OperatorDeviation.NONE
        return UpgradeCell(
            self.release_pairs.upgrade(self.origin, self.target),
            faults=FAULTS,
            wait_for_quiescence=True,
            deviation=variant,
        )

    @property
    def equivalence_class(self) -> Hashable:
        """A key that is equal for searches with equal results."""
        seen = [
            (behaviour_key(instance), instance.release.behaviour.task_columns, _supports_shutdown(instance.release))
            for instance in self.instance_sequence
        ]
        return (
            self.bug.name,
            self.affected,
            tuple(seen) if self.bug.method is SearchMethod.COARSE_BFS else equivalence_class(self.cell),
        )

    def __str__(self) -> str:
        return str(self.key)


def _supports_shutdown(release: Release) -> bool:
    return release.number >= SHUTDOWN_REQUEST_SINCE


def regression_searches(*, every: bool = False) -> Iterator[RegressionSearch]:
    """Yield the searches: of each bug one affected and one fixed pair, or ``every`` pair with a different result."""
    searched: set[Hashable] = set()
    for bug in BUGS:
        for affected, some in ((True, bug.affected), (False, bug.fixed)):
            searches = [RegressionSearch(bug, ways, *pair, affected) for ways in some for pair in ways.pairs()]
            for search in searches if every else searches[:1]:
                if search.equivalence_class not in searched:
                    searched.add(search.equivalence_class)
                    yield search


def run_search(search: RegressionSearch, *, steps: int = MAX_STEPS) -> RegressionResult:
    """Run a search; ``steps`` is the length of the longest coarse schedule."""
    match search.bug.method:
        case SearchMethod.COARSE_BFS:
            return _coarse(search, steps)
        case SearchMethod.TERMINAL_STATES:
            return _terminal(search)
        case _:
            return _exhaustive(search)


def _coarse(wanted: RegressionSearch, steps: int) -> RegressionResult:
    bug = wanted.bug
    workload = Workload.parse(bug.workload.split()) if bug.workload else DEFAULT_WORKLOAD
    outcome = coarse_bfs(
        CoarseSearch(wanted.instance_sequence, bug.violated_property, bug.error_code, workload, bug.members, steps)
    )
    if outcome.example is None:
        return wanted.result(None, schedules=outcome.schedules, states=None)
    return wanted.result(outcome.message, outcome.example, schedules=outcome.schedules, states=None, confirmed=True)


def _terminal(wanted: RegressionSearch) -> RegressionResult:
    graph = bfs(Encoding(wanted.cell))
    message = never_completed(graph)
    example = scenario_to(graph, graph.terminal_states[0]) if message else None
    return wanted.result(message, example, schedules=count_paths(graph).schedules, states=graph.state_count)


def _exhaustive(wanted: RegressionSearch) -> RegressionResult:
    """Search without faults first: such an example is simpler."""
    without_faults = _exhaustive_with(wanted, evolve(wanted.cell, faults=FaultBudget(0, 0)))
    return without_faults if without_faults.message else _exhaustive_with(wanted, wanted.cell)


def _exhaustive_with(wanted: RegressionSearch, cell: UpgradeCell) -> RegressionResult:
    bug = wanted.bug
    explored = explore(cell)
    result_of = partial(wanted.result, schedules=explored.schedules, states=explored.states)
    broken = (
        counterexample
        for counterexample in explored.counterexamples
        if counterexample.property == bug.violated_property and bug.error_code in {"", counterexample.code}
    )
    for counterexample in broken:
        if not counterexample.example:
            return result_of(counterexample.text, _not_started_example(cell))
        if bug.violated_property == REBALANCING_TERMINATES:
            return result_of(counterexample.text, cycle_scenario(bfs(Encoding(cell))))
        return result_of(counterexample.text, counterexample.example, confirmed=counterexample.confirmed)
    return result_of(None)


def _not_started_example(cell: UpgradeCell) -> str:
    """Return a scenario that cannot be run, because its second instance does not start."""
    first, second, *_ = cell.instance_sequences[0]
    return f"A@{first} | bounce A>{second}"
