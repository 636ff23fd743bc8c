"""A commit of a member that has failed."""

import asyncio
from typing import Any

import pytest

from streams_assignor.clients import aiokafka, kafka_python
from streams_assignor.errors import FatalError
from streams_assignor.topology import Subtopology, Topology

TOPOLOGY = Topology.of(Subtopology(sources=["orders"]))
FAILURE = FatalError("no heartbeat was answered", "TimeoutException")


def with_kafka_python(streams: Any) -> Any:
    return streams._unless_failed(lambda: "committed")()


def with_aiokafka(streams: Any) -> Any:
    async def commit() -> str:
        return "committed"

    return asyncio.run(streams._unless_failed(commit)())


@pytest.mark.parametrize(
    ("adapter", "commit"),
    [
        (kafka_python.StreamsPartitionAssignor, with_kafka_python),
        (aiokafka.StreamsPartitionAssignor, with_aiokafka),
    ],
)
def test_it_raises_the_failure_unless_the_group_has_just_confirmed_the_member(adapter: Any, commit: Any) -> None:
    """It looked for the coordinator for ever, or for the time that the user gave."""
    streams = adapter(TOPOLOGY)
    assert "committed" == commit(streams)

    streams.failure = FAILURE
    with pytest.raises(FatalError, match="no heartbeat was answered"):
        commit(streams)

    streams.session.timeout_seconds = 3600
    streams.session.begin(streams.session.now())
    assert "committed" == commit(streams)
