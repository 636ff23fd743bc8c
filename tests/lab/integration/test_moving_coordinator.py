"""A member on aiokafka whose coordinator moves between its SyncGroup and its OffsetFetch: real brokers."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.protocol.commit import OffsetFetchRequest
from confluent_kafka import Consumer, ElectionType, Producer
from confluent_kafka import TopicPartition as ConfluentPartition
from confluent_kafka.admin import AdminClient

from streams_assignor import Subtopology, Topology
from streams_assignor.clients.aiokafka import StreamsPartitionAssignor
from streams_assignor.demo.load_generator import create_topic
from streams_assignor.groups.described_group import OFFSETS_TOPIC
from tests.lab.integration.clusters import Cluster
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS, wait_until

pytestmark = [pytest.mark.broker, pytest.mark.slow]

RECORDS, COMMITTED = 60, 20


SETTINGS = {"offsets.topic.replication.factor": "2", "auto.leader.rebalance.enable": "false"}


@pytest.fixture(name="cluster", scope="module")
def fixture_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("moving"), others=2) as cluster:
        cluster.start(1, roles="controller")
        for broker in (2, 3):
            cluster.start(broker, settings=SETTINGS)
        yield cluster


def partition_of_groups(servers: str) -> Any:
    topics = AdminClient({"bootstrap.servers": servers}).list_topics(OFFSETS_TOPIC, TIMEOUT_SECONDS).topics
    return topics[OFFSETS_TOPIC].partitions[0]


def displace_coordinator(cluster: Cluster, servers: str) -> None:
    """Restart the broker that Kafka prefers: the other one leads afterwards."""
    preferred = partition_of_groups(servers).replicas[0]
    cluster.stop(preferred)
    cluster.start(preferred, settings=SETTINGS)
    wait_until(lambda: len(partition_of_groups(servers).isrs) == 2)
    assert partition_of_groups(servers).leader != preferred


def move_coordinator(servers: str) -> None:
    """Let the preferred broker be the coordinator of all groups; both go on."""
    preferred = partition_of_groups(servers).replicas[0]
    admin = AdminClient({"bootstrap.servers": servers})
    partition = ConfluentPartition(OFFSETS_TOPIC, 0)
    admin.elect_leaders(ElectionType.PREFERRED, [partition]).result(TIMEOUT_SECONDS)
    wait_until(lambda: partition_of_groups(servers).leader == preferred)


@pytest.mark.parametrize("reset", ["earliest", "latest"])
def test_a_member_reads_on_at_its_committed_offset(cluster: Cluster, reset: str) -> None:
    """Of 60 records all were lost with `latest`, of 300 all were read again with `earliest`."""
    servers, name = f"{cluster.broker(2)},{cluster.broker(3)}", f"orders-{reset}"
    create_topic(servers, name, 1)
    producer = Producer({"bootstrap.servers": servers})
    for _ in range(RECORDS):
        producer.produce(name, b"x", partition=0)
    assert 0 == producer.flush(TIMEOUT_SECONDS)
    other = Consumer({"bootstrap.servers": servers, "group.id": name})
    other.commit(offsets=[ConfluentPartition(name, 0, COMMITTED)], asynchronous=False)
    other.close()
    displace_coordinator(cluster, servers)
    codes: list[int] = []

    async def scenario() -> list[int]:
        streams = StreamsPartitionAssignor(Topology.of(Subtopology(sources=[name])))
        consumer = AIOKafkaConsumer(
            name,
            bootstrap_servers=servers,
            group_id=name,
            partition_assignment_strategy=[streams],
            auto_offset_reset=reset,
            enable_auto_commit=False,
        )
        send = consumer._client.send

        async def moving_first(node: Any, request: Any, **settings: Any) -> Any:
            if isinstance(request, OffsetFetchRequest) and not codes:
                await asyncio.to_thread(move_coordinator, servers)
            response = await send(node, request, **settings)
            if isinstance(request, OffsetFetchRequest):
                codes.append(response.error_code)
            return response

        consumer._client.send = moving_first
        streams.bind(consumer)
        async with consumer:
            read: list[int] = []
            while len(read) < RECORDS - COMMITTED:
                for records in (await consumer.getmany(timeout_ms=500)).values():
                    read += [record.offset for record in records]
            await consumer.commit()
            found = await consumer.committed(TopicPartition(name, 0))
            assert RECORDS == found
            return read

    read = asyncio.run(asyncio.wait_for(scenario(), TIMEOUT_SECONDS))

    assert codes[0] in {14, 15, 16}, "the coordinator has moved before"
    assert list(range(COMMITTED, RECORDS)) == read
