"""The records of a member's tasks: a ``confluent_kafka.Consumer`` that is told what to read, and never joins.

It has the group's name only to find the offsets that the group has committed. Everything here happens on the user's
thread. Records are fetched many at a time and handed out one by one: that is what makes up for the Python in between.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
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

from assignor.clients.confluent.errors import failed
from assignor.task_listener import Sums, TaskListener, Tasks, told_plainly
from subscription_codec import TaskId

_AT_ONCE: Final = 500
WAIT_SECONDS: Final = 0.05
"""How long to wait for records before looking whether the group wants something."""

_OFFSETS_SECONDS: Final = 1.0
_RESETS: Final[Mapping[str, int]] = MappingProxyType(
    dict.fromkeys(("smallest", "earliest", "beginning"), OFFSET_BEGINNING)
    | dict.fromkeys(("largest", "latest", "end"), OFFSET_END)
    | dict.fromkeys(("error", "none"), OFFSET_INVALID)  # librdkafka says so then
)

_OF_THE_MEMBERSHIP: Final = frozenset({KafkaError.GROUP_AUTHORIZATION_FAILED})
"""What librdkafka says of the group as well: the member hears it itself, and ends with a ``FatalError``."""

Name = tuple[str, int]  # of a partition


def name_of(partition: TopicPartition) -> Name:
    """Topic and number; a ``TopicPartition`` of confluent-kafka also compares offsets."""
    return partition.topic, partition.partition


class Records(TaskListener):
    """Reads what the member's tasks read. Tasks come and go as told, and the user's `listener` hears of it at the
    right moment: before their first record, and while they are still ours.
    """

    def __init__(self, config: Mapping[str, Any], listener: TaskListener, giving_up: Callable[[], None]) -> None:
        self.tasks: dict[Name, TaskId] = {}
        """The task that reads each partition of ours."""
        self.ready: deque[Message] = deque()
        """Fetched, and not handed out yet."""
        self.fetches = 0
        self.consumer: Final = Consumer(dict(config))
        self._listener = listener
        self._giving_up = giving_up
        self._paused: dict[Name, list[Message]] = {}  # with what was ready when they were
        self._reset = _RESETS.get(str(config.get("auto.offset.reset", "largest")), OFFSET_INVALID)
        self._unplaced: dict[Name, int | None] = {}  # ours, but not read yet: where to begin, None as long as unknown

    # -- what becomes of the tasks (``TaskListener``) -----------------------------------------------------------------

    def assigned(self, tasks: Tasks) -> None:
        """Tell the user, who may ``seek`` there, then read."""
        new = {(topic, number): task for task, partitions in tasks.items() for topic, number in partitions}
        self.tasks.update(new)
        self._unplaced.update(dict.fromkeys(new))
        try:
            told_plainly(self._listener.assigned(tasks))
        finally:
            self._place()

    def revoked(self, tasks: Tasks) -> None:
        """Tell the user, who may still commit, then stop reading."""
        try:
            self._giving_up()
            told_plainly(self._listener.revoked(tasks))
        finally:
            self._stop(tasks)

    def lost(self, tasks: Tasks) -> None:
        """Stop reading, then tell the user."""
        self._stop(tasks)
        told_plainly(self._listener.lost(tasks))

    def standby_added(self, tasks: Tasks) -> None:
        """Tell the user."""
        told_plainly(self._listener.standby_added(tasks))

    def standby_removed(self, tasks: Tasks) -> None:
        """Tell the user."""
        told_plainly(self._listener.standby_removed(tasks))

    def offset_sums(self) -> Sums:
        """Ask the user; this alone is not on the user's thread."""
        return told_plainly(self._listener.offset_sums())

    def _stop(self, tasks: Tasks) -> None:
        gone = {name for name, task in self.tasks.items() if task in tasks}
        self.tasks = {name: task for name, task in self.tasks.items() if name not in gone}
        self._drop(gone)
        read = gone - self._unplaced.keys()
        for name in gone:
            self._paused.pop(name, None)
            self._unplaced.pop(name, None)
        self.consumer.incremental_unassign([TopicPartition(*name) for name in read])

    def _place(self) -> None:
        """Begin to read where the group has committed; what is not known yet is asked for again at the next `fetch`.

        librdkafka would do it by itself, but while offsets are part of somebody's unfinished transaction it has been
        seen to give up and to begin at ``auto.offset.reset``: every record of the partition again.
        """
        if unknown := [TopicPartition(*name) for name, offset in self._unplaced.items() if offset is None]:
            with suppress(KafkaException):
                for found in self.consumer.committed(unknown, timeout=_OFFSETS_SECONDS):
                    if found.error is None:
                        self._unplaced[name_of(found)] = found.offset if found.offset >= 0 else self._reset
        placed = {name: offset for name, offset in self._unplaced.items() if offset is not None}
        if not placed:
            return
        self._unplaced = {name: None for name in self._unplaced if name not in placed}
        self.consumer.incremental_assign([TopicPartition(*name, offset) for name, offset in placed.items()])
        if paused := [TopicPartition(*name) for name in placed if name in self._paused]:
            self.consumer.pause(paused)

    # -- records ------------------------------------------------------------------------------------------------------

    def fetch(self, seconds: float) -> None:
        """Get more of them, and wait a little if there are none."""
        self.fetches += 1
        self._place_the_rest()
        self.ready.extend(_of_records(self.consumer.consume(_AT_ONCE, 0)))
        if not self.ready and (message := self.consumer.poll(min(seconds, WAIT_SECONDS))) is not None:
            self.ready.extend(_of_records([message]))

    def take(self, number: int, seconds: float) -> list[Message]:
        """Hand out at most so many; what is there, else what comes within a short time."""
        self.fetches += 1
        self._place_the_rest()
        if not self.ready:
            return _of_records(self.consumer.consume(number, min(seconds, WAIT_SECONDS)))
        return [self.ready.popleft() for _ in range(min(number, len(self.ready)))]

    def _place_the_rest(self) -> None:
        if self._unplaced:
            self._place()

    def wait(self, seconds: float) -> None:
        """Hand out nothing for a while."""
        self.fetches += 1
        time.sleep(seconds)

    def holds(self) -> bool:
        """Whether there is any task. From any thread."""
        return bool(self.tasks)

    def progress(self) -> object:
        """Something that is different whenever the user has asked for records. From any thread."""
        return self.fetches, len(self.ready)

    def task_of(self, message: Message) -> TaskId:
        """Return the task that reads where this record comes from."""
        return self.tasks[_name(message)]

    def positions(self) -> Iterator[TopicPartition]:
        """The next offset of every partition of which a record was handed out."""
        waiting = self._first_waiting()
        for partition in self.consumer.position([TopicPartition(*name) for name in self.tasks]):
            offset = waiting.get(name_of(partition), partition.offset)
            if offset >= 0:
                yield TopicPartition(partition.topic, partition.partition, offset)

    def position(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """As ``Consumer.position``: what waits here has not been handed out."""
        waiting = self._first_waiting()
        found = self.consumer.position(list(partitions))
        for partition in found:
            partition.offset = waiting.get(name_of(partition), partition.offset)
        return found

    def _first_waiting(self) -> dict[Name, int]:
        first: dict[Name, int] = {}
        for message in (*self.ready, *(message for held in self._paused.values() for message in held)):
            if message.error() is None and (offset := message.offset()) is not None:
                first.setdefault(_name(message), offset)
        return first

    def seek(self, partition: TopicPartition) -> None:
        """Go on somewhere else; in ``assigned``, begin there."""
        name = name_of(partition)
        if name in self._unplaced:
            self._unplaced[name] = partition.offset
            return
        self.consumer.seek(partition)
        self._drop({name})

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Hand nothing out of these until `resume`; what is fetched already is kept for then."""
        names = self._owned(partitions)
        self.consumer.pause([TopicPartition(*name) for name in names - self._unplaced.keys()])
        for name in names:
            self._paused.setdefault(name, [])
        waiting = list(self.ready)
        self.ready.clear()
        for message in waiting:
            (self._paused[_name(message)] if _name(message) in names else self.ready).append(message)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Go on with these."""
        names = self._owned(partitions)
        self.consumer.resume([TopicPartition(*name) for name in names - self._unplaced.keys()])
        for name in names:
            self.ready.extendleft(reversed(self._paused.pop(name, [])))

    def _owned(self, partitions: Iterable[TopicPartition]) -> set[Name]:
        names = {name_of(partition) for partition in partitions}
        for topic, number in names - self.tasks.keys():
            raise failed(KafkaError._UNKNOWN_PARTITION, f"{topic}-{number} is not assigned to this member")
        return names

    def _drop(self, names: set[Name]) -> None:
        kept = [message for message in self.ready if _name(message) not in names]
        self.ready.clear()
        self.ready.extend(kept)
        for name in names & self._paused.keys():
            self._paused[name] = []

    def close(self) -> None:
        """Stop reading."""
        with suppress(KafkaException, RuntimeError):
            self.consumer.close()


def _of_records(messages: list[Message]) -> list[Message]:
    """Leave out what is about the group."""
    return [each for each in messages if (error := each.error()) is None or error.code() not in _OF_THE_MEMBERSHIP]


def _name(message: Message) -> Name:
    """Where it comes from; what is no record may come from nowhere."""
    return message.topic() or "", message.partition() or 0
