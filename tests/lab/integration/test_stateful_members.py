"""Our members with all that newer metadata has, on a real broker: internal topics, lags, cooperative handover."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from kafka import ConsumerRebalanceListener, KafkaConsumer
from kafka.admin import KafkaAdminClient

from streams_assignor.clients.kafka_python import KafkaPythonAdmin, StreamsPartitionAssignor
from streams_assignor.clients.leader_lookup import LookupFailed
from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.errors import FatalError
from streams_assignor.protocol.internal_topics import NewTopic
from streams_assignor.topology import Subtopology, Topology
from streams_assignor.upgrade import StreamsConfig
from tests.assignor.clients.recording_listener import ContentionListener, RecordingListener

pytestmark = [pytest.mark.broker, pytest.mark.slow]

SECONDS = 240.0
MAX_POLL_MS = 60_000
IMPATIENT_MS = 8_000
POLL_MS = 4_000  # longer than a rebalance whose leader looks things up, or kafka-python 3.0.12 throws the join away
TASKS = [TaskId(subtopology, partition) for subtopology in (0, 1) for partition in range(4)]


class Application:
    """Orders by customer: a subtopology that repartitions, and one that counts."""

    def __init__(self, broker: str) -> None:
        self.broker = broker
        self.listeners: list[RecordingListener] = []
        self.name = f"stateful-{uuid4().hex[:8]}"
        self.source, self.repartition, self.changelog = (f"{self.name}-{what}" for what in ("orders", "r", "changelog"))
        self.topology = Topology.of(
            Subtopology(sources=[self.source], repartition_sinks=[self.repartition]),
            Subtopology(repartition_sources=[self.repartition], changelogs=[self.changelog]),
        )
        self.admin = KafkaAdminClient(bootstrap_servers=broker)
        self.admin.create_topics({self.source: {"num_partitions": 4, "replication_factor": 1}}, wait_for_metadata=True)

    def close(self) -> None:
        self.admin.close()


class Member(ConsumerRebalanceListener):
    """A consumer in a thread; knows which partitions it has, and all partitions that were ever revoked from it."""

    def __init__(self, application: Application, name: str, max_poll_ms: int = MAX_POLL_MS, **config: Any) -> None:
        self.owned: set[TopicPartition] = set()
        self.revoked: list[TopicPartition] = []
        self.errors: list[Exception] = []
        self.tasks = ContentionListener(application.listeners, sums={})
        self.admin = KafkaPythonAdmin(application.name, bootstrap_servers=application.broker)
        self.streams = StreamsPartitionAssignor(
            application.topology,
            StreamsConfig(application_server=f"{name}:1", num_standby_replicas=1, **config),
            admin=self.admin,
            listener=self.tasks,
        )
        self._consumer = KafkaConsumer(
            bootstrap_servers=application.broker,
            group_id=application.name,
            partition_assignment_strategy=[self.streams],
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            session_timeout_ms=60_000,
            heartbeat_interval_ms=300,
            group_instance_id=config.get("group_instance_id"),
            max_poll_interval_ms=max_poll_ms,
        )
        self.streams.bind(self._consumer)
        self._consumer.subscribe(application.topology.source_topics, listener=self)
        self._closing = threading.Event()
        self.dawdle_seconds = 0.0
        self._thread = threading.Thread(target=self._poll)
        self._thread.start()

    def _poll(self) -> None:
        try:
            while not self._closing.is_set():
                self._consumer.poll(timeout_ms=POLL_MS)
                time.sleep(self.dawdle_seconds)
        except Exception as error:
            self.errors.append(error)
        self._consumer.close()
        self.admin.close()

    def close(self) -> None:
        self._closing.set()
        self._thread.join()

    def on_partitions_revoked(self, revoked: set[Any]) -> None:
        gone = [TopicPartition(*partition) for partition in revoked]
        self.owned.difference_update(gone)
        self.revoked += gone

    def on_partitions_assigned(self, assigned: set[Any]) -> None:
        self.owned.update(TopicPartition(*partition) for partition in assigned)

    @property
    def active(self) -> list[TaskId]:
        return sorted(self.streams.received_assignment.active) if self.streams.received_assignment else []

    @property
    def standby(self) -> list[TaskId]:
        return sorted(self.streams.received_assignment.standby) if self.streams.received_assignment else []


@pytest.fixture(name="application")
def fixture_application(broker: str) -> Iterator[Application]:
    application = Application(broker)
    yield application
    application.close()


@pytest.fixture(name="start")
def fixture_start(application: Application) -> Iterator[Callable[..., Member]]:
    with ExitStack() as closing:

        def start(name: str, **config: Any) -> Member:
            member = Member(application, name, **config)
            closing.callback(member.close)
            return member

        yield start


def eventually(condition: Callable[[], bool], *members: Member) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert [] == [error for member in members for error in member.errors]
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def committed(admin: KafkaPythonAdmin, partition: TopicPartition) -> Mapping[TopicPartition, int]:
    try:
        return admin.committed_offsets([partition])
    except LookupFailed:  # the first group of a broker has to wait for its coordinator
        return {}


def share_all(*members: Member) -> Callable[[], bool]:
    def shared() -> bool:
        owned = [partition for member in members for partition in member.owned]
        return len(TASKS) == len(owned) == len(set(owned)) and all(member.owned for member in members)

    return shared


def test_a_group_creates_its_topics_and_moves_its_tasks(application: Application, start: Callable[..., Member]) -> None:
    first = start("a")
    eventually(lambda: TASKS == first.active, first)
    second = start("b")
    eventually(share_all(first, second), first, second)

    assert {application.repartition: 4, application.changelog: 4} == {
        topic["name"]: len(topic["partitions"])
        for topic in application.admin.describe_topics([application.repartition, application.changelog])
    }
    assert 11 == first.streams.assignor.used_version
    kept = first.owned.copy()
    assert not kept & set(first.revoked)  # what stayed was never interrupted
    assert {task.subtopology for task in first.standby} == {task.subtopology for task in second.standby} == {1}
    hosts = second.streams.received_assignment.hosts  # type: ignore[union-attr]
    assert {("a", 1), ("b", 1)} == set(hosts)

    first.close()
    eventually(lambda: TASKS == second.active, second)
    second.close()
    for member in (first, second):
        assert [] == member.errors
        assert {"assigned", "revoked", "standby_added", "standby_removed"} == set(member.tasks.callback_names)
        assert set() == member.tasks.contested
        assert not member.tasks.owned_tasks.active
        assert not member.tasks.owned_tasks.standby


def test_a_member_that_does_not_poll_loses_its_tasks_and_rejoins(start: Callable[..., Member]) -> None:
    first, second = start("a", max_poll_ms=IMPATIENT_MS), start("b")
    eventually(share_all(first, second), first, second)
    first.dawdle_seconds = IMPATIENT_MS / 1000 + 2
    eventually(lambda: TASKS == second.active, second)
    first.dawdle_seconds = 0
    eventually(share_all(first, second), first, second)

    assert 1 == first.tasks.callback_names.count("lost")
    assert "lost" not in second.tasks.callback_names


def test_a_new_member_warms_up_before_it_takes_over(application: Application, start: Callable[..., Member]) -> None:
    """20,000 records behind is more than ``acceptable.recovery.lag``, so a new member gets standbys first."""
    first = start("a")
    eventually(lambda: TASKS == first.active, first)
    producer = Producer({"bootstrap.servers": application.broker})
    for number in range(80_000):
        producer.produce(application.changelog, b"x", key=b"k", partition=number % 4)
        producer.poll(0)
    assert 0 == producer.flush(SECONDS)

    second = start("b")
    eventually(lambda: bool(second.standby), first, second)
    eventually(lambda: first.streams.received_assignment.rejoin_at_ms is not None, first, second)  # type: ignore[union-attr]

    stateful = [task for task in TASKS if task.subtopology == 1]
    assert stateful == [task for task in first.active if task.subtopology == 1]
    assert not [task for task in second.active if task.subtopology == 1]


def test_a_static_member_that_moves_reports_its_new_address(start: Callable[..., Member]) -> None:
    first, second = start("a", group_instance_id="one"), start("b", group_instance_id="two")
    eventually(share_all(first, second), first, second)
    before = first.streams.received_assignment

    second.close()
    moved = start("c", group_instance_id="two")

    eventually(share_all(first, moved), first, moved)
    eventually(lambda: first.streams.received_assignment is not before, first, moved)
    eventually(lambda: ("c", 1) in first.streams.received_assignment.hosts, first, moved)  # type: ignore[union-attr]
    assert [] == first.errors + moved.errors


def test_an_admin_without_a_broker_raises_lookup_failed(application: Application) -> None:
    admin = KafkaPythonAdmin(application.name, bootstrap_servers=application.broker)
    missing = f"{application.name}-nowhere"

    assert {} == admin.partition_counts([missing])
    source = TopicPartition(application.source, 0)
    eventually(lambda: {source: 0} == committed(admin, source))
    assert {None} == admin.replica_racks([application.source])[source]  # a broker without one
    with pytest.raises(LookupFailed):
        admin.end_offsets([TopicPartition(missing, 0)])
    with pytest.raises(FatalError, match="could not create topics"):
        admin.create([NewTopic("not/allowed", 1, {})])
    admin.create([NewTopic(application.source, 4, {}), NewTopic(missing, 1, {})])  # one of them was there before
    assert {missing: 1} == admin.partition_counts([missing])
    admin.close()
