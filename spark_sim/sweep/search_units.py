"""Searches as work units: for Kafka's known bugs, for the findings about streams groups, and rolls with faults.

The result of each is that of a search for a known bug: where it is found, and where not.
"""

from __future__ import annotations

from typing import Any

from attrs import astuple, evolve, frozen

from streams_assignor.spark_sim.model.scenario import ScenarioError
from streams_assignor.spark_sim.regressions.mutants import mutants_registered
from streams_assignor.spark_sim.regressions.regression_search import (
    MAX_STEPS,
    RegressionKey,
    RegressionResult,
    RegressionSearch,
    regression_searches,
    run_search,
)
from streams_assignor.spark_sim.rolls import RollSearch, roll_searches
from streams_assignor.spark_sim.streams_groups.parser import parse_scenario
from streams_assignor.spark_sim.streams_groups.searches import ADVISORY_PROPERTIES, StreamsSearch, streams_searches
from streams_assignor.spark_sim.sweep.traces import Trace, TraceStep, trace_group_scenario, trace_line
from streams_assignor.spark_sim.sweep.work_units import COST_OF_A_TASK, WorkUnit

_STEP = "; "
_COST_OF_TWO = 800_000.0
_PER_MEMBER = 4.0
_PER_ROUND = 2.0


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


@frozen
class RollUnit(WorkUnit):
    """Explores one roll; its result is that of a search for a bug that nobody has."""

    result_type = RegressionResult

    search: RollSearch

    @property
    def cell(self) -> RegressionKey:
        """The search by names: the plan and the group, and what each instance runs, one after the other."""
        configs = [self.search.kind.origin, *(roll_round.config for roll_round in self.search.plan.rounds)]
        return RegressionKey(self.search.name, tuple(map(str, configs)), affected=False)

    @property
    def key(self) -> str:
        """A short name."""
        return "-".join(self.search.name.replace(",", "").replace(":", "").split())

    @property
    def cost(self) -> float:
        """The estimated work, in moves of packed states, good to a factor of three."""
        rounds = len(self.search.plan.rounds)
        return _COST_OF_TWO * _PER_MEMBER ** (self.search.members - 2) * _PER_ROUND ** (rounds - 1)

    def result(self) -> RegressionResult:
        """Explore every schedule."""
        found = self.search.explore()
        first = found.findings[0] if found.findings else None
        return RegressionResult(
            self.cell,
            states=found.states,
            transitions=found.transitions,
            schedules=found.schedules,
            violations=len(found.findings),
            property=first.violation.property if first else None,
            message=str(first.violation) if first else None,
            example=_STEP.join((self.search.name, *first.actions)) if first else None,
        )

    def trace(self, example: str) -> Trace[Any]:
        """Return the trace of a counterexample: what happens, in words."""
        name, *actions = example.split(_STEP)
        steps = tuple(TraceStep[Any](action, "", ()) for action in actions)
        return Trace(example, (), name, {}, steps)


def roll_units() -> list[RollUnit]:
    """Return the rolls that are searched."""
    return [*map(RollUnit, roll_searches())]


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
