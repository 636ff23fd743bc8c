"""The Streams assignor of one consumer, independent of its client library.

A subclass for one library calls these methods when the library reaches the same point of a rebalance:

1. ``on_join_prepare``: the member is about to rejoin. An eager member revokes its tasks; the listener returns offset
   sums.
2. ``subscription``: returns the bytes for JoinGroup.
3. ``snapshot_cluster`` (leader only): looks up topics, offsets and racks, and creates internal topics.
4. ``perform_assignment`` (leader only): returns the bytes for SyncGroup, by member id.
5. ``receive_assignment``: decodes the assignment, and plans the rebalance that it asks for.
6. ``on_join_complete``: the assignment is in force; the listener is called.
7. ``rejoin``, ``leave_and_join`` or ``call_later``, implemented by the subclass: the follow-up rebalance.

``on_close`` ends the membership. An exception in 2 to 5 is stored in ``failure`` and raised again by every later call,
because client libraries continue after an exception of an assignor and a failed member must not.
"""

from __future__ import annotations

import logging
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Final, Protocol
from uuid import UUID

from attrs import frozen

from streams_assignor import probing, streams_assignor
from streams_assignor.clients._listener_notifier import ListenerNotifier
from streams_assignor.clients._session import Session, excessive_doubt, fenced
from streams_assignor.clients.leader_lookup import Admin, snapshot_cluster
from streams_assignor.cluster import ClusterSnapshot
from streams_assignor.codec import TopicPartition
from streams_assignor.errors import FatalError
from streams_assignor.extension import ClientExtension, check_extension
from streams_assignor.observability import event_log
from streams_assignor.observability.events import (
    AssignmentComputed,
    AssignmentReceived,
    JoinReason,
    JoinSent,
    MemberClosed,
    MemberFailed,
    Observer,
    RejoinDelayed,
    RejoinRequested,
    combine_observers,
)
from streams_assignor.probing.follow_up import MAX_WAIT_SECONDS, FollowUpReason, RejoinHistory
from streams_assignor.protocol import PROTOCOL_NAME
from streams_assignor.protocol.internal_topics import InternalTopicPlan, missing_sources
from streams_assignor.protocol.member import ReceivedAssignment
from streams_assignor.rebalance_listener import OffsetSums, TaskRebalanceListener, check_listener
from streams_assignor.task_assignor import HIGH_AVAILABILITY, TaskAssignor
from streams_assignor.topology import Topology
from streams_assignor.upgrade import OURS, Release, StreamsConfig, StreamsSettings, as_release, as_streams_config

log = logging.getLogger(__name__)


@frozen
class MemberGeneration:
    """One membership in one generation of the group: brokers accept its offsets only while it is the current one."""

    generation_id: int
    member_id: str


class ClusterMetadata(Protocol):
    """The argument of kafka-python and aiokafka for an assignor: the metadata of the topics that the client knows."""

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """Return the partition numbers of a topic; None if the client does not know it."""
        ...


