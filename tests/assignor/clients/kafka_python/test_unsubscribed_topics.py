"""An assignment of topics that a consumer does not subscribe to: its leader runs another topology."""

import asyncio
from types import SimpleNamespace

import pytest

from assignor.clients.kafka_python import _private_api
from subscription_codec import TopicPartition
from subscription_codec.consumer_protocol import ConsumerAssignment, encode_consumer_assignment, group_by_topic


def completed(assignment: bytes, subscribed: set[str] | None) -> tuple[list[bytes], list[tuple[set[str], int, str]]]:
    """What the consumer gets to see of an assignment, and what is reported instead."""
    seen: list[bytes] = []
    reported: list[tuple[set[str], int, str]] = []

    async def complete(_generation: int, _member: str, _protocol: str, encoded: bytes) -> None:
        seen.append(encoded)

    consumer = SimpleNamespace(
        _coordinator=SimpleNamespace(_on_join_complete_async=complete), subscription=lambda: subscribed
    )
    bytes_seen: list[bytes] = []
    hooked = _private_api._report_assignment(consumer, bytes_seen.append, lambda *report: reported.append(report))
    asyncio.run(hooked(7, "member", "stream", assignment))
    assert bytes_seen == seen
    return seen, reported


def of_topics(*topics: str) -> bytes:
    return encode_consumer_assignment(
        ConsumerAssignment(group_by_topic(TopicPartition(each, 0) for each in topics), b"")
    )


def test_it_is_reported_instead_of_refused_by_the_consumer() -> None:
    """kafka-python rejoined at once, and so on without end."""
    assert ([], [({"more"}, 7, "member")]) == completed(of_topics("data", "more"), {"data"})
    assert ([], [({"data"}, 7, "member")]) == completed(of_topics("data"), None)


@pytest.mark.parametrize(
    "assignment", [of_topics(), of_topics("data"), b"\0"], ids=["empty", "subscribed", "malformed"]
)
def test_the_consumer_gets_every_other_assignment(assignment: bytes) -> None:
    assert ([assignment], []) == completed(assignment, {"data", "other"})
