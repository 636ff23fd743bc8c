"""A member of this project in the place of one of Kafka's test classes.

``python -m tests.lab.kafka_system_tests.member CLASS PROPERTIES [COMMAND | name=value,...]``. It joins the group of the
class, writes what the class writes, and prints the lines that Kafka's tests wait for. The property ``test.release`` is
the release whose behaviour it has. It ends with SIGTERM.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final
from uuid import UUID, uuid4

from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import CommitFailedError, RetriableError

from streams_assignor.clients import kafka_python
from streams_assignor.clients.kafka_python import KafkaPythonAdmin
from streams_assignor.codec import TaskId
from streams_assignor.protocol.member import ReceivedAssignment
from streams_assignor.rebalance_listener import NoOpListener
from streams_assignor.task_assignors.built_in import STICKY
from streams_assignor.upgrade import OURS, StreamsConfig, release_named
from tests.lab.integration.stores import Stores
from tests.lab.kafka_system_tests import future_version
from tests.lab.kafka_system_tests.applications import APPLICATIONS, Application, Settings
from tests.lab.kafka_system_tests.lines import ClientLog, LogLines, ProcessState, print_line

_COMMIT_MS, _CLOSE_MS, _START_MS = 5000, 10_000, 600_000
_PATIENT: Final = {"bootstrap_timeout_ms": _START_MS, "reconnect_backoff_max_ms": 1000}
"""As Java's clients, it starts without brokers and connects again within a second."""
_OF_STREAMS: Final = ("acceptable.recovery.lag", "upgrade.from", "num.standby.replicas", "group.instance.id")
_TASK_ASSIGNORS: Final = {"LegacyStickyTaskAssignor": STICKY}
"""By the class in ``internal.task.assignor.class``; None: that of the release."""


class FutureAssignor(future_version.FutureVersion, kafka_python.StreamsPartitionAssignor):
    """The adapter with version 12."""


class Member(NoOpListener):
    """One stream thread of the application: a consumer, its assignor, and the stores of its tasks."""

    def __init__(
        self, application: Application, settings: Settings, process: UUID, thread: int, state: ProcessState
    ) -> None:
        self._application, self._thread, self._state = application, thread, state
        brokers, group = settings["bootstrap.servers"], settings.get("application.id", application.id)
        given = {key: settings[key] for key in _OF_STREAMS if key in settings}
        future = "test.future.metadata" in settings
        release = future_version.RELEASE if future else release_named(settings.get("test.release", OURS.name))
        if instance := given.get("group.instance.id"):
            given["group.instance.id"] = f"{instance}-{thread}"
        if release is not OURS and release.task_assignor != "high-availability":  # before 2.6
            given.pop("acceptable.recovery.lag", None)
        self._streams = (FutureAssignor if future else kafka_python.StreamsPartitionAssignor)(
            application.topology,
            StreamsConfig.of(given),
            process_id=process,
            release=release,
            admin=KafkaPythonAdmin(group, bootstrap_servers=brokers),
            listener=self,
            task_assignor=_TASK_ASSIGNORS.get(settings.get("internal.task.assignor.class", "").rpartition(".")[2]),
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
            **_PATIENT,
        )
        self._streams.bind(self._consumer)
        self._producer = KafkaProducer(bootstrap_servers=brokers, **_PATIENT)
        self._stores = {changelog: Stores(brokers, changelog) for changelog in application.counts}
        self._written: dict[tuple[str, TaskId], Any] = {}
        self._sent: list[Any] = []
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
            if self._streams.joining:
                self._state.on_rebalancing(self._thread)
            else:
                self._take()
            for partition, records in batch.items():
                for record in records:
                    self._process(partition, record)
            if batch:
                self._flush()
                with suppress(CommitFailedError, RetriableError):  # then this or another member reads them again
                    self._consumer.commit(timeout_ms=_COMMIT_MS)
        self._consumer.close(timeout_ms=_CLOSE_MS)

    def _take(self) -> None:
        """Restore new tasks, and say that they run."""
        before, self._taken = self._taken, self._streams.received_assignment
        if self._taken is not before:
            for stores in self._stores.values():
                stores.keep(self._taken.active, self._taken.standby)
            if self._application.reports_by_task:
                self._counted.clear()
            self._state.on_rebalancing(self._thread)
            self._state.on_running(self._thread, self._taken)
        for stores in self._stores.values():
            stores.follow()

    def _process(self, partition: Any, record: Any) -> None:
        if (sink := self._application.sinks.get(partition.topic)) and record.key != self._application.not_copied:
            self._sent.append(self._producer.send(sink, key=record.key, value=record.value))
        if self._application.counts:
            self._count(partition, record.key)
        if self._application.report and partition.topic in self._reported_topics:
            counted = partition if self._application.reports_by_task else None
            self._counted[counted] += 1
            if self._counted[counted] % self._application.report_every == self._application.first_report:
                print_line(self._application.report.format(count=self._counted[counted], topic=partition.topic))

    @property
    def _reported_topics(self) -> Mapping[str, str] | tuple[str, ...]:
        return self._application.reported or self._application.sinks or self._application.topology.source_topics

    def _count(self, partition: Any, key: bytes) -> None:
        task = next(task for task, inputs in self._taken.active.items() if tuple(partition) in inputs)
        for changelog, sink in self._application.counts.items():
            counts = self._stores[changelog][task].counts
            counts[key] += 1
            value = counts[key].to_bytes(8, "big")
            self._written[changelog, task] = self._producer.send(
                changelog, key=key, value=value, partition=task.partition
            )
            self._sent.append(self._producer.send(sink, key=key, value=str(counts[key]).encode()))

    def _flush(self) -> None:
        self._producer.flush()
        for each in self._sent:
            each.get()  # a record that the brokers do not have must not be committed
        self._sent.clear()
        for (changelog, task), record in self._written.items():
            self._stores[changelog][task].position = record.get().offset + 1
        self._written.clear()


