"""A commit in the middle of a rebalance is no error: the loop of a service goes on, as that of Kafka Streams does."""

import asyncio
from typing import Any

import aiokafka.errors
import kafka.errors
import pytest

from streams_assignor.clients import aiokafka as for_aiokafka
from streams_assignor.clients import kafka_python as for_kafka_python
from streams_assignor.topology import Subtopology, Topology

TOPOLOGY = Topology.of(Subtopology(sources=["orders"]))


class Consumer:
    """As much of a ``KafkaConsumer`` as is asked for."""

    def __init__(self, error: Exception | None, topics: frozenset[str]) -> None:
        self.error, self.topics, self.committed = error, topics, list[Any]()

    def commit(self, offsets: object, timeout_ms: int | None) -> None:
        assert timeout_ms is None
        if self.error:
            raise self.error
        self.committed.append(offsets)

    def subscription(self) -> frozenset[str]:
        return self.topics


class AsyncConsumer(Consumer):
    """As much of an ``AIOKafkaConsumer`` as is asked for."""

    async def commit(self, offsets: object) -> None:  # type: ignore[override]
        super().commit(offsets, None)


def with_kafka_python(error: Exception | None, topics: frozenset[str]) -> tuple[bool, list[Any]]:
    streams: Any = for_kafka_python.StreamsPartitionAssignor(TOPOLOGY)
    streams.consumer = Consumer(error, topics)
    return streams.commit(), streams.consumer.committed


def with_aiokafka(error: Exception | None, topics: frozenset[str]) -> tuple[bool, list[Any]]:
    streams: Any = for_aiokafka.StreamsPartitionAssignor(TOPOLOGY)
    streams.consumer = AsyncConsumer(error, topics)
    return asyncio.run(streams.commit()), streams.consumer.committed


SUBSCRIBED = frozenset({"orders"})
REBALANCES = [
    (with_kafka_python, kafka.errors.RebalanceInProgressError()),
    (with_kafka_python, kafka.errors.CommitFailedError()),
    (with_aiokafka, aiokafka.errors.CommitFailedError()),
    (with_aiokafka, aiokafka.errors.IllegalStateError("No partitions assigned")),
]
OTHERS = [
    (with_kafka_python, kafka.errors.FencedInstanceIdError(), SUBSCRIBED),
    (with_kafka_python, kafka.errors.GroupAuthorizationFailedError(), SUBSCRIBED),
    (with_aiokafka, aiokafka.errors.GroupAuthorizationFailedError(), SUBSCRIBED),
    (with_aiokafka, aiokafka.errors.IllegalStateError("Not subscribed to any topics"), frozenset()),
]


@pytest.mark.parametrize("commit", [with_kafka_python, with_aiokafka])
def test_it_commits_what_was_read(commit: Any) -> None:
    assert (True, [None]) == commit(None, SUBSCRIBED)


@pytest.mark.parametrize(("commit", "error"), REBALANCES)
def test_a_rebalance_is_no_error(commit: Any, error: Exception) -> None:
    """The loop of the page ended with RebalanceInProgressError when another member joined."""
    assert (False, []) == commit(error, SUBSCRIBED)


@pytest.mark.parametrize(("commit", "error", "topics"), OTHERS)
def test_any_other_error_is_raised(commit: Any, error: Exception, topics: frozenset[str]) -> None:
    with pytest.raises(type(error)):
        commit(error, topics)
