"""How often the audit finds the right cause: its causes beside what the broker, the members and the driver logged.

``python -m tests.lab.integration.rebalance_causes --write`` plays the scenarios on a real broker, all groups at a time
(five minutes), audits the broker's segments, and stores the number of right, wrong and unknown causes in
tests/lab/integration/rebalance_causes.json, of which docs/tables.py makes a table.

The truth of a generation is what the logs say (``rebalance_truth``); the audit sees nothing of them.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from streams_assignor.spark_sim.audit.job import run_audit
from streams_assignor.spark_sim.audit.partition_audit import AuditFilter
from streams_assignor.spark_sim.audit.sources import segments_source
from tests.lab.integration.background import sent_records
from tests.lab.integration.clusters import NEWEST, OLDER, Cluster
from tests.lab.integration.group_scenarios import ScenarioStep
from tests.lab.integration.peers import Group, Member
from tests.lab.integration.rebalance_truth import Played, compare
from tests.lab.integration.topologies import PARTITIONS

RESULTS: Final = Path(__file__).with_name("rebalance_causes.json")
_LOGGERS: Final = ("org.apache.kafka.streams.processor.internals", "org.apache.kafka.clients.consumer.internals")
_LOG: Final = "-Dorg.slf4j.simpleLogger"
_JAVA_OPTIONS: Final = " ".join(
    [
        f"{_LOG}.showDateTime=true",
        f"{_LOG}.dateTimeFormat=HH:mm:ss.SSS",
        *(f"{_LOG}.log.{name}=info" for name in _LOGGERS),
    ]
)
_COMPLETE: Final = ("Assignment received", "is now empty", "Computed a new target assignment")
_QUIET_SECONDS: Final = 4.0
_PATIENCE_SECONDS: Final = 60.0
_SEND_SECONDS: Final = 0.5
_FROZEN_SECONDS: Final = 9.0
"""Longer than the sessions of plain consumers."""
_NOT_WITH_CONSUMER: Final = {"session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy"}
"""Settings that librdkafka refuses with ``group.protocol=consumer``."""
_OURS: Final = "python1@streams-assignor"

# A word is one of ``ScenarioStep``, or: +N (the source topic gets N partitions), ~SECONDS (wait).
STREAMS: Final = {
    "java": ("stateful", f"java1@{NEWEST} java2@{NEWEST} java3@{NEWEST} !java2 java2@{NEWEST} java1@{NEWEST} -java3"),
    "java and ours": (
        "stateful",
        f"{_OURS} java1@{OLDER} -python1 {_OURS} !java1 java1@{OLDER} java1@{OLDER} !python1 {_OURS} -java1",
    ),
    "bounce to 3.9": ("stateful", f"java1@2.8.2 java2@2.8.2 java1@{OLDER} java2@{OLDER}"),
    "bounce to 2.6": ("stateful", "java1@2.3.1 java2@2.3.1 java1@2.6.3 java2@2.6.3"),
    "growing": (
        "stateless",
        f"java1@{NEWEST},metadata.max.age.ms=3000 java2@{NEWEST},metadata.max.age.ms=3000 +8 +9 !java1 +12",
    ),
    "static": (
        "stateful",
        f"java1@{NEWEST},group.instance.id=a java2@{NEWEST},group.instance.id=b java1@{NEWEST},group.instance.id=a "
        f"!java2 java2@{NEWEST},group.instance.id=b",
    ),
    "warm-up": (
        "stateful",
        f"java1@{NEWEST},acceptable.recovery.lag=0,probing.rebalance.interval.ms=60000 ~20 "
        f"java2@{NEWEST},acceptable.recovery.lag=0,probing.rebalance.interval.ms=60000 ~200",
    ),
}
# Plain consumers: NAME[;key=value...] starts, -NAME, !NAME, +N, NAME:subscribe, NAME:stall, &NAME[;...] restarts
# after a kill, before the session ends, *NAME is frozen for longer than its session.
_STRATEGY: Final = "partition.assignment.strategy"
_PLAIN_LINE: Final = "a b c -b b !c c +8 a:subscribe &b +10 b:stall -a a !a -c -b"
PLAIN: Final[Mapping[str, tuple[dict[str, str], str]]] = {
    "range": ({"partition.assignment.strategy": "range"}, _PLAIN_LINE),
    "cooperative": ({"partition.assignment.strategy": "cooperative-sticky"}, _PLAIN_LINE),
    "idle": ({"partition.assignment.strategy": "range"}, "a b c -b b !c c -a a !b -c -a"),
    "static consumers": ({"group.instance.id": "{name}"}, "a b c &b -c c !b b !a &c"),
    # Its coordinator starts a rebalance only if the group's choice of a protocol changes.
    "static strategies": (
        {"group.instance.id": "{name}"},
        f"a;{_STRATEGY}=range,roundrobin &a;{_STRATEGY}=roundrobin,range &a;{_STRATEGY}=range,roundrobin",
    ),
    "frozen": ({}, "a b c *b *c *a !a -b"),
}
# Only where consumers of KIP-848 can join a classic group, and back: from 4.0.
CONVERTED: Final[Mapping[str, tuple[dict[str, str], str]]] = {
    "converted": ({}, "a b -b b;group.protocol=consumer -a a;group.protocol=consumer -a a -b"),
    "consumer protocol": ({"group.protocol": "consumer"}, "a b c -b b !c c +8 a:subscribe -a -c"),
}


def clock() -> str:
    now = time.time()
    return f"{time.strftime('%H:%M:%S', time.localtime(now))}.{int(now * 1000) % 1000:03}"


class Driver:
    """Plays the scenarios on one broker."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.brokers, self.folder = cluster.brokers, folder
        self.log = cluster._running[1].lines
        self.topics: dict[str, int] = {}
        self.played: list[Played] = []

    def settle(self, group: str, since: int, patience: float = _PATIENCE_SECONDS) -> None:
        """Wait until the coordinator has completed a rebalance of a group, and then been quiet."""
        deadline, seen, changed, complete = time.monotonic() + patience, since, time.monotonic(), False
        while time.monotonic() < deadline:
            lines = self.log[seen:]
            seen += len(lines)
            for line in lines:
                if group in line:
                    changed = time.monotonic()
                    complete = any(words in line for words in _COMPLETE)
            if complete and time.monotonic() - changed > _QUIET_SECONDS:
                return
            time.sleep(0.2)

    def grow(self, topic: str, number: int) -> None:
        admin = AdminClient({"bootstrap.servers": self.brokers})
        admin.create_partitions([NewPartitions(topic, number)])[topic].result(60)
        self.topics[topic] = number

    def streams(self, name: str, shape: str, line: str) -> None:
        with Group(self.brokers, shape, self.folder / "state") as group:
            played = Played(group.topics.application, name)
            self.played.append(played)
            self.topics[group.topics.source] = PARTITIONS
            for word in line.split():
                since = len(self.log)
                played.steps.append((clock(), word))
                if word.startswith("~"):
                    time.sleep(float(word[1:]))
                elif word.startswith("+"):
                    self.grow(group.topics.source, int(word[1:]))
                    self.settle(played.group, since, 20)
                else:
                    self._step(group, ScenarioStep.parse(word), played)
                    again = "group.instance.id" in word and len(played.members[ScenarioStep.parse(word).name]) > 1
                    self.settle(played.group, since, 12 if again else _PATIENCE_SECONDS)

    def _step(self, group: Group, word: ScenarioStep, played: Played) -> None:
        if word.kills:
            group.kill(word.name)
        elif word.name in group.members:
            group.members.pop(word.name).stop()
        if word.release:
            # A restarted process has its folder again, but a new process id, because its store is in memory.
            state = {} if word.name.startswith("python") else {"state.dir": str(self.folder / played.group / word.name)}
            group.start(word.name, word.release, **state, **word.settings)
            played.members[word.name].append(group.members[word.name])

    def plain(self, name: str, settings: Mapping[str, str], line: str) -> None:
        group = f"plain-{name.replace(' ', '-')}"
        topics = [f"{group}-1", f"{group}-2"]
        admin = AdminClient({"bootstrap.servers": self.brokers})
        for future in admin.create_topics([NewTopic(topic, PARTITIONS, 1) for topic in topics]).values():
            future.result(60)
        if name != "idle":
            self.topics.update(dict.fromkeys(topics, PARTITIONS))
        played, running = Played(group, name), dict[str, Member]()
        self.played.append(played)

        def start(word: str) -> None:
            client, *changes = word.split(";")
            given = {
                "bootstrap.servers": self.brokers,
                "group.id": group,
                "client.id": client,
                "session.timeout.ms": "6000",
                "auto.commit.interval.ms": "1000",
                "heartbeat.interval.ms": "1000",
                "max.poll.interval.ms": "8000",
                "topic.metadata.refresh.interval.ms": "2000",
                "debug": "cgrp",
                **{key: value.format(name=client) for key, value in settings.items()},
                **dict(each.split("=") for each in changes),
            }
            if given.get("group.protocol") == "consumer":
                given = {key: value for key, value in given.items() if key not in _NOT_WITH_CONSUMER}
            command = [sys.executable, "-m", "tests.lab.integration.plain_member", topics[0]]
            running[client] = Member(client, [*command, *(f"{key}={value}" for key, value in given.items())], {})
            played.members[client].append(running[client])

        try:
            for word in line.split():
                since, patience = len(self.log), _PATIENCE_SECONDS if name in CONVERTED else 20.0
                played.steps.append((clock(), word))
                client, _, what = word.partition(":")
                if word.startswith("+"):
                    self.grow(topics[0], int(word[1:]))
                elif what:
                    print(what, ",".join(topics), file=running[client]._process.stdin, flush=True)
                elif word[0] in "-&!":
                    name_of = word[1:].partition(";")[0]
                    running.pop(name_of).stop() if word[0] == "-" else running.pop(name_of).kill()
                    if word[0] == "&":
                        start(word[1:])
                elif word[0] == "*":
                    running[word[1:]].signal(signal.SIGSTOP)
                    time.sleep(_FROZEN_SECONDS)
                    running[word[1:]].signal(signal.SIGCONT)
                else:
                    start(word)
                self.settle(group, since, patience)
        finally:
            for member in running.values():
                member.stop()


