"""What is concluded from what members tell, with Kafka Streams among them."""

from types import SimpleNamespace

import pytest

from tests.chaos.group import Group
from tests.chaos.members import WorkerOutput
from tests.chaos.outcome import ChaosSettings


@pytest.fixture(name="group")
def fixture_group(tmp_path):
    settings = ChaosSettings(seed=0, steps=(), members=("A", "B", "C"), java="3.9.2")
    group = Group("app", settings, "b:1", None, {}, tmp_path, lambda _: None)
    group.workers = {name: SimpleNamespace(life=1, asked_to_end=False) for name in "ABC"}
    group.started = []
    group.start = group.started.append
    return group


def tell(group, name, event):
    group._received.put(WorkerOutput(0.0, name, 1, event))
    group.listen()


def assigned(*, leader, generation=7):
    return {"event": "assigned", "generation": generation, "leader": leader, "version": 11}


def test_the_leader_is_the_member_that_assigned_last(group):
    for name, leader in (("A", False), ("B", True)):
        tell(group, name, assigned(leader=leader))

    assert "B" == group.leader


def test_kafka_streams_leads_if_no_python_member_does(group):
    tell(group, "A", assigned(leader=True, generation=6))
    for name in "AB":
        tell(group, name, assigned(leader=False))

    assert "C" == group.leader


def test_a_failed_kafka_streams_is_restarted_and_counted_separately(group):
    tell(group, "C", {"event": "failed", "error": "in state ERROR"})
    tell(group, "C", None)

    assert (["C died: in state ERROR"], [], ["C"]) == (group.java_failures, group.failures, group.started)


def test_a_killed_member_is_not_restarted_early(group):
    group.workers["C"].asked_to_end = True
    tell(group, "C", None)

    assert not group.started + group.java_failures


def test_a_failed_python_member_is_a_problem(group):
    tell(group, "A", {"event": "failed", "error": "a bug"})
    tell(group, "A", None)

    assert (["A died: a bug"], [], []) == (group.failures, group.java_failures, group.started)
