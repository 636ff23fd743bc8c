"""The coordinator of a group on connections that answer as the test says; tests/lab/integration has real ones."""

from __future__ import annotations

from typing import Any

import pytest

from assignor.clients.kafka_python.group_coordinator import GroupCoordinator
from upgrade.cluster.client.connection import Deadline


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
