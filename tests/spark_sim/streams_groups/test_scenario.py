"""The scenario language of streams groups: parsing, messages, traces."""

import pytest
from attrs import evolve

from streams_assignor.spark_sim.streams_groups import _actions
from streams_assignor.spark_sim.streams_groups._actions import possible_steps, run_scenario
from streams_assignor.spark_sim.streams_groups.events import trace_run
from streams_assignor.spark_sim.streams_groups.parser import is_group_scenario, parse_scenario
from streams_assignor.spark_sim.streams_groups.properties import (
    NO_LATE_COMMIT,
    NO_MEMBER_FAILS,
    SINGLE_OWNER,
    STATIC_RETURNS,
    changed_returns,
    eventually,
)
from streams_assignor.spark_sim.streams_groups.rules import RULES
from streams_assignor.spark_sim.streams_groups.searches import FINDINGS
from streams_assignor.spark_sim.sweep.traces import trace_line
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.releases import RELEASES

TWO = "A@4.3.1 B@4.3.1 group 4.3.1 tasks=2 standbys=1"


def test_every_release_with_streams_groups_has_its_rules():
    released = [release.name for release in RELEASES.values() if release.is_released and release.number >= (4, 1)]

    assert set(released) == RULES.keys() - {"mistaken", "fixed"}


@pytest.mark.parametrize(
    "line",
    [
        TWO,
        f"{TWO} | start A | settle | start B | heartbeat B | expire A#1 | failover | settle",
        "A.1@4.2.0 A.2@fixed group 4.1.1 tasks=2+1 standbys=2 classic=2 stateless=1 | start A.1 | arrive A.1#2",
        "A@4.4.0 B@4.4.0 group 4.3.1 tasks=2 next=4.4.0 static=A | start A | delay-commit A | arrive-commit A#1 | roll",
    ],
)
def test_a_line_is_that_of_its_scenario(line):
    assert line == str(parse_scenario(line))
    assert is_group_scenario(line)


@pytest.mark.parametrize("line", ["A@2.0 B@2.0 | bounce A>2.1", "1@3.9 level 3.9 | crash 1", ""])
def test_other_scenarios_are_not_of_a_streams_group(line):
    assert not is_group_scenario(line)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "expected members and a group"),
        ("A@4.3.1 | start A", "expected members and a group"),
        ("A@4.3.1 group", "expected members and a group"),
        ("a@4.3.1 group 4.3.1", "expected MEMBER@RELEASE such as A@4.3.1 or A.2@4.3.1, got 'a@4.3.1'"),
        ("A@4.3.1 A@4.2.0 group 4.3.1", "expected different members, got A twice"),
        ("A@3.9.2 group 4.3.1", "expected a release with streams groups, one of 4.1.0"),
        ("A@4.3.1 group 4.3.1 threads=2", "expected one of tasks=, .* classic= after .* got 'threads=2'"),
        ("A@4.3.1 group 4.3.1 tasks=0", "expected 1 to 100 tasks such as tasks=2.1, got tasks=0"),
        ("A@4.3.1 group 4.3.1 tasks=two", "expected a number below 1000 in tasks=, got 'two'"),
        ("A@4.3.1 group 4.3.1 tasks=1 stateless=1", "expected subtopologies below 1, got stateless=1"),
        ("A@4.4.0 group 4.4.0 static=B", "expected members of A, got static=B"),
        ("A@4.4.0 group 4.4.0 next=3.9", "expected a release with streams groups, one of 4.1.0"),
        ("A@4.3.1 group 4.3.1 | bounce A", "expected one of start, stop, .* got 'bounce A'"),
        ("A@4.3.1 group 4.3.1 | start", "expected one member after start, got ''"),
        ("A@4.3.1 group 4.3.1 | start B", "expected one member of A after start, got 'B'"),
        ("A@4.3.1 group 4.3.1 | expire A", "expected one member id, such as A#1 of A after expire, got 'A'"),
        ("A@4.3.1 group 4.3.1 | settle A", "expected nothing after settle, got 'A'"),
    ],
)
def test_a_wrong_line_says_what_is_expected(line, message):
    with pytest.raises(UpgradeError, match=message):
        parse_scenario(line)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("heartbeat A", "heartbeat A is not possible here: expected another step, got A"),
        ("start A | heartbeat A | start A", "start A is not possible here: expected B, got A"),
        ("start A | settle | arrive A#1", "arrive A#1 is not possible here: expected another step, got A#1"),
    ],
)
def test_a_step_that_is_not_possible_says_so(step, message):
    with pytest.raises(UpgradeError, match=message):
        run_scenario(parse_scenario(f"{TWO} | {step}"))


