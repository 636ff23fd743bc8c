"""Commits of the calling thread, on the embedded cluster; and their bytes beside those of kafka-python."""

import io
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaTopicPartition
from kafka.protocol.consumer import OffsetCommitRequest, OffsetCommitResponse

from streams_assignor.clients.kafka_python import (
    StreamsPartitionAssignor,
    _commit_connection,
    _offset_commit,
    _private_api,
    _private_connection,
    broker_connection,
)
from streams_assignor.clients.kafka_python._commit_connection import CommitConnection
from streams_assignor.clients.mock_cluster import MockCluster, delay_leader
from streams_assignor.topology import Subtopology, Topology

ON_THE_MOCK = pytest.mark.clock(reason="librdkafka's mock cluster ends rebalances and sessions by the clock")

OFFSETS = {("orders", 0): (7, ""), ("payments", 3): (1 << 40, "by hand"), ("orders", 2): (0, "")}


def kafka_python_request(version: int, instance_id: str | None) -> bytes:
    topic = OffsetCommitRequest.OffsetCommitRequestTopic
    request = OffsetCommitRequest(
        version=version,
        group_id="billing",
        generation_id_or_member_epoch=3,
        member_id="member-1",
        group_instance_id=instance_id,
        topics=[
            topic(
                name=name,
                partitions=[
                    topic.OffsetCommitRequestPartition(
                        partition_index=number,
                        committed_offset=offset,
                        committed_leader_epoch=-1,
                        committed_metadata=metadata,
                    )
                    for (each, number), (offset, metadata) in OFFSETS.items()
                    if each == name
                ],
            )
            for name in ("orders", "payments")
        ],
    )
    request.with_header(correlation_id=0, client_id="client")
    return bytes(request.encode(header=True, framed=True))


@pytest.mark.parametrize("instance_id", [None, "one"])
def test_a_request_has_the_bytes_of_kafka_python(instance_id: str | None) -> None:
    ours = _offset_commit.encode_request("client", "billing", 3, "member-1", instance_id, OFFSETS)
    assert kafka_python_request(_offset_commit.VERSION, instance_id) == ours
    assert (OffsetCommitRequest.API_KEY, 2) == (_offset_commit.API_KEY, len({name for name, _ in OFFSETS}))


def test_a_request_of_a_member_with_an_epoch_has_the_bytes_of_kafka_python() -> None:
    ours = _offset_commit.encode_epoch_request("client", "billing", 3, "member-1", OFFSETS)
    assert kafka_python_request(_offset_commit.EPOCH_VERSION, None) == ours


def test_a_long_name_has_a_length_of_two_bytes() -> None:
    name = "o" * 200
    ours = _offset_commit.encode_epoch_request("client", name, 3, "member-1", {(name, 0): (1, name)})
    assert 3 == ours.count(b"\xc9\x01" + name.encode())


def test_error_codes_of_a_member_with_an_epoch_are_found() -> None:
    topic = OffsetCommitResponse.OffsetCommitResponseTopic
    partition = topic.OffsetCommitResponsePartition
    response = OffsetCommitResponse(
        version=_offset_commit.EPOCH_VERSION,
        throttle_time_ms=9,
        topics=[
            topic(name="o" * 200, partitions=[partition(partition_index=n, error_code=n) for n in (0, 22)]),
            topic(name="payments", partitions=[partition(partition_index=1, error_code=113)]),
        ],
    )
    tags = b"\x01\x00\x02no"  # one field of two bytes, as a later broker may send
    assert [0, 22, 113] == _offset_commit.epoch_error_codes(bytes(4) + tags + response.encode(), 3)


def test_error_codes_are_found() -> None:
    topic = OffsetCommitResponse.OffsetCommitResponseTopic
    partition = topic.OffsetCommitResponsePartition
    response = OffsetCommitResponse(
        version=_offset_commit.VERSION,
        throttle_time_ms=9,
        topics=[
            topic(name="orders", partitions=[partition(partition_index=n, error_code=n) for n in (0, 22)]),
            topic(name="payments", partitions=[partition(partition_index=1, error_code=25)]),
        ],
    )
    assert [0, 22, 25] == _offset_commit.error_codes(bytes(4) + response.encode(), 3)


@pytest.mark.parametrize(
    ("read", "version"),
    [
        (_offset_commit.error_codes, _offset_commit.VERSION),
        (_offset_commit.epoch_error_codes, _offset_commit.EPOCH_VERSION),
    ],
)
def test_an_answer_that_is_not_whole_is_no_success(read: Any, version: int) -> None:
    """Zeros were read behind its end, and no result of a partition was no error."""
    topic = OffsetCommitResponse.OffsetCommitResponseTopic
    rows = [topic.OffsetCommitResponsePartition(partition_index=number, error_code=0) for number in (0, 1)]
    response = OffsetCommitResponse(version=version, throttle_time_ms=0, topics=[topic(name="orders", partitions=rows)])
    tags = bytes(1) if version == _offset_commit.EPOCH_VERSION else b""
    answer = bytes(4) + tags + response.encode()

    assert [0, 0] == read(answer, 2)
    for wrong in (1, 3):
        with pytest.raises(ValueError, match=f"expected a result for {wrong} partitions, got 2"):
            read(answer, wrong)
    for end in range(4, len(answer) - 4):
        with pytest.raises(ValueError, match=r"expected [124] bytes at \d+ of an answer, got an end at|got 0"):
            read(answer[:end], 2)


