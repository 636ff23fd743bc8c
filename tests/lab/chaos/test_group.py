"""What is concluded from what members tell, with Kafka Streams among them."""

from types import SimpleNamespace

import pytest

from tests.lab.chaos.group import Group
from tests.lab.chaos.members import WorkerOutput
from tests.lab.chaos.outcome import ChaosSettings


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


# -- two processes with one group.instance.id --------------------------------------------------------------------------


class Process(SimpleNamespace):
    """Stands for a `Worker`."""

    ended = asked_to_end = False


@pytest.fixture(name="duplicated")
def fixture_duplicated(tmp_path):
    """A group in which a second process has the instance id of A, and the first process of A."""
    settings = ChaosSettings(seed=0, steps=(), members=("A", "B"), static=1, partitions=1)
    group = Group("app", settings, "b:1", None, {}, tmp_path, lambda _: None)
    first = Process(life=1, settings=SimpleNamespace(name="A", instance_id="instance-A"))
    group.workers = {"A": first}
    group._launch = lambda name, life: group.workers.update({name: Process(life=life)})
    group._received.put(WorkerOutput(0.0, "A", 1, {"event": "owns", "partitions": ["app-0"]}))
    group.listen()
    assert first is group.start_duplicate("A")
    return group, first


def fail(group, error):
    group._received.put(WorkerOutput(1.0, "A", 1, {"event": "failed", "error": error}))
    group._received.put(WorkerOutput(1.0, "A", 1, None))


def test_a_fenced_first_member_is_counted(duplicated):
    group, first = duplicated
    fail(group, "FencedInstanceIdException: another member has joined")
    group.note_fenced(first)

    assert (1, []) == (group.fenced_instances, group.failures)


@pytest.mark.parametrize("error", ["KafkaTimeoutError", "CommitFailedException"])
def test_a_first_member_that_ends_otherwise_is_a_failure(duplicated, error):
    group, first = duplicated
    fail(group, error)
    group.note_fenced(first)

    assert 0 == group.fenced_instances
    assert ["A: expected FencedInstanceIdException for a second group.instance.id, it ended "] == [
        failure.partition("{")[0] for failure in group.failures
    ]


def test_a_second_member_that_fails_is_a_failure(duplicated):
    group, _ = duplicated
    group._received.put(WorkerOutput(1.0, "A", 2, {"event": "failed", "error": "FencedInstanceIdException"}))
    group.listen()

    assert ["A died: FencedInstanceIdException"] == group.failures


def test_both_processes_can_own_a_partition(duplicated):
    group, _ = duplicated
    group._received.put(WorkerOutput(1.0, "A", 2, {"event": "owns", "partitions": ["app-0"]}))
    group.listen()

    assert {"app-0": ["A", "A 1"]} == group.owners.owners
    fail(group, "FencedInstanceIdException")
    group.listen()
    assert {"app-0": ["A"]} == group.owners.owners


def test_a_member_of_a_streams_group_tells_no_generation(tmp_path):
    """Brokers assign: it tells what it owns, and nothing else."""
    settings = ChaosSettings(seed=0, steps=(), members=("A",), partitions=1, protocol="streams")
    group = Group("app", settings, "b:1", None, {}, tmp_path, lambda _: None)
    group.workers = {"A": SimpleNamespace(life=1, asked_to_end=False, ended=False)}
    before = group.is_stable
    tell(group, "A", {"event": "owns", "partitions": ["app-0"]})

    assert (False, True) == (before, group.is_stable)
