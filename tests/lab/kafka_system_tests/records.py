"""Sends and reads records in the place of kafkatest's VerifiableProducer and VerifiableConsumer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import count
from threading import Event, Thread
from typing import Final, Self

from confluent_kafka import Consumer, Producer

from tests.lab.kafka_system_tests.processors import WAIT_SECONDS, SystemTestFailed

_POLL_SECONDS: Final = 0.01
_IN_FLIGHT: Final = 10_000


class RecordProducer:
    """Sends numbers to a topic at a rate, from a thread of its own, until it is stopped or has sent enough."""

    def __init__(
        self, brokers: str, topic: str, *, number: int | None = None, rate: int = 1000, keys: int | None = None
    ) -> None:
        self._topic, self._number, self._rate, self._keys = topic, number, rate, keys
        self._producer = Producer(
            {"bootstrap.servers": brokers, "log_level": 0, "sticky.partitioning.linger.ms": 0, "linger.ms": 5}
        )
        self._stopping = Event()
        self._thread = Thread(target=self._send, daemon=True)
        self.acknowledged = 0
        """The number of records that the brokers have."""

    def start(self) -> Self:
        """Begin to send."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Send no more."""
        self._stopping.set()
        self._thread.join()

    def wait(self, seconds: float = WAIT_SECONDS) -> None:
        """Wait until the brokers have all records."""
        _wait(lambda: self.acknowledged == self._number, seconds, f"{self._topic} did not get {self._number} records")

    def _send(self) -> None:
        began = time.monotonic()
        for value in self._values():
            key = None if self._keys is None else str(value % self._keys)
            self._producer.poll(0)
            if (ahead := value / self._rate - (time.monotonic() - began)) > _POLL_SECONDS:
                time.sleep(ahead)
            while len(self._producer) > _IN_FLIGHT and not self._stopping.is_set():
                self._producer.poll(_POLL_SECONDS)
            self._producer.produce(self._topic, str(value), key, on_delivery=self._acknowledge)
        while self._producer.flush(_POLL_SECONDS) and not self._stopping.is_set():
            pass

    def _values(self) -> Iterator[int]:
        for value in range(self._number) if self._number is not None else count():
            if self._stopping.is_set():
                return
            yield value

    def _acknowledge(self, error: object, _: object) -> None:
        self.acknowledged += error is None


class RecordConsumer:
    """Reads a topic from its beginning on, and goes on where it was."""

    def __init__(self, brokers: str, topic: str) -> None:
        self._topic = topic
        self._consumer = Consumer(
            {
                "bootstrap.servers": brokers,
                "group.id": f"verify-{topic}",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        self._consumer.subscribe([topic])

    def read(self, number: int, seconds: float = WAIT_SECONDS) -> None:
        """Wait for so many more records."""
        found = 0

        def enough() -> bool:
            nonlocal found
            found += sum(message.error() is None for message in self._consumer.consume(number - found, timeout=1))
            return found >= number

        _wait(enough, seconds, f"{self._topic} did not have {number} more records")

    def close(self) -> None:
        """Leave its group."""
        self._consumer.close()


def _wait(happened: Callable[[], bool], seconds: float, otherwise: str) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > deadline:
            raise SystemTestFailed(f"{otherwise} within {seconds:.0f} s")
        time.sleep(_POLL_SECONDS)