def test_a_group_settles_with_every_task_and_its_standbys():
    world = run_scenario(parse_scenario(f"{TWO} | start A | settle | start B | settle"))

    assert [] == list(eventually(world))
    assert {"A": "0_0, standby 0_1", "B": "0_1, standby 0_0"} == {n: str(m.tasks) for n, m in world.members.items()}


@pytest.mark.parametrize(("coordinator", "expected"), [("4.3.1", "0_2"), ("4.4.0", "0_1")])
def test_since_4_4_the_assignor_starts_from_what_the_members_have(coordinator, expected):
    """B is to have 0_2, which A has not given up: only 4.3.1 keeps to that."""
    line = f"A@fixed B@fixed C@fixed group {coordinator} tasks=3 | start A | settle | start B | heartbeat B"
    world = run_scenario(parse_scenario(f"{line} | start C | heartbeat C"))

    assert expected == str(world.group.targets["B#1"])


def test_a_failover_keeps_the_group():
    before = run_scenario(parse_scenario(f"{TWO} | start A | settle | start B | heartbeat B | slow-response A"))
    after = run_scenario(
        parse_scenario(f"{TWO} | start A | settle | start B | heartbeat B | slow-response A | failover")
    )

    assert before.group == after.group
    assert (True, False) == (before.members["A"].response is not None, after.members["A"].response is not None)


def test_a_roll_of_the_brokers_keeps_the_group_and_changes_its_rules():
    world = run_scenario(parse_scenario("A@4.4.0 group 4.3.1 next=4.4.0 | start A | settle | roll"))

    assert "4.4.0" == world.config.rules.release
    assert ["A#1"] == [*world.group.members]
    assert [] == list(possible_steps(world, "roll"))


STATIC = "A@4.4.0 B@4.4.0 group 4.4.0 static=A,B | start A | settle | start B | settle"


def test_a_static_member_returns_to_its_tasks_without_an_epoch():
    before = run_scenario(parse_scenario(STATIC))
    away = run_scenario(parse_scenario(f"{STATIC} | stop A | callback A | heartbeat A"))
    back = run_scenario(parse_scenario(f"{STATIC} | restart A | settle"))

    assert ("A#1", False, True) == (*away.group.members.keys() - {"B#1"}, *map(away.group.is_present, ("A#1", "B#1")))
    assert {"A#2", "B#1"} == back.group.members.keys()
    assert before.group.epoch == away.group.epoch == back.group.epoch
    assert before.members["A"].tasks == back.members["A"].tasks


def test_a_streams_group_whose_member_restarts_is_not_taken_for_brokers():
    """Brokers restart, too: `replay` asked for NODE@RELEASE."""
    assert (
        "the group is in epoch 3" == trace_line("A@4.3.1 group 4.3.1 | start A | settle | restart A | settle").summary
    )


def test_a_dynamic_member_that_leaves_is_gone():
    world = run_scenario(parse_scenario("A@4.4.0 group 4.4.0 | start A | settle | stop A | callback A | heartbeat A"))

    assert {} == world.group.members


def test_the_tasks_of_a_static_member_that_does_not_return_move_when_its_session_ends():
    world = run_scenario(parse_scenario(f"{STATIC} | stop A | callback A | heartbeat A | expire A#1 | settle"))

    assert world.config.topology.tasks == world.members["B"].running


