"""Members on aiokafka and kafka-python behind TLS and SASL; and static ones, which return to their tasks."""

import asyncio
import ssl
import time
from collections.abc import Coroutine
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaError as AiokafkaError
from kafka import KafkaConsumer

from streams_assignor.clients import aiokafka, kafka_python
from streams_assignor.clients.aiokafka import AiokafkaAdmin
from streams_assignor.clients.kafka_python import KafkaPythonAdmin
from streams_assignor.clients.leader_lookup import LookupFailed
from streams_assignor.codec import TaskId
from streams_assignor.topology import Subtopology, Topology
from tests.assignor.clients.recording_listener import RecordingListener
from tests.lab.integration.applications import PARTITIONS
from tests.lab.integration.secure_cluster import KEY_PASSWORD, PASSWORD, RECORDS, SecureCluster
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS

pytestmark = [pytest.mark.broker, pytest.mark.slow]

SESSION_MS = 30_000  # longer than any restart here
LOGINS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "certificate")
TASKS = {TaskId(0, partition) for partition in range(PARTITIONS)}


def settings(secure: SecureCluster, login: str, password: str = PASSWORD) -> dict[str, Any]:
    """The settings of both; their names are the same."""
    tls = ssl.create_default_context(cafile=secure.file("ca"))
    if login == "certificate":
        tls.load_cert_chain(secure.file("dora"), password=KEY_PASSWORD)
        return {"bootstrap_servers": secure.mutual, "security_protocol": "SSL", "ssl_context": tls}
    return {
        "bootstrap_servers": secure.secure,
        "security_protocol": "SASL_SSL",
        "ssl_context": tls,
        "sasl_mechanism": login,
        "sasl_plain_username": "anna",
        "sasl_plain_password": password,
    }


def named(secure: SecureCluster, name: str) -> dict[str, Any]:
    return {
        "group_id": f"{secure.application.name}-{name}",
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "session_timeout_ms": SESSION_MS,
        "heartbeat_interval_ms": 500,
    }


def topology(secure: SecureCluster) -> Topology:
    return Topology.of(Subtopology(sources=[secure.application.source]))


def run(scenario: Coroutine[None, None, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 2 * TIMEOUT_SECONDS))


# -- aiokafka -----------------------------------------------------------------------------------------------------


class Aiokafka:
    """One member, with the callbacks of its listener."""

    def __init__(self, secure: SecureCluster, login: dict[str, Any], group: dict[str, Any]) -> None:
        self.listener = RecordingListener()
        admin = AiokafkaAdmin(group["group_id"], replication_factor=1, **login)
        self.admin = admin
        streams = aiokafka.StreamsPartitionAssignor(topology(secure), admin=admin, listener=self.listener)
        self.consumer = AIOKafkaConsumer(
            secure.application.source, partition_assignment_strategy=[streams], **login, **group
        )
        streams.bind(self.consumer)

    async def __aenter__(self) -> "Aiokafka":
        await self.consumer.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.consumer.stop()
        await self.admin.close()

    @property
    def tasks(self) -> set[TaskId]:
        return set(self.listener.owned_tasks.active)

    @property
    def generation(self) -> int:
        return int(self.consumer._coordinator.generation)

    async def read(self) -> set[bytes]:
        found: set[bytes] = set()
        while len(found) < RECORDS:
            for records in (await self.consumer.getmany(timeout_ms=500)).values():
                found |= {record.value for record in records}
        return found


@pytest.mark.parametrize("login", LOGINS)
def test_aiokafka_behind_tls(secure: SecureCluster, login: str) -> None:
    async def scenario() -> None:
        async with Aiokafka(secure, settings(secure, login), named(secure, f"aiokafka-{login}")) as member:
            assert {b"%d" % number for number in range(RECORDS)} == await member.read()
            assert member.tasks == TASKS
            await member.consumer.commit()

    run(scenario())


