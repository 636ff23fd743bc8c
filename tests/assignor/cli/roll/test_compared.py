"""The rebalances of a step, as looks have shown them."""

import pytest
from attrs import evolve

from streams_assignor.cli.roll._compared import SeenGenerations, generation_number
from streams_assignor.cli.roll.instances import seen_instances
from streams_assignor.groups import inspect_group
from streams_assignor.spark_sim.model.scenario import Scenario
from streams_assignor.spark_sim.model.simulation import Simulation
from streams_assignor.upgrade.roll.expectation import CountedRebalances
from tests.spark_sim.forecast.live import seen, stored

LATE = stored("late-restart-4.3.1")


def counted(before, *looks):
    generations = SeenGenerations(seen_instances(LATE[5]))
    generations.begin(before)
    for look in looks:
        generations.add(look)
    return generations.counted


@pytest.mark.parametrize(
    ("looks", "rebalances", "moves", "are_seen"),
    [
        ((6, 7, 8, 9), 4, 8, True),
        ((6, 6, 7, 7, 8, 9, 9), 4, 8, True),
        ((7, 9), 4, 8, False),
        ((6, 9), 4, 4, False),
        ((9,), 4, 0, False),  # looks were too rare: "no task moved, tasks as forecast"
        ((), 0, 0, True),
    ],
)
def test_the_number_of_rebalances_is_known_of_members_since_3_4(looks, rebalances, moves, are_seen):
    assert CountedRebalances(rebalances=rebalances, moves=moves, are_counted=True, are_seen=are_seen) == counted(
        LATE[5], *(LATE[number] for number in looks)
    )


def test_there_were_at_least_as_many_as_looks_have_shown():
    """When roll is called again, nobody has seen the group before the step."""
    assert CountedRebalances(rebalances=1, moves=4, are_counted=False, are_seen=False) == counted(
        None, LATE[7], LATE[9]
    )


def after(line):
    return seen(Simulation(Scenario.parse(f"A@2.8.2 B@2.8.2 C@2.8.2 | {line}")).run())


def test_members_before_3_4_do_not_say_in_which_generation_they_were():
    before, now = after("settle"), after("bounce fast B>2.8.2")
    generations = SeenGenerations(seen_instances(before))
    generations.begin(before)
    generations.add(now)

    assert generation_number(now) is None
    assert (1, False) == (generations.counted.rebalances, generations.counted.are_counted)


@pytest.mark.parametrize("state", ["PreparingRebalance", "Empty"])
def test_what_shows_no_generation_is_none(state):
    hidden = inspect_group(evolve(LATE[6].described, state=state))

    assert 0 == counted(LATE[5], None, hidden).rebalances
