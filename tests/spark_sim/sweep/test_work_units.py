"""The work of a sweep: everything once, in slices of a task's size, alike wherever it is cut."""

import json

import pytest
from attrs import evolve

from streams_assignor.spark_sim.model.scenario import Scenario
from streams_assignor.spark_sim.model.settle import MAX_REBALANCES
from streams_assignor.spark_sim.model.simulation import Simulation
from streams_assignor.spark_sim.model.violations import NO_MEMBER_FAILS
from streams_assignor.spark_sim.packed import ExplorationResult, FaultBudget, UpgradeCell, explore
from streams_assignor.spark_sim.packed.explorer import Counterexample
from streams_assignor.spark_sim.packed.upgrade_result import upgrade_result
from streams_assignor.spark_sim.search.cell_result import CONCRETE_REPLAY_DISAGREES, INCOMPLETE, SAFE, UNSAFE
from streams_assignor.spark_sim.sweep.equivalence import representatives, upgrade_class
from streams_assignor.spark_sim.sweep.work_units import (
    ExhaustiveUnit,
    SampleUnit,
    SweepConfig,
    cut_into_tasks,
    unit_key,
)
from streams_assignor.upgrade.plans import Plan, Upgrade, all_upgrades, kip_268_plans, kip_268_upgrades
from streams_assignor.upgrade.releases import release_named

CALM = SweepConfig(members=2, faults=FaultBudget(0, 0), wait_for_quiescence=True, runs=3)


def upgrade(origin, target, plan=Plan.ONE_BOUNCE, value=None):
    return Upgrade(release_named(origin), release_named(target), plan, value)


UNSAFE_ONE = upgrade("1.1", "2.0")


def test_small_groups_are_explored_and_larger_ones_drawn():
    assert {ExhaustiveUnit} == {type(job) for job in SweepConfig(members=5).units([UNSAFE_ONE])}
    assert {SampleUnit} == {type(job) for job in SweepConfig(members=6).units([UNSAFE_ONE])}
    assert {SampleUnit} == {type(job) for job in SweepConfig(sample=5).units([UNSAFE_ONE])}


def test_upgrades_that_behave_alike_are_one_job():
    same = [upgrade("1.1.1", "2.0.1"), upgrade("1.0.2", "2.0.0"), upgrade("0.10.2.2", "2.0.0")]
    other = [upgrade("1.1.0", "2.0.1"), upgrade("1.1.1", "2.0.1", Plan.OFFLINE)]

    assert 1 == len(list(CALM.units(same)))
    assert 3 == len(list(CALM.units(same + other)))


def test_what_is_refused_is_a_job_of_its_own():
    """Its message names the value and what would have been accepted, which differ from release to release."""
    refused = [upgrade("2.3", target, Plan.TWO_BOUNCES, "2.3") for target in ("4.0.0", "4.2.0")]

    assert 2 == len(representatives(refused))


@pytest.mark.slow
def test_the_matrix_of_all_releases_is_some_thousand_jobs():
    upgrades = all_upgrades()

    assert len(representatives(upgrades)) < len(upgrades) / 10


# -- what comes of a job ---------------------------------------------------------------------------------------------


def test_an_explored_upgrade_says_how_much_was_explored():
    (job,) = CALM.units([UNSAFE_ONE])
    result = job.result()
    plain = json.loads(json.dumps(result.as_record()))

    assert UNSAFE == result.verdict
    assert min(result.states, result.transitions, result.schedules) > 0
    assert (2, {"crashes": 0, "rebalance_timeouts": 0, "spurious_joins": 0, "wait_for_quiescence": True}) == (
        plain["members"],
        plain["faults"],
    )
    assert Simulation(Scenario.parse(result.example)).run().violations


def test_real_members_play_schedules_that_are_spread_over_all():
    (job,) = CALM.units([UNSAFE_ONE])
    few, many = (list(evolve(job, runs=runs).scenarios()) for runs in (3, 10_000))

    assert 3 == len(set(map(str, few)))
    assert {str(each) for each in few} < {str(each) for each in many}
    assert len(many) == len(set(map(str, many)))
    assert [] == list(evolve(job, runs=0).scenarios())