def test_aiokafka_with_a_wrong_password(secure: SecureCluster) -> None:
    async def scenario() -> None:
        login = settings(secure, "SCRAM-SHA-512", "wrong-and-secret")
        member = Aiokafka(secure, login, named(secure, "aiokafka-wrong"))
        with pytest.raises(AiokafkaError) as refused:
            await member.consumer.start()
        assert "wrong-and-secret" not in repr(refused.value)
        await member.__aexit__()

    run(scenario())


@pytest.mark.parametrize("who", [0, 1], ids=["the leader", "a follower"])
def test_a_static_member_of_aiokafka_comes_back_to_its_tasks(secure: SecureCluster, who: int) -> None:
    """In the same generation: no other member notices."""
    login = {"bootstrap_servers": secure.open}
    groups = [
        named(secure, f"static-{who}") | {"group_instance_id": f"instance-{number}", "client_id": f"c{number}"}
        for number in range(2)
    ]

    async def scenario() -> None:
        members = [await Aiokafka(secure, login, group).__aenter__() for group in groups]
        await eventually(lambda: TASKS == members[0].tasks | members[1].tasks and all(each.tasks for each in members))
        before, generation = members[who].tasks, members[1 - who].generation
        other = list(members[1 - who].listener.callback_names)
        await members[who].__aexit__()
        members[who] = await Aiokafka(secure, login, groups[who]).__aenter__()
        await eventually(lambda: bool(members[who].tasks))
        await asyncio.sleep(2)  # four heartbeats: a rebalance would have been noticed

        assert before == members[who].tasks
        assert [generation] * 2 == [each.generation for each in members]
        assert other == members[1 - who].listener.callback_names
        for each in members:
            await each.__aexit__()

    run(scenario())


async def eventually(condition: Any) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.05)


# -- kafka-python -------------------------------------------------------------------------------------------------


class KafkaPython:
    """The same."""

    def __init__(self, secure: SecureCluster, login: dict[str, Any], group: dict[str, Any]) -> None:
        self.listener = RecordingListener()
        self._admin = KafkaPythonAdmin(group["group_id"], **login)
        streams = kafka_python.StreamsPartitionAssignor(topology(secure), admin=self._admin, listener=self.listener)
        self.consumer = KafkaConsumer(partition_assignment_strategy=[streams], **login, **group)
        streams.bind(self.consumer)
        self.consumer.subscribe([secure.application.source])

    def __enter__(self) -> "KafkaPython":
        return self

    def __exit__(self, *_: object) -> None:
        self.consumer.close()
        self._admin.close()

    @property
    def tasks(self) -> set[TaskId]:
        return set(self.listener.owned_tasks.active)

    def read(self) -> set[bytes]:
        found: set[bytes] = set()
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while len(found) < RECORDS and time.monotonic() < deadline:
            for records in self.consumer.poll(timeout_ms=3000).values():
                found |= {record.value for record in records}
        return found


@pytest.mark.parametrize("login", LOGINS)
def test_kafka_python_behind_tls(secure: SecureCluster, login: str) -> None:
    with KafkaPython(secure, settings(secure, login), named(secure, f"kafka-python-{login}")) as member:
        assert {b"%d" % number for number in range(RECORDS)} == member.read()
        assert member.tasks == TASKS
        member.consumer.commit()


def test_kafka_python_with_a_wrong_password(secure: SecureCluster) -> None:
    login = settings(secure, "SCRAM-SHA-512", "wrong-and-secret") | {"bootstrap_timeout_ms": 3000}
    with pytest.raises(LookupFailed) as refused:
        KafkaPythonAdmin("unknown", **login).partition_counts(["orders"])
    assert "wrong-and-secret" not in repr(refused.value)


def test_a_static_member_of_kafka_python_comes_back_to_its_tasks(secure: SecureCluster) -> None:
    group = named(secure, "static") | {"group_instance_id": "instance-1"}
    generations = []
    for _ in range(2):
        with KafkaPython(secure, {"bootstrap_servers": secure.open}, group) as member:
            assert RECORDS == len(member.read())
            assert member.tasks == TASKS
            generations.append(member.consumer.group_metadata().generation_id)

    assert 1 == len(set(generations))
