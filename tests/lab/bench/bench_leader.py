"""The complete leader step beside Kafka's: the bytes of all subscriptions in, the bytes of all assignments out.

    python -m tests.lab.bench.bench_leader [--all] [--followers]

Both sides get the same subscriptions, topics, racks and offsets, use the high-availability assignor, look up topics and
offsets in memory; the last column says whether they assign the same tasks to the same members. With racks they need
not: of equal costs, each may take another assignment, and Kafka may miss the least.

Each member is a process with an end point. *Cold*: no member has any task or state. *Warm*: all have run what they got,
and a tenth of them has gone. Times are CPU time of the calling thread, so a busy machine counts less, and exclude the
compilers and garbage collectors of the JVM: medians of nine calls after 20 others. Where our call takes over a second,
ours are medians of three after one; the JVM's are so with 1,000 members.

Without ``--all`` the JVM skips groups of 1,000 members, where one call takes up to minutes. It needs Java and Maven.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from streams_assignor.codec.consumer_protocol import decode_leader_userdata
from tests.java_oracle import compile_java
from tests.lab.bench.leader_groups import END_OFFSET, FEATURES, Features, Group, cold, member_config, warm
from tests.lab.integration.kafka_jars import class_path, java

RELEASE: Final = "4.3.1"
SIZES: Final = ((10, 100), (100, 1_000), (1_000, 10_000))
LARGEST_WITH_RACKS: Final = 10
"""Members: Kafka's solver needs minutes for each call of a larger group with racks."""
_SOURCES: Final = Path(__file__).parent
_WARM_UP: Final = (20, 9)
_SLOW: Final = (1, 3)


def measured(call: Callable[[], Any]) -> float:
    """Return the seconds of CPU time of a call."""
    begun = time.process_time()
    call()
    once = time.process_time() - begun
    discard, repeat = _SLOW if once > 1 else _WARM_UP
    times = []
    for _ in range(discard + repeat):
        begun = time.process_time()
        call()
        times.append(time.process_time() - begun)
    return statistics.median(times[discard:])


def for_the_jvm(group: Group, slow: bool) -> dict[str, Any]:
    """Return the group as ``LeaderTiming`` reads it."""
    discard, repeat = _SLOW if slow else _WARM_UP
    racks: dict[str, list[Any]] = {topic: [None] * count for topic, count in group.partitions.items()}
    for (topic, partition), replicas in group.replica_racks.items():
        racks[topic][partition] = replicas
    return {
        "config": member_config(group.features, 0),
        "subtopologies": len(group.leader.topology.subtopologies),
        "endOffset": END_OFFSET,
        "racks": racks,
        "subscriptions": {member: encoded.hex() for member, encoded in group.subscriptions.items()},
        "discard": discard,
        "measure": repeat,
        "bytes": len(group.members) <= SIZES[0][0],
    }


def on_the_jvm(question: dict[str, Any]) -> dict[str, Any]:
    """Ask Kafka's leader; `Unavailable` without Java or the jars."""
    java()  # before Maven is asked for a lot
    jars = class_path(f"org.apache.kafka:kafka-streams:{RELEASE}")
    with tempfile.TemporaryDirectory(prefix="leader-timing-") as classes:
        compile_java([_SOURCES / "java/LeaderTiming.java", _SOURCES.parents[1] / "java/Json.java"], classes, jars)
        command = [java(), "-Xmx8g", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp"]
        done = subprocess.run(
            [*command, f"{classes}{os.pathsep}{jars}", "LeaderTiming"],
            input=json.dumps(question) + "\n",
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            timeout=3600,
        )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def tasks_of_members(assignments: dict[str, bytes]) -> dict[str, list[list[str]]]:
    """Return the active and the standby tasks of each member."""
    tasks = {}
    for member, encoded in assignments.items():
        _, assignment = decode_leader_userdata(encoded)
        standby = sorted(each.task for each in assignment.standby_tasks)
        tasks[member] = [[str(task) for task in assignment.active_tasks], [str(task) for task in standby]]
    return tasks


def compared(ours: dict[str, bytes], answer: dict[str, Any]) -> str:
    """Say whether both sides assign the same."""
    theirs = answer["members"]
    mine = tasks_of_members(ours)
    if mine == theirs:
        return "yes"
    differing = sum(mine[member] != theirs[member] for member in mine)
    return f"{differing} of {len(mine)} members differ"


def rows(features: Features, members: int, tasks: int, *, jvm: bool) -> Iterator[str]:
    """Yield a row of the table for the cold and the warm group."""
    group = cold(features, members, tasks)
    slow = members > 100
    for temperature in ("cold", "warm"):
        ours = measured(group.assign)
        row = f"| {members:,} x {tasks:,}, {features.name}, {temperature} | {1000 * ours:,.1f} |"
        if jvm:
            answer = on_the_jvm(for_the_jvm(group, slow))
            theirs = statistics.median(answer["cpu"]) / 1e9
            row += f" {1000 * theirs:,.1f} | {theirs / ours:,.1f} | {compared(group.assign(), answer)} |"
        yield row
        if temperature == "cold":
            group = warm(group)


def follower_rows(features: Features, members: int, tasks: int) -> Iterator[str]:
    """Yield what one member does in a rebalance: encode its subscription, decode its assignment."""
    group = warm(cold(features, members, tasks))
    name, encoded = next(iter(group.assign().items()))
    member = group.members[name]
    join, receive = measured(member.subscription), measured(lambda: member.on_assignment(encoded))
    yield (
        f"| {members:,} x {tasks:,}, {features.name} | {1000 * join:,.2f} | {len(group.subscriptions[name]):,} "
        f"| {1000 * receive:,.2f} | {len(encoded):,} |"
    )


def main() -> None:
    """Print the tables."""
    if "--followers" in sys.argv:
        for members, tasks in SIZES:
            for line in follower_rows(FEATURES[0], members, tasks):
                print(line, flush=True)
        return
    everything = "--all" in sys.argv
    for members, tasks in SIZES:
        for features in FEATURES:
            jvm = members <= LARGEST_WITH_RACKS if features.racks else everything or members <= 100
            for line in rows(features, members, tasks, jvm=jvm):
                print(line, flush=True)


if __name__ == "__main__":
    main()
