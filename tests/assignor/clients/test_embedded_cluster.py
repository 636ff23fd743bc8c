"""Members on each adapter share the tasks and read every record, on the embedded cluster.

The mock ends a rebalance by its clock. So the sessions here are longer than a machine can be slow: a member that misses
the first rebalance comes into the second one a minute later, and the test waits for it. Two members can miss each other
again and again: the gate has one of each client library, the nightly run two.
"""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer
from confluent_kafka import Producer
from kafka import KafkaConsumer
from kafka.errors import InvalidRequestError

from streams_assignor import Subtopology, Topology
from streams_assignor.clients import aiokafka, confluent, kafka_python
from streams_assignor.clients.mock_cluster import MockCluster, delay_leader

pytestmark = pytest.mark.clock(reason="the mock decides when a rebalance ends")
by_members = pytest.mark.parametrize("members", [pytest.param(1, marks=pytest.mark.gate), 2])

PARTITIONS, RECORDS = 4, 5
SESSION_SECONDS, LEADER_SECONDS, TIMEOUT_SECONDS = 60, 2, 600
JOIN_MS = 150_000
TOPOLOGY = Topology.of(Subtopology(sources=["orders"]))
Records = set[tuple[int, int]]
EVERY_RECORD = {(partition, offset) for partition in range(PARTITIONS) for offset in range(RECORDS)}


@pytest.fixture(name="cluster")
def fixture_cluster() -> Iterator[MockCluster]:
    with MockCluster(topics={"orders": PARTITIONS}, initial_rebalance_delay_ms=3000) as cluster:
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
        for partition, _ in EVERY_RECORD:
            producer.produce("orders", b"one", partition=partition)
        assert 0 == producer.flush(TIMEOUT_SECONDS)
        yield cluster


def wait_until_read(read: list[Records]) -> Iterator[None]:
    """Yield until each member has records, and together they have all."""
    end = time.monotonic() + TIMEOUT_SECONDS
    while not (all(read) and set().union(*read) == EVERY_RECORD):
        assert time.monotonic() < end, f"it did not happen in time: {read}"
        yield


@by_members
def test_members_on_kafka_python(cluster: MockCluster, members: int) -> None:
    """Each polls on a thread of its own, as in a process of its own."""
    read: list[Records] = [set() for _ in range(members)]
    ending = threading.Event()

    def consume(records: Records) -> None:
        streams = kafka_python.StreamsPartitionAssignor(TOPOLOGY)
        delay_leader(streams, LEADER_SECONDS)
        consumer = KafkaConsumer(
            *TOPOLOGY.source_topics,
            group_id="billing",
            partition_assignment_strategy=[streams],
            session_timeout_ms=SESSION_SECONDS * 1000,
            auto_offset_reset="earliest",
            **cluster.kafka_python_settings(),
        )
        streams.bind(consumer)
        while not ending.is_set():
            with suppress(InvalidRequestError):  # of a follower whose SyncGroup came after the leader's
                # kafka-python drops a rebalance that ends between two calls of poll, and joins again. The delay of
                # the leader is longer than streams.poll_timeout_ms, so the call in which it joins is longer still.
                for partition, found in consumer.poll(timeout_ms=200 if records else JOIN_MS).items():
                    records.update((partition.partition, record.offset) for record in found)
        consumer.close()

    threads = [threading.Thread(target=consume, args=(records,)) for records in read]
    for thread in threads:
        thread.start()
    try:
        for _ in wait_until_read(read):
            time.sleep(0.05)
    finally:
        ending.set()
        for thread in threads:
            thread.join()


@by_members
def test_members_on_aiokafka(cluster: MockCluster, members: int) -> None:
    async def consume(records: Records, ending: asyncio.Event) -> None:
        streams = aiokafka.StreamsPartitionAssignor(TOPOLOGY)
        delay_leader(streams, LEADER_SECONDS)
        consumer = AIOKafkaConsumer(
            *TOPOLOGY.source_topics,
            **cluster.aiokafka_settings(),
            group_id="billing",
            partition_assignment_strategy=[streams],
            session_timeout_ms=SESSION_SECONDS * 1000,
            auto_offset_reset="earliest",
        )
        streams.bind(consumer)
        await consumer.start()
        while not ending.is_set():
            for partition, found in (await consumer.getmany(timeout_ms=200)).items():
                records.update((partition.partition, record.offset) for record in found)
        await consumer.stop()

    async def all_of_them() -> None:
        read: list[Records] = [set() for _ in range(members)]
        ending = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            for records in read:
                tasks.create_task(consume(records, ending))
            for _ in wait_until_read(read):
                await asyncio.sleep(0.05)
            ending.set()

    asyncio.run(all_of_them())


@pytest.mark.gate
def test_a_member_on_confluent_kafka(cluster: MockCluster) -> None:
    """One, as two of them often miss each other's first rebalance and the mock's second one takes a minute."""
    settings: dict[str, Any] = {
        **cluster.confluent_settings(),
        "group.id": "billing",
        "session.timeout.ms": SESSION_SECONDS * 1000,
        "auto.offset.reset": "earliest",
        "log_level": 0,
    }
    records: Records = set()
    with confluent.StreamsConsumer(settings, TOPOLOGY, admin=False) as member:
        for _ in wait_until_read([records]):
            if (message := member.poll(0.2)) is not None:
                assert message.error() is None
                records.add((message.partition(), message.offset()))
