"""Searches for Kafka's known bugs as work units: one for each bug in affected and in fixed releases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from attrs import field, frozen

from spark_sim.pipeline.work_units import COST_OF_A_PARTITION, WorkUnit
from spark_sim.regressions.mutants import mutants_registered
from spark_sim.regressions.regression_search import MAX_STEPS, RegressionSearch, regression_searches, run_search
from spark_sim.search.cell_result import SIMULATION_FAILS, CellResult
from spark_sim.search.tables import Column, Table, stored


class RegressionKey(NamedTuple):
    """One search by names."""

    bug: str
    instances: tuple[str, ...]
    """What each member runs, from the first release to the last."""
    affected: bool
    """Whether Kafka has the bug there."""

    def __str__(self) -> str:
        return f"{self.bug} {' '.join(self.instances)}"


@frozen(kw_only=True)
class RegressionCellResult(CellResult):
    """The result of one search: ``message`` is None if the bug was not found."""

    cell: RegressionKey = field(kw_only=False)
    confirmed: bool | None = None
    """Whether simulated members replay the example; None if that was not tried."""

    @property
    def found(self) -> bool:
        """Whether the search found the bug."""
        return self.message is not None and self.violated != SIMULATION_FAILS

    @property
    def as_expected(self) -> bool:
        """Whether the bug was found exactly where Kafka has it."""
        return self.found == self.cell.affected and self.confirmed is not False and self.violated != SIMULATION_FAILS


@frozen
class RegressionUnit(WorkUnit):
    """Searches for one bug. Releases that Kafka never had (mutants) are registered only meanwhile."""

    result_type = RegressionCellResult

    search: RegressionSearch
    steps: int = MAX_STEPS

    @property
    def cell(self) -> RegressionKey:
        """The search by names."""
        search = self.search
        instances = search.release_pairs.instance_sequence(search.origin, search.target)
        return RegressionKey(search.bug.name, tuple(map(str, instances)), search.affected)

    @property
    def key(self) -> str:
        """A short name."""
        return "".join(each if each.isalnum() or each in ".-" else "-" for each in str(self.cell))

    @property
    def cost(self) -> float:
        """The estimated work: each search takes seconds, so it is a partition of its own."""
        return COST_OF_A_PARTITION

    def result(self) -> RegressionCellResult:
        """Search for the bug."""
        with mutants_registered():
            found = run_search(self.search, steps=self.steps)
        return RegressionCellResult(
            self.cell,
            violated=None if found.message is None else self.search.bug.violated_property,
            message=found.message,
            example=found.example or None,
            states=found.states,
            schedules=found.schedules,
            confirmed=found.confirmed,
        )


def regression_units(*, every: bool = False, steps: int = MAX_STEPS) -> list[RegressionUnit]:
    """Return the searches for all bugs, in one affected and one fixed pair each, or in ``every`` pair."""
    with mutants_registered():
        return [RegressionUnit(search, steps) for search in regression_searches(every=every)]


REGRESSION_TABLE: Final[Table[RegressionCellResult]] = Table(
    (
        Column("bug", get=lambda result: result.cell.bug),
        Column("course", get=lambda result: list(result.cell.instances)),
        Column("affected", get=lambda result: result.cell.affected),
        Column("found"),
        stored("said", "message"),
        Column("example", "example", lambda result: result.example or "", lambda value: value or None),
        Column(
            "schedules",
            "schedules",
            # As text, because many JSON readers cannot hold such a number.
            lambda result: None if result.schedules is None else str(result.schedules),
            lambda value: None if value is None else int(value),
        ),
        stored("states"),
        stored("confirmed"),
    )
)
"""``history.json``."""


def parse_regression_result(record: Mapping[str, Any]) -> RegressionCellResult:
    """Return the result of a record of ``REGRESSION_TABLE``.

    Raises:
        KeyError: A column is missing.
    """
    key = RegressionKey(record["bug"], tuple(record["course"]), record["affected"])
    values = REGRESSION_TABLE.fields(record)
    return RegressionCellResult(key, **values)
