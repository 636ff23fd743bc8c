"""What a sweep has to do: everything once, in slices of a task's size, alike wherever it is cut."""

import json

from attrs import evolve

from spark_sim.cell_result import SAFE, UNSAFE
from spark_sim.explore import Cell, Explored, Faults, explore
from spark_sim.explore.exploring import Broken
from spark_sim.jobs import (
    DISAGREE,
    INCOMPLETE,
    Draw,
    Explore,
    Extent,
    behaviour_of,
    of_explored,
    representatives,
    slices,
)
from spark_sim.properties import NOBODY_DIES
from spark_sim.resting import MOST_REBALANCES
from spark_sim.scenario import Scenario
from spark_sim.world import World
from upgrade.matrix import Plan, Upgrade, everything, kip_268, plans
from upgrade.releases import release_named

CALM = Extent(members=2, faults=Faults(0, 0), patient=True, runs=3)


def upgrade(origin, target, plan=Plan.ONE_BOUNCE, value=None):
    return Upgrade(release_named(origin), release_named(target), plan, value)


UNSAFE_ONE = upgrade("1.1", "2.0")


def test_small_groups_are_explored_and_larger_ones_drawn():
    assert {Explore} == {type(job) for job in Extent(members=5).jobs([UNSAFE_ONE])}
    assert {Draw} == {type(job) for job in Extent(members=6).jobs([UNSAFE_ONE])}
    assert {Draw} == {type(job) for job in Extent(sample=5).jobs([UNSAFE_ONE])}


def test_upgrades_that_behave_alike_are_one_job():
    same = [upgrade("1.1.1", "2.0.1"), upgrade("1.0.2", "2.0.0"), upgrade("0.10.2.2", "2.0.0")]
    other = [upgrade("1.1.0", "2.0.1"), upgrade("1.1.1", "2.0.1", Plan.OFFLINE)]

    assert 1 == len(list(CALM.jobs(same)))
    assert 3 == len(list(CALM.jobs(same + other)))


def test_what_is_refused_is_a_job_of_its_own():
    """Its message names the value and what would have been accepted, which differ from release to release."""
    refused = [upgrade("2.3", target, Plan.TWO_BOUNCES, "2.3") for target in ("4.0.0", "4.2.0")]

    assert 2 == len(representatives(refused))


def test_the_matrix_of_all_releases_is_some_thousand_jobs():
    upgrades = everything()

    assert len(representatives(upgrades)) < len(upgrades) / 10


# -- what comes of a job ---------------------------------------------------------------------------------------------


def test_an_explored_upgrade_says_how_much_was_explored():
    (job,) = CALM.jobs([UNSAFE_ONE])
    result = job.found()
    plain = json.loads(json.dumps(result.as_json()))

    assert UNSAFE == result.verdict
    assert min(result.states, result.transitions, result.schedules) > 0
    assert (2, {"crashes": 0, "lates": 0, "nudges": 0, "patient": True}) == (plain["members"], plain["faults"])
    assert World(Scenario.parse(result.example)).run().violations


def test_real_members_play_schedules_that_are_spread_over_all():
    (job,) = CALM.jobs([UNSAFE_ONE])
    few, many = (list(evolve(job, runs=runs).scenarios()) for runs in (3, 10_000))

    assert 3 == len(set(map(str, few)))
    assert {str(each) for each in few} < {str(each) for each in many}
    assert len(many) == len(set(map(str, many)))
    assert [] == list(evolve(job, runs=0).scenarios())


def explored(*broken, rebalances=3, schedules=10):
    return Explored(Cell(UNSAFE_ONE), 5, 6, schedules, 7, rebalances, broken=broken)


def test_the_shortest_example_is_told():
    result = of_explored(explored(Broken("p", "t", "longer", True), Broken("q", "u", "short", True)))

    assert ("q", "u", "short") == (result.violated, result.message, result.example)
    assert SAFE == of_explored(explored()).verdict


def test_what_real_members_do_not_confirm_is_said_first():
    result = of_explored(explored(Broken("p", "t", "s", True), Broken("q", "u", "longer", False)))

    assert (DISAGREE, "longer") == (result.violated, result.example)


def test_rebalancing_without_end_has_no_number_of_schedules():
    result = of_explored(explored(rebalances=None, schedules=None))

    assert (None, MOST_REBALANCES) == (result.schedules, result.max_rebalances)


def test_a_configuration_that_nobody_starts_with_is_unsafe_without_an_example():
    result = next(CALM.jobs([upgrade("2.3", "4.0.0", Plan.TWO_BOUNCES, "2.3")])).found()

    assert (UNSAFE, NOBODY_DIES, None) == (result.verdict, result.violated, result.example)


# -- slices ----------------------------------------------------------------------------------------------------------


def test_slices_hold_every_job_once_in_order_and_have_different_names():
    jobs = list(CALM.jobs(kip_268()))
    cut = slices(jobs)

    assert jobs == [job for each in cut for job in each.jobs]
    assert len(cut) == len({each.key for each in cut})
    assert cut == slices(jobs)


def test_a_large_job_is_a_slice_of_its_own():
    jobs = list(Extent(members=5).jobs(plans(release_named("2.0"), release_named("3.9"))))

    assert [1] * len(jobs) == [len(each.jobs) for each in slices(jobs)]


def test_estimates_grow_with_whatever_makes_work():
    least = Extent(faults=Faults(0, 0), patient=True)
    more = [evolve(least, patient=False), evolve(least, faults=Faults(1, 0)), evolve(least, faults=Faults(0, 1))]
    costs = [next(each.jobs([UNSAFE_ONE])).cost for each in (least, *more, evolve(least, members=4))]

    assert costs[0] == min(costs)
    assert len(costs) == len(set(costs))


def test_equal_behaviour_is_equal_results():
    for one, other in ((("1.1.1", "2.0.1"), ("0.11.0.3", "2.0.0")), (("2.1.0", "2.4.0"), ("2.3.0", "2.4.1"))):
        first, second = upgrade(*one), upgrade(*other)
        results = [next(CALM.jobs([each])).found() for each in (first, second)]

        assert behaviour_of(first) == behaviour_of(second)
        assert results[0].of(second) == results[1]


def test_what_was_not_explored_to_the_end_is_not_called_safe():
    cell = Cell(Upgrade(release_named("2.0.1"), release_named("2.3.1"), Plan.ONE_BOUNCE), faults=Faults(0, 0))

    assert "safe" == of_explored(explore(cell)).verdict
    cut_short = of_explored(explore(cell, most=100))
    assert ("unsafe", INCOMPLETE) == (cut_short.verdict, cut_short.violated)
    assert "--patient" in cut_short.message
