"""Records between librdkafka and the user, and the offsets after those that the user has received.

A call of librdkafka costs several times what taking a record from a list does, so records are fetched in batches. A
batch is small: what librdkafka has queued for itself stays bounded by its own settings, and this is next to nothing
beside it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from confluent_kafka import Message

from assignor.clients.confluent._committer import PartitionKey

_BATCH_RECORDS: Final = 500
_BATCH_BYTES: Final = 1_000_000


class RecordBuffer:
    """A batch of fetched records that are returned one by one.

    Args:
        most_records: the largest batch.
        positions: returns the next offset of each partition that librdkafka has read; asked once, at the first commit.
    """

    def __init__(self, most_records: int, positions: Callable[[], dict[PartitionKey, int]]) -> None:
        self.ready: Final[deque[Message]] = deque()
        """Records to return; whoever returns one takes it from the left."""
        self.batch_size = self._most_records = max(1, min(_BATCH_RECORDS, most_records))
        """How many records to fetch next, so that a batch of large ones takes little memory too."""
        self._positions = positions
        self._batch: Sequence[Message] = ()  # ends with `ready`; what is before it was returned
        self._counted = 0  # how many of `_batch` are in `_offsets`
        self._offsets: dict[PartitionKey, int] | None = None  # None as long as nothing asks for them
        self._changed: set[PartitionKey] = set()
        self._paused: dict[PartitionKey, list[Message]] = {}

    def fill(self, messages: list[Message]) -> None:
        """Take a batch; the last one must have been returned."""
        self._rebase(messages)
        self.ready.extend(messages)
        if messages:
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

    def uncommitted(self) -> dict[PartitionKey, int]:
        """Return the next offset of each partition with new returned records; of all partitions if there are none.

        The cost is that of looking at each returned record once.
        """
        if self._offsets is None:
            self._offsets = {name: offset for name, offset in self.overlaid(self._positions()).items() if offset >= 0}
            self._counted = len(self._batch) - len(self.ready)
            self._changed.update(self._offsets)
        else:
            self._count(self._offsets)
        names = self._changed or self._offsets.keys()
        found = {name: self._offsets[name] for name in names}
        self._changed = set()
        return found

    def not_committed(self, names: Iterable[PartitionKey]) -> None:
        """Return these partitions from the next `uncommitted` again."""
        if self._offsets is not None:
            self._changed.update(self._offsets.keys() & names)

    def overlaid(self, positions: dict[PartitionKey, int]) -> dict[PartitionKey, int]:
        """Return positions of librdkafka without the records that were not returned."""
        first: dict[PartitionKey, int] = {}
        for message in (*self.ready, *(message for held in self._paused.values() for message in held)):
            if message.error() is None and (offset := message.offset()) is not None:
                first.setdefault(message_partition(message), offset)
        return {name: first.get(name, offset) for name, offset in positions.items()}

    def _count(self, offsets: dict[PartitionKey, int]) -> None:
        end = len(self._batch) - len(self.ready)
        for message in self._batch[self._counted : end]:
            if message.error() is None and (offset := message.offset()) is not None:
                name = message_partition(message)
                offsets[name] = offset + 1
                self._changed.add(name)
        self._counted = end

    def _rebase(self, batch: Sequence[Message]) -> None:
        if self._offsets is not None:
            self._count(self._offsets)
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
        kept = []
        for message in self.ready:
            (held if (held := self._paused.get(message_partition(message))) is not None else kept).append(message)
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
