"""What every adapter is made of: the assignor of one consumer, and all that has to happen around it.

An adapter derives from ``Plugged``: it calls ``before_join``, ``subscription``, ``answers``, ``take``, ``joined`` and
``ends`` when its client library comes to that point, and does what only the library can do: `rejoin`, `leave_and_join`
and `call_later`. When, how and why is decided here, for all of them alike.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Final
from uuid import UUID

from attrs import evolve

import probing
from assignor import event_log, streams_assignor
from assignor.carried_levels import NO_LEVELS, Levels, highest
from assignor.clients.feature_watch import EVERY_SECONDS, Features, FeatureWatch
from assignor.clients.looking_up import Admin, look_up
from assignor.clients.telling import Teller
from assignor.cluster import Cluster
from assignor.member import Received
from assignor.observing import Assigned, Cause, Died, Ended, JoinSent, Led, Observer, Rejoining, together
from assignor.task_assignor import HIGH_AVAILABILITY, TaskAssignor
from assignor.task_listener import Sums, TaskListener
from assignor.topology import Topology
from probing.follow_up import Reason
from subscription_codec import TopicPartition
from upgrade import OURS, Release, StreamsConfig


class Plugged(ABC):
    """The Streams assignor of one consumer, whatever its library.

    The `listener` is told what becomes of the tasks (``task_listener.TaskListener``) and says how far its state is.

    With an `admin` (``looking_up.Admin``) a leader creates missing internal topics and looks how far everybody is
    behind, and so balances tasks by lag (KIP-441) unless a `task_assignor` says otherwise.

    The levels of the features that it `watches` are carried through the group, and `on_levels(levels)` is called when
    they have risen, before tasks are told. A leader asks `features` (`upgrade.features.client.FeatureClient`) for them;
    without, it hands on what others carry.

    The `observer` hears of everything (``observing``), for metrics; the logger ``assignor`` does in any case.

    ``received`` is the last assignment. What has ended the member (``FatalError``) stays in ``failure``.
    `sync_grace_seconds` delays a leader's answer; only the mock cluster needs it. Raises ``ConfigException`` as
    ``streams_assignor.StreamsPartitionAssignor`` does, ``ValueError`` if there are `features` but nothing to watch.
    """

    name: Final = streams_assignor.NAME
    cooperative: ClassVar[bool] = True
    """Whether the library lets a member keep its partitions while it rejoins (KIP-429)."""

    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig | None = None,
        *,
        process_id: UUID | None = None,
        release: Release = OURS,
        listener: TaskListener | None = None,
        task_assignor: TaskAssignor | None = None,
        admin: Admin | None = None,
        watches: Iterable[str] = (),
        features: Features | None = None,
        features_every_seconds: float = EVERY_SECONDS,
        on_levels: Callable[[Levels], None] | None = None,
        observer: Observer | None = None,
        sync_grace_seconds: float = 0.0,
    ) -> None:
        self.core = streams_assignor.StreamsPartitionAssignor(
            topology,
            config,
            process_id=process_id,
            release=release,
            task_assignor=task_assignor or (HIGH_AVAILABILITY if admin and release is OURS else None),
            cooperative=self.cooperative,
            watches=watches,
        )
        if features and not self.core.member.watches:
            raise ValueError("expected names of features to watch beside the features to ask, got none")
        self.consumer: Any = None
        self.received: Received | None = None
        self.failure: Exception | None = None
        self._dead = self._ended = False
        self._untold: Received | None = None
        self._warming = config is None or not config.num_standby_replicas
        self._observe = together(event_log.observer(self.named), *filter(None, [observer]))
        self._teller = Teller(listener or TaskListener(), self._observe)
        self._cause: Cause | Reason = Cause.FIRST_JOIN
        self._wanted: Cause | Reason | None = Cause.FIRST_JOIN
        self._sums: Sums = None
        self._admin = admin
        self._sync_grace_seconds = sync_grace_seconds
        self._on_levels = on_levels
        self._told_levels = self._seen = NO_LEVELS
        self._generation = -1  # as the client library says it; set before `take`
        self._leads = False
        self._watch = FeatureWatch(features, self._see, self.call_later, features_every_seconds) if features else None

    # -- what only the client library can do; all of it on any thread, and none of it waits -------------------------

    @abstractmethod
    def rejoin(self) -> None:
        """Let the consumer join the group again, soon, and keep its member id."""

    @abstractmethod
    def leave_and_join(self) -> None:
        """Let it leave the group and come back as a new member."""

    @abstractmethod
    def call_later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call something after so many seconds, on the thread or in the loop that rebalances."""

    def named(self) -> dict[str, str]:
        """Tell this member from others in logs: its process, and what else the client library says in public."""
        return {"process_id": str(self.core.member.process_id)}

    # -- what happens to the consumer ---------------------------------------------------------------------------------

    async def before_join(self, *, lost: bool) -> None:
        """It is about to rejoin, or to join again what it has `lost`; what the listener raises comes out."""
        self._cause = self._wanted or (Cause.LOST if lost else Cause.ASKED)
        self._wanted = None
        try:
            if lost:
                await self._has_lost()
            elif not self.core.member.cooperative:
                await self._teller.gives_up()
        finally:
            self._sums = await self._teller.offset_sums()

    def subscription(self, topics: Iterable[str], owned: Iterable[TopicPartition] = ()) -> bytes:
        """Write what it says in JoinGroup; `owned` are its partitions, in case it keeps them."""
        self._leads = False
        with self._dying():
            said = self.core.subscription(topics, sums=self._sums, owned=owned)
        used, latest = self.core.used_version, self.core.latest_version
        self._observe(JoinSent(cause=self._cause, used=used, latest=latest, size=len(said)))
        return said

    def look_up(self, known: Mapping[str, int]) -> Cluster:
        """Find out what a leader has to know beside what its client knows, the partition counts of some topics.

        Waits for the cluster if there is an admin. ``FatalError`` if topics cannot be created.
        """
        now_ms = time.time_ns() // 1_000_000
        if self._admin is None:
            return Cluster(partitions=known, complete=False, now_ms=now_ms, levels=self._seen)
        with self._dying():
            return evolve(look_up(self.core, known, self._admin, now_ms), levels=self._seen)

    def answers(self, cluster: Cluster, subscriptions: Mapping[str, bytes]) -> dict[str, bytes]:
        """Lead: write what each member is told in SyncGroup."""
        self._leads = True
        began = time.monotonic()
        with self._dying():
            answers = self.core.assign(cluster, subscriptions)
        self._observe(Led(heard=_sizes(subscriptions), said=_sizes(answers), seconds=time.monotonic() - began))
        return answers

    def take(self, assignment: bytes) -> Received:
        """Take the leader's answer, and plan the next rebalance if it asks for one."""
        with self._dying():
            self.received = self._untold = received = self.core.on_assignment(assignment)
        self._observe(
            Assigned(
                cause=self._cause,
                generation=self._generation,
                leads=self._leads,
                version=received.version,
                supported=received.supported,
                active=received.active,
                standby=received.standby,
                dropped=received.dropped,
                warming=self._warming,
                follow_up=received.follow_up,
            )
        )
        self._follow_up(received)
        self._go_on_watching()
        if self._on_levels and received.levels != self._told_levels:
            self._on_levels(received.levels)
            self._told_levels = received.levels
        return received

    async def joined(self) -> None:
        """The answer that was taken, if it could be, is in force: tell what is new."""
        received, self._untold = self._untold, None
        if received is None:
            return
        if self.core.member.cooperative and self._teller.held.active.keys() - received.active.keys():
            self._wanted = self._wanted or Cause.HANDED_OVER  # the client library rejoins by itself
        await self._teller.has(received)

    async def ends(self, *, lost: bool = False) -> None:
        """The consumer is about to leave the group for good, or has been thrown out of it."""
        if self._watch:
            self._watch.follow()
        self._ended = True
        self._observe(Ended(lost))
        await self._teller.ends(lost=lost)

    def died(self, error: Exception) -> None:
        """It ends of this, here or in the client library: let the observer hear of it, once."""
        if not self._dead:
            self._dead = True
            self._observe(Died(error))

    # -- how it goes on -----------------------------------------------------------------------------------------------

    async def _has_lost(self) -> None:
        if self._teller.held.active:
            self.core.lost()
            await self._teller.has_lost()

    def _follow_up(self, received: Received) -> None:
        """Rejoin if the answer says so: at once, or at a time unless there has been another answer by then."""
        cause, at_ms = received.follow_up, received.rejoin_at_ms
        if cause and received.rejoin:
            self._again(cause, received.rejoin)
        elif cause and at_ms is not None:
            self._observe(Rejoining(cause=cause, at_ms=at_ms))
            self.call_later(max(0.0, at_ms / 1000 - time.time()), lambda: self._due(received, cause))

    def _due(self, received: Received, cause: Reason) -> None:
        if self.received is received and not self._ended:
            self._again(cause)

    def _again(self, cause: Cause | Reason, how: probing.Rejoining = probing.Rejoining.KEEP_MEMBER_ID) -> None:
        leaves = how is probing.Rejoining.LEAVE_AND_JOIN
        self._wanted = cause
        self._observe(Rejoining(cause=cause, leaves=leaves))
        if leaves:
            self.leave_and_join()
        else:
            self.rejoin()

    def _go_on_watching(self) -> None:
        """Watch features only while leading; do not ask at once for what others carry already (KIP-584)."""
        if self._watch and self._leads:
            self._watch.lead(at_once=not self.core.member.watches <= self.core.member.levels.keys())
        elif self._watch:
            self._watch.follow()

    def _see(self, levels: Levels) -> None:
        """Remember finalised levels, and let the group know if it does not. Not on the client's thread."""
        self._seen = highest(self._seen, levels)
        self.call_later(0.0, self._spread)  # on its thread no answer comes in between

    def _spread(self) -> None:
        if self.core.raised_by(self._seen):
            self._again(Cause.FEATURES)

    @contextmanager
    def _dying(self) -> Iterator[None]:
        """Remember what ends this member, and make the client come here again instead of going on."""
        if self.failure:
            raise self.failure
        try:
            yield
        except Exception as error:
            self.failure = error
            self.died(error)
            self._again(Cause.FAILURE)
            raise


def _sizes(blobs: Mapping[str, bytes]) -> dict[str, int]:
    return {member: len(blob) for member, blob in blobs.items()}


def partition_counts(cluster: Any, topics: Iterable[str]) -> dict[str, int]:
    """Count the partitions of the topics that a client's metadata knows.

    kafka-python and aiokafka call it the same; either asks about the others, and rejoins when it has learnt.
    """
    found = {topic: cluster.partitions_for_topic(topic) for topic in topics}
    return {topic: len(partitions) for topic, partitions in found.items() if partitions}
