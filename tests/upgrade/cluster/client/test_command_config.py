"""Kafka's settings for clients, as kafka-python's."""

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.upgrade.cluster.client._oauth import ClientCredentials
from streams_assignor.upgrade.cluster.client.command_config import CommandConfig
from streams_assignor.upgrade.errors import ConfigException
from streams_assignor.upgrade.input_values import parse_properties


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("a=1", {"a": "1"}),
        ("a = 1 \n", {"a": "1 "}),
        ("a:1\r\nb 2\rc\t\f3", {"a": "1", "b": "2", "c": "3"}),
        ("# no=1\n  ! no=2\n\n a=1", {"a": "1"}),
        ("a=b\\\n   c", {"a": "bc"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        ("a=b\\", {"a": "b"}),
        ("only", {"only": ""}),
        ("=v", {"": "v"}),
        ("a\\=b\\:c\\ d=e=f:g", {"a=b:c d": "e=f:g"}),
        ("a=\\t\\n\\r\\f\\u00e9\\q\\\\", {"a": "\t\n\r\fé" + "q\\"}),
        ("a=1\na=2", {"a": "2"}),
    ],
)
def test_it_reads_javas_properties(text, expected):
    assert expected == dict(parse_properties(text))


@given(st.text())
def test_it_reads_any_text(text):
    assert all(isinstance(key, str) for key, _ in parse_properties(text))


@given(st.dictionaries(st.from_regex("[a-z.]+", fullmatch=True), st.from_regex("[a-z ;\"'=:]*[a-z]", fullmatch=True)))
def test_it_reads_what_was_written(pairs):
    written = "\n".join(f"{key}={value}" for key, value in pairs.items())

    assert {key: value.lstrip(" ") for key, value in pairs.items()} == dict(parse_properties(written))


# A key that is used nowhere else, and its certificate for two names.
CERTIFICATE = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgw/8fxhRKvwcHhAmn
reHNYlLsljIsqKnZ37EMnYDEhHqhRANCAAQiGmiBDw7icGTPvnFrz545m7k1UtKr
HnSS2Fh0CVWygnhK7YXISeIrwmXg6k9yQ1n/JdrYRdMsPMfx5Hea/1fU
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBdTCCARugAwIBAgIURDqmZFcYgsSGsnPC3vjcIGx6Ts4wCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMjEyMzU2MjZaGA8yMTI2MTAyODIzNTYy
NlowDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABCIa
aIEPDuJwZM++cWvPnjmbuTVS0qsedJLYWHQJVbKCeErthchJ4ivCZeDqT3JDWf8l
2thF0yw8x/Hkd5r/V9SjUzBRMB0GA1UdDgQWBBRnksQRHsuZcv+o2fk25VKkRRwD
4zAfBgNVHSMEGDAWgBRnksQRHsuZcv+o2fk25VKkRRwD4zAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0gAMEUCIQCNuscULrJgWQJ9qE614jrTijHrW7yPv/J0
oGQ6P1VzOgIgN8oH6T+BNDG4d+OQOT+FHp1sw2GRAltuuGFOB/rHrVA=
-----END CERTIFICATE-----
"""

LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def test_a_file_in_utf_16_is_refused(tmp_path):
    """PowerShell writes it. No key was known, so the connection had no TLS, with a warning about unknown keys."""
    file = tmp_path / "client.properties"
    file.write_text("security.protocol=SSL\n", encoding="utf-16")

    with pytest.raises(ConfigException, match=r"in ISO 8859-1, got .* with NUL bytes"):
        CommandConfig.read(file)


def test_m8_a_file_opens_the_door(tmp_path):
    (tmp_path / "me.pem").write_text(CERTIFICATE)
    (tmp_path / "ca.pem").write_text(CERTIFICATE)
    file = tmp_path / "client.properties"
    file.write_text(
        f"""\
bootstrap.servers=a:1
bootstrap.controllers=b:2
security.protocol=sasl_ssl
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\
    username=me password="se\\\\"cret";
