"""Processes of a group while tasks are assigned: their load, and the tasks of their members."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import define, field

from streams_assignor.spark_sim.streams_groups.task_assignor._hash_order import MapOrder, hash_map_order
from streams_assignor.spark_sim.streams_groups.task_assignor._types import StreamsTaskId
from streams_assignor.task_assignors.java_order import JavaPriorityQueue


@define(eq=False)
class ProcessState:
    """A process with its members, each of which can run as much as any other one."""

    members: Sequence[str]
    """In the order of Kafka's ``memberToTaskCounts``."""
    active_tasks: dict[str, list[StreamsTaskId]] = field(factory=dict)
    """The active tasks of each member."""
    standby_tasks: dict[str, list[StreamsTaskId]] = field(factory=dict)
    task_counts: dict[str, int] = field(init=False)
    """Active and standby tasks by member."""
    _tasks: set[StreamsTaskId] = field(factory=set, init=False)
    _least_loaded: _MemberQueue | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        """Begin without tasks."""
        self.task_counts = dict.fromkeys(self.members, 0)

    @property
    def load(self) -> float:
        """Tasks per member."""
        return sum(self.task_counts.values()) / len(self.members)

    def has_task(self, task: StreamsTaskId) -> bool:
        """Return whether a member of the process has the task, active or standby."""
        return task in self._tasks

    def add_task(self, member: str, task: StreamsTaskId, *, active: bool) -> int:
        """Assign a task to a member, and return how many tasks the member now has."""
        self._least_loaded = None  # Kafka drops its queue here, too: the next one begins in the order of the members
        return self._add(member, task, active)

    def add_task_to_least_loaded_member(self, task: StreamsTaskId, *, active: bool) -> int:
        """Assign a task to the member with the fewest tasks, and return how many tasks the member now has."""
        if self._least_loaded is None:
            self._least_loaded = _MemberQueue.of(self.members, self.task_counts.values())
        at = self._least_loaded.queue.poll()
        count = self._add(self.members[at], task, active)
        self._least_loaded.counts[at] = count
        self._least_loaded.queue.add(at)
        return count

    def _add(self, member: str, task: StreamsTaskId, active: bool) -> int:
        self._tasks.add(task)
        (self.active_tasks if active else self.standby_tasks).setdefault(member, []).append(task)
        self.task_counts[member] += 1
        return self.task_counts[member]


@define(eq=False)
class _MemberQueue:
    """Members of a process by number of tasks."""

    counts: list[int]
    queue: JavaPriorityQueue

    @classmethod
    def of(cls, members: Sequence[str], counts: Iterable[int]) -> _MemberQueue:
        """Add members in their order."""
        numbers = list(counts)
        return cls(numbers, _filled(JavaPriorityQueue(numbers), len(members)))


@define(eq=False)
class ProcessQueue:
    """Processes by load, with equal loads in the order that Kafka's heap has them in."""

    processes: Sequence[ProcessState]
    _loads: list[float] = field(init=False)
    _queue: JavaPriorityQueue = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Add all processes in their order."""
        self._loads = [process.load for process in self.processes]
        self._queue = _filled(JavaPriorityQueue(self._loads), len(self.processes))

    def add_task(self, task: StreamsTaskId, *, active: bool) -> int | None:
        """Assign a task to the least loaded process without it.

        Returns the number of tasks that its member now has, or None if there is no such process.
        """
        holders: list[int] = []
        count = None
        while count is None and self._queue.array:
            at = self._queue.poll()
            if not self.processes[at].has_task(task):
                count = self.processes[at].add_task_to_least_loaded_member(task, active=active)
                self._loads[at] = self.processes[at].load
            holders.append(at)
        for at in reversed(holders):
            self._queue.add(at)
        return count


def process_states(process_of_member: Mapping[str, str], order: MapOrder) -> dict[str, ProcessState]:
    """Return the processes in the order of Kafka's ``processIdToState``, a map with a capacity of all members."""
    members: dict[str, list[str]] = {}
    for member, process in process_of_member.items():
        members.setdefault(process, []).append(member)
    return {
        process: ProcessState(hash_map_order(members[process]))
        for process in order(process_of_member.values(), len(process_of_member))
    }


def _filled(queue: JavaPriorityQueue, items: int) -> JavaPriorityQueue:
    for item in range(items):
        queue.add(item)
    return queue
