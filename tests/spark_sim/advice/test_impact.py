"""The impact of a plan on a given group, and how ``plan`` prints it."""

import json
from io import StringIO
from pathlib import Path

import pytest
from attrs import evolve
from click.testing import CliRunner
from rich.console import Console

from streams_assignor.cli.plan.command import plan
from streams_assignor.groups.decoded import assignment_seen, subscription_seen
from streams_assignor.spark_sim.advice import impact
from streams_assignor.spark_sim.advice.impact import GroupProfile, estimate_impact, workload_with
from streams_assignor.spark_sim.model.metrics import MeasuredSimulation
from streams_assignor.spark_sim.model.scenario import Scenario
from streams_assignor.spark_sim.model.simulation import Simulation
from streams_assignor.spark_sim.search.sampling import member_names
from streams_assignor.upgrade.planner import documented_hops
from streams_assignor.upgrade.releases import RELEASES

SMALL = workload_with(4, 0, static=False)


def asked(origin, target, members=2, shape=SMALL, timeout=45.0):
    return estimate_impact(documented_hops(RELEASES[origin], RELEASES[target]), GroupProfile(members, shape, timeout))


def run(*arguments):
    return CliRunner().invoke(plan, [str(each) for each in arguments], terminal_width=100)


# -- what is counted -------------------------------------------------------------------------------------------------


def watched(line):
    simulation = MeasuredSimulation(Scenario.parse(line))
    simulation.run()
    return simulation


def test_unowned_tasks_wait_for_the_session_timeout():
    """B has three of six tasks; they wait ten seconds until B's session expires."""
    simulation = watched("A@2.0.1 B@2.0.1 | stop B")

    assert 3 * 10_000 == sum(simulation.unowned_ms.values())
    assert {10_000} == set(simulation.unowned_ms.values())
    assert 3 == simulation.moved_tasks


def test_tasks_of_a_member_that_leaves_do_not_wait():
    assert 0 == sum(watched("A@2.0.1 B@2.0.1 | stop leave B").unowned_ms.values())


def test_all_wait_if_an_eager_member_is_back_at_once_under_a_new_id():
    """A rejoining eager member has no tasks, and the group waits for its old member id."""
    assert 6 == len(watched("A@2.0.1 B@2.0.1 | bounce fast B>2.0.1").unowned_ms)
    assert 3 == len(watched("A@2.4.1 B@2.4.1 | bounce fast B>2.4.1").unowned_ms)


def test_bytes_are_those_of_subscription_and_answer():
    one, two = watched("A@2.0.1"), watched("A@2.0.1 B@2.0.1")

    assert 0 < one.member_bytes == one.group_bytes
    assert two.member_bytes < two.group_bytes


def test_measuring_changes_nothing():
    line = "A@2.0.1 B@2.0.1 C@2.0.1 | bounce A>2.1.1 | crash mid B | bounce C>2.1.1"

    assert Simulation(Scenario.parse(line)).run().events == watched(line).events


def test_a_fork_measures_by_itself():
    simulation = MeasuredSimulation(Scenario.parse("A@2.0.1 B@2.0.1"))
    simulation.begin()
    twin = simulation.fork()
    (stop,) = Scenario.parse("A@2.0.1 B@2.0.1 | stop B").steps
    twin.play(stop)

    assert (0, 3) == (simulation.moved_tasks, twin.moved_tasks)
    assert not simulation.unowned_ms
    assert twin.unowned_ms


# -- what real members did ------------------------------------------------------------------------------------------

CAPTURES = Path(__file__).parents[2] / "captures"


def owners(generation):
    """Task => process id."""
    found = {}
    for each in generation["members"]:
        sent = subscription_seen(bytes.fromhex(each["subscription"]), streams=True)
        got = assignment_seen(bytes.fromhex(each["assignment"]), streams=True)
        found |= dict.fromkeys(got.active, sent.process_id)
    return found


def bounced(name):
    """The rebalances of a captured bounce, and how often a task was given to another process."""
    generations = json.loads((CAPTURES / name).read_text())["generations"]
    first, *rest = [each for each in generations if each["generation"] >= 3]  # the group at rest, then the bounce
    last, moves = owners(first), 0
    for each in rest:
        now = owners(each)
        moves += sum(last[task] != process for task, process in now.items())
        last |= now
    return len(rest), moves


