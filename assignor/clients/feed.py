"""Records for a group to process: a topic, and a producer that fills it steadily and knows what it produced."""

from __future__ import annotations

import time
from threading import Event as Flag
from threading import Thread
from types import TracebackType
from typing import Final, Self

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic  # where its type stubs have it

_SECONDS: Final = 60  # on a busy machine 1569 records were not acknowledged within ten
_CONNECT_SECONDS: Final = 5
# The mock answers a fetch with one batch of each partition, so single records would keep a consumer busy with asking.
_LINGER_MS: Final = 200
_QUIET: Final = {"log_level": 0}  # what matters arrives as an exception


class FeedError(Exception):
    """The cluster is not there, or does not take what it is given."""


class Feed:
    """Produces numbered records, round robin over the partitions, from ``with`` to `stop` or the end of the block."""

    def __init__(self, bootstrap_servers: str, topic: str, partitions: int, records_per_second: int) -> None:
        self.produced: dict[str, int] = {}
        """How many records each partition has taken, which in a new topic is also the next offset."""
        self._topic = topic
        self._partitions = partitions
        self._pause = 1 / records_per_second
        self._producer = Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": _LINGER_MS, **_QUIET})
        self._stopping = Flag()
        self._refused: str | None = None
        self._thread = Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()

    def stop(self) -> dict[str, int]:
        """Wait for the last acknowledgement and return `produced`; ``FeedError`` if a record was refused."""
        self._stopping.set()
        self._thread.join()
        left = self._producer.flush(_SECONDS)
        if self._refused or left:
            raise FeedError(f"{self._topic}: {self._refused or f'{left} records were not acknowledged'}")
        return self.produced

    def _run(self) -> None:
        number, start = 0, time.monotonic()
        while not self._stopping.is_set():
            self._producer.produce(
                self._topic, b"%d" % number, partition=number % self._partitions, on_delivery=self._delivered
            )
            number += 1
            # Against the clock, not from record to record: a pause never lasts exactly as long as it should.
            self._producer.poll(max(0.0, start + number * self._pause - time.monotonic()))

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._refused = str(error)
            return
        partition = f"{message.topic()}-{message.partition()}"
        self.produced[partition] = self.produced.get(partition, 0) + 1


def create_topic(bootstrap_servers: str, name: str, partitions: int) -> None:
    """Create a topic on a real cluster; ``FeedError`` if that cannot be done."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, **_QUIET})
    try:
        admin.list_topics(timeout=_CONNECT_SECONDS)
    except KafkaException as error:
        raise FeedError(f"no broker answers at {bootstrap_servers}") from error
    try:
        admin.create_topics([NewTopic(name, num_partitions=partitions)])[name].result(_SECONDS)
    except KafkaException as error:
        raise FeedError(f"topic {name} cannot be created: {error.args[0].str()}") from error


def delete_topic(bootstrap_servers: str, name: str) -> None:
    """Delete a topic; if the cluster does not let us, it stays."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, **_QUIET})
    admin.delete_topics([name])[name].exception(_SECONDS)
