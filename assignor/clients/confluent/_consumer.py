"""``StreamsConsumer``: a ``confluent_kafka.Consumer`` whose tasks the Streams assignor assigns."""

from __future__ import annotations

import logging
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from threading import RLock, get_ident
from types import TracebackType
from typing import Any, Final, Self
from uuid import UUID

import kafka
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from streams_assignor.clients._lifetimes import forbid_after_fork, warn_unless_closed, weakly
from streams_assignor.clients._repeated_errors import limit_repeated_errors
from streams_assignor.clients._session import MAX_DOUBT_SESSIONS, now
from streams_assignor.clients.adapter import ClientAdapter
from streams_assignor.clients.confluent._classic_membership import ClassicMembership, MemberAssignor
from streams_assignor.clients.confluent._commit_answers import CommitAnswers, next_offset, offsets_of, topic_partitions
from streams_assignor.clients.confluent._errors import as_kafka_error, authentication_exception, kafka_exception
from streams_assignor.clients.confluent._fetcher import WAIT_SECONDS, RecordFetcher
from streams_assignor.clients.confluent._membership import Membership, PollWatchdog
from streams_assignor.clients.confluent._private_api import encode_group_metadata
from streams_assignor.clients.confluent._record_buffer import Offsets
from streams_assignor.clients.confluent._settings import ConsumerSettings
from streams_assignor.clients.confluent.streams_protocol.factory import new_streams_membership
from streams_assignor.clients.confluent.streams_protocol.view import StreamsGroupView
from streams_assignor.clients.interrupts import has_begun
from streams_assignor.clients.kafka_python import KafkaPythonAdmin
from streams_assignor.clients.leader_lookup import Admin
from streams_assignor.codec import TaskId
from streams_assignor.errors import FatalError, StreamsAssignorError, UsageError
from streams_assignor.extension import ClientExtension
from streams_assignor.observability.events import Observer
from streams_assignor.rebalance_listener import TaskRebalanceListener, check_listener
from streams_assignor.streams_assignor import check_topology
from streams_assignor.task_assignor import TaskAssignor
from streams_assignor.topology import Topology
from streams_assignor.upgrade import OURS, Release
from streams_assignor.upgrade.redaction import hide

log = logging.getLogger(__name__)

_INFINITE: Final = float("inf")
_CLOSE_TIMEOUT_SECONDS: Final = 15.0


class ConsumerClosedError(StreamsAssignorError, RuntimeError):
    """A call of a closed consumer. A ``Consumer`` raises RuntimeError too."""