def read_properties(path: Path) -> dict[str, str]:
    """Read ``name=value`` lines."""
    return dict(line.split("=", 1) for line in path.read_text(encoding="utf-8").splitlines() if line)


def main(name: str, path: str, more: str = "") -> None:
    """Run the threads of one application until SIGTERM."""
    given = {**read_properties(Path(path)), **dict(each.split("=", 1) for each in more.split(",") if "=" in each)}
    application = APPLICATIONS[name](given)
    settings = {**application.settings, **given}
    stopping = Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    logging.basicConfig(stream=sys.stdout, level=logging.WARNING)
    ClientLog()
    print_line("StreamsTest instance started (streams-assignor)")
    print_line(f"Kafka version: {settings.get('test.release', OURS.name)}")
    for line in _protocol_lines(settings):
        print_line(line)
    if "test.future.metadata" in settings:
        future_version.install()
    process = uuid4()
    threads = range(1, int(settings.get("num.stream.threads", "1")) + 1)
    state = ProcessState(application, len(threads))

    def run(thread: int) -> None:
        try:
            Member(application, settings, process, thread, state).run(stopping)
        except BaseException as error:
            print_line(f"failed: {type(error).__name__}: {error}")
            os._exit(1)

    running = [Thread(target=run, args=(thread,)) for thread in threads]
    for each in running:
        each.start()
    for each in running:
        each.join()
    print_line(application.closed)


def _protocol_lines(settings: Settings) -> Iterator[str]:
    """What ``AssignorConfiguration`` logs, from 2.4 on."""
    upgrade_from = settings.get("upgrade.from")
    release = release_named(settings.get("test.release", OURS.name))
    if "cooperative" not in release.rebalance_protocols:
        return
    if release.rebalance_protocol(upgrade_from) == "eager":
        yield f"Eager rebalancing protocol is enabled now for upgrade from {upgrade_from}.x"
    else:
        yield "Cooperative rebalancing protocol is enabled now"


if __name__ == "__main__":
    main(*sys.argv[1:])
