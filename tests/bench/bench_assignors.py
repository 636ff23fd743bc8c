"""How fast tasks are assigned, here and on the JVM, for the same groups; and whether both say the same.

The high-availability assignor has to; the sticky one has ties of its own (see its docstring).

    pytest tests/bench/bench_assignors.py -m bench -s
    python -m tests.bench.bench_assignors [--all]

Cold: nobody had any task, every lag is 100000. Warm: the first client of that group has gone, the others have what they
got. One standby, two warm-ups, two members in each client. With ``--all`` the JVM does 1000 clients with 10000 tasks,
too, which takes some four minutes.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import ChainMap
from pathlib import Path
from uuid import UUID

import pytest

from assignor import high_availability, sticky
from assignor.assignment_configs import AssignmentConfigs
from assignor.client_state import RUNNING, ClientState
from subscription_codec import TaskId
from tests.integration.kafka_jars import Unavailable, class_path, java
from tests.java_oracle import compile_java

RELEASE = "4.3.1"
BEHIND = 100_000
CONFIG = AssignmentConfigs(num_standby_replicas=1)
OURS = [(10, 100), (100, 1000), (1000, 10_000), (5000, 100_000)]
ON_THE_JVM = OURS[:2]
REPEAT = {10: 200, 100: 30, 1000: 1}
_SOURCES = Path(__file__).parent


def on_the_jvm(groups, heap="2g"):
    """What the assignors of Kafka make of groups (see `AssignorTiming`); `Unavailable` without Java or the jars."""
    java()  # before Maven is asked for a lot
    jars = class_path(f"org.apache.kafka:kafka-streams:{RELEASE}")
    with tempfile.TemporaryDirectory(prefix="assignor-timing-") as classes:
        compile_java([_SOURCES / "java/AssignorTiming.java", _SOURCES.parent / "java/Json.java"], classes, jars)
        # Not the small Java of the tests: that one stops at the first of its two compilers.
        command = [java(), f"-Xmx{heap}", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp"]
        done = subprocess.run(
            [*command, f"{classes}{os.pathsep}{jars}", "AssignorTiming"],
            input="\n".join(map(json.dumps, groups)),
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            timeout=1200,
        )
    return [json.loads(line) for line in done.stdout.splitlines()]


def as_json(clients):
    return {
        str(client.process_id): {
            role: [[task.subtopology, task.partition] for task in sorted(getattr(client, role))]
            for role in ("active", "standby")
        }
        for client in clients
    }


def cold(number, tasks):
    """A new group, and its tasks: hundred in a subtopology."""
    chance = random.Random(number)
    ids = [TaskId(*divmod(task, 100)) for task in range(tasks)]
    shared = dict.fromkeys(ids, BEHIND)
    return [ClientState(UUID(int=chance.getrandbits(128)), 2, lags=ChainMap({}, shared)) for _ in range(number)], ids


def warm(clients):
    """The same group, assigned once, without its first client."""
    shared = clients[0].lags.maps[-1]
    return [
        ClientState(
            client.process_id,
            client.capacity,
            frozenset(client.active),
            frozenset(client.standby),
            lags=ChainMap({**dict.fromkeys(client.standby, 0), **dict.fromkeys(client.active, RUNNING)}, shared),
        )
        for client in clients[1:]
    ]


ASSIGNORS = {
    "high-availability": lambda group, tasks, stateful: high_availability.assign_tasks(group, tasks, stateful, CONFIG),
    "sticky": lambda group, tasks, stateful: sticky.assign_tasks(group, tasks, stateful, CONFIG.num_standby_replicas),
}


def measured(assignor, clients, tasks, repeat):
    """Seconds, the median of some runs; and how the last of them came out."""
    times = []
    stateful = set(tasks)
    for _ in range(repeat):
        group = [
            ClientState(c.process_id, c.capacity, c.previous_active, c.previous_standby, lags=c.lags) for c in clients
        ]
        begun = time.perf_counter()
        followup = ASSIGNORS[assignor](group, tasks, stateful)
        times.append(time.perf_counter() - begun)
    return sorted(times)[repeat // 2], group, followup


def for_the_jvm(assignor, clients, tasks, repeat):
    def pairs(found):
        return [[task.subtopology, task.partition] for task in sorted(found)]

    return {
        "assignor": assignor,
        "clients": [
            {
                "id": str(client.process_id),
                "capacity": client.capacity,
                "prevActive": pairs(client.previous_active),
                "prevStandby": pairs(client.previous_standby),
                "lags": [[task.subtopology, task.partition, lag] for task, lag in client.lags.maps[0].items()],
                "tags": {},
            }
            for client in clients
        ],
        "tasks": pairs(tasks),
        "stateful": pairs(tasks),
        "standbys": CONFIG.num_standby_replicas,
        "warmups": CONFIG.max_warmup_replicas,
        "acceptableLag": CONFIG.acceptable_recovery_lag,
        "tags": [],
        "otherwise": BEHIND,
        "repeat": repeat,
    }


def lines(assignor, jvm_sizes):
    """A line of the table for each size and temperature."""
    yield f"{f'{assignor}, milliseconds':<34}{'ours':>10}{'JVM':>12}{'times':>8}  same result"
    for number, tasks in OURS:
        clients, ids = cold(number, tasks)
        repeat = max(1, 3000 // tasks)
        for name in ("cold", "warm"):
            ours, group, followup = measured(assignor, clients, ids, repeat)
            line = f"{f'{number} clients, {tasks} tasks, {name}':<34}{1000 * ours:>10.1f}"
            if (number, tasks) in jvm_sizes:
                # Steady state on the JVM: the last runs of many, where there is time for many.
                [answer] = on_the_jvm([for_the_jvm(assignor, clients, ids, REPEAT[number])])
                theirs = sorted(answer["ns"][-max(1, REPEAT[number] // 3) :])
                theirs = theirs[len(theirs) // 2] / 1e9
                same = (answer["followup"], answer["clients"]) == (followup, as_json(group))
                line += f"{1000 * theirs:>12.1f}{theirs / ours:>8.1f}  {'yes' if same else 'no'}"
            yield line
            clients = warm(group)


@pytest.mark.bench
def test_how_fast_tasks_are_assigned():
    print()
    try:
        for assignor in ASSIGNORS:
            for line in lines(assignor, ON_THE_JVM):
                print(line, flush=True)
    except Unavailable as missing:
        pytest.skip(f"no assignors of Kafka Streams: {missing}")


if __name__ == "__main__":
    for name in ASSIGNORS:
        for each in lines(name, OURS[:3] if "--all" in sys.argv else ON_THE_JVM):
            print(each, flush=True)
