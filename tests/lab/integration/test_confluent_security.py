"""``StreamsConsumer`` with TLS, SASL and ACLs: permissions hold on both planes, a missing one is reported."""

import base64
import logging
import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from streams_assignor import FatalError
from streams_assignor.clients.confluent import StreamsConsumer
from streams_assignor.clients.kafka_python import _commit_connection
from streams_assignor.topology import Subtopology, Topology
from tests.lab.integration.applications import PARTITIONS
from tests.lab.integration.secure_cluster import KEY_PASSWORD, PASSWORD, RECORDS, SecureCluster, token
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS

pytestmark = [pytest.mark.broker, pytest.mark.slow]

LIFE = 6.0  # seconds of a token
AWAY = "the identity provider is away"


def consumer(secure: SecureCluster, settings: dict[str, Any], **config: Any) -> StreamsConsumer:
    topology = Topology.of(Subtopology(sources=[secure.application.source]))
    common = {"group.id": secure.application.name, "auto.offset.reset": "earliest", "session.timeout.ms": 6000}
    return StreamsConsumer({**common, "log_level": 0, **settings, **config}, topology)


def bearer(secure: SecureCluster, oauth_cb: Callable[[str], Any], **config: Any) -> StreamsConsumer:
    settings = secure.login("", "", "OAUTHBEARER")
    login = {key: value for key, value in settings.items() if key not in ("sasl.username", "sasl.password")}
    return consumer(secure, {**login, "oauth_cb": oauth_cb}, **config)


def certified(secure: SecureCluster, **settings: str) -> dict[str, str]:
    """The settings of a client with a certificate, in librdkafka's words."""
    return {
        "bootstrap.servers": secure.mutual,
        "security.protocol": "SSL",
        "ssl.ca.location": secure.file("ca"),
        "ssl.certificate.location": secure.file("dora"),
        "ssl.key.location": secure.file("dora"),
        "ssl.key.password": KEY_PASSWORD,
        **settings,
    }


def read(consumer: StreamsConsumer, records: int = RECORDS) -> set[bytes]:
    return {message.value() for _, (_, message) in zip(range(records), consumer, strict=False)}


def commit_twice(consumer: StreamsConsumer, patched: pytest.MonkeyPatch) -> Any:
    """Commit synchronously, the second time on the connection for frequent commits."""
    patched.setattr(_commit_connection, "FREQUENT_SECONDS", TIMEOUT_SECONDS)
    first = consumer.commit(asynchronous=False)
    consumer.commit(asynchronous=False)
    assert consumer._membership.adapter._commit_connection._connection
    return first


def group(secure: SecureCluster, name: str) -> dict[str, str]:
    """A group of its own, so that nothing was read before."""
    return {"group.id": f"{secure.application.name}-{name}"}


def refusal(consumer: StreamsConsumer) -> FatalError:
    """What comes out of poll."""
    with consumer, pytest.raises(FatalError) as refused:
        consumer.poll(TIMEOUT_SECONDS)
    return refused.value


ALL = {b"%d" % number for number in range(RECORDS)}


