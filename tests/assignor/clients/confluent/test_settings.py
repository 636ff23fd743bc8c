"""One configuration for the assignor, the member and the records; and what is secret stays so."""

import logging
import ssl
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException

from streams_assignor import Subtopology, Topology
from streams_assignor.clients.confluent import StreamsConsumer, _security
from streams_assignor.clients.confluent._settings import ConsumerSettings
from streams_assignor.upgrade import ConfigException
from streams_assignor.upgrade.cluster.client.feature_levels import FeatureLevels

BASE = {"bootstrap.servers": "a:1, b:2", "group.id": "billing"}
SECRET = "hush-hush"


def settings(**more: Any) -> ConsumerSettings:
    return ConsumerSettings.of({**BASE, **{key.replace("__", "."): value for key, value in more.items()}})


def test_each_key_reaches_the_clients_that_use_it() -> None:
    found = ConsumerSettings.of(
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
        found.streams_config.upgrade_from,
        found.streams_config.num_standby_replicas,
        found.streams_config.client_tags,
        found.streams_config.client_rack,
        found.streams_config.group_instance_id,
    )
    assert {
        "bootstrap_servers": ["a:1", "b:2"],
        "group_id": "billing",
        "group_instance_id": "one",
        "client_rack": "r",
        "session_timeout_ms": 9000,
        "security_protocol": "PLAINTEXT",
    } == found.member_settings
    assert {"bootstrap_servers": ["a:1", "b:2"], "security_protocol": "PLAINTEXT"} == found.admin_settings
    assert {
        **BASE,
        "client.rack": "r",
        "session.timeout.ms": "9000",
        "fetch.min.bytes": 7,
        "fetch.queue.backoff.ms": 10,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "earliest",
    } == found.fetcher_settings
    assert (1.5, 300.0, 30.0) == (
        found.auto_commit_interval_seconds,
        found.max_poll_seconds,
        found.request_seconds,
    )


def test_a_wait_of_the_users_own_between_fetches_is_kept() -> None:
    """librdkafka's own lets a partition rest for a second while its records are being read."""
    assert [10, 1000] == [
        each.fetcher_settings["fetch.queue.backoff.ms"]
        for each in (settings(), settings(fetch__queue__backoff__ms=1000))
    ]


@pytest.mark.parametrize(
    ("config", "reset"),
    [
        ({}, "earliest"),
        ({"default.topic.config": {"request.required.acks": 1}}, "earliest"),
        ({"auto.offset.reset": "beginning"}, "earliest"),
        ({"auto.offset.reset": "Largest"}, "latest"),
        ({"auto.offset.reset": "end"}, "latest"),
        ({"auto.offset.reset": "error"}, "error"),
        ({"topic.auto.offset.reset": "latest"}, "latest"),
        ({"topic.auto.offset.reset": "latest", "auto.offset.reset": "smallest"}, "earliest"),
        ({"auto.offset.reset": "smallest", "topic.auto.offset.reset": "latest"}, "latest"),
        ({"default.topic.config": {"auto.offset.reset": "latest"}, "auto.offset.reset": "earliest"}, "latest"),
        ({"default.topic.config": {"topic.auto.offset.reset": "error"}}, "error"),
    ],
)
def test_reset_is_earliest_unless_configured(config: dict[str, Any], reset: str) -> None:
    """Which of several spellings counts is librdkafka's rule; `test_librdkafka_reads_the_same` asks it."""
    assert reset == ConsumerSettings.of({**BASE, **config}).fetcher_settings["auto.offset.reset"]


@pytest.mark.parametrize(
    ("config", "reset"),
    [
        ({"topic.auto.offset.reset": "latest", "auto.offset.reset": "smallest"}, "smallest"),
        ({"auto.offset.reset": "smallest", "topic.auto.offset.reset": "latest"}, "largest"),
        ({"default.topic.config": {"auto.offset.reset": "latest"}, "auto.offset.reset": "earliest"}, "largest"),
        ({"topic.auto.offset.reset": "error"}, "error"),
    ],
)
def test_librdkafka_reads_the_same(config: dict[str, Any], reset: str) -> None:
    """It writes its settings at DEBUG, in the words of its own; both what a user gives it and what is made of that."""
    for given in ({**BASE, **config}, dict(ConsumerSettings.of({**BASE, **config}).fetcher_settings)):
        log = logging.getLogger(f"librdkafka-{reset}")
        log.setLevel(logging.DEBUG)
        log.addHandler(handler := RecordingHandler())
        consumer = Consumer({**given, "debug": "conf"}, logger=log)
        consumer.poll(0.2)
        consumer.close()
        log.removeHandler(handler)
        assert [reset] == [line.split("= ")[1].strip() for line in handler.lines if "auto.offset.reset" in line]


