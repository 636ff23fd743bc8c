"""An assignment of topics that a consumer does not subscribe to: its leader runs another topology."""

import asyncio
from types import SimpleNamespace

import pytest
from kafka.errors import KafkaProtocolError
from kafka.protocol.consumer import JoinGroupResponse, SyncGroupResponse

from streams_assignor.clients.kafka_python import _private_api
from streams_assignor.codec import TopicPartition
from streams_assignor.codec.consumer_protocol import ConsumerAssignment, encode_consumer_assignment, group_by_topic


def completed(assignment: bytes, subscribed: set[str] | None) -> tuple[list[bytes], list[tuple[set[str], int, str]]]:
    """The part of an assignment that the consumer sees, and the report about the rest."""
    seen: list[bytes] = []
    reported: list[tuple[set[str], int, str]] = []

    async def complete(_generation: int, _member: str, _protocol: str, encoded: bytes) -> None:
        seen.append(encoded)

    coordinator = SimpleNamespace(_on_join_complete_async=complete, request_rejoin=lambda: seen.append(b"rejoin"))
    consumer = SimpleNamespace(_coordinator=coordinator, subscription=lambda: subscribed)
    bytes_seen: list[bytes] = []
    hooked = _private_api._report_assignment(consumer, bytes_seen.append, lambda *report: reported.append(report))
    asyncio.run(hooked(7, "member", "stream", assignment))
    assert bytes_seen == ([] if b"rejoin" in seen else seen)
    return seen, reported


def of_topics(*topics: str) -> bytes:
    return encode_consumer_assignment(
        ConsumerAssignment(group_by_topic(TopicPartition(each, 0) for each in topics), b"")
    )


def test_it_is_reported_instead_of_refused_by_the_consumer() -> None:
    """kafka-python rejoined at once, and so on without end."""
    assert ([], [({"more"}, 7, "member")]) == completed(of_topics("data", "more"), {"data"})
    assert ([], [({"data"}, 7, "member")]) == completed(of_topics("data"), None)


@pytest.mark.parametrize("assignment", [of_topics(), of_topics("data")], ids=["empty", "subscribed"])
def test_the_consumer_gets_every_other_assignment(assignment: bytes) -> None:
    assert ([assignment], []) == completed(assignment, {"data", "other"})


@pytest.mark.parametrize("assignment", [b"", b"\0"], ids=["none", "malformed"])
def test_a_member_whose_assignment_cannot_be_read_joins_again(assignment: bytes) -> None:
    """kafka-python raised an error once; later polls returned nothing for ever."""
    assert ([b"rejoin", assignment], []) == completed(assignment, {"data"})


def test_a_response_with_null_for_a_member_id_is_refused() -> None:
    """The member sent null as its id for ever, and the broker closed the connection each time."""
    process = _private_api._without_null(lambda response: response.member_id)
    names = {"protocol_name": "stream", "leader": "a", "members": []}

    assert "b" == process(JoinGroupResponse(version=5, member_id="b", **names))
    with pytest.raises(KafkaProtocolError, match="member_id, got null"):
        process(JoinGroupResponse(version=5, member_id=None, **names))


def test_null_in_the_assignment_of_an_error_is_left_to_the_error() -> None:
    """On a mock cluster a second member made the first one fail instead of joining again."""
    process = _private_api._without_null(lambda response: response.error_code, also_of_errors=False)

    assert 42 == process(SyncGroupResponse(version=3, error_code=42, assignment=None))
    with pytest.raises(KafkaProtocolError, match="assignment, got null"):
        process(SyncGroupResponse(version=3, error_code=0, assignment=None))