def test_an_authorized_member_reads_and_commits_and_no_log_has_the_password(
    secure: SecureCluster,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(logging.DEBUG, logger="kafka")  # a member in this process may have silenced it
    with consumer(secure, secure.login("anna"), log_level=7, **group(secure, "scram")) as anna:
        assert ALL == read(anna)
        committed = commit_twice(anna, monkeypatch)

        assert [10] * PARTITIONS == [partition.offset for partition in committed]
        assert [10] * PARTITIONS == [each.offset for each in anna.committed(anna.assignment(), TIMEOUT_SECONDS)]
        shown = repr(anna)
    output = caplog.text + "".join(capfd.readouterr()) + shown
    assert "SaslAuthenticate" in output  # else this would prove nothing
    for secret in (PASSWORD, base64.b64encode(PASSWORD.encode()).decode()):
        assert secret not in output


def test_a_client_certificate_serves_both_clients(secure: SecureCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with consumer(secure, certified(secure), **group(secure, "dora")) as dora:
        assert ALL == read(dora)
        assert [10] * PARTITIONS == [partition.offset for partition in commit_twice(dora, monkeypatch)]


def test_an_unknown_certificate_raises_fatal_error(secure: SecureCluster) -> None:
    stranger = dict.fromkeys(("ssl.certificate.location", "ssl.key.location"), secure.file("stranger"))
    error = refusal(consumer(secure, certified(secure, **stranger)))
    assert "SslAuthenticationException" == error.kafka_exception
    assert KEY_PASSWORD not in str(error) + repr(error.__cause__)


def test_an_unauthorized_group_raises_fatal_error(secure: SecureCluster) -> None:
    error = refusal(consumer(secure, secure.login("bert")))
    assert "GroupAuthorizationException" == error.kafka_exception
    assert PASSWORD not in str(error) + repr(error.__cause__)


def test_an_unauthorized_topic_is_reported_as_a_message(secure: SecureCluster) -> None:
    """As from a ``Consumer``: the group is in order, but there is nothing to read."""
    with consumer(secure, secure.login("carl"), **group(secure, "carl")) as carl:
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while (message := carl.poll(1.0)) is None:
            assert time.monotonic() < deadline
        assert KafkaError.TOPIC_AUTHORIZATION_FAILED == message.error().code()


def test_a_wrong_password_raises_fatal_error(secure: SecureCluster) -> None:
    error = refusal(consumer(secure, secure.login("anna", "wrong-and-secret")))
    assert "SaslAuthenticationException" == error.kafka_exception
    assert "wrong-and-secret" not in str(error) + repr(error.__cause__)


def test_an_untrusted_broker_raises_fatal_error(secure: SecureCluster) -> None:
    """Without `ssl.ca.location` its certificate has no known issuer."""
    settings = secure.login("anna")
    del settings["ssl.ca.location"]
    error = refusal(consumer(secure, settings))
    assert "SslAuthenticationException" == error.kafka_exception
    assert PASSWORD not in str(error) + repr(error.__cause__)


# -- OAuth ---------------------------------------------------------------------------------------------------------


def test_tokens_are_renewed_and_the_member_stays(
    secure: SecureCluster, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """The broker hangs up on a connection whose token has expired: three lives of one, in one generation."""
    caplog.set_level(logging.DEBUG, logger="kafka")
    reported: list[str] = []

    def oauth_cb(_: str) -> tuple[str, float]:
        made, expiry = token("anna", LIFE)
        reported.append(made)
        return made, expiry

    with bearer(secure, oauth_cb, log_level=7, **group(secure, "tokens")) as anna:
        assert ALL == read(anna)
        generation = anna._membership.generation
        deadline = time.monotonic() + 3 * LIFE  # and longer than a session
        while time.monotonic() < deadline:
            anna.poll(0.5)
        assert [10] * PARTITIONS == [partition.offset for partition in anna.commit(asynchronous=False)]
        assert generation == anna._membership.generation
        shown = repr(anna)
    assert len(reported) > 1
    output = caplog.text + "".join(capfd.readouterr()) + shown
    assert "SaslAuthenticate" in output
    assert not [each for each in reported if each in output]


def test_an_oauth_cb_that_fails_first_is_raised_by_the_constructor(secure: SecureCluster) -> None:
    def oauth_cb(_: str) -> tuple[str, float]:
        raise RuntimeError(AWAY)

    with pytest.raises(KafkaException, match=f"oauth_cb has failed: RuntimeError: {AWAY}") as refused:
        bearer(secure, oauth_cb)
    assert KafkaError._AUTHENTICATION == refused.value.args[0].code()


def test_an_oauth_cb_that_keeps_failing_fails_the_member_after_its_token(secure: SecureCluster) -> None:
    left = iter([token("anna", 3 * LIFE)])

    def oauth_cb(_: str) -> tuple[str, float]:
        try:
            return next(left)
        except StopIteration:
            raise RuntimeError(AWAY) from None

    with bearer(secure, oauth_cb, **group(secure, "away")) as anna:
        assert ALL == read(anna)
        with pytest.raises(FatalError, match=AWAY) as ended:
            anna.poll(TIMEOUT_SECONDS)
    assert "SaslAuthenticationException" == ended.value.kafka_exception


@pytest.mark.parametrize(
    ("made", "kafka"),
    [
        (lambda: ("nonsense", time.time() + 600), "SaslAuthenticationException"),
        (lambda: token("bert", 600), "GroupAuthorizationException"),
    ],
    ids=["no token", "of bert"],
)
def test_an_invalid_token_raises_fatal_error(
    secure: SecureCluster, made: Callable[[], tuple[str, float]], kafka: str
) -> None:
    error = refusal(bearer(secure, lambda _: made()))
    assert kafka == error.kafka_exception
    assert "nonsense" not in str(error)
