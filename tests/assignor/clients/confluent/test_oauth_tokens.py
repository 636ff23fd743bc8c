"""One ``oauth_cb`` for librdkafka and kafka-python."""

import logging
import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from kafka.errors import SaslAuthenticationFailedError

from streams_assignor.clients.confluent import _oauth_tokens as module
from streams_assignor.clients.confluent._oauth_tokens import SharedTokenProvider
from streams_assignor.upgrade import redaction

LIFE = 100.0


@pytest.fixture(autouse=True)
def fixture_nothing_hidden_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Secrets of other tests would take lines of these with it."""
    monkeypatch.setattr(redaction._REDACTION_FILTER, "secrets", frozenset())


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def time(self) -> float:
        return self.now


@pytest.fixture(name="clock")
def fixture_clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


class Provider:
    """Numbers its tokens, and fails on request."""

    def __init__(self, clock: Clock) -> None:
        self.made = 0
        self.fails = False
        self._clock = clock

    def __call__(self, config: str) -> tuple[Any, ...]:
        assert config == "scope=x"
        if self.fails:
            raise RuntimeError("away")
        self.made += 1
        return f"token-{self.made}", self._clock.now + LIFE, "me", {"number": str(self.made)}


@pytest.fixture(name="provider")
def fixture_provider(clock: Clock) -> Provider:
    return Provider(clock)


@pytest.fixture(name="tokens")
def fixture_tokens(provider: Provider) -> SharedTokenProvider:
    tokens = SharedTokenProvider(provider, "scope=x")
    tokens.start()
    return tokens


def test_both_clients_use_a_fresh_token(tokens: SharedTokenProvider, provider: Provider, clock: Clock) -> None:
    assert "token-1" == tokens.refresh("scope=x")[0] == tokens.token() == tokens.token()
    assert {"number": "1"} == tokens.extensions()
    clock.now += LIFE * 0.8
    assert "token-2" == tokens.refresh("scope=x")[0] == tokens.token()
    assert 2 == provider.made


def test_kafka_python_does_not_wait_for_librdkafka(tokens: SharedTokenProvider, clock: Clock) -> None:
    clock.now += LIFE * 0.74
    assert "token-1" == tokens.token()
    clock.now += LIFE * 0.02
    assert "token-2" == tokens.token()
    assert {"number": "2"} == tokens.extensions()


def test_librdkafka_never_receives_an_old_token(tokens: SharedTokenProvider) -> None:
    assert ["token-1", "token-2"] == [tokens.refresh("")[0] for _ in range(2)]


def test_a_failure_does_no_harm_while_the_last_one_is_valid(
    tokens: SharedTokenProvider, provider: Provider, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    tokens.refresh("")
    provider.fails = True
    clock.now += LIFE * 0.9
    with pytest.raises(RuntimeError, match="away"):
        tokens.refresh("")
    assert "token-1" == tokens.token()
    assert 2 == len([each for each in caplog.records if "oauth_cb has failed" in each.getMessage()])
    clock.now += LIFE * 0.2
    with pytest.raises(SaslAuthenticationFailedError, match="no other valid token: RuntimeError: away"):
        tokens.token()
    provider.fails = False
    assert "token-2" == tokens.token()


def test_before_the_first_one_there_is_none(provider: Provider) -> None:
    provider.fails = True
    tokens = SharedTokenProvider(provider, "scope=x")
    assert {} == tokens.extensions()
    with pytest.raises(SaslAuthenticationFailedError):
        tokens.token()
    with pytest.raises(KafkaException, match="oauth_cb has failed: RuntimeError: away") as failed:
        tokens.start()
    assert KafkaError._AUTHENTICATION == failed.value.args[0].code()
    assert isinstance(failed.value.__cause__, RuntimeError)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda _: None, "expected a function that returns .token, expiry.* got NoneType"),
        (lambda _: "hush-hush", "got str"),
        (lambda _: ["hush-hush", 1e12], "got list"),
        (lambda _: (b"hush-hush", 1e12), "got tuple"),
        (lambda _: ("hush-hush",), "got tuple"),
        (lambda _: ("hush-hush", 999_995.0), "expected a token that is valid, got one that expired 5 s ago"),
    ],
    ids=["nothing", "a text", "a list", "bytes", "no expiry", "expired"],
)
def test_an_invalid_token_is_reported_without_its_text(
    clock: Clock,  # noqa: ARG001  # it is 1,000,000 s past 1970
    answer: Callable[[str], Any],
    words: str,
) -> None:
    with pytest.raises(KafkaException, match=words) as failed:
        SharedTokenProvider(answer).start()
    assert "hush-hush" not in str(failed.value)


def test_two_fields_will_do(clock: Clock) -> None:
    tokens = SharedTokenProvider(lambda _: ("t", int(clock.now) + 1))
    tokens.start()
    assert ("t", {}) == (tokens.token(), tokens.extensions())


def test_old_tokens_are_not_remembered_for_ever(tokens: SharedTokenProvider, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="kafka.net.connection")
    for _ in range(10):
        tokens.refresh("")
    log = logging.getLogger("kafka.net.connection")
    log.debug("Request: %s", "token-10 and token-9")
    log.debug("Request: %s", "token-2,")

    assert ["Request: token-2,"] == caplog.messages


def test_the_same_token_twice_stays_a_secret(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="kafka.net.connection")
    tokens = SharedTokenProvider(lambda _: ("always the same", clock.now + LIFE))
    tokens.start()
    for _ in range(10):
        tokens.refresh("")
    logging.getLogger("kafka.net.connection").debug("always the same")

    assert [] == caplog.messages


def test_a_real_clock_will_do() -> None:
    tokens = SharedTokenProvider(lambda _: ("t", time.time() + 60))
    tokens.start()
    assert "t" == tokens.token()
