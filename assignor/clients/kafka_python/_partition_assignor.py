"""The Streams assignor of a ``KafkaConsumer``.

``partition_assignment_strategy`` accepts an instance, userdata is passed in both directions, and kafka-python calls
``metadata`` before every rejoin. So this module passes bytes on; the steps are numbered as in
``clients.adapter``. Functions that kafka-python does not offer in public are in ``_private_api``: rejoin with the
member id, leave and join again from a callback, timers, and callbacks beside the user's own listener.

Exceptions (3.0.12): an exception of `metadata`, `assign` or `on_assignment` is raised by the ``poll`` under way, and
the next ``poll`` continues as if nothing had happened. A failed member must not, so ``ClientAdapter`` stores the
failure, and every later ``poll`` raises it again.

Session (3.0.12): kafka-python continues to deliver when a heartbeat is fenced, and after a pause beyond the session
timeout. Here every round of ``poll`` raises the failure of a fenced member, and no record is delivered in doubt.

Known bug (3.0.12): a join that completes *between* two polls is dropped and started again, so short polls with pauses
never get an assignment. Poll with ``poll_timeout_ms``, without pauses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, ClassVar, Final

import kafka.errors
from kafka import KafkaConsumer

from streams_assignor.clients._lifetimes import forbid_after_fork, warn_unless_closed
from streams_assignor.clients._settings_check import check_login, hide_secrets
from streams_assignor.clients.adapter import (
    ClientAdapter,
    ClusterMetadata,
    MemberGeneration,
    partition_counts,
)
from streams_assignor.clients.kafka_python import _private_api, _private_connection
from streams_assignor.clients.kafka_python._commit_connection import CommitConnection
from streams_assignor.codec import TopicPartition
from streams_assignor.errors import UsageError

JOINING_POLL_MS: Final = 1000
"""Timeout of a poll during a join: longer than a join takes, because a poll that ends before it may drop the join."""

STABLE_POLL_MS: Final = 200

ASK_SECONDS: Final = 0.1
"""Time between two heartbeats of a member whose ownership is in doubt."""


class StreamsPartitionAssignor(ClientAdapter, _private_api.AbstractPartitionAssignor):  # type: ignore[misc]  # untyped
    """The Streams assignor for one consumer: pass it as ``partition_assignment_strategy=[streams]``, then call `bind`.

    Arguments: see ``ClientAdapter``. The listener is called on the client's I/O thread, which must not wait for the
    consumer itself: a method that commits is ``async def`` and awaits ``consumer.commit_async``. ``poll`` raises the
    exception that terminated the member (``FatalError``), and so does every later ``poll``.
    """

    reads_while_joining: ClassVar[bool] = False
    """Whether records of tasks that the member keeps are delivered while it rejoins."""
    joining = True
    """Whether a join is under way."""
    _asked_at = float("-inf")
    _note_closed: Callable[[], object] = staticmethod(lambda: None)
    _subscriptions: Mapping[str, bytes] = {}
    _assignment = b""

    def supported_protocols(self) -> list[_private_api.RebalanceProtocol]:
        """Return COOPERATIVE if this member keeps its partitions while it rejoins (KIP-429), otherwise EAGER."""
        protocol = _private_api.RebalanceProtocol
        return [protocol.COOPERATIVE if self.assignor.member.cooperative else protocol.EAGER]

    def bind(self, consumer: KafkaConsumer) -> None:
        """Attach the assignor to its consumer; ``UsageError`` if the consumer is not configured for it.

        ``ConfigException`` for a password that is missing or no text. kafka-python itself refuses a session that is
        shorter than a heartbeat interval.
        """
        if self not in consumer.config["partition_assignment_strategy"]:
            raise UsageError("expected a consumer with this assignor in its partition_assignment_strategy")
        _private_api.check_private_names(consumer)
        _private_connection.read_in_parts(consumer)
        if self.assignor.topology.repartition_topics:
            if consumer.subscription():
                raise UsageError(
                    "call bind(consumer) before subscribe: a subscribed consumer makes the broker create the "
                    "repartition topics, with the wrong number of partitions"
                )
            _private_api.disable_auto_topic_creation(consumer)
        check_login(consumer.config)
        consumer.config.update(hide_secrets(consumer.config))
        self.warn_of_reset(consumer.config["auto_offset_reset"])
        self.consumer = consumer
        name = f"KafkaConsumer of group {consumer.config['group_id']}"
        forbid_after_fork(consumer, name)
        self._note_closed = warn_unless_closed(consumer, name)
        self._commit_connection = CommitConnection(consumer)
        for method in ("commit", "commit_async"):
            setattr(consumer, method, self._unless_failed(getattr(consumer, method)))
        self.session.timeout_seconds = _private_api.session_seconds(consumer)
        _private_api.hook_session(
            consumer,
            now=self.session.now,
            on_joined=self.session.begin,
            on_confirmed=self.session.confirm,
            on_lost=self.session.suspend,
            on_fenced=lambda: self.on_fenced(consumer.config["group_instance_id"]),
        )
        _private_api.hook_delivery(consumer, before_poll=self._before_poll, may_deliver=self.session.is_certain)
        _private_api.hook_rebalance_callbacks(
            consumer,
            on_join_prepare=lambda: self.on_join_prepare(lost=self.is_generation_lost),
            on_elected_leader=self._on_elected_leader,
            on_assigned=self._on_assigned,
            on_join_complete=self.on_join_complete,
            on_unsubscribed_topics=self._on_unsubscribed_topics,
            on_close=lambda: self.on_close(lost=self.is_generation_lost),
        )

    def _unless_failed(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a method: unless the group has just confirmed the member, it raises its failure, and asks no broker."""

        @wraps(original)
        def wrapper(*arguments: Any, **settings: Any) -> Any:
            if self.failure is not None and not self.session.is_certain():
                raise self.failure
            return original(*arguments, **settings)

        return wrapper

    async def on_close(self, *, lost: bool = False) -> None:
        """The consumer is closed; see ``ClientAdapter``."""
        self._note_closed()
        await super().on_close(lost=lost)

    def identity(self) -> dict[str, str]:
        """Return the process id, and once bound the consumer's ``group_id`` and ``client_id``."""
        config = self.consumer.config if self.consumer else {}
        return {**super().identity(), **{key: str(config[key]) for key in ("group_id", "client_id") if key in config}}

    @property
    def poll_timeout_ms(self) -> int:
        """A timeout for the next ``poll``: long while a join is under way, otherwise short to react to other events."""
        return JOINING_POLL_MS if self.joining else STABLE_POLL_MS

    @property
    def is_generation_lost(self) -> bool:
        """Whether the group has removed the member, or the member has left."""
        return _private_api.is_generation_lost(self.consumer)

    async def on_join_prepare(self, *, lost: bool) -> None:
        """1: see ``ClientAdapter``; from here to the assignment a join is under way."""
        self.joining = True
        if not self.reads_while_joining:
            self.session.suspend()
        await super().on_join_prepare(lost=lost)

    def commit(
        self,
        offsets: Mapping[kafka.TopicPartition, kafka.OffsetAndMetadata] | None = None,
        timeout_ms: int | None = None,
    ) -> bool:
        """Commit as Kafka Streams does: not in the middle of a rebalance.

        Args:
            offsets: Those to commit, by partition; None: those of all records that ``poll`` has returned.
            timeout_ms: Milliseconds until ``KafkaTimeoutError``; None: the consumer's default.

        Returns:
            False if a rebalance is under way, or the group has removed the member: nothing is committed. The next
            ``poll`` goes on with the rebalance, and a commit after it contains the partitions that are still owned.

        Raises:
            KafkaError: Any other error of ``KafkaConsumer.commit``.
        """
        try:
            self.consumer.commit(offsets, timeout_ms=timeout_ms)
        except (kafka.errors.RebalanceInProgressError, kafka.errors.CommitFailedError):
            return False
        return True

    # -- called by poll, on the user's thread -------------------------------------------------------------------------

    def _before_poll(self) -> None:
        """Raise the failure of the member; while ownership is in doubt, ask the coordinator."""
        self.raise_failure()
        if self.session.in_doubt and self._asked_at + ASK_SECONDS <= (now := self.session.now()):
            self._asked_at = now
            _private_api.send_heartbeat(self.consumer)

    # -- called by kafka-python, on its I/O thread --------------------------------------------------------------------

    def metadata(self, topics: Iterable[str]) -> bytes:
        """Return this member's subscription for JoinGroup (step 2)."""
        # Without a consumer the first probing rebalance would fail; the first poll is the better place to say so.
        if self.consumer is None:
            raise UsageError("call bind(consumer) before the first poll")
        return self.subscription(topics, [TopicPartition(*partition) for partition in self.consumer.assignment() or ()])

    def _on_elected_leader(self, subscriptions: Mapping[str, bytes]) -> None:
        self._subscriptions = subscriptions

    def assign(self, cluster: ClusterMetadata, members: Iterable[_private_api.JoiningMember]) -> dict[str, bytes]:
        """Return the assignments of all members for SyncGroup, as their leader (steps 3 and 4)."""
        topics = sorted({topic for member in members for topic in member.metadata.topics})
        snapshot, plan = self.snapshot_cluster(partition_counts(cluster, topics))
        return self.perform_assignment(snapshot, self._subscriptions, plan)

    def _on_assigned(self, assignment: bytes) -> None:
        self._assignment = assignment

    def on_assignment(self, assignment: object, generation: int) -> None:  # noqa: ARG002  # decoded by kafka-python
        """Take the assignment, and rejoin if version probing asks for it (step 5)."""
        member_id = self.consumer.group_metadata().member_id
        self.receive_assignment(self._assignment, MemberGeneration(generation, member_id))
        self.joining = self.rejoins_now

    def _on_unsubscribed_topics(self, topics: Iterable[str], generation: int, member_id: str) -> None:
        """Rejoin, now or later, instead of taking an assignment of another topology (step 5)."""
        self.on_unsubscribed_topics(topics, MemberGeneration(generation, member_id))
        self.joining = self.rejoins_now

    # -- called by ClientAdapter, on any thread (step 7) --------------------------------------------------------------

    def rejoin(self) -> None:
        """Make the next ``poll`` rejoin."""
        _private_api.request_rejoin(self.consumer)

    def withdraw_rejoin(self) -> None:
        """Make the next ``poll`` not rejoin, although the consumer has revoked partitions."""
        _private_api.withdraw_rejoin(self.consumer)

    def leave_and_join(self) -> None:
        """Make the next ``poll`` leave the group and join it as a new member."""
        _private_api.leave_group(self.consumer)

    def call_soon(self, call: Callable[[], object]) -> None:
        """Call something on the I/O thread."""
        _private_api.call_soon(self.consumer, call)

    def call_later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call something on the I/O thread after so many seconds."""
        _private_api.call_later(self.consumer, seconds, call)

    # -- for a caller that uses the consumer as a member only ---------------------------------------------------------

    @staticmethod
    def new_client(**settings: Any) -> Any:
        """Return what ``kafka_client`` of a consumer does, with a limit of memory also while it bootstraps."""
        return _private_connection.new_client(**settings)

    @staticmethod
    def interrupt_bootstrap(client: Any) -> None:
        """Make a consumer whose constructor waits for a broker fail; ``client`` is its `new_client`."""
        _private_connection.interrupt_bootstrap(client)

    def send_commit(
        self,
        offsets: Mapping[kafka.TopicPartition, kafka.OffsetAndMetadata],
        answered: Callable[[BaseException | None], None],
        allowed: Callable[[], bool],
    ) -> None:
        """Commit if ``allowed`` still holds when the coordinator is known; the I/O thread reports the error or None."""
        _private_api.send_commit(self.consumer, offsets, answered, allowed)

    def commit_now(self, offsets: Mapping[tuple[str, int], tuple[int, str]], seconds: float) -> bool:
        """Commit on the calling thread; return whether it has succeeded. If not, `send_commit` finds out why."""
        return self._commit_connection.commit(offsets, seconds)

    def close_commit_connection(self) -> None:
        """End a `commit_now` under way. From any thread."""
        if self.consumer is not None:
            self._commit_connection.close()
