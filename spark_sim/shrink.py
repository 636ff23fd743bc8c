"""The smallest history that shows a failure: what a person should look at first.

Steps are left out one by one as long as the same property breaks first. What is left may be less than a whole plan; it
is a scenario like any other, and ``replay`` tells it.
"""

from __future__ import annotations

from attrs import evolve

from spark_sim.cell_result import CellResult
from spark_sim.properties import PROPERTIES, Violation
from spark_sim.scenario import Scenario
from spark_sim.world import World


def first_violation(scenario: Scenario) -> Violation | None:
    """Run a scenario and return what it violates first; None if all holds."""
    return next(iter(World(scenario).run().violations), None)


def shrunk(scenario: Scenario) -> Scenario:
    """Leave out every step that the failure does without; a scenario that violates nothing comes back as it is.

    >>> line = "A@1.1.1 B@1.1.1 | elect oldest | bounce B>2.0.1 | bounce A>2.0.1"
    >>> str(shrunk(Scenario.parse(line)))
    'A@1.1.1 B@1.1.1 | bounce B>2.0.1'
    """
    first = first_violation(scenario)
    place = len(scenario.steps) if first else 0
    while place:
        place -= 1
        shorter = evolve(scenario, steps=scenario.steps[:place] + scenario.steps[place + 1 :])
        found = first_violation(shorter)
        if first and found and first.property == found.property:
            scenario = shorter
    return scenario


def with_smallest_example(result: CellResult) -> CellResult:
    """Return the result with its example shrunk, and with what that one violates."""
    if result.example is None or result.violated not in PROPERTIES:
        return result  # nothing to show, or the simulation itself failed, which has no smaller form
    scenario = Scenario.parse(result.example)
    if any(step.verb == "hold" for step in scenario.steps):
        return result  # exploration finds the shortest ways, and no move of those can be left out
    smallest = shrunk(scenario)
    found = first_violation(smallest)
    return evolve(result, example=str(smallest), message=str(found) if found else result.message)
