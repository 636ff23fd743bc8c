"""Consumers that a child process inherits, and consumers that nobody closes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from streams_assignor.clients._lifetimes import UsedAfterForkError, forbid_after_fork, warn_unless_closed

ROOT = Path(__file__).parents[3]
FORKING = """
import asyncio, os, sys
from aiokafka import AIOKafkaConsumer
from confluent_kafka import Producer
from kafka import KafkaConsumer
from streams_assignor import Subtopology, Topology
from streams_assignor.clients.aiokafka import StreamsPartitionAssignor as ForAiokafka
from streams_assignor.clients.confluent import StreamsConsumer
from streams_assignor.clients.kafka_python import StreamsPartitionAssignor as ForKafkaPython
from streams_assignor.clients.mock_cluster import MockCluster

TOPOLOGY = Topology.of(Subtopology(sources=["orders"]))


def told(call):
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return "nothing"


def in_child(calls):
    sys.stdout.flush()
    if child := os.fork():
        return os.waitpid(child, 0)[1]
    print(*map(told, calls), flush=True)
    os._exit(0)  # leaves the cluster alone


def confluent(cluster):
    with StreamsConsumer({**cluster.confluent_settings(), "group.id": "a", "log_level": 0}, TOPOLOGY) as consumer:
        consumer.poll()
        late = [lambda: consumer.poll(), lambda: next(iter(consumer)), lambda: consumer.commit(asynchronous=False)]
        late += [lambda: consumer.committed([]), lambda: consumer.pause([]), lambda: consumer.close()]
        assert 0 == in_child(late)
        assert consumer.poll().error() is None


def kafka_python(cluster):
    streams = ForKafkaPython(TOPOLOGY)
    settings = {**cluster.kafka_python_settings(), "group_id": "b", "auto_offset_reset": "earliest"}
    consumer = KafkaConsumer(**settings, partition_assignment_strategy=[streams])
    streams.bind(consumer)
    consumer.subscribe(["orders"])
    while not consumer.poll(streams.poll_timeout_ms, max_records=1):
        pass
    late = [lambda: consumer.poll(), lambda: next(consumer), lambda: consumer.commit(), lambda: consumer.close()]
    assert 0 == in_child(late)
    assert consumer.poll(60_000, max_records=1)
    consumer.close()


async def aiokafka(cluster):
    streams = ForAiokafka(TOPOLOGY)
    settings = {**cluster.aiokafka_settings(), "group_id": "c", "auto_offset_reset": "earliest"}
    consumer = AIOKafkaConsumer("orders", **settings, partition_assignment_strategy=[streams])
    streams.bind(consumer)
    async with consumer:
        await consumer.getone()
        assert 0 == in_child([lambda: consumer.getone(), lambda: consumer.commit(), lambda: consumer.stop()])
        await consumer.getone()


with MockCluster(topics={"orders": 1}, initial_rebalance_delay_ms=100) as cluster:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
    for _ in range(10):
        producer.produce("orders", b"x")
    producer.flush()
    confluent(cluster)
    kafka_python(cluster)
    asyncio.run(aiokafka(cluster))
"""


class Client:
    def poll(self) -> str:
        return "a record"


@pytest.mark.slow
def test_a_consumer_that_a_child_process_inherits_refuses_every_call_and_says_why() -> None:
    """The child returned records of its parent and committed them on its sockets, and ``close`` did not return."""
    found = subprocess.run([sys.executable, "-c", FORKING], cwd=ROOT, capture_output=True, text=True, timeout=300)

    assert 0 == found.returncode, found.stderr
    assert [["UsedAfterForkError"] * number for number in (6, 4, 3)] == [
        each.split() for each in found.stdout.splitlines()
    ]


def test_the_error_after_a_fork_names_the_consumer_and_its_process(capfd: pytest.CaptureFixture[str]) -> None:
    client = Client()
    forbid_after_fork(client, "Client of group billing")
    if not (child := os.fork()):
        try:
            client.poll()
        except UsedAfterForkError as error:
            os.write(1, str(error).encode())
        os._exit(0)
    os.waitpid(child, 0)

    assert "a record" == client.poll()
    assert capfd.readouterr().out == (
        f"Client of group billing was made in process {os.getpid()}, from which this one was forked: make another "
        "consumer here"
    )


def test_a_client_that_is_dropped_without_close_is_warned_of_and_abandoned() -> None:
    abandoned: list[str] = []
    client, closed = Client(), Client()
    warn_unless_closed(client, "Client of group billing", lambda: abandoned.append("client"))
    note_closed = warn_unless_closed(closed, "Client of group closed", lambda: abandoned.append("closed"))
    note_closed()

    del closed
    with pytest.warns(ResourceWarning) as warned:
        del client
    assert ["unclosed Client of group billing: call close()"] == [str(each.message) for each in warned]
    assert ["client"] == abandoned
