"""At least once, on confluent-kafka: consume, process, commit; and commit what was processed before tasks go."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from confluent_kafka import KafkaException, Message

from streams_assignor.clients.confluent import StreamsConsumer
from streams_assignor.observability.events import RecordsProcessed
from tests.lab.chaos.worker import WorkerContext
from tests.lab.chaos.worker_events import WorkerSettings, fenced
from tests.lab.chaos.workers.instrumentation import OwnershipReporter, assignor_settings, delay_assignments, topology

AT_ONCE = 500


def configuration(settings: WorkerSettings) -> dict[str, Any]:
    """The settings of a member; in a streams group the brokers have the timeouts."""
    timeouts = {"session.timeout.ms": settings.session_ms, "heartbeat.interval.ms": settings.session_ms // 10}
    is_classic = settings.protocol == "classic"
    optional = {"upgrade.from": settings.upgrade_from, "group.instance.id": settings.instance_id}
    return {
        "bootstrap.servers": settings.bootstrap_servers,
        "client.id": settings.client_id,
        "group.id": settings.group,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        **(timeouts if is_classic else {"group.protocol": settings.protocol}),
        **{key: value for key, value in optional.items() if value is not None},
    }


def run(settings: WorkerSettings, worker_context: WorkerContext) -> None:
    delay_assignments(worker_context)
    with member(settings, worker_context) as consumer:
        while not worker_context.stopping.is_set():
            messages = batch(consumer, settings)
            for partition, first, last in ranges(messages):
                worker_context.emit(RecordsProcessed(partition, first, last))
            if messages:
                _commit(consumer, worker_context)


def member(settings: WorkerSettings, worker_context: WorkerContext, **more: Any) -> StreamsConsumer:
    return StreamsConsumer(
        {**configuration(settings), **more},
        topology(settings),
        listener=OwnershipReporter(worker_context),
        admin=False,
        **assignor_settings(settings, worker_context),
    )


def batch(consumer: StreamsConsumer, settings: WorkerSettings) -> list[Message]:
    return [message for message in consumer.consume(AT_ONCE, settings.batch_seconds) if not message.error()]


def ranges(messages: list[Message]) -> list[tuple[str, int, int]]:
    """Partition, first and last offset of what was read; offsets of a partition have no gaps."""
    in_order = sorted(messages, key=lambda message: (message.partition(), message.offset()))
    found = []
    for partition, several in groupby(in_order, key=lambda message: f"{message.topic()}-{message.partition()}"):
        offsets = [message.offset() for message in several]
        found.append((partition, offsets[0], offsets[-1]))
    return found


def _commit(consumer: StreamsConsumer, worker_context: WorkerContext) -> None:
    try:
        consumer.commit(asynchronous=False)
    except KafkaException as error:
        worker_context.emit(fenced(error.args[0].name()))
