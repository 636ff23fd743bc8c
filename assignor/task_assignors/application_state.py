"""Input of a task assignor (KIP-924): tasks, processes, configuration and the racks of replicas.

Java: ``ApplicationState``, ``KafkaStreamsState``, ``TaskInfo`` of ``org.apache.kafka.streams.processor.assignment``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from itertools import groupby, repeat
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from uuid import UUID

from attrs import field, frozen

from streams_assignor.codec import LATEST_OFFSET as LATEST_OFFSET
from streams_assignor.codec import OFFSET_UNKNOWN, HostInfo, TaskId, TopicPartition
from streams_assignor.codec.columns import make_records, partitions_of
from streams_assignor.config import AssignmentConfigs
from streams_assignor.topology import Topology

UNKNOWN_LAG: Final = OFFSET_UNKNOWN
"""The lag of a process whose offset is not known. This offset sum and ``LATEST_OFFSET`` serve as lags, too."""

EMPTY: Final[Mapping[Any, Any]] = MappingProxyType({})


def java_uuid_order(process_id: UUID) -> tuple[int, int]:
    """Order process ids as Java orders UUIDs: two signed 64-bit halves, unlike Python's own order."""
    high, low = divmod(process_id.int, 1 << 64)
    return high - (high >> 63 << 64), low - (low >> 63 << 64)


def frozen_tasks(tasks: Iterable[TaskId]) -> frozenset[TaskId]:
    """Convert tasks to a frozen set; a converter of attrs fields."""
    return frozenset(tasks)


def _sorted_names(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(texts))


def check_keys(by_process: Mapping[UUID, Any]) -> None:
    """Raise ``ValueError`` for a value under a key other than its own process id."""
    for key, value in by_process.items():
        if key != value.process_id:
            raise ValueError(f"process {value.process_id} stands under the key {key}")


class TaskInfo(NamedTuple):
    """One task. Java: ``TaskInfo``."""

    stateful: bool = False
    partitions: tuple[TopicPartition, ...] = ()
    """The partitions that its active task reads."""
    changelogs: tuple[TopicPartition, ...] = ()
    """The changelog partitions of its stores, which its standbys read."""


@frozen(kw_only=True)
class KafkaStreamsState:
    """One process as the leader sees it."""

    process_id: UUID
    num_processing_threads: int = 1
    """The number of its members, at least 1."""
    consumer_client_ids: tuple[str, ...] = field(default=(), converter=_sorted_names)
    """The client ids of its members, sorted."""
    previous_active_tasks: frozenset[TaskId] = field(default=frozenset(), converter=frozen_tasks)
    """The active tasks that it reports. Another process may report them too, and a task may no longer exist."""
    previous_standby_tasks: frozenset[TaskId] = field(default=frozenset(), converter=frozen_tasks)
    """The standbys that it reports. Another process may report them too, and a task may no longer exist."""
    lags: Mapping[TaskId, int] = EMPTY
    """The records that it would have to restore of each stateful task, ``LATEST_OFFSET`` (-2) for a task that it runs
    now, or ``UNKNOWN_LAG`` (-3).

    In a large group nearly every process is at the start of nearly every task. Its processes should share one mapping
    for that, below their own: ``ChainMap(own, shared)``.
    """
    client_tags: Mapping[str, str] = EMPTY
    """The values of its settings ``client.tag.*``, by key."""
    host_info: HostInfo | None = None
    """Where it serves interactive queries; None if it does not."""
    rack_id: str | None = None
    """Its ``client.rack``; None if it has none."""
    member_rack_ids: tuple[str | None, ...] = ()
    """The ``client.rack`` of each member; empty if only ``rack_id`` is known. Not in Java."""

    def __attrs_post_init__(self) -> None:
        """Raise ``ValueError`` for a process without members."""
        if self.num_processing_threads < 1:
            raise ValueError(f"process {self.process_id} has {self.num_processing_threads} processing threads")

    def lag_for(self, task: TaskId) -> int:
        """Return the lag of a task; ``LookupError`` if it was not computed (Java: ``IllegalStateException``)."""
        if task not in self.lags:
            raise LookupError(f"process {self.process_id} has no lag of task {task}")
        return self.lags[task]


@frozen(kw_only=True)
class ApplicationState:
    """Everything a task assignor may use: all tasks, all processes, the configuration. Java: ``ApplicationState``."""

    tasks: Mapping[TaskId, TaskInfo]
    clients: Mapping[UUID, KafkaStreamsState]
    """The processes by process id."""
    configs: AssignmentConfigs = field(factory=AssignmentConfigs)
    partition_racks: Mapping[TopicPartition, Collection[str | None]] = field(factory=dict)
    """The racks of the replicas of partitions, as far as they are known (Java: ``TaskTopicPartition.rackIds``)."""
    leader_process_id: UUID | None = None
    """The process that built-in assignors ask for a follow-up rebalance; None for the first one. Not in Java."""

    def __attrs_post_init__(self) -> None:
        """Raise ``ValueError`` for a process under the id of another one."""
        check_keys(self.clients)

    @classmethod
    def of(
        cls,
        topology: Topology,
        partitions: Mapping[str, int],
        clients: Iterable[KafkaStreamsState],
        configs: AssignmentConfigs | None = None,
        partition_racks: Mapping[TopicPartition, Collection[str | None]] = EMPTY,
    ) -> ApplicationState:
        """Build it from a topology and the number of partitions of each topic."""
        return cls(
            tasks=task_infos(topology, topology.tasks(partitions)),
            clients={client.process_id: client for client in clients},
            configs=configs or AssignmentConfigs(),
            partition_racks=dict(partition_racks),
        )

    @cached_property
    def stateful(self) -> frozenset[TaskId]:
        """The tasks with state: only these have standbys."""
        return frozenset(task for task, info in self.tasks.items() if info.stateful)

    @cached_property
    def sorted_processes(self) -> tuple[KafkaStreamsState, ...]:
        """All processes in the order in which Kafka compares their ids."""
        return tuple(sorted(self.clients.values(), key=lambda process: java_uuid_order(process.process_id)))


def task_infos(topology: Topology, tasks: Mapping[TaskId, tuple[TopicPartition, ...]]) -> dict[TaskId, TaskInfo]:
    """Describe the tasks of a topology, given the input partitions of each."""
    infos: dict[TaskId, TaskInfo] = {}
    for number, group in groupby(tasks, key=attrgetter("subtopology")):
        ids, topics = list(group), topology.subtopologies[number].changelogs
        partitions = [task.partition for task in ids]
        changelogs = zip(*(partitions_of(topic, partitions) for topic in topics), strict=True) if topics else repeat(())
        rows = make_records(TaskInfo, repeat(bool(topics)), map(tasks.__getitem__, ids), changelogs)
        infos.update(zip(ids, rows, strict=True))
    return infos
