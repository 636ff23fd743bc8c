"""The test on a real broker that is in the gate: a member on each adapter beside one of Kafka Streams."""

from pathlib import Path

import pytest

from tests.lab.integration.applications import PARTITIONS, Application, partitions, processed, settle
from tests.lab.integration.confluent_members import ConfluentMember, read_by
from tests.lab.integration.kafka_jars import Unavailable
from tests.lab.integration.subprocesses import wait_until
from tests.lab.integration.test_aiokafka import AiokafkaMember

pytestmark = [pytest.mark.gate, pytest.mark.broker, pytest.mark.java, pytest.mark.slow]

NEWEST, RECORDS, SESSION_MS = "4.3.1", 20, 120_000  # ms; no machine is so slow that a member misses its heartbeats


def test_a_member_on_each_adapter_shares_the_tasks_with_kafka_streams(broker: str, tmp_path: Path) -> None:
    application = Application(broker, session_timeout_ms=SESSION_MS)
    try:
        starting = application.java(NEWEST, tmp_path / "state")
    except Unavailable as missing:
        pytest.skip(f"no Kafka Streams {NEWEST}: {missing}")
    with (
        starting as java,
        application.python() as kafka_python,
        AiokafkaMember(application, broker) as aiokafka,
        ConfluentMember(application) as confluent,
    ):
        members = (java, kafka_python, aiokafka, confluent)
        settle(*members)
        owned = {member.name: partitions(member.tasks) for member in members}
        application.send(RECORDS)

        assert dict.fromkeys(owned[java.name], RECORDS) == application.counts(owned[java.name], RECORDS)
        for member in (kafka_python, aiokafka):
            expected = dict.fromkeys(owned[member.name], RECORDS)
            wait_until(lambda member=member, expected=expected: expected == processed(member), *members)
        expected = {(int(number), offset) for number in owned[confluent.name] for offset in range(RECORDS)}
        wait_until(lambda: expected == read_by([confluent]).keys(), *members)
        assert PARTITIONS == sum(map(len, owned.values()))
