"""The tasks of one member by role, as the coordinator has them. Java: ``TasksTuple``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from attrs import frozen

from streams_assignor.codec import TaskId
from streams_assignor.streams_group.model import StreamsTasks, TasksByRole


@frozen(cache_hash=True)
class TasksTuple(TasksByRole):
    """Active, standby and warm-up tasks; the operators work role by role.

    >>> TasksTuple.of(active=[TaskId(0, 0), TaskId(0, 1)]) - TasksTuple.of(active=[TaskId(0, 1)])
    TasksTuple(0_0)
    """

    @classmethod
    def of_client(cls, assignment: StreamsTasks | None) -> TasksTuple:
        """Return what a client has; None is nothing."""
        return cls() if assignment is None else cls(*assignment.roles)

    def overlaps(self, other: TasksTuple) -> bool:
        """Whether a task has the same role in both. Java: ``containsAny``."""
        return any(not mine.isdisjoint(theirs) for mine, theirs in zip(self.roles, other.roles, strict=True))

    def __and__(self, other: TasksTuple) -> TasksTuple:
        return TasksTuple(self.active & other.active, self.standby & other.standby, self.warm_up & other.warm_up)

    def __sub__(self, other: TasksTuple) -> TasksTuple:
        return TasksTuple(self.active - other.active, self.standby - other.standby, self.warm_up - other.warm_up)

    def __or__(self, other: TasksTuple) -> TasksTuple:
        return TasksTuple(self.active | other.active, self.standby | other.standby, self.warm_up | other.warm_up)

    def __le__(self, other: TasksTuple) -> bool:
        return all(mine <= theirs for mine, theirs in zip(self.roles, other.roles, strict=True))

    def __bool__(self) -> bool:
        return any(self.roles)

    def __repr__(self) -> str:
        return f"TasksTuple({self})"

    def __str__(self) -> str:
        active, standby, warm_up = (" ".join(map(str, sorted(tasks))) for tasks in self.roles)
        words = [active, standby and f"standby {standby}", warm_up and f"warm-up {warm_up}"]
        return ", ".join(filter(None, words)) or "nothing"


NO_TASKS: Final = TasksTuple()


def partitions_by_subtopology(tasks: Iterable[TaskId]) -> dict[str, frozenset[int]]:
    """Return tasks in the form of the task assignor.

    >>> partitions_by_subtopology([TaskId(0, 1), TaskId(0, 2)])
    {'0': frozenset({1, 2})}
    """
    by_subtopology: dict[str, set[int]] = {}
    for task in sorted(tasks):
        by_subtopology.setdefault(str(task.subtopology), set()).add(task.partition)
    return {subtopology: frozenset(partitions) for subtopology, partitions in by_subtopology.items()}


def tasks_of(partitions: Mapping[str, Iterable[int]]) -> frozenset[TaskId]:
    """Return the tasks that the task assignor names.

    >>> sorted(map(str, tasks_of({"1": {0, 2}})))
    ['1_0', '1_2']
    """
    return frozenset(
        TaskId(int(subtopology), number) for subtopology, numbers in partitions.items() for number in numbers
    )


def owned_tasks(fields: Sequence[frozenset[TaskId] | None]) -> TasksTuple | None:
    """Return the owned tasks of a heartbeat; None unless it has all three roles."""
    active, standby, warm_up = fields
    if active is None or standby is None or warm_up is None:
        return None
    return TasksTuple(active, standby, warm_up)
