"""kafka-python (3.x): plug the Streams assignor into a ``KafkaConsumer``.

``partition_assignment_strategy`` takes an instance, userdata travels both ways, and `metadata` is asked for at every
rejoin; so this file only hands bytes over.  Four things kafka-python does not offer in public: to rejoin while keeping
the member id, to leave and join again from a callback, to do something later, and not to create topics by looking at
them.  All are at the end of this file.

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

from attrs import evolve
from kafka import KafkaConsumer
from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor, RebalanceProtocol

from assignor import streams_assignor
from assignor.carried_levels import NO_LEVELS, Levels, highest
from assignor.clients.feature_watch import EVERY_SECONDS, Features, FeatureWatch
from assignor.clients.looking_up import Admin, look_up
from assignor.cluster import Cluster
from assignor.member import Received
from assignor.task_assignor import HIGH_AVAILABILITY, TaskAssignor
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

    With an `admin` (`kafka_python_admin.KafkaPythonAdmin`) a leader creates missing internal topics and looks how far
    everybody is behind, and so balances tasks by lag (KIP-441) unless a `task_assignor` says otherwise; `sums` tells
    how far this member's own state is: the sum of the offsets of its changelog partitions for each task.

    The levels of the features that it `watches` are carried through the group, and `on_levels(levels)` is called when
    they have risen, like `on_tasks` and before it. A leader asks `features` (`upgrade.features.client.FeatureClient`)
    for them; without, it hands on what others carry.
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
        task_assignor: TaskAssignor | None = None,
        admin: Admin | None = None,
        sums: Callable[[], Mapping[TaskId, int]] | None = None,
        watches: Iterable[str] = (),
        features: Features | None = None,
        features_every_seconds: float = EVERY_SECONDS,
        on_levels: Callable[[Levels], None] | None = None,
        sync_grace_seconds: float = 0.0,
    ) -> None:
        self.core = streams_assignor.StreamsPartitionAssignor(
            topology,
            config,
            process_id=process_id,
            release=release,
            task_assignor=task_assignor or (HIGH_AVAILABILITY if admin and release is OURS else None),
            watches=watches,
        )
        if features and not self.core.member.watches:
            raise ValueError("expected names of features to watch beside the features to ask, got none")
        self.received: Received | None = None
        self.failure: Exception | None = None
        self._on_tasks = on_tasks
        self._admin = admin
        self._sums = sums
        self._sync_grace_seconds = sync_grace_seconds
        self._on_levels = on_levels
        self._told = self._seen = NO_LEVELS
        self._leads = False
        self._watch = FeatureWatch(features, self._see, self._later, features_every_seconds) if features else None
        self.consumer: Any = None

    def supported_protocols(self) -> list[RebalanceProtocol]:
        """Say whether this member keeps its partitions while it rejoins (KIP-429)."""
        cooperative = self.core.member.cooperative
        return [RebalanceProtocol.COOPERATIVE if cooperative else RebalanceProtocol.EAGER]

    def bind(self, consumer: KafkaConsumer) -> None:
        """Tell it which consumer to let rejoin; ``ValueError`` if that consumer cannot work with this assignor."""
        if self not in consumer.config["partition_assignment_strategy"]:
            raise ValueError("this consumer does not have this assignor in its partition_assignment_strategy")
        if self.core.topology.repartition_topics:
            if consumer.subscription():
                raise ValueError(
                    "call bind(consumer) before subscribe: a consumer that has been told its topics makes the broker "
                    "create those between subtopologies, with the wrong number of partitions"
                )
            _never_create_topics(consumer)
        self.consumer = consumer

    def metadata(self, topics: Iterable[str]) -> bytes:
        """Write this member's subscription, for JoinGroup."""
        # Without a consumer the first probing would fail; better to say so at the first poll.
        if self.consumer is None:
            raise RuntimeError("call bind(consumer) before the first poll")
        self._leads = False
        owned = [TopicPartition(*partition) for partition in self.consumer.assignment() or ()]
        with self._dying():
            return self.core.subscription(topics, sums=self._sums and self._sums(), owned=owned)

    def assign(self, cluster: Any, members: Iterable[Any]) -> dict[str, bytes]:
        """Answer all members as their leader, for SyncGroup."""
        self._leads = True
        subscriptions = {member.member_id: member.metadata.encode() for member in members}
        topics = sorted({topic for member in members for topic in member.metadata.topics})
        with self._dying():
            plan = self.core.assign(self._cluster(_partition_counts(cluster, topics)), subscriptions)
        time.sleep(self._sync_grace_seconds)
        return plan

    def on_assignment(self, assignment: Any, generation: int) -> None:  # noqa: ARG002  # kafka-python's signature
        """Take the leader's answer, and rejoin if the negotiation of the version asks for it."""
        with self._dying():
            self.received = self.core.on_assignment(assignment.encode())
        if self.received.rejoin:
            _rejoin(self.consumer, self.received.rejoin)
        elif self.received.rejoin_at_ms is not None:
            self._rejoin_later(self.received, self.received.rejoin_at_ms)
        self._go_on_watching()
        if self._on_levels and self.received.levels != self._told:
            self._on_levels(self.received.levels)
            self._told = self.received.levels
        if self._on_tasks:
            self._on_tasks(self.received.active, self.received.standby)

    def _cluster(self, known: Mapping[str, int]) -> Cluster:
        now_ms = time.time_ns() // 1_000_000
        if self._admin is None:
            return Cluster(partitions=known, complete=False, now_ms=now_ms, levels=self._seen)
        return evolve(look_up(self.core, known, self._admin, now_ms), levels=self._seen)

    def _go_on_watching(self) -> None:
        """Watch features only while leading; do not ask at once for what others carry already (KIP-584)."""
        if self._watch and self._leads:
            self._watch.lead(at_once=not self.core.member.watches <= self.core.member.levels.keys())
        elif self._watch:
            self._watch.follow()

    def _see(self, levels: Levels) -> None:
        """Remember finalised levels, and let the group know if it does not. Not on the I/O thread."""
        self._seen = highest(self._seen, levels)
        if self.core.raised_by(self._seen):
            _rejoin(self.consumer, Rejoining.KEEP_MEMBER_ID)

    def _rejoin_later(self, received: Received, at_ms: int) -> None:
        """Rejoin at a time, unless there has been another assignment by then."""

        def due() -> None:
            if self.received is received:
                _rejoin(self.consumer, Rejoining.KEEP_MEMBER_ID)

        self._later(max(0.0, at_ms / 1000 - time.time()), due)

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        _call_later(self.consumer, seconds, call)

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


# What follows is all that touches what kafka-python keeps private.


def _never_create_topics(consumer: Any) -> None:
    """Make ``allow_auto_create_topics=False`` true: 3.0.12 takes that setting and passes it on to nobody."""
    consumer._coordinator._manager.cluster.config["allow_auto_create_topics"] = False


def _call_later(consumer: Any, seconds: float, call: Callable[[], None]) -> None:
    """Call something on the I/O thread; kafka-python takes a function for that, but nothing else that can be called."""
    consumer._coordinator._manager._net.call_later(seconds, lambda: call())


def _rejoin(consumer: Any, how: Rejoining) -> None:
    """Let the next ``poll`` rejoin.

    ``unsubscribe(); subscribe()`` would be the public way to leave, but it blocks, and callbacks may not.
    """
    coordinator = consumer._coordinator
    if how is Rejoining.LEAVE_AND_JOIN:
        coordinator._manager.call_soon(coordinator.maybe_leave_group_async)
    else:
        coordinator.request_rejoin()
