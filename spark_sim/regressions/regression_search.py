"""Searches for a known bug in a pair of releases; the only input is the violated property.

The exhaustive search explores every schedule of three members with one crash and one missed rebalance timeout, with an
operator that waits for quiescence. The coarse search runs every schedule of up to three steps (``coarse_bfs``).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Final

from attrs import evolve, field, frozen

from spark_sim.model.processes import SHUTDOWN_REQUEST_SINCE
from spark_sim.model.violations import REBALANCING_TERMINATES
from spark_sim.model.workload import DEFAULT_WORKLOAD, Workload
from spark_sim.packed import FaultBudget, OperatorDeviation, UpgradeCell, explore
from spark_sim.packed.bfs import bfs
from spark_sim.packed.encoding import Encoding
from spark_sim.packed.equivalence import behaviour_key, equivalence_class
from spark_sim.packed.paths import cycle_scenario, scenario_to
from spark_sim.regressions._coarse_bfs import CoarseSearch, coarse_bfs
from spark_sim.regressions._extra_properties import never_completed
from spark_sim.regressions.known_bugs import BUGS, KnownBug, ReleasePairs, SearchMethod
from spark_sim.search.path_counting import count_paths
from upgrade.releases import Release

FAULTS: Final = FaultBudget(crashes=1, rebalance_timeouts=1)
MAX_STEPS: Final = 3


@frozen
class RegressionSearch:
    """The search for one bug in one pair of releases."""

    bug: KnownBug
    release_pairs: ReleasePairs
    origin: Release
    target: Release
    affected: bool
    """Whether the pair has the bug."""

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
        course = self.release_pairs.instance_sequence(self.origin, self.target)
        seen = [
            (behaviour_key(each), each.release.behaviour.task_columns, _supports_shutdown(each.release))
            for each in course
        ]
        return (
            self.bug.name,
            self.affected,
            tuple(seen) if self.bug.method is SearchMethod.COARSE_BFS else equivalence_class(self.cell),
        )

    def __str__(self) -> str:
        return f"{self.bug.name} {' '.join(map(str, self.release_pairs.instance_sequence(self.origin, self.target)))}"


def _supports_shutdown(release: Release) -> bool:
    return release.number >= SHUTDOWN_REQUEST_SINCE


@frozen
class RegressionResult:
    """The result of a search."""

    search: RegressionSearch = field(eq=False)
    message: str | None = None
    """The text of the violation; None if the bug was not found."""
    example: str = ""
    """A shortest schedule that shows the bug."""
    schedules: int | None = None
    """The number of schedules; None if rebalancing does not terminate, or if no member starts."""
    states: int | None = None
    """The number of states; None for a coarse search, and if no member starts."""
    confirmed: bool | None = None
    """Whether simulated members reproduce a violation of packed states; None if this was not checked."""

    @property
    def as_expected(self) -> bool:
        """Whether the bug was found in an affected pair, or not found in a fixed one."""
        return (self.message is not None) == self.search.affected and self.confirmed is not False


def regression_searches(*, every: bool = False) -> Iterator[RegressionSearch]:
    """Yield the searches: of each bug one affected and one fixed pair, or ``every`` pair with a different result."""
    known: set[Hashable] = set()
    for bug in BUGS:
        for affected, some in ((True, bug.affected), (False, bug.fixed)):
            found = [RegressionSearch(bug, ways, *pair, affected) for ways in some for pair in ways.pairs()]
            for each in found if every else found[:1]:
                if each.equivalence_class not in known:
                    known.add(each.equivalence_class)
                    yield each


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
    course = wanted.release_pairs.instance_sequence(wanted.origin, wanted.target)
    found = coarse_bfs(CoarseSearch(course, bug.violated_property, bug.error_code, workload, bug.members, steps))
    if found.example is None:
        return RegressionResult(wanted, schedules=found.schedules)
    return RegressionResult(wanted, found.message, str(found.example), found.schedules, confirmed=True)


def _terminal(wanted: RegressionSearch) -> RegressionResult:
    graph = bfs(Encoding(wanted.cell))
    message = never_completed(graph)
    example = str(scenario_to(graph, graph.terminal_states[0])) if message else ""
    return RegressionResult(wanted, message, example, count_paths(graph).schedules, graph.state_count)


def _exhaustive(wanted: RegressionSearch) -> RegressionResult:
    """Search without faults first: such an example is simpler."""
    found = _exhaustive_with(wanted, evolve(wanted.cell, faults=FaultBudget(0, 0)))
    return found if found.message else _exhaustive_with(wanted, wanted.cell)


def _exhaustive_with(wanted: RegressionSearch, cell: UpgradeCell) -> RegressionResult:
    bug = wanted.bug
    explored = explore(cell)
    found = RegressionResult(wanted, schedules=explored.schedules, states=explored.states)
    broken = (
        each
        for each in explored.counterexamples
        if each.property == bug.violated_property and bug.error_code in {"", each.code}
    )
    for each in broken:
        if not each.example:
            return evolve(found, message=each.text, example=_not_started_example(cell))
        if bug.violated_property == REBALANCING_TERMINATES:
            return evolve(found, message=each.text, example=str(cycle_scenario(bfs(Encoding(cell)))))
        return evolve(found, message=each.text, example=each.example, confirmed=each.confirmed)
    return found


def _not_started_example(cell: UpgradeCell) -> str:
    """Return a scenario that cannot be run, because its second instance does not start."""
    first, second, *_ = cell.instance_sequences[0]
    return f"A@{first} | bounce A>{second}"
