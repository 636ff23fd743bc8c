"""Answers of OffsetFetch, OffsetCommit and ListOffsets that have an error, or lack a partition.

aiokafka 0.14.0 takes an error of a whole OffsetFetch answer for "no committed offset".
"""

import asyncio
from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError
from aiokafka.protocol.commit import (
    OffsetCommitRequest,
    OffsetCommitResponse_v3,
    OffsetFetchRequest,
    OffsetFetchResponse_v1,
    OffsetFetchResponse_v3,
)
from aiokafka.protocol.metadata import MetadataRequest
from aiokafka.protocol.offset import OffsetRequest, OffsetResponse_v1

from streams_assignor.clients.aiokafka import StreamsPartitionAssignor
from streams_assignor.clients.aiokafka._private_answers import check_answers
from streams_assignor.clients.mock_cluster import MockCluster
from streams_assignor.topology import Subtopology, Topology
from tests.assignor.clients.request_errors import GROUP, PARTITION, errors

OFFSET_FETCH = OffsetFetchRequest("billing", [("orders", [0, 1])])
OFFSET_COMMIT = OffsetCommitRequest("billing", 1, "a", -1, [("orders", [(0, 7, ""), (1, 7, "")])])
LIST_OFFSETS = OffsetRequest(-1, 0, [("orders", [(0, -1), (1, -1)])])
RETRIED = {3, 14, 15, 16}
"""Codes after which aiokafka sends an OffsetFetch again; that of an unknown topic is not one, as in Java."""


def answered(request: Any, response: Any) -> Any:
    """Return what the clients of aiokafka get for a response."""

    async def send(*_arguments: Any, **_settings: Any) -> Any:
        return response

    client = SimpleNamespace(_client=SimpleNamespace(send=send))
    check_answers(client)
    return asyncio.run(client._client.send(1, request, group=0))


def offset_fetch(group: int = 0, partition: int = 0) -> Any:
    rows = [] if group else [("orders", [(0, -1, "", partition), (1, 5, "", 0)])]
    return OffsetFetchResponse_v3(0, rows, group)


@pytest.mark.parametrize(
    ("level", "code"),
    [(level, code) for level in (GROUP, PARTITION) for code in (*errors("OffsetFetch", level), 9999)],
)
def test_an_error_of_offset_fetch_is_raised(level: str, code: int) -> None:
    with pytest.raises(KafkaError) as raised:
        answered(OFFSET_FETCH, offset_fetch(**{level: code}))

    assert raised.value.retriable is (code in RETRIED and (level, code) != (PARTITION, 3))


@pytest.mark.parametrize(
    ("request_", "response"),
    [
        (OFFSET_FETCH, OffsetFetchResponse_v3(0, [], 0)),
        (OFFSET_FETCH, OffsetFetchResponse_v1([("orders", [(0, 5, "", 0)])])),
        (OFFSET_COMMIT, OffsetCommitResponse_v3(0, [("orders", [(0, 0)]), ("other", [(1, 0)])])),
        (LIST_OFFSETS, OffsetResponse_v1([("orders", [(0, 0, -1, 5)])])),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_partition_that_is_not_in_the_answer_is_an_error(request_: Any, response: Any) -> None:
    with pytest.raises(KafkaError, match=r"expected partition [01] of orders in \w+Response_v\d, got none"):
        answered(request_, response)


@pytest.mark.parametrize(
    ("request_", "response"),
    [
        (OFFSET_FETCH, offset_fetch()),
        (OFFSET_FETCH, OffsetFetchResponse_v1([("orders", [(0, -1, "", 0), (1, 5, "", 0)])])),
        (OFFSET_COMMIT, OffsetCommitResponse_v3(0, [("orders", [(0, 0), (1, 25)])])),
        (LIST_OFFSETS, OffsetResponse_v1([("orders", [(0, 6, -1, -1), (1, 0, -1, 5)])])),
        (MetadataRequest([]), object()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_answers_are_passed_on(request_: Any, response: Any) -> None:
    """aiokafka reads the errors of partitions in a commit and in ListOffsets itself."""
    assert response is answered(request_, response)


@pytest.mark.clock(reason="librdkafka's mock cluster answers by the clock")
@pytest.mark.parametrize("reset", ["earliest", "latest"])
@pytest.mark.parametrize("code", [14, 15, 16])
def test_a_member_starts_at_its_committed_offset_after_errors_of_the_coordinator(reset: str, code: int) -> None:
    """Of 60 records all were lost with `latest`, of 300 all were read again with `earliest`."""
    refused = deque([code] * 3)
    partition = TopicPartition("orders", 0)

    async def scenario(cluster: MockCluster) -> list[int]:
        streams = StreamsPartitionAssignor(Topology.of(Subtopology(sources=["orders"])))
        consumer = AIOKafkaConsumer(
            **cluster.aiokafka_settings(),
            group_id="billing",
            partition_assignment_strategy=[streams],
            auto_offset_reset=reset,
            enable_auto_commit=False,
            retry_backoff_ms=10,
        )
        send = consumer._client.send

        async def refusing(node: Any, request: Any, **settings: Any) -> Any:
            if isinstance(request, OffsetFetchRequest) and refused:
                return OffsetFetchResponse_v3(0, [], refused.popleft())
            return await send(node, request, **settings)

        consumer._client.send = refusing
        streams.bind(consumer)
        async with AIOKafkaProducer(**cluster.aiokafka_settings()) as producer:
            for _ in range(6):
                await producer.send_and_wait("orders", b"", partition=0)
        async with AIOKafkaConsumer(**cluster.aiokafka_settings(), group_id="billing") as other:
            other.assign([partition])
            await other.commit({partition: 4})
        consumer.subscribe(["orders"])
        async with consumer:
            return [(await consumer.getone()).offset for _ in range(2)]

    with MockCluster(topics={"orders": 1}) as cluster:
        assert [4, 5] == asyncio.run(asyncio.wait_for(scenario(cluster), 60))
    assert not refused
