"""The member of a classic group: a kafka-python consumer that joins, sends heartbeats and commits, and reads nothing.

Threads:

* The member's thread polls the kafka-python consumer without a pause; its partitions are paused.
* kafka-python's I/O thread runs the steps of a rebalance. It must not block, so it queues every call of the listener
  in ``callbacks`` and awaits its end.
* The user's thread runs the queued calls in ``StreamsConsumer.poll``. So a member rejoins only after the user's
  ``on_tasks_revoked`` or ``on_tasks_lost`` has returned.

If the user does not poll for ``max.poll.interval.ms``, the member leaves the group, as a Java member does, and joins
again at the next poll. ``session`` stops reading when other members may own the tasks.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Set
from functools import partial
from threading import Lock
from types import MappingProxyType
from typing import Any, ClassVar, Final

import kafka
from kafka import ConsumerRebalanceListener, KafkaConsumer
from kafka.future import Future

from streams_assignor.clients._session import Session
from streams_assignor.clients.adapter import MemberGeneration
from streams_assignor.clients.confluent._errors import as_fatal_error, as_kafka_error, is_retriable
from streams_assignor.clients.confluent._fetcher import RecordFetcher
from streams_assignor.clients.confluent._membership import Call, Membership
from streams_assignor.clients.confluent._record_buffer import Offsets
from streams_assignor.clients.kafka_python import StreamsPartitionAssignor
from streams_assignor.errors import FatalError
from streams_assignor.rebalance_listener import OffsetSums, PartitionsByTask, TaskRebalanceListener

log = logging.getLogger(__name__)

_CLOSE_MS: Final = 5000
_LIVENESS_CHECK_SECONDS: Final = 1.0
_CHECKS_PER_SESSION: Final = 5
_MEMBER_DEFAULTS: Final[Mapping[str, Any]] = MappingProxyType({"enable_auto_commit": False, "metrics_enabled": False})
_READS_NOTHING: Final = MappingProxyType({"auto_offset_reset": "earliest"})  # else `bind` warns of what it would skip


class ClassicMembership(Membership):
    """One member, from `start` to `stop`.

    Args:
        settings: those of the kafka-python consumer.
        assignor_factory: returns the assignor with the given listener.
        fetcher: called on the user's thread, which runs ``callbacks``; it knows the tasks that this thread owns.
        parts: see ``Membership``.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        assignor_factory: Callable[[TaskRebalanceListener], MemberAssignor],
        fetcher: RecordFetcher,
        **parts: Any,
    ) -> None:
        super().__init__(settings["group_id"], **parts)
        self.leave_count = 0
        """How often the member has left because the user did not poll."""
        self.adapter = assignor_factory(_UserThreadListener(self, fetcher))
        self.adapter.membership = self
        self._settings = settings
        self._fetcher = fetcher
        self._client: Any = None
        self._consumer: Any = None
        self._callbacks_discarded = False
        self._pending: set[Future] = set()
        self._lock = Lock()

    def _interrupt(self) -> None:
        if self._consumer is None and self._client is not None:
            self.adapter.interrupt_bootstrap(self._client)

    def discard_callbacks(self) -> None:
        """See ``Membership``."""
        self.adapter.close_commit_connection()
        with self._lock:
            self._callbacks_discarded = True
            waiting, self._pending = self._pending, set()
        for done in waiting:
            self._complete(done)

    @property
    def view(self) -> MemberAssignor:
        """The assignor, which is what ``StreamsConsumer.streams`` is in the classic protocol."""
        return self.adapter

    @property
    def fenced(self) -> Exception | None:
        """See ``Membership``."""
        taken = "another member has the same group.instance.id"
        return kafka.errors.FencedInstanceIdError(taken) if self.adapter.fenced else None

    @property
    def session(self) -> Session:
        """See ``Membership``."""
        return self.adapter.session

    @property
    def generation(self) -> MemberGeneration | None:
        """See ``Membership``."""
        return self.adapter.generation

    def require_joined(self) -> None:
        """See ``Membership``."""
        super().require_joined()
        if self._consumer is None:
            raise kafka.errors.CommitFailedError("this member has not joined its group yet")

    def _send_commit(
        self, offsets: Offsets, answered: Callable[[BaseException | None], None], allowed: Callable[[], bool]
    ) -> None:
        named = {
            kafka.TopicPartition(*name): kafka.OffsetAndMetadata(offset, metadata, -1)
            for name, (offset, metadata) in offsets.items()
        }
        self.adapter.send_commit(named, answered, allowed)

    def _commit_now(self, offsets: Offsets, seconds: float) -> bool:
        return self.adapter.commit_now(offsets, seconds)

    # -- on the member's thread -----------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._consumer = self._connect()
            try:
                self._poll_loop(self._consumer)
            finally:
                self._consumer.close(timeout_ms=_CLOSE_MS)
        except Exception as error:
            if self._consumer is not None or not self._stopping.is_set():
                self.fail(as_fatal_error(error), error)

    def _connect(self) -> Any:
        """Return a consumer that has reached a broker; `stop` interrupts it."""
        settings = {**_READS_NOTHING, **_MEMBER_DEFAULTS, **self._settings, "kafka_client": self._new_client}
        try:
            return KafkaConsumer(partition_assignment_strategy=[self.adapter], **settings)
        except BaseException:
            if self._client is not None:  # kafka-python closes neither its thread nor its sockets
                self._client.close()
            raise

    def _new_client(self, **settings: Any) -> Any:
        self._client = self.adapter.new_client(**settings)
        if self._stopping.is_set():
            raise kafka.errors.KafkaConnectionError("closed before it reached a broker")
        return self._client

    def _on_failure(self, failure: FatalError) -> None:
        self.adapter.on_failure(failure)

    def _poll_loop(self, consumer: Any) -> None:
        self.adapter.bind(consumer)
        consumer.subscribe(self.adapter.assignor.topology.source_topics, listener=_PausingListener(consumer))
        self.adapter.call_soon(self._check_liveness)
        if self._periodic_call:
            self.adapter.call_soon(partial(self._enqueue_periodically, *self._periodic_call))
        while not self._can_leave():
            try:
                consumer.poll(timeout_ms=self.adapter.poll_timeout_ms)
            except Exception as error:
                if self.adapter.failure or not is_retriable(error):
                    raise
                log.warning("group %s: %s", self._group, as_kafka_error(error))

    def _can_leave(self) -> bool:
        """Whether to leave now: a member with tasks first waits for the end of a join, which blocks commits."""
        waits = self.adapter.joining and self._fetcher.has_tasks()
        return self._stop_deadline_passed() if waits else self._stopping.is_set()

    # -- on the I/O thread ----------------------------------------------------------------------------------------

    def _check_liveness(self) -> None:
        """Leave the group if the user has not polled for too long; prolong the session while the group waits for it."""
        if self._stopping.is_set():
            return
        if self._poll_watchdog.expired():
            self._note_expiry()
            self.leave_count += 1
            self.adapter.leave_and_join()
        if self.adapter.joining:
            self.session.await_join()
        seconds = min(_LIVENESS_CHECK_SECONDS, self._poll_watchdog.max_poll_seconds / 4)
        self.adapter.call_later(min(seconds, self.session.timeout_seconds / _CHECKS_PER_SESSION), self._check_liveness)

    def _enqueue_periodically(self, seconds: float, call: Call) -> None:
        """Queue a call for the user's thread, now and after each interval."""
        self.callbacks.append(call)
        self.adapter.call_later(seconds, partial(self._enqueue_periodically, seconds, call))

    @property
    def poll_interval_exceeded(self) -> bool:
        """Whether the member has left because the user did not poll, and the user has not polled since."""
        return self._poll_watchdog.has_left

    async def run_on_user_thread(self, call: Call) -> None:
        """Run a call on the user's thread; return when it has ended, or when the consumer closes."""
        done = Future()
        with self._lock:
            if self._callbacks_discarded:
                return
            self._pending.add(done)
        self.callbacks.append(partial(self._run_and_wake, call, done))
        await done

    def _run_and_wake(self, call: Call, done: Future) -> None:
        """Run a call, and complete its future; on the user's thread."""
        begun = self._fetcher.begun_calls
        try:
            call()
        except BaseException:
            if self._fetcher.begun_calls == begun:  # a signal handler came before: the partitions change nevertheless
                call()
            raise
        finally:
            try:
                self._wake(done)
            except BaseException:
                self._wake(done)
                raise

    def _wake(self, done: Future) -> None:
        """Complete the future of a call that has ended; twice is as once."""
        with self._lock:
            waited = done in self._pending
        if waited:
            self._complete(done)
            with self._lock:
                self._pending.discard(done)

    def _complete(self, done: Future) -> None:
        self.adapter.call_soon(partial(_succeed, done))


