"""At least once, on aiokafka: fetch, process, commit."""

from __future__ import annotations

import asyncio

from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaError

from streams_assignor.clients.aiokafka import StreamsPartitionAssignor
from streams_assignor.observability.events import RecordsProcessed
from tests.lab.chaos.worker import WorkerContext
from tests.lab.chaos.worker_events import WorkerSettings, fenced
from tests.lab.chaos.workers.instrumentation import adapter, consumer_settings, delay_assignments

_FETCH_MS = 200


def run(settings: WorkerSettings, worker_context: WorkerContext) -> None:
    delay_assignments(worker_context)
    asyncio.run(_run(settings, worker_context))


async def _run(settings: WorkerSettings, worker_context: WorkerContext) -> None:
    streams = adapter(StreamsPartitionAssignor, settings, worker_context)
    consumer = AIOKafkaConsumer(settings.topic, **consumer_settings(settings, streams))
    if streams:
        streams.bind(consumer)
    try:
        await consumer.start()
        while not worker_context.stopping.is_set():
            try:
                batch = await consumer.getmany(timeout_ms=_FETCH_MS)
            except KafkaError as error:
                if not error.retriable:
                    raise
                worker_context.emit(fenced(f"getmany: {type(error).__name__}"))
                continue
            for (topic, number), records in batch.items():
                worker_context.emit(RecordsProcessed(f"{topic}-{number}", records[0].offset, records[-1].offset))
            if batch:
                await _commit(consumer, worker_context)
    finally:
        await consumer.stop()


async def _commit(consumer: AIOKafkaConsumer, worker_context: WorkerContext) -> None:
    """Commit; records whose commit is refused are read again, perhaps by another member."""
    try:
        await consumer.commit()
    except KafkaError as error:
        worker_context.emit(fenced(type(error).__name__))
