"""The coordinator of a group on connections that answer as the test says; tests/lab/integration has real ones."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from streams_assignor.clients.kafka_python import group_coordinator
from streams_assignor.clients.kafka_python.group_coordinator import CoordinatorUnavailable, GroupCoordinator
from streams_assignor.upgrade.cluster.client.connection import Deadline
from tests.assignor.clients.request_errors import CODES, TOPIC, errors


class Connection:
    """A connection to a coordinator; ``requests`` are those that it supports."""

    def __init__(self, server: str, *requests: str) -> None:
        self.server = server
        self.requests = requests

    def supports(self, request: Any) -> bool:
        return request.__name__ in self.requests

    def send(self, request: Any, _deadline: Deadline, **_fields: Any) -> Any:
        raise AssertionError(f"{request} is not supported")


def coordinator_at(connection: Connection) -> GroupCoordinator:
    found = GroupCoordinator("billing", {"bootstrap_servers": ["broker:9092"]})
    found._connection = connection  # type: ignore[assignment]
    return found


@pytest.mark.parametrize("address", ["broker:9092", "127.0.0.1:9092", "[::1]:9092"])
def test_commits_of_the_user_connect_to_the_address_of_the_coordinator(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected = []

    def connect(_: GroupCoordinator, address: str, _seconds: float) -> Connection:
        connected.append(address)
        return Connection(address)

    monkeypatch.setattr(GroupCoordinator, "connect", connect)
    commits = coordinator_at(Connection(address)).commit_connection(lambda: ("billing", 1, "m"))
    commits._connected(commits._node(), 60)

    assert [address] == connected


def test_a_broker_without_the_request_does_not_tell_the_session_timeout() -> None:
    assert coordinator_at(Connection("broker:9092")).session_timeout_ms(60) is None


class Answering(Connection):
    """The same with one answer."""

    def __init__(self, answer: Any) -> None:
        super().__init__("broker:9092")
        self._answer = answer
        self.closed = False

    def send(self, _request: Any, _deadline: Deadline, **_fields: Any) -> Any:
        return self._answer

    def exchange(self, _request: bytes, _seconds: float) -> Any:
        return self._answer

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize(("latest", "sent"), [(0, None), (1, [])])
def test_a_broker_before_4_4_gets_no_task_offsets(
    latest: int, sent: list[Any] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded = []

    def encode(_schema: object, version: int, fields: dict[str, Any]) -> bytes:
        encoded.append((version, fields["taskOffsets"]))
        raise CoordinatorUnavailable

    monkeypatch.setattr(group_coordinator, "encode_message", encode)
    connection: Any = SimpleNamespace(server="broker:9092", versions_of=lambda _: (0, latest))
    with pytest.raises(CoordinatorUnavailable):
        coordinator_at(connection).heartbeat({"taskOffsets": []}, 1)

    assert [(latest, sent)] == encoded


@pytest.mark.parametrize("code", [*errors("Metadata", TOPIC), None])
def test_an_error_of_a_topic_does_not_say_that_it_is_not_there(code: int | None) -> None:
    """The member took its task without partitions, and never asked again."""
    topics = [SimpleNamespace(name="orders", error_code=0, partitions=[1, 2])]
    if code is not None:
        topics.append(SimpleNamespace(name="payments", error_code=code, partitions=[]))
    coordinator = coordinator_at(Answering(SimpleNamespace(topics=topics)))

    if code == CODES["UNKNOWN_TOPIC_OR_PARTITION"]:
        assert {"orders": 2} == coordinator.partition_counts({"orders", "payments"}, 60)
    else:
        with pytest.raises(CoordinatorUnavailable, match="payments: "):
            coordinator.partition_counts({"orders", "payments"}, 60)


def test_a_commit_without_a_result_is_no_success() -> None:
    connection = Answering(bytes(9) + b"\1\0")
    coordinator = coordinator_at(connection)

    with pytest.raises(CoordinatorUnavailable, match="expected a result for 1 partitions, got 0"):
        coordinator.commit(("billing", 1, "m"), {("orders", 0): (1, "")}, 60)

    assert connection.closed
