"""``StreamsConsumer`` on a broker with TLS, SCRAM and ACLs: who may, may on both planes; who may not hears it soon."""

import base64
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient

from assignor import FatalError
from assignor.clients.confluent import StreamsConsumer
from assignor.topology import Subtopology, Topology
from tests.integration.applications import PARTITIONS, Application
from tests.integration.brokers import _free_ports
from tests.integration.children import PATIENCE
from tests.integration.clusters import Cluster
from tests.integration.confluent_security import DESCRIBE, GROUP, READ, TOPIC, add_user, allow, certify, login, secured
from tests.integration.kafka_jars import Unavailable

pytestmark = [pytest.mark.broker, pytest.mark.slow]

SOON = 20.0  # seconds: much less than anything that waits for a timeout
PASSWORD = "rather-secret-4711"


@frozen
class Secure:
    application: Application
    port: int
    certificate: Path

    def consumer(self, user: str, password: str = PASSWORD, **config: Any) -> StreamsConsumer:
        topology = Topology.of(Subtopology(sources=[self.application.source]))
        settings = login(user, password, self.port, self.certificate)
        common = {"group.id": self.application.name, "auto.offset.reset": "earliest", "session.timeout.ms": 6000}
        return StreamsConsumer({**settings, **common, "log_level": 0, **config}, topology)


@pytest.fixture(name="secure", scope="module")
def fixture_secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secure]:
    """Users: `anna` may all, `bert` not use the group, `carl` not read the topic."""
    folder = tmp_path_factory.mktemp("secure")
    (port,) = _free_ports(1)
    with Cluster(folder) as cluster:
        try:
            certificate = certify(folder)
            cluster.start(1, settings=secured(cluster, port, folder))
        except Unavailable as missing:
            pytest.skip(f"no real broker: {missing}")
        application = Application(cluster.brokers)
        admin = AdminClient({"bootstrap.servers": cluster.brokers})
        for user in ("anna", "bert", "carl"):
            add_user(admin, user, PASSWORD)
            allow(admin, user, TOPIC, application.name, DESCRIBE, *([] if user == "carl" else [READ]))
            if user != "bert":
                allow(admin, user, GROUP, application.name, READ)
        producer = Producer({"bootstrap.servers": cluster.brokers})
        for number in range(60):
            producer.produce(application.source, b"%d" % number, partition=number % PARTITIONS)
        assert 0 == producer.flush(PATIENCE)
        yield Secure(application, port, certificate)


def refusal(consumer: StreamsConsumer) -> FatalError:
    """What comes out of poll, and how soon."""
    began = time.monotonic()
    with consumer, pytest.raises(FatalError) as refused:
        consumer.poll(SOON)
    assert time.monotonic() - began < SOON
    return refused.value


def test_who_may_reads_and_commits_and_no_log_has_the_password(
    secure: Secure, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG, logger="kafka")  # a member in this process may have silenced it
    with secure.consumer("anna", log_level=7) as consumer:
        read = [message for _, (_, message) in zip(range(60), consumer, strict=False)]
        committed = consumer.commit(asynchronous=False)

        assert [10] * PARTITIONS == [partition.offset for partition in committed]
        assert {b"%d" % number for number in range(60)} == {message.value() for message in read}
        assert [10] * PARTITIONS == [each.offset for each in consumer.committed(consumer.assignment(), PATIENCE)]
        shown = repr(consumer)
    said = caplog.text + "".join(capfd.readouterr()) + shown
    assert "SaslAuthenticate" in said  # else this would prove nothing
    for secret in (PASSWORD, base64.b64encode(PASSWORD.encode()).decode()):
        assert secret not in said


def test_who_may_not_use_the_group_is_told_so(secure: Secure) -> None:
    error = refusal(secure.consumer("bert"))
    assert "GroupAuthorizationException" == error.kafka
    assert PASSWORD not in str(error) + repr(error.__cause__)


def test_who_may_not_read_the_topic_gets_the_error_as_a_message(secure: Secure) -> None:
    """As from a ``Consumer``: the group is in order, but there is nothing to read."""
    with secure.consumer("carl", **{"group.id": f"{secure.application.name}-carl"}) as consumer:
        deadline = time.monotonic() + SOON
        while (message := consumer.poll(1.0)) is None:
            assert time.monotonic() < deadline
        assert KafkaError.TOPIC_AUTHORIZATION_FAILED == message.error().code()


def test_a_wrong_password_is_told(secure: Secure) -> None:
    error = refusal(secure.consumer("anna", "wrong-and-secret"))
    assert "SaslAuthenticationException" == error.kafka
    assert "wrong-and-secret" not in str(error) + repr(error.__cause__)


def test_a_broker_that_cannot_be_trusted_is_told(secure: Secure) -> None:
    """Without `ssl.ca.location` nobody has signed its certificate."""
    settings = login("anna", PASSWORD, secure.port, secure.certificate)
    del settings["ssl.ca.location"]
    topology = Topology.of(Subtopology(sources=[secure.application.source]))
    group = {"group.id": secure.application.name, "log_level": 0}
    error = refusal(StreamsConsumer({**settings, **group}, topology))
    assert "SslAuthenticationException" == error.kafka
    assert PASSWORD not in str(error) + repr(error.__cause__)
