"""``Admin`` on clients of aiokafka (0.14), in the event loop of the consumer.

``Admin`` is synchronous: a leader calls it on a thread, which blocks until the event loop has the result. Any other
``Admin`` works as well, such as a ``KafkaPythonAdmin``.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, Final, TypeVar

import aiokafka
from aiokafka import AIOKafkaConsumer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError, NoError, TopicAlreadyExistsError, UnknownTopicOrPartitionError, for_code

from streams_assignor.clients._settings_check import check_login, hide_secrets, unknown_settings
from streams_assignor.clients.aiokafka._private_answers import check_answers
from streams_assignor.clients.leader_lookup import LookupFailed
from streams_assignor.codec import TopicPartition
from streams_assignor.errors import FatalError, UsageError
from streams_assignor.protocol import internal_topics

TIMEOUT_SECONDS: Final = 4.0
"""For each lookup: well below the usual session timeouts."""

_RETRY_SECONDS: Final = 0.05
_NO_LEADER: Final = -1

_T = TypeVar("_T")


def _known_settings() -> set[str]:
    """Return the settings that both clients have; not at import, where Sphinx replaces the clients by mocks."""
    admin, consumer = inspect.signature(AIOKafkaAdminClient), inspect.signature(AIOKafkaConsumer)
    return admin.parameters.keys() & consumer.parameters.keys()


def _run_in_loop(coroutine_function: Callable[..., Coroutine[Any, Any, _T]]) -> Callable[..., _T]:
    """Run a coroutine in the event loop and block for its result; ``LookupFailed`` if it fails or is late."""

    @wraps(coroutine_function)
    def wrapper(self: AiokafkaAdmin, *arguments: Any) -> _T:
        async def in_time() -> _T:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await self._start()
                return await coroutine_function(self, *arguments)

        try:
            return asyncio.run_coroutine_threadsafe(in_time(), self._loop).result()
        except (KafkaError, OSError, TimeoutError, concurrent.futures.CancelledError) as error:  # the loop may end
            raise LookupFailed(f"{type(error).__name__}: {error}") from error

    return wrapper


class AiokafkaAdmin:
    """An ``Admin`` for the members of ``group``: created and closed in their event loop, called on other threads.

    Args:
        group: the consumer group, whose committed offsets are looked up. replication_factor: replicas of a new internal
        topic (Kafka: ``replication.factor``); aiokafka cannot leave it to
            the broker.
        settings: those that ``AIOKafkaAdminClient`` and ``AIOKafkaConsumer`` have in common.

    Raises ``UsageError`` for an unknown setting, and ``ConfigException`` for a password that is missing or no text.

    Lookups raise ``LookupFailed`` if the cluster does not answer within ``TIMEOUT_SECONDS``; ``create`` raises
    ``FatalError``.
    """

    def __init__(self, group: str, *, replication_factor: int, **settings: Any) -> None:
        if replication_factor < 1:
            raise UsageError(f"expected a replication factor of at least 1, got {replication_factor}")
        if unknown := unknown_settings(settings, _known_settings()):
            raise UsageError(f"expected settings of AIOKafkaAdminClient and AIOKafkaConsumer, got {unknown}")
        check_login({"sasl_mechanism": "PLAIN", **settings})
        settings = hide_secrets(settings)
        self._group = group
        self._replication_factor = replication_factor
        self._loop = asyncio.get_running_loop()
        self._client = AIOKafkaAdminClient(**{"request_timeout_ms": int(TIMEOUT_SECONDS * 1000), **settings})
        self._consumer = AIOKafkaConsumer(**{"request_timeout_ms": int(TIMEOUT_SECONDS * 1000), **settings})
        check_answers(self._client)
        check_answers(self._consumer)
        self._starting: asyncio.Task[None] | None = None

    async def close(self) -> None:
        """Close the connections."""
        await self._consumer.stop()
        await self._client.close()

    async def _start(self) -> None:
        """Connect at the first lookup, and again if that failed."""
        if self._starting is None or (self._starting.done() and self._starting.exception()):
            self._starting = asyncio.create_task(self._connect())
        await asyncio.shield(self._starting)

    async def _connect(self) -> None:
        await self._client.start()
        await self._consumer.start()

    async def _requested_topics(self, names: Collection[str]) -> list[dict[str, Any]]:
        """Return topics, maybe with errors; requests all, as a broker creates one that aiokafka requests by name."""
        topics = await self._client.describe_topics() if names else []
        return [topic for topic in topics if topic["topic"] in names]

    async def _describe_topics(self, names: Collection[str]) -> list[dict[str, Any]]:
        """Describe the topics that exist; an error of a topic does not say that it does not."""
        topics = await self._requested_topics(names)
        for topic in topics:
            if topic["error_code"] not in (NoError.errno, UnknownTopicOrPartitionError.errno):
                raise for_code(topic["error_code"])(topic["topic"])
            if topic["error_code"] == NoError.errno and not topic["partitions"]:
                raise KafkaError(f"no partition of {topic['topic']} in the answer")
        return [topic for topic in topics if topic["error_code"] == NoError.errno]

    @_run_in_loop
    async def partition_counts(self, topics: Iterable[str]) -> Mapping[str, int]:
        """See ``Admin``."""
        return {topic["topic"]: len(topic["partitions"]) for topic in await self._describe_topics(set(topics))}

    def create(self, topics: Sequence[internal_topics.NewTopic]) -> None:
        """Create topics, and wait until every partition has a leader; ``FatalError`` if one cannot be created."""
        try:
            self._create(topics)
        except LookupFailed as error:
            names = ", ".join(sorted(topic.name for topic in topics))
            raise FatalError(f"could not create topics {names}: {error}", "StreamsException") from error

    @_run_in_loop
    async def _create(self, topics: Sequence[internal_topics.NewTopic]) -> None:
        answer = await self._client.create_topics(
            [
                NewTopic(topic.name, topic.partitions, self._replication_factor, topic_configs=dict(topic.config))
                for topic in topics
            ]
        )
        for name, code, *message in answer.topic_errors:
            if code not in (NoError.errno, TopicAlreadyExistsError.errno):  # another leader has created it
                raise for_code(code)(f"{name}: {(*message, None)[0]}")
        names = {topic.name for topic in topics}
        while not self._have_leaders(await self._requested_topics(names), len(names)):
            await asyncio.sleep(_RETRY_SECONDS)

    @staticmethod
    def _have_leaders(topics: Collection[Mapping[str, Any]], expected: int) -> bool:
        leaders = [partition["leader"] for topic in topics for partition in topic["partitions"]]
        return sum(topic["error_code"] == NoError.errno for topic in topics) == expected and _NO_LEADER not in leaders

    @_run_in_loop
    async def replica_racks(self, topics: Iterable[str]) -> Mapping[TopicPartition, Collection[str | None]]:
        """See ``Admin``."""
        rack_of = {broker["node_id"]: broker["rack"] for broker in (await self._client.describe_cluster())["brokers"]}
        return {
            TopicPartition(topic["topic"], partition["partition"]): {
                rack_of.get(node) for node in partition["replicas"]
            }
            for topic in await self._describe_topics(set(topics))
            for partition in topic["partitions"]
        }

    @_run_in_loop
    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """See ``Admin``."""
        wanted = [aiokafka.TopicPartition(*partition) for partition in partitions]
        ends = await self._consumer.end_offsets(wanted) if wanted else {}
        return {TopicPartition(*partition): end for partition, end in ends.items()}

    @_run_in_loop
    async def committed_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """See ``Admin``."""
        wanted = [aiokafka.TopicPartition(*partition) for partition in partitions]
        offsets = await self._client.list_consumer_group_offsets(self._group, partitions=wanted) if wanted else {}
        return {TopicPartition(*partition): max(0, offsets[partition].offset) for partition in wanted}