def play(release: str, folder: Path, only: str = "") -> list[dict[str, Any]]:
    """Play all scenarios on a broker, and compare the audit of its segments with the logs."""
    import pyarrow.parquet as pq

    os.environ["JAVA_TOOL_OPTIONS"] = _JAVA_OPTIONS
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster(folder, "3.9-IV0" if release == OLDER else "4.0-IV3"))
        settings = {"offsets.topic.num.partitions": "3", "group.initial.rebalance.delay.ms": "0"}
        cluster.start(1, release, settings=settings)
        driver = Driver(cluster, folder)
        lanes: list[Callable[[], None]] = [
            lambda n=n, o=o: driver.streams(n, *o) for n, o in STREAMS.items() if only in n
        ]
        plain = PLAIN if release == OLDER else {**PLAIN, **CONVERTED}
        lanes += [lambda n=n, o=o: driver.plain(n, *o) for n, o in plain.items() if only in n]
        with (
            sent_records(cluster.brokers, driver.topics, _SEND_SECONDS),
            ThreadPoolExecutor(len(lanes)) as pool,
        ):
            for played in [pool.submit(lane) for lane in lanes]:
                played.result()
        run_audit(segments_source(folder / "1" / "data"), folder / "audit", AuditFilter())
        rows = pq.read_table(folder / "audit" / "generations").to_pylist()
        return compare(rows, list(driver.log), driver.played)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[2])
    parser.add_argument("--broker", default=NEWEST, help="release of the broker")
    parser.add_argument("--only", default="", help="scenarios whose names contain this")
    parser.add_argument("--write", action="store_true", help="store the counts for the documentation")
    parser.add_argument("--log", type=Path, help="a file for each rebalance with its truth")
    parser.add_argument("--keep", type=Path, help="a new folder for the broker, which is kept")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="causes-") as scratch:
        found = play(options.broker, options.keep or Path(scratch), options.only)
    if options.log:
        options.log.write_text("".join(json.dumps(each) + "\n" for each in found), encoding="utf-8")
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for each in found:
        counts[next(filter(None, each["truths"]), "no truth")][each["verdict"]] += 1
    for cause, of in sorted(counts.items()):
        print(cause, dict(of))
    for each in found:
        if each["verdict"] in ("wrong", "no truth"):
            print(json.dumps(each))
    if options.write:
        kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
        kept[options.broker] = {cause: dict(of) for cause, of in sorted(counts.items())}
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
