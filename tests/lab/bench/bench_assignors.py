"""How fast tasks are assigned, here and on the JVM, for the same groups; and whether both say the same.

The high-availability assignor has to; the sticky one has ties of its own (see its docstring).

    pytest tests/lab/bench/bench_assignors.py -m bench -s
    python -m tests.lab.bench.bench_assignors [--all]

Cold: no client had any task, every lag is 100000. Warm: the first client of that group has gone, the others have their
tasks. One standby, two warm-ups, two members in each client. With ``--all`` the JVM does 1000 clients with 10000 tasks,
too, which takes some four minutes.

With racks, clients are in three of them and each partition has replicas in two. Then the last column is how many
partitions are read from another rack by active tasks and standbys, ours and the JVM's. Its search takes minutes from a
hundred clients on.
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
from attrs import evolve

from streams_assignor.codec import TaskId
from streams_assignor.config import AssignmentConfigs
from streams_assignor.task_assignors.application_state import LATEST_OFFSET
from streams_assignor.task_assignors.built_in import BUILT_IN
from streams_assignor.task_assignors.rack_aware.racks import Racks
from tests.assignor.task_assignors.process_states import ProcessState, application_state, assign
from tests.java_oracle import compile_java
from tests.lab.integration.kafka_jars import Unavailable, class_path, java

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
        compile_java([_SOURCES / "java/AssignorTiming.java", _SOURCES.parents[1] / "java/Json.java"], classes, jars)
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
    return [ProcessState(UUID(int=chance.getrandbits(128)), 2, lags=ChainMap({}, shared)) for _ in range(number)], ids


def warm(clients):
    """The same group, assigned once, without its first client."""
    shared = clients[0].lags.maps[-1]
    return [
        ProcessState(
            client.process_id,
            client.capacity,
            frozenset(client.active),
            frozenset(client.standby),
            lags=ChainMap({**dict.fromkeys(client.standby, 0), **dict.fromkeys(client.active, LATEST_OFFSET)}, shared),
        )
        for client in clients[1:]
    ]


RACKS = ("a", "b", "c")


def racks_of(clients, ids):
    """Clients in turn in three racks; each partition, and each changelog partition, has replicas in two."""
    chance = random.Random(len(ids))

    def replicas():
        return {task: [chance.sample(RACKS, 2)] for task in ids}

    racks = {client.process_id: [RACKS[at % 3]] for at, client in enumerate(clients)}
    return Racks(process_racks=racks, partition_racks=replicas(), changelog_racks=replicas())


STRATEGIES = ("none", "min_traffic", "balance_subtopology")
ROWS = [(assignor, "none") for assignor in BUILT_IN]
ROWS += [(assignor, strategy) for assignor in ("high-availability", "sticky") for strategy in STRATEGIES[1:]]


def measured(assignor, clients, tasks, repeat, strategy="none"):
    """Seconds, the median of some runs; and how the last of them came out."""
    times = []
    config = evolve(CONFIG, rack_aware_assignment_strategy=strategy)
    racks = None if strategy == "none" else racks_of(clients, tasks)
    for _ in range(repeat):
        group = [
            ProcessState(c.process_id, c.capacity, c.previous_active, c.previous_standby, lags=c.lags) for c in clients
        ]
        state = application_state(group, tasks, set(tasks), config, racks)
        begun = time.perf_counter()
        followup = assign(BUILT_IN[assignor], group, state)
        times.append(time.perf_counter() - begun)
    return sorted(times)[repeat // 2], group, followup


def for_the_jvm(assignor, clients, tasks, repeat, strategy="none"):
    def pairs(found):
        return [[task.subtopology, task.partition] for task in sorted(found)]

    group = {
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
    if strategy != "none":
        racks = racks_of(clients, tasks)
        for client, rack in zip(group["clients"], racks.process_racks.values(), strict=True):
            client["rack"] = rack[0]
        group["strategy"] = strategy
        for key, found in (("racks", racks.partition_racks), ("changelogRacks", racks.changelog_racks)):
            group[key] = [[task.subtopology, task.partition, replicas] for task, replicas in found.items()]
    return group


def far(shares, group):
    """How many partitions are read from another rack."""
    rack = {client["id"]: client["rack"] for client in group["clients"]}
    replicas = {
        role: {(subtopology, partition): racks for subtopology, partition, racks in group[key]}
        for role, key in (("active", "racks"), ("standby", "changelogRacks"))
    }
    return sum(
        rack[name] not in racks
        for name, share in shares.items()
        for role in ("active", "standby")
        for task in share[role]
        for racks in replicas[role][tuple(task)]
    )


def lines(assignor, strategy, jvm_sizes):
    """A line of the table for each size and temperature."""
    racks = strategy != "none"
    name = f"{assignor}, {strategy}" if racks else assignor
    yield f"{f'{name}, milliseconds':<50}{'ours':>10}{'JVM':>12}{'times':>8}  {'far' if racks else 'same result'}"
    jvm_sizes = jvm_sizes[:1] if racks else jvm_sizes
    for number, tasks in OURS[:3] if racks else OURS:
        clients, ids = cold(number, tasks)
        repeat = max(1, 3000 // tasks)
        for temperature in ("cold", "warm"):
            ours, group, followup = measured(assignor, clients, ids, repeat, strategy)
            line = f"{f'{number} clients, {tasks} tasks, {temperature}':<50}{1000 * ours:>10.1f}"
            if (number, tasks) in jvm_sizes:
                # Steady state on the JVM: the last runs of many, where there is time for many.
                question = for_the_jvm(assignor, clients, ids, REPEAT[number], strategy)
                [answer] = on_the_jvm([question])
                theirs = sorted(answer["ns"][-max(1, REPEAT[number] // 3) :])
                theirs = theirs[len(theirs) // 2] / 1e9
                same = (answer["followup"], answer["clients"]) == (followup, as_json(group))
                line += f"{1000 * theirs:>12.1f}{theirs / ours:>8.1f}  "
                if racks:
                    line += f"{far(as_json(group), question)}/{far(answer['clients'], question)}"
                else:
                    line += "yes" if same else "no"
            yield line
            clients = warm(group)


@pytest.mark.bench
def test_how_fast_tasks_are_assigned():
    print()
    try:
        for assignor, strategy in ROWS:
            for line in lines(assignor, strategy, ON_THE_JVM):
                print(line, flush=True)
    except Unavailable as missing:
        pytest.skip(f"no assignors of Kafka Streams: {missing}")


if __name__ == "__main__":
    for row in ROWS:
        for each in lines(*row, OURS[:3] if "--all" in sys.argv else ON_THE_JVM):
            print(each, flush=True)
