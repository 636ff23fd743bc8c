"""Rolls with faults as work units: one for each plan and group. The searched fault must not be found."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from streams_assignor.spark_sim.regressions.regression_search import RegressionKey, RegressionResult
from streams_assignor.spark_sim.rolls import RollSearch, roll_searches
from streams_assignor.spark_sim.sweep.traces import Trace, TraceStep
from streams_assignor.spark_sim.sweep.work_units import WorkUnit

_STEP = "; "
_COST_OF_TWO = 800_000.0
_PER_MEMBER = 4.0
_PER_ROUND = 2.0


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
