"""``plan --to-protocol consumer`` on a real broker: a group of each client changes to KIP-848 and back, as printed."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from streams_assignor.groups.describe.kafka_python.group_lookup import GroupLookup
from streams_assignor.groups.described_group import DescribedGroup
from tests.lab.integration.clusters import Cluster
from tests.lab.integration.kafka_jars import Unavailable, class_path, driver, jvm
from tests.lab.integration.migrations import MOVED, TOOLS, command
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS, Subprocess, wait_until
from tests.matrix import with_matrix

pytestmark = [pytest.mark.broker, pytest.mark.java, pytest.mark.slow]

RELEASE = "4.4.0"
PARTITIONS = 6
BYTES = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
USUAL = {"auto.offset.reset": "earliest", "auto.commit.interval.ms": "200"}
NOT_FOUND = "The group id does not exist"
MOVING = {KafkaError.COORDINATOR_LOAD_IN_PROGRESS, KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.NOT_COORDINATOR}
"""As long as a broker begins to lead a partition of the offsets topic."""
LIBRDKAFKA, JAVA, KAFKA_PYTHON, AIOKAFKA = "librdkafka", "java", "kafka-python", "aiokafka"
CLIENTS = [
    (LIBRDKAFKA, "cooperative-sticky"),
    (LIBRDKAFKA, "range"),
    (LIBRDKAFKA, "roundrobin"),
    (JAVA, "org.apache.kafka.clients.consumer.RangeAssignor"),
    (JAVA, "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"),
    (KAFKA_PYTHON, ""),
    (KAFKA_PYTHON, "sticky"),
    (AIOKAFKA, ""),
    (AIOKAFKA, "sticky"),
]
"""The library of the classic members, and their assignor; empty: its default."""
SAME, MIXED, FIRST = (RELEASE,) * 3, ("4.1.2", "4.2.2", RELEASE), ("4.0.2", "4.1.2", RELEASE)
"""The releases of the brokers; 4.0 is the first with the consumer protocol for production."""
RUNS = [*((brokers, *client) for brokers in (SAME, MIXED) for client in CLIENTS), (FIRST, *CLIENTS[0])]
TIMEOUTS = {"session.timeout.ms": "50000", "heartbeat.interval.ms": "6000"}
SCRIPTS = {
    KAFKA_PYTHON: """
import sys, threading, kafka
from kafka.coordinator.assignors import range, roundrobin, sticky, cooperative_sticky
topic, assignor, *settings = sys.argv[1:]
classes = {
    "range": range.RangePartitionAssignor, "roundrobin": roundrobin.RoundRobinPartitionAssignor,
    "sticky": sticky.sticky_assignor.StickyPartitionAssignor,
    "cooperative-sticky": cooperative_sticky.CooperativeStickyAssignor,
}
more = {"partition_assignment_strategy": [classes[assignor]]} if assignor else {}
settings = dict(each.split("=", 1) for each in settings)
consumer = kafka.KafkaConsumer(topic, **settings, auto_offset_reset="earliest", auto_commit_interval_ms=200, **more)
ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
while not ended.is_set():
    for records in consumer.poll(200).values():
        for record in records:
            print("record", record.partition, record.offset, flush=True)
consumer.close()
""",
    AIOKAFKA: """
import asyncio, sys, aiokafka
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
topic, assignor, *settings = sys.argv[1:]
classes = {
    "range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor, "sticky": StickyPartitionAssignor,
}
settings = dict(each.split("=", 1) for each in settings)
if assignor:
    settings["partition_assignment_strategy"] = [classes[assignor]]
async def run():
    consumer = aiokafka.AIOKafkaConsumer(topic, **settings, auto_offset_reset="earliest", auto_commit_interval_ms=200)
    ended = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
    await consumer.start()
    while not ended.done():
        for records in (await consumer.getmany(timeout_ms=200)).values():
            for record in records:
                print("record", record.partition, record.offset, flush=True)
    await consumer.stop()
