"""The records of userdata. Every list keeps the order of the bytes, so bytes survive a round trip.

They are named tuples, because a leader makes thousands in one rebalance and other classes cost several times as much.
A field with tasks or hosts accepts any sequence; a decoder returns a column (see ``columns``).

Java: ``SubscriptionInfo``, ``AssignmentInfo``, ``TaskId``, ``TopicPartition``, ``HostInfo``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple
from uuid import UUID

from streams_assignor.codec.versions import LATEST_SUPPORTED_VERSION, UNKNOWN_VERSION


class TaskId(NamedTuple):
    """One task: a subtopology and one of its partitions. Prints as in Kafka, ``0_3``."""

    subtopology: int
    partition: int
    topology: str | None = None
    """The name of a named topology (Kafka 3.0 and later, version 10). It is rare."""

    def __str__(self) -> str:
        number = f"{self.subtopology}_{self.partition}"
        return number if self.topology is None else f"{self.topology}__{number}"

    @classmethod
    def parse(cls, text: str) -> TaskId:
        """Return the task that prints as ``text`` (``"0_3"`` or ``"name__0_3"``); ``ValueError`` for other text."""
        topology, named, number = text.rpartition("__")
        subtopology, _, partition = number.partition("_")
        return cls(int(subtopology), int(partition), topology if named else None)


class TopicPartition(NamedTuple):
    """One partition of one topic. Prints as ``orders-3``."""

    topic: str
    """None only in a decoded assignment that refers to a topic that its dictionary does not have, as in Kafka."""
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class HostInfo(NamedTuple):
    """The endpoint of a process for interactive queries (``application.server``)."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class TaskOffsetSum(NamedTuple):
    """The progress of a member's state of a task: the sum of the offsets of its changelog partitions (KIP-441)."""

    task: TaskId
    offset_sum: int
    """0 or more: a position. ``LATEST_OFFSET`` and ``OFFSET_UNKNOWN`` are no positions."""


LATEST_OFFSET: Final = -2
"""The offset sum of a task that the member runs as active. Java: ``Task.LATEST_OFFSET``."""

OFFSET_UNKNOWN: Final = -3
"""The offset sum of a task whose state has an unknown position. Java: ``OffsetCheckpoint.OFFSET_UNKNOWN``."""


class ClientTag(NamedTuple):
    """One of the tags by which the leader spreads standby tasks (KIP-708). Prints as ``zone=eu-1a``."""

    key: str
    value: str

    def __str__(self) -> str:
        return f"{self.key}={self.value}"


class StandbyTask(NamedTuple):
    """A standby task of an assignment with the partitions it restores from.

    KIP-268 specifies ``AssignedStandbyTasks => [TaskId]``; every release also sends the partitions.
    """

    task: TaskId
    partitions: tuple[TopicPartition, ...]


class HostPartitions(NamedTuple):
    """One entry of a host map: the partitions whose state one host serves."""

    host: HostInfo
    partitions: Sequence[TopicPartition]


class TopicEntry(NamedTuple):
    """One entry of the topic dictionary of an assignment (version 5 and later)."""

    topic_index: int
    topic: str


NIL_PROCESS_ID: Final = UUID(int=0)
"""The default process id."""

IMMEDIATELY: Final = 0
"""``next_rebalance_ms`` of a member that must rejoin immediately."""

NO_FOLLOW_UP: Final = 2**63 - 1
"""``next_rebalance_ms`` when no follow-up rebalance is scheduled. Java: ``Long.MAX_VALUE``."""


class Subscription(NamedTuple):
    """Subscription userdata, from a member to the leader. A field that the version does not have is not written."""

    version: int = LATEST_SUPPORTED_VERSION
    """The used version."""
    supported_version: int = UNKNOWN_VERSION
    """The latest version that the member supports (version 3 and later; -1 before)."""
    process_id: UUID = NIL_PROCESS_ID
    prev_tasks: Sequence[TaskId] = ()
    """The active tasks of the member (up to version 6)."""
    standby_tasks: Sequence[TaskId] = ()
    """The other tasks of which the member has state (up to version 6)."""
    user_end_point: str = ""
    """``application.server`` (version 2 and later); empty: not configured."""
    task_offset_sums: Sequence[TaskOffsetSum] = ()
    """The tasks of which the member has state, with their offset sums (version 7 and later)."""
    unique_field: int = 0
    """-128 to 127 (version 8 and later): makes each subscription differ from the one before."""
    error_code: int = 0
    """The state of the member (version 9 and later): 4 requests the shutdown of the whole application."""
    client_tags: Sequence[ClientTag] = ()
    """Version 11 and later."""
    trailing: bytes = b""
    """The bytes after the last field. 0.10.1 to 1.1 write the last field of version 2 after version 1. Kafka ignores
    these bytes."""


class FutureSubscription(NamedTuple):
    """A subscription of a version above the reader's. It is no error, because version probing depends on it."""

    version: int
    supported_version: int
    rest: bytes = b""
    """The unread bytes, so that the record encodes to the bytes it was read from."""


class FutureAssignment(NamedTuple):
    """An assignment of a version above the reader's. Only for inspection: no member can use it."""

    version: int
    supported_version: int
    rest: bytes = b""


class Assignment(NamedTuple):
    """Assignment userdata, from the leader to one member. A field that the version does not have is not written."""

    version: int = LATEST_SUPPORTED_VERSION
    """The used version."""
    supported_version: int = UNKNOWN_VERSION
    """The supported version that the leader announces (version 3 and later; -1 before)."""
    active_tasks: Sequence[TaskId] = ()
    """One entry *per assigned partition*: the i-th task owns the i-th partition of the consumer-protocol assignment,
    sorted by (topic, partition)."""
    standby_tasks: Sequence[StandbyTask] = ()
    partitions_by_host: Sequence[HostPartitions] = ()
    """The partitions of active tasks by host (version 2 and later)."""
    standby_partitions_by_host: Sequence[HostPartitions] = ()
    """The partitions of standby tasks by host (version 6 and later)."""
    error_code: int = 0
    """Version 4 and later; see ``probing.AssignorError``."""
    next_rebalance_ms: int = NO_FOLLOW_UP
    """When the member must rejoin, in milliseconds since 1970 (version 7 and later)."""
    trailing: bytes = b""
    """The bytes after the last field."""

    @property
    def topics(self) -> Sequence[TopicEntry]:
        """The topic dictionary of a decoded assignment; empty for other records."""
        return getattr(self.partitions_by_host, "topic_dictionary", ())
