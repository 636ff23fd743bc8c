"""Kafka's own history, found again: each bug where it was, and not where it was mended or never came."""

from contextlib import suppress
from functools import cache

import pytest
from attrs import evolve

from streams_assignor.spark_sim.model.scenario import Scenario, ScenarioError
from streams_assignor.spark_sim.model.simulation import Simulation
from streams_assignor.spark_sim.model.violations import ADVISORY_PROPERTIES
from streams_assignor.spark_sim.packed import FaultBudget
from streams_assignor.spark_sim.packed.bfs import bfs as explored
from streams_assignor.spark_sim.packed.encoding import Encoding
from streams_assignor.spark_sim.packed.paths import cycle_scenario, scenario_to
from streams_assignor.spark_sim.regressions._coarse_bfs import HOLD, SETTLE
from streams_assignor.spark_sim.regressions._extra_properties import (
    ASSIGNED_PARTITIONS_RECORDED,
    UPGRADE_COMPLETED,
    ExtraPropertySimulation,
)
from streams_assignor.spark_sim.regressions.known_bugs import BUGS, SearchMethod
from streams_assignor.spark_sim.regressions.mutants import mutants_registered
from streams_assignor.spark_sim.regressions.regression_search import (
    RegressionResult,
    RegressionSearch,
    regression_searches,
    run_search,
)
from streams_assignor.spark_sim.search.path_counting import count_paths
from streams_assignor.upgrade import ConfigException, release_named

with mutants_registered():
    ONE_OF_EACH = tuple(regression_searches())
ROWS = ("B1", "B2", "B3", "B3b", "B4", "B5", "B6", "B7", "B8", "B9", "B11", "B12", "B13", "B14", "B15", "B17", "B19")
LATENT = ("L1", "L2", "L3", "L4", "L5", "L6", "L7")
RELEASED = release_named("2.0.1"), release_named("2.2.2")
AFFECTED = [each for each in ONE_OF_EACH if each.affected]
HUNTED = [each for each in AFFECTED if each.bug.method is SearchMethod.COARSE_BFS]


@cache
def every_search() -> tuple[RegressionSearch, ...]:
    """Computed when a test asks: its equivalence classes cost each collection two seconds."""
    with mutants_registered():
        return tuple(regression_searches(every=True))


@cache
def found(search: RegressionSearch, steps: int) -> RegressionResult:
    with mutants_registered():
        return run_search(search, steps=steps)


@pytest.mark.slow
@pytest.mark.parametrize("search", ONE_OF_EACH, ids=str)
def test_it_is_found_where_it_was_and_not_where_it_was_not(search):
    assert found(search, 2).as_expected


@pytest.mark.exhaustive
@pytest.mark.parametrize("bug", sorted({each.bug.name for each in ONE_OF_EACH}))
def test_it_is_found_wherever_it_was_and_nowhere_else(bug):
    searches = [each for each in every_search() if each.bug.name == bug]

    assert searches
    assert [str(each) for each in searches if not found(each, 3).as_expected] == []


def test_b19_is_found_in_releases_whose_members_keep_their_process_ids():
    """Of two such members since 3.2, one that returns gets only tasks whose stores it has; a third one is needed."""
    searches = [search for search in every_search() if search.bug.name == "B19" and search.affected]
    unlike = [str(search.origin) for search in searches if not found(search, 1).found]

    assert {"3.2.0", "3.4.0"} <= {str(search.origin) for search in searches}
    assert [] == unlike


def test_every_row_of_the_history_is_looked_for_on_both_sides():
    known = {(each.bug.name, each.affected) for each in ONE_OF_EACH}

    assert {(row, side) for row in (*ROWS, *LATENT) for side in (True, False)} <= known


@pytest.mark.parametrize("search", AFFECTED, ids=str)
def test_an_example_violates_the_same_property_when_it_is_replayed(search):
    """But for what only this package looks at, releases that never were, and a circle (in which answers come last)."""
    unseen = search.bug.name == "B3b" or search.bug.violated_property in {
        ASSIGNED_PARTITIONS_RECORDED,
        UPGRADE_COMPLETED,
    }
    if unseen or not search.target.name[0].isdigit():
        pytest.skip("a plain replay does not show it")
    example = found(search, 2).example
    if search.bug.name in {"B14", "B15"}:
        with pytest.raises(ConfigException):
            Scenario.parse(example)
        return
    simulation = Simulation(Scenario.parse(example)).run()
    seen = simulation.remarks if search.bug.violated_property in ADVISORY_PROPERTIES else simulation.violations

    assert search.bug.violated_property in {each.property for each in seen}


@pytest.mark.parametrize("search", HUNTED, ids=str)
def test_no_step_of_an_example_can_be_left_out(search):
    """Breadth first means shortest: without any one step the property holds, or the rest cannot be played."""
    example = found(search, 2).example
    with mutants_registered():
        scenario = Scenario.parse(example)
        for place in (place for place, step in enumerate(scenario.steps) if step not in {HOLD, SETTLE}):
            steps = scenario.steps[:place] + scenario.steps[place + 1 :]
            with suppress(ScenarioError):
                simulation = ExtraPropertySimulation(evolve(scenario, steps=steps)).run()
                found_again = [
                    each
                    for each in (*simulation.violations, *simulation.remarks)
                    if each.property == search.bug.violated_property
                ]
                assert not any(search.bug.error_code in {"", each.code} for each in found_again)


def test_a_circle_is_shown_once_round():
    """The members of 2.1 leave and come back in turn, and each receives version 4 from the other."""
    search = next(each for each in AFFECTED if each.bug.name == "B3b")
    cell = evolve(search.cell, faults=FaultBudget(0, 0))
    graph = explored(Encoding(cell))
    start = count_paths(graph).cycle_state
    scenario = cycle_scenario(graph)
    way_there = scenario_to(graph, start).steps

    assert way_there == scenario.steps[: len(way_there)]
    assert {"join", "lead", "take"} <= {step.verb for step in scenario.steps[len(way_there) :]}
    assert {"stop", "start", "crash", "late"}.isdisjoint(step.verb for step in scenario.steps[len(way_there) :])
    assert cycle_scenario(explored(Encoding(evolve(cell, upgrade=BUGS[2].fixed[0].upgrade(*RELEASED))))) is None


def test_releases_of_ways_are_all_that_lie_between():
    ways = BUGS[2].affected[0]

    assert {("2.0.0", "2.1.0"), ("2.0.1", "2.3.0")} <= {(a.name, b.name) for a, b in ways.pairs()}
    assert "2.2.2" not in {target.name for _, target in ways.pairs()}


def test_pairs_that_cannot_differ_are_searched_once():
    with mutants_registered():
        pairs = sum(len(list(ways.pairs())) for bug in BUGS for ways in (*bug.affected, *bug.fixed))

    assert len({each.equivalence_class for each in every_search()}) == len(every_search()) < pairs / 10
