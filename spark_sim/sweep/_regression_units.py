"""Searches for Kafka's known bugs as work units: one for each bug in affected and in fixed releases."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from streams_assignor.spark_sim.regressions.mutants import mutants_registered
from streams_assignor.spark_sim.regressions.regression_search import (
    MAX_STEPS,
    RegressionKey,
    RegressionResult,
    RegressionSearch,
    regression_searches,
    run_search,
)
from streams_assignor.spark_sim.sweep.traces import Trace
from streams_assignor.spark_sim.sweep.work_units import COST_OF_A_TASK, WorkUnit


@frozen
class RegressionUnit(WorkUnit):
    """Searches for one bug. Releases that Kafka never had (mutants) are registered only meanwhile."""

    result_type = RegressionResult

    search: RegressionSearch
    steps: int = MAX_STEPS

    @property
    def cell(self) -> RegressionKey:
        """The search by names."""
        return self.search.key

    @property
    def key(self) -> str:
        """A name that files and tables use."""
        return "".join(character if character.isalnum() or character in ".-" else "-" for character in str(self.cell))

    @property
    def cost(self) -> float:
        """The estimated work: each search takes seconds, so it is a task of its own."""
        return COST_OF_A_TASK

    def result(self) -> RegressionResult:
        """Search for the bug."""
        with mutants_registered():
            return run_search(self.search, steps=self.steps)

    def trace(self, example: str) -> Trace[Any]:
        """Return the trace of a counterexample."""
        with mutants_registered():
            return super().trace(example)


def regression_units(*, every: bool = False, steps: int = MAX_STEPS) -> list[RegressionUnit]:
    """Return the searches for all bugs, in one affected and one fixed pair each, or in ``every`` pair."""
    with mutants_registered():
        return [RegressionUnit(search, steps) for search in regression_searches(every=every)]
