"""The vocabulary of a member of a streams group (KIP-1071): states, assignments, callbacks, errors and statuses."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Self

from attrs import field, frozen

from streams_assignor.codec import TaskId
from streams_assignor.codec.streams_group import LEAVE_GROUP_MEMBER_EPOCH, LEAVE_GROUP_STATIC_MEMBER_EPOCH
from streams_assignor.upgrade.input_values import parse_number


class StreamsMemberState(enum.Enum):
    """The state of a member. Java: ``StreamsMemberState``."""

    UNSUBSCRIBED = "not in the group"
    JOINING = "sends heartbeats of epoch 0 until one is accepted"
    RECONCILING = "the application revokes or takes tasks"
    ACKNOWLEDGING = "the next heartbeat acknowledges the assignment"
    STABLE = "owns what the coordinator has assigned"
    FENCED = "removed by the coordinator; the application drops its tasks, then the member rejoins"
    PREPARE_LEAVING = "leaves the group; the application revokes its tasks"
    LEAVING = "the next heartbeat leaves the group"
    STALE = "has left because the application did not poll; rejoins at its next poll"
    FATAL = "cannot go on"


class CallbackKind(enum.Enum):
    """The duties of the application with tasks before the member goes on."""

    REVOKE = "commit and give up these active tasks"
    ASSIGN = "own exactly these tasks"
    RELEASE = "commit and give up all tasks, as the member leaves"
    LOSE = "drop all tasks, as other members may own them"


class HeartbeatErrorReaction(enum.Enum):
    """The reaction of a member to the error of a heartbeat."""

    RETRY = "the coordinator still loads: the heartbeat is repeated after a backoff"
    FIND_COORDINATOR = "another broker is the coordinator: it is looked up"
    REJOIN = "the coordinator has removed the member: its tasks are lost, and it rejoins"
    REPORT = "the application is informed, and the heartbeat is repeated"
    FAIL = "the member cannot go on"


class StatusReaction(enum.Enum):
    """The reaction of a member to a status in a heartbeat's response."""

    WARN = "it is logged"
    WAIT = "no record is processed until the group is ready"
    FAIL_LATER = "as WAIT, and the member fails if it lasts two heartbeat intervals"
    FAIL = "the member fails"


@frozen
class TasksByRole:
    """The tasks of one member."""

    active: frozenset[TaskId] = frozenset()
    standby: frozenset[TaskId] = frozenset()
    warm_up: frozenset[TaskId] = frozenset()

    @classmethod
    def of(cls, active: Iterable[TaskId] = (), standby: Iterable[TaskId] = (), warm_up: Iterable[TaskId] = ()) -> Self:
        """Return the tasks; of a group that is ready."""
        return cls(frozenset(active), frozenset(standby), frozenset(warm_up))

    def fields(self) -> dict[str, list[dict[str, Any]]]:
        """Return the fields of a heartbeat."""
        return {role: _task_fields(tasks) for role, tasks in zip(TASK_FIELDS, self.roles, strict=True)}

    @property
    def roles(self) -> tuple[frozenset[TaskId], frozenset[TaskId], frozenset[TaskId]]:
        """The tasks by role, in the order of ``TASK_FIELDS``."""
        return self.active, self.standby, self.warm_up


@frozen
class StreamsTasks(TasksByRole):
    """The tasks that a member has of its coordinator.

    >>> StreamsTasks.of(active=[TaskId(0, 1)]).fields()["activeTasks"]
    [{'subtopologyId': '0', 'partitions': [1]}]
    """

    group_ready: bool = True
    """Whether records may be processed. Java: ``isGroupReady``."""


TASK_FIELDS: Final = ("activeTasks", "standbyTasks", "warmupTasks")


def _task_fields(tasks: Iterable[TaskId]) -> list[dict[str, Any]]:
    partitions: dict[int, list[int]] = {}
    for task in sorted(tasks):
        partitions.setdefault(task.subtopology, []).append(task.partition)
    return [{"subtopologyId": str(number), "partitions": numbers} for number, numbers in partitions.items()]


def decode_tasks(fields: Sequence[Mapping[str, Any]]) -> frozenset[TaskId]:
    """Return the tasks of one field of a heartbeat.

    >>> sorted(map(str, decode_tasks([{"subtopologyId": "0", "partitions": [1, 0]}])))
    ['0_0', '0_1']

    Raises:
        InvalidInput: A subtopology is no number, as it is in every topology of a member.
    """
    return frozenset(
        TaskId(number, partition)
        for subtopology in fields
        for number in (parse_number(subtopology["subtopologyId"]),)
        for partition in subtopology["partitions"]
    )


@frozen
class Callback:
    """One call of the application; the member goes on when it has returned."""

    kind: CallbackKind
    assignment: StreamsTasks = StreamsTasks()
    """REVOKE: the active tasks to give up. ASSIGN: all tasks to own. Otherwise empty."""


@frozen
class Status:
    """A status of the group, as the coordinator reports it to its members."""

    code: int
    detail: str = ""


@frozen
class MemberFailure:
    """Why a member is in the state FATAL."""

    java_exception: str
    message: str


@frozen(kw_only=True)
class MemberProfile:
    """The topology and configuration that a member sends when it joins; constant for its lifetime."""

    group_id: str
    member_id: str
    process_id: str
    rebalance_timeout_ms: int
    topology: Mapping[str, Any] = field(hash=False, repr=False)
    """The field of the request: ``topology_fields``."""
    instance_id: str | None = None
    """``group.instance.id`` of a static member, which needs a broker of 4.4."""
    rack_id: str | None = None
    endpoint: tuple[str, int] | None = None
    """Host and port (``application.server``)."""
    client_tags: tuple[tuple[str, str], ...] = ()
    reports_while_reconciling: bool = False
    """Whether heartbeats have the owned tasks while the application takes an assignment, as those of Java up to 4.3.1.

    The coordinator takes a task that is missing there for revoked and may assign it to another member, although this
    member goes on to take it.
    """

    @property
    def leave_epoch(self) -> int:
        """The epoch of a heartbeat that leaves; the tasks of a static member wait for its return, or its session."""
        return LEAVE_GROUP_MEMBER_EPOCH if self.instance_id is None else LEAVE_GROUP_STATIC_MEMBER_EPOCH


def offset_fields(offset_sums: Mapping[TaskId, int] | None) -> list[dict[str, Any]] | None:
    """Return the field ``taskOffsets`` of a heartbeat, None if nothing is known; sums below 0 are no offsets.

    >>> offset_fields({TaskId(0, 1): 7, TaskId(0, 2): -2})
    [{'subtopologyId': '0', 'partition': 1, 'offset': 7}]
    """
    if offset_sums is None:
        return None
    return [
        {"subtopologyId": str(task.subtopology), "partition": task.partition, "offset": offset_sums[task]}
        for task in sorted(offset_sums)
        if offset_sums[task] >= 0
    ]
