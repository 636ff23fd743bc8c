"""Searches for the findings about streams groups as work units: one for each group in which a finding is or is not."""

from __future__ import annotations

from typing import Any

from attrs import astuple, evolve, frozen

from streams_assignor.spark_sim.model.scenario import ScenarioError
from streams_assignor.spark_sim.regressions.regression_search import RegressionKey, RegressionResult
from streams_assignor.spark_sim.streams_groups.parser import parse_scenario
from streams_assignor.spark_sim.streams_groups.searches import ADVISORY_PROPERTIES, StreamsSearch, streams_searches
from streams_assignor.spark_sim.sweep.traces import Trace, trace_group_scenario, trace_line
from streams_assignor.spark_sim.sweep.work_units import WorkUnit


@frozen
class StreamsUnit(WorkUnit):
    """Explores one group; its result is that of a search for a known bug."""

    result_type = RegressionResult

    search: StreamsSearch

    @property
    def cell(self) -> RegressionKey:
        """The search by names: the release of the members, and that of the coordinator."""
        scenario = parse_scenario(self.search.line)
        (_, client), *_ = scenario.members
        return RegressionKey(self.search.finding.name, (client, scenario.coordinator), self.search.is_affected)

    @property
    def key(self) -> str:
        """A short name."""
        name = self.search.finding.name.replace(", ", "-").replace(" ", "-").replace("+", "-")
        return "-".join((name, *self.cell.instances, str(self.search.is_affected)))

    @property
    def cost(self) -> float:
        """The estimated work, good to a factor of ten: each further event costs five times as much."""
        budget = self.search.budget
        events = 1 if self.search.finding.settles else sum(astuple(budget))
        return 100_000 * 5.0 ** max(events - 1, 0)

    def result(self) -> RegressionResult:
        """Explore every schedule, and replay the example."""
        explored = self.search.explore()
        result = RegressionResult(
            self.cell, states=explored.states, transitions=explored.transitions, schedules=explored.schedules
        )
        if not explored.counterexamples:
            if not explored.complete:
                raise ScenarioError(f"the search ended after {explored.states} states, before it was complete")
            return result
        expected = self.search.finding.violated_property
        violated = expected if expected in explored.counterexamples else next(iter(explored.counterexamples))
        found = explored.counterexamples[violated]
        example, is_shown = _replayed(str(found.example), violated)
        confirmed = False if violated != expected else is_shown
        return evolve(result, property=violated, message=str(found.violation), example=example, confirmed=confirmed)

    def trace(self, example: str) -> Trace[Any]:
        """Return the trace of a counterexample."""
        return trace_group_scenario(parse_scenario(example))


def _replayed(example: str, violated: str) -> tuple[str, bool | None]:
    """Return the example as it shows the violation, and whether it does: what costs time only is in no replay."""
    for line in (example, f"{example} | settle"):
        if violated in {violation.property for violation in trace_line(line).violations}:
            return line, True
    return example, None if violated in ADVISORY_PROPERTIES else False


def streams_units() -> list[StreamsUnit]:
    """Return the searches for all findings."""
    return [*map(StreamsUnit, streams_searches())]
