"""At least once, on kafka-python: poll, process, commit."""

from __future__ import annotations

from kafka import KafkaConsumer
from kafka.errors import KafkaError

from streams_assignor.clients.kafka_python import StreamsPartitionAssignor
from streams_assignor.observability.events import RecordsProcessed
from tests.lab.chaos.worker import WorkerContext
from tests.lab.chaos.worker_events import WorkerSettings, fenced
from tests.lab.chaos.workers.instrumentation import adapter, consumer_settings, delay_assignments

_POLL_MS = 1000  # a poll that ends during a join loses it
_COMMIT_MS = 2000
_CLOSE_MS = 5000


def run(settings: WorkerSettings, worker_context: WorkerContext) -> None:
    delay_assignments(worker_context)
    streams = adapter(StreamsPartitionAssignor, settings, worker_context)
    consumer = KafkaConsumer(**consumer_settings(settings, streams), max_poll_records=50)
    try:
        if streams:
            streams.bind(consumer)
        consumer.subscribe([settings.topic])
        while not worker_context.stopping.is_set():
            try:
                batch = consumer.poll(timeout_ms=_POLL_MS)
            except KafkaError as error:  # of a broker that has just gone: kafka-python 3.0.12 lets it through
                if not error.retriable:
                    raise
                worker_context.emit(fenced(f"poll: {type(error).__name__}"))
                continue
            for (topic, number), records in batch.items():
                worker_context.emit(RecordsProcessed(f"{topic}-{number}", records[0].offset, records[-1].offset))
            if batch:
                _commit(consumer, worker_context)
    finally:
        consumer.close(timeout_ms=_CLOSE_MS)


def _commit(consumer: KafkaConsumer, worker_context: WorkerContext) -> None:
    """Commit; records whose commit is refused are read again, perhaps by another member."""
    try:
        consumer.commit(timeout_ms=_COMMIT_MS)
    except KafkaError as error:
        worker_context.emit(fenced(type(error).__name__))