class StreamsConsumer:
    """A member of a Kafka Streams group that reads with librdkafka; used by one thread, closed by any.

    Args:
        config: librdkafka's keys and Kafka Streams' (``upgrade.from``, ``num.standby.replicas``, ...). A key
            ``main.consumer.NAME`` passes the setting NAME to the kafka-python consumer that is the member.
        topology: the subtopologies of the application.
        listener: receives the changes of this member's tasks, on the thread that calls `poll`.
        admin: looks up offsets and creates internal topics if this member leads. True: one with the settings of this
            consumer. False: none.
        process_id, release, task_assignor, extension, observer: see ``clients.adapter.ClientAdapter``.

    Raises:
        ConfigException: for a key or a value that is unknown or that one of the two clients cannot use.
        UsageError: for another argument of the wrong type.
        UnknownRelease: for a `release` that there is not.
        KafkaException: for what librdkafka refuses.

    `poll` raises ``FatalError``, also in every later call, when the membership has ended and cannot start again.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        topology: Topology,
        *,
        listener: TaskRebalanceListener | None = None,
        admin: Admin | bool = True,
        process_id: UUID | None = None,
        release: Release | str = OURS,
        task_assignor: TaskAssignor | None = None,
        extension: ClientExtension | None = None,
        observer: Observer | None = None,
    ) -> None:
        check_topology(topology)
        limit_repeated_errors()
        settings = ConsumerSettings.of(config)
        self._group = settings.group_id
        self._instance_id = settings.streams_config.group_instance_id
        self._request_seconds = settings.request_seconds
        self._on_commit = settings.on_commit
        self._auto_commit_interval = settings.auto_commit_interval_seconds is not None
        self._error_cb = settings.fetcher_settings.get("error_cb")
        # The thread of the membership refers to neither of both: otherwise it would keep a consumer that is dropped.
        self._fetcher = RecordFetcher(
            {**settings.fetcher_settings, "error_cb": weakly(self._on_error)},
            check_listener(listener),
            before_revocation=weakly(self._commit_before_revocation),
            finish_commits=weakly(self._finish_commits),
        )
        fetcher: Any = weakref.proxy(self._fetcher)
        common = {
            "buffer": self._fetcher.buffer,
            "poll_watchdog": PollWatchdog(
                weakly(self._fetcher.progress), settings.max_poll_seconds, weakly(self._fetcher.unknown_offsets)
            ),
            "periodic_call": (settings.auto_commit_interval_seconds, weakly(self._auto_commit_now))
            if settings.auto_commit_interval_seconds
            else None,
        }
        self._admin: KafkaPythonAdmin | None = None
        self._membership: Membership
        if settings.streams_protocol:
            without_effect = {
                "task_assignor": task_assignor,
                "extension": extension,
                "release": release not in (OURS, OURS.name),
            }
            self._membership = new_streams_membership(
                settings,
                topology,
                fetcher,
                process_id=process_id,
                observer=observer,
                without_effect=[name for name, value in without_effect.items() if value],
                **common,
            )
        else:
            if admin is True:
                self._admin = KafkaPythonAdmin(
                    settings.group_id,
                    replication_factor=settings.replication_factor,
                    **settings.admin_settings,
                )

            def new_assignor(user_thread_listener: TaskRebalanceListener) -> MemberAssignor:
                return MemberAssignor(
                    topology,
                    settings.streams_config,
                    process_id=process_id,
                    release=release,
                    listener=user_thread_listener,
                    task_assignor=task_assignor,
                    admin=self._admin if isinstance(admin, bool) else admin,
                    extension=extension,
                    observer=observer,
                )

            self._membership = ClassicMembership(
                settings.member_settings,
                new_assignor,
                fetcher,
                **common,
            )
        self._callbacks = self._membership.callbacks
        self._committer = self._membership.committer
        self._session = self._membership.session
        self._ready = self._fetcher.buffer.ready
        self._answered = CommitAnswers(self._on_commit, self._callbacks).queue if self._on_commit else None
        self._lock = RLock()  # one thread at a time: `close` may be another one
        self._in_callback = self._closing = self._closed = False
        self._polling_thread = get_ident()
        name = f"StreamsConsumer of group {self._group}"
        forbid_after_fork(self, name)
        self._note_closed = warn_unless_closed(self, name, partial(_abandon, self._membership, self._admin))
        self._membership.start()

    def __repr__(self) -> str:
        generation = self._membership.generation
        member = f"{generation.member_id} generation {generation.generation_id}" if generation else "not joined"
        return f"<StreamsConsumer group {self._group}: {member}>"

    @property
    def streams(self) -> ClientAdapter | StreamsGroupView:
        """The member: its ``generation`` and ``failure``.

        The assignor in the classic protocol, with its ``received_assignment``; in the streams protocol a view with the
        state of the ``member``.
        """
        return self._membership.view

    # -- reading ------------------------------------------------------------------------------------------------------

    def poll(self, timeout: float = -1) -> Message | None:
        """Return the next record, or None after ``timeout`` seconds; negative: block until there is one.

        Calls the `listener`. An error of a partition is returned as a message, as ``Consumer`` does.
        """
        if self._ready and not self._callbacks and not self._closing and now() <= self._session.certain_until:
            return self._ready.popleft()
        return self._poll_until(timeout)

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        """Return up to ``num_messages`` records; fewer when ``timeout`` seconds are over."""
        records: list[Message] = []
        deadline = _deadline(timeout)
        try:
            while True:
                with self._lock:
                    if records and (self._callbacks or self._closing or not self._may_return()):
                        return records
                    # Never both: a callback would commit records that this call has not returned yet.
                    if records or self._run_callbacks():
                        self._fetcher.consume(num_messages - len(records), _remaining(deadline), records)
                if len(records) >= num_messages or time.monotonic() >= deadline:
                    return records
        except BaseException:  # of a signal handler, or of librdkafka
            self._fetcher.buffer.put_back(records)
            raise

    def __iter__(self) -> Iterator[tuple[TaskId, Message]]:
        """Yield each record with its task until the consumer is closed; ``KafkaException`` for an error."""
        tasks = self._fetcher.task_of
        while not self._closed:
            try:
                message = self.poll()
            except ConsumerClosedError:
                return
            if message is None:
                continue
            if error := message.error():
                if error.code() != KafkaError._PARTITION_EOF:
                    raise KafkaException(error)
                continue
            yield tasks(message), message

    def _poll_until(self, timeout: float) -> Message | None:
        deadline = _deadline(timeout)
        while True:
            with self._lock:
                if self._run_callbacks():
                    self._fetcher.fetch(_remaining(deadline))
                    if self._ready and self._may_return():
                        return self._ready.popleft()
            if time.monotonic() >= deadline:
                return None

    def _run_callbacks(self) -> bool:
        """Run the queued callbacks, with the lock held; return whether records may be returned now."""
        if self._closing and not self._in_callback:
            self._close_now()
        self._check_open()
        self._in_callback, self._polling_thread = True, get_ident()
        try:
            self._run_queued()
        finally:
            self._in_callback = False
            if self._closing:
                self._close_now()
        self._check_open()
        if self._may_return():
            return True
        self._fetcher.idle(WAIT_SECONDS / 5)  # also before the error: a loop that goes on after it would spin
        if self._session.doubt_is_excessive():
            raise kafka_exception(
                KafkaError._TIMED_OUT,
                f"group {self._group}: no heartbeat was answered for {MAX_DOUBT_SESSIONS} session timeouts of "
                f"{self._session.timeout_seconds:g} s after the member may have been removed, so no record is returned",
            )
        return False

    def _run_queued(self) -> None:
        """Run the queued callbacks; one of them may poll, and so run those behind it."""
        while self._callbacks:
            callback = self._callbacks[0]
            try:
                self._callbacks.popleft()
                callback()
            except BaseException as error:
                if not has_begun(callback, error.__traceback__):  # a signal handler came before: the group waits for it
                    callback()
                raise

    def _may_return(self) -> bool:
        """Whether the member certainly owns the tasks, if it has any: otherwise there may be messages about errors."""
        return self._session.is_certain() or not self._fetcher.tasks

    def _on_error(self, error: KafkaError) -> None:
        """Handle an error of librdkafka; kafka-python retries a wrong password without reporting it."""
        if (java := authentication_exception(error)) and self._membership.generation is None:
            self._membership.fail(FatalError(f"the membership cannot start: {error.str()}", java))
        if self._error_cb:
            self._error_cb(error)
        else:
            log.error("group %s: %s", self._group, hide(error.str()))

    # -- committing ---------------------------------------------------------------------------------------------------

    def commit(
        self,
        message: Message | None = None,
        offsets: Iterable[TopicPartition] | None = None,
        asynchronous: bool = True,
    ) -> list[TopicPartition] | None:
        """Commit as this member in this generation: after ``message``, or ``offsets``, or after all returned records.

        Asynchronous: ``on_commit`` is called in a later `poll`, if it is configured.

        Raises:
            KafkaException: ILLEGAL_GENERATION or UNKNOWN_MEMBER_ID if other members own these partitions or may own
                them, REBALANCE_IN_PROGRESS if a rebalance does not end, _NO_OFFSET for a synchronous commit of nothing.
            UsageError: if ``message`` and ``offsets`` are given.
        """
        if message is not None and offsets is not None:
            raise UsageError("expected message or offsets, got both")
        answered = self._answered
        try:
            self._check_can_commit()
            if message is None and offsets is None:
                if asynchronous:
                    self._committer.commit_returned(answered)
                    return None
                wanted = self._committer.uncommitted()
            else:
                wanted = self._require_assigned(next_offset(message) if message is not None else offsets_of(offsets))
            if not asynchronous:
                return self._commit_and_wait(wanted)
            if wanted:
                self._membership.require_joined()
                self._committer.commit(wanted, answered)
        except kafka.errors.KafkaError as error:
            raise KafkaException(as_kafka_error(error)) from error
        return None

    def _check_can_commit(self) -> None:
        if self._closing:
            with self._lock:  # until `close` has ended
                self._check_open()
        if failure := self._membership.failure or self._membership.fenced:
            raise failure

    def _commit_and_wait(self, wanted: Offsets) -> list[TopicPartition]:
        if not wanted:
            raise kafka_exception(KafkaError._NO_OFFSET, "nothing has been read since the tasks were assigned")
        self._membership.commit(wanted, self._request_seconds)
        return topic_partitions(wanted)

    def _require_assigned(self, wanted: Offsets) -> Offsets:
        for topic, number in wanted.keys() - self._fetcher.tasks.keys():
            raise kafka_exception(
                KafkaError.ILLEGAL_GENERATION, f"{topic}-{number} is not assigned to this member (any more)"
            )
        return wanted

    def _auto_commit_now(self) -> None:
        self._committer.commit_returned(self._answered)

    def _commit_before_revocation(self) -> None:
        """Commit before tasks are revoked, if auto commit is on; records whose commit fails are read again."""
        if self._closed and self._polling_thread != get_ident():
            return  # closed by another thread: the polling thread may still process its last record
        if self._auto_commit_interval and (wanted := self._committer.uncommitted()):
            try:
                self._membership.commit(wanted, self._request_seconds)
            except kafka.errors.KafkaError as error:
                if self._on_commit:
                    self._on_commit(as_kafka_error(error), topic_partitions(wanted))
                else:
                    log.warning("group %s: a commit has failed: %s", self._group, as_kafka_error(error))

    def _finish_commits(self, *, lost: bool) -> None:
        """Let no commit outlive the ownership of its partitions."""
        error = kafka.errors.CommitFailedError("the partitions are not assigned to this member any more")
        self._committer.finish(0 if lost else self._request_seconds, error)

    def consumer_group_metadata(self) -> bytes:
        """Return this member and its generation for ``Producer.send_offsets_to_transaction`` (KIP-447).

        ``KafkaException`` (_STATE) before the first assignment. In ``on_tasks_revoked``, commit or abort the
        transaction.
        """
        if (generation := self._membership.generation) is None:
            raise kafka_exception(
                KafkaError._STATE, "this consumer has not joined its group yet: poll until it has tasks"
            )
        return encode_group_metadata(self._group, generation, self._instance_id)

    # -- other methods of Consumer ------------------------------------------------------------------------------------

    def memberid(self) -> str | None:
        """Return the member id, None before the first assignment."""
        generation = self._membership.generation
        return None if generation is None else generation.member_id

    def assignment(self) -> list[TopicPartition]:
        """Return the partitions that the tasks of this member read."""
        return [TopicPartition(*name) for name in sorted(self._fetcher.tasks)]

    def position(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Return the next offset of each partition; OFFSET_INVALID before its first record."""
        with self._lock:
            return self._fetcher.position(partitions)

    def seek(self, partition: TopicPartition) -> None:
        """Continue at another offset; in ``TaskRebalanceListener.on_tasks_assigned``: start there."""
        with self._lock:
            self._fetcher.seek(partition)

    def pause(self, partitions: list[TopicPartition]) -> None:
        """Return no record of these partitions until `resume`; ``KafkaException`` if one of them is not assigned."""
        with self._lock:
            self._fetcher.pause(partitions)

    def resume(self, partitions: list[TopicPartition]) -> None:
        """Return records of these partitions again."""
        with self._lock:
            self._fetcher.resume(partitions)

    def committed(self, partitions: list[TopicPartition], timeout: float = -1) -> list[TopicPartition]:
        """See ``Consumer.committed``; a negative ``timeout`` is `socket.timeout.ms`, or 30 s, here and below."""
        return self._fetcher.consumer.committed(partitions, timeout=self._limited(timeout))

    def get_watermark_offsets(
        self, partition: TopicPartition, timeout: float = -1, cached: bool = False
    ) -> tuple[int, int]:
        """See ``Consumer.get_watermark_offsets``."""
        return self._fetcher.consumer.get_watermark_offsets(partition, cached=cached, timeout=self._limited(timeout))

    def offsets_for_times(self, partitions: list[TopicPartition], timeout: float = -1) -> list[TopicPartition]:
        """See ``Consumer.offsets_for_times``."""
        return self._fetcher.consumer.offsets_for_times(partitions, timeout=self._limited(timeout))

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> Any:
        """See ``Consumer.list_topics``."""
        consumer, seconds = self._fetcher.consumer, self._limited(timeout)
        return consumer.list_topics(timeout=seconds) if topic is None else consumer.list_topics(topic, seconds)

    def _limited(self, timeout: float) -> float:
        """Return the limit of a request: librdkafka waits for ever for a broker that does not answer."""
        return self._request_seconds if timeout < 0 else timeout

    # -- the end ------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Revoke the tasks (which calls the listener) and leave the group; from any thread.

        In a callback of the listener it takes effect when the callback has returned.
        """
        self._closing = True
        with self._lock:
            if not self._in_callback:
                self._close_now()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._auto_commit_interval = False  # the last record may not have been processed
        self.close()

    def _close_now(self) -> None:
        """Close once, and run the callbacks that leaving the group queues for the user's thread."""
        if self._closed:
            return
        self._closed = self._in_callback = True
        errors: list[Exception] = []
        try:
            self._membership.stop()
            deadline = time.monotonic() + _CLOSE_TIMEOUT_SECONDS
            while (alive := self._membership.is_alive(WAIT_SECONDS / 5)) or self._callbacks:
                try:
                    while self._callbacks:
                        self._callbacks.popleft()()
                except FatalError:
                    break  # raised before by poll
                except Exception as error:
                    errors.append(error)
                if alive and time.monotonic() > deadline:
                    break
        finally:
            self._membership.discard_callbacks()
            self._callbacks.clear()
            self._finish_commits(lost=True)
            while self._callbacks:  # `on_commit` for each of them
                self._callbacks.popleft()()
            self._fetcher.close()
            self._note_closed()
            if self._admin:
                self._admin.close()
            self._callbacks.clear()
            self._callbacks.append(self._check_open)
            self._in_callback = False
        if errors:
            raise errors[0]

    def _check_open(self) -> None:
        if self._closed and not self._in_callback:
            raise ConsumerClosedError("Consumer closed")


def _abandon(membership: Membership, admin: KafkaPythonAdmin | None) -> None:
    """Leave the group without the user's thread, when the consumer is gone."""
    membership.stop()
    membership.discard_callbacks()
    if admin:
        admin.close()


def _deadline(timeout: float) -> float:
    return _INFINITE if timeout < 0 else time.monotonic() + timeout


def _remaining(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())  # librdkafka waits without limit for a negative timeout