class RecordingHandler(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def test_auto_commit_is_off_unless_configured() -> None:
    assert settings().auto_commit_interval_seconds is None


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"group.id": ""}, 'Missing required configuration "group.id"'),
        ({"bootstrap.servers": ""}, 'Missing required configuration "bootstrap.servers"'),
        ({"partition.assignment.strategy": "range"}, "partition.assignment.strategy cannot be used .* the only one"),
        ({"group.protocol": "consumer"}, "expected classic or streams"),
        ({"replication.factor": "many"}, "Invalid value many for configuration replication.factor"),
        ({"enable.auto.offset.store": True}, "enable.auto.offset.store cannot be used"),
        ({"test.mock.num.brokers": 1}, "use clients.mock_cluster"),
        ({"session.timeout.ms": "long"}, "Invalid value long for configuration session.timeout.ms"),
        ({"bootstrap.servers": ["a:1"]}, "bootstrap.servers: expected HOST:PORT,... as one text"),
        ({"enable.auto.commit": True, "auto.commit.interval.ms": "soon"}, "auto.commit.interval.ms: Not a number"),
        ({"upgrade.from": "0.9"}, "upgrade.from"),
        (
            {"auto.offset.reset": "newest"},
            "Invalid value newest for configuration auto.offset.reset: expected one of earliest, latest, error",
        ),
        ({"topic.auto.offset.reset": None}, "Invalid value None for configuration topic.auto.offset.reset"),
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
        ConsumerSettings.of({**BASE, **config})


def test_an_unknown_key_is_refused_by_librdkafka() -> None:
    with pytest.raises(KafkaException, match="No such configuration property"):
        StreamsConsumer({**BASE, "moon": 1}, Topology.of(Subtopology(sources=["orders"])))


def test_a_misspelt_key_is_refused_with_the_closest_known_one() -> None:
    with pytest.raises(ConfigException, match=r"did you mean num\.standby\.replicas instead of"):
        StreamsConsumer({**BASE, "num.standby.replica": 1}, Topology.of(Subtopology(sources=["orders"])))


def test_settings_of_the_member_alone_have_a_prefix() -> None:
    settings = ConsumerSettings.of({**BASE, "main.consumer.client_id": "member"})

    assert "member" == settings.member_settings["client_id"]
    assert not [key for key in settings.fetcher_settings if key.startswith("main.consumer")]


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
    assert expected.items() <= plain.member_settings.items()
    assert expected.items() <= plain.admin_settings.items()
    assert SECRET == plain.fetcher_settings["sasl.password"]


