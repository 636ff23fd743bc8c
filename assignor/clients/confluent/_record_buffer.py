"""Records between librdkafka and the user, and the offsets after those that the user has received.

A call of librdkafka costs several times what taking a record from a list does, so records are fetched in batches. A
batch is small: what librdkafka has queued for itself stays bounded by its own settings, and this is next to nothing
beside it.

A signal handler may raise at any point (``interrupts``). No record is lost then: each is moved from one place to the
next by one call of C, and what belongs together is assigned together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Sized
from functools import partial
from itertools import islice, repeat, starmap
from operator import is_not
from threading import RLock
from typing import Any, Final

from confluent_kafka import KafkaError, Message

PartitionKey = tuple[str, int]
"""Topic and partition number."""

Offsets = dict[PartitionKey, tuple[int, str]]
"""The next offset of each partition, and the metadata to store with it."""

_BATCH_RECORDS: Final = 500
_BATCH_BYTES: Final = 1_000_000
_FIRST_BATCH: Final = 16
_GROUP_ERRORS: Final = frozenset({KafkaError.GROUP_AUTHORIZATION_FAILED})
"""Errors of the group, which the member receives too and raises as ``FatalError``."""

_IS_MESSAGE: Final[Any] = partial(is_not, None)
"""A function of C. The message itself counts as false if it has no value."""


class RecordBuffer:
    """A batch of fetched records that are returned one by one.

    Args:
        most_records: the largest batch.
        positions: returns the next offset of each partition that librdkafka has read, negative before the first record.

    Used by the user's thread, except `changes` and `not_committed`, which need or take the `lock`.
    """

    def __init__(self, most_records: int, positions: Callable[[], dict[PartitionKey, int]]) -> None:
        self.ready: Final[deque[Message]] = deque()
        """Records to return; what returns one takes it from the left."""
        self.batch_size = min(_FIRST_BATCH, most_records)
        """How many records to fetch next: few if they are large."""
        self.counting = False
        """Whether offsets are kept."""
        self.lock: Final = RLock()
        """Guards the offsets and the batch."""
        self.before_change: Callable[[], None] = lambda: None
        """Called, with the `lock` held, before a number of returned records loses its meaning."""
        self._most_records = max(1, min(_BATCH_RECORDS, most_records))
        self._positions = positions
        self._batch: Sequence[Message] = ()  # ends with `ready`; what is before it was returned
        self._counted = 0  # how many of `_batch` are in `_offsets`
        self._offsets: Offsets | None = None  # None as long as nothing has asked for them
        self._changed: set[PartitionKey] = set()
        self._received: deque[Message] = deque()  # not in `_batch` yet
        self._paused: dict[PartitionKey, list[Message]] = {}

    def receive(self, read: Callable[[int, float], Iterable[Message]], number: int, seconds: float) -> None:
        """Take what a call of librdkafka returns."""
        self._received.extend(*map(read, (number,), (seconds,)))

    def receive_one(self, poll: Callable[[float], Message | None], seconds: float) -> bool:
        """Take the message that a call of librdkafka may return; return whether there is anything."""
        self._received.extend(filter(_IS_MESSAGE, map(poll, (seconds,))))
        return bool(self._received)

    @property
    def received(self) -> Sized:
        """The records that were received and are not in the batch yet."""
        return self._received

    def fill(self) -> None:
        """Make the received records the next batch; the last one must have been returned."""
        self._replace(self._pending(), self._paused)

    def finish_batch(self) -> None:
        """Let go of the batch, of which all was returned, and make a batch of what an interrupted call has received."""
        if self._batch or self._received:
            self._replace(self._pending(), self._paused)

    def pass_on(
        self, read: Callable[[int, float], Iterable[Message]], number: int, seconds: float, into: list[Message]
    ) -> None:
        """Append what a call of librdkafka returns, without a batch in between."""
        first = len(into)
        into.extend(*map(read, (number,), (seconds,)))
        if any(map(Message.error, islice(into, first, None) if first else into)):
            into[first:] = _for_the_user(into[first:])

    def count_returned(self, ends: Mapping[PartitionKey, int]) -> None:
        """Note the next offsets after records that were returned without a batch."""
        with self.lock:
            self.before_change()
            if self._offsets is not None:
                self._offsets.update((name, (offset, "")) for name, offset in ends.items())
                self._changed.update(ends)

    def fit_batch(self) -> None:
        """Make the next batch as large as the records of this one let it be."""
        if self._batch:
            size = sum(map(len, self._batch)) // len(self._batch) + 1
            self.batch_size = max(1, min(self._most_records, _BATCH_BYTES // size))

    def take(self, number: int, into: list[Message]) -> None:
        """Append the next records, at most so many."""
        into.extend(starmap(self.ready.popleft, repeat((), min(number, len(self.ready)))))

    def put_back(self, messages: list[Message]) -> None:
        """Return these records again, the last ones that were returned: they are not to be committed."""
        with self.lock:
            self.before_change()
            first = _first_offsets(messages)
            if self._offsets is not None:
                self._offsets.update((name, (first[name], "")) for name in first.keys() & self._offsets.keys())
            self._store([*_for_the_user(messages), *self._pending()], self._paused)

    # -- offsets ------------------------------------------------------------------------------------------------------

    @property
    def end(self) -> int:
        """How many records of the batch were returned."""
        return len(self._batch) - len(self.ready)

    def start_counting(self) -> None:
        """Keep the offsets of returned records from now on: a user that never asks for them does not pay for it."""
        if not self.counting:
            self.counting = True
            positions = self.overlaid(self._positions())
            self._offsets = {name: (offset, "") for name, offset in positions.items() if offset >= 0}
            self._changed.update(self._offsets)
            self._counted = self.end

    def changes(self, ends: Iterable[int]) -> list[Offsets]:
        """Return for each end the next offset of each partition with records up to it that are new; of all if none is.

        The first one also has what `not_committed` has reported. It looks at each record once. Needs the lock.
        """
        if self._offsets is None:
            return []
        changes: list[Offsets] = []
        first = {name: self._offsets[name] for name in self._changed}
        self._changed.clear()
        for end in ends:
            new = self._count(end)
            if first:
                new, first = first | new, {}
            changes.append(new or dict(self._offsets))
        return changes

    def not_committed(self, names: Iterable[PartitionKey]) -> None:
        """Return these partitions from the next `changes` again."""
        with self.lock:
            if self._offsets is not None:
                self._changed.update(self._offsets.keys() & names)

    def overlaid(self, positions: dict[PartitionKey, int]) -> dict[PartitionKey, int]:
        """Return positions of librdkafka without the records that were not returned."""
        first = _first_offsets([*self.ready, *(message for held in self._paused.values() for message in held)])
        return {name: first.get(name, offset) for name, offset in positions.items()}

    def _count(self, end: int) -> Offsets:
        """Return the next offsets after the records up to ``end`` that were not counted before."""
        offsets: Offsets = {name: (at, "") for name, at in next_offsets(self._batch[self._counted : end]).items()}
        self._counted = max(self._counted, end)
        if self._offsets is not None:
            self._offsets.update(offsets)
        return offsets

    # -- partitions ---------------------------------------------------------------------------------------------------

    def discard(self, names: set[PartitionKey]) -> None:
        """Drop the records of these partitions that were not returned."""
        paused = {name: [] if name in names else held for name, held in self._paused.items()}
        self._replace(self._without(names), paused)

    def forget(self, names: set[PartitionKey]) -> None:
        """Drop all about partitions that are not assigned any more."""
        self._replace(self._without(names), {name: held for name, held in self._paused.items() if name not in names})
        with self.lock:
            self._changed -= names
            for name in names:
                if self._offsets is not None:
                    self._offsets.pop(name, None)

    @property
    def paused(self) -> set[PartitionKey]:
        """The paused partitions."""
        return set(self._paused)

    def pause(self, names: set[PartitionKey]) -> None:
        """Set the records of these partitions aside."""
        paused = {name: [*self._paused.get(name, ())] for name in self._paused.keys() | names}
        kept: list[Message] = []
        for message in self._pending():
            paused.get(message_partition(message), kept).append(message)
        self._replace(kept, paused)

    def resume(self, names: set[PartitionKey]) -> None:
        """Return the records of these partitions next."""
        held = [message for name in sorted(names) for message in self._paused.get(name, ())]
        paused = {name: messages for name, messages in self._paused.items() if name not in names}
        self._replace([*held, *self._pending()], paused)

    def _pending(self) -> list[Message]:
        """Return what was not returned, without errors of the group."""
        received = _for_the_user(self._received)
        return [*self.ready, *received] if self.ready else received

    def _without(self, names: set[PartitionKey]) -> list[Message]:
        return [message for message in self._pending() if message_partition(message) not in names]

    def _replace(self, ready: list[Message], paused: dict[PartitionKey, list[Message]]) -> None:
        """Make these the batch, of which nothing was returned, and the records of paused partitions; all or nothing."""
        with self.lock:
            self.before_change()
            if self._offsets is not None:
                self._changed.update(self._count(self.end))
            self._store(ready, paused)

    def _store(self, ready: list[Message], paused: dict[PartitionKey, list[Message]]) -> None:
        received: deque[Message] = deque()
        try:
            self.ready.clear()
        finally:
            try:
                self.ready.extend(ready)
            finally:
                self._batch, self._counted, self._paused, self._received = ready, 0, paused, received


def message_partition(message: Message) -> PartitionKey:
    """Return the partition of a record; an error message may have none."""
    return message.topic() or "", message.partition() or 0


def next_offsets(messages: Collection[Message]) -> dict[PartitionKey, int]:
    """Return the offset after the last record of each partition."""
    if any(map(Message.error, messages)):
        messages = [message for message in messages if message.error() is None]
    # Of each record only functions of C are called: a commit in a loop over `poll` costs little more than the loop.
    names: Iterable[Any] = zip(map(Message.topic, messages), map(Message.partition, messages), strict=True)
    last = dict(zip(names, messages, strict=True))
    return {name: offset + 1 for name, message in last.items() if (offset := message.offset()) is not None}


def _for_the_user(messages: Collection[Message]) -> list[Message]:
    """Return these messages without errors of the group; most often none is an error at all."""
    if not any(map(Message.error, messages)):
        return [*messages]
    return [each for each in messages if (error := each.error()) is None or error.code() not in _GROUP_ERRORS]


def _first_offsets(messages: Iterable[Message]) -> dict[PartitionKey, int]:
    first: dict[PartitionKey, int] = {}
    for message in messages:
        if message.error() is None and (offset := message.offset()) is not None:
            first.setdefault(message_partition(message), offset)
    return first
