"""Errors that kafka-python lets through, with our assignor as without it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kafka import KafkaConsumer
from kafka.errors import KafkaConnectionError
from kafka.future import Future

from assignor import Subtopology, Topology
from assignor.clients.kafka_python import StreamsPartitionAssignor
from assignor.clients.mock_cluster import MockCluster

_JOINED_POLLS, _POLL_MS = 100, 200


@pytest.fixture(name="cluster")
def fixture_cluster() -> Iterator[MockCluster]:
    with MockCluster(topics={"orders": 2}) as cluster:
        yield cluster


@pytest.mark.parametrize("plain", [True, False])
def test_a_closed_connection_is_raised_by_poll_while_the_coordinator_is_unknown(plain, cluster, monkeypatch):
    """3.0.12 awaits a metadata update in the handler of the failed FindCoordinator; a second failure escapes it."""
    consumer = KafkaConsumer(
        **({} if plain else {"partition_assignment_strategy": [streams := StreamsPartitionAssignor(_TOPOLOGY)]}),
        group_id="billing",
        **cluster.kafka_python_settings(),
    )
    if not plain:
        streams.bind(consumer)
    consumer.subscribe(["orders"])
    for _ in range(_JOINED_POLLS):
        consumer.poll(timeout_ms=_POLL_MS)
        if consumer.assignment():
            break
    coordinator = consumer._coordinator
    with monkeypatch.context() as patch:
        closed = KafkaConnectionError("socket disconnected")
        patch.setattr(coordinator._manager, "send", lambda *_, **__: Future().failure(closed))
        coordinator.coordinator_dead("its connection is closed")

        with pytest.raises(KafkaConnectionError) as raised:
            consumer.poll(timeout_ms=10 * _POLL_MS)

    assert raised.value.retriable
    consumer.poll(timeout_ms=_POLL_MS)  # the next one continues
    consumer.close(timeout_ms=_POLL_MS)


_TOPOLOGY = Topology.of(Subtopology(sources=["orders"]))