@pytest.fixture(name="consumer")
def fixture_consumer() -> Iterator[Any]:
    """A consumer that has joined."""
    streams = StreamsPartitionAssignor(Topology.of(Subtopology(sources=["orders"])))
    delay_leader(streams, 0.05)
    with MockCluster(topics={"orders": 3}) as cluster:
        settings = cluster.kafka_python_settings()
        consumer = KafkaConsumer(
            group_id="billing", partition_assignment_strategy=[streams], auto_offset_reset="earliest", **settings
        )
        with closing(consumer):
            streams.bind(consumer)
            consumer.subscribe(["orders"])
            while not consumer.assignment():
                consumer.poll(timeout_ms=1500)
            yield consumer


@pytest.fixture(name="connection")
def fixture_connection(consumer: Any) -> Iterator[CommitConnection]:
    """A connection on which a second commit is accepted, as it is frequent."""
    with closing(CommitConnection(consumer)) as connection:
        assert [False, True] == [connection.commit({("orders", 0): (n, "")}, 10) for n in (1, 2)]
        yield connection


@ON_THE_MOCK
def test_frequent_commits_are_accepted(consumer: Any, connection: CommitConnection) -> None:
    assert connection.commit({("orders", 0): (5, ""), ("orders", 1): (6, "by hand")}, 10)
    found = [consumer.committed(KafkaTopicPartition("orders", number), metadata=True) for number in range(2)]
    assert [(5, ""), (6, "by hand")] == [(each.offset, each.metadata) for each in found]


@ON_THE_MOCK
def test_a_commit_that_is_refused_is_left_to_the_member(
    connection: CommitConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    group, generation, *rest = _private_api.commit_identity(connection._consumer) or ("", 0)
    with monkeypatch.context() as patched:
        patched.setattr(_private_api, "commit_identity", lambda _: (group, generation - 1, *rest))
        assert not connection.commit({("orders", 0): (5, "")}, 10)
        patched.setattr(_private_api, "commit_identity", lambda _: None)  # it rejoins
        assert not connection.commit({("orders", 0): (5, "")}, 10)
    assert connection.commit({("orders", 0): (5, "")}, 10)


@ON_THE_MOCK
def test_after_a_failure_commits_are_left_to_the_member_for_a_while(
    connection: CommitConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert connection._connection
    _private_connection.disconnect(connection._connection[0])
    assert [False, False] == [connection.commit({("orders", 0): (n, "")}, 10) for n in (5, 6)]
    monkeypatch.setattr(_commit_connection, "RECONNECT_SECONDS", 0)
    assert connection.commit({("orders", 0): (7, "")}, 10)


@ON_THE_MOCK
def test_rare_commits_are_left_to_the_member(connection: CommitConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_commit_connection, "FREQUENT_SECONDS", -1)
    assert not connection.commit({("orders", 0): (5, "")}, 10)
    assert connection._connection is None


@ON_THE_MOCK
def test_another_coordinator_gets_another_connection(connection: CommitConnection) -> None:
    """A member of a group whose coordinator has moved."""
    before = connection._connection
    connection._address = "elsewhere", 9092
    assert connection.commit({("orders", 0): (5, "")}, 10)
    assert before != connection._connection


class Pieces(io.BytesIO):
    """A socket whose other side sends three bytes at a time."""

    timeout = 60.0

    def sendall(self, request: bytes) -> None:
        self.request = request

    def recv(self, _: int) -> bytes:
        return self.read(3)

    def gettimeout(self) -> float:
        return self.timeout

    def settimeout(self, seconds: float) -> None:
        self.timeout = seconds


def test_a_response_may_arrive_in_pieces() -> None:
    assert b"answer" == broker_connection.exchange(Pieces(b"\0\0\0\6answer"), b"")
    with pytest.raises(ConnectionError):
        broker_connection.exchange(Pieces(b"\0\0\0\7answer"), b"")
    with pytest.raises(ConnectionError, match="expected a response of at most 104,857,600 bytes"):
        broker_connection.exchange(Pieces(b"\x7f\xff\xff\xffanswer"), b"")


def test_a_response_whose_pieces_come_too_slowly_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each piece had the whole time: a broker that sends a byte now and then was waited for without end."""
    clock = iter(range(0, 1000, 7))
    monkeypatch.setattr("streams_assignor.upgrade.cluster.client.connection.time.monotonic", lambda: next(clock))
    socket = Pieces(b"\0\0\0\x7f" + bytes(127))

    with pytest.raises(TimeoutError, match="no response within 60 s"):
        broker_connection.exchange(socket, b"")
    assert 60.0 == socket.timeout
    assert socket.read()