asyncio.run(run())
""",
}


class Group:
    """Three plain consumers of one topic; each has the protocol that it is started with."""

    def __init__(self, brokers: str, library: str, assignor: str, stack: ExitStack) -> None:
        self.brokers, self.library, self.assignor, self._stack = brokers, library, assignor, stack
        self.name = f"online-{uuid4().hex[:8]}"
        self.members: dict[str, Subprocess] = {}
        self._started: list[Subprocess] = []
        self._lookup = GroupLookup(brokers, timeout_seconds=TIMEOUT_SECONDS)
        self._producer, self._sent = Producer({"bootstrap.servers": brokers}), 0
        admin = AdminClient({"bootstrap.servers": brokers})
        admin.create_topics([NewTopic(self.name, PARTITIONS, 1)])[self.name].result(TIMEOUT_SECONDS)

    def start(self, name: str, protocol: str) -> Subprocess:
        """Start a member; the libraries that lack the new protocol are replaced by librdkafka then."""
        is_classic = protocol == "classic"
        at = {"bootstrap.servers": self.brokers, "group.id": self.name, "client.id": name}
        settings = {**at, **USUAL, "group.protocol": protocol}
        if is_classic and self.library not in SCRIPTS:
            settings |= TIMEOUTS
        if is_classic and self.assignor:
            settings["partition.assignment.strategy"] = self.assignor
        if self.library == JAVA:
            start = driver("Consuming", RELEASE)
            settings |= {"key.deserializer": BYTES, "value.deserializer": BYTES}
        else:
            start = [sys.executable, "-m", "tests.lab.integration.plain_member"]
        words = [self.name, *(f"{key}={value}" for key, value in settings.items())]
        if is_classic and self.library in SCRIPTS:
            start = [sys.executable, "-c", SCRIPTS[self.library]]
            words = [self.name, self.assignor, *(f"{key.replace('.', '_')}={value}" for key, value in at.items())]
        self.members[name] = self._stack.enter_context(Subprocess(name, [*start, *words]))
        self._started.append(self.members[name])
        return self.members[name]

    def stop(self, name: str) -> None:
        self.members.pop(name).stop()

    def settle(self) -> DescribedGroup:
        """Send records until the members that run have all partitions, and have committed more than before."""
        sent = self._sent
        seen: list[DescribedGroup] = []

        def is_settled() -> bool:
            self._send()
            seen[:] = [self._lookup.group(self.name)] if min(self._committed(), default=0) > sent else []
            return bool(seen) and (sorted(self.members), "Stable") == (
                sorted(member.client_id for member in seen[0].members),
                seen[0].state,
            )

        wait_until(is_settled, *self.members.values())
        return seen[0]

    def counts(self) -> tuple[int, int, int]:
        """How many records were sent, were never read, and were read again, once all members have stopped."""
        for name in [*self.members]:
            self.stop(name)
        lines = (line.split() for member in self._started for line in member.lines if line.startswith("record "))
        read = Counter((int(partition), int(offset)) for _, partition, offset in lines)
        sent = self._sent * PARTITIONS
        return sent, sent - len(read), read.total() - len(read)

    def _send(self) -> None:
        for partition in range(PARTITIONS):
            self._producer.produce(self.name, b"record", partition=partition)
        self._producer.flush(TIMEOUT_SECONDS)
        self._sent += 1

    def _committed(self) -> set[int]:
        reader = Consumer({"bootstrap.servers": self.brokers, "group.id": self.name})
        try:
            wanted = [TopicPartition(self.name, number) for number in range(PARTITIONS)]
            return {partition.offset for partition in reader.committed(wanted, timeout=TIMEOUT_SECONDS)}
        except KafkaException as error:
            if error.args[0].code() not in MOVING:
                raise
            return set()
        finally:
            reader.close()

    def plan(self, settings: Path) -> Any:
        """The object of the plan for this group; no broker shows the libraries of members."""
        settings.write_text("".join(f"{key}={value}\n" for key, value in TIMEOUTS.items()))
        words = ("--to-protocol", "consumer", "--group", self.name, "--bootstrap-servers", self.brokers)
        words += ("--config", str(settings))
        done = command("plan", *words, "--json")
        assert done.stdout, done.stderr
        plan = json.loads(done.stdout)
        assert (3 if plan["conditions"] else 0) == done.returncode
        return plan


def execute(line: str) -> str:
    """Run a printed line with the tool that it names; return what the tool wrote."""
    tool, *words = shlex.split(line)
    if tool == "streams-assignor":
        done = command(*words)
    else:
        artifact, main = MOVED.get((tool, RELEASE)) or TOOLS[tool]
        start = [*jvm(class_path(f"org.apache.kafka:{artifact}:{RELEASE}"), "128m", "warn"), main]
        done = subprocess.run([*start, *words], capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
    assert 0 == done.returncode, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(name="brokers_of", scope="module")
def fixture_brokers_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[tuple[str, ...]], str]]:
    """What starts brokers of some releases, unless they run, instead of those that run."""
    with ExitStack() as running:
        started: dict[tuple[str, ...], Cluster] = {}

        def brokers_of(releases: tuple[str, ...]) -> str:
            if releases not in started:
                running.close()
                started.clear()
                folder = tmp_path_factory.mktemp("online")
                cluster = running.enter_context(Cluster(folder, others=len(releases) - 1))
                for number, release in enumerate(releases, 1):
                    settings = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "9"}
                    level = None if releases == SAME else "4.0-IV3"
                    cluster.start(number, release, settings=settings, metadata=level)
                started[releases] = cluster
            return started[releases].brokers

        yield brokers_of


@pytest.fixture(name="brokers")
def fixture_brokers(brokers_of: Callable[[tuple[str, ...]], str], request: pytest.FixtureRequest) -> str:
    try:
        driver("Consuming", RELEASE)
        return brokers_of(request.param)
    except Unavailable as missing:
        pytest.skip(f"no broker {', '.join(request.param)} or no consumer {RELEASE}: {missing}")


@pytest.mark.parametrize(
    ("brokers", "library", "assignor"),
    with_matrix(RUNS, RUNS[:1], "the same with other brokers, or members of another library or assignor"),
    indirect=["brokers"],
    ids=lambda value: value if isinstance(value, str) else "+".join(value),
)
def test_a_group_changes_to_the_consumer_protocol_and_back(
    brokers: str, library: str, assignor: str, tmp_path: Path
) -> None:
    """Each record is committed once. Assignments with userdata are those of librdkafka's cooperative-sticky alone."""
    has_userdata = (library, assignor) == (LIBRDKAFKA, "cooperative-sticky")
    with ExitStack() as stack:
        group = Group(brokers, library, assignor, stack)
        for name in "abc":
            group.start(name, "classic")
            group.settle()
        plan = group.plan(tmp_path / "consumer.properties")
        steps = [step.get("commands", ()) for step in plan["steps"]]
        assert "Completed updating config" in execute(*steps[0])
        assert ("offline" if has_userdata else "one_bounce") == plan["plan"]
        assert "client-release" in plan["conditions"]

        if has_userdata:
            group.stop("a")
            new = group.start("a", "consumer")
            wait_until(lambda: new.ended)
            assert NOT_FOUND in new.lines[-1]
            for name in "abc":
                group.stop(name)
            for line in steps[-3]:  # stop every member
                execute(line)
            for name in "abc":
                group.start(name, "consumer")
        else:
            for name in "abc":
                group.stop(name)
                group.start(name, "consumer")
                assert "consumer" == group.settle().type
                for line in steps[-2]:  # after each restart
                    execute(line)
        assert "consumer" == group.settle().type
        configs = group.settle().broker.configs
        assert ("50000", "6000") == tuple(configs[f"consumer.{key}"] for key in TIMEOUTS)
        shown = [execute(line) for line in steps[-1]]
        assert 3 == shown[1].count(group.name + " ")
        after = group.plan(tmp_path / "consumer.properties")
        assert after["headline"].endswith("every member has it already, nothing to change")

        for number, name in enumerate("abc"):
            group.stop(name)
            group.start(name, "classic")
            assert ("consumer" if number < 2 else "classic") == group.settle().type
        sent, lost, doubled = group.counts()
    print(f"{library} {assignor}: {sent} records sent, {lost} lost, {doubled} doubled")
    assert not lost