class ClientAdapter(ABC):
    """The Streams assignor of one consumer; the subclasses attach it to one client library each.

    Args:
        topology: the subtopologies of the application.
        config: a ``StreamsConfig``, or a dictionary of Kafka's dotted names (``StreamsSettings``).
        process_id: shared by the members of one process; random if not given.
        release: the release whose behaviour the member has, or its name: ``kip-268`` has the rules of the KIP's text.
            Today's rules if not given.
        listener: receives the changes of this member's tasks and returns how far its state is.
        task_assignor: places the tasks if this member leads. Without it: by lag (KIP-441) if there is an `admin`,
            otherwise sticky.
        admin: with it a leader creates missing internal topics and looks up end offsets, committed offsets and racks.
        extension: what the group carries beside Kafka's fields, such as ``FeatureLevels`` of
            ``upgrade.cluster.client.feature_levels``. Each member needs one of its own.
        observer: receives every event of ``observability.events``; the logger ``streams_assignor`` does in any case.

    Raises:
        UsageError: for an argument of the wrong type.
        ConfigException: for a configuration that Kafka or the release refuses.
        UnknownRelease: for a `release` that there is not.

    A subclass implements ``rejoin``, ``leave_and_join`` and ``call_later``. They are called on any thread and must not
    block.
    """

    name: Final = PROTOCOL_NAME
    cooperative: ClassVar[bool] = True
    """Whether the library lets a member keep its partitions while it rejoins (KIP-429)."""
    fails_in_doubt: ClassVar[bool] = True
    """Whether doubt that lasts too long terminates the member."""

    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig | StreamsSettings | None = None,
        *,
        process_id: UUID | None = None,
        release: Release | str = OURS,
        listener: TaskRebalanceListener | None = None,
        task_assignor: TaskAssignor | None = None,
        admin: Admin | None = None,
        extension: ClientExtension | None = None,
        observer: Observer | None = None,
    ) -> None:
        config = as_streams_config(config)
        release = as_release(release)
        check_extension(extension, for_client=True)
        self.assignor = streams_assignor.StreamsAssignor(
            topology,
            config,
            process_id=process_id,
            release=release,
            task_assignor=task_assignor or (HIGH_AVAILABILITY if admin and release is OURS else None),
            cooperative=self.cooperative,
            extension=extension,
        )
        self.consumer: Any = None
        self.received_assignment: ReceivedAssignment | None = None
        """The last assignment of this member."""
        self.generation: MemberGeneration | None = None
        """The generation of that assignment; None before the first."""
        self.failure: Exception | None = None
        """The exception that terminated the member."""
        self.session = Session()
        """Whether the member certainly owns its tasks."""
        self.fenced = False
        """Whether another member has taken the ``group.instance.id``; the `failure` says so."""
        self._failure_reported = self._closed = False
        self._pending_assignment: ReceivedAssignment | None = None
        self._standbys_are_warmups = not config.num_standby_replicas
        self._observe = combine_observers(event_log.log_observer(self.identity), *filter(None, [observer]))
        self._notifier = ListenerNotifier(check_listener(listener), self._observe)
        self._join_reason: JoinReason | FollowUpReason = JoinReason.FIRST_JOIN
        self._next_join_reason: JoinReason | FollowUpReason | None = JoinReason.FIRST_JOIN
        self._rejoins = self._extension_rejoins = self._handovers = RejoinHistory()
        self._handed_over_at = -math.inf
        self._rejoins_now = False
        self._offset_sums: OffsetSums = None
        self._admin = admin
        self._is_leader = False
        self._missing_sources: tuple[str, ...] = ()
        self._extension = extension
        if extension is not None:
            extension.attach(self.call_later, self._rejoin_for_extension)
        self._prepare()

    def _prepare(self) -> None:  # noqa: B027  # optional
        """Initialize the state that only one library needs."""

    # -- implemented for each client library; called on any thread, must not block ------------------------------------

    @abstractmethod
    def rejoin(self) -> None:
        """Make the consumer rejoin the group soon, with its member id."""

    @abstractmethod
    def leave_and_join(self) -> None:
        """Make the consumer leave the group and join it as a new member."""

    @abstractmethod
    def call_later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call something after so many seconds, on the thread or in the event loop that rebalances."""

    def withdraw_rejoin(self) -> None:  # noqa: B027  # an eager library does not request any
        """Withdraw the rejoin that the library requests after a revocation (cooperative)."""

    def identity(self) -> dict[str, str]:
        """Return what identifies this member in logs: its process id, and names that the client library has."""
        return {"process_id": str(self.assignor.member.process_id)}

    @property
    def rejoins_now(self) -> bool:
        """Whether the last assignment has made the member rejoin at once."""
        return self._rejoins_now

    def warn_of_reset(self, auto_offset_reset: str) -> None:
        """Warn of a consumer that starts at the end of a partition: Kafka Streams starts at the beginning."""
        if auto_offset_reset == "latest":
            log.warning(
                "auto_offset_reset is latest: records that are in a partition before this member reads it for the "
                "first time, such as a new partition of a growing topic, are skipped; Kafka Streams uses earliest"
            )

    # -- the steps of a rebalance -------------------------------------------------------------------------------------

    async def on_join_prepare(self, *, lost: bool) -> None:
        """1: the member is about to rejoin; ``lost`` if the group has removed it. Raises what the listener raises."""
        self._join_reason = self._next_join_reason or (JoinReason.LOST if lost else JoinReason.REBALANCE_IN_PROGRESS)
        self._next_join_reason = None
        try:
            if lost:
                await self._on_generation_lost()
            elif not self.assignor.member.cooperative:
                await self._notifier.tasks_released()
        finally:
            self._offset_sums = await self._notifier.offset_sums()

    def subscription(self, topics: Iterable[str], owned: Iterable[TopicPartition] = ()) -> bytes:
        """2: return the bytes for JoinGroup; ``owned`` are the partitions that a cooperative member keeps."""
        self._is_leader = False
        self._missing_sources = ()
        with self._recording_failure():
            encoded = self.assignor.subscription(topics, offset_sums=self._offset_sums, owned_partitions=owned)
        self._observe(
            JoinSent(
                reason=self._join_reason,
                used_version=self.assignor.used_version,
                supported_version=self.assignor.supported_version,
                subscription_size=len(encoded),
            )
        )
        return encoded

    def snapshot_cluster(
        self, known_partition_counts: Mapping[str, int]
    ) -> tuple[ClusterSnapshot, InternalTopicPlan | None]:
        """3: look up what a leader needs; ``known_partition_counts`` are those of the topics that its client knows.

        Returns the cluster, and the plan of its internal topics if all topics are known and fit. Blocks while the admin
        asks the cluster. ``FatalError`` if internal topics cannot be created.
        """
        now_ms = time.time_ns() // 1_000_000
        if self._admin is None:
            return ClusterSnapshot(partitions=known_partition_counts, topics_complete=False, now_ms=now_ms), None
        with self._recording_failure():
            return snapshot_cluster(self.assignor, known_partition_counts, self._admin, now_ms)

    def perform_assignment(
        self, cluster: ClusterSnapshot, subscriptions: Mapping[str, bytes], plan: InternalTopicPlan | None = None
    ) -> dict[str, bytes]:
        """4: return the bytes for SyncGroup, by member id; ``plan`` is the one of ``snapshot_cluster``."""
        self._is_leader = True
        self._check_sources(cluster)
        began = time.monotonic()
        with self._recording_failure():
            answers = self.assignor.assign(cluster, subscriptions, plan)
        self._observe(
            AssignmentComputed(
                subscription_sizes=_sizes_by_member(subscriptions),
                assignment_sizes=_sizes_by_member(answers),
                probed=self.assignor.probed,
                seconds=time.monotonic() - began,
            )
        )
        return answers

    def _check_sources(self, cluster: ClusterSnapshot) -> None:
        """Warn of source topics that the cluster does not have; what only the client knows, it may still look up."""
        self._missing_sources = missing = missing_sources(self.assignor.topology, cluster.partitions)
        if missing and cluster.topics_complete:
            self._warn_if_missing(missing)
        elif missing:
            self.call_later(_TOPIC_LOOKUP_SECONDS, lambda: self._warn_if_missing(missing))

    def _warn_if_missing(self, sources: tuple[str, ...]) -> None:
        if sources == self._missing_sources and not self._closed:
            log.warning(
                "the cluster does not have %s, which the topology names as a source: its tasks are not assigned; "
                "create the topic, or correct its name",
                ", ".join(sources),
            )

    def receive_assignment(self, assignment: bytes, generation: MemberGeneration | None = None) -> ReceivedAssignment:
        """5: decode the assignment of this member, and plan the next rebalance if it asks for one."""
        self.generation = generation
        with self._recording_failure():
            self.received_assignment = self._pending_assignment = received = self.assignor.on_assignment(assignment)
        self._observe(
            AssignmentReceived(
                reason=self._join_reason,
                generation=generation.generation_id if generation else _UNKNOWN_GENERATION,
                member_id=generation.member_id if generation else "",
                is_leader=self._is_leader,
                group_version=received.version,
                group_supported_version=received.supported_version,
                active=received.active,
                standby=received.standby,
                tasks_dropped=received.dropped,
                standbys_are_warmups=self._standbys_are_warmups,
                follow_up=received.follow_up,
            )
        )
        self._schedule_follow_up(received)
        if self._extension is not None:
            self._extension.on_joined(leads=self._is_leader)
        return received

    def on_unsubscribed_topics(self, topics: Iterable[str], generation: MemberGeneration) -> None:
        """5, instead: the member cannot take its assignment, as it does not subscribe to these topics of it.

        It keeps what it had, and rejoins: the leader may be replaced by one with the same topology. Members of Kafka
        rejoin at once, without end.
        """
        reason, named = JoinReason.NOT_SUBSCRIBED, tuple(sorted(topics))
        self.generation = generation
        self._rejoins = self._rejoins.after(reason, named)
        wait = self._delay(self._rejoins, reason)
        self._rejoins_now = not wait
        if not self._rejoins.repeats:
            log.warning("assigned %s, which this member does not subscribe to: its leader runs another topology", named)

        def due() -> None:
            if self.generation is generation and not self._closed:
                self._request_rejoin(reason)

        self.call_later(wait, due) if wait else due()

    async def on_join_complete(self) -> None:
        """6: the received assignment, if it could be decoded, is in force: call the listener."""
        received, self._pending_assignment = self._pending_assignment, None
        if received is None:
            return
        if self.assignor.member.cooperative and self._notifier.owned_tasks.active.keys() - received.active.keys():
            self._rejoin_after_revocation(received)
        await self._notifier.tasks_received(received)

    async def on_close(self, *, lost: bool = False) -> None:
        """The consumer leaves the group for good, or the group has removed it (``lost``)."""
        if self._extension is not None:
            self._extension.close()
        self._closed = True
        lost = lost or self.fenced
        self._observe(MemberClosed(lost))
        await self._notifier.close(lost=lost)

    def on_failure(self, error: Exception) -> None:
        """Report the exception that terminated the member, raised here or in the client library; once."""
        if not self._failure_reported:
            self._failure_reported = True
            self._observe(MemberFailed(error))

    def on_fenced(self, instance_id: str | None) -> None:
        """Another member has the same ``group.instance.id``: this one fails, and may read nothing more."""
        self.fenced = True
        self.session.end()
        self._fail(fenced(instance_id))

    def raise_failure(self) -> None:
        """Raise the exception that terminated the member; doubt that lasts too long terminates it, too."""
        if self.failure is None and self.fails_in_doubt and self.session.doubt_is_excessive():
            self._fail(excessive_doubt(self.session.timeout_seconds))
        if self.failure:
            raise self.failure

    def _fail(self, error: FatalError) -> None:
        if self.failure is None:
            self.on_failure(error)
            self.failure = error  # last: from now on it is raised

    # -- 7: follow-up rebalances --------------------------------------------------------------------------------------

    async def _on_generation_lost(self) -> None:
        if self._notifier.owned_tasks.active:
            self.assignor.on_partitions_lost()
            await self._notifier.tasks_lost()

    def _schedule_follow_up(self, received: ReceivedAssignment) -> None:
        """Rejoin immediately or at a given time, as the assignment asks; a newer assignment cancels a later rejoin.

        Rejoins that change nothing wait longer each time. A time that is over counts as immediately: if the clocks of
        leader and member differ by more than the interval, it always is.
        """
        reason, at_ms = received.follow_up, received.rejoin_at_ms
        self._rejoins_now = False
        wait = 0.0 if at_ms is None else max(0.0, at_ms / 1000 - time.time())
        if reason is None or wait > _SOON_SECONDS:
            self._rejoins = RejoinHistory()
        else:
            self._rejoins = self._rejoins.after(reason, _content(received))
            wait = max(wait, self._delay(self._rejoins, reason))
        if reason is None:
            return
        mode = received.rejoin or probing.RejoinMode.KEEP_MEMBER_ID
        if received.rejoin and not wait:
            self._rejoins_now = True
            self._request_rejoin(reason, mode)
            return
        if at_ms is not None:
            self._observe(RejoinRequested(reason=reason, at_ms=at_ms))
        self.call_later(wait, lambda: self._follow_up_due(received, reason, mode))

    def _delay(self, rejoins: RejoinHistory, reason: JoinReason | FollowUpReason) -> float:
        """Return how long to wait before a rejoin, and say so if it is not at once."""
        if seconds := rejoins.wait_seconds:
            self._observe(RejoinDelayed(reason=reason, repeats=rejoins.repeats, seconds=seconds))
        return seconds

    def _follow_up_due(
        self,
        received: ReceivedAssignment,
        reason: JoinReason | FollowUpReason,
        mode: probing.RejoinMode = probing.RejoinMode.KEEP_MEMBER_ID,
    ) -> None:
        if self.received_assignment is received and not self._closed:
            self._request_rejoin(reason, mode)

    def _rejoin_after_revocation(self, received: ReceivedAssignment) -> None:
        """Note why the client library rejoins by itself; make it wait if tasks move back and forth without end."""
        now = time.monotonic()
        if now - self._handed_over_at > _FORGOTTEN_SECONDS:
            self._handovers = RejoinHistory()
        self._handed_over_at = now
        reason = JoinReason.HANDED_OVER
        self._handovers = self._handovers.after(reason, _content(received))
        if self._next_join_reason is None and (wait := self._delay(self._handovers, reason)):
            self.withdraw_rejoin()
            self.call_later(wait, lambda: self._follow_up_due(received, reason))
        else:
            self._next_join_reason = self._next_join_reason or reason

    def _request_rejoin(
        self, reason: JoinReason | FollowUpReason, mode: probing.RejoinMode = probing.RejoinMode.KEEP_MEMBER_ID
    ) -> None:
        leaves = mode is probing.RejoinMode.LEAVE_AND_JOIN
        self._next_join_reason = reason
        self._observe(RejoinRequested(reason=reason, leaves_group=leaves))
        if leaves:
            self.leave_and_join()
        else:
            self.rejoin()

    def _rejoin_for_extension(self, content: Hashable, is_due: Callable[[], bool]) -> None:
        """Rejoin so that the group carries the content; later if it has not carried it before."""
        self._extension_rejoins = self._extension_rejoins.after(JoinReason.FEATURES, content)
        wait = self._delay(self._extension_rejoins, JoinReason.FEATURES)

        def due() -> None:
            if is_due() and not self._closed:
                self._request_rejoin(JoinReason.FEATURES)

        self.call_later(wait, due) if wait else due()

    @contextmanager
    def _recording_failure(self) -> Iterator[None]:
        """Store the exception that terminates the member, and rejoin so that the client library raises it again."""
        if self.failure:
            raise self.failure
        try:
            yield
        except Exception as error:
            self.failure = error
            self.on_failure(error)
            self._request_rejoin(JoinReason.FAILURE)
            raise


_UNKNOWN_GENERATION: Final = -1
_FORGOTTEN_SECONDS: Final = 2 * MAX_WAIT_SECONDS
"""After so much time a member that hands over the same tasks again does not do it in vain."""
_SOON_SECONDS: Final = 10.0
"""A follow-up rebalance that is due by then counts as immediate; the shortest interval of Kafka is a minute."""
_TOPIC_LOOKUP_SECONDS: Final = 5.0
"""How long a client may need to look up topics after its member has joined."""


def _content(received: ReceivedAssignment) -> int:
    """Return a number that is equal for assignments that say the same, but for the time of the next rebalance."""
    versions = (received.version, received.supported_version, received.dropped)
    return hash((*versions, frozenset(received.active), frozenset(received.standby)))


def _sizes_by_member(encoded: Mapping[str, bytes]) -> dict[str, int]:
    return {member: len(content) for member, content in encoded.items()}


def partition_counts(cluster: ClusterMetadata, topics: Iterable[str]) -> dict[str, int]:
    """Return the partition counts of the topics that the client's metadata knows.

    kafka-python and aiokafka look up the other topics by themselves, and rejoin when they know more.
    """
    partitions_by_topic = {topic: cluster.partitions_for_topic(topic) for topic in topics}
    return {topic: len(partitions) for topic, partitions in partitions_by_topic.items() if partitions}
