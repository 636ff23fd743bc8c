"""A hidden secret does not show itself, and nothing else is lost."""

import logging

import pytest

from streams_assignor.upgrade import redaction
from streams_assignor.upgrade.cluster.client.errors import ApiError, Unreachable
from streams_assignor.upgrade.redaction import hide_credentials, redact, stop_redacting
from tests.each import for_each


@pytest.fixture(autouse=True)
def fixture_nothing_hidden_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Secrets of other tests would take lines of these with it."""
    monkeypatch.setattr(redaction._REDACTION_FILTER, "secrets", frozenset())


@pytest.mark.parametrize("name", ["kafka.protocol.parser", "kafka.net.connection", "aiokafka.conn"])
def test_it_is_kept_out_of_the_logs_of_what_is_sent(name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger=name)
    secret = redact("to\x00ken-4711")
    log = logging.getLogger(name)
    log.debug("Send: %r", bytearray(b"\x00u\x00" + secret.encode()))
    log.debug("Send: %s", secret)
    log.debug("Send: %r", b"something else")

    assert ["Send: b'something else'"] == caplog.messages


def test_it_is_the_same_text_but_to_look_at() -> None:
    secret = redact("rather-secret")

    assert "rather-secret" == secret == f"{secret}"
    assert "rather-secret" not in repr({"password": secret})


def test_a_short_one_takes_nothing_with_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="kafka.net.connection")
    secret = redact("abc")
    logging.getLogger("kafka.net.connection").debug("abc")

    assert ["abc"] == caplog.messages
    assert "abc" not in repr(secret)


def test_what_is_forgotten_is_hidden_no_longer(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="kafka.net.connection")
    stop_redacting(redact("an old token"))
    stop_redacting("an unknown text")
    logging.getLogger("kafka.net.connection").debug("an old token")

    assert ["an old token"] == caplog.messages


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("s3://AKIA:se/cr+et@bucket/x", "s3://AKIA:[hidden]@bucket/x"),
        ("s3://b/x?endpoint_override=me:secret@h:9 fails", "s3://b/x?endpoint_override=me:[hidden]@h:9 fails"),
        (
            "abfss://c@a.dfs.net/x?client_secret=s&tenant_id=t",
            "abfss://c@a.dfs.net/x?client_secret=[hidden]&tenant_id=t",
        ),
        ("sc://h:15002/;token=abc;user_id=me", "sc://h:15002/;token=[hidden];user_id=me"),
        ("hdfs://nn:8020/a@b", "hdfs://nn:8020/a@b"),
        ("spark://h:7077, asked by a@b", "spark://h:7077, asked by a@b"),
        ("https://[::1]:80/x?partition_key", "https://[::1]:80/x?partition_key"),
    ],
)
def test_the_credentials_of_a_uri_are_hidden_and_nothing_else(text: str, shown: str) -> None:
    assert shown == hide_credentials(text)


@for_each(["?key", "://", "=", "=a:", "://a:1 ", "&secret?", "?", "\\", "=a", "://u:p "])
def test_a_long_text_is_read_once(unit: str) -> None:
    """A value of 90 KB took a minute, and 6 KB of ``?key`` half a minute: work grew by the square, or the cube."""
    text = unit * 100_000

    assert f"{text}\ns3://me:[hidden]@b" == hide_credentials(f"{text}\ns3://me:hunter2@b")


def test_an_error_that_repeats_it_is_reported_without_it(caplog: pytest.LogCaptureFixture) -> None:
    """A broker's authenticator wrote the password into the text of its error."""
    logging.getLogger("kafka.some.module").setLevel(logging.WARNING)
    redact("hunter2-hunter2")
    redact("hunter2")
    logging.getLogger("kafka.some.module").error("Connection failed: %s", "wrong password hunter2-hunter2")

    assert ["Connection failed: wrong password [hidden]"] == caplog.messages
    assert "a:1: no [hidden]" == str(Unreachable("a:1: no hunter2"))
    redact('Zq8\\"\u00e9')
    assert r"a:1: [hidden] [hidden] [hidden]" == str(Unreachable(r"""a:1: Zq8\\"é Zq8\\\"é Zq8\\\"\u00e9"""))
    refused = ApiError(58, "SASL_AUTHENTICATION_FAILED", "no hunter2 here")
    assert ("no [hidden] here", "no [hidden] here") == (refused.message, str(refused))