def test_a_return_with_another_target_is_a_violation():
    away, back = (
        run_scenario(parse_scenario(f"{STATIC} | restart A | callback A | heartbeat A {steps}"))
        for steps in ("", "| start A | heartbeat A")
    )
    changed = evolve(back, group=evolve(back.group, targets={}))

    assert [] == list(changed_returns(away, back))
    assert [STATIC_RETURNS] == [violation.property for violation in changed_returns(away, changed)]
    assert [] == list(changed_returns(evolve(away, group=evolve(away.group, assignment_epoch=0)), changed))


def test_a_late_commit_counts_only_if_another_member_has_taken_its_task(monkeypatch):
    """The second one is refused by every coordinator that is right."""
    late = "A@fixed B@fixed group 4.4.0 | start A | settle | delay-commit A"
    monkeypatch.setattr(_actions, "accepts_commit", lambda *_: True)
    in_time, overtaken = (
        trace_run(parse_scenario(f"{late} {steps}| arrive-commit A#1")) for steps in ("", "| start B | settle ")
    )

    assert () == in_time.violations
    assert [NO_LATE_COMMIT] == [violation.property for violation in overtaken.violations]


def test_a_topology_cannot_change_while_the_group_exists():
    run = trace_run(
        parse_scenario("A@4.3.1 B@4.3.1 group 4.3.1 | start A | settle | start B | settle | update A | settle")
    )

    assert [NO_MEMBER_FAILS] == [each.property for each in run.violations]
    assert "INVALID_REQUEST" in str(run.violations[0])


@pytest.mark.parametrize(("steps", "expected"), [("", [NO_MEMBER_FAILS]), ("| retire ", [])])
def test_a_member_joins_only_after_the_last_member_of_the_classic_protocol_has_left(steps, expected):
    run = trace_run(parse_scenario(f"A@4.3.1 group 4.3.1 classic=1 {steps}| start A | settle"))

    assert expected == [each.property for each in run.violations]


def test_a_trace_names_what_each_step_changes():
    run = trace_run(parse_scenario(f"{TWO} | start A | heartbeat A | callback A | crash A | expire A#1"))
    events = [[str(each) for each in events] for _, events in run.steps]

    assert ["A    is JOINING"] == events[0]
    assert ["     the group is in epoch 1", "A#1  has the target 0_0 0_1"] == events[1][:2]
    assert "epoch" == run.steps[1][1][0].kind
    assert "A    has 0_0 0_1" in events[2]
    assert ["A    has nothing", "A    does not run"] == events[3]
    assert "A#1  is no longer a member" in events[4]


def test_a_member_that_loses_a_heartbeat_and_is_silent_is_none_of_the_group():
    scenario = parse_scenario("A@4.3.1 group 4.3.1 classic=1 | retire | start A | settle | lose-request A | silence A")

    assert {} == run_scenario(scenario).group.members
    assert [
        "a member of the classic protocol leaves the group",
        "A starts with a new member id",
        "the protocol goes on until nothing changes",
        "a heartbeat of A is lost",
        "the session of A ends, as no heartbeat reaches the coordinator",
    ] == [step.description for step in scenario.steps]


def test_late_heartbeats_beside_another_fault_are_searched_without_what_s10_violates():
    assert [] == [
        finding.name
        for finding in FINDINGS
        if len(finding.faults) == 2 and "delay" in finding.faults and SINGLE_OWNER in finding.properties
    ]


def test_a_violation_is_an_event_of_its_step():
    run = trace_run(
        parse_scenario(
            "A@4.3.1 B@4.3.1 group 4.3.1 | start A | heartbeat A | start B | heartbeat B | callback B | heartbeat A"
            " | callback A | heartbeat B | callback B"
        )
    )

    assert SINGLE_OWNER == run.violations[0].property
    assert "violation" == run.steps[-1][1][-1].kind
