"""A member of one of the two adapters that reports, line by line, what a user of its consumer sees.

    python -m tests.lab.integration.suspended_member READER BOOTSTRAP GROUP TOPIC [INSTANCE_ID] [RECORDS]

READER is a way to read: see `READERS`. After RECORDS records it stops itself (SIGSTOP) between two of them, as a
suspended machine would. Lines: ``assigned``, ``revoked``, ``lost``, ``record``, ``stopped``, and ``failed`` with the
error.
"""

import asyncio
import logging
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

from aiokafka import AIOKafkaConsumer
from kafka import KafkaConsumer

from streams_assignor import Subtopology, TaskRebalanceListener, Topology
from streams_assignor.clients import aiokafka, kafka_python

SESSION_MS = 6000  # what a broker accepts by default


class Reporting(TaskRebalanceListener):
    def on_tasks_assigned(self, tasks: Any) -> None:
        print("assigned", *map(str, sorted(tasks)), flush=True)

    def on_tasks_revoked(self, tasks: Any) -> None:
        print("revoked", *map(str, sorted(tasks)), flush=True)

    def on_tasks_lost(self, tasks: Any) -> None:
        print("lost", *map(str, sorted(tasks)), flush=True)


def by_polls_without_timeout(consumer: Any) -> Iterator[object]:
    while True:
        for records in consumer.poll(timeout_ms=0 if consumer.assignment() else 1000, max_records=1).values():
            yield from records


def by_polls(consumer: Any) -> Iterator[object]:
    while True:
        for records in consumer.poll(timeout_ms=1000, max_records=1).values():
            yield from records


async def by_getone(consumer: Any) -> AsyncIterator[object]:
    while True:
        yield await consumer.getone()


async def by_getmany(consumer: Any) -> AsyncIterator[object]:
    while True:
        for records in (await consumer.getmany(max_records=1)).values():
            yield records[0]
        await asyncio.sleep(0)


READERS: dict[str, Callable[[Any], Any]] = {
    "poll(0)": by_polls_without_timeout,
    "poll(1000)": by_polls,
    "for": lambda consumer: consumer,
    "getone": by_getone,
    "getmany": by_getmany,
    "async for": lambda consumer: consumer,
}
ASYNC = {"getone", "getmany", "async for"}


def settings(streams: object, bootstrap: str, group: str, instance_id: str) -> dict[str, Any]:
    return {
        "bootstrap_servers": bootstrap,
        "group_id": group,
        "partition_assignment_strategy": [streams],
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "session_timeout_ms": SESSION_MS,
        "heartbeat_interval_ms": SESSION_MS // 10,
        "group_instance_id": instance_id or None,
    }


class Reported:
    def __init__(self, until: int) -> None:
        self._until, self._number = until, 0

    def record(self) -> None:
        self._number += 1
        print("record", flush=True)
        if self._number == self._until:
            print("stopped", flush=True)
            os.kill(os.getpid(), signal.SIGSTOP)


def failed(error: Exception) -> None:
    print("failed", type(error).__name__, error, flush=True)


def read(reader: str, topology: Topology, reported: Reported, *where: str) -> None:
    streams = kafka_python.StreamsPartitionAssignor(topology, listener=Reporting())
    consumer = KafkaConsumer(*topology.source_topics, **settings(streams, *where))
    streams.bind(consumer)
    for _ in range(2):  # a failed member raises from every poll
        try:
            for _ in READERS[reader](consumer):
                reported.record()
                time.sleep(0.005)
        except Exception as error:
            failed(error)
    consumer.close()


async def read_async(reader: str, topology: Topology, reported: Reported, *where: str) -> None:
    streams = aiokafka.StreamsPartitionAssignor(topology, listener=Reporting())
    consumer = AIOKafkaConsumer(*topology.source_topics, **settings(streams, *where))
    streams.bind(consumer)
    await consumer.start()
    for _ in range(2):
        try:
            async for _ in READERS[reader](consumer):
                reported.record()
                await asyncio.sleep(0.005)
        except Exception as error:
            failed(error)
    await consumer.stop()


def main(reader: str, bootstrap: str, group: str, topic: str, instance_id: str = "", records: str = "0") -> None:
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    topology, reported = Topology.of(Subtopology(sources=[topic])), Reported(int(records))
    if reader in ASYNC:
        asyncio.run(read_async(reader, topology, reported, bootstrap, group, instance_id))
    else:
        read(reader, topology, reported, bootstrap, group, instance_id)
    print("closed", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
