"""``Admin`` on a ``KafkaAdminClient`` of kafka-python (3.x).

The client is separate from the consumer, because the consumer's I/O thread runs the assignment and must not make
blocking calls of the consumer. Heartbeats wait meanwhile, so every request has a short time limit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from threading import Lock
from typing import Any, Final, TypeVar

import kafka
from kafka.admin import KafkaAdminClient, OffsetSpec
from kafka.errors import KafkaError, TopicAlreadyExistsError, UnknownTopicOrPartitionError, for_code

from streams_assignor.clients._settings_check import check_login, hide_secrets, unknown_settings
from streams_assignor.clients.kafka_python import _private_connection
from streams_assignor.clients.leader_lookup import LookupFailed
from streams_assignor.codec import TopicPartition
from streams_assignor.errors import FatalError, UsageError
from streams_assignor.protocol.internal_topics import NewTopic

TIMEOUT_MS: Final = 4_000
"""For each request, in milliseconds: well below the usual session timeouts."""

_T = TypeVar("_T")


def _raising_lookup_failed(call: Callable[..., _T]) -> Callable[..., _T]:
    @wraps(call)
    def wrapper(*arguments: Any) -> _T:
        try:
            return call(*arguments)
        except KafkaError as error:
            raise LookupFailed(f"{type(error).__name__}: {error}") from error

    return wrapper


class KafkaPythonAdmin:
    """An ``Admin`` for the members of ``group``, which connects at its first use.

    Args:
        group: the consumer group, whose committed offsets are looked up.
        replication_factor: replicas of a new internal topic (Kafka: ``replication.factor``); -1 leaves it to the
            broker, from 2.4 on.
        settings: those of ``KafkaAdminClient``.

    Raises ``UsageError`` for an unknown setting, and ``ConfigException`` for a password that is missing or no text.

    Lookups raise ``LookupFailed`` if the cluster does not answer within ``TIMEOUT_MS`` for each request; ``create``
    raises ``FatalError``. Any thread may call any method.
    """

    def __init__(self, group: str, *, replication_factor: int = -1, **settings: Any) -> None:
        if unknown := unknown_settings(settings, KafkaAdminClient.DEFAULT_CONFIG):
            raise UsageError(f"expected settings of KafkaAdminClient, got {unknown}")
        check_login(settings)
        self._group = group
        self._replication_factor = replication_factor
        self._settings = {
            "request_timeout_ms": TIMEOUT_MS,
            "bootstrap_timeout_ms": TIMEOUT_MS,
            "kafka_client": _private_connection.new_client,
            **hide_secrets(settings),
        }
        self._connected: KafkaAdminClient | None = None
        self._lock = Lock()

    def close(self) -> None:
        """Close the connections, if there are any."""
        with self._lock:
            if self._connected is not None:
                self._connected.close()

    @property
    def _client(self) -> Any:
        with self._lock:
            if self._connected is None:
                self._connected = KafkaAdminClient(**self._settings)
            return self._connected

    @_raising_lookup_failed
    def partition_counts(self, topics: Iterable[str]) -> Mapping[str, int]:
        """See ``Admin``."""
        return {topic["name"]: len(topic["partitions"]) for topic in self._describe_topics(topics)}

    def _describe_topics(self, names: Iterable[str]) -> list[Any]:
        """Describe the topics that exist; an error of a topic does not say that it does not."""
        topics = self._client.describe_topics(wanted) if (wanted := sorted(names)) else []
        for topic in topics:
            if topic["error_code"] not in (0, UnknownTopicOrPartitionError.errno):
                raise for_code(topic["error_code"])(topic["name"])
        if missing := {*wanted} - {topic["name"] for topic in topics if topic["partitions"] or topic["error_code"]}:
            raise KafkaError(f"no topic {min(missing)}, or none of its partitions, in the answer")
        return [topic for topic in topics if topic["error_code"] == 0]

    def create(self, topics: Sequence[NewTopic]) -> None:
        """Create topics, and wait until every partition has a leader; ``FatalError`` if one cannot be created."""
        new = {
            topic.name: {
                "num_partitions": topic.partitions,
                "replication_factor": self._replication_factor,
                "configs": dict(topic.config),
            }
            for topic in topics
        }
        try:
            with suppress(TopicAlreadyExistsError):  # another leader has created them
                self._client.create_topics(new, timeout_ms=TIMEOUT_MS)
            self._client.wait_for_topics(sorted(new), timeout_ms=TIMEOUT_MS)
        except KafkaError as error:
            names = ", ".join(sorted(new))
            raise FatalError(f"could not create topics {names}: {error}", "StreamsException") from error

    @_raising_lookup_failed
    def replica_racks(self, topics: Iterable[str]) -> Mapping[TopicPartition, Collection[str | None]]:
        """See ``Admin``."""
        rack_of = {broker["broker_id"]: broker["rack"] for broker in self._client.describe_cluster()["brokers"]}
        return {
            TopicPartition(topic["name"], partition["partition_index"]): {
                rack_of.get(node) for node in partition["replica_nodes"]
            }
            for topic in self._describe_topics(topics)
            for partition in topic["partitions"]
        }

    @_raising_lookup_failed
    def end_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """See ``Admin``."""
        wanted = {kafka.TopicPartition(*partition): OffsetSpec.LATEST for partition in partitions}
        ends = self._client.list_partition_offsets(wanted, timeout_ms=TIMEOUT_MS) if wanted else {}
        return {TopicPartition(*partition): end.offset for partition, end in ends.items()}

    @_raising_lookup_failed
    def committed_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """See ``Admin``."""
        wanted = [kafka.TopicPartition(*partition) for partition in partitions]
        committed = self._client.list_group_offsets({self._group: wanted})[self._group] if wanted else {}
        return {
            TopicPartition(*partition): max(0, committed[partition].offset)
            for partition in wanted
            if partition in committed
        }
