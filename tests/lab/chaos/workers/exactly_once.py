"""Exactly once, on confluent-kafka: a batch and its offsets are one transaction, fenced by the member's generation."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from itertools import count
from threading import Thread

from confluent_kafka import KafkaError, KafkaException, Message, Producer, TopicPartition

from streams_assignor.clients.confluent import StreamsConsumer
from tests.lab.chaos.worker import WorkerContext
from tests.lab.chaos.worker_events import WorkerSettings, fenced
from tests.lab.chaos.workers.confluent import batch, member, ranges
from tests.lab.chaos.workers.instrumentation import delay_assignments

_SECONDS, _ATTEMPTS = 10.0, 3
_TRANSACTION_MS = 5000  # what a dead member has left open is closed by then


class Refused(Exception):
    """A transaction was not committed, as far as we know; `over`: its producer is not good for another one."""

    def __init__(self, name: str, *, over: bool) -> None:
        super().__init__(name)
        self.name, self.over = name, over


def run(settings: WorkerSettings, worker_context: WorkerContext) -> None:
    delay_assignments(worker_context)
    producer = _producer(settings)
    with member(settings, worker_context) as consumer:
        while not worker_context.stopping.is_set():
            messages = batch(consumer, settings)
            if not messages:
                continue
            try:
                _copy(consumer, producer, settings, messages)
            except Refused as refused:
                worker_context.emit(fenced(refused.name))
                if refused.over:
                    producer = _producer(settings)
                _begin_again(consumer, messages, worker_context)


def _producer(settings: WorkerSettings) -> Producer:
    producer = Producer(
        {
            "bootstrap.servers": settings.bootstrap_servers,
            "transactional.id": f"{settings.group}-{settings.name}{'-beside' * bool(settings.beside)}",
            "transaction.timeout.ms": _TRANSACTION_MS,
            "linger.ms": 0,
            "log_level": 0,
        }
    )
    while True:
        try:
            producer.init_transactions(_SECONDS)
            return producer
        except KafkaException as error:
            if not error.args[0].retriable():
                raise


def _copy(consumer: StreamsConsumer, producer: Producer, settings: WorkerSettings, messages: list[Message]) -> None:
    """Copy each record, and commit that together with the offsets; `Refused` if that cannot be.

    A copy has the time of what it copies, as in Kafka Streams.
    """
    try:
        producer.begin_transaction()
        for message in messages:
            _, time = message.timestamp()
            producer.produce(settings.output, message.value(), partition=message.partition(), timestamp=time)
        ends = [TopicPartition(*_split(name), last + 1) for name, _, last in ranges(messages)]
        _patiently(producer.send_offsets_to_transaction, ends, consumer.consumer_group_metadata(), _SECONDS)
        _patiently(producer.commit_transaction, _SECONDS)
    except KafkaException as error:
        raise _aborted(producer, error.args[0]) from error


def _patiently(call: Callable[..., object], *arguments: object) -> None:
    """As librdkafka wants it: who is told to try again has to do just that, or nobody knows what became of it.

    But not for ever: meanwhile the group waits for this member. A new producer will find out.
    """
    for attempt in count(1):
        try:
            _in_time(call, *arguments)
            return
        except KafkaException as error:
            if not error.args[0].retriable() or attempt == _ATTEMPTS:
                raise


def _in_time(call: Callable[..., object], *arguments: object) -> None:
    """Not every call keeps to the time it is given: ``send_offsets_to_transaction`` may hang when the coordinator of
    the group goes away (librdkafka's issues 5456 and 5511). Then its thread and its producer are left behind; the epoch
    of the next producer fences them.
    """
    done: Future[None] = Future()

    def run() -> None:
        try:
            call(*arguments)
            done.set_result(None)
        except Exception as error:
            done.set_exception(error)

    Thread(target=run, daemon=True).start()
    try:
        done.result(2 * _SECONDS)
    except TimeoutError:
        raise Refused("hangs", over=True) from None


def _aborted(producer: Producer, error: KafkaError) -> Refused:
    if error.fatal():
        return Refused(error.name(), over=True)
    try:
        _patiently(producer.abort_transaction, _SECONDS)
    except KafkaException as worse:
        return Refused(worse.args[0].name(), over=True)
    return Refused(error.name(), over=False)


def _begin_again(consumer: StreamsConsumer, messages: list[Message], worker_context: WorkerContext) -> None:
    """Where the group's offsets are, in what is still ours: a transaction that fails late may have been committed."""
    mine = {(partition.topic, partition.partition) for partition in consumer.assignment()}
    starts = {_split(name): first for name, first, _ in ranges(messages) if _split(name) in mine}
    while starts:
        try:
            found = consumer.committed([TopicPartition(*name) for name in starts], _SECONDS)
        except KafkaException as error:
            worker_context.emit(fenced(f"committed: {error.args[0].name()}"))
            continue  # nothing may be read before this is known, however long it takes
        for partition in found:
            name = partition.topic, partition.partition
            if partition.error or (partition.offset < 0 < starts[name]):
                why = partition.error.name() if partition.error else "no offset"
                worker_context.emit(fenced(f"committed: {why}"))
                continue
            partition.offset = max(partition.offset, 0)
            consumer.seek(partition)
            del starts[name]


def _split(name: str) -> tuple[str, int]:
    topic, _, number = name.rpartition("-")
    return topic, int(number)
