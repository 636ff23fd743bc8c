"""The records that travel in userdata. Every list keeps the order of the wire, so bytes survive a round trip.

Named tuples, because a leader makes thousands of them in one rebalance and they cost a fraction of other classes.
Wherever a list of tasks or hosts is expected any sequence will do; what a decoder returns is one of ``columns``.

Java: ``SubscriptionInfo``, ``AssignmentInfo``, ``TaskId``, ``TopicPartition``, ``HostInfo``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple
from uuid import UUID

from subscription_codec.versions import LATEST_SUPPORTED_VERSION, UNKNOWN_VERSION


class TaskId(NamedTuple):
    """One task: a subtopology and one of its partitions. Prints as Kafka writes it, ``0_3``.

    ``topology`` is the name of a named topology (Kafka 3.0 and later, version 10), which hardly anybody has.
    """

    subtopology: int
    partition: int
    topology: str | None = None

    def __str__(self) -> str:
        number = f"{self.subtopology}_{self.partition}"
        return number if self.topology is None else f"{self.topology}__{number}"

    @classmethod
    def parse(cls, text: str) -> TaskId:
        """Read ``"0_3"`` or ``"name__0_3"`` back; ``ValueError`` for anything else."""
        topology, named, number = text.rpartition("__")
        subtopology, _, partition = number.partition("_")
        return cls(int(subtopology), int(partition), topology if named else None)


class TopicPartition(NamedTuple):
    """One partition of one topic. Prints as ``orders-3``.

    ``topic`` is only ever ``None`` where an assignment names a topic that its own dictionary does not have (Kafka too
    takes that for a partition without a topic).
    """

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


class TaskOffsetSum(NamedTuple):
    """How far a member's state of a task is: the sum of the offsets of its changelog partitions (KIP-441).

    A sum of 0 or more is a position; ``RUNNING`` and ``UNKNOWN_SUM`` are the two that are none.
    """

    task: TaskId
    offset_sum: int


RUNNING: Final = -2
"""The offset sum of a task that the member runs as active. Java: ``Task.LATEST_OFFSET``."""

UNKNOWN_SUM: Final = -3
"""The offset sum of a task whose state is there but of unknown position. Java: ``OffsetCheckpoint.OFFSET_UNKNOWN``."""


class ClientTag(NamedTuple):
    """One of the tags by which standbys are spread (KIP-708). Prints as ``zone=eu-1a``."""

    key: str
    value: str

    def __str__(self) -> str:
        return f"{self.key}={self.value}"


class StandbyTask(NamedTuple):
    """A standby task of an assignment with the partitions it restores from.

    KIP-268 writes ``AssignedStandbyTasks => [TaskId]``; every release has sent the partitions too.
    """

    task: TaskId
    partitions: tuple[TopicPartition, ...]


class HostPartitions(NamedTuple):
    """One entry of the global assignment: the partitions whose state one host serves."""

    host: HostInfo
    partitions: Sequence[TopicPartition]


class TopicEntry(NamedTuple):
    """One entry of the topic dictionary of an assignment (version 5 and later)."""

    number: int
    topic: str


NOBODY: Final = UUID(int=0)
"""The process id of a record that was not given one."""

NO_REBALANCE: Final = 2**63 - 1
"""``next_rebalance_ms`` when no follow-up rebalance is scheduled. Java: ``Long.MAX_VALUE``."""


class Subscription(NamedTuple):
    """What a member tells the leader (subscription userdata). A field that its version does not have is not written.

    ``version`` is the used version. ``latest_supported`` is -1 where the version has no such field (1 and 2).
    ``prev_tasks`` and ``standby_tasks`` end with version 6; ``task_offset_sums`` says more from version 7 on.
    ``unique_field`` (-128 to 127, version 8) makes every subscription differ from the one before, ``error_code``
    (version 9) is this member's state: 4 asks the whole group to shut down. ``client_tags`` since version 11.
    ``trailing`` holds bytes behind the last field of the version: 0.10.1 to 1.1 write the tail of version 2
    behind version 1, and every Kafka decoder ignores what follows.
    """

    version: int = LATEST_SUPPORTED_VERSION
    latest_supported: int = UNKNOWN_VERSION
    process_id: UUID = NOBODY
    prev_tasks: Sequence[TaskId] = ()
    standby_tasks: Sequence[TaskId] = ()
    user_end_point: str = ""
    task_offset_sums: Sequence[TaskOffsetSum] = ()
    unique_field: int = 0
    error_code: int = 0
    client_tags: Sequence[ClientTag] = ()
    trailing: bytes = b""


class FutureSubscription(NamedTuple):
    """A subscription of a version the reader does not know: both version numbers, and the rest untouched.

    Not an error, because version probing rests on it. ``rest`` makes it re-encode to the bytes it came from.
    """

    version: int
    latest_supported: int
    rest: bytes = b""


class FutureAssignment(NamedTuple):
    """An assignment of a version the reader does not know, likewise. For those who only look: no member can take it."""

    version: int
    latest_supported: int
    rest: bytes = b""


class Assignment(NamedTuple):
    """What the leader answers one member (assignment userdata). A field that its version does not have is not written.

    ``active_tasks`` has one entry *per assigned partition*: the i-th task owns the i-th partition of the
    consumer-protocol assignment sorted by (topic, partition). ``standby_partitions_by_host`` exists from version 6
    on, ``error_code`` from 4 on, and ``next_rebalance_ms`` from 7 on (milliseconds since 1970; 0 means at once).
    """

    version: int = LATEST_SUPPORTED_VERSION
    latest_supported: int = UNKNOWN_VERSION
    active_tasks: Sequence[TaskId] = ()
    standby_tasks: Sequence[StandbyTask] = ()
    partitions_by_host: Sequence[HostPartitions] = ()
    standby_partitions_by_host: Sequence[HostPartitions] = ()
    error_code: int = 0
    next_rebalance_ms: int = NO_REBALANCE
    trailing: bytes = b""

    @property
    def topics(self) -> Sequence[TopicEntry]:
        """The topic dictionary as it stands in the bytes this was read from; empty for a record made by hand."""
        return getattr(self.partitions_by_host, "topics", ())
