"""Examples lose what they can do without, and still fail."""

import pytest
from attrs import evolve

from spark_sim.cell_result import CellResult
from spark_sim.runs import run_all, summarise
from spark_sim.scenario import Scenario
from spark_sim.schedules import schedules, with_crashes
from spark_sim.shrink import first_violation, shrunk, with_smallest_example
from upgrade.matrix import kip_268

UNSAFE = next(upgrade for upgrade in kip_268() if (upgrade.origin.line, upgrade.target.line) == ("1.1", "2.0"))


def test_an_example_keeps_its_property_and_loses_the_rest():
    tried = [each for schedule in schedules(UNSAFE, "ABC") for each in with_crashes(schedule)]
    result = summarise(UNSAFE, run_all(tried, UNSAFE, "0"))
    smallest = with_smallest_example(result)

    assert "A@1.1.1 B@1.1.1 C@1.1.1 | bounce A>2.0.1" == smallest.example
    assert result.violated == first_violation(Scenario.parse(smallest.example)).property
    assert "B: TaskAssignmentException: unable to decode subscription data: version=3" == smallest.message


@pytest.mark.parametrize("line", ["A@2.0.1 | bounce A>simulated-4", "A@2.0.1 B@2.0.1"])
def test_a_scenario_that_violates_nothing_stays_as_it_is(line):
    assert line == str(shrunk(Scenario.parse(line)))


@pytest.mark.parametrize(
    "result",
    [CellResult(UNSAFE), evolve(CellResult(UNSAFE, 1, 1), example="whatever", violated="the simulation fails")],
)
def test_what_has_no_smaller_form_stays_as_it_is(result):
    assert result is with_smallest_example(result)
