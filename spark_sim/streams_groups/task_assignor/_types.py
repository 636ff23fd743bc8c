"""Input and output of the task assignor, with the names of Kafka's ``group.streams.assignor``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from attrs import field, frozen, validators

from streams_assignor.codec import StreamsAssignorError

Tasks = Mapping[str, frozenset[int]]
"""Partitions by subtopology."""


class TaskAssignorError(StreamsAssignorError):
    """The group cannot be assigned (Kafka's ``TaskAssignorException``)."""


class UnknownReleaseError(StreamsAssignorError, ValueError):
    """The assignor of this release is not modelled."""


class StreamsTaskId(NamedTuple):
    """A task of a streams group: the broker names subtopologies by text."""

    subtopology_id: str
    partition: int

    def __str__(self) -> str:
        """Return the form of Kafka's logs."""
        return f"{self.subtopology_id}_{self.partition}"


@frozen
class AssignmentMemberSpec:
    """A member: its process, and the tasks of its current target assignment."""

    process_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    active_tasks: Tasks = field(factory=dict)
    standby_tasks: Tasks = field(factory=dict)
    warmup_tasks: Tasks = field(factory=dict)
    client_tags: Mapping[str, str] = field(factory=dict)
    task_offsets: Mapping[StreamsTaskId, int] = field(factory=dict)
    """Offset sums of tasks with state on local disk; used since 4.4.0."""


@frozen
class GroupSpec:
    """A group. The assignor iterates over ``members`` in the order of the mapping; see `hash_map_order`."""

    members: Mapping[str, AssignmentMemberSpec]
    num_standby_replicas: int = field(default=0, validator=validators.ge(0))


class TopologyDescriber(Protocol):
    """The questions of the assignor about the topology."""

    def subtopologies(self) -> Sequence[str]:
        """Return the names of all subtopologies."""

    def max_num_input_partitions(self, subtopology: str) -> int:
        """Return the number of tasks of a subtopology."""

    def is_stateful(self, subtopology: str) -> bool:
        """Return whether the tasks of a subtopology have standbys."""


def _names(names: Iterable[str]) -> frozenset[str]:
    return frozenset(names)


@frozen
class KnownTopology:
    """A topology with known numbers of tasks."""

    partitions: Mapping[str, int]
    """The number of tasks by subtopology."""
    stateful: frozenset[str] = field(default=frozenset(), converter=_names)

    def subtopologies(self) -> Sequence[str]:
        """Return the names of all subtopologies."""
        return list(self.partitions)

    def max_num_input_partitions(self, subtopology: str) -> int:
        """Return the number of tasks of a subtopology."""
        return self.partitions[subtopology]

    def is_stateful(self, subtopology: str) -> bool:
        """Return whether the tasks of a subtopology have standbys."""
        return subtopology in self.stateful


@frozen
class MemberAssignment:
    """The target assignment of a member. No release of the assignor assigns warm-up tasks."""

    active_tasks: Tasks
    standby_tasks: Tasks
    warmup_tasks: Tasks = field(factory=dict)


@frozen
class TargetAssignment:
    """The target assignment of a group, by member."""

    members: Mapping[str, MemberAssignment]


def by_subtopology(tasks: Iterable[StreamsTaskId]) -> Tasks:
    """Group tasks by subtopology."""
    numbers: dict[str, set[int]] = {}
    for task in tasks:
        numbers.setdefault(task.subtopology_id, set()).add(task.partition)
    return {subtopology: frozenset(partitions) for subtopology, partitions in numbers.items()}


def task_ids(tasks: Tasks) -> list[StreamsTaskId]:
    """Return the tasks of a mapping of partitions by subtopology."""
    return [
        StreamsTaskId(subtopology, partition) for subtopology, partitions in tasks.items() for partition in partitions
    ]
