"""What a task assignor of one's own gets (KIP-924): tasks, processes, configuration, and where everything is.

Java: ``ApplicationState``, ``KafkaStreamsState``, ``TaskInfo`` of ``org.apache.kafka.streams.processor.assignment``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any
from uuid import UUID

from attrs import field, frozen

from assignor.assignment_configs import AssignmentConfigs
from assignor.client_state import NOTHING, ClientState, signed_order
from assignor.racks import Racks
from assignor.topology import Topology
from subscription_codec import HostInfo, TaskId, TopicPartition


def _tasks(tasks: Iterable[TaskId]) -> frozenset[TaskId]:
    return frozenset(tasks)


def _texts(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(texts))


def check_keys(found: Mapping[UUID, Any]) -> None:
    """Refuse what stands under the process id of somebody else."""
    for key, value in found.items():
        if key != value.process_id:
            raise ValueError(f"process {value.process_id} stands under the key {key}")


@frozen(kw_only=True)
class TaskInfo:
    """One task: the partitions it reads, and those of its changelogs. Java: ``TaskInfo``."""

    stateful: bool = False
    partitions: tuple[TopicPartition, ...] = ()
    changelogs: tuple[TopicPartition, ...] = ()


@frozen(kw_only=True)
class KafkaStreamsState:
    """One process, as the leader sees it: how many members it has, what it had, how far it is behind.

    ``consumer_client_ids`` are its members, sorted. ``lags`` has the records it would have to restore of each stateful
    task: -2 for one that it has active right now, -3 if nobody knows (``client_state.RUNNING``, ``UNKNOWN_LAG``).
    Its previous tasks are what it says; another process may say the same, and a task may be gone.
    """

    process_id: UUID
    num_processing_threads: int = 1
    consumer_client_ids: tuple[str, ...] = field(default=(), converter=_texts)
    previous_active_tasks: frozenset[TaskId] = field(default=frozenset(), converter=_tasks)
    previous_standby_tasks: frozenset[TaskId] = field(default=frozenset(), converter=_tasks)
    lags: Mapping[TaskId, int] = NOTHING
    client_tags: Mapping[str, str] = NOTHING
    host_info: HostInfo | None = None
    rack_id: str | None = None

    def __attrs_post_init__(self) -> None:
        """Refuse a process that could not do anything."""
        if self.num_processing_threads < 1:
            raise ValueError(f"process {self.process_id} has {self.num_processing_threads} processing threads")

    def lag_for(self, task: TaskId) -> int:
        """Return how far it is behind; ``LookupError`` if that was not computed (Java: ``IllegalStateException``)."""
        if task not in self.lags:
            raise LookupError(f"process {self.process_id} has no lag of task {task}")
        return self.lags[task]


@frozen(kw_only=True)
class ApplicationState:
    """All that an assignor may look at: every task, every process, the configuration. Java: ``ApplicationState``.

    ``partition_racks`` has the racks of the replicas of partitions, as far as they are known (in Kafka each task has
    its own: ``TaskTopicPartition.rackIds``).
    """

    tasks: Mapping[TaskId, TaskInfo]
    clients: Mapping[UUID, KafkaStreamsState]
    configs: AssignmentConfigs = field(factory=AssignmentConfigs)
    partition_racks: Mapping[TopicPartition, Collection[str | None]] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        """Refuse a process under the name of another one."""
        check_keys(self.clients)

    @classmethod
    def of(
        cls,
        topology: Topology,
        partitions: Mapping[str, int],
        clients: Iterable[KafkaStreamsState],
        configs: AssignmentConfigs | None = None,
        partition_racks: Mapping[TopicPartition, Collection[str | None]] = NOTHING,
    ) -> ApplicationState:
        """Make it from a topology and the number of partitions of each topic."""
        tasks = {
            task: TaskInfo(
                stateful=topology.stateful(task),
                partitions=inputs,
                changelogs=topology.changelogs_of(task),
            )
            for task, inputs in topology.tasks(partitions).items()
        }
        return cls(
            tasks=tasks,
            clients={client.process_id: client for client in clients},
            configs=configs or AssignmentConfigs(),
            partition_racks=dict(partition_racks),
        )

    @property
    def stateful(self) -> frozenset[TaskId]:
        """The tasks that have state, and so may have standbys."""
        return frozenset(task for task, info in self.tasks.items() if info.stateful)

    @property
    def ordered_clients(self) -> list[KafkaStreamsState]:
        """All processes in the order in which Kafka compares their ids."""
        return sorted(self.clients.values(), key=lambda client: signed_order(client.process_id))

    @property
    def client_states(self) -> list[ClientState]:
        """The processes as the built-in assignors know them, with nothing assigned yet; in no order."""
        return [
            ClientState(
                client.process_id,
                client.num_processing_threads,
                client.previous_active_tasks,
                client.previous_standby_tasks,
                lags=client.lags,
                tags=client.client_tags,
            )
            for client in self.clients.values()
        ]

    def racks(self, with_changelogs: bool = False) -> Racks:
        """Where processes and partitions are. ``with_changelogs``: an active task is near its changelogs, too."""
        return Racks.of(
            {process: [client.rack_id] for process, client in self.clients.items()},
            {
                task: dict.fromkeys((*info.partitions, *(info.changelogs if with_changelogs else ())))
                for task, info in self.tasks.items()
            },
            {task: info.changelogs for task, info in self.tasks.items()},
            self.partition_racks,
        )
