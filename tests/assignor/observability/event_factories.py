"""Events with default values."""

from typing import Any

from streams_assignor.codec import TaskId
from streams_assignor.observability.events import AssignmentReceived, JoinReason, TasksChanged
from streams_assignor.rebalance_listener import PartitionsByTask, TaskChanges


def tasks(*numbers: int) -> PartitionsByTask:
    return {TaskId(0, number): frozenset() for number in numbers}


def assignment_received(**known: Any) -> AssignmentReceived:
    usual = {
        "reason": JoinReason.REBALANCE_IN_PROGRESS,
        "generation": 3,
        "is_leader": False,
        "group_version": 11,
        "group_supported_version": 11,
    }
    return AssignmentReceived(**{**usual, "active": tasks(), "standby": tasks(), "tasks_dropped": False, **known})


def tasks_changed(**changes: PartitionsByTask) -> TasksChanged:
    return TasksChanged(TaskChanges(**changes))