def test_kerberos_needs_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it kafka-python would try again and again, and say nothing."""
    kerberos = {"security__protocol": "SASL_PLAINTEXT", "sasl__kerberos__service__name": "k"}
    monkeypatch.setattr(_security, "find_spec", lambda _: None)
    with pytest.raises(ConfigException, match="GSSAPI needs the Python package gssapi, which is not installed"):
        settings(**kerberos)
    monkeypatch.setattr(_security, "find_spec", lambda name: name)
    expected = {"sasl_mechanism": "GSSAPI", "sasl_kerberos_service_name": "k"}
    assert expected.items() <= settings(**kerberos).member_settings.items()


def test_tls_becomes_a_context() -> None:
    context = settings(security__protocol="ssl", ssl__cipher__suites="ECDHE+AESGCM").member_settings["ssl_context"]
    assert (True, ssl.CERT_REQUIRED) == (context.check_hostname, context.verify_mode)
    unnamed = settings(security__protocol="ssl", ssl__endpoint__identification__algorithm="none").member_settings[
        "ssl_context"
    ]
    assert (False, ssl.CERT_REQUIRED) == (unnamed.check_hostname, unnamed.verify_mode)
    shouted = settings(security__protocol="ssl", ssl__endpoint__identification__algorithm="HTTPS").member_settings[
        "ssl_context"
    ]
    assert shouted.check_hostname  # librdkafka takes any case
    blind = settings(security__protocol="ssl", enable__ssl__certificate__verification="false").member_settings[
        "ssl_context"
    ]
    assert (False, ssl.CERT_NONE) == (blind.check_hostname, blind.verify_mode)


def test_a_folder_of_certificates_will_do(tmp_path: Path) -> None:
    assert settings(security__protocol="ssl", ssl__ca__location=str(tmp_path)).member_settings["ssl_context"]


def test_where_this_machine_keeps_certificates_will_do() -> None:
    assert settings(security__protocol="ssl", ssl__ca__location="probe").member_settings["ssl_context"]


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
    provider = found.member_settings["sasl_oauth_token_provider"]
    assert ("token", {"logicalCluster": "a"}) == (provider.token(), provider.extensions())
    assert ("token", 1e12, "me", {"logicalCluster": "a"}) == found.fetcher_settings["oauth_cb"]("scope=x")
    assert provider is found.admin_settings["sasl_oauth_token_provider"]


def test_an_oauth_cb_of_another_login_is_left_alone() -> None:
    def oauth_cb(_: str) -> tuple[str, float]:
        raise AssertionError("no client needs a token")

    assert oauth_cb is settings(security__protocol="PLAINTEXT", oauth_cb=oauth_cb).fetcher_settings["oauth_cb"]


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


def test_kafka_pythons_log_lines_with_secrets_are_suppressed(caplog: pytest.LogCaptureFixture) -> None:
    """It shows its settings, and at DEBUG all that it sends: with PLAIN the password, with OAUTHBEARER the token."""
    caplog.set_level(logging.DEBUG, logger="kafka")  # a member in this process may have silenced it
    member = settings(
        security__protocol="SASL_PLAINTEXT", sasl__mechanism="PLAIN", sasl__username="u", sasl__password=SECRET
    )
    oauth_cb = {"oauth_cb": lambda _: ("to\x00ken-4711", 1e12)}
    bearer = settings(security__protocol="SASL_PLAINTEXT", sasl__mechanism="OAUTHBEARER", **oauth_cb)
    token = bearer.member_settings["sasl_oauth_token_provider"].token()
    log = logging.getLogger("kafka.protocol.parser")
    log.debug("Send: %r", bytearray(b"\x00u\x00" + SECRET.encode()))
    log.debug("Send: %r", token.encode())
    log.debug("Send: %r", b"something else")
    logging.getLogger("kafka.net.manager").debug("settings: %s", member.member_settings)

    assert (SECRET, "to\x00ken-4711") == (member.member_settings["sasl_plain_password"], token)
    assert ["Send: b'something else'", f"settings: {member.member_settings}"] == caplog.messages
    assert SECRET not in caplog.text
    assert "[hidden]" in caplog.text


def test_the_admin_client_gets_the_api_version_of_the_member() -> None:
    """4 of 12 first assignments on the embedded cluster took 40 s: the admin client could not ask what it is."""
    found = ConsumerSettings.of({**BASE, "main.consumer.api_version": (2, 3)})

    assert (2, 3) == found.admin_settings["api_version"] == found.member_settings["api_version"]


def test_a_service_switches_to_the_streams_protocol_by_configuration() -> None:
    classic = ConsumerSettings.of({**BASE, "num.standby.replicas": 1, "session.timeout.ms": 9000})
    streams = ConsumerSettings.of(
        {**BASE, "group.protocol": "Streams", "num.standby.replicas": 1, "upgrade.from": "1.1"}
    )

    assert (False, ()) == (classic.streams_protocol, classic.ignored)
    assert (True, ("num.standby.replicas", "upgrade.from")) == (streams.streams_protocol, streams.ignored)
    assert "group.protocol" not in streams.fetcher_settings


def test_the_replication_factor_of_internal_topics_is_that_of_the_brokers_unless_set() -> None:
    assert [-1, 3] == [
        ConsumerSettings.of({**BASE, **more}).replication_factor for more in ({}, {"replication.factor": "3"})
    ]


def test_what_the_streams_protocol_ignores_is_logged_with_what_to_set_instead(caplog: pytest.LogCaptureFixture) -> None:
    topology = Topology.of(Subtopology(sources=["orders"]))
    config = {
        "bootstrap.servers": "127.0.0.1:1",
        "group.id": "billing",
        "group.protocol": "streams",
        "num.standby.replicas": 1,
        "application.server": "localhost:80",
        "client.rack": "r",
        "client.tag.zone": "a",
        "log_level": 0,
        "error_cb": print,
    }
    with StreamsConsumer(config, topology, extension=FeatureLevels(["metadata.version"])) as consumer:
        profile = consumer.streams.member.profile  # type: ignore[union-attr]

    assert (
        "ignores num.standby.replicas (set streams.num.standby.replicas of the group at the brokers), extension"
        in caplog.text
    )
    assert (("localhost", 80), "r", (("zone", "a"),)) == (profile.endpoint, profile.rack_id, profile.client_tags)
    assert 300_000 == profile.rebalance_timeout_ms
    assert consumer.streams.generation is None
