"""The records that travel in userdata. Every list keeps the order of the wire, so bytes survive a round trip.

Java: ``SubscriptionInfo``, ``AssignmentInfo``, ``TaskId``, ``TopicPartition``, ``HostInfo``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple
from uuid import UUID

from subscription_codec.versions import LATEST_SUPPORTED_VERSION, UNKNOWN_VERSION


class TaskId(NamedTuple):
    """One task: a subtopology and one of its partitions. Prints as Kafka writes it, ``0_3``."""

    subtopology: int
    partition: int

    def __str__(self) -> str:
        return f"{self.subtopology}_{self.partition}"

    @classmethod
    def parse(cls, text: str) -> TaskId:
        """Read ``"0_3"`` back; ``ValueError`` for anything else."""
        subtopology, _, partition = text.partition("_")
        return cls(int(subtopology), int(partition))


class TopicPartition(NamedTuple):
    """One partition of one topic. Prints as ``orders-3``."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class HostInfo(NamedTuple):
    """Where a process answers interactive queries (``application.server``)."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class StandbyTask(NamedTuple):
    """A standby task of an assignment with the partitions it restores from.

    KIP-268 writes ``AssignedStandbyTasks => [TaskId]``; every release has sent the partitions too.
    """

    task: TaskId
    partitions: tuple[TopicPartition, ...]


class HostPartitions(NamedTuple):
    """One entry of the global assignment: the partitions whose state one host serves."""

    host: HostInfo
    partitions: tuple[TopicPartition, ...]


NOBODY: Final = UUID(int=0)
"""The process id of a record that was not given one."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a member tells the leader (subscription userdata).

    ``version`` is the used version. ``latest_supported`` is -1 where the version has no such field (1 and 2).
    ``trailing`` holds bytes behind the last field of the version: 0.10.1 to 1.1 write the tail of version 2
    behind version 1, and every Kafka decoder ignores what follows.
    """

    version: int = LATEST_SUPPORTED_VERSION
    latest_supported: int = UNKNOWN_VERSION
    process_id: UUID = NOBODY
    prev_tasks: tuple[TaskId, ...] = ()
    standby_tasks: tuple[TaskId, ...] = ()
    user_end_point: str = ""
    trailing: bytes = b""


@dataclass(frozen=True, slots=True)
class FutureSubscription:
    """A subscription of a version the reader does not know: both version numbers, and the rest untouched.

    Not an error, because version probing rests on it. ``rest`` makes it re-encode to the bytes it came from.
    """

    version: int
    latest_supported: int
    rest: bytes = b""


@dataclass(frozen=True, slots=True)
class Assignment:
    """What the leader answers one member (assignment userdata).

    ``active_tasks`` has one entry *per assigned partition*: the i-th task owns the i-th partition of the
    consumer-protocol assignment sorted by (topic, partition). ``error_code`` exists from version 4 on.
    """

    version: int = LATEST_SUPPORTED_VERSION
    latest_supported: int = UNKNOWN_VERSION
    active_tasks: tuple[TaskId, ...] = ()
    standby_tasks: tuple[StandbyTask, ...] = ()
    partitions_by_host: tuple[HostPartitions, ...] = ()
    error_code: int = 0
    trailing: bytes = b""
