"""Shrinking of a violating scenario: what remains is easier to understand.

Steps are removed one by one as long as the same property is violated first. The result may be less than a whole plan;
it is a scenario like any other, so ``replay`` can play it.
"""

from __future__ import annotations

from attrs import evolve

from streams_assignor.spark_sim.model.properties import PROPERTIES
from streams_assignor.spark_sim.model.scenario import Scenario
from streams_assignor.spark_sim.model.simulation import Simulation
from streams_assignor.spark_sim.model.violations import Violation
from streams_assignor.spark_sim.search.cell_result import UpgradeResult


def first_violation(scenario: Scenario) -> Violation | None:
    """Return the first violation of a scenario's run; None without one."""
    return next(iter(Simulation(scenario).run().violations), None)


def shrink_scenario(scenario: Scenario) -> Scenario:
    """Return a scenario without the steps that its first violation does not need; unchanged without a violation.

    >>> line = "A@1.1.1 B@1.1.1 | elect oldest | bounce B>2.0.1 | bounce A>2.0.1"
    >>> str(shrink_scenario(Scenario.parse(line)))
    'A@1.1.1 B@1.1.1 | bounce B>2.0.1'
    """
    first = first_violation(scenario)
    place = len(scenario.steps) if first else 0
    while place:
        place -= 1
        shorter = evolve(scenario, steps=scenario.steps[:place] + scenario.steps[place + 1 :])
        remaining = first_violation(shorter)
        if first and remaining and first.property == remaining.property:
            scenario = shorter
    return scenario


def shrink_example(result: UpgradeResult) -> UpgradeResult:
    """Return the result with its example shrunk, and with what that one violates."""
    if result.example is None or result.property not in PROPERTIES:
        return result  # nothing to show, or the simulation itself failed, which has no smaller form
    scenario = Scenario.parse(result.example)
    if any(step.verb == "hold" for step in scenario.steps):
        return result  # exploration finds the shortest ways, and no move of those can be left out
    smallest = shrink_scenario(scenario)
    violation = first_violation(smallest)
    return evolve(result, example=str(smallest), message=str(violation) if violation else result.message)
