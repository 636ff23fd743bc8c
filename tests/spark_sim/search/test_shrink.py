"""Shrunk examples have fewer steps and violate the same property."""

import pytest
from attrs import evolve

from streams_assignor.spark_sim.model.scenario import Scenario
from streams_assignor.spark_sim.search.cell_result import UpgradeResult
from streams_assignor.spark_sim.search.schedules import crash_variants, upgrade_schedules
from streams_assignor.spark_sim.search.shrink import first_violation, shrink_example, shrink_scenario
from streams_assignor.spark_sim.sweep.runs import run_scenarios, summarize
from streams_assignor.upgrade.plans import kip_268_upgrades

UNSAFE = next(upgrade for upgrade in kip_268_upgrades() if (upgrade.origin.line, upgrade.target.line) == ("1.1", "2.0"))


def test_an_example_keeps_its_property_and_loses_the_rest():
    tried = [each for schedule in upgrade_schedules(UNSAFE, "ABC") for each in crash_variants(schedule)]
    result = summarize(UNSAFE, list(run_scenarios(tried, UNSAFE, "0")))
    smallest = shrink_example(result)

    assert "A@1.1.1 B@1.1.1 C@1.1.1 | bounce A>2.0.1" == smallest.example
    assert result.property == first_violation(Scenario.parse(smallest.example)).property
    assert "B: TaskAssignmentException: unable to decode subscription data: version=3" == smallest.message


@pytest.mark.parametrize("line", ["A@2.0.1 | bounce A>simulated-4", "A@2.0.1 B@2.0.1"])
def test_a_scenario_that_violates_nothing_stays_as_it_is(line):
    assert line == str(shrink_scenario(Scenario.parse(line)))


@pytest.mark.parametrize(
    "result",
    [
        UpgradeResult(UNSAFE),
        evolve(UpgradeResult(UNSAFE, runs=1, violations=1), example="whatever", property="the simulation fails"),
    ],
)
def test_what_has_no_smaller_form_stays_as_it_is(result):
    assert result is shrink_example(result)
