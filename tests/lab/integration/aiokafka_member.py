"""``streams-assignor member`` on aiokafka: ``python -m tests.lab.integration.aiokafka_member SETTINGS`` (JSON).

It prints the same events, and ends with its standard input.
"""

import asyncio
import json
import logging
import sys
import time
from contextlib import suppress

from aiokafka import AIOKafkaConsumer
from aiokafka.errors import CommitFailedError

from streams_assignor.clients.aiokafka import StreamsPartitionAssignor
from streams_assignor.demo.member import EmptyStateListener
from streams_assignor.demo.member_settings import MemberSettings
from streams_assignor.observability.event_fields import json_line
from streams_assignor.observability.events import (
    Event,
    MemberClosed,
    MemberFailed,
    MemberStarted,
    MemberStopped,
    RecordsProcessed,
)
from streams_assignor.topology import Subtopology, Topology
from streams_assignor.upgrade import StreamsConfig, release_named


def emit(event: Event) -> None:
    if line := json_line(event, time.time()):
        print(line, flush=True)


def observe(event: Event) -> None:
    if not isinstance(event, MemberFailed | MemberClosed):  # `run` reports how it ends
        emit(event)


async def run(settings: MemberSettings) -> None:
    streams: StreamsPartitionAssignor = StreamsPartitionAssignor(
        Topology.of(Subtopology(sources=settings.topic, changelogs=[f"{settings.group}-store-changelog"])),
        StreamsConfig(num_standby_replicas=settings.standbys, upgrade_from=settings.upgrade_from),
        release=release_named(settings.release),
        observer=observe,
        listener=EmptyStateListener(lambda: streams.assignor.member.stored),
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
    emit(MemberStarted(settings.release, settings.upgrade_from, str(streams.assignor.member.process_id)))
    stopping = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
    try:
        await consumer.start()
        while not stopping.done():
            for partition, records in (await consumer.getmany(timeout_ms=200)).items():
                emit(
                    RecordsProcessed(f"{partition.topic}-{partition.partition}", records[0].offset, records[-1].offset)
                )
                with suppress(CommitFailedError):
                    await consumer.commit()
    except Exception as error:
        emit(MemberFailed(error))
        raise SystemExit(1) from error
    finally:
        await consumer.stop()
    emit(MemberStopped("told to"))


if __name__ == "__main__":
    asyncio.run(run(MemberSettings(**json.loads(sys.argv[1]))))
