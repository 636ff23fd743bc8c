"""The tasks of a streams group's member: turns callbacks of the member into those of a listener."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.observability.events import Observer, TasksChanged
from streams_assignor.rebalance_listener import (
    OffsetSums,
    OwnedTasks,
    PartitionsByTask,
    TaskChanges,
    TaskRebalanceListener,
    require_synchronous,
)
from streams_assignor.streams_group.model import Callback, CallbackKind, StreamsTasks
from streams_assignor.topology import Topology


class TaskPartitions:
    """The partitions that each task reads.

    A task has the partition of its number of every source that is so large. Only for subtopologies with several sources
    their sizes have to be known.
    """

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._counts: Mapping[str, int] = {}

    def topics_to_look_up(self, assignment: StreamsTasks) -> frozenset[str]:
        """Return the topics whose numbers of partitions decide what these tasks read."""
        numbers = {task.subtopology for task in assignment.active | assignment.standby | assignment.warm_up}
        inputs = [self._topology.subtopologies[number].inputs for number in numbers]
        return frozenset(topic for topics in inputs if len(topics) > 1 for topic in topics)

    def update(self, counts: Mapping[str, int]) -> None:
        """Take the numbers of partitions of topics."""
        self._counts = {**self._counts, **counts}

    def of(self, tasks: Iterable[TaskId]) -> PartitionsByTask:
        """Return the partitions of each of these tasks."""
        return {task: frozenset(self._inputs(task)) for task in sorted(tasks)}

    def _inputs(self, task: TaskId) -> Iterable[TopicPartition]:
        for topic in self._topology.subtopologies[task.subtopology].inputs:
            if task.partition < self._counts.get(topic, task.partition + 1):
                yield TopicPartition(topic, task.partition)


class OwnedTaskNotifier:
    """Calls the listener for each change of the member's tasks: once, and in order. For the user's thread.

    If a method of the listener raises, the remaining ones are called, then the first exception is raised again.
    """

    def __init__(self, listener: TaskRebalanceListener, partitions: TaskPartitions, observe: Observer) -> None:
        self.owned = OwnedTasks()
        """The tasks that the listener knows about."""
        self._listener: Final = listener
        self._partitions: Final = partitions
        self._observe: Final = observe

    def run(self, callback: Callback, *, late: bool) -> None:
        """Announce what a callback changes; ``late``: other members may own the tasks that are given up."""
        after = _AFTER[callback.kind](self.owned, callback.assignment, self._partitions)
        self._notify(after, late or callback.kind is CallbackKind.LOSE)

    def offset_sums(self) -> OffsetSums:
        """Return the sums of the listener; on the thread of the member."""
        return require_synchronous(self._listener.offset_sums())

    def close(self) -> None:
        """Announce that all remaining tasks are lost."""
        self._notify(OwnedTasks(), True)

    def _notify(self, after: OwnedTasks, lost: bool) -> None:
        changes, self.owned = TaskChanges.between(self.owned, after, lost=lost), after
        if changes != TaskChanges():
            self._observe(TasksChanged(changes))
        errors: list[Exception] = []
        for call in changes.callbacks(self._listener):
            try:
                require_synchronous(call())
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]


def _after_revocation(owned: OwnedTasks, revoked: StreamsTasks, _: TaskPartitions) -> OwnedTasks:
    kept = {task: partitions for task, partitions in owned.active.items() if task not in revoked.active}
    return OwnedTasks(kept, owned.standby)


def _after_assignment(_: OwnedTasks, assigned: StreamsTasks, partitions: TaskPartitions) -> OwnedTasks:
    return OwnedTasks(partitions.of(assigned.active), partitions.of(assigned.standby | assigned.warm_up))


_AFTER: Final[Mapping[CallbackKind, Callable[[OwnedTasks, StreamsTasks, TaskPartitions], OwnedTasks]]] = {
    CallbackKind.REVOKE: _after_revocation,
    CallbackKind.ASSIGN: _after_assignment,
    CallbackKind.RELEASE: lambda *_: OwnedTasks(),
    CallbackKind.LOSE: lambda owned, *_: OwnedTasks(standby=owned.standby),
}
