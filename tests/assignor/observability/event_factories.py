"""Events with default values."""

from typing import Any

from assignor.observability.events import AssignmentReceived, JoinReason, TasksChanged
from assignor.rebalance_listener import PartitionsByTask, TaskChanges
from subscription_codec import TaskId


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
