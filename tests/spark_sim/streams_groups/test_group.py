"""The coordinator's records: what a failover loads is what was there; compaction changes nothing."""

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.codec import TaskId
from streams_assignor.spark_sim.streams_groups import _actions
from streams_assignor.spark_sim.streams_groups._coordinator import (
    HeartbeatRequest,
    accepts_commit,
    fence_member,
    heartbeat,
)
from streams_assignor.spark_sim.streams_groups._world import initial_world
from streams_assignor.spark_sim.streams_groups.group import NO_GROUP, compacted
from streams_assignor.spark_sim.streams_groups.parser import parse_scenario
from streams_assignor.spark_sim.streams_groups.rules import rules_of
from streams_assignor.spark_sim.streams_groups.tasks import NO_TASKS, TasksTuple
from tests.each import for_each

LINE = "A@4.3.1 B@4.3.1 C@4.3.1 group 4.3.1 tasks=2+1 standbys=1"
VERBS = ("start", "heartbeat", "callback", "crash", "expire", "restart", "lose-response", "delay", "arrive")


@given(choices=st.lists(st.tuples(st.sampled_from(VERBS), st.integers(0, 2)), max_size=60))
def test_a_failover_loads_what_was_there(choices):
    world = initial_world(parse_scenario(LINE))
    for verb, place in choices:
        steps = list(_actions.possible_steps(world, verb))
        if steps:
            world = _actions.apply_step(world, steps[place % len(steps)])

        assert world.group == NO_GROUP.replay(world.group.records)


@given(members=st.lists(st.sampled_from(["join", "beat", "leave"]), max_size=30), data=st.data())
def test_a_compacted_log_loads_the_same_group(members, data):
    world, log = initial_world(parse_scenario(LINE)), ()
    group = world.group
    clients = {name: member.started(f"{name}#1") for name, member in world.members.items()}
    for verb in members:
        name = data.draw(st.sampled_from("ABC"))
        if verb == "leave" and f"{name}#1" in group.members:
            records = fence_member(group, f"{name}#1")
            clients[name] = world.members[name].started(f"{name}#1")
        else:
            client, request = clients[name].sent()
            records, response = heartbeat(group, request, world.config)
            clients[name] = client.received(response)
            while verb == "beat" and clients[name].client.callbacks:
                clients[name] = clients[name].completed_callback()
        group, log = group.replay(records), (*log, *records)

        assert group == NO_GROUP.replay(log)
        assert group == NO_GROUP.replay(compacted(log))


def test_a_commit_of_an_older_epoch_is_accepted_for_tasks_assigned_before_it():
    world = _actions.run_scenario(
        parse_scenario("A@4.3.1 B@4.3.1 group 4.3.1 | start A | settle | start B | settle | crash B | expire B#1")
    )
    group = _actions.apply_step(world, _actions.GroupStep("lose-response", "A")).group
    kept, gained = (
        (TaskId(0, 0), TaskId(0, 1)) if TaskId(0, 0) in world.members["A"].running else (TaskId(0, 1), TaskId(0, 0))
    )

    assert 3 == group.members["A#1"].epoch
    assert accepts_commit(group, "A#1", 2, kept, rules_of("4.3.1"))
    assert not accepts_commit(group, "A#1", 2, gained, rules_of("4.3.1"))
    assert not accepts_commit(group, "A#1", 2, kept, rules_of("4.1.1"))
    assert accepts_commit(group, "A#1", 3, gained, rules_of("4.1.1"))
    assert not accepts_commit(group, "A#1", 4, kept, rules_of("4.3.1"))
    assert not accepts_commit(group, "B#1", 2, kept, rules_of("4.3.1"))


def test_states_that_differ_in_their_epochs_alone_have_one_key():
    line = "A@4.3.1 group 4.3.1 | start A | settle"
    once = _actions.run_scenario(parse_scenario(line))
    twice = _actions.run_scenario(parse_scenario(f"{line} | restart A | settle | restart A | settle"))

    assert once.group.epoch < twice.group.epoch
    assert once.key == twice.key
    assert once.key != evolve(twice, failed=(("A", "failed"),)).key


REVOKED = f"{LINE} | start A | settle | start B | heartbeat B | heartbeat A | callback A | callback A | heartbeat A"
"""A has given tasks up: its epoch is 2, before it was 1."""
FENCED, UNKNOWN, NO_SUCH_GROUP = 110, 25, 69
OTHER = TasksTuple.of(active=[TaskId(9, 9)])


