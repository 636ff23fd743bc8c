"""Topics that a broker describes with an error, to the admins of both libraries."""

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from streams_assignor.clients.aiokafka import AiokafkaAdmin
from streams_assignor.clients.aiokafka import _admin as aiokafka_admin
from streams_assignor.clients.kafka_python import KafkaPythonAdmin
from streams_assignor.clients.kafka_python import _admin as kafka_python_admin
from streams_assignor.clients.leader_lookup import LookupFailed
from tests.assignor.clients.request_errors import CODES, TOPIC, errors

ABSENT = CODES["UNKNOWN_TOPIC_OR_PARTITION"]


class Client:
    """An admin client, or consumer, of either library, whose answer about topics has one error."""

    code = 0
    partitions: Sequence[Any] = (
        {"partition_index": 0, "partition": 0, "replica_nodes": [1], "replicas": [1], "leader": 1},
    )

    def __init__(self, **_settings: Any) -> None:
        self._client = SimpleNamespace(send=None)

    def describe_topics(self, *_names: Any) -> Any:
        rows = [(name, 0 if name == "orders" else self.code) for name in ("orders", "counts")]
        return [
            {"name": name, "topic": name, "error_code": code, "partitions": () if code else self.partitions}
            for name, code in rows
            if code is not None
        ]

    def describe_cluster(self) -> Any:
        return {"brokers": [{"broker_id": 1, "node_id": 1, "rack": "a"}]}


class AsyncClient(Client):
    """The same for aiokafka."""

    async def start(self) -> None:
        pass

    async def describe_topics(self) -> Any:
        return super().describe_topics()

    async def describe_cluster(self) -> Any:
        return super().describe_cluster()


def with_kafka_python(monkeypatch: pytest.MonkeyPatch, call: str, code: int | None) -> Any:
    client = type("Ours", (Client,), {"code": code, "DEFAULT_CONFIG": {}})
    monkeypatch.setattr(kafka_python_admin, "KafkaAdminClient", client)
    return getattr(KafkaPythonAdmin("billing"), call)(["counts", "orders"])


def with_aiokafka(monkeypatch: pytest.MonkeyPatch, call: str, code: int | None) -> Any:
    for name in ("AIOKafkaAdminClient", "AIOKafkaConsumer"):
        monkeypatch.setattr(aiokafka_admin, name, type("Ours", (AsyncClient,), {"code": code}))

    async def scenario() -> Any:
        admin = AiokafkaAdmin("billing", replication_factor=1)
        return await asyncio.to_thread(getattr(admin, call), ["counts", "orders"])

    return asyncio.run(scenario())


@pytest.mark.parametrize("described", [with_kafka_python, with_aiokafka])
@pytest.mark.parametrize("call", ["partition_counts", "replica_racks"])
@pytest.mark.parametrize("code", [*errors("Metadata", TOPIC), CODES["UNKNOWN_SERVER_ERROR"]])
def test_an_error_of_a_topic_does_not_say_that_it_is_not_there(
    monkeypatch: pytest.MonkeyPatch, described: Any, call: str, code: int
) -> None:
    """A leader that does not find a source topic ends all members of its group."""
    if code == ABSENT:
        assert 1 == len(described(monkeypatch, call, code))
    else:
        with pytest.raises(LookupFailed, match="counts"):
            described(monkeypatch, call, code)


@pytest.mark.parametrize("call", ["partition_counts", "replica_racks"])
def test_a_topic_that_is_not_in_the_answer_is_an_error(monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    """aiokafka asks for all topics: those that do not exist are not in its answer."""
    with pytest.raises(LookupFailed, match="no topic counts, or none of its partitions, in the answer"):
        with_kafka_python(monkeypatch, call, None)


@pytest.mark.parametrize("described", [with_kafka_python, with_aiokafka])
def test_a_topic_without_partitions_is_no_answer(monkeypatch: pytest.MonkeyPatch, described: Any) -> None:
    monkeypatch.setattr(Client, "partitions", ())

    with pytest.raises(LookupFailed, match="partition"):
        described(monkeypatch, "partition_counts", 0)