@pytest.mark.parametrize(
    ("capture", "back"),
    [
        ("3.9.2-to-4.3.1-standby-session-45-kept.json", "before"),
        ("3.9.2-to-4.3.1-standby-late-kept.json", "only after"),
    ],
)
def test_it_counts_what_a_bounce_of_real_members_had(capture, back):
    """A restarted process was a new one to the leader: six rebalances and 36 moves instead of three and none."""
    found = asked("3.9.2", "4.3.1", members=3, shape=workload_with(12, 1, static=False))
    (hop,) = [each for each in found.measured_hops if f"back {back} its session" in each.how]

    assert bounced(capture) == (hop.rebalances, hop.moved) == (hop.least_rebalances, hop.least_moved)
    assert 45 == hop.longest_s  # each task has no owner once; 46 s were measured
    assert any("--state persistent" in each for each in found.as_json()["assumed"])


def test_processes_without_state_move_tasks_as_their_new_ids_fall():
    """Real members with wiped directories had four rebalances and eight moves."""
    found = asked("3.9.2", "4.3.1", members=3, shape=workload_with(12, 1, static=False, ephemeral=True))
    (hop,) = [each for each in found.measured_hops if "back before its session" in each.how]

    assert hop.least_rebalances <= 4 <= hop.rebalances
    assert hop.least_moved <= 8 <= hop.moved
    assert any("--state ephemeral" in each for each in found.as_json()["assumed"])
    assert any("several draws" in each for each in found.as_json()["assumed"])


@pytest.mark.parametrize(
    ("release", "kept"),
    [
        *(("2.5.1", False), ("2.6.1", False), ("2.6.2", True), ("2.6.3", True), ("2.7.0", False), ("2.7.1", True)),
        *(("2.8.0", True), ("4.3.1", True), ("streams-assignor", False)),
    ],
)
@pytest.mark.parametrize("more", ["", "ephemeral", "topology=stateless"])
def test_a_restarted_process_has_the_process_id_that_it_has_stored(release, kept, more):
    line = f"A@{release} B@{release} {f'| with {more} ' if more else ''}| bounce fast B>{release}"
    simulation = Simulation(Scenario.parse(line)).begin()
    before = simulation.members["B"].assignor.member.process_id
    simulation.play(simulation.scenario.steps[0])

    assert (kept and not more) == (before == simulation.members["B"].assignor.member.process_id)
    assert ("ephemeral" not in more) or not simulation.process_ids_on_disk


def test_a_process_finds_its_id_again_after_a_release_that_does_not_know_it():
    line = "A@2.8.2 | bounce A>2.5.1 | bounce A>2.8.2"
    simulation = Simulation(Scenario.parse(line)).begin()
    ids = [simulation.members["A"].assignor.member.process_id]
    for step in simulation.scenario.steps:
        simulation.play(step)
        ids.append(simulation.members["A"].assignor.member.process_id)

    assert ids[0] == ids[2] != ids[1]


# -- what is answered ------------------------------------------------------------------------------------------------


def test_a_safe_plan_is_explored_and_played_both_ways():
    found = asked("1.1.1", "2.0.1")

    assert found.safe
    assert [(2, "any")] == [(each.exploration.cell.members, each.group_size) for each in found.explored_hops]
    assert ["out", "out"] == [each.how.split()[-1] for each in found.measured_hops]
    assert len({each.how for each in found.measured_hops}) == 2


@pytest.mark.slow
def test_an_unsafe_plan_names_a_safe_one_instead():
    found = asked("2.0.1", "2.1.1", members=3)
    (checked,) = found.explored_hops

    assert (found.safe, checked.group_size) == (False, "from 2")
    assert 'two bounces with upgrade.from="1.1" to 2.1.1' == str(checked.alternative)


def test_times_are_in_units_of_the_session_timeout():
    short, long = (asked("2.2.2", "2.3.1", timeout=timeout).measured_hops for timeout in (10, 40))

    assert [4 * each.task_seconds for each in short] == [each.task_seconds for each in long]
    assert all(each.longest_s <= each.task_seconds for each in long)


