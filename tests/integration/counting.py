"""`java/Counting.java` in Python: a member that counts the records of each key, beside Java ones of the same group.

``python -m tests.integration.counting SOURCE OUTPUT name=value...``; the names are Kafka's, "shape" and "release".
It keeps its counts in the same changelog and in the same form, so that either side goes on where the other stopped, and
marks what it writes to OUTPUT. It prints what Java does (`Instance`, `Holding`), and the versions "sent" and "got".
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from threading import Event, Thread
from typing import Any

from attrs import evolve
from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import CommitFailedError, KafkaTimeoutError

from assignor.clients import kafka_python
from assignor.clients.kafka_python_admin import KafkaPythonAdmin
from assignor.member import Received
from assignor.task_listener import TaskListener
from subscription_codec import HostInfo, TaskId, layout
from tests.integration.shapes import Topics, task_of, topology
from tests.integration.stores import Stores
from upgrade import OURS, Release, StreamsConfig, release_named

BY_PYTHON = [("by", b"python")]
NEXT = evolve(OURS, name="streams-assignor-12", latest_version=12)
_CLIENT = ("bootstrap.servers", "application.id", "client.id", "session.timeout.ms")
_JOINING_MS, _STABLE_MS = 1000, 200  # longer than a join takes, as kafka-python loses one that ends between two polls
_COMMIT_MS = 5000


def tell(*words: object) -> None:
    print(*words, flush=True)


def release_of(name: str) -> Release:
    """A release of the table, or one whose version is the next: 12, in the form of 11."""
    if name != NEXT.name:
        return release_named(name)
    for layouts in (layout.SUBSCRIPTION, layout.ASSIGNMENT):
        layouts[12] = layouts[11]  # type: ignore[index]  # it is a dict, and this process is ours
    return NEXT


class Telling(kafka_python.StreamsPartitionAssignor):
    """Says what passes through."""

    joining = True

    def metadata(self, topics: Iterable[str]) -> bytes:
        subscription = super().metadata(topics)
        self.joining = True
        tell("owns")
        tell("sent", self.core.used_version, self.core.latest_version)
        return subscription

    def on_assignment(self, assignment: Any, generation: int) -> None:
        super().on_assignment(assignment, generation)
        received = self.received
        self.joining = received.rejoin is not None
        tell("got", received.version, received.supported)
        tell("hosts", *_by_host(received.hosts))
        tell("standby-hosts", *_by_host(received.standby_hosts))


def _by_host(hosts: Mapping[HostInfo, Iterable[Any]]) -> list[str]:
    return [f"{host.host}:{host.port}={','.join(sorted(map(str, found)))}" for host, found in sorted(hosts.items())]


class Counting(TaskListener):
    """One member: its assignor, its consumer, the counts of its tasks."""

    def __init__(self, source: str, output: str, settings: Mapping[str, str]) -> None:
        given = dict(settings)
        release = release_of(given.pop("release", OURS.name))
        brokers, group, name, session = (given.pop(key) for key in _CLIENT)
        self._topics = Topics(given.pop("shape"), group, source, output)
        admin = KafkaPythonAdmin(group, bootstrap_servers=brokers)
        self._streams = Telling(
            topology(self._topics),
            StreamsConfig.of(given),
            release=release,
            admin=admin,
            listener=self,
        )
        self._consumer = KafkaConsumer(
            bootstrap_servers=brokers,
            client_id=name,
            group_id=group,
            partition_assignment_strategy=[self._streams],
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            session_timeout_ms=int(session),
            heartbeat_interval_ms=500,
        )
        self._streams.bind(self._consumer)
        self._producer = KafkaProducer(bootstrap_servers=brokers)
        self._stores = Stores(brokers, self._topics.changelog)
        self._told: dict[TaskId, int] = {}
        self._written: dict[TaskId, Any] = {}  # the last record of each store that is on its way to the changelog
        self._taken: Received | None = None

    def offset_sums(self) -> dict[TaskId, int]:
        """How far its stores are, standbys too."""
        return self._stores.positions

    def run(self, stopping: Event) -> None:
        self._consumer.subscribe(self._streams.core.topology.source_topics)
        while not stopping.is_set():
            batch = self._consumer.poll(timeout_ms=_JOINING_MS if self._streams.joining else _STABLE_MS)
            if not self._streams.joining:
                self._take()
                self._stores.follow()
            for partition, records in batch.items():
                for record in records:
                    self._process(partition, record.key)
            if batch:
                self._flush()
                with suppress(CommitFailedError, KafkaTimeoutError):  # then they come again, perhaps to someone else
                    self._consumer.commit(timeout_ms=_COMMIT_MS)
            self._tell_positions()
        self._consumer.close()

    def _take(self) -> None:
        """Begin with the tasks that are new, once their counts are here."""
        before, self._taken = self._taken, self._streams.received
        if self._taken is not before:
            stateful = self._streams.core.topology.stateful
            for task, begin, records in self._stores.keep(
                filter(stateful, self._taken.active), filter(stateful, self._taken.standby)
            ):
                tell("restored", task, begin, records)
            tell("owns", *sorted(map(str, self._taken.active)))

    def _tell_positions(self) -> None:
        before, self._told = self._told, self._stores.positions
        if self._told != before:
            tell("stored", *(f"{task}={position}" for task, position in sorted(self._told.items())))

    def _process(self, partition: Any, key: bytes) -> None:
        task, topics = task_of(self._streams.received.active, partition), self._topics
        if partition.topic == topics.source and topics.repartition:
            self._producer.send(topics.repartition, key=key, value=b"x")
            return
        value = (self._count(task, key) if topics.changelog else 1).to_bytes(8, "big")
        if topics.changelog:
            self._written[task] = self._producer.send(topics.changelog, key=key, value=value, partition=task.partition)
        self._producer.send(topics.output, key=key, value=value, headers=BY_PYTHON)

    def _count(self, task: TaskId, key: bytes) -> int:
        counts = self._stores[task].counts
        counts[key] += 1
        return counts[key]

    def _flush(self) -> None:
        self._producer.flush()
        for task, record in self._written.items():
            self._stores[task].position = record.get().offset + 1
        self._written.clear()


def main(source: str, output: str, *settings: str) -> None:
    stopping = Event()

    def listen() -> None:
        while os.read(0, 4096):
            pass
        stopping.set()

    Thread(target=listen, daemon=True).start()
    try:
        Counting(source, output, dict(setting.split("=", 1) for setting in settings)).run(stopping)
    except Exception as error:
        tell("died", type(error).__name__, *str(error).split())
        raise


if __name__ == "__main__":
    main(*sys.argv[1:])
