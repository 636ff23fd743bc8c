"""What a member of ours keeps of its tasks: their counts, and how far these have come along the changelog."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from attrs import define, field
from kafka import KafkaConsumer, TopicPartition

from streams_assignor.codec import TaskId

_FOLLOWING_MS, _RESTORING_MS = 20, 200


@define
class Store:
    """The counts of one task; ``position`` is the offset of the first record that is not in them."""

    counts: Counter[bytes] = field(factory=Counter)
    position: int = 0


class Restored(NamedTuple):
    """How an active task began: at which offset, and how many records it had to read."""

    task: TaskId
    begin: int
    records: int


class Stores:
    """The stores of one member, out of one changelog: standbys follow it, active ones write it.

    One thread works with it; any may ask for `positions`.
    """

    def __init__(self, brokers: str, changelog: str) -> None:
        self._changelog = changelog
        self._reader = KafkaConsumer(bootstrap_servers=brokers, enable_auto_commit=False)
        self._kept: Mapping[TaskId, Store] = {}  # never changed, only replaced
        self._active: frozenset[TaskId] = frozenset()

    def __getitem__(self, task: TaskId) -> Store:
        return self._kept[task]

    @property
    def positions(self) -> dict[TaskId, int]:
        """How far each store is: its offset sum, as there is one changelog."""
        return {task: store.position for task, store in self._kept.items()}

    def keep(self, active: Iterable[TaskId], standby: Iterable[TaskId]) -> list[Restored]:
        """Have the stores of these tasks and no others; return where those began that were not active before."""
        before, self._active = self._active, frozenset(active)
        self._kept = {task: self._kept.get(task) or Store() for task in (*self._active, *standby)}
        begins = {task: self._kept[task].position for task in self._active}
        records = self._restore(begins)
        self._read_from(self._kept.keys() - self._active)
        return [Restored(task, begins[task], records[task]) for task in sorted(self._active - before)]

    def follow(self) -> None:
        """Let the standbys catch up, as far as there is something at hand."""
        if self._kept.keys() - self._active:
            for _ in self._read(_FOLLOWING_MS):
                pass

    def _restore(self, tasks: Iterable[TaskId]) -> Counter[TaskId]:
        """Read what another member has written, up to the end; count the records."""
        partitions = {task: self._partition(task) for task in tasks}
        self._read_from(partitions)
        ends = self._reader.end_offsets([*partitions.values()]) if partitions else {}
        restored: Counter[TaskId] = Counter()
        while any(self._kept[task].position < ends[partition] for task, partition in partitions.items()):
            for task in self._read(_RESTORING_MS):
                restored[task] += 1
        return restored

    def _read_from(self, tasks: Iterable[TaskId]) -> None:
        partitions = {self._partition(task): self._kept[task].position for task in tasks}
        if partitions:  # a reader without any forgets its topic, and then may take minutes to find the end of one
            self._reader.assign([*partitions])
        for partition, position in partitions.items():
            self._reader.seek(partition, position)

    def _read(self, patience_ms: int) -> Iterator[TaskId]:
        """Take what comes; name the task of each record."""
        tasks = {task.partition: task for task in self._kept}
        found: Mapping[Any, list[Any]] = self._reader.poll(timeout_ms=patience_ms)
        for records in found.values():
            for record in records:
                store, at = self._kept[tasks[record.partition]], record.offset + 1
                store.counts[record.key], store.position = int.from_bytes(record.value, "big"), at
                yield tasks[record.partition]

    def _partition(self, task: TaskId) -> TopicPartition:
        return TopicPartition(self._changelog, task.partition)
