"""One configuration for the assignor, the member and the records; and what is secret stays so."""

import logging
import ssl
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException

from assignor import Subtopology, Topology
from assignor.clients.confluent import StreamsConsumer, security
from assignor.clients.confluent.settings import Settings
from upgrade import ConfigException

BASE = {"bootstrap.servers": "a:1, b:2", "group.id": "billing"}
SECRET = "hush-hush"


def settings(**more: Any) -> Settings:
    return Settings.of({**BASE, **{key.replace("__", "."): value for key, value in more.items()}})


def test_each_key_goes_where_it_is_needed() -> None:
    found = Settings.of(
        {
            **BASE,
            "upgrade.from": "1.1",
            "num.standby.replicas": "1",
            "client.tag.zone": "x",
            "client.rack": "r",
            "group.instance.id": "one",
            "session.timeout.ms": "9000",
            "fetch.min.bytes": 7,
            "enable.auto.commit": "true",
            "auto.commit.interval.ms": 1500,
        }
    )
    assert ("1.1", 1, {"zone": "x"}, "r", "one") == (
        found.streams.upgrade_from,
        found.streams.num_standby_replicas,
        found.streams.client_tags,
        found.streams.client_rack,
        found.streams.group_instance_id,
    )
    assert {
        "bootstrap_servers": ["a:1", "b:2"],
        "group_id": "billing",
        "group_instance_id": "one",
        "client_rack": "r",
        "session_timeout_ms": 9000,
        "security_protocol": "PLAINTEXT",
    } == found.member
    assert {"bootstrap_servers": ["a:1", "b:2"], "security_protocol": "PLAINTEXT"} == found.admin
    assert {
        **BASE,
        "client.rack": "r",
        "session.timeout.ms": "9000",
        "fetch.min.bytes": 7,
        "fetch.queue.backoff.ms": 10,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
    } == found.records
    assert (1.5, 9.0, 300.0, 30.0) == (
        found.auto_commit_seconds,
        found.session_seconds,
        found.max_poll_seconds,
        found.request_seconds,
    )


def test_a_wait_of_the_users_own_between_fetches_is_kept() -> None:
    """librdkafka's own lets a partition rest for a second while its records are being read."""
    assert [10, 1000] == [
        each.records["fetch.queue.backoff.ms"] for each in (settings(), settings(fetch__queue__backoff__ms=1000))
    ]


def test_it_commits_by_itself_only_if_told_to() -> None:
    assert settings().auto_commit_seconds is None


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"group.id": ""}, 'Missing required configuration "group.id"'),
        ({"bootstrap.servers": ""}, 'Missing required configuration "bootstrap.servers"'),
        ({"partition.assignment.strategy": "range"}, "partition.assignment.strategy cannot be used .* the only one"),
        ({"group.protocol": "consumer"}, "expected classic"),
        ({"enable.auto.offset.store": True}, "enable.auto.offset.store cannot be used"),
        ({"test.mock.num.brokers": 1}, "use clients.mock_cluster"),
        ({"session.timeout.ms": "long"}, "Invalid value long for configuration session.timeout.ms"),
        ({"bootstrap.servers": ["a:1"]}, "bootstrap.servers: expected HOST:PORT,... as one text"),
        ({"enable.auto.commit": True, "auto.commit.interval.ms": "soon"}, "auto.commit.interval.ms: Not a number"),
        ({"upgrade.from": "0.9"}, "upgrade.from"),
        ({"ssl.keystore.location": "x"}, "ssl.keystore.location cannot be used .* PEM"),
        ({"sasl.oauthbearer.method": "oidc"}, "use oauth_cb"),
        ({"security.protocol": "TLS"}, "expected one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "CRAM"}, "sasl.mechanism: expected one of PLAIN"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}, "needs oauth_cb"),
        (
            {"security.protocol": "SSL", "ssl.ca.location": "/nowhere"},
            "/nowhere for configuration ssl.ca.location: No such",
        ),
        ({"security.protocol": "SSL", "ssl.ca.pem": "no certificate"}, "ssl.ca.pem"),
        ({"security.protocol": "SSL", "ssl.crl.location": "/nowhere"}, "ssl.crl.location: No such"),
        ({"security.protocol": "SSL", "ssl.cipher.suites": "none of this"}, "ssl.cipher.suites"),
        ({"security.protocol": "SSL", "ssl.certificate.location": "/nowhere"}, "ssl.certificate.location: No such"),
    ],
)
def test_what_cannot_be_honoured_is_refused(config: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigException, match=words):
        Settings.of({**BASE, **config})


def test_a_key_that_nobody_knows_is_refused_by_librdkafka() -> None:
    with pytest.raises(KafkaException, match="No such configuration property"):
        StreamsConsumer({**BASE, "num.standby.replica": 1}, Topology.of(Subtopology(sources=["orders"])))


def test_security_is_translated() -> None:
    plain = settings(
        security__protocol="sasl_plaintext", sasl__mechanisms="SCRAM-SHA-512", sasl__username="u", sasl__password=SECRET
    )
    expected = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "u",
        "sasl_plain_password": SECRET,
    }
    assert expected.items() <= plain.member.items()
    assert expected.items() <= plain.admin.items()
    assert SECRET == plain.records["sasl.password"]


