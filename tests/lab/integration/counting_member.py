"""`java/Counting.java` in Python: a member that counts the records of each key, beside Java ones of the same group.

``python -m tests.lab.integration.counting_member SOURCE OUTPUT name=value...``; the names are Kafka's, "shape" and
"release". It keeps its counts in the same changelog and in the same form, so that either side goes on where the other
stopped, and marks what it writes to OUTPUT. It prints what Java does (`Instance`, `Holding`), and the versions "sent"
and "got".
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from threading import Event, Thread
from typing import Any

from attrs import evolve
from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import CommitFailedError, KafkaTimeoutError

from streams_assignor.clients import kafka_python
from streams_assignor.clients.kafka_python import KafkaPythonAdmin
from streams_assignor.codec import HostInfo, TaskId, layout
from streams_assignor.protocol.member import ReceivedAssignment
from streams_assignor.rebalance_listener import NoOpListener
from streams_assignor.upgrade import OURS, Release, StreamsConfig, release_named
from tests.lab.integration.stores import Stores
from tests.lab.integration.topologies import Topics, task_of, topology

BY_PYTHON = [("by", b"python")]
NEXT = evolve(OURS, name="streams-assignor-12", behaviour=evolve(OURS.behaviour, supported_version=12))
_CLIENT = ("bootstrap.servers", "application.id", "client.id", "session.timeout.ms")
_JOINING_MS, _STABLE_MS = 1000, 200  # longer than a join takes, as kafka-python loses one that ends between two polls
_COMMIT_MS = 5000


def print_line(*words: object) -> None:
    print(*words, flush=True)


def print_rejoin(why: str) -> None:
    print_line("rejoins", f"{datetime.now():%H:%M:%S.%f}"[:12], why)


def release_of(name: str) -> Release:
    """A release of the table, or one whose version is the next: 12, in the form of 11."""
    if name != NEXT.name:
        return release_named(name)
    for layouts in (layout.SUBSCRIPTION_LAYOUTS, layout.ASSIGNMENT_LAYOUTS):
        layouts[12] = layouts[11]  # type: ignore[index]  # it is a dict, and this process is ours
    return NEXT


class ReportingAssignor(kafka_python.StreamsPartitionAssignor):
    """Says what passes through."""

    joining = True

    def metadata(self, topics: Iterable[str]) -> bytes:
        subscription = super().metadata(topics)
        self.joining = True
        print_line("owns")
        print_line("sent", self.assignor.used_version, self.assignor.supported_version)
        return subscription

    def on_assignment(self, assignment: Any, generation: int) -> None:
        super().on_assignment(assignment, generation)
        received = self.received_assignment
        self.joining = received.rejoin is not None
        print_line("got", received.version, received.supported_version)
        if received.rejoin is not None:
            lower = received.version < (self.assignor.used_version or 0)
            print_rejoin("version-probing" if lower else "follow-up")
        print_line("hosts", *_by_host(received.hosts))
        print_line("standby-hosts", *_by_host(received.standby_hosts))


def _by_host(hosts: Mapping[HostInfo, Iterable[Any]]) -> list[str]:
    return [f"{host.host}:{host.port}={','.join(sorted(map(str, found)))}" for host, found in sorted(hosts.items())]


class CountingListener(NoOpListener):
    """One member: its assignor, its consumer, the counts of its tasks."""

    def __init__(self, source: str, output: str, settings: Mapping[str, str]) -> None:
        given = dict(settings)
        release = release_of(given.pop("release", OURS.name))
        brokers, group, name, session = (given.pop(key) for key in _CLIENT)
        self._topics = Topics(given.pop("shape"), group, source, output)
        admin = KafkaPythonAdmin(group, bootstrap_servers=brokers)
        self._streams = ReportingAssignor(
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
        self._reported: dict[TaskId, int] = {}
        self._written: dict[TaskId, Any] = {}  # the last record of each store that is on its way to the changelog
        self._taken: ReceivedAssignment | None = None

    def offset_sums(self) -> dict[TaskId, int]:
        """How far its stores are, standbys too."""
        return self._stores.positions

    def on_tasks_revoked(self, tasks: Any) -> None:  # noqa: ARG002  # the interface of listeners
        """A cooperative member joins again after it has revoked."""
        print_rejoin("follow-up")

    def run(self, stopping: Event) -> None:
        self._consumer.subscribe(self._streams.assignor.topology.source_topics)
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
            self._report_positions()
        self._consumer.close()

    def _take(self) -> None:
        """Begin with the tasks that are new, once their counts are here."""
        before, self._taken = self._taken, self._streams.received_assignment
        if self._taken is not before:
            stateful = self._streams.assignor.topology.is_stateful
            for task, begin, records in self._stores.keep(
                filter(stateful, self._taken.active), filter(stateful, self._taken.standby)
            ):
                print_line("restored", task, begin, records)
            print_line("owns", *sorted(map(str, self._taken.active)))

    def _report_positions(self) -> None:
        before, self._reported = self._reported, self._stores.positions
        if self._reported != before:
            print_line("stored", *(f"{task}={position}" for task, position in sorted(self._reported.items())))

    def _process(self, partition: Any, key: bytes) -> None:
        task, topics = task_of(self._streams.received_assignment.active, partition), self._topics
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
        CountingListener(source, output, dict(setting.split("=", 1) for setting in settings)).run(stopping)
    except Exception as error:
        print_line("died", type(error).__name__, *str(error).split())
        raise


if __name__ == "__main__":
    main(*sys.argv[1:])
