"""Records for a group to process: a topic, and a producer with a steady rate that counts what it produced."""

from __future__ import annotations

import time
from threading import Event as Flag
from threading import Thread
from types import TracebackType
from typing import Final, Self

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic  # where the type stubs have it

from streams_assignor.codec import StreamsAssignorError

_ACK_TIMEOUT_SECONDS: Final = 60  # on a busy machine 1569 records were not acknowledged within ten
_CONNECT_SECONDS: Final = 5
# The mock answers a fetch with one batch per partition, so single records would need many fetches.
_LINGER_MS: Final = 200
_NO_LOG: Final = {"log_level": 0}  # errors arrive as exceptions


class LoadGeneratorError(StreamsAssignorError):
    """The cluster does not answer, or rejects a topic or a record."""


class LoadGenerator:
    """Produces numbered records, round robin over the partitions, until `stop` or the end of the ``with`` block."""

    def __init__(self, bootstrap_servers: str, topic: str, partitions: int, records_per_second: int) -> None:
        self.produced: dict[str, int] = {}
        """Acknowledged records by partition; in a new topic also the next offset."""
        self._topic = topic
        self._partitions = partitions
        self._interval_seconds = 1 / records_per_second
        self._producer = Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": _LINGER_MS, **_NO_LOG})
        self._stopping = Flag()
        self._delivery_error: str | None = None
        self._thread = Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()

    def stop(self) -> dict[str, int]:
        """Wait for the last acknowledgement and return `produced`; ``LoadGeneratorError`` if a record failed."""
        self._stopping.set()
        self._thread.join()
        left = self._producer.flush(_ACK_TIMEOUT_SECONDS)
        if self._delivery_error or left:
            raise LoadGeneratorError(
                f"{self._topic}: {self._delivery_error or f'{left} records were not acknowledged'}"
            )
        return self.produced

    def _run(self) -> None:
        number, start = 0, time.monotonic()
        while not self._stopping.is_set():
            self._producer.produce(
                self._topic, b"%d" % number, partition=number % self._partitions, on_delivery=self._delivered
            )
            number += 1
            # Relative to the start, so that inexact pauses do not add up.
            self._producer.poll(max(0.0, start + number * self._interval_seconds - time.monotonic()))

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._delivery_error = str(error)
            return
        partition = f"{message.topic()}-{message.partition()}"
        self.produced[partition] = self.produced.get(partition, 0) + 1


def create_topic(bootstrap_servers: str, name: str, partitions: int) -> None:
    """Create a topic on a real cluster; ``LoadGeneratorError`` if that fails."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, **_NO_LOG})
    try:
        admin.list_topics(timeout=_CONNECT_SECONDS)
    except KafkaException as error:
        raise LoadGeneratorError(f"no broker answers at {bootstrap_servers}") from error
    try:
        admin.create_topics([NewTopic(name, num_partitions=partitions)])[name].result(_ACK_TIMEOUT_SECONDS)
    except KafkaException as error:
        raise LoadGeneratorError(f"topic {name} cannot be created: {error.args[0].str()}") from error


def delete_topic(bootstrap_servers: str, name: str) -> None:
    """Delete a topic; ignores failures."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, **_NO_LOG})
    admin.delete_topics([name])[name].exception(_ACK_TIMEOUT_SECONDS)
