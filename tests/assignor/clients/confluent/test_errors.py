"""The errors of kafka-python, in confluent-kafka's words; and an admin that connects when it is first asked."""

from types import SimpleNamespace
from typing import Any

import kafka.errors
import pytest
from confluent_kafka import KafkaError
from confluent_kafka import TopicPartition as ConfluentPartition

from streams_assignor import FatalError, Subtopology, Topology
from streams_assignor.clients.confluent import StreamsConsumer
from streams_assignor.clients.confluent._errors import (
    as_fatal_error,
    as_kafka_error,
    authentication_exception,
    is_retriable,
)
from streams_assignor.clients.kafka_python import KafkaPythonAdmin
from streams_assignor.clients.leader_lookup import LookupFailed
from streams_assignor.codec import TopicPartition
from streams_assignor.protocol.internal_topics import NewTopic


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
def test_a_fatal_error_has_the_name_of_javas_exception(error: Exception, java: str) -> None:
    fatal = as_fatal_error(error)
    assert java == fatal.kafka_exception
    assert as_fatal_error(fatal) is fatal


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
def test_authentication_errors_have_javas_names(code: int, text: str, java: str | None) -> None:
    assert java == authentication_exception(KafkaError(code, text))


def test_retriable_errors() -> None:
    assert is_retriable(kafka.errors.CoordinatorNotAvailableError())
    assert is_retriable(kafka.errors.InvalidRequestError())
    assert not is_retriable(kafka.errors.GroupAuthorizationFailedError())


def test_an_admin_without_a_broker_raises_lookup_failed() -> None:
    admin = KafkaPythonAdmin("billing", bootstrap_servers=["127.0.0.1:1"], bootstrap_timeout_ms=100)
    partition = TopicPartition("orders", 0)
    for ask in (
        lambda: admin.partition_counts(["orders"]),
        lambda: admin.replica_racks(["orders"]),
        lambda: admin.end_offsets([partition]),
        lambda: admin.committed_offsets([partition]),
        lambda: admin.create([NewTopic("orders", 1, {})]),
    ):
        with pytest.raises((LookupFailed, FatalError)):
            ask()
    admin.close()


def test_no_request_waits_for_ever_for_a_broker_that_does_not_answer() -> None:
    """``list_topics()`` did, beside a broker that was frozen: librdkafka's default is no limit."""
    settings = {"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "socket.timeout.ms": 7_000, "log_level": 0}
    limits: list[Any] = []
    topology = Topology.of(Subtopology(sources=["orders"]))
    here = ConfluentPartition("orders", 0)
    with StreamsConsumer(settings, topology, admin=False) as consumer:
        real = consumer._fetcher.consumer
        names = ("committed", "get_watermark_offsets", "offsets_for_times", "list_topics")
        double = SimpleNamespace(
            **dict.fromkeys(names, lambda *given, **named: limits.append(named.get("timeout", given[-1:])))
        )
        consumer._fetcher.consumer = double  # type: ignore[misc,assignment]
        given: tuple[dict[str, float], ...] = ({}, {"timeout": 3})
        for timeout in given:
            consumer.committed([here], **timeout)
            consumer.get_watermark_offsets(here, **timeout)
            consumer.offsets_for_times([here], **timeout)
            consumer.list_topics(**timeout)
            consumer.list_topics("orders", **timeout)
        consumer._fetcher.consumer = real  # type: ignore[misc]

    assert [7.0, 7.0, 7.0, 7.0, (7.0,), 3, 3, 3, 3, (3,)] == limits