ssl.truststore.location={tmp_path}/ca.pem
ssl.truststore.type=PEM
ssl.keystore.location={tmp_path}/me.pem
ssl.keystore.type=pem
ssl.key.password=key
ssl.endpoint.identification.algorithm=
request.timeout.ms=2000
default.api.timeout.ms=3500
client.id=me
"""
    )
    config = CommandConfig.read(file)

    assert ("a:1", "b:2", 3.5) == (config.brokers, config.controllers, config.timeout_seconds)
    assert {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "me",
        "sasl_plain_password": 'se"cret',
        "ssl_cafile": f"{tmp_path}/ca.pem",
        "ssl_certfile": f"{tmp_path}/me.pem",
        "ssl_password": "key",
        "ssl_check_hostname": False,
        "request_timeout_ms": 2000,
        "client_id": "me",
    } == config.settings
    assert "cret" not in repr(config) + repr(config.settings)


@pytest.mark.parametrize(
    ("store", "content", "why"),
    [
        ("truststore", None, "No such file or directory"),
        ("truststore", "no certificate", "expected certificates in PEM"),
        ("keystore", None, "No such file or directory"),
        ("keystore", "no key", "expected key and certificate in PEM, and ssl.key.password if the key is encrypted"),
    ],
)
def test_a_file_of_certificates_that_will_not_do_is_named_at_once(tmp_path, store, content, why):
    if content:
        (tmp_path / "store").write_text(content)
    file = tmp_path / "client.properties"
    file.write_text(f"security.protocol=SSL\nssl.{store}.location={tmp_path}/store\nssl.{store}.type=PEM\n")
    with pytest.raises(ConfigException, match=f"^ssl.{store}.location: {why}$"):
        CommandConfig.read(file)


def test_a_file_that_is_not_needed_is_not_read(tmp_path):
    file = tmp_path / "client.properties"
    file.write_text("ssl.truststore.location=/nowhere\nssl.truststore.type=PEM\n")

    assert {"ssl_cafile": "/nowhere"} == CommandConfig.read(file).settings
    file.write_text("security.protocol=SSL\n")
    assert {"security_protocol": "SSL"} == CommandConfig.read(file).settings


def test_a_key_without_a_password_has_an_empty_one():
    """With none OpenSSL asks for it on the terminal, and waits."""
    given = {"ssl.keystore.location": "me.pem", "ssl.keystore.type": "PEM"}

    assert "" == CommandConfig.of(given).settings["ssl_password"]


def test_without_a_mechanism_it_is_kerberos():
    """As in Java."""
    assert "GSSAPI" == CommandConfig.of({"security.protocol": "SASL_SSL"}).settings["sasl_mechanism"]
    assert "sasl_mechanism" not in CommandConfig.of({"security.protocol": "SSL"}).settings


@pytest.mark.parametrize(
    ("jaas", "missing"),
    [("", "username and password"), ('username="me"', "password"), ('password="SECRET"', "username")],
)
def test_a_login_lacks_nothing(jaas, missing):
    given = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}
    login = {"sasl.jaas.config": f"{LOGIN} {jaas};"} if jaas else {}
    with pytest.raises(ConfigException, match=f"^sasl.jaas.config: expected {missing} for PLAIN$"):
        CommandConfig.of({**given, **login})


def test_kafka_python_knows_all_these_settings():
    from kafka.net.manager import KafkaConnectionManager

    from streams_assignor.upgrade.cluster.client.command_config import _KEYS, _LOGIN_KEYS

    given = {name for name, _ in _KEYS.values() if name} | set(_LOGIN_KEYS.values())
    names = {name for name in given if not name.startswith("oauth_")}  # a token provider is made of those
    assert names <= KafkaConnectionManager.DEFAULT_CONFIG.keys()


def test_kerberos_has_a_service_name():
    jaas = "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true serviceName=kafka2;"

    assert {"sasl_kerberos_service_name": "kafka2"} == CommandConfig.of({"sasl.jaas.config": jaas}).settings


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("security.protocol", "TLS-SECRET", "expected one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ("sasl.mechanism", "SECRET", "expected one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, GSSAPI"),
        ("request.timeout.ms", "SECRET", "expected a number of milliseconds"),
        ("default.api.timeout.ms", "-1", "expected a number of milliseconds"),
        ("default.api.timeout.ms", "2147483648", "expected a number of milliseconds, at most 2147483647"),
        ("request.timeout.ms", 6000 * "9", "expected a number of milliseconds"),
        ("bootstrap.servers", "SECRET", "expected HOST:PORT"),
        ("bootstrap.controllers", "SECRET@a:1", "expected HOST:PORT"),
        ("ssl.truststore.type", "JKS", "expected PEM"),
        ("ssl.keystore.location", "/SECRET", "needs ssl.keystore.type=PEM"),
        ("sasl.jaas.config", "SECRET required;", "expected one of PlainLoginModule, ScramLoginModule"),
    ],
)
def test_what_cannot_be_followed_is_named_but_not_shown(key, value, why):
    with pytest.raises(ConfigException, match=f"^'?{key}.*{why}") as refused:
        CommandConfig.of({key: value})

    assert "SECRET" not in str(refused.value)


def test_what_is_for_other_clients_is_left_out_with_a_word(caplog):
    with caplog.at_level(logging.WARNING):
        assert CommandConfig() == CommandConfig.of({"acks": "secret", "requst.timeout.ms": "5"})

    assert [
        "ignored, not supported here: key 1 of the file, key 2 of the file (did you mean request.timeout.ms?)"
    ] == caplog.messages


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("ssl.cipher.suites", "key 2 of the file, which begins with ssl., is not"),
        ("sasl.hunter2", "key 2 of the file, which begins with sasl., is not"),
        (
            "security.protocl",
            r"key 2 of the file .did you mean security.protocol.., which begins with security., is",
        ),
        ("securty.protocol", r"key 2 of the file \(did you mean security.protocol\?\) is"),
        (f"ssl.\x1b[31m{1000 * 'x'}", "key 2 of the file, which begins with ssl., is not"),
    ],
)
def test_an_unknown_key_about_security_is_refused_and_not_shown(key, why):
    """A line that has gone wrong has the password where a key is expected; misspelt, the connection was plaintext."""
    with pytest.raises(ConfigException, match=f"^{why}.* supported here; supported are client.id, default") as refused:
        CommandConfig.of({"client.id": "a", key: "SECRET"})

    assert "SECRET" not in str(refused.value)
    assert key not in str(refused.value)


def test_a_file_that_is_no_properties_file_is_not_shown(caplog):
    # The keys went to the terminal as they were, a line each: megabytes of a log file given by mistake.
    CommandConfig.of({"\x1b[31mred": "", "hunter2": "", **{f"{number} {100 * 'x'}": "" for number in range(1000)}})

    (line,) = caplog.messages
    assert line.endswith("key 9 of the file, key 10 of the file and 992 more")
    assert "hunter2" not in line


def test_two_escapes_that_are_one_character_are_one():
    # Half a character came out of each, which neither client can send: confluent-kafka ended with a SystemError.
    text = r"a=\ud83d\ude00 \ude00"

    assert {"a": "\N{GRINNING FACE} \N{REPLACEMENT CHARACTER}"} == dict(parse_properties(text))


@pytest.mark.unmeasured
@pytest.mark.parametrize("text", ["\n" * 2_000_000, "a\\\n" * 500_000, "\\" * 2_000_000, "a=" + "\\" * 1_000_001])
def test_a_large_file_is_read(text):
    """Each took minutes; a join or a search that begins anew at each character would still."""
    assert len(list(parse_properties(text))) <= 1


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    "options", ["a" * 500_000, "a = " * 200_000, 'a="' * 200_000, "a" + " " * 500_000, 'a="\\' * 200_000]
)
def test_a_large_line_of_login_options_is_read(options):
    """60 KB of one word took two minutes."""
    with pytest.raises(ConfigException, match="expected username and password for PLAIN"):
        CommandConfig.of(
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": f"org.apache.kafka.common.security.plain.PlainLoginModule required {options};",
            }
        )


OAUTH = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.token.endpoint.url": "https://login.example/token",
}
CREDENTIALS = "sasl.oauthbearer.client.credentials.client"
OAUTH_LOGIN = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"


@pytest.mark.parametrize(
    "login",
    [
        {"sasl.jaas.config": f'{OAUTH_LOGIN} clientId="me" clientSecret="secret" scope="kafka";'},  # KIP-768
        {f"{CREDENTIALS}.id": "me", f"{CREDENTIALS}.secret": "secret", "sasl.oauthbearer.scope": "kafka"},  # KIP-1139
    ],
)
def test_the_client_credentials_of_oauthbearer_are_read(login):
    handler = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
    found = CommandConfig.of(OAUTH | login | {"sasl.login.callback.handler.class": handler})

    assert {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "OAUTHBEARER",
        "oauth": ClientCredentials("https://login.example/token", "me", "secret", "kafka"),
    } == found.settings
    assert "secret" not in repr(found.settings["oauth"])


def test_the_iam_mechanism_of_amazon_has_the_credentials_of_botocore():
    given = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "AWS_MSK_IAM",
        "sasl.jaas.config": "software.amazon.msk.auth.iam.IAMLoginModule required;",
        "sasl.client.callback.handler.class": "software.amazon.msk.auth.iam.IAMClientCallbackHandler",
    }

    assert {"security_protocol": "SASL_SSL", "sasl_mechanism": "AWS_MSK_IAM"} == CommandConfig.of(given).settings


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (OAUTH, "sasl.mechanism: OAUTHBEARER needs sasl.oauthbearer.client.credentials.client.id (or clientId in "),
        ({**OAUTH, "sasl.oauthbearer.token.endpoint.url": "file:/x"}, "expected an address that begins with https:"),
        ({**OAUTH, "sasl.oauthbearer.token.endpoint.url": "http://[x"}, "expected an address that begins with https:"),
        ({"sasl.login.callback.handler.class": "com.example.Mine"}, "expected OAuthBearerLoginCallbackHandler of"),
        (
            {"sasl.jaas.config": 'software.amazon.msk.auth.iam.IAMLoginModule required awsProfileName="SECRET";'},
            "sasl.jaas.config: expected no options of IAMLoginModule",
        ),
        (
            {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "AWS_MSK_IAM"},
            "security.protocol: expected SASL_SSL for AWS_MSK_IAM",
        ),
    ],
)
def test_settings_of_tokens_that_cannot_work_are_refused(given, problem):
    with pytest.raises(ConfigException) as refused:
        CommandConfig.of(given)

    assert problem in str(refused.value)
    assert "SECRET" not in str(refused.value)