def test_times_are_not_longer_than_they_were_by_a_rounding():
    """135 sessions of 45 s were once 1619.9999999999998 s of all tasks."""
    assert all(each.task_seconds == round(each.task_seconds, 3) for each in asked("1.1.0", "2.0.1", 3).measured_hops)


@pytest.mark.slow
def test_a_bridge_release_makes_two_hops():
    found = asked("2.3.1", "4.3.1")

    assert [("2.3.1", "3.9.2"), ("3.9.2", "4.3.1")] == [
        (str(each.exploration.cell.upgrade.origin), str(each.exploration.cell.upgrade.target))
        for each in found.explored_hops
    ]


def test_members_that_send_leave_group_on_close_do_so_here():
    found = asked("0.10.1.0", "0.10.1.1")

    assert ["each member leaves the group as it stops"] == [each.how for each in found.measured_hops]
    assert 0 == found.measured_hops[0].task_seconds


@pytest.mark.slow
def test_static_members_keep_their_tasks():
    dynamic, static = (
        asked("2.4.1", "2.5.1", shape=workload_with(4, 0, static=each)).measured_hops[1] for each in (False, True)
    )

    assert static.rebalances < dynamic.rebalances
    assert 0 == static.moved


@pytest.mark.slow
def test_a_large_group_is_simulated_whole_and_explored_with_five():
    found = asked("3.8.1", "3.9.2", members=8, shape=workload_with(40, 1, static=False))

    assert [5] == [each.exploration.cell.members for each in found.explored_hops]
    assert (8, 40) == (found.as_json()["members"], found.as_json()["tasks"])


def test_members_are_named_like_columns():
    names = member_names(1000)

    assert (1000, "A", "Z", "AA") == (len(set(names)), names[0], names[25], names[26])


# -- what plan says --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "verdict", "words"),
    [
        pytest.param("2.2.2", "safe-if", "safe-if", marks=pytest.mark.slow),
        ("2.1.1", "safe", "safe for the metadata"),
    ],
)
def test_plan_says_with_its_status_that_exploration_agrees(target, verdict, words):
    """The way to 2.1.1 was a single bounce, which KAFKA-8649 makes unsafe; the guide of a sweep had another one."""
    text, plain = run("2.0.1", target, "--explored"), run("2.0.1", target, "--members", 3, "--json")

    assert [0, 0] == [text.exit_code, plain.exit_code]
    assert text.output.startswith(f"2.0.1 to {target}: {words}: ")
    assert verdict == json.loads(plain.output)["verdict"]
    explored = json.loads(plain.output)["group"]["explored"][0]
    assert ("safe", "any") == (explored["verdict"], explored["group_size"])
    assert explored["groups"].startswith("for groups of any size")


@pytest.mark.slow
def test_what_the_simulation_of_the_group_finds_is_the_verdict_of_the_first_line():
    text, plain = (run("2.8", "2.5", "--static", *form) for form in ((), ("--json",)))

    assert [1, 1] == [text.exit_code, plain.exit_code]
    assert text.output.startswith("2.8.2 to 2.5.1: unsafe: one rolling bounce, no configuration; in a group of this")
    assert "unsafe" == json.loads(plain.output)["verdict"]


def test_plan_simulates_only_on_request():
    assert "explored" not in run("2.0.1", "2.1.1").output
    assert "group" not in json.loads(run("2.0.1", "2.1.1", "--json").output)


def test_plan_describes_the_given_group():
    chosen = ["--members", 2, "--tasks", 5, "--standbys", 1, "--static", "--session-timeout", 30]
    found = json.loads(run("2.4.1", "2.5.1", *chosen, "--json").output)["group"]

    assert (2, 5) == (found["members"], found["tasks"])
    assert 2 == len(found["measured"])


def test_plan_shows_the_range_of_what_is_up_to_chance():
    arguments = ("3.9", "4.3", "--members", 3, "--tasks", 12, "--standbys", 1)
    kept, wiped = (run(*arguments, "--state", state).output for state in ("persistent", "ephemeral"))

    assert "      3 rebalances, tasks move 0 times;" in kept
    assert "one task for at most 45 s" in kept
    assert "      3 to 6 rebalances, tasks move 0 to 36 times;" in wiped


