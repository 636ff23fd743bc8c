"""Answers of OffsetFetch and OffsetCommit that lack a partition, or do not know it."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from kafka import OffsetAndMetadata, TopicPartition
from kafka.errors import KafkaProtocolError, NotCoordinatorError
from kafka.protocol.consumer import OffsetCommitResponse, OffsetFetchResponse

from streams_assignor.clients.kafka_python import _private_api
from tests.assignor.clients.request_errors import CODES

ASKED = [TopicPartition("orders", 0), TopicPartition("orders", 1)]
UNKNOWN = CODES["UNKNOWN_TOPIC_OR_PARTITION"]


class Coordinator:
    """The reaction of kafka-python 3.0.12 to these answers, in few words."""

    def __init__(self, response: Any) -> None:
        self.response = response
        _private_api._require_answers(self)

    async def _send_offset_fetch_request(self, _partitions: Any) -> Any:
        return self._handle_offset_fetch_response(self.response)

    def _handle_offset_fetch_response(self, response: Any) -> Any:
        group = response.groups[0] if response.API_VERSION >= 8 else response
        if group.error_code:
            raise NotCoordinatorError
        return {
            TopicPartition(topic.name, row.partition_index): OffsetAndMetadata(row.committed_offset, "", -1)
            for topic in group.topics
            for row in topic.partitions
            if row.committed_offset >= 0
        }

    def _handle_offset_commit_response(self, offsets: Any, send_time: float, response: Any) -> None:
        """All that is in it is without an error."""

    def fetched(self) -> Any:
        return asyncio.run(self._send_offset_fetch_request(ASKED))


def offset_fetch(version: int, *rows: tuple[int, int, int], error: int = 0) -> OffsetFetchResponse:
    inside = OffsetFetchResponse.OffsetFetchResponseGroup if version >= 8 else OffsetFetchResponse
    topic = inside.OffsetFetchResponseTopics if version >= 8 else inside.OffsetFetchResponseTopic
    row = topic.OffsetFetchResponsePartitions if version >= 8 else topic.OffsetFetchResponsePartition
    partitions = [row(partition_index=number, committed_offset=end, error_code=code) for number, end, code in rows]
    topics = [topic(name="orders", partitions=partitions)] if rows else []
    if version < 8:
        return OffsetFetchResponse(version=version, topics=topics, error_code=error)
    return OffsetFetchResponse(version=version, groups=[inside(group_id="billing", topics=topics, error_code=error)])


@pytest.mark.parametrize("version", [2, 8])
def test_offsets_are_those_of_an_answer_that_is_whole(version: int) -> None:
    found = Coordinator(offset_fetch(version, (0, 7, 0), (1, -1, 0))).fetched()

    assert {ASKED[0]: 7} == {partition: offset.offset for partition, offset in found.items()}


@pytest.mark.parametrize("version", [2, 8])
@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ([(0, 7, 0)], "expected partition 1 of orders in the answer to OffsetFetch, got none"),
        ([], "expected partition 0 of orders in the answer to OffsetFetch, got none"),
        ([(0, 7, 0), (1, -1, UNKNOWN)], "the coordinator does not know partition 1 of orders"),
    ],
)
def test_what_an_answer_lacks_is_not_taken_for_no_committed_offset(
    version: int, rows: list[tuple[int, int, int]], error: str
) -> None:
    with pytest.raises(KafkaProtocolError, match=error):
        Coordinator(offset_fetch(version, *rows)).fetched()


@pytest.mark.parametrize("version", [2, 8])
def test_the_error_of_a_group_is_that_of_kafka_python(version: int) -> None:
    with pytest.raises(NotCoordinatorError):
        Coordinator(offset_fetch(version, error=CODES["NOT_COORDINATOR"])).fetched()


def test_a_commit_that_is_not_answered_for_is_not_made() -> None:
    topic = OffsetCommitResponse.OffsetCommitResponseTopic
    row = topic.OffsetCommitResponsePartition(partition_index=0, error_code=0)
    response = OffsetCommitResponse(topics=[topic(name="orders", partitions=[row])])
    coordinator = Coordinator(SimpleNamespace())

    coordinator._handle_offset_commit_response({ASKED[0]: 7}, 0.0, response)
    with pytest.raises(KafkaProtocolError, match="expected partition 1 of orders in the answer to OffsetCommit"):
        coordinator._handle_offset_commit_response(dict.fromkeys(ASKED, 7), 0.0, response)
