"""The behaviour of kafka-python 3.0.12 when its connections fail: with our assignor, and without it."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import Mock

import pytest
from kafka import KafkaConsumer
from kafka.errors import KafkaConnectionError
from kafka.future import Future

from streams_assignor import Subtopology, Topology
from streams_assignor.clients.kafka_python import StreamsPartitionAssignor
from streams_assignor.clients.mock_cluster import MockCluster

pytestmark = pytest.mark.clock(reason="librdkafka's mock cluster ends rebalances and sessions by the clock")

_JOINED_POLLS, _POLL_MS, _HEARTBEAT_MS = 100, 200, 100
_MOST_ROUNDS = 40  # twenty of 0.1 s, and some that a response or a timer ends; a poll that spins has a thousand


@pytest.fixture(name="cluster")
def fixture_cluster() -> Iterator[MockCluster]:
    with MockCluster(topics={"orders": 2}) as cluster:
        yield cluster


@pytest.fixture(name="consumer")
def fixture_consumer(cluster: MockCluster, request: pytest.FixtureRequest) -> Iterator[KafkaConsumer]:
    """A member with partitions; the parameter says whether it is plain."""
    streams = None if request.param == "plain" else StreamsPartitionAssignor(_TOPOLOGY)
    consumer = KafkaConsumer(
        **({"partition_assignment_strategy": [streams]} if streams else {}),
        group_id="billing",
        heartbeat_interval_ms=_HEARTBEAT_MS,
        **cluster.kafka_python_settings(),
    )
    if streams:
        streams.bind(consumer)
    consumer.subscribe(["orders"])
    for _ in range(_JOINED_POLLS):
        consumer.poll(timeout_ms=_POLL_MS)
        if consumer.assignment():
            break
    yield consumer
    consumer.close(timeout_ms=_POLL_MS)


@pytest.mark.parametrize("consumer", ["plain", "ours"], indirect=True)
def test_a_closed_connection_is_raised_by_poll_while_the_coordinator_is_unknown(consumer, monkeypatch):
    """3.0.12 awaits a metadata update in the handler of the failed FindCoordinator; a second failure escapes it."""
    coordinator = consumer._coordinator
    with monkeypatch.context() as patch:
        closed = KafkaConnectionError("socket disconnected")
        patch.setattr(coordinator._manager, "send", lambda *_, **__: Future().failure(closed))
        coordinator.coordinator_dead("its connection is closed")

        with pytest.raises(KafkaConnectionError) as raised:
            consumer.poll(timeout_ms=10 * _POLL_MS)

    assert raised.value.retriable
    consumer.poll(timeout_ms=_POLL_MS)  # the next one continues


@pytest.mark.parametrize("consumer", ["ours"], indirect=True)
def test_a_poll_without_answers_does_not_spin(consumer, monkeypatch):
    """Each round of a plain ``poll`` keeps memory until the Fetch request in flight is over."""
    rounds = Mock(wraps=consumer._poll_once)
    monkeypatch.setattr(consumer, "_poll_once", rounds)
    with monkeypatch.context() as patch:
        patch.setattr(consumer._coordinator._manager, "send", lambda *_, **__: Future())  # the network is cut

        consumer.poll(timeout_ms=20 * _HEARTBEAT_MS)

    assert rounds.call_count <= _MOST_ROUNDS


_TOPOLOGY = Topology.of(Subtopology(sources=["orders"]))
