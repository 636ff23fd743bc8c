"""Reads the records of a member's tasks with a ``confluent_kafka.Consumer`` that never joins a group.

It has the group id only to look up committed offsets. Everything here runs on the user's thread.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sized
from contextlib import suppress
from types import MappingProxyType
from typing import Any, Final

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_INVALID,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from streams_assignor.clients._lifetimes import weakly
from streams_assignor.clients._repeated_errors import LIBRDKAFKA
from streams_assignor.clients.confluent._errors import kafka_exception
from streams_assignor.clients.confluent._record_buffer import (
    PartitionKey,
    RecordBuffer,
    message_partition,
    next_offsets,
)
from streams_assignor.clients.confluent._settings import RESET, closest_keys
from streams_assignor.codec import TaskId
from streams_assignor.rebalance_listener import OffsetSums, PartitionsByTask, TaskRebalanceListener, require_synchronous
from streams_assignor.upgrade import ConfigException

WAIT_SECONDS: Final = 0.05
"""How long to wait for records before the callbacks of the group are checked again."""

_OFFSETS_TIMEOUT_SECONDS: Final = 1.0
_RESETS: Final[Mapping[str, int]] = MappingProxyType(
    {"earliest": OFFSET_BEGINNING, "latest": OFFSET_END, "error": OFFSET_INVALID}  # librdkafka reports the last one
)
"""Where to start without a committed offset, by the value of ``auto.offset.reset``."""

_REFUSALS: Final = frozenset(
    {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED}
)
"""Errors of committed offsets that the user has to know (Java: ``OffsetFetchResponseHandler``)."""

_MANY_PARTITIONS: Final = 100
"""With more partitions it takes longer to ask for the position of each than to look at each record of a batch."""

_QUEUE_LIMIT: Final = "queued.min.messages"
_DEFAULT_QUEUE_LIMIT: Final = 100_000


def partition_key(partition: TopicPartition) -> PartitionKey:
    """Return topic and number; a ``TopicPartition`` of confluent-kafka also compares offsets."""
    return partition.topic, partition.partition


class RecordFetcher(TaskRebalanceListener):
    """Reads the partitions of the assigned tasks, and calls the user's ``listener``.

    The listener is called before the first record of a task, and before its partitions are unassigned. A signal handler
    may raise at any point (``interrupts``), so a step that must not be left half done is done again: twice is as once.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        listener: TaskRebalanceListener,
        *,
        before_revocation: Callable[[], None],
        finish_commits: Callable[..., None],
    ) -> None:
        self.tasks: dict[PartitionKey, TaskId] = {}
        """The task that reads each assigned partition."""
        self.fetch_count = 0
        """Number of calls that asked for records, and could get them."""
        self.begun_calls = 0
        """Number of calls about changed tasks that have begun."""
        self.consumer: Final = new_consumer(config)
        self.buffer: Final = RecordBuffer(int(config.get(_QUEUE_LIMIT, _DEFAULT_QUEUE_LIMIT)), weakly(self._positions))
        """Records that are fetched but not returned yet."""
        self._listener = listener
        self._before_revocation = before_revocation
        self._finish_commits = finish_commits
        self._reset = _RESETS[config[RESET]]
        # Assigned, but not read yet: the offset to start at, None as long as it is unknown.
        self._unpositioned: dict[PartitionKey, int | None] = {}
        self._unanswered = ""  # why they are not known
        self._refused: KafkaError | None = None  # why committed offsets are not told, raised by the next fetch
        self._places: dict[PartitionKey, int] = {}  # where to read, if no later position is known

    # -- TaskRebalanceListener ----------------------------------------------------------------------------------------

    def on_tasks_assigned(self, tasks: PartitionsByTask) -> None:
        """Call the user's listener, which may ``seek``, then read the partitions."""
        self.begun_calls += 1
        try:
            self._add(tasks)
            require_synchronous(self._listener.on_tasks_assigned(tasks))
        finally:
            self._add(tasks)
            self._assign_positions()

    def on_tasks_revoked(self, tasks: PartitionsByTask) -> None:
        """Call the user's listener, which may still commit, then stop reading."""
        self.begun_calls += 1
        try:
            self._before_revocation()
            require_synchronous(self._listener.on_tasks_revoked(tasks))
        finally:
            try:
                self._finish_commits(lost=False)
            finally:
                try:
                    self._unassign(tasks)
                except BaseException:
                    self._unassign(tasks)
                    raise

    def on_tasks_lost(self, tasks: PartitionsByTask) -> None:
        """Stop reading, then call the user's listener."""
        self.begun_calls += 1
        try:
            self._finish_commits(lost=True)
            self._unassign(tasks)
        except BaseException:
            self._unassign(tasks)
            raise
        finally:
            require_synchronous(self._listener.on_tasks_lost(tasks))

    def on_standby_tasks_added(self, tasks: PartitionsByTask) -> None:
        """Call the user's listener."""
        self.begun_calls += 1
        require_synchronous(self._listener.on_standby_tasks_added(tasks))

    def on_standby_tasks_removed(self, tasks: PartitionsByTask) -> None:
        """Call the user's listener."""
        self.begun_calls += 1
        require_synchronous(self._listener.on_standby_tasks_removed(tasks))

    def offset_sums(self) -> OffsetSums:
        """Return the sums of the user's listener; the only method that is not called on the user's thread."""
        return require_synchronous(self._listener.offset_sums())

    def _add(self, tasks: PartitionsByTask) -> None:
        """Own the partitions of these tasks, unless that is so."""
        new = {(topic, number): task for task, partitions in tasks.items() for topic, number in partitions}
        owned = {**self.tasks, **new}
        unpositioned = {**self._unpositioned, **dict.fromkeys(new.keys() - self.tasks.keys())}
        self.tasks, self._unpositioned = owned, unpositioned

    def _unassign(self, tasks: PartitionsByTask) -> None:
        """Stop to read the partitions of these tasks, unless that is so."""
        gone = {name for name, task in self.tasks.items() if task in tasks}
        self.buffer.forget(gone)
        read = [TopicPartition(*name) for name in gone - self._unpositioned.keys()]
        kept = {name: task for name, task in self.tasks.items() if name not in gone}
        unpositioned = {name: offset for name, offset in self._unpositioned.items() if name not in gone}
        # With the next call of C one step: no signal handler comes between them.
        self.tasks, self._unpositioned = kept, unpositioned
        self.consumer.incremental_unassign(read)

    def _assign_positions(self) -> None:
        """Start to read at the committed offsets; unknown ones are looked up again at the next `fetch`.

        librdkafka does it by itself, but it starts at ``auto.offset.reset`` while the offsets are part of an unfinished
        transaction, and so reads every record of the partition again.
        """
        if unknown := [TopicPartition(*name) for name, offset in self._unpositioned.items() if offset is None]:
            try:
                for committed in self.consumer.committed(unknown, timeout=_OFFSETS_TIMEOUT_SECONDS):
                    if committed.error is None:
                        self._unpositioned[partition_key(committed)] = (
                            committed.offset if committed.offset >= 0 else self._reset
                        )
                    else:
                        self._note_unknown(committed.error)
            except KafkaException as error:
                self._note_unknown(error.args[0])
        placed = {name: offset for name, offset in self._unpositioned.items() if offset is not None}
        if not placed:
            return
        read = [TopicPartition(*name, offset) for name, offset in placed.items()]
        remaining: dict[PartitionKey, int | None] = {name: None for name in self._unpositioned if name not in placed}
        places = {**self._places, **placed}
        # With the next call of C one step: no signal handler comes between them.
        self._unpositioned, self._places = remaining, places
        self.consumer.incremental_assign(read)
        if paused := [TopicPartition(*name) for name in self.buffer.paused & placed.keys()]:
            self.consumer.pause(paused)

    def _note_unknown(self, error: KafkaError) -> None:
        self._unanswered = error.name()
        if error.code() in _REFUSALS:
            self._refused = error

    def unknown_offsets(self) -> str:
        """Say which committed offsets no broker tells, and why; empty if reading goes on. From any thread."""
        names = [name for name, offset in self._unpositioned.items() if offset is None]
        if not names:
            return ""
        (topic, number), more = min(names), f" and {len(names) - 1} more" if names[1:] else ""
        return f"the committed offsets of {topic}-{number}{more} were not told ({self._unanswered})"

    def _note_call(self) -> None:
        """Count a call that asks for records, unless it cannot get any as committed offsets are not known."""
        self.fetch_count += None not in self._unpositioned.values()

    # -- records ------------------------------------------------------------------------------------------------------

    def fetch(self, seconds: float) -> None:
        """Fetch more records once all are returned; wait up to ``seconds`` or ``WAIT_SECONDS`` for the first one."""
        self._note_call()
        self._assign_remaining()
        if self.buffer.ready:
            return
        buffer = self.buffer
        self._read(buffer.receive, buffer.received, buffer.batch_size, 0)
        # A plain consumer loses the one record of an interrupted poll, too.
        if buffer.received or buffer.receive_one(self.consumer.poll, min(seconds, WAIT_SECONDS)):
            buffer.fill()
            self._note_places(buffer.ready)
            buffer.fit_batch()

    def consume(self, number: int, seconds: float, into: list[Message]) -> None:
        """Append at most ``number`` records: those fetched already, otherwise those of the next ``WAIT_SECONDS``."""
        self._note_call()
        self._assign_remaining()
        buffer = self.buffer
        if not buffer.ready:
            buffer.finish_batch()  # that of the last call is not to be in memory beside the next records
        if buffer.ready:
            buffer.take(number, into)
            return
        before = self._read(buffer.pass_on, into, number, min(seconds, WAIT_SECONDS), into)
        self._note_places(into)
        if buffer.counting:
            buffer.count_returned(self._moved_since(before) if before else next_offsets(into))

    def _moved_since(self, before: Iterable[TopicPartition]) -> dict[PartitionKey, int]:
        """Return the position of each partition that has another one than before."""
        pairs = zip(before, self._read_positions(), strict=True)
        return {partition_key(now): now.offset for then, now in pairs if 0 <= now.offset != then.offset}

    def _note_places(self, messages: Collection[Message]) -> None:
        if len(self.tasks) > _MANY_PARTITIONS:
            self._places.update(next_offsets(messages))

    def _read(self, receive: Callable[..., object], received: Sized, *arguments: Any) -> list[TopicPartition]:
        """Let ``receive`` move records of librdkafka to ``received``; read again what librdkafka drops.

        It does so in a call that a signal handler ends, which the call itself runs. Returns the positions before; of
        none if there are many partitions.
        """
        before = self._read_positions() if len(self.tasks) <= _MANY_PARTITIONS else []
        count = len(received)
        try:
            receive(self.consumer.consume, *arguments)
        except BaseException:
            if len(received) == count:
                self._go_back(before)
            raise
        return before

    def _go_back(self, before: Iterable[TopicPartition]) -> None:
        self._places.update((partition_key(then), then.offset) for then in before if then.offset >= 0)
        for name, offset in self._positions().items():
            if offset >= 0 and offset != self._places[name]:  # negative: nothing was read since it was placed
                self.consumer.seek(TopicPartition(*name, self._places[name]))

    def _assign_remaining(self) -> None:
        if self._unpositioned:
            self._assign_positions()
        refused, self._refused = self._refused, None
        if refused is not None:
            raise KafkaException(refused)

    def idle(self, seconds: float) -> None:
        """Return no record for so many seconds."""
        self.fetch_count += 1
        time.sleep(seconds)

    def has_tasks(self) -> bool:
        """Whether any task is assigned. From any thread."""
        return bool(self.tasks)

    def progress(self) -> object:
        """Return a value that changes whenever the user asks for records and may get them. From any thread."""
        return self.fetch_count, None not in self._unpositioned.values() and len(self.buffer.ready)

    def task_of(self, message: Message) -> TaskId:
        """Return the task that reads the partition of this record."""
        return self.tasks[message_partition(message)]

    def position(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Return what ``Consumer.position`` does, without the records that are fetched but not returned."""
        positions = self.consumer.position(list(partitions))
        offsets = self.buffer.overlaid({partition_key(partition): partition.offset for partition in positions})
        for partition in positions:
            partition.offset = offsets[partition_key(partition)]
        return positions

    def _positions(self) -> dict[PartitionKey, int]:
        """Return the next offset of each partition that librdkafka has read; negative before its first record."""
        return {partition_key(partition): partition.offset for partition in self._read_positions()}

    def _read_positions(self) -> list[TopicPartition]:
        return self.consumer.position([TopicPartition(*name) for name in self.tasks])

    def seek(self, partition: TopicPartition) -> None:
        """Continue at another offset; in ``on_tasks_assigned``: start there."""
        name = partition_key(partition)
        if name in self._unpositioned:
            self._unpositioned[name] = partition.offset
            return
        self._places[name] = partition.offset
        self.consumer.seek(partition)
        self.buffer.discard({name})

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Return no record of these partitions until `resume`; records fetched already are kept."""
        names = self._require_assigned(partitions)
        self.consumer.pause([TopicPartition(*name) for name in names - self._unpositioned.keys()])
        self.buffer.pause(names)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Return records of these partitions again."""
        names = self._require_assigned(partitions)
        self.consumer.resume([TopicPartition(*name) for name in names - self._unpositioned.keys()])
        self.buffer.resume(names)

    def _require_assigned(self, partitions: Iterable[TopicPartition]) -> set[PartitionKey]:
        names = {partition_key(partition) for partition in partitions}
        for topic, number in names - self.tasks.keys():
            raise kafka_exception(KafkaError._UNKNOWN_PARTITION, f"{topic}-{number} is not assigned to this member")
        return names

    def close(self) -> None:
        """Stop reading."""
        with suppress(KafkaException, RuntimeError):
            self.consumer.close()


def new_consumer(config: Mapping[str, Any]) -> Consumer:
    """Return librdkafka's consumer; ``ConfigException`` for a key that is a misspelt one of this product."""
    try:
        return Consumer({"logger": logging.getLogger(LIBRDKAFKA), **config})
    except KafkaException as error:
        if error.args[0].code() == KafkaError._INVALID_ARG and (hint := closest_keys(config)):
            raise ConfigException(f"{error.args[0].str()}: {hint}") from error
        raise