@for_each(
    [
        ("4.3.1", "A#1", 2, None, 0),
        ("4.3.1", "A#1", 3, None, FENCED),
        ("4.3.1", "A#1", 1, None, FENCED),
        ("4.3.1", "A#1", 1, "what it has", 0),
        ("4.3.1", "A#1", 1, "more", FENCED),
        ("4.3.1", "A#1", -5, "what it has", FENCED),
        ("4.3.1", "A#1", 0, None, 0),
        ("4.1.1", "A#1", 0, None, FENCED),
        ("4.3.1", "C#1", 2, None, UNKNOWN),
        ("4.3.1", "A#1", 1, None, NO_SUCH_GROUP, LINE),
    ]
)
def test_a_member_whose_epoch_is_wrong_is_fenced(case):
    """Only the epoch before is accepted, with tasks that the member has: its answer was lost."""
    release, member_id, epoch, tasks, expected, *line = case
    world = _actions.run_scenario(parse_scenario((line or [REVOKED])[0].replace("group 4.3.1", f"group {release}")))
    member = world.group.members.get(member_id)
    owned = None if tasks is None else member.assigned | (OTHER if tasks == "more" else NO_TASKS)

    assert member is None or (2, 1) == (member.epoch, member.previous_epoch)
    assert expected == heartbeat(world.group, HeartbeatRequest(member_id, epoch, owned=owned), world.config)[1].error


STATIC = "A@4.4.0 B@4.4.0 group 4.4.0 static=A,B | start A | settle | start B | settle"
AWAY = f"{STATIC} | stop A | callback A | heartbeat A"
FENCED_INSTANCE, UNRELEASED, INVALID = 82, 111, 42


@for_each(
    [
        (STATIC, "A#2", 0, UNRELEASED),
        (STATIC, "A#1", 0, UNRELEASED),
        (STATIC, "A#2", 2, FENCED_INSTANCE),
        (STATIC, "A#2", -2, FENCED_INSTANCE),
        (STATIC, "A#1", -1, 0),
        (STATIC.replace("static=A,B", "static=B"), "A#2", 2, UNKNOWN),
        (AWAY, "A#2", 0, 0),
        (AWAY, "A#1", 0, 0),
        (AWAY, "A#1", 2, FENCED),
        (STATIC.replace("static=A,B", "").replace("group 4.4.0", "group 4.3.1"), "A#2", 0, INVALID),
    ]
)
def test_an_instance_id_has_one_member_until_that_one_is_away(case):
    line, member_id, epoch, expected = case
    world = _actions.run_scenario(parse_scenario(line))
    request = HeartbeatRequest(member_id, epoch, "A", 0, owned=NO_TASKS, instance_id="A")
    response = heartbeat(world.group, request, world.config)[1]

    assert (expected, expected != 0) == (response.error, bool(response.message))


def test_a_static_member_that_is_away_holds_its_tasks_and_nothing_that_it_was_to_revoke():
    """B stalls before it has revoked a task that A is to have."""
    line = f"{AWAY} | expire A#1 | heartbeat B | callback B | heartbeat B | start A | heartbeat A | callback A"
    world = _actions.run_scenario(parse_scenario(f"{line} | heartbeat B | stall B | heartbeat B"))
    member = world.group.members["B#1"]

    assert (-2, NO_TASKS) == (member.epoch, member.pending_revocation)
    assert 1 == len(member.assigned.active)
    assert {0} == {epoch for _, epoch in member.assignment_epochs}


def test_a_member_whose_topology_is_older_than_that_of_the_group_is_told_so():
    world, stale = initial_world(parse_scenario(LINE)), []
    group = world.group
    for member_id, topology_epoch in (("A#1", 1), ("B#1", 0)):
        records, response = heartbeat(group, HeartbeatRequest(member_id, 0, "P", topology_epoch), world.config)
        group = group.replay(records)
        stale.append(response.stale_topology)

    assert [False, True] == stale


@pytest.mark.parametrize(("release", "is_sent_again"), [("4.3.1", False), ("fixed", True)])
def test_only_a_coordinator_that_sends_assignments_again_answers_tasks_that_have_not_changed(release, is_sent_again):
    world = _actions.run_scenario(parse_scenario(f"A@{release} group {release} | start A | settle"))
    member = world.group.members["A#1"]
    request = HeartbeatRequest("A#1", member.epoch, owned=member.assigned)
    response = heartbeat(world.group, request, world.config)[1]

    assert response.tasks == (member.assigned if is_sent_again else None)
