"""What goes on in the background of a run: records for topics, and any step that is repeated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

from confluent_kafka import Producer

from tests.lab.integration.topologies import PARTITIONS


@contextmanager
def repeated(step: Callable[[], object], pause: float = 0.0) -> Iterator[None]:
    """Repeat a step in a thread, ``pause`` seconds apart, until the block ends; its error is raised there."""
    ended = Event()

    def repeat() -> None:
        while not ended.wait(pause):
            step()

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(repeat)
        try:
            yield
        finally:
            ended.set()
        running.result()


@contextmanager
def sent_records(brokers: str, topics: Mapping[str, int], pause: float) -> Iterator[None]:
    """Send a record to each partition of topics, up to ``PARTITIONS``, again and again; topics and sizes may change."""
    producer = Producer({"bootstrap.servers": brokers})

    def send() -> None:
        for topic, partitions in list(topics.items()):
            for partition in range(min(PARTITIONS, partitions)):
                producer.produce(topic, key=str(partition), value=b"x", partition=partition)
        producer.poll(0)

    with repeated(send, pause):
        yield
    producer.flush(10)
