"""What kafka-python raises, in confluent-kafka's words; and an admin that connects when it is first asked."""

import kafka.errors
import pytest
from confluent_kafka import KafkaError

from assignor import FatalError
from assignor.clients.confluent import member_admin
from assignor.clients.confluent.errors import as_fatal, as_kafka_error, is_passing, refusal
from assignor.clients.looking_up import LookupFailed
from assignor.internal_topics import NewTopic
from subscription_codec import TopicPartition


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (kafka.errors.IllegalGenerationError("g"), KafkaError.ILLEGAL_GENERATION),
        (kafka.errors.RebalanceInProgressError(), KafkaError.REBALANCE_IN_PROGRESS),
        (kafka.errors.CommitFailedError(kafka.errors.IllegalGenerationError()), KafkaError.ILLEGAL_GENERATION),
        (kafka.errors.CommitFailedError(kafka.errors.UnknownMemberIdError()), KafkaError.UNKNOWN_MEMBER_ID),
        (kafka.errors.CommitFailedError("not part of an active group"), KafkaError.UNKNOWN_MEMBER_ID),
        (kafka.errors.CommitFailedError(), KafkaError.UNKNOWN_MEMBER_ID),
        (kafka.errors.KafkaTimeoutError("late"), KafkaError._TIMED_OUT),
        (kafka.errors.KafkaConnectionError("gone"), KafkaError._TRANSPORT),
        (LookupError("what"), KafkaError._FAIL),
    ],
)
def test_an_error_has_the_code_that_a_consumer_would_give_it(error: Exception, code: int) -> None:
    assert code == as_kafka_error(error).code()


@pytest.mark.parametrize(
    ("error", "java"),
    [
        (kafka.errors.GroupAuthorizationFailedError("g"), "GroupAuthorizationException"),
        (kafka.errors.FencedInstanceIdError("one"), "FencedInstanceIdException"),
        (LookupError("what"), "LookupError"),
    ],
)
def test_what_ends_a_member_has_its_name_in_java(error: Exception, java: str) -> None:
    fatal = as_fatal(error)
    assert java == fatal.kafka
    assert as_fatal(fatal) is fatal


@pytest.mark.parametrize(
    ("code", "text", "java"),
    [
        (KafkaError._AUTHENTICATION, "invalid credentials", "SaslAuthenticationException"),
        (KafkaError._SSL, "certificate verify failed", "SslAuthenticationException"),
        (
            KafkaError._TRANSPORT,
            "Receive failed: error:0A000412:SSL routines::ssl/tls alert bad certificate: SSL alert number 42",
            "SslAuthenticationException",
        ),
        (
            KafkaError._TRANSPORT,
            "Receive failed: error:0A000418:SSL routines::tlsv1 alert unknown ca: SSL alert number 48",
            "SslAuthenticationException",
        ),
        (
            KafkaError._TRANSPORT,
            "error:0A000086:SSL routines::certificate verify failed (after 6ms in state SSL_HANDSHAKE)",
            "SslAuthenticationException",
        ),
        (KafkaError._TRANSPORT, "SSL routines::tlsv1 alert internal error: SSL alert number 80", None),
        (KafkaError._TRANSPORT, "Connect failed: Connection refused", None),
    ],
)
def test_a_refusal_is_no_outage(code: int, text: str, java: str | None) -> None:
    assert java == refusal(KafkaError(code, text))


def test_some_errors_pass() -> None:
    assert is_passing(kafka.errors.CoordinatorNotAvailableError())
    assert is_passing(kafka.errors.InvalidRequestError())
    assert not is_passing(kafka.errors.GroupAuthorizationFailedError())


def test_an_admin_that_reaches_nobody_fails_as_a_lookup(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(member_admin, "TIMEOUT_MS", 100)
    admin = member_admin.MemberAdmin("billing", {"bootstrap_servers": ["127.0.0.1:1"]})
    partition = TopicPartition("orders", 0)
    for ask in (
        lambda: admin.partitions(["orders"]),
        lambda: admin.racks(["orders"]),
        lambda: admin.ends([partition]),
        lambda: admin.committed([partition]),
        lambda: admin.create([NewTopic("orders", 1, {})]),
    ):
        with pytest.raises((LookupFailed, FatalError)):
            ask()
    admin.close()
