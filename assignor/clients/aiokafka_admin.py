"""aiokafka (0.14): what a leader looks up and creates, through clients of its own in the loop of its consumer.

``Admin`` is plain, aiokafka is not: a leader calls it on a thread, which waits here until the loop has got the answer.
(Any other ``Admin`` does as well: a ``KafkaPythonAdmin`` if kafka-python is there.)
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, Final, TypeVar

import aiokafka
from aiokafka import AIOKafkaConsumer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError, NoError, TopicAlreadyExistsError, for_code

from assignor import internal_topics
from assignor.clients.looking_up import LookupFailed
from assignor.errors import FatalError
from subscription_codec import TopicPartition

TIMEOUT_SECONDS: Final = 4.0
"""For each question: well below the usual session timeouts."""

_PAUSE_SECONDS: Final = 0.05
_NO_LEADER: Final = -1

_T = TypeVar("_T")


def _in_the_loop(ask: Callable[..., Coroutine[Any, Any, _T]]) -> Callable[..., _T]:
    """Wait on this thread for what the loop does; ``LookupFailed`` if it cannot, or not in time."""

    @wraps(ask)
    def asking(self: AiokafkaAdmin, *arguments: Any) -> _T:
        async def in_time() -> _T:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await self._start()
                return await ask(self, *arguments)

        try:
            return asyncio.run_coroutine_threadsafe(in_time(), self._loop).result()
        except (KafkaError, OSError, TimeoutError, concurrent.futures.CancelledError) as error:  # the loop may end
            raise LookupFailed(f"{type(error).__name__}: {error}") from error

    return asking


class AiokafkaAdmin:
    """An ``Admin`` for the members of ``group``, made and closed in their loop.

    ``settings`` are what ``AIOKafkaAdminClient`` and ``AIOKafkaConsumer`` have in common. New internal topics get
    ``replication_factor`` copies (Kafka: ``replication.factor``); aiokafka cannot leave that to the broker.
    """

    def __init__(self, group: str, *, replication_factor: int, **settings: Any) -> None:
        if replication_factor < 1:
            raise ValueError(f"expected a replication factor of at least 1, got {replication_factor}")
        self._group = group
        self._replication_factor = replication_factor
        self._loop = asyncio.get_running_loop()
        self._client = AIOKafkaAdminClient(**{"request_timeout_ms": int(TIMEOUT_SECONDS * 1000), **settings})
        self._reader = AIOKafkaConsumer(**{"request_timeout_ms": int(TIMEOUT_SECONDS * 1000), **settings})
        self._starting: asyncio.Task[None] | None = None

    async def close(self) -> None:
        """Close the connections."""
        await self._reader.stop()
        await self._client.close()

    async def _start(self) -> None:
        """Connect when it is first asked, and again if that did not go well."""
        if self._starting is None or (self._starting.done() and self._starting.exception()):
            self._starting = asyncio.create_task(self._connect())
        await asyncio.shield(self._starting)

    async def _connect(self) -> None:
        await self._client.start()
        await self._reader.start()

    async def _topics(self, names: Collection[str]) -> list[dict[str, Any]]:
        """Describe those that exist. It asks for all: aiokafka lets the broker create what it asks for by name."""
        found = await self._client.describe_topics() if names else []
        return [topic for topic in found if topic["topic"] in names and topic["error_code"] == NoError.errno]

    @_in_the_loop
    async def partitions(self, topics: Iterable[str]) -> Mapping[str, int]:
        """See ``Admin``."""
        return {topic["topic"]: len(topic["partitions"]) for topic in await self._topics(set(topics))}

    def create(self, topics: Sequence[internal_topics.NewTopic]) -> None:
        """Create topics, and wait until every partition has a leader; ``FatalError`` if that cannot be."""
        try:
            self._create(topics)
        except LookupFailed as error:
            names = ", ".join(sorted(topic.name for topic in topics))
            raise FatalError(f"could not create topics {names}: {error}", "StreamsException") from error

    @_in_the_loop
    async def _create(self, topics: Sequence[internal_topics.NewTopic]) -> None:
        answer = await self._client.create_topics(
            [
                NewTopic(topic.name, topic.partitions, self._replication_factor, topic_configs=dict(topic.config))
                for topic in topics
            ]
        )
        for name, code, *message in answer.topic_errors:
            if code not in (NoError.errno, TopicAlreadyExistsError.errno):  # another leader was faster
                raise for_code(code)(f"{name}: {(*message, None)[0]}")
        names = {topic.name for topic in topics}
        while not self._have_leaders(await self._topics(names), len(names)):
            await asyncio.sleep(_PAUSE_SECONDS)

    @staticmethod
    def _have_leaders(found: Collection[Mapping[str, Any]], expected: int) -> bool:
        leaders = [partition["leader"] for topic in found for partition in topic["partitions"]]
        return len(found) == expected and _NO_LEADER not in leaders

    @_in_the_loop
    async def racks(self, topics: Iterable[str]) -> Mapping[TopicPartition, Collection[str | None]]:
        """See ``Admin``."""
        rack_of = {broker["node_id"]: broker["rack"] for broker in (await self._client.describe_cluster())["brokers"]}
        return {
            TopicPartition(topic["topic"], partition["partition"]): {
                rack_of.get(node) for node in partition["replicas"]
            }
            for topic in await self._topics(set(topics))
            for partition in topic["partitions"]
        }

    @_in_the_loop
    async def ends(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """See ``Admin``."""
        wanted = [aiokafka.TopicPartition(*partition) for partition in partitions]
        found = await self._reader.end_offsets(wanted) if wanted else {}
        return {TopicPartition(*partition): end for partition, end in found.items()}

    @_in_the_loop
    async def committed(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """See ``Admin``."""
        wanted = [aiokafka.TopicPartition(*partition) for partition in partitions]
        found = await self._client.list_consumer_group_offsets(self._group, partitions=wanted) if wanted else {}
        return {
            TopicPartition(*partition): max(0, found[partition].offset) for partition in wanted if partition in found
        }
