"""An assignor reads the bytes that arrived, although the client libraries decode them for it."""

import asyncio
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from streams_assignor import StreamsAssignor, Subtopology, Topology
from streams_assignor.clients import aiokafka, kafka_python
from streams_assignor.clients.aiokafka import _private_api as aiokafka_api
from streams_assignor.clients.kafka_python import _private_api as kafka_python_api

TOPOLOGY = Topology.of(Subtopology(sources=["orders"]))
MEMBER = StreamsAssignor(TOPOLOGY, process_id=UUID(int=1))
SUBSCRIPTION = MEMBER.subscription() + b"a field of a newer consumer protocol"
ASSIGNMENT = MEMBER.assign({"orders": 2}, {"a": SUBSCRIPTION})["a"]
TOPICS = SimpleNamespace(partitions_for_topic=lambda _topic: {0, 1})


class KafkaPython(kafka_python.StreamsPartitionAssignor):
    cooperative = False


async def nothing(*_arguments: object) -> None:
    pass


def on_kafka_python(streams: Any, seen: list[bytes]) -> dict[str, bytes]:
    """Lead a generation and receive its assignment, as kafka-python does; it decodes members in place."""

    def perform(_leader: str, _protocol: str, members: Any) -> dict[str, bytes]:
        for each in members:
            each.metadata = SimpleNamespace(topics=["orders"])
        answers: dict[str, bytes] = streams.assign(TOPICS, members)
        return answers

    async def complete(generation: int, _member: str, _protocol: str, _assignment: bytes) -> None:
        streams.on_assignment(object(), generation)

    member = SimpleNamespace(member_id="a", metadata=SUBSCRIPTION)
    performing = kafka_python_api._report_subscriptions(perform, streams._on_elected_leader)
    streams.consumer = SimpleNamespace(
        _coordinator=SimpleNamespace(_on_join_complete_async=complete),
        subscription=lambda: {"orders"},
        group_metadata=lambda: SimpleNamespace(member_id="a"),
        config={},
    )

    def on_assigned(assignment: bytes) -> None:
        seen.append(assignment)
        streams._on_assigned(assignment)

    completing = kafka_python_api._report_assignment(streams.consumer, on_assigned, lambda *_: None)
    answers: dict[str, bytes] = performing("a", "stream", [member])
    asyncio.run(completing(1, "a", "stream", answers["a"]))
    return answers


def on_aiokafka(streams: Any, seen: list[bytes]) -> dict[str, bytes]:
    """The same as aiokafka does."""

    async def perform(_response: Any) -> dict[str, bytes]:
        await client._maybe_wait_metadata()
        answers: dict[str, bytes] = streams.assign(TOPICS, {})
        return answers

    async def complete(*_arguments: Any) -> None:
        streams.on_assignment(SimpleNamespace(partitions=lambda: [1]))

    client = SimpleNamespace(_maybe_wait_metadata=nothing)
    coordinator = SimpleNamespace(
        _cluster=TOPICS, _perform_assignment=perform, _on_join_complete=complete, _on_join_prepare=nothing,
        generation=1, member_id="a",
    )  # fmt: skip
    streams.consumer = SimpleNamespace(_coordinator=coordinator, _client=client)

    def on_assigned(assignment: bytes) -> None:
        seen.append(assignment)
        streams._on_assigned(assignment)

    async def scenario() -> dict[str, bytes]:
        aiokafka_api.hook_rebalance_callbacks(
            streams.consumer,
            on_join_prepare=nothing,
            on_elected_leader=streams._on_elected_leader,
            on_assigned=on_assigned,
            on_join_complete=nothing,
        )
        answers: dict[str, bytes] = await coordinator._perform_assignment(
            SimpleNamespace(members=[("a", SUBSCRIPTION)])
        )
        await coordinator._on_join_complete(1, "a", "stream", answers["a"])
        return answers

    return asyncio.run(scenario())


@pytest.mark.parametrize(
    ("adapter", "rebalance"), [(KafkaPython, on_kafka_python), (aiokafka.StreamsPartitionAssignor, on_aiokafka)]
)
def test_a_leader_and_a_member_get_the_bytes_that_arrived(adapter: Any, rebalance: Any) -> None:
    """Both were encoded again, from what a library knows of the protocol."""
    received: list[Any] = []
    streams = adapter(TOPOLOGY, process_id=UUID(int=1))
    assign, receive = streams.perform_assignment, streams.receive_assignment
    streams.perform_assignment = lambda cluster, subscriptions, plan: (
        received.append(dict(subscriptions)) or assign(cluster, subscriptions, plan)
    )
    streams.receive_assignment = lambda assignment, generation: (
        received.append(assignment) or receive(assignment, generation)
    )

    answers = rebalance(streams, seen := [])

    assert received == [{"a": SUBSCRIPTION}, ASSIGNMENT]
    assert answers == {"a": ASSIGNMENT}
    assert seen == [ASSIGNMENT]
