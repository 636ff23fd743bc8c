"""Records between librdkafka and the user, and the offsets after those that the user has received.

A call of librdkafka costs several times what taking a record from a list does, so records are fetched in batches. A
batch is small: what librdkafka has queued for itself stays bounded by its own settings, and this is next to nothing
beside it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from threading import RLock
from typing import Final

from confluent_kafka import Message

PartitionKey = tuple[str, int]
"""Topic and partition number."""

Offsets = dict[PartitionKey, tuple[int, str]]
"""The next offset of each partition, and the metadata to store with it."""

_BATCH_RECORDS: Final = 500
_BATCH_BYTES: Final = 1_000_000
_FIRST_BATCH: Final = 16


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
        self._paused: dict[PartitionKey, list[Message]] = {}

    def fill(self, messages: list[Message]) -> None:
        """Take a batch of at least one record; the last batch must have been returned."""
        self._rebase(messages)
        self.ready.extend(messages)
        size = sum(map(len, messages)) // len(messages) + 1
        self.batch_size = max(1, min(self._most_records, _BATCH_BYTES // size))

    def returned(self, messages: list[Message]) -> None:
        """Note records that go to the user without being buffered."""
        if self._offsets is not None:
            self._rebase(list(messages))

    def take(self, number: int) -> list[Message]:
        """Return the next records, at most so many."""
        return [self.ready.popleft() for _ in range(min(number, len(self.ready)))]

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
        found: list[Offsets] = []
        first = {name: self._offsets[name] for name in self._changed}
        self._changed.clear()
        for end in ends:
            new = self._count(end)
            if first:
                new, first = first | new, {}
            found.append(new or dict(self._offsets))
        return found

    def not_committed(self, names: Iterable[PartitionKey]) -> None:
        """Return these partitions from the next `changes` again."""
        with self.lock:
            if self._offsets is not None:
                self._changed.update(self._offsets.keys() & names)

    def overlaid(self, positions: dict[PartitionKey, int]) -> dict[PartitionKey, int]:
        """Return positions of librdkafka without the records that were not returned."""
        first: dict[PartitionKey, int] = {}
        for message in (*self.ready, *(message for held in self._paused.values() for message in held)):
            if message.error() is None and (offset := message.offset()) is not None:
                first.setdefault(message_partition(message), offset)
        return {name: first.get(name, offset) for name, offset in positions.items()}

    def _count(self, end: int) -> Offsets:
        """Return the next offsets after the records up to ``end`` that were not counted before."""
        found: Offsets = {}
        for message in self._batch[self._counted : end]:
            if message.error() is None and (offset := message.offset()) is not None:
                found[message_partition(message)] = offset + 1, ""
        self._counted = max(self._counted, end)
        if self._offsets is not None:
            self._offsets.update(found)
        return found

    def _rebase(self, batch: Sequence[Message]) -> None:
        with self.lock:
            self.before_change()
            if self._offsets is not None:
                self._changed.update(self._count(self.end))
            self._batch, self._counted = batch, 0

    # -- partitions ---------------------------------------------------------------------------------------------------

    def discard(self, names: set[PartitionKey]) -> None:
        """Drop the records of these partitions that were not returned."""
        self._replace([message for message in self.ready if message_partition(message) not in names])
        for name in names & self._paused.keys():
            self._paused[name] = []

    def forget(self, names: set[PartitionKey]) -> None:
        """Drop all about partitions that are not assigned any more."""
        self.discard(names)
        with self.lock:
            self._changed -= names
            for name in names:
                self._paused.pop(name, None)
                if self._offsets is not None:
                    self._offsets.pop(name, None)

    @property
    def paused(self) -> set[PartitionKey]:
        """The paused partitions."""
        return set(self._paused)

    def pause(self, names: set[PartitionKey]) -> None:
        """Set the records of these partitions aside."""
        for name in names:
            self._paused.setdefault(name, [])
        kept: list[Message] = []
        for message in self.ready:
            self._paused.get(message_partition(message), kept).append(message)
        self._replace(kept)

    def resume(self, names: set[PartitionKey]) -> None:
        """Return the records of these partitions next."""
        held = [message for name in sorted(names) for message in self._paused.pop(name, [])]
        self._replace([*held, *self.ready])

    def _replace(self, ready: list[Message]) -> None:
        self._rebase(ready)
        self.ready.clear()
        self.ready.extend(ready)


def message_partition(message: Message) -> PartitionKey:
    """Return the partition of a record; an error message may have none."""
    return message.topic() or "", message.partition() or 0