def explored(*broken, rebalances=3, schedules=10):
    return ExplorationResult(UpgradeCell(UNSAFE_ONE), 5, 6, schedules, 7, rebalances, counterexamples=broken)


def test_the_shortest_example_is_shown():
    result = upgrade_result(explored(Counterexample("p", "t", "longer", True), Counterexample("q", "u", "short", True)))

    assert ("q", "u", "short") == (result.property, result.message, result.example)
    assert SAFE == upgrade_result(explored()).verdict


def test_what_real_members_do_not_confirm_comes_first():
    result = upgrade_result(explored(Counterexample("p", "t", "s", True), Counterexample("q", "u", "longer", False)))

    assert (CONCRETE_REPLAY_DISAGREES, "longer") == (result.property, result.example)


def test_rebalancing_without_end_has_no_number_of_schedules():
    result = upgrade_result(explored(rebalances=None, schedules=None))

    assert (None, MAX_REBALANCES) == (result.schedules, result.max_rebalances)


def test_a_configuration_that_no_member_starts_with_is_unsafe_without_an_example():
    result = next(CALM.units([upgrade("2.3", "4.0.0", Plan.TWO_BOUNCES, "2.3")])).result()

    assert (UNSAFE, NO_MEMBER_FAILS, None) == (result.verdict, result.property, result.example)


# -- slices ----------------------------------------------------------------------------------------------------------


def cut(jobs):
    return cut_into_tasks(jobs, lambda job: job.cost)


def test_tasks_hold_every_unit_once_in_order():
    jobs = list(CALM.units(kip_268_upgrades()))

    assert jobs == [job for task in cut(jobs) for job in task]
    assert cut(jobs) == cut(jobs)
    assert [] == cut([])


def test_a_large_unit_is_a_task_of_its_own():
    jobs = list(SweepConfig(members=5).units(kip_268_plans(release_named("2.0"), release_named("3.9"))))

    assert [1] * len(jobs) == [len(task) for task in cut(jobs)]


def test_keys_differ_with_all_that_a_unit_is_given_and_with_the_computing_code(monkeypatch):
    (job,) = CALM.units([UNSAFE_ONE])
    others = [evolve(job, runs=4), evolve(job, packed_cell=evolve(job.packed_cell, members=3))]
    before = unit_key(job)
    monkeypatch.setattr("streams_assignor.spark_sim.sweep.work_units.code_digest", lambda: "other code")

    assert 4 == len({before, *map(unit_key, (job, *others))})


def test_estimates_grow_with_whatever_makes_work():
    least = SweepConfig(faults=FaultBudget(0, 0), wait_for_quiescence=True)
    more = [
        evolve(least, wait_for_quiescence=False),
        evolve(least, faults=FaultBudget(1, 0)),
        evolve(least, faults=FaultBudget(0, 1)),
    ]
    costs = [next(each.units([UNSAFE_ONE])).cost for each in (least, *more, evolve(least, members=4))]

    assert costs[0] == min(costs)
    assert len(costs) == len(set(costs))


@pytest.mark.slow
def test_equal_behaviour_is_equal_results():
    for one, other in ((("1.1.1", "2.0.1"), ("0.11.0.3", "2.0.0")), (("2.1.0", "2.4.0"), ("2.3.0", "2.4.1"))):
        first, second = upgrade(*one), upgrade(*other)
        results = [next(CALM.units([each])).result() for each in (first, second)]

        assert upgrade_class(first) == upgrade_class(second)
        assert results[0].for_upgrade(second) == results[1]


def test_what_was_not_explored_to_the_end_is_not_called_safe():
    cell = UpgradeCell(
        Upgrade(release_named("2.4.1"), release_named("2.5.1"), Plan.ONE_BOUNCE), faults=FaultBudget(0, 0)
    )

    assert "safe" == upgrade_result(explore(cell)).verdict
    cut_short = upgrade_result(explore(cell, max_states=100))
    assert ("unknown", INCOMPLETE) == (cut_short.verdict, cut_short.property)
    assert "--wait" in cut_short.message
