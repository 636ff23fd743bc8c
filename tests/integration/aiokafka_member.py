"""``streams-assignor member`` on aiokafka: ``python -m tests.integration.aiokafka_member SETTINGS``, which are JSON.

It prints the same events, and ends with its standard input.
"""

import asyncio
import json
import logging
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from aiokafka import AIOKafkaConsumer
from aiokafka.errors import CommitFailedError

from assignor.clients.aiokafka import StreamsPartitionAssignor
from assignor.clients.group_member import NothingRestored
from assignor.member_process import (
    Assigned,
    Event,
    Failed,
    MemberSettings,
    Processed,
    Rejoin,
    Started,
    Stopped,
    Subscribed,
    to_line,
)
from assignor.topology import Subtopology, Topology
from upgrade import StreamsConfig, release_named


def emit(event: Event) -> None:
    print(to_line(event, time.time()), flush=True)


class Telling(StreamsPartitionAssignor):
    """Says what passes through."""

    def metadata(self, topics: Iterable[str]) -> bytes:
        subscription = super().metadata(topics)
        emit(Subscribed(self.core.used_version, self.core.latest_version))
        return subscription

    def on_assignment(self, assignment: Any) -> None:
        leads = self._leads
        super().on_assignment(assignment)
        received = self.received
        coordinator = self.consumer._coordinator
        emit(Assigned.of(received, generation=coordinator.generation, member_id=coordinator.member_id, leader=leads))
        if received.rejoin:
            emit(Rejoin(received.rejoin.name.lower()))


async def run(settings: MemberSettings) -> None:
    streams = Telling(
        Topology.of(Subtopology(sources=settings.topic, changelogs=[f"{settings.group}-store-changelog"])),
        StreamsConfig(num_standby_replicas=settings.standbys, upgrade_from=settings.upgrade_from),
        release=release_named(settings.release),
        listener=NothingRestored(lambda: streams.core.member.stored),
    )
    consumer = AIOKafkaConsumer(
        *settings.topic,
        bootstrap_servers=settings.bootstrap_servers,
        group_id=settings.group,
        partition_assignment_strategy=[streams],
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        session_timeout_ms=settings.session_timeout_ms,
        heartbeat_interval_ms=settings.session_timeout_ms // 10,
    )
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # every line is an event
    streams.bind(consumer)
    emit(Started(settings.release, settings.upgrade_from, str(streams.core.member.process_id)))
    stopping = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
    try:
        await consumer.start()
        while not stopping.done():
            for partition, records in (await consumer.getmany(timeout_ms=200)).items():
                emit(Processed(f"{partition.topic}-{partition.partition}", records[0].offset, records[-1].offset))
                with suppress(CommitFailedError):
                    await consumer.commit()
    except Exception as error:
        emit(Failed(" ".join(f"{type(error).__name__}: {error}".split())))
        raise SystemExit(1) from error
    finally:
        await consumer.stop()
    emit(Stopped("told to"))


if __name__ == "__main__":
    asyncio.run(run(MemberSettings(**json.loads(sys.argv[1]))))
