"""Topics that get more partitions while members read: they take the new ones, and pass over no record."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from threading import Event, Thread
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions

from streams_assignor import Subtopology, Topology
from streams_assignor.clients.confluent import StreamsConsumer
from tests.lab.integration.applications import PARTITIONS, Application
from tests.lab.integration.broken_member import LIBRARIES
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS, wait_until

pytestmark = [pytest.mark.broker, pytest.mark.slow]

GROWN = PARTITIONS + 4
RECORDS = 40
"""For each partition before the topic grows, and after."""


class Place(NamedTuple):
    """Of a record."""

    partition: int
    offset: int


class Confluent:
    """``StreamsConsumer``, as ``broken_member`` has the two adapters."""

    def __init__(self, topic: str, bootstrap_servers: str, group_id: str) -> None:
        settings: dict[str, Any] = {
            "bootstrap.servers": bootstrap_servers,
            "group.id": group_id,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": 45_000,
            "heartbeat.interval.ms": 500,
            "metadata.max.age.ms": 5000,
        }
        self._consumer = StreamsConsumer(settings, Topology.of(Subtopology(sources=[topic])))

    def poll(self) -> list[Place]:
        message = self._consumer.poll(0.2)
        assert message is None or not message.error(), message.error()
        return [] if message is None else [Place(message.partition(), message.offset())]

    def commit(self) -> None:
        self._consumer.commit(asynchronous=False)

    def close(self) -> None:
        self._consumer.close()


class Reader:
    """A member in a thread: it commits after each record."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.read: list[Place] = []
        self.error: BaseException | None = None
        self._make, self._stopping = make, Event()
        self._thread = Thread(target=self._run)

    def __enter__(self) -> "Reader":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            member = self._make()
            while not self._stopping.is_set():
                found = [Place(each.partition, each.offset) for each in member.poll()]
                self.read += found
                if found:
                    member.commit()
            member.close()
        except BaseException as error:
            self.error = error


def send(application: Application, partitions: int) -> None:
    producer = Producer({"bootstrap.servers": application._broker})
    for number in range(RECORDS * partitions):
        producer.produce(application.source, value=b"x", partition=number % partitions)
    assert 0 == producer.flush(TIMEOUT_SECONDS)


def grow(application: Application) -> None:
    admin = AdminClient({"bootstrap.servers": application._broker})
    admin.create_partitions([NewPartitions(application.source, GROWN)])[application.source].result(TIMEOUT_SECONDS)


@pytest.mark.parametrize("library", [*LIBRARIES, "confluent-kafka"])
def test_members_take_the_partitions_that_a_topic_gets_and_pass_over_no_record(
    application: Application, library: str
) -> None:
    where = {"bootstrap_servers": application._broker, "group_id": application.name}
    make = {**LIBRARIES, "confluent-kafka": Confluent}[library]
    with ExitStack() as stack:
        members = [stack.enter_context(Reader(lambda: make(application.source, **where))) for _ in range(2)]

        def wait_for(wanted: set[tuple[int, int]]) -> None:
            def read() -> bool:
                assert [None, None] == [each.error for each in members]
                return wanted <= {place for each in members for place in each.read}

            wait_until(read)

        send(application, PARTITIONS)
        wait_for({(number, offset) for number in range(PARTITIONS) for offset in range(RECORDS)})
        began = time.monotonic()
        grow(application)
        send(application, GROWN)  # also into partitions that no member knows yet
        ends = {number: RECORDS * (2 if number < PARTITIONS else 1) for number in range(GROWN)}
        wait_for({(number, offset) for number, end in ends.items() for offset in range(end)})
        seconds = time.monotonic() - began
    read = [place for each in members for place in each.read]
    print(f"{library}: {len(set(read))} records, {len(read) - len(set(read))} read twice, {seconds:.0f} s")

    assert all(any(number >= PARTITIONS for number, _ in each.read) for each in members), "both share the new ones"