def test_kerberos_needs_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it kafka-python would try again and again, and say nothing."""
    kerberos = {"security__protocol": "SASL_PLAINTEXT", "sasl__kerberos__service__name": "k"}
    monkeypatch.setattr(security, "find_spec", lambda _: None)
    with pytest.raises(ConfigException, match="GSSAPI needs the Python package gssapi, which is not installed"):
        settings(**kerberos)
    monkeypatch.setattr(security, "find_spec", lambda name: name)
    expected = {"sasl_mechanism": "GSSAPI", "sasl_kerberos_service_name": "k"}
    assert expected.items() <= settings(**kerberos).member.items()


def test_tls_becomes_a_context() -> None:
    context = settings(security__protocol="ssl", ssl__cipher__suites="ECDHE+AESGCM").member["ssl_context"]
    assert (True, ssl.CERT_REQUIRED) == (context.check_hostname, context.verify_mode)
    unnamed = settings(security__protocol="ssl", ssl__endpoint__identification__algorithm="none").member["ssl_context"]
    assert (False, ssl.CERT_REQUIRED) == (unnamed.check_hostname, unnamed.verify_mode)
    shouted = settings(security__protocol="ssl", ssl__endpoint__identification__algorithm="HTTPS").member["ssl_context"]
    assert shouted.check_hostname  # librdkafka takes any case
    blind = settings(security__protocol="ssl", enable__ssl__certificate__verification="false").member["ssl_context"]
    assert (False, ssl.CERT_NONE) == (blind.check_hostname, blind.verify_mode)


def test_a_folder_of_certificates_will_do(tmp_path: Path) -> None:
    assert settings(security__protocol="ssl", ssl__ca__location=str(tmp_path)).member["ssl_context"]


def test_where_this_machine_keeps_certificates_will_do() -> None:
    assert settings(security__protocol="ssl", ssl__ca__location="probe").member["ssl_context"]


def test_one_oauth_cb_serves_both() -> None:
    def oauth_cb(config: str) -> tuple[Any, ...]:
        assert config == "scope=x"
        return "token", 1e12, "me", {"logicalCluster": "a"}

    found = settings(
        security__protocol="SASL_SSL",
        sasl__mechanism="OAUTHBEARER",
        oauth_cb=oauth_cb,
        sasl__oauthbearer__config="scope=x",
    )
    provider = found.member["sasl_oauth_token_provider"]
    assert ("token", {"logicalCluster": "a"}) == (provider.token(), provider.extensions())
    assert ("token", 1e12, "me", {"logicalCluster": "a"}) == found.records["oauth_cb"]("scope=x")
    assert provider is found.admin["sasl_oauth_token_provider"]


def test_an_oauth_cb_of_another_login_is_left_alone() -> None:
    def oauth_cb(_: str) -> tuple[str, float]:
        raise AssertionError("nobody needs a token")

    assert oauth_cb is settings(security__protocol="PLAINTEXT", oauth_cb=oauth_cb).records["oauth_cb"]


def test_nothing_secret_is_shown(tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    key.write_text("no key")
    found = settings(
        security__protocol="SASL_PLAINTEXT", sasl__mechanism="PLAIN", sasl__username="u", sasl__password=SECRET
    )
    assert SECRET not in repr(found) + str(found)
    with pytest.raises(ConfigException) as refused:
        settings(security__protocol="SSL", ssl__certificate__location=str(key), ssl__key__password=SECRET)
    assert SECRET not in str(refused.value)
    with pytest.raises(ConfigException) as keystore:
        settings(ssl__keystore__password=SECRET)
    assert SECRET not in str(keystore.value)


def test_what_kafka_python_logs_of_it_is_kept_out(caplog: pytest.LogCaptureFixture) -> None:
    """It shows its settings, and at DEBUG all that it sends: with PLAIN the password, with OAUTHBEARER the token."""
    caplog.set_level(logging.DEBUG, logger="kafka")  # a member in this process may have silenced it
    member = settings(
        security__protocol="SASL_PLAINTEXT", sasl__mechanism="PLAIN", sasl__username="u", sasl__password=SECRET
    )
    oauth_cb = {"oauth_cb": lambda _: ("to\x00ken-4711", 1e12)}
    bearer = settings(security__protocol="SASL_PLAINTEXT", sasl__mechanism="OAUTHBEARER", **oauth_cb)
    token = bearer.member["sasl_oauth_token_provider"].token()
    log = logging.getLogger("kafka.protocol.parser")
    log.debug("Send: %r", bytearray(b"\x00u\x00" + SECRET.encode()))
    log.debug("Send: %r", token.encode())
    log.debug("Send: %r", b"something else")
    logging.getLogger("kafka.net.manager").debug("settings: %s", member.member)

    assert (SECRET, "to\x00ken-4711") == (member.member["sasl_plain_password"], token)
    assert ["Send: b'something else'", f"settings: {member.member}"] == caplog.messages
    assert SECRET not in caplog.text
    assert "[hidden]" in caplog.text
