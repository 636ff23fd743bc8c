"""``StreamsConsumer``: a ``confluent_kafka.Consumer`` whose tasks the Streams assignor hands out."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from threading import RLock, get_ident
from types import MappingProxyType, TracebackType
from typing import Any, Final, Self

import kafka
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from assignor.clients.confluent.errors import as_kafka_error, failed, refusal
from assignor.clients.confluent.group_metadata import group_metadata
from assignor.clients.confluent.member_admin import MemberAdmin
from assignor.clients.confluent.membership import Assignor, Membership, Offsets
from assignor.clients.confluent.records import WAIT_SECONDS, Records, name_of
from assignor.clients.confluent.settings import Settings
from assignor.clients.looking_up import Admin
from assignor.errors import FatalError
from assignor.task_listener import TaskListener
from assignor.topology import Topology
from subscription_codec import TaskId

log = logging.getLogger(__name__)

_FOR_EVER: Final = float("inf")
_CLOSE_SECONDS: Final = 15.0


class Closed(RuntimeError):
    """What a ``Consumer`` raises too; a name of its own tells it from others."""


class StreamsConsumer:
    """A member of a Kafka Streams group that reads with librdkafka; used by one thread, closed by any.

    `config` has librdkafka's keys and, beside them, Kafka Streams' (``upgrade.from``, ``num.standby.replicas``, ...).
    The `listener` is told which tasks come and go, on the thread that calls `poll`. An `admin` looks up lags and
    creates internal topics if this member leads: True for one of its own, False for none, or one of yours
    (``clients.looking_up.Admin``). `member` overrides settings of the kafka-python consumer that is the member. What
    else is given goes to the assignor (``clients.plugged.Plugged``: process_id, observer, task_assignor, watches, ...).

    Raises ``ConfigException`` for a key that cannot be honoured, ``KafkaException`` for what librdkafka refuses. Later
    ``FatalError`` comes out of `poll`, and of every later one, when the membership has ended and cannot begin again.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        topology: Topology,
        *,
        listener: TaskListener | None = None,
        admin: Admin | bool = True,
        member: Mapping[str, Any] = MappingProxyType({}),
        **assignor: Any,
    ) -> None:
        settings = Settings.of(config)
        self._group = settings.group
        self._instance_id = settings.streams.group_instance_id
        self._request_seconds = settings.request_seconds
        self._on_commit = settings.on_commit
        self._commits_itself = settings.auto_commit_seconds is not None
        self._error_cb = settings.records.get("error_cb")
        reading = {**settings.records, "error_cb": self._heard_of}
        self._records = Records(reading, listener or TaskListener(), giving_up=self._commit_what_was_read)
        self._own_admin = MemberAdmin(settings.group, settings.admin) if admin is True else None
        asked = self._own_admin if isinstance(admin, bool) else admin
        self._membership = Membership(
            {**settings.member, **member},
            lambda relay: Assignor(topology, settings.streams, listener=relay, admin=asked, **assignor),
            self._records,
            holds=self._records.holds,
            progress=self._records.progress,
            session_seconds=settings.session_seconds,
            max_poll_seconds=settings.max_poll_seconds,
            regularly=(settings.auto_commit_seconds, self._commit_by_time) if settings.auto_commit_seconds else None,
        )
        self._news = self._membership.news
        self._ready = self._records.ready
        self._lock = RLock()  # one thread at a time: `close` may be another one
        self._serving = self._closing = self._closed = False
        self._reader = get_ident()
        self._membership.start()

    def __repr__(self) -> str:
        generation = self._membership.generation
        member = f"{generation.member_id} generation {generation.number}" if generation else "not joined"
        return f"<StreamsConsumer group {self._group}: {member}>"

    # -- reading ------------------------------------------------------------------------------------------------------

    def poll(self, timeout: float = -1) -> Message | None:
        """Return the next record, or None after so many seconds; negative: wait for one.

        The `listener` is called in here. An error of a partition comes as a message, as from ``Consumer``.
        """
        if self._ready and not self._news and not self._closing:
            return self._ready.popleft()
        return self._poll(timeout)

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        """Return up to so many records; fewer when the time is over."""
        found: list[Message] = []
        deadline = _deadline(timeout)
        while True:
            with self._lock:
                if found and (self._news or self._closing or self._membership.in_doubt):
                    return found
                if found or self._serve():  # never both: a callback would commit what the user has not even seen
                    found += self._records.take(num_messages - len(found), _left(deadline))
            if len(found) >= num_messages or time.monotonic() >= deadline:
                return found

    def __iter__(self) -> Iterator[tuple[TaskId, Message]]:
        """Yield each record with the task that reads it, until this is closed; ``KafkaException`` for an error."""
        tasks = self._records.task_of
        while not self._closed:
            try:
                message = self.poll()
            except Closed:
                return
            if message is None:
                continue
            if error := message.error():
                if error.code() != KafkaError._PARTITION_EOF:
                    raise KafkaException(error)
                continue
            yield tasks(message), message

    def _poll(self, timeout: float) -> Message | None:
        deadline = _deadline(timeout)
        while True:
            with self._lock:
                if self._serve():
                    self._records.fetch(_left(deadline))
                    if self._ready:
                        return self._ready.popleft()
            if time.monotonic() >= deadline:
                return None

    def _serve(self) -> bool:
        """Do what the group wants of this thread, with the lock; say whether there may be records."""
        if self._closing and not self._serving:
            self._shut()
        self._check_open()
        self._serving, self._reader = True, get_ident()
        try:
            while self._news:
                self._news.popleft()()
        finally:
            self._serving = False
            if self._closing:
                self._shut()
        self._check_open()
        if in_doubt := self._membership.in_doubt:
            self._records.wait(WAIT_SECONDS / 5)
        return not in_doubt

    def _heard_of(self, error: KafkaError) -> None:
        """Hear what librdkafka has to say; kafka-python tries a wrong password again and again instead."""
        if (java := refusal(error)) and self._membership.generation is None:
            self._membership.fail(FatalError(f"the membership cannot begin: {error.str()}", java))
        if self._error_cb:
            self._error_cb(error)
        else:
            log.error("group %s: %s", self._group, error.str())

    # -- committing ---------------------------------------------------------------------------------------------------

    def commit(
        self,
        message: Message | None = None,
        offsets: Iterable[TopicPartition] | None = None,
        asynchronous: bool = True,
    ) -> list[TopicPartition] | None:
        """Commit as this member in this generation: behind `message`, or `offsets`, or behind all that was handed out.

        Asynchronous: ``on_commit`` is called in a later `poll`, if it is configured. Raises ``KafkaException``:
        ILLEGAL_GENERATION or UNKNOWN_MEMBER_ID if others have these partitions now or may have, REBALANCE_IN_PROGRESS
        if a rebalance does not end, _NO_OFFSET if there is nothing (and it is not asynchronous).
        """
        wanted = self._to_commit(message, offsets)
        if not wanted and not asynchronous:
            raise failed(KafkaError._NO_OFFSET, "nothing has been read since the tasks were assigned")
        if not wanted:
            return None
        try:
            if asynchronous:
                self._membership.commit_later(_offsets(wanted), partial(self._committed, wanted))
                return None
            self._membership.commit(_offsets(wanted), self._request_seconds)
        except kafka.errors.KafkaError as error:
            raise KafkaException(as_kafka_error(error)) from error
        return wanted

    def _to_commit(self, message: Message | None, offsets: Iterable[TopicPartition] | None) -> list[TopicPartition]:
        if message is not None and offsets is not None:
            raise ValueError("expected message or offsets, got both")
        with self._lock:
            self._check_open()
            if message is not None:
                offsets = [_behind(message)]
            wanted = list(self._records.positions() if offsets is None else offsets)
            for partition in wanted:
                if name_of(partition) not in self._records.tasks:
                    raise failed(
                        KafkaError.ILLEGAL_GENERATION,
                        f"{partition.topic}-{partition.partition} is not assigned to this member (any more)",
                    )
            return wanted

    def _committed(self, partitions: list[TopicPartition], error: BaseException | None) -> None:
        said = None if error is None else as_kafka_error(error)
        if self._on_commit:
            self._on_commit(said, partitions)
        elif said:
            log.warning("group %s: an asynchronous commit has failed: %s", self._group, said)

    def _commit_by_time(self) -> None:
        self.commit(asynchronous=True)

    def _commit_what_was_read(self) -> None:
        """Before tasks are given up, if this consumer commits by itself; what cannot be committed comes again."""
        if self._closed and self._reader != get_ident():
            return  # somebody else closes it: who knows how far the reader is with the last record
        if self._commits_itself and (wanted := self._to_commit(None, None)):
            try:
                self._membership.commit(_offsets(wanted), self._request_seconds)
            except kafka.errors.KafkaError as error:
                self._committed(wanted, error)

    def consumer_group_metadata(self) -> bytes:
        """Say who this member is, for ``Producer.send_offsets_to_transaction``: the broker takes offsets from no other.

        ``KafkaException`` (_STATE) before the first assignment. In ``revoked``, commit or abort the transaction.
        """
        if (generation := self._membership.generation) is None:
            raise failed(KafkaError._STATE, "this consumer has not joined its group yet: poll until it has tasks")
        return group_metadata(self._group, generation, self._instance_id)

    # -- what else a Consumer has -------------------------------------------------------------------------------------

    def memberid(self) -> str | None:
        """Return the member id, None before the first assignment."""
        generation = self._membership.generation
        return None if generation is None else generation.member_id

    def assignment(self) -> list[TopicPartition]:
        """Return the partitions that the tasks of this member read."""
        return [TopicPartition(*name) for name in sorted(self._records.tasks)]

    def position(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Return the next offset of each; OFFSET_INVALID if nothing was handed out yet."""
        with self._lock:
            return self._records.position(partitions)

    def seek(self, partition: TopicPartition) -> None:
        """Go on at another offset; in ``TaskListener.assigned``: begin there."""
        with self._lock:
            self._records.seek(partition)

    def pause(self, partitions: list[TopicPartition]) -> None:
        """Hand out nothing of these until `resume`; ``KafkaException`` if one of them is not assigned."""
        with self._lock:
            self._records.pause(partitions)

    def resume(self, partitions: list[TopicPartition]) -> None:
        """Go on with these."""
        with self._lock:
            self._records.resume(partitions)

    def committed(self, partitions: list[TopicPartition], timeout: float = -1) -> list[TopicPartition]:
        """See ``Consumer.committed``."""
        return self._records.consumer.committed(partitions, timeout=timeout)

    def get_watermark_offsets(
        self, partition: TopicPartition, timeout: float = -1, cached: bool = False
    ) -> tuple[int, int]:
        """See ``Consumer.get_watermark_offsets``."""
        return self._records.consumer.get_watermark_offsets(partition, cached=cached, timeout=timeout)

    def offsets_for_times(self, partitions: list[TopicPartition], timeout: float = -1) -> list[TopicPartition]:
        """See ``Consumer.offsets_for_times``."""
        return self._records.consumer.offsets_for_times(partitions, timeout=timeout)

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> Any:
        """See ``Consumer.list_topics``."""
        consumer = self._records.consumer
        return consumer.list_topics(timeout=timeout) if topic is None else consumer.list_topics(topic, timeout)

    # -- the end ------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Give up the tasks (``revoked`` is called here), leave the group, stop; from any thread, also in a callback.

        Called in a callback of the listener, it happens when that has returned.
        """
        self._closing = True
        with self._lock:
            if not self._serving:
                self._shut()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._commits_itself = False  # nobody knows what has become of the last record
        self.close()

    def _shut(self) -> None:
        """Close, once: this thread does what leaving the group asks of the user's."""
        if self._closed:
            return
        self._closed = self._serving = True
        errors: list[Exception] = []
        try:
            self._membership.stop()
            deadline = time.monotonic() + _CLOSE_SECONDS
            while (alive := self._membership.is_alive(WAIT_SECONDS / 5)) or self._news:
                try:
                    while self._news:
                        self._news.popleft()()
                except FatalError:
                    break  # said before, and this is the end of it
                except Exception as error:
                    errors.append(error)
                if alive and time.monotonic() > deadline:
                    break
        finally:
            self._membership.abandon()
            self._records.close()
            if self._own_admin:
                self._own_admin.close()
            self._news.clear()
            self._news.append(self._check_open)
            self._serving = False
        if errors:
            raise errors[0]

    def _check_open(self) -> None:
        if self._closed and not self._serving:
            raise Closed("Consumer closed")


def _deadline(timeout: float) -> float:
    return _FOR_EVER if timeout < 0 else time.monotonic() + timeout


def _left(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())  # to librdkafka less than nothing is for ever


def _behind(message: Message) -> TopicPartition:
    topic, number, offset = message.topic(), message.partition(), message.offset()
    if message.error() is not None or topic is None or number is None or offset is None:
        raise ValueError(f"expected a record to commit, got the error {message.error()}")
    return TopicPartition(topic, number, offset + 1)


def _offsets(partitions: Iterable[TopicPartition]) -> Offsets:
    return {
        kafka.TopicPartition(partition.topic, partition.partition): kafka.OffsetAndMetadata(
            partition.offset, partition.metadata or "", -1
        )
        for partition in partitions
    }
