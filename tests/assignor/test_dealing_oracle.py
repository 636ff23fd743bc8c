"""Dealing tasks to members, beside Kafka's own ``assignTasksToThreads`` in random processes."""

import random

import pytest

from assignor.dealing import Crew
from assignor.eras import era_of
from assignor.group import lag
from subscription_codec import RUNNING, UNKNOWN_SUM, TaskId
from tests.integration.kafka_jars import Unavailable
from tests.java_oracle import Oracle
from upgrade import number_of

pytestmark = pytest.mark.java

CASES = 400
LAGS = [RUNNING, UNKNOWN_SUM, 0, 10, 10, 50, 90]


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


def dealt(process, release):
    lags = {
        member: sorted((lag(known, 100), task) for task, known in its.items() if task in process["stateful"])
        for member, its in process["sums"].items()
    }
    crew = Crew(
        members=process["members"],
        active=process["given"],
        standby=process["standby"],
        stateful=process["stateful"],
        had={member: [task for _, task in known] for member, known in lags.items()},
    )
    return era_of(number_of(release)).deal([crew], False)


def kept(process, hands):
    return sum(TaskId.parse(task) in process["sums"][member] for member, tasks in hands.items() for task in tasks)


@pytest.mark.parametrize("release", ["2.8.2", "3.9.2", "4.3.1"])
def test_members_get_what_kafka_gives_them(release):
    """The same, but for the last odd tasks that nobody had: Kafka takes them in the order of a heap's array."""
    gone = release != "2.8.2"  # which dies of a task that it does not know
    processes = [a_process(f"{release} {number}", gone=gone) for number in range(CASES)]
    try:
        with Oracle(release, "DealingOracle") as oracle:
            answers = oracle.ask(question(process) for process in processes)
    except Unavailable as missing:
        pytest.skip(f"no Kafka {release}: {missing}")
    identical = 0
    for process, answer in zip(processes, answers, strict=True):
        ours = dealt(process, release)
        for role in ("active", "standby"):
            mine = {member: sorted(str(task) for task in getattr(share, role)) for member, share in ours.items()}
            theirs = {member: sorted(tasks) for member, tasks in answer[role].items()}
            assert {member: len(tasks) for member, tasks in theirs.items()} == {
                member: len(tasks) for member, tasks in mine.items()
            }
            assert kept(process, mine) >= kept(process, theirs)
            identical += mine == theirs
    assert identical > 1.8 * CASES
