"""What a plan comes to in somebody's own group, and what ``plan`` says of it."""

import json

import pytest
from click.testing import CliRunner

from assignor.cli.plan import plan
from spark_sim.asked import Group, answer, shape_of
from spark_sim.drawing import names_of
from spark_sim.scenario import Scenario
from spark_sim.watched import Watched
from spark_sim.world import World
from upgrade.plan import hops_between
from upgrade.releases import RELEASES

SMALL = shape_of(4, 0, static=False)


def asked(origin, target, members=2, shape=SMALL, timeout=45.0):
    return answer(hops_between(RELEASES[origin], RELEASES[target]), Group(members, shape, timeout))


def run(*arguments):
    return CliRunner().invoke(plan, [str(each) for each in arguments], terminal_width=100)


# -- what is counted -------------------------------------------------------------------------------------------------


def watched(line):
    world = Watched(Scenario.parse(line))
    world.run()
    return world


def test_what_nobody_owns_waits_for_the_session_timeout():
    """B has three of six tasks; they wait ten seconds until it is noticed that B is gone."""
    world = watched("A@2.0.1 B@2.0.1 | stop B")

    assert 3 * 10_000 == sum(world.unowned_ms.values())
    assert {10_000} == set(world.unowned_ms.values())
    assert 3 == world.moved


def test_nobody_waits_for_who_leaves():
    assert 0 == sum(watched("A@2.0.1 B@2.0.1 | stop leave B").unowned_ms.values())


def test_all_wait_if_an_eager_member_is_back_at_once_under_a_new_id():
    """Who rejoins has given up everything, and the group waits for the old id."""
    assert 6 == len(watched("A@2.0.1 B@2.0.1 | bounce fast B>2.0.1").unowned_ms)
    assert 3 == len(watched("A@2.4.1 B@2.4.1 | bounce fast B>2.4.1").unowned_ms)


def test_bytes_are_those_of_subscription_and_answer():
    one, two = watched("A@2.0.1"), watched("A@2.0.1 B@2.0.1")

    assert 0 < one.member_bytes == one.group_bytes
    assert two.member_bytes < two.group_bytes


def test_counting_changes_nothing():
    line = "A@2.0.1 B@2.0.1 C@2.0.1 | bounce A>2.1.1 | crash mid B | bounce C>2.1.1"

    assert World(Scenario.parse(line)).run().events == watched(line).events


def test_a_fork_counts_by_itself():
    world = Watched(Scenario.parse("A@2.0.1 B@2.0.1"))
    world.begin()
    twin = world.fork()
    (stop,) = Scenario.parse("A@2.0.1 B@2.0.1 | stop B").steps
    twin.play(stop)

    assert (0, 3) == (world.moved, twin.moved)
    assert not world.unowned_ms
    assert twin.unowned_ms


# -- what is answered ------------------------------------------------------------------------------------------------


def test_a_safe_plan_is_explored_and_played_both_ways():
    found = asked("1.1.1", "2.0.1")

    assert found.safe
    assert [2] == [each.explored.cell.members for each in found.checked]
    assert ["out", "out"] == [each.how.split()[-1] for each in found.measured]
    assert len({each.how for each in found.measured}) == 2


def test_an_unsafe_plan_names_the_least_safe_one_instead():
    found = asked("2.0.1", "2.1.1", members=3)
    (checked,) = found.checked

    assert not found.safe
    assert 'two bounces with upgrade.from="1.1" to 2.1.1' == str(checked.instead)


def test_times_are_in_units_of_the_session_timeout():
    short, long = (asked("2.2.2", "2.3.1", timeout=timeout).measured for timeout in (10, 40))

    assert [4 * each.task_seconds for each in short] == [each.task_seconds for each in long]
    assert all(each.longest_s <= each.task_seconds for each in long)


def test_times_are_not_longer_than_they_were_by_a_rounding():
    """135 sessions of 45 s were once 1619.9999999999998 s of all tasks."""
    assert all(each.task_seconds == round(each.task_seconds, 3) for each in asked("1.1.0", "2.0.1", 3).measured)


def test_a_bridge_is_two_hops():
    found = asked("2.3.1", "4.3.1")

    assert [("2.3.1", "3.9.2"), ("3.9.2", "4.3.1")] == [
        (str(each.explored.cell.upgrade.origin), str(each.explored.cell.upgrade.target)) for each in found.checked
    ]


def test_who_leaves_when_it_stops_does_so_here():
    found = asked("0.10.1.0", "0.10.1.1")

    assert ["each member leaves the group as it stops"] == [each.how for each in found.measured]
    assert 0 == found.measured[0].task_seconds


