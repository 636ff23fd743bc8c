"""Dealing tasks to members, beside Kafka's own ``assignTasksToThreads`` in random processes."""

import random

import pytest

from streams_assignor.codec import LATEST_OFFSET, OFFSET_UNKNOWN, TaskId
from streams_assignor.protocol.group import compute_lag
from streams_assignor.protocol.member_tasks import MEMBER_TASK_ASSIGNORS, ProcessTasks
from streams_assignor.upgrade import number_of
from streams_assignor.upgrade.release_behaviour import behaviour_of
from tests.java_oracle import Oracle
from tests.lab.integration.kafka_jars import Unavailable

pytestmark = pytest.mark.java
UNKNOWN = {
    "error": "java.lang.IllegalStateException",
    "message": "Tried to lookup lag for unknown task 1_1",
}

CASES = 400
LAGS = [LATEST_OFFSET, OFFSET_UNKNOWN, 0, 10, 10, 50, 90]


def a_process(seed, *, gone):
    """A client that was given some tasks; its members have state of some, and perhaps of a task that is gone."""
    choose = random.Random(seed)
    everything = [TaskId(group, partition) for group in range(4) for partition in range(6)]
    stateful = {task for task in everything if task.subtopology % 2 == 0}
    given = choose.sample(everything, choose.randint(0, len(everything)))
    standby = choose.sample(sorted(stateful - set(given)), choose.randint(0, len(stateful - set(given))))
    members = [f"member-{number}" for number in range(choose.randint(1, 6))]
    left = sorted(stateful | ({TaskId(9, 9)} if gone else set()))
    choose.shuffle(left)
    sums = {}
    for member in members:
        count = choose.randint(0, len(left))
        its, left = left[:count], left[count:]
        sums[member] = {task: choose.choice(LAGS) for task in its}
    return {"members": members, "given": given, "standby": standby, "stateful": stateful, "sums": sums}


def question(process):
    active, stateful = set(process["given"]), process["stateful"]
    return {
        "members": process["members"],
        "stateful": [task[:2] for task in sorted(active & stateful)],
        "stateless": [task[:2] for task in sorted(active - stateful)],
        "standby": [task[:2] for task in process["standby"]],
        "sums": {
            member: [[*task[:2], known] for task, known in its.items()] for member, its in process["sums"].items()
        },
        "ends": [[*task[:2], 100] for task in sorted(stateful)],
    }


def assigned_tasks(process, release):
    lags = {
        member: sorted((compute_lag(known, 100), task) for task, known in its.items() if task in process["stateful"])
        for member, its in process["sums"].items()
    }
    process = ProcessTasks(
        members=process["members"],
        active=process["given"],
        standby=process["standby"],
        stateful=process["stateful"],
        previous_tasks_by_lag={member: [task for _, task in known] for member, known in lags.items()},
    )
    return MEMBER_TASK_ASSIGNORS[behaviour_of(number_of(release)).member_tasks]([process], False)


def kept(process, tasks_by_member):
    return sum(
        TaskId.parse(task) in process["sums"][member] for member, tasks in tasks_by_member.items() for task in tasks
    )


@pytest.mark.parametrize("release", ["2.8.2", "3.9.2", "4.3.1"])
def test_members_get_what_kafka_gives_them(release):
    """The same, but for the last tasks without a previous owner: Kafka takes them in the order of a heap's array."""
    gone = release != "2.8.2"  # which fails on a task that it does not know
    processes = [a_process(f"{release} {number}", gone=gone) for number in range(CASES)]
    try:
        with Oracle(release, "DealingOracle") as oracle:
            answers = oracle.ask(question(process) for process in processes)
    except Unavailable as missing:
        pytest.skip(f"no Kafka {release}: {missing}")
    identical = 0
    for process, answer in zip(processes, answers, strict=True):
        ours = assigned_tasks(process, release)
        for role in ("active", "standby"):
            mine = {member: sorted(str(task) for task in getattr(share, role)) for member, share in ours.items()}
            theirs = {member: sorted(tasks) for member, tasks in answer[role].items()}
            assert {member: len(tasks) for member, tasks in theirs.items()} == {
                member: len(tasks) for member, tasks in mine.items()
            }
            assert kept(process, mine) >= kept(process, theirs)
            identical += mine == theirs
    assert identical > 1.8 * CASES


@pytest.mark.parametrize(("release", "fails"), [("2.6.0", True), ("3.0.2", True), ("3.1.0", False)])
def test_from_2_6_to_3_0_a_named_task_without_state_ends_the_assignment_of_tasks_with_state(release, fails):
    named = {
        "members": ["a", "b"],
        "stateless": [[1, 1]],
        "standby": [],
        "sums": {"a": [[0, 2, LATEST_OFFSET]], "b": [[1, 1, LATEST_OFFSET]]},
        "ends": [[0, 2, 100]],
    }
    try:
        with Oracle(release, "DealingOracle") as oracle:
            beside, alone = oracle.ask([named | {"stateful": [[0, 2]]}, named | {"stateful": []}])
    except Unavailable as missing:
        pytest.skip(f"no Kafka {release}: {missing}")

    assert fails == (beside == UNKNOWN)
    assert {"active", "standby"} == alone.keys()


@pytest.mark.parametrize("release", ["2.6.3", "3.9.2", "4.3.1"])
@pytest.mark.parametrize(("runs", "has_on_disk"), [(2, 5), (5, 2)])
@pytest.mark.parametrize("named", [True, False])
def test_what_a_member_has_on_disk_comes_before_what_it_runs(release, runs, has_on_disk, named):
    """L6: so the member has to give up what it runs, to the other member of its process, and then the same again.

    Members of 2.4 and 2.5 do not even name what they run.
    """
    process = {
        "members": ["a", "b"],
        "given": [TaskId(0, 2), TaskId(0, 5)],
        "standby": [],
        "stateful": {TaskId(0, 2), TaskId(0, 5)},
        "sums": {
            "a": {TaskId(0, has_on_disk): OFFSET_UNKNOWN} | ({TaskId(0, runs): LATEST_OFFSET} if named else {}),
            "b": {},
        },
    }
    try:
        with Oracle(release, "DealingOracle") as oracle:
            (answer,) = oracle.ask([question(process)])
    except Unavailable as missing:
        pytest.skip(f"no Kafka {release}: {missing}")

    assert {"a": [f"0_{has_on_disk}"], "b": [f"0_{runs}"]} == answer["active"]
    assert {
        member: [str(task) for task in share.active] for member, share in assigned_tasks(process, release).items()
    } == (answer["active"])
