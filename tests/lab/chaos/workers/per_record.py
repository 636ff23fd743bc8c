"""The loop of the README, on confluent-kafka: a commit after each record; as a slow reader with a pause after it."""

from __future__ import annotations

import json
from threading import Thread
from typing import Any

from confluent_kafka import KafkaException

from streams_assignor.clients.confluent import StreamsConsumer
from streams_assignor.observability.events import RecordsProcessed
from tests.lab.chaos.worker import WorkerContext
from tests.lab.chaos.worker_events import SLOW_READER, WorkerSettings, buffered, fenced
from tests.lab.chaos.workers.confluent import member
from tests.lab.chaos.workers.instrumentation import delay_assignments

SLOW_PAUSE = 0.1
_STATISTICS_MS = 5000
_SMALL_QUEUES = {"queued.min.messages": 100, "max.partition.fetch.bytes": 2048}
"""What librdkafka may queue of a partition: one or two hundred of our small records."""


def run(settings: WorkerSettings, worker_context: WorkerContext) -> None:
    delay_assignments(worker_context)
    more: dict[str, Any] = {}
    if settings.kind == SLOW_READER:
        worker_context.pace = SLOW_PAUSE
        more = {
            **_SMALL_QUEUES,
            "statistics.interval.ms": _STATISTICS_MS,
            "stats_cb": lambda statistics: worker_context.emit(buffered(_queued(json.loads(statistics)))),
        }
    with member(settings, worker_context, **more) as consumer:
        Thread(target=_close, args=(consumer, worker_context), daemon=True).start()
        while not worker_context.stopping.is_set():
            try:
                _read(consumer, worker_context)
            except KafkaException as error:
                worker_context.emit(fenced(error.args[0].name()))


def _read(consumer: StreamsConsumer, worker_context: WorkerContext) -> None:
    for _, message in consumer:
        name, offset = f"{message.topic()}-{message.partition()}", message.offset()
        worker_context.emit(RecordsProcessed(name, offset, offset))
        try:
            consumer.commit()
        except RuntimeError:  # closed by the other thread
            return
        worker_context.stopping.wait(worker_context.pace)


def _close(consumer: StreamsConsumer, worker_context: WorkerContext) -> None:
    """End the loop, which waits for a record."""
    worker_context.stopping.wait()
    consumer.close()


def _queued(statistics: dict[str, Any]) -> int:
    """The most records that librdkafka has queued of a partition."""
    topics = statistics["topics"].values()
    return max((each["fetchq_cnt"] for topic in topics for each in topic["partitions"].values()), default=0)
