"""kafka-python (3.x): what a leader looks up and creates, through a ``KafkaAdminClient`` of its own.

Of its own, because the consumer's I/O thread runs the assignment, and on that thread none of the consumer's blocking
calls may be made. Heartbeats wait meanwhile, so nothing here may take long.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from typing import Any, Final, TypeVar

import kafka
from kafka.admin import KafkaAdminClient, OffsetSpec
from kafka.errors import KafkaError, TopicAlreadyExistsError

from assignor.clients.looking_up import LookupFailed
from assignor.errors import FatalError
from assignor.internal_topics import NewTopic
from subscription_codec import TopicPartition

TIMEOUT_MS: Final = 4_000
"""For each request: well below the usual session timeouts."""

_T = TypeVar("_T")


def _failing_as_lookup(call: Callable[..., _T]) -> Callable[..., _T]:
    @wraps(call)
    def calling(*arguments: Any) -> _T:
        try:
            return call(*arguments)
        except KafkaError as error:
            raise LookupFailed(f"{type(error).__name__}: {error}") from error

    return calling


class KafkaPythonAdmin:
    """An ``Admin`` for the members of ``group``; ``settings`` are those of ``KafkaAdminClient``.

    New internal topics get ``replication_factor`` copies (-1: as many as the broker does by default, which needs 2.4;
    Kafka: ``replication.factor``).
    """

    def __init__(self, group: str, *, replication_factor: int = -1, **settings: Any) -> None:
        self._group = group
        self._replication_factor = replication_factor
        self._client = KafkaAdminClient(**{"request_timeout_ms": TIMEOUT_MS, **settings})

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    @_failing_as_lookup
    def partitions(self, topics: Iterable[str]) -> Mapping[str, int]:
        """See ``Admin``."""
        wanted = sorted(topics)
        found = self._client.describe_topics(wanted) if wanted else []
        return {topic["name"]: len(topic["partitions"]) for topic in found if topic["error_code"] == 0}

    def create(self, topics: Sequence[NewTopic]) -> None:
        """Create topics, and wait until every partition has a leader; ``FatalError`` if that cannot be."""
        new = {
            topic.name: {
                "num_partitions": topic.partitions,
                "replication_factor": self._replication_factor,
                "configs": dict(topic.config),
            }
            for topic in topics
        }
        try:
            with suppress(TopicAlreadyExistsError):  # another leader was faster
                self._client.create_topics(new, timeout_ms=TIMEOUT_MS)
            self._client.wait_for_topics(sorted(new), timeout_ms=TIMEOUT_MS)
        except KafkaError as error:
            names = ", ".join(sorted(new))
            raise FatalError(f"could not create topics {names}: {error}", "StreamsException") from error

    @_failing_as_lookup
    def racks(self, topics: Iterable[str]) -> Mapping[TopicPartition, Collection[str | None]]:
        """See ``Admin``."""
        rack_of = {broker["broker_id"]: broker["rack"] for broker in self._client.describe_cluster()["brokers"]}
        return {
            TopicPartition(topic["name"], partition["partition_index"]): {
                rack_of.get(node) for node in partition["replica_nodes"]
            }
            for topic in self._client.describe_topics(sorted(topics))
            for partition in topic["partitions"]
        }

    @_failing_as_lookup
    def ends(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """See ``Admin``."""
        wanted = {kafka.TopicPartition(*partition): OffsetSpec.LATEST for partition in partitions}
        found = self._client.list_partition_offsets(wanted, timeout_ms=TIMEOUT_MS) if wanted else {}
        return {TopicPartition(*partition): end.offset for partition, end in found.items()}

    @_failing_as_lookup
    def committed(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """See ``Admin``."""
        wanted = [kafka.TopicPartition(*partition) for partition in partitions]
        found = self._client.list_group_offsets({self._group: wanted})[self._group] if wanted else {}
        return {
            TopicPartition(*partition): max(0, found[partition].offset) for partition in wanted if partition in found
        }