def test_plan_counts_in_singular_too():
    lines = run("2.2.2", "2.3.1", "--members", 1, "--tasks", 1).output.splitlines()

    everywhere = "safe for groups of any size, with any number of crashes and rebalance timeouts"
    assert f"explored with 1 member: 2.2.2 to 2.3.1, one bounce: {everywhere}" in lines
    assert "played with 1 member and 1 task:" in lines
    assert any(line.strip().startswith("1 rebalance, tasks move 0 times;") for line in lines)


def test_offline_is_explored_too():
    found = json.loads(run("1.1.1", "2.0.1", "--offline", "--members", 2, "--json").output)["group"]

    assert ["offline"] == [each["plan"] for each in found["explored"]]


@pytest.mark.parametrize("option", [("--members", 5), ("--static",), ("--explored",)])
def test_brokers_have_no_members(option):
    result = run("--brokers", "3.9", "4.3", *option)

    assert 2 == result.exit_code
    assert "--brokers excludes" in result.output


def test_a_static_member_that_rejoins_as_an_older_release_fails_on_its_old_assignment():
    """If it is back within its session, the broker returns its old assignment without a rebalance.

    ``plan --static 2.8 2.5`` reported safe, although the simulated members failed. Real members failed too.
    """
    dynamic, static = (asked("2.8.2", "2.5.1", shape=workload_with(4, 0, static=each)) for each in (False, True))

    assert dynamic.safe
    assert not static.safe
    slow, fast = static.measured_hops
    assert slow.violation is None
    assert "used version 9" in fast.violation
    assert Simulation(Scenario.parse(fast.example)).run().violations
    assert 1 == run("--static", "2.8", "2.5").exit_code
    assert f'replay "{fast.example}"' in run("--static", "--members", 2, "--tasks", 4, "2.8", "2.5").output


@pytest.mark.slow
def test_gaps_are_a_count_the_longest_and_a_sum():
    """A sum alone, "1080 s without a member", read like one outage."""
    arguments = ("2.3", "2.4", "--members", 2, "--tasks", 2)
    slow, _ = json.loads(run(*arguments, "--json").output)["group"]["measured"]

    assert (4, 45.0, 180.0) == (slow["gaps"], slow["longest_gap_s"], slow["gaps_s"])
    assert "some task has no owner for 3 min in 4 gaps of 45 s" in run(*arguments).output


def test_a_terminal_shows_what_takes_so_long(monkeypatch):
    """It was silent for 8 to 13 seconds."""
    screen = StringIO()
    monkeypatch.setattr(
        "streams_assignor.formats.console.SafeConsole",
        lambda **_keywords: Console(file=screen, force_terminal=True, width=100),
    )

    assert 0 == run("3.4", "3.9", "--members", 2, "--tasks", 2).exit_code
    assert "exploring every schedule, then playing the plan with 2 members" in screen.getvalue()


@pytest.mark.slow
def test_a_large_group_is_played_as_a_sample_that_is_stated():
    """100 members with 1,000 tasks did not finish in 15 minutes; figures that are up to chance follow no polynomial."""
    arguments = ("2.2", "2.3", "--members", 100, "--tasks", 1_000)
    lines = run(*arguments).output.splitlines()
    plain = json.loads(run(*arguments, "--json").output)["group"]
    sample = json.loads(run("2.2", "2.3", "--members", 20, "--tasks", 200, "--json").output)["group"]

    assert "played with 20 members and 200 tasks, a sample of 100 members and 1,000 tasks:" in lines
    assert (100, 1_000, {"members": 20, "tasks": 200}) == (plain["members"], plain["tasks"], plain["sample"])
    assert sample["sample"] is None
    assert {"of a sample"} == {each["figures"] for each in plain["measured"]}
    for ours, whole in zip(plain["measured"], sample["measured"], strict=True):
        assert ours["rebalances"] == whole["rebalances"]
        assert ours["group_bytes"] > 100 * ours["member_bytes"] / 2, "the metadata is that of the whole group"


