"""Random schedules: the same for a seed, of all classes, and windows of large groups."""

import pickle

import pytest
from attrs import evolve

from streams_assignor.spark_sim.model.metrics import MAX_GROUP_METADATA_BYTES, MeasuredSimulation
from streams_assignor.spark_sim.model.scenario import Scenario
from streams_assignor.spark_sim.model.workload import Workload
from streams_assignor.spark_sim.search.sampling import (
    MAX_MEMBERS_FULL_SCHEDULE,
    WINDOW_SIZE,
    count_schedule_classes,
    sample_schedules,
)
from streams_assignor.upgrade import Plan, UpgradeError, release_named
from streams_assignor.upgrade.plans import Upgrade
from tests.each import each_third


def upgrade(origin, target, plan=Plan.ONE_BOUNCE, value=None):
    return Upgrade(release_named(origin), release_named(target), plan, value)


ONE = upgrade("2.0", "simulated-4")
TWO = upgrade("1.1", "2.0", Plan.TWO_BOUNCES, "1.1")
OFFLINE = upgrade("1.1", "2.0", Plan.OFFLINE)


def all_of(which, members, sample, seed=0):
    return [
        each for block in sample_schedules(which, members=members, seed=seed, count=sample) for each in block.schedules
    ]


def test_a_seed_draws_the_same_and_another_seed_others():
    first, again, other = (all_of(TWO, 6, 50, seed) for seed in (1, 1, 2))

    assert first == again != other
    assert 50 == len(first)


def test_batches_have_different_names_and_about_the_same_cost():
    found = list(sample_schedules(TWO, members=20, count=40))

    assert [15, 15, 10] == [block.count for block in found] == [len(block.schedules) for block in found]
    assert 3 == len({block.key for block in found})
    assert 40 == len({str(each.scenario) for block in found for each in block.schedules})


def test_a_batch_is_small_however_large_its_groups_are():
    """A hundred thousand schedules of a thousand members once were gigabytes of the driver's memory."""
    batches = list(sample_schedules(ONE, members=1000, count=100))

    assert 10 == len(batches)
    assert len(pickle.dumps(batches)) < 20_000


@pytest.mark.parametrize("which", [ONE, TWO, OFFLINE], ids=["one", "two", "offline"])
@pytest.mark.parametrize("members", [3, 14])
def test_every_schedule_class_is_drawn_in_time_and_no_other(which, members):
    possible = count_schedule_classes(which, members)
    kinds = {each.schedule_class for each in all_of(which, members, 20 * possible)}

    assert possible == len(kinds)


@pytest.mark.parametrize("which", [ONE, TWO, OFFLINE], ids=["one", "two", "offline"])
@pytest.mark.parametrize("members", each_third([2, 1, 5, MAX_MEMBERS_FULL_SCHEDULE + 1, MAX_MEMBERS_FULL_SCHEDULE, 30]))
def test_every_line_can_be_read_and_played(which, members):
    for each in all_of(which, members, 4):
        assert each.scenario == Scenario.parse(str(each.scenario))
        MeasuredSimulation(each.scenario).run()


def test_a_large_group_is_somewhere_in_the_middle_and_a_few_are_bounced():
    for each in all_of(ONE, 20, 30):
        bounced = [step for step in each.scenario.steps if step.verb == "bounce"]
        on = [instance.release for _, instance in each.scenario.members].count(ONE.target)
        leader = each.scenario.members[0][1].release

        assert WINDOW_SIZE == len(bounced)
        assert 10 * on // 20 == each.schedule_class.progress[1]
        assert each.schedule_class.leader_upgraded == (leader == ONE.target)


def test_groups_run_the_given_workload():
    (block,) = sample_schedules(ONE, members=3, count=2, workload=Workload(partitions=9, standbys=1))

    assert {9} == {len(each.scenario.workload.partitions_by_task) for each in block.schedules}


@pytest.mark.parametrize("members", [0, 1001])
def test_a_group_has_1_to_1000_members(members):
    with pytest.raises(UpgradeError, match="expected 1 to 1000 members"):
        next(sample_schedules(ONE, members=members))


@pytest.mark.slow
@pytest.mark.parametrize(("tasks", "bounced", "fits"), [(4_000, WINDOW_SIZE, True), (10_000, 2, False)])
def test_a_thousand_members_with_thousands_of_tasks(tasks, bounced, fits):
    """The group's bytes against the broker's default limit: some 120 bytes for each task with a standby.

    10,000 tasks exceed it once the second member has rejoined; the third bounce, which takes seconds, is played with
    4,000 only.
    """
    (block,) = sample_schedules(
        upgrade("3.8", "3.9"), members=1000, count=1, workload=Workload(partitions=tasks, standbys=1)
    )
    scenario = block.schedules[0].scenario
    bounces = [step for step in scenario.steps if step.verb == "bounce"]
    left_out = bounces[bounced:]
    simulation = MeasuredSimulation(
        evolve(scenario, steps=tuple(step for step in scenario.steps if step not in left_out))
    )
    simulation.run()

    assert WINDOW_SIZE == len(bounces)
    assert [] == simulation.violations
    assert fits == (simulation.group_bytes <= MAX_GROUP_METADATA_BYTES)