class MemberAssignor(StreamsPartitionAssignor):
    """The assignor of a `Membership`: it does not rejoin while the user does not poll."""

    reads_while_joining: ClassVar[bool] = True
    fails_in_doubt: ClassVar[bool] = False  # the user's thread raises the error, and the member stays usable
    membership: ClassicMembership

    async def on_join_prepare(self, *, lost: bool) -> None:
        """Revoke tasks, and wait for the user's thread."""
        await super().on_join_prepare(lost=lost)
        if self.membership.poll_interval_exceeded:
            await self.membership.run_on_user_thread(_no_op)


class _UserThreadListener(TaskRebalanceListener):
    """Called on the I/O thread; calls the user's listener on the user's thread."""

    def __init__(self, membership: ClassicMembership, listener: TaskRebalanceListener) -> None:
        self._membership = membership
        self._listener = listener

    def on_tasks_assigned(self, tasks: PartitionsByTask) -> Awaitable[None]:
        return self._forward(lambda: self._listener.on_tasks_assigned(tasks))

    def on_tasks_revoked(self, tasks: PartitionsByTask) -> Awaitable[None]:
        before = self._membership.leave_count

        def revoke_or_lose() -> Any:
            # The user may poll so late that the member is out of the group, and other members own these tasks.
            late = self._membership.leave_count > before or not self._membership.session.is_certain()
            return self._listener.on_tasks_lost(tasks) if late else self._listener.on_tasks_revoked(tasks)

        return self._forward(revoke_or_lose)

    def on_tasks_lost(self, tasks: PartitionsByTask) -> Awaitable[None]:
        return self._forward(lambda: self._listener.on_tasks_lost(tasks))

    def on_standby_tasks_added(self, tasks: PartitionsByTask) -> Awaitable[None]:
        return self._forward(lambda: self._listener.on_standby_tasks_added(tasks))

    def on_standby_tasks_removed(self, tasks: PartitionsByTask) -> Awaitable[None]:
        return self._forward(lambda: self._listener.on_standby_tasks_removed(tasks))

    def offset_sums(self) -> OffsetSums | Awaitable[OffsetSums]:
        try:
            return self._listener.offset_sums()
        except Exception as error:  # raised on the user's thread; the member joins without sums
            self._membership.callbacks.append(partial(_raise_failure, error))
            return None

    def _forward(self, call: Callable[[], Any]) -> Awaitable[None]:
        return self._membership.run_on_user_thread(call)


class _PausingListener(ConsumerRebalanceListener):  # type: ignore[misc]  # kafka-python has no type information
    """Pauses all partitions in kafka-python, as librdkafka reads them. The seek saves a lookup of the position."""

    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer

    def on_partitions_assigned(self, assigned: Set[Any]) -> None:
        for partition in assigned:
            self._consumer.seek(partition, 0)
        self._consumer.pause(*assigned)

    def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
        """Nothing to do."""


def _raise_failure(error: Exception) -> None:
    raise error


def _succeed(done: Future) -> None:
    if not done.is_done:
        done.success(None)


def _no_op(*_: object) -> None:
    """Do nothing."""
