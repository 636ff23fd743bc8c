"""Metrics and log lines of real members on a real broker: kafka-python and confluent-kafka in one group."""

import logging
import time
from collections.abc import Callable
from contextlib import ExitStack
from threading import Event as Flag
from threading import Thread
from typing import Any

import pytest
from kafka import KafkaConsumer

from streams_assignor.clients.confluent import StreamsConsumer
from streams_assignor.clients.kafka_python import StreamsPartitionAssignor
from streams_assignor.observability.metrics import (
    FAILURES,
    GROUP_METADATA_SIZE,
    LARGEST_MEMBER_METADATA,
    REBALANCES,
    SUBSCRIPTION_SIZE,
    TASKS,
    TASKS_MOVED,
    UNASSIGNED,
    USED_VERSION,
)
from streams_assignor.topology import Subtopology, Topology
from tests.assignor.observability.test_metrics import Meter
from tests.lab.integration.applications import PARTITIONS, Application
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS

pytestmark = [pytest.mark.broker, pytest.mark.slow]

SESSION_MS = 60_000  # no session expires here, however slow this machine is


class Polled:
    """A consumer that is polled in a thread until it is left."""

    def __init__(self, poll: Callable[[], object], close: Callable[[], object]) -> None:
        self._poll, self._close = poll, close
        self._stopping = Flag()
        self._thread = Thread(target=self._run)

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._poll()
        self._close()

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)


def on_kafka_python(application: Application, meter: Meter) -> Polled:
    streams = StreamsPartitionAssignor(Topology.of(Subtopology(sources=[application.source])), observer=meter.observe)
    consumer = KafkaConsumer(
        bootstrap_servers=application._broker,
        group_id=application.name,
        partition_assignment_strategy=[streams],
        auto_offset_reset="earliest",
        session_timeout_ms=SESSION_MS,
        heartbeat_interval_ms=500,
    )
    streams.bind(consumer)
    consumer.subscribe([application.source])
    return Polled(lambda: consumer.poll(timeout_ms=1000), consumer.close)


def on_confluent(application: Application, meter: Meter) -> Polled:
    settings: dict[str, Any] = {
        "bootstrap.servers": application._broker,
        "group.id": application.name,
        "auto.offset.reset": "earliest",
        "session.timeout.ms": SESSION_MS,
        "heartbeat.interval.ms": 500,
    }
    topology = Topology.of(Subtopology(sources=[application.source]))
    consumer = StreamsConsumer(settings, topology, observer=meter.observe)
    return Polled(lambda: consumer.poll(0.2), consumer.close)


def test_members_of_two_libraries_measure_and_log_the_same_group(
    application: Application, caplog: pytest.LogCaptureFixture
) -> None:
    leader, other = Meter(), Meter()

    def active() -> list[int]:
        return [meter.of(TASKS).get("active", 0) for meter in (leader, other)]

    with caplog.at_level(logging.INFO, "streams_assignor"), ExitStack() as closing:
        closing.enter_context(on_kafka_python(application, leader))
        eventually(lambda: [PARTITIONS, 0] == active())
        with on_confluent(application, other):
            eventually(lambda: [PARTITIONS // 2] * 2 == active())
            assert (0, 0) == (other.of(GROUP_METADATA_SIZE), other.of(LARGEST_MEMBER_METADATA))
            assert leader.of(SUBSCRIPTION_SIZE) + other.of(SUBSCRIPTION_SIZE) < leader.of(GROUP_METADATA_SIZE)
            assert (
                leader.of(GROUP_METADATA_SIZE) / 2
                <= leader.of(LARGEST_MEMBER_METADATA)
                < leader.of(GROUP_METADATA_SIZE)
            )
        eventually(lambda: [PARTITIONS, 0] == active())

    assert {11} == {meter.of(USED_VERSION) for meter in (leader, other)}
    assert {"first_join", "rebalance_in_progress", "handed_over"} <= leader.of(REBALANCES).keys()
    assert 1 == leader.of(REBALANCES)["first_join"] == other.of(REBALANCES)["first_join"]
    assert {"assigned": 9, "revoked": 9} == leader.of(TASKS_MOVED)
    assert {"assigned": 3, "revoked": 3} == other.of(TASKS_MOVED)
    assert {} == leader.of(UNASSIGNED) == other.of(UNASSIGNED)  # cooperative: no task was ever without an owner
    assert {} == leader.of(FAILURES) == other.of(FAILURES)
    logged = [vars(record) for record in caplog.records if record.name == "streams_assignor"]
    assert {application.name} == {each["group_id"] for each in logged}
    assert 2 == len({each["process_id"] for each in logged})
    assert {"INFO"} == {each["levelname"] for each in logged}