@pytest.mark.parametrize(
    ("limit", "origin", "members", "shape", "figures"),
    [
        pytest.param(11, "3.9.2", 14, (42, 0), ["extrapolated"] * 2, marks=pytest.mark.slow),
        pytest.param(11, "3.9.2", 13, (130, 0), ["of a sample", "extrapolated"], marks=pytest.mark.slow),
        pytest.param(11, "4.0.2", 14, (17, 1), ["extrapolated"] * 2, marks=pytest.mark.slow),
        pytest.param(11, "3.9.2", 16, (44, 0), ["extrapolated"] * 2, marks=pytest.mark.slow),
        pytest.param(20, "3.9.2", 33, (99, 0), ["extrapolated"] * 2, marks=pytest.mark.slow),
        pytest.param(20, "2.8.2", 40, (143, 1), ["extrapolated"] * 2, marks=pytest.mark.slow),
    ],
)
def test_figures_that_follow_from_small_groups_are_those_of_the_whole(
    monkeypatch, limit, origin, members, shape, figures
):
    """13 members with 130 tasks: those of so few members with so many tasks follow no polynomial."""
    shape = workload_with(*shape, static=False)
    monkeypatch.setattr(impact, "MAX_EXPLORED_MEMBERS", 2)
    monkeypatch.setattr(impact, "MAX_PLAYED_MEMBERS", limit)
    told = asked(origin, "4.3.1", members, shape).measured_hops
    monkeypatch.setattr(impact, "MAX_PLAYED_MEMBERS", members)
    monkeypatch.setattr(impact, "MAX_PLAYED_TASKS", 10_000)
    whole = asked(origin, "4.3.1", members, shape).measured_hops

    assert figures == [each.figures for each in told]
    assert [each for each in told if each.figures != impact.OF_SAMPLE] == [
        evolve(each, member_bytes=ours.member_bytes, group_bytes=ours.group_bytes, figures=ours.figures)
        for ours, each in zip(told, whole, strict=True)
        if ours.figures != impact.OF_SAMPLE
    ]


@pytest.mark.parametrize(
    ("members", "tasks", "played"),
    [(20, 200, (20, 200)), (40, 20, (20, 10)), (1, 10_000, (1, 200)), (1_000, 1, (20, 1)), (21, 40, (20, 39))],
)
def test_a_sample_has_as_many_tasks_per_member_up_to_its_limits(members, tasks, played):
    found = GroupProfile(members, workload_with(tasks, 0, static=False)).played

    assert played == (found.members, found.tasks)


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
def test_leaders_of_2_1_are_unsafe_to_probe_and_both_ways_around_them_are_safe(group, rounds, safe):
    """The documented plan is safe with one thread and one topic, so neither exploration nor playing it shows this."""
    steps = " | ".join(ROUNDS.format(instance) for instance in rounds)
    world = Simulation(Scenario.parse(f"A@2.1.1 B@2.1.1 C@2.1.1 | with {group} | {steps}")).run()

    assert safe == (not world.violations)


@pytest.mark.parametrize("group", ["threads=2", "topology=join", "topology=two"])
@pytest.mark.parametrize(
    ("start", "steps"),
    [
        ("2.0.1", "bounce A>2.3.1{value} B>2.3.1{value} C>2.3.1{value} | bounce A>2.3.1 B>2.3.1 C>2.3.1"),
        # Members that restart as they were, in a downgrade that has begun, are probed again.
        ("2.8.2{value}", "elect newest | bounce fast A>2.1.1 | elect {first} | stop B | stop C | start B"),
    ],
)
@pytest.mark.parametrize("safe", [True, False])
def test_a_value_that_pins_version_2_is_safe_from_2_0_and_in_downgrades(group, start, steps, safe):
    value = ",upgrade.from=1.1" if safe else ",upgrade.from=2.3" * start.startswith("2.8")
    named = {"value": value, "first": "A.1" if "threads" in group else "A"}
    members = " ".join(f"{name}@{start}" for name in "ABC")
    line = f"{members} | with {group} | {steps}".format_map(named)

    assert safe == (not Simulation(Scenario.parse(line)).run().violations)
