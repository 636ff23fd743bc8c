"""The Streams assignor of an ``AIOKafkaConsumer``.

It works as `clients.kafka_python` does, with these differences of aiokafka (0.14.0); the steps are numbered as
in ``clients.adapter``:

* Everything runs in the event loop. An admin may block, so a leader calls it on a thread while the coordinator awaits.
* The protocol is eager only. Beside cooperative members that is safe: this member revokes all partitions before it
  rejoins, and the partitions that other members keep are in their bytes, which are passed on whole (aiokafka would drop
  that part).
* With two assignors aiokafka sends four JoinGroup requests instead of one, so `bind` requires a single assignor.
* Without partitions, and without a call that fetches records, a consumer cannot rejoin after ``max_poll_interval_ms``
  (aiokafka issue 1187). A member without partitions blocks none, so it counts as polled for as long.
* aiokafka turns every exception of an assignor into a ``KafkaError`` and raises it once; it only logs exceptions of
  listeners. The consumer's methods are wrapped to raise the original exceptions instead.
* Its heartbeats have no instance id, so a broker could not fence a static member: `bind` adds it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import wraps
from typing import Any, ClassVar, Final

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError

from streams_assignor.clients._lifetimes import forbid_after_fork
from streams_assignor.clients._settings_check import check_heartbeat, check_login, hide_secrets
from streams_assignor.clients.adapter import ClientAdapter, ClusterMetadata, partition_counts
from streams_assignor.clients.aiokafka import _private_api
from streams_assignor.clients.aiokafka._private_answers import check_answers
from streams_assignor.clients.hooks import AsyncCall, run_before
from streams_assignor.cluster import ClusterSnapshot
from streams_assignor.errors import FatalError, UsageError
from streams_assignor.protocol.internal_topics import InternalTopicPlan

DOUBT_POLL_SECONDS: Final = 0.05
"""Time between two looks at the session while ownership is in doubt."""


class StreamsPartitionAssignor(ClientAdapter):
    """The Streams assignor for one consumer: pass it as ``partition_assignment_strategy=[streams]``, then call `bind`.

    Arguments: see ``ClientAdapter``. Everything is called in the event loop of the consumer. Methods of the listener
    may be ``async def``, and may use the consumer. ``start``, ``getone`` and ``getmany`` raise the exception that
    terminated the member (``FatalError``), also in every later call. One of them raises an exception of the listener,
    once.
    """

    cooperative: ClassVar[bool] = False

    def _prepare(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._callbacks_hooked = False
        self._listener_error: Exception | None = None
        self._callback_lock = asyncio.Lock()
        self._fetch_context = ExitStack()
        self._cluster: ClusterSnapshot | None = None
        self._plan: InternalTopicPlan | None = None
        self._subscriptions: Mapping[str, bytes] = {}
        self._assignment = b""

    def bind(self, consumer: AIOKafkaConsumer) -> None:
        """Attach the assignor to its consumer before that starts; ``UsageError`` if it is not configured for it.

        ``ConfigException`` for timeouts or a password that cannot work, which aiokafka would accept.
        """
        if (strategy := _private_api.assignment_strategy(consumer)) != [self]:
            raise UsageError(
                "expected a consumer with this assignor, and no other, as its partition_assignment_strategy, "
                f"got {strategy}"
            )
        _private_api.check_private_names(consumer)
        _private_api.limit_memory(consumer)
        check_answers(consumer)
        check_heartbeat(*_private_api.session_and_heartbeat_ms(consumer))
        check_login(login := _private_api.login(consumer))
        hide_secrets(login)  # in the logs of aiokafka
        self.warn_of_reset(_private_api.auto_offset_reset(consumer))
        self.consumer = consumer
        forbid_after_fork(consumer, "this AIOKafkaConsumer")
        self.session.timeout_seconds = _private_api.session_seconds(consumer)
        consumer.start = self._raising_failure(consumer.start, self._before_start)
        consumer.getone = self._getone(consumer.getone)
        consumer.getmany = self._raising_failure(self._getmany(consumer.getmany))
        consumer.commit = self._unless_failed(consumer.commit)
        consumer.stop = run_before(self._before_stop, consumer.stop)

    # -- called by aiokafka -------------------------------------------------------------------------------------------

    def metadata(self, topics: Iterable[str]) -> bytes:
        """Return this member's subscription for JoinGroup (step 2)."""
        if self.consumer is None:
            raise UsageError("call bind(consumer) before the consumer is started")
        if not self._callbacks_hooked:
            _private_api.hook_rebalance_callbacks(
                self.consumer,
                on_join_prepare=self._on_join_prepare,
                on_elected_leader=self._on_elected_leader,
                on_assigned=self._on_assigned,
                on_join_complete=self._on_join_complete,
            )
            _private_api.hook_session(
                self.consumer,
                now=self.session.now,
                on_joined=self.session.begin,
                on_confirmed=self.session.confirm,
                on_lost=self._on_lost,
                on_fenced=self._on_fenced,
            )
            self._callbacks_hooked = True
        return self.subscription(topics)

    def assign(self, cluster: ClusterMetadata, members: Mapping[str, object]) -> dict[str, bytes]:  # noqa: ARG002
        """Return the assignments of all members for SyncGroup, as their leader (step 4)."""
        assert self._cluster is not None, "_on_elected_leader runs before"
        return self.perform_assignment(self._cluster, self._subscriptions, self._plan)

    def on_assignment(self, assignment: _private_api.AiokafkaAssignment) -> None:
        """Take the assignment, and rejoin if version probing asks for it (step 5)."""
        self._keep_active(without_partitions=not assignment.partitions())
        self.receive_assignment(self._assignment, _private_api.generation(self.consumer))

    # -- called by ClientAdapter, on any thread (step 7) --------------------------------------------------------------

    def rejoin(self) -> None:
        """Make the consumer rejoin in the background."""
        self._call_soon_threadsafe(lambda: _private_api.request_rejoin(self.consumer))

    def leave_and_join(self) -> None:
        """Make the consumer leave the group and join it again, in the background."""
        self._call_soon_threadsafe(lambda: _private_api.leave_group(self.consumer))

    def call_later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call something in the event loop after so many seconds."""
        self._call_soon_threadsafe(lambda: asyncio.get_running_loop().call_later(seconds, call))

    def _call_soon_threadsafe(self, call: Callable[[], object]) -> None:
        # The thread that polls features may outlive the loop.
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call)

    # -- hooks of the coordinator (steps 1, 3 and 6) ------------------------------------------------------------------

    def _on_lost(self) -> None:
        self.session.suspend()
        _private_api.stop_delivery(self.consumer)

    def _on_fenced(self) -> None:
        self.on_fenced(_private_api.instance_id(self.consumer))
        _private_api.stop_delivery(self.consumer)
        _private_api.abort_waiters(self.consumer, KafkaError("this member is fenced"))

    async def _on_join_prepare(self) -> None:
        self.session.suspend()
        _private_api.stop_delivery(self.consumer)
        lost = _private_api.is_generation_lost(self.consumer)
        async with self._callback_lock:
            await self._run_callback(self.on_join_prepare(lost=lost))

    async def _on_elected_leader(self, cluster: ClusterMetadata, subscriptions: Mapping[str, bytes]) -> None:
        self._subscriptions = subscriptions
        counts = partition_counts(cluster, self.assignor.topology.source_topics)
        self._cluster, self._plan = await asyncio.to_thread(self.snapshot_cluster, counts)

    def _on_assigned(self, assignment: bytes) -> None:
        self._assignment = assignment

    async def _on_join_complete(self) -> None:
        async with self._callback_lock:
            await self._run_callback(self.on_join_complete())

    async def _run_callback(self, callback: Awaitable[None]) -> None:
        try:
            await callback
        except Exception as error:
            self._listener_error = error
            _private_api.abort_waiters(self.consumer, KafkaError(f"the task listener has failed: {error!r}"))

    def _keep_active(self, *, without_partitions: bool) -> None:
        self._fetch_context.close()
        if without_partitions:
            self._fetch_context.enter_context(_private_api.fetch_context(self.consumer))

    # -- wrapped around the consumer's methods ------------------------------------------------------------------------

    async def _before_start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._watch_doubt()
        # The coordinator, which has the hooks, exists only after the first JoinGroup, which needs the offset sums.
        await self.on_join_prepare(lost=False)
        if self._admin and self.assignor.topology.repartition_topics:
            # Every member creates missing topics: a consumer that looks one up makes the broker create it, with the
            # wrong number of partitions, or never finds it.
            await asyncio.to_thread(self.snapshot_cluster, {})

    async def _before_stop(self) -> None:
        async with self._callback_lock:
            self._fetch_context.close()
            _private_api.consume_pending_error(self.consumer)
            await self.on_close(lost=_private_api.is_generation_lost(self.consumer))

    def _getone(self, original: AsyncCall) -> AsyncCall:
        is_certain = self.session.is_certain

        @wraps(original)
        async def getone(*partitions: Any) -> Any:  # per record: one look at the clock
            while True:
                if self.failure is not None or self._listener_error is not None:
                    self._raise_failure()
                try:
                    record = await original(*partitions)
                except KafkaError:
                    self._raise_failure()
                    raise
                if is_certain() or _private_api.is_assigned_manually(self.consumer):
                    return record
                _private_api.unread(self.consumer, {TopicPartition(record.topic, record.partition): record.offset})
                await self._wait_in_doubt(DOUBT_POLL_SECONDS)

        return getone

    def _getmany(self, original: AsyncCall) -> AsyncCall:
        @wraps(original)
        async def getmany(*partitions: Any, timeout_ms: int = 0, max_records: int | None = None) -> Any:
            deadline = self.session.now() + timeout_ms / 1000
            while self.session.in_doubt:
                if (left := deadline - self.session.now()) <= 0:
                    self._raise_failure()
                    return {}
                await self._wait_in_doubt(min(left, DOUBT_POLL_SECONDS))
            left_ms = max(0.0, deadline - self.session.now()) * 1000 if timeout_ms else timeout_ms
            batch = await original(*partitions, timeout_ms=left_ms, max_records=max_records)
            if not batch or self.session.is_certain() or _private_api.is_assigned_manually(self.consumer):
                return batch
            _private_api.unread(self.consumer, {partition: records[0].offset for partition, records in batch.items()})
            return {}

        return getmany

    async def commit(self, offsets: Mapping[TopicPartition, int | tuple[int, str]] | None = None) -> bool:
        """Commit as Kafka Streams does: not in the middle of a rebalance.

        Args:
            offsets: Those to commit, by partition; None: those of all records that were returned.

        Returns:
            False if a rebalance is under way, has revoked the partitions, or the group has removed the member: nothing
            is committed. Other members read those records again.

        Raises:
            KafkaError: Any other error of ``AIOKafkaConsumer.commit``.
        """
        try:
            await self.consumer.commit(offsets)
        except CommitFailedError:
            return False
        except IllegalStateError:
            if not self.consumer.subscription():
                raise
            return False
        return True

    async def _wait_in_doubt(self, seconds: float) -> None:
        """Wait for the answer to the next heartbeat."""
        _private_api.check_errors(self.consumer)
        self._raise_failure()
        await asyncio.sleep(seconds)

    def _watch_doubt(self) -> None:
        """End the calls that wait for records when ownership has been in doubt for too long."""
        if self._closed or self.failure:
            return
        try:
            self.raise_failure()
        except FatalError as error:
            _private_api.stop_delivery(self.consumer)
            _private_api.abort_waiters(self.consumer, KafkaError(str(error)))
        else:
            self.call_later(min(1.0, self.session.timeout_seconds / 4), self._watch_doubt)

    def _raising_failure(self, original: AsyncCall, first: Callable[[], Awaitable[None]] | None = None) -> AsyncCall:
        """Wrap a method: instead of aiokafka's error it raises the failure of the member or of the listener."""

        @wraps(original)
        async def wrapper(*arguments: Any, **settings: Any) -> Any:
            self._raise_failure()
            if first:
                await first()
            try:
                return await original(*arguments, **settings)
            except KafkaError:
                self._raise_failure()
                raise

        return wrapper

    def _unless_failed(self, original: AsyncCall) -> AsyncCall:
        """Wrap a method: unless the group has just confirmed the member, it raises its failure, and asks no broker."""

        @wraps(original)
        async def wrapper(*arguments: Any, **settings: Any) -> Any:
            if self.failure is not None and not self.session.is_certain():
                raise self.failure
            return await original(*arguments, **settings)

        return wrapper

    def _raise_failure(self) -> None:
        if self.failure is not None:
            raise self.failure
        if self._listener_error is not None:
            error, self._listener_error = self._listener_error, None
            raise error
