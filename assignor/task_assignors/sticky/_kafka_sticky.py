"""The sticky assignor as Kafka's own leaders of 0.11 to 2.5 run it.

Active tasks stay, in the order of Kafka's hash map, until a process has its share of whole tasks per thread. Then
processes below their share take those that they had as a standby, and the others are placed in task order. A task that
is placed, active or standby, goes to the process that had it, active first, then the least loaded one that had it as a
standby; to the least loaded one of all instead if some process is less loaded. Of equally loaded processes the first
one in the order of the hash map is taken with which the task makes a new pair of tasks; a pair is two tasks that have
shared a process in this assignment. Nothing is balanced afterwards: processes may have 5, 5 and 2 standbys.

Processes are numbers in the order of the hash map, tasks are numbers in the order of their ids. Of more than twelve
processes the order inside a set of some of them may differ.
Java: ``StickyTaskAssignor.assignActive``, ``assignStandby``, ``findClient``, ``TaskPairs``.
"""

from __future__ import annotations

from collections.abc import Sequence

from streams_assignor.codec import TaskId
from streams_assignor.task_assignors.java_order import hash_order_before_3_0
from streams_assignor.task_assignors.partial_assignment import AssignmentReason, RecordReason
from streams_assignor.task_assignors.sticky._standbys import ProcessesByTask


class KafkaStickyAssignment:
    """An assignment that is made: first ``assign_active``, then ``assign_standbys``."""

    def __init__(
        self,
        capacities: Sequence[int],
        ids: Sequence[TaskId],
        previous_active: ProcessesByTask,
        previous_standby: ProcessesByTask,
        record: RecordReason | None = None,
    ) -> None:
        self._ids, self._was_active, self._was_standby = ids, previous_active, previous_standby
        self._assigned = _Assigned(capacities)
        self._capacities = capacities
        self._record = record

    def assign_active(self) -> list[int]:
        """Return the owner of each task."""
        share = len(self._ids) // sum(self._capacities)
        owners: dict[int, int] = {}
        for candidates_of, reason in (
            (self._last_owner, AssignmentReason.KEPT),
            (self._was_standby.__getitem__, AssignmentReason.STANDBY_TAKES_OVER),
        ):
            for task in self._in_hash_order():
                if task not in owners:
                    below = (
                        each
                        for each in candidates_of(task)
                        if len(self._assigned.tasks[each]) < share * self._capacities[each]
                    )
                    if (process := next(below, None)) is not None:
                        owners[task] = process
                        self._add(task, process, reason)
        for task in range(len(self._ids)):
            if task not in owners:
                owners[task] = self._place(task, range(len(self._capacities)))
                self._add(task, owners[task], AssignmentReason.LEAST_LOADED)
        return [owners[task] for task in range(len(self._ids))]

    def assign_standbys(self, num_standbys: int) -> list[list[int]]:
        """Return the processes of the standbys of each task."""
        standbys: list[list[int]] = [[] for _ in self._ids]
        for task in self._in_hash_order():
            for _ in range(num_standbys):
                process = self._place(task, self._assigned.without(task))
                self._add(task, process, self._reason(task, process))
                standbys[task].append(process)
        return standbys

    def _in_hash_order(self) -> list[int]:
        numbers = {task: number for number, task in enumerate(self._ids)}
        return [numbers[task] for task in hash_order_before_3_0(self._ids)]

    def _last_owner(self, task: int) -> Sequence[int]:
        """Return the process that had a task: of several, Kafka keeps the last one."""
        return self._was_active[task][-1:]

    def _add(self, task: int, process: int, reason: AssignmentReason) -> None:
        self._assigned.add(task, process)
        if self._record:
            self._record(task, process, reason, None)

    def _place(self, task: int, candidates: Sequence[int]) -> int:
        assigned = self._assigned
        if len(candidates) == 1:
            return candidates[0]
        had = [process for process in candidates if process in self._was_standby[task]]
        standby = assigned.least_loaded(task, had) if had else None
        owners = [process for process in self._last_owner(task) if process in candidates]
        for previous in (*owners, standby):
            if previous is not None and not assigned.is_above_others(previous):
                return previous
        return assigned.least_loaded(task, candidates)

    def _reason(self, task: int, process: int) -> AssignmentReason:
        if process in self._was_active[task]:
            return AssignmentReason.PREVIOUS_ACTIVE_KEPT
        return AssignmentReason.STANDBY_KEPT if process in self._was_standby[task] else AssignmentReason.STANDBY


class _Assigned:
    """The tasks of each process so far, and the pairs of tasks that have shared one."""

    def __init__(self, capacities: Sequence[int]) -> None:
        self._capacities = capacities
        self.tasks: list[set[int]] = [set() for _ in capacities]
        self._pairs = set[frozenset[int]]()

    def without(self, task: int) -> list[int]:
        """Return the processes that do not have a task."""
        return [process for process, tasks in enumerate(self.tasks) if task not in tasks]

    def add(self, task: int, process: int) -> None:
        self._pairs.update(frozenset((task, other)) for other in self.tasks[process])
        self.tasks[process].add(task)

    def is_above_others(self, process: int) -> bool:
        """Whether a process has as many tasks as threads, and another one has more room."""
        is_full = len(self.tasks[process]) >= self._capacities[process]
        return is_full and any(self._has_more_room(other, process) for other in range(len(self._capacities)))

    def least_loaded(self, task: int, candidates: Sequence[int]) -> int:
        """Return the first of the least loaded processes with a new pair; without any, of all."""
        if (without_any := next((process for process in candidates if not self.tasks[process]), None)) is not None:
            return without_any
        with_new = [process for process in candidates if self._has_new_pair(task, process)]
        return self._first_least(with_new or candidates)

    def _first_least(self, candidates: Sequence[int]) -> int:
        least = candidates[0]
        for process in candidates[1:]:
            if self._has_more_room(process, least):
                least = process
        return least

    def _has_more_room(self, process: int, other: int) -> bool:
        load, others = (len(self.tasks[each]) / self._capacities[each] for each in (process, other))
        return load < others or (load == others and self._capacities[process] > self._capacities[other])

    def _has_new_pair(self, task: int, process: int) -> bool:
        return any(frozenset((task, other)) not in self._pairs for other in self.tasks[process])
