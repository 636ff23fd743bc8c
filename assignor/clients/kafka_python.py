"""kafka-python (3.x): plug the Streams assignor into a ``KafkaConsumer``.

``partition_assignment_strategy`` takes an instance, userdata travels both ways, and `metadata` is asked for at every
rejoin; so this file only hands bytes over.  Two things kafka-python does not offer in public: to rejoin while keeping
the member id, and to leave and join again from a callback.  Both are taken from its coordinator, in `_rejoin` alone.

What kafka-python does with exceptions (run with 3.0.12): those of `metadata`, `assign` and `on_assignment` come out of
the ``poll`` under way, and the next ``poll`` goes on as if nothing had happened.  A member that must die may not, so a
failure is remembered, and every later ``poll`` raises it again.

A bug to know about (3.0.12): a join that completes *between* two polls is thrown away and begun anew, so short polls
with pauses never get an assignment.  Poll with a timeout longer than a rebalance, and do not dawdle in between.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from kafka import KafkaConsumer
from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor

from assignor import streams_assignor
from assignor.member import Received
from assignor.topology import Topology
from probing import Rejoining
from subscription_codec import TaskId, TopicPartition
from upgrade import OURS, Release, StreamsConfig

Tasks = Mapping[TaskId, frozenset[TopicPartition]]


class StreamsPartitionAssignor(AbstractPartitionAssignor):  # type: ignore[misc]  # kafka-python has no type information
    """The Streams assignor for one consumer: pass it as ``partition_assignment_strategy=[streams]``, then `bind`.

    `on_tasks(active, standby)` is called with every new assignment, on the client's I/O thread: it must not call
    blocking methods of the consumer.  `sync_grace_seconds` delays the leader's answer; only the mock cluster needs it.
    What ends the member (`FatalError`) comes out of ``poll``, and out of every later one; it stays in `failure`.
    """

    name = streams_assignor.StreamsPartitionAssignor.name

    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig | None = None,
        *,
        process_id: UUID | None = None,
        release: Release = OURS,
        on_tasks: Callable[[Tasks, Tasks], None] | None = None,
        sync_grace_seconds: float = 0.0,
    ) -> None:
        self.core = streams_assignor.StreamsPartitionAssignor(topology, config, process_id=process_id, release=release)
        self.received: Received | None = None
        self.failure: Exception | None = None
        self._on_tasks = on_tasks
        self._sync_grace_seconds = sync_grace_seconds
        self.consumer: Any = None

    def bind(self, consumer: KafkaConsumer) -> None:
        """Tell it which consumer to let rejoin; ``ValueError`` if that consumer does not use this assignor."""
        if self not in consumer.config["partition_assignment_strategy"]:
            raise ValueError("this consumer does not have this assignor in its partition_assignment_strategy")
        self.consumer = consumer

    def metadata(self, topics: Iterable[str]) -> bytes:
        """Write this member's subscription, for JoinGroup."""
        # Without a consumer the first probing would fail; better to say so at the first poll.
        if self.consumer is None:
            raise RuntimeError("call bind(consumer) before the first poll")
        with self._dying():
            return self.core.subscription(topics)

    def assign(self, cluster: Any, members: Iterable[Any]) -> dict[str, bytes]:
        """Answer all members as their leader, for SyncGroup."""
        subscriptions = {member.member_id: member.metadata.encode() for member in members}
        topics = sorted({topic for member in members for topic in member.metadata.topics})
        with self._dying():
            plan = self.core.assign(_partition_counts(cluster, topics), subscriptions)
        time.sleep(self._sync_grace_seconds)
        return plan

    def on_assignment(self, assignment: Any, generation: int) -> None:  # noqa: ARG002  # kafka-python's signature
        """Take the leader's answer, and rejoin if the negotiation of the version asks for it."""
        with self._dying():
            self.received = self.core.on_assignment(assignment.encode())
        if self.received.rejoin:
            _rejoin(self.consumer, self.received.rejoin)
        if self._on_tasks:
            self._on_tasks(self.received.active, self.received.standby)

    @contextmanager
    def _dying(self) -> Iterator[None]:
        """Remember what ends this member, and make the next ``poll`` come here again instead of going on."""
        if self.failure:
            raise self.failure
        try:
            yield
        except Exception as error:
            self.failure = error
            _rejoin(self.consumer, Rejoining.KEEP_MEMBER_ID)
            raise


def _partition_counts(cluster: Any, topics: Iterable[str]) -> dict[str, int]:
    """Count the partitions of the topics the client knows; it asks about the others, and rejoins when it has learnt."""
    found = {topic: cluster.partitions_for_topic(topic) for topic in topics}
    return {topic: len(partitions) for topic, partitions in found.items() if partitions}


def _rejoin(consumer: Any, how: Rejoining) -> None:
    """Let the next ``poll`` rejoin.  The only place that touches what kafka-python keeps private.

    ``unsubscribe(); subscribe()`` would be the public way to leave, but it blocks, and callbacks may not.
    """
    coordinator = consumer._coordinator
    if how is Rejoining.LEAVE_AND_JOIN:
        coordinator._manager.call_soon(coordinator.maybe_leave_group_async)
    else:
        coordinator.request_rejoin()
