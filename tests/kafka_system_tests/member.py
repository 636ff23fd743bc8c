"""A member of this project in the place of one of Kafka's test classes.

``python -m tests.kafka_system_tests.member CLASS PROPERTIES [name=value,...]``. It joins the group of the class, writes
what the class writes, and prints the lines that Kafka's tests wait for: those of the class, and those of the log of
Kafka Streams that say the same as an event of `assignor.observability`. The property ``test.release`` is the release
whose behaviour it has. It ends with SIGTERM.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final
from uuid import UUID, uuid4

from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import CommitFailedError, KafkaTimeoutError

from assignor.clients import kafka_python
from assignor.clients.kafka_python._admin import KafkaPythonAdmin
from assignor.observability import events
from assignor.protocol.member import ReceivedAssignment
from assignor.rebalance_listener import NoOpListener
from probing.follow_up import FollowUpReason
from subscription_codec import TaskId
from tests.integration.stores import Stores
from tests.kafka_system_tests import future_version
from tests.kafka_system_tests.applications import APPLICATIONS, Application, Settings
from upgrade import OURS, StreamsConfig, release_named

_COMMIT_MS: Final = 5000
_OF_STREAMS: Final = ("acceptable.recovery.lag", "upgrade.from", "num.standby.replicas", "group.instance.id")


class FutureAssignor(future_version.FutureVersion, kafka_python.StreamsPartitionAssignor):
    """The adapter with version 12."""


def print_line(line: str) -> None:
    print(line, flush=True)


class LogLines:
    """Prints the lines of Kafka Streams' log that Kafka's tests wait for."""

    def __init__(self) -> None:
        self._sent = 0

    def __call__(self, event: events.Event) -> None:
        match event:
            case events.JoinSent():
                self._sent = event.used_version
            case events.AssignmentReceived():
                print_line(
                    f"Successfully joined group with generation Generation{{generationId={event.generation}, "
                    f"memberId='{event.member_id}', protocol='stream'}}"
                )
                if event.is_leader:
                    print_line(f"led generation {event.generation}")
                if event.follow_up is FollowUpReason.VERSION:
                    self._version_changed(event)
                if event.follow_up:
                    print_line(f"Triggering the followup rebalance scheduled for {event.follow_up.value}")
            case events.MemberFailed():
                print_line(f"failed: {event.exception_name}: {event.error}")

    def _version_changed(self, event: events.AssignmentReceived) -> None:
        sent, got, supported = self._sent, event.group_version, event.group_supported_version
        if got < sent:
            print_line(
                f"Sent a version {sent} subscription and got version {got} assignment back (successful version "
                f"probing). Downgrade subscription metadata to commonly supported version {supported} and trigger new "
                "rebalance."
            )
        else:
            print_line(
                f"Sent a version {sent} subscription and group's latest commonly supported version is {supported} "
                "(successful version probing and end of rolling upgrade). Upgrading subscription metadata version to "
                f"{supported} for next rebalance."
            )


class Member(NoOpListener):
    """One stream thread of the application: a consumer, its assignor, and the stores of its tasks."""

    def __init__(self, application: Application, settings: Settings, process: UUID, thread: int) -> None:
        self._application = application
        brokers, group = settings["bootstrap.servers"], settings.get("application.id", application.id)
        given = {key: settings[key] for key in _OF_STREAMS if key in settings}
        future = "test.future.metadata" in settings
        release = future_version.RELEASE if future else release_named(settings.get("test.release", OURS.name))
        if instance := given.get("group.instance.id"):
            given["group.instance.id"] = f"{instance}-{thread}"
        if release is not OURS:
            given.pop("acceptable.recovery.lag", None)
        self._streams = (FutureAssignor if future else kafka_python.StreamsPartitionAssignor)(
            application.topology,
            StreamsConfig.of(given),
            process_id=process,
            release=release,
            admin=KafkaPythonAdmin(group, bootstrap_servers=brokers),
            listener=self,
            observer=LogLines(),
        )
        self._consumer = KafkaConsumer(
            bootstrap_servers=brokers,
            client_id=f"{settings.get('client.id', group)}-StreamThread-{thread}-consumer",
            group_id=group,
            group_instance_id=given.get("group.instance.id"),
            partition_assignment_strategy=[self._streams],
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            session_timeout_ms=int(settings.get("session.timeout.ms", "10000")),
            heartbeat_interval_ms=1000,
        )
        self._streams.bind(self._consumer)
        self._producer = KafkaProducer(bootstrap_servers=brokers)
        self._stores = {changelog: Stores(brokers, changelog) for changelog in application.counts}
        self._written: dict[tuple[str, TaskId], Any] = {}
        self._taken: ReceivedAssignment | None = None
        self._counted: Counter[object] = Counter()

    def offset_sums(self) -> dict[TaskId, int] | None:
        """How far its stores are, standbys too; not known if it has none."""
        if not self._stores:
            return None
        sums: Counter[TaskId] = Counter()
        for stores in self._stores.values():
            sums.update(stores.positions)
        return dict(sums)

    def run(self, stopping: Event) -> None:
        """Read and write until it is told to stop."""
        self._consumer.subscribe(self._streams.assignor.topology.source_topics)
        while not stopping.is_set():
            batch = self._consumer.poll(timeout_ms=self._streams.poll_timeout_ms)
            if not self._streams.joining:
                self._take()
            for partition, records in batch.items():
                for record in records:
                    self._process(partition, record)
            if batch:
                self._flush()
                with suppress(CommitFailedError, KafkaTimeoutError):  # then another member reads them again
                    self._consumer.commit(timeout_ms=_COMMIT_MS)
        self._consumer.close()

    def _take(self) -> None:
        """Restore new tasks, and say that they run."""
        before, self._taken = self._taken, self._streams.received_assignment
        if self._taken is not before:
            for stores in self._stores.values():
                stores.keep(self._taken.active, self._taken.standby)
            self._counted.clear()
            self._print_running(self._taken)
        for stores in self._stores.values():
            stores.follow()

    def _print_running(self, taken: ReceivedAssignment) -> None:
        partitions = [f"{topic}-{number}" for inputs in taken.active.values() for topic, number in inputs]
        values = {"active": len(taken.active), "standby": len(taken.standby), "partitions": ",".join(partitions)}
        for line in filter(None, (self._application.running, self._application.tasks)):
            print_line(line.format(**values))

    def _process(self, partition: Any, record: Any) -> None:
        if sink := self._application.sinks.get(partition.topic):
            self._producer.send(sink, key=record.key, value=record.value)
        if self._application.counts:
            self._count(partition, record.key)
        if self._application.report and partition.topic in self._reported_topics:
            counted = partition if self._application.reports_by_task else None
            self._counted[counted] += 1
            if self._counted[counted] % self._application.report_every == 0:
                print_line(self._application.report.format(count=self._counted[counted], topic=partition.topic))

    @property
    def _reported_topics(self) -> Mapping[str, str] | tuple[str, ...]:
        return self._application.sinks or self._application.topology.source_topics

    def _count(self, partition: Any, key: bytes) -> None:
        task = next(task for task, inputs in self._taken.active.items() if tuple(partition) in inputs)
        for changelog, sink in self._application.counts.items():
            counts = self._stores[changelog][task].counts
            counts[key] += 1
            value = counts[key].to_bytes(8, "big")
            self._written[changelog, task] = self._producer.send(
                changelog, key=key, value=value, partition=task.partition
            )
            self._producer.send(sink, key=key, value=str(counts[key]).encode())

    def _flush(self) -> None:
        self._producer.flush()
        for (changelog, task), record in self._written.items():
            self._stores[changelog][task].position = record.get().offset + 1
        self._written.clear()


def read_properties(path: Path) -> dict[str, str]:
    """Read ``name=value`` lines."""
    return dict(line.split("=", 1) for line in path.read_text(encoding="utf-8").splitlines() if line)


def main(name: str, path: str, more: str = "") -> None:
    settings = {**read_properties(Path(path)), **dict(each.split("=", 1) for each in filter(None, more.split(",")))}
    application = APPLICATIONS[name](settings)
    stopping = Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    print_line("StreamsTest instance started (streams-assignor)")
    print_line(f"Kafka version: {settings.get('test.release', OURS.name)}")
    if "test.future.metadata" in settings:
        future_version.install()
    process = uuid4()
    threads = range(1, int(settings.get("num.stream.threads", "1")) + 1)

    def run(thread: int) -> None:
        try:
            Member(application, settings, process, thread).run(stopping)
        except BaseException as error:
            print_line(f"died: {type(error).__name__}: {error}")
            os._exit(1)

    running = [Thread(target=run, args=(thread,)) for thread in threads]
    for each in running:
        each.start()
    for each in running:
        each.join()
    print_line(application.closed)


if __name__ == "__main__":
    main(*sys.argv[1:])
