"""Reads ``__consumer_offsets`` from brokers through confluent-kafka: committed records, up to given offsets."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any, Final

from attrs import field, frozen

from streams_assignor.clients.interrupts import interruptible
from streams_assignor.groups.described_group import LOOKUP_TIMEOUT_SECONDS, OFFSETS_TOPIC
from streams_assignor.groups.history.log_segment import NO_TIMESTAMP, LogRecord, known_time
from streams_assignor.upgrade.cluster.client.command_config import CommandConfig
from streams_assignor.upgrade.cluster.client.errors import Unreachable
from streams_assignor.upgrade.extras import importing

with importing("confluent_kafka"):
    from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Consumer, KafkaError, KafkaException, Message, TopicPartition

_LIBRDKAFKA_KEYS: Final[Mapping[str, str]] = {
    # name in kafka-python, as in a ``CommandConfig``: name in librdkafka
    "client_id": "client.id",
    "security_protocol": "security.protocol",
    "sasl_mechanism": "sasl.mechanisms",
    "sasl_plain_username": "sasl.username",
    "sasl_plain_password": "sasl.password",
    "sasl_kerberos_service_name": "sasl.kerberos.service.name",
    "ssl_cafile": "ssl.ca.location",
    "ssl_certfile": "ssl.certificate.location",
    "ssl_password": "ssl.key.password",
}
_RECORDS_PER_CALL: Final = 10_000
_CALL_SECONDS: Final = 0.05
"""A call of ``consume`` that gets fewer records waits so long."""
_READER_SETTINGS: Final[Mapping[str, Any]] = {
    "group.id": "streams-assignor-audit",  # librdkafka wants one; nothing joins or commits
    "enable.auto.commit": False,
    "auto.offset.reset": "error",
    "check.crcs": True,  # a damaged batch is an error of its partition
    "isolation.level": "read_committed",
    "enable.partition.eof": True,  # the last offsets may be markers, which are no records
    "fetch.wait.max.ms": 50,
    "queued.max.messages.kbytes": 16_384,
}
_NO_OFFSETS_TOPIC: Final = (
    f"there is no {OFFSETS_TOPIC}: no group has committed yet, or brokers of another make keep offsets elsewhere"
)
_HINTS: Final[Mapping[int, str]] = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: f"the user needs READ and DESCRIBE on the topic {OFFSETS_TOPIC}",
    KafkaError.UNKNOWN_TOPIC_OR_PART: _NO_OFFSETS_TOPIC,
    KafkaError._UNKNOWN_TOPIC: _NO_OFFSETS_TOPIC,
}


@frozen
class OffsetsTopic:
    """``__consumer_offsets`` of one cluster. It can be pickled, and connects for each call."""

    bootstrap_servers: str
    settings: Mapping[str, Any] = field(factory=dict, repr=False, hash=False)
    """Settings of kafka-python, as in a ``CommandConfig``."""
    timeout_seconds: float = LOOKUP_TIMEOUT_SECONDS
    """How long brokers may be silent."""

    @classmethod
    def of(cls, bootstrap_servers: str, config: CommandConfig) -> OffsetsTopic:
        """Return the topic of a cluster, with the settings of a file of settings."""
        return cls(bootstrap_servers, config.settings, config.timeout_seconds or LOOKUP_TIMEOUT_SECONDS)

    def ranges(self) -> dict[int, tuple[int, int]]:
        """Return the first offset of each partition, and the one behind the last record outside of open transactions.

        Raises:
            Unreachable: No broker answers, or it refuses the user.
        """
        return interruptible(self._ranges)

    def cluster_id(self) -> str:
        """Return the id of the cluster; empty if its brokers have none.

        Raises:
            Unreachable: No broker answers.
        """
        return interruptible(self._cluster_id)

    def _cluster_id(self) -> str:
        errors: list[KafkaError] = []
        with _readable_answers(self.bootstrap_servers), closing(self._consumer(errors)) as consumer:
            try:
                return consumer.list_topics(OFFSETS_TOPIC, self.timeout_seconds).cluster_id or ""
            except KafkaException as error:
                raise self._failure(error.args[0], errors) from None

    def _ranges(self) -> dict[int, tuple[int, int]]:
        errors: list[KafkaError] = []
        with _readable_answers(self.bootstrap_servers), closing(self._consumer(errors)) as consumer:
            try:
                topic = consumer.list_topics(OFFSETS_TOPIC, self.timeout_seconds).topics.get(OFFSETS_TOPIC)
                if topic is None:
                    raise self._failure(None, errors, f"expected an answer about {OFFSETS_TOPIC}, got one without it")
                if topic.error is not None:
                    raise self._failure(topic.error, errors)
                return {
                    number: consumer.get_watermark_offsets(TopicPartition(OFFSETS_TOPIC, number), self.timeout_seconds)
                    for number in sorted(topic.partitions)
                }
            except KafkaException as error:
                consumer.poll(_CALL_SECONDS)  # calls ``error_cb``
                raise self._failure(error.args[0], errors) from None

    def read(self, partition: int, first: int, end: int) -> Iterator[LogRecord]:
        """Yield the committed records of a partition from ``first`` to before ``end``, in order.

        Raises:
            Unreachable: No broker answers, or it refuses the user, or ``first`` is not there any more.
        """
        if first >= end:
            return
        errors: list[KafkaError] = []
        with _readable_answers(self.bootstrap_servers), closing(self._consumer(errors)) as consumer:
            consumer.assign([TopicPartition(OFFSETS_TOPIC, partition, first)])
            at, deadline = first, time.monotonic() + self.timeout_seconds
            while at < end:
                try:
                    messages = consumer.consume(min(_RECORDS_PER_CALL, end - at), _CALL_SECONDS)
                except KafkaException as error:
                    raise self._failure(error.args[0], errors) from None
                if messages:
                    deadline = time.monotonic() + self.timeout_seconds
                elif time.monotonic() > deadline:
                    raise self._failure(None, errors, f"partition {partition} ends at {at} instead of {end}")
                for message in messages:
                    offset, problem = message.offset() or 0, message.error()
                    if problem and problem.code() == KafkaError._AUTO_OFFSET_RESET:
                        raise Unreachable(
                            f"{self.bootstrap_servers}: partition {partition} has no offset {at} any more: records "
                            "were deleted, or the topic was made anew"
                        )
                    if problem and problem.code() != KafkaError._PARTITION_EOF:
                        raise self._failure(problem, errors)
                    if problem or offset >= end:
                        at = max(at, offset)
                    else:
                        at = offset + 1
                        yield _record(message)
                        deadline = time.monotonic() + self.timeout_seconds  # the reader takes its time

    def _consumer(self, errors: list[KafkaError]) -> Consumer:
        config: dict[str, Any] = {
            **_READER_SETTINGS,
            **librdkafka_config(self.settings),
            "bootstrap.servers": self.bootstrap_servers,
            "error_cb": errors.append,
        }
        try:
            return Consumer(config, logger=_silent_logger())
        except KafkaException as error:
            raise self._failure(error.args[0], errors) from None

    def _failure(self, error: KafkaError | None, errors: list[KafkaError], default: str = "no answer") -> Unreachable:
        """Return the error with what librdkafka reported before it: a call itself only says that its time is over."""
        if error is not None and error.code() in _HINTS:
            return Unreachable(f"{self.bootstrap_servers}: {_HINTS[error.code()]}")
        reasons = [reported.str() for reported in errors if reported.code() != KafkaError._ALL_BROKERS_DOWN]
        return Unreachable(f"{self.bootstrap_servers}: {[*reasons, error.str() if error else default][0]}")


def _record(message: Message) -> LogRecord:
    kind, timestamp = message.timestamp()
    record_time = NO_TIMESTAMP if kind == TIMESTAMP_NOT_AVAILABLE else known_time(timestamp)
    key: Any = message.key()
    value: Any = message.value()
    return LogRecord(message.offset() or 0, record_time, key, value)


@contextmanager
def _readable_answers(servers: str) -> Iterator[None]:
    """Turn what confluent-kafka raises of bytes that are no text, which librdkafka passes on, into ``Unreachable``."""
    try:
        yield
    except UnicodeDecodeError as error:
        expected = "expected an answer of a Kafka broker, got one that confluent-kafka cannot read"
        raise Unreachable(f"{servers}: {expected} ({error})") from None


def librdkafka_config(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of kafka-python, as in a ``CommandConfig``, as those of librdkafka.

    Raises:
        Unreachable: librdkafka does not have the SASL mechanism.
    """
    if settings.get("sasl_mechanism") == "AWS_MSK_IAM":
        raise Unreachable("librdkafka does not have the SASL mechanism AWS_MSK_IAM; kafka-python has")
    config = {_LIBRDKAFKA_KEYS[name]: value for name, value in settings.items() if name in _LIBRDKAFKA_KEYS}
    if settings.get("ssl_check_hostname") is False:
        config["ssl.endpoint.identification.algorithm"] = "none"
    if "ssl_certfile" in settings:
        config["ssl.key.location"] = settings["ssl_certfile"]  # a PEM key store has both
    if oauth := settings.get("oauth"):
        config |= {
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.token.endpoint.url": oauth.endpoint,
            "sasl.oauthbearer.client.id": oauth.client_id,
            "sasl.oauthbearer.client.secret": oauth.client_secret,
            **({"sasl.oauthbearer.scope": oauth.scope} if oauth.scope else {}),
        }
    return config


def _silent_logger() -> logging.Logger:
    """Return a logger that drops librdkafka's lines, as errors arrive as exceptions, unless it has a handler."""
    logger = logging.getLogger("streams_assignor.librdkafka")
    if not logger.handlers:
        logger.setLevel(logging.CRITICAL)
    return logger
