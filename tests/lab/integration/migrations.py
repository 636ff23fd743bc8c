"""One application that changes its protocol: its members, its plan, and the commands that the plan prints."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from streams_assignor.cli.plan.live_group import live_group
from streams_assignor.groups.describe.kafka_python.group_lookup import GroupLookup
from tests.lab.integration.applications import PARTITIONS, Application, settle
from tests.lab.integration.clusters import NEWEST, Cluster
from tests.lab.integration.kafka_jars import class_path, counting, jvm
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS, JavaMember, wait_until

RELEASES = (NEWEST, "4.2.2", "4.4.0")
"""The releases of brokers and members with which a group was migrated."""
SETTINGS = {"num.standby.replicas": "1", "session.timeout.ms": "6000", "heartbeat.interval.ms": "500"}
"""Two of them are outside what brokers accept of a streams group."""
STREAMS = {"group.protocol": "streams"}
KEYS = {str(number) for number in range(PARTITIONS)}
SCRIPT = "from streams_assignor.cli.main import main; main()"


class Site:
    """One application on one cluster; brokers and members are of one release."""

    def __init__(self, cluster: Cluster, release: str, folder: Path) -> None:
        self.cluster, self.release, self.folder = cluster, release, folder
        self.application = Application(cluster.brokers)
        self.lookup = GroupLookup(cluster.brokers, {}, TIMEOUT_SECONDS)
        self.file = folder / "members.properties"
        self.file.write_text("".join(f"{key}={value}\n" for key, value in SETTINGS.items()))
        self.sent = 0

    @contextmanager
    def members(self, name: str, **settings: str) -> Iterator[list[JavaMember]]:
        """Two processes that have all tasks and have counted what was sent before and after they started."""
        with ExitStack() as stack:
            started = [stack.enter_context(self.member(f"{name}{number}", **settings)) for number in (1, 2)]
            settle(*started)
            self.count(5)
            yield started

    def member(self, name: str, **more: str) -> JavaMember:
        usual = {
            "bootstrap.servers": self.cluster.brokers,
            "application.id": self.application.name,
            "client.id": name,
            "state.dir": str(self.folder / name),
            "statestore.cache.max.bytes": "0",
            "commit.interval.ms": "200",
        }
        settings = [f"{key}={value}" for key, value in {**usual, **SETTINGS, **more}.items()]
        return JavaMember(name, [*counting(self.release), self.application.source, self.application.output, *settings])

    def wider_source(self) -> str:
        """Create the second topic of a member of the shape "wider", and return the names of both."""
        names = (self.application.source, f"{self.application.source}-more")
        admin = AdminClient({"bootstrap.servers": self.cluster.brokers})
        admin.create_topics([NewTopic(names[1], PARTITIONS, 1)])[names[1]].result(TIMEOUT_SECONDS)
        return ", ".join(names)

    def count(self, records: int) -> None:
        """Send records and wait until they are counted and committed; none may be lost or counted twice."""
        self.sent += records
        self.application.send(records)
        counts = self.application.counts(KEYS, self.sent)
        assert set(counts.values()) == {self.sent}
        wait_until(lambda: set(self.committed()) == {self.sent})

    def committed(self) -> list[int]:
        reader = Consumer({"bootstrap.servers": self.cluster.brokers, "group.id": self.application.name})
        try:
            wanted = [TopicPartition(self.application.source, number) for number in range(PARTITIONS)]
            return [partition.offset for partition in reader.committed(wanted, timeout=TIMEOUT_SECONDS)]
        finally:
            reader.close()

    def plan(self, protocol: str, *more: str) -> tuple[int, Any]:
        """Exit status and object of the plan for this group."""
        at = ("--group", self.application.name, "--bootstrap-servers", self.cluster.brokers)
        ends = (self.release, self.release, "--to-protocol", protocol, "--config", str(self.file))
        done = command("plan", *ends, *at, "--broker-release", self.release, "--json", *more)
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)

    def execute(self, line: str) -> str:
        """Run a printed line with the tool that it names; return what the tool wrote."""
        tool, *words = shlex.split(line)
        done = command(*words) if tool == "streams-assignor" else self._kafka_tool(tool, words)
        assert 0 == done.returncode, done.stdout + done.stderr
        print(f"$ {line}\n{done.stdout}")
        return done.stdout

    def _kafka_tool(self, tool: str, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        release = self.release if self.release == "4.4.0" or tool == "kafka-configs" else NEWEST
        artifact, main = MOVED.get((tool, release)) or TOOLS[tool]
        start = [*jvm(class_path(f"org.apache.kafka:{artifact}:{release}"), "128m", "warn"), main, *words]
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while True:
            done = subprocess.run(start, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
            # The tools wait for half a minute only.
            if "TimeoutException" not in done.stdout + done.stderr or time.monotonic() > deadline:
                return done

    def standbys(self) -> int:
        return live_group(self.lookup.group(self.application.name), {}).standby_tasks

    def failure(self, name: str, **settings: str) -> str:
        """Start a member that fails and return what it wrote."""
        with self.member(name, **settings) as member:
            wait_until(lambda: member.ended)
            return "\n".join(member.lines)


TOOLS = {
    "kafka-configs": ("kafka_2.13", "kafka.admin.ConfigCommand"),
    "kafka-features": ("kafka-tools", "org.apache.kafka.tools.FeatureCommand"),
    "kafka-streams-groups": ("kafka-tools", "org.apache.kafka.tools.streams.StreamsGroupCommand"),
    "kafka-consumer-groups": ("kafka-tools", "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"),
}
MOVED = {("kafka-configs", "4.4.0"): ("kafka-tools", "org.apache.kafka.tools.ConfigCommand")}
"""The tools of which a release has the class elsewhere."""


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", SCRIPT, *words], capture_output=True, text=True, timeout=600)