def test_static_members_keep_their_tasks():
    dynamic, static = (asked("2.4.1", "2.5.1", shape=shape_of(4, 0, static=each)).measured[1] for each in (False, True))

    assert static.rebalances < dynamic.rebalances
    assert 0 == static.moved


def test_a_large_group_is_played_whole_and_explored_with_five():
    found = asked("3.8.1", "3.9.2", members=8, shape=shape_of(40, 1, static=False))

    assert [5] == [each.explored.cell.members for each in found.checked]
    assert (8, 40) == (found.as_json()["members"], found.as_json()["tasks"])


def test_members_are_named_like_columns():
    names = names_of(1000)

    assert (1000, "A", "Z", "AA") == (len(set(names)), names[0], names[25], names[26])


# -- what plan says --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("target", "status"), [("2.2.2", 0), ("2.1.1", 1)])
def test_plan_says_with_its_status_whether_exploration_agrees(target, status):
    text, plain = run("2.0.1", target, "--explored"), run("2.0.1", target, "--members", 3, "--json")

    assert [status, status] == [text.exit_code, plain.exit_code]
    assert ["safe", "unsafe"][status] in text.output
    assert ["safe", "unsafe"][status] == json.loads(plain.output)["group"]["explored"][0]["verdict"]


def test_plan_asks_the_simulator_only_if_it_is_asked():
    assert "explored" not in run("2.0.1", "2.1.1").output
    assert "group" not in json.loads(run("2.0.1", "2.1.1", "--json").output)


def test_plan_speaks_of_the_group_that_it_was_told():
    chosen = ["--members", 2, "--tasks", 5, "--standbys", 1, "--static", "--session-timeout", 30]
    found = json.loads(run("2.4.1", "2.5.1", *chosen, "--json").output)["group"]

    assert (2, 5) == (found["members"], found["tasks"])
    assert 2 == len(found["measured"])


def test_plan_counts_in_singular_too():
    lines = run("2.2.2", "2.3.1", "--members", 1, "--tasks", 1).output.splitlines()

    assert "explored with 1 member: 2.2.2 to 2.3.1, one bounce: safe" in lines
    assert "played with 1 member and 1 task:" in lines
    assert any(line.strip().startswith("1 rebalance, tasks move 0 times;") for line in lines)


def test_offline_is_explored_too():
    found = json.loads(run("1.1.1", "2.0.1", "--offline", "--members", 2, "--json").output)["group"]

    assert ["offline"] == [each["plan"] for each in found["explored"]]


@pytest.mark.parametrize("option", [("--members", 5), ("--static",), ("--explored",)])
def test_brokers_have_no_members(option):
    result = run("--brokers", "3.9", "4.3", *option)

    assert 2 == result.exit_code
    assert "do not go with --brokers" in result.output


def test_a_static_member_that_comes_back_older_in_time_dies_of_what_it_had():
    """Back within its session it gets the old assignment from the broker, which no leader is asked about.

    ``plan --static 2.8 2.5`` said safe: what was played had died of it, and nobody looked. Real groups died of it too.
    """
    dynamic, static = (asked("2.8.2", "2.5.1", shape=shape_of(4, 0, static=each)) for each in (False, True))

    assert dynamic.safe
    assert not static.safe
    slow, fast = static.measured
    assert slow.violation is None
    assert "used version 9" in fast.violation
    assert World(Scenario.parse(fast.example)).run().violations
    assert 1 == run("--static", "2.8", "2.5").exit_code
    assert f'replay "{fast.example}"' in run("--static", "--members", 2, "--tasks", 4, "2.8", "2.5").output


# -- what is not played by itself, and what ``plan`` says of it --------------------------------------------------------

ROUNDS = "bounce A>{0} B>{0} C>{0}"


@pytest.mark.parametrize("group", ["threads=2", "topology=join", "topology=two"])
@pytest.mark.parametrize(
    ("rounds", "safe"),
    [
        (("3.9.2,upgrade.from=2.1", "3.9.2"), False),
        (("3.9.2,upgrade.from=1.1", "3.9.2"), True),
        (("2.2.2", "3.9.2,upgrade.from=2.2", "3.9.2"), True),
    ],
)
def test_leaders_of_2_1_are_not_safe_to_be_probed_by_and_both_ways_round_it_are(group, rounds, safe):
    """The documented plan is safe with one thread and one topic, so neither exploration nor playing it shows this."""
    steps = " | ".join(ROUNDS.format(instance) for instance in rounds)
    world = World(Scenario.parse(f"A@2.1.1 B@2.1.1 C@2.1.1 | with {group} | {steps}")).run()

    assert safe == (not world.violations)
