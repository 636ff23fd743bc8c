"""Keeps a task on a caught-up process while its target process warms up.

How it works. If the process of a task is too far behind, the task runs on one that has caught up (from 3.2 on, on the
one with the smallest lag if none has). Its target process gets a warm-up replica as long as there are any left.
Standbys are moved in the same way. Tasks with the fewest caught-up processes come first.

Kafka examines all processes for each task. Here, only those with an exceptional lag are examined; if the common lag is
acceptable, ``ConstrainedQueue`` has the least loaded of nearly all processes.
Java: ``TaskMovement``.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

from attrs import define, field

from streams_assignor.task_assignors.high_availability._constrained_queue import ConstrainedQueue
from streams_assignor.task_assignors.high_availability._lags import Lags
from streams_assignor.task_assignors.java_order import priority_queue_order
from streams_assignor.task_assignors.partial_assignment import AssignmentReason, PartialAssignment
from streams_assignor.upgrade.release_behaviour import ReleaseBehaviour


def move_tasks(assignment: PartialAssignment, lags: Lags, behaviour: ReleaseBehaviour, max_warmups: int) -> bool:
    """Move tasks to caught-up processes; return whether any moved, so that a follow-up rebalance is needed."""
    mover = _TaskMover(assignment, lags, behaviour, ConstrainedQueue(assignment), max_warmups)
    actives = mover.to_move((assignment.active[task], task) for task in lags.by_task)
    for process, task in actives:
        mover.move_active(task, process)
    mover.queue = ConstrainedQueue(assignment)
    standbys = ((process, task) for task in lags.by_task for process in assignment.standbys[task])
    moved = [
        mover.move_standby(task, process)
        for process, task in mover.to_move(p for p in standbys if p not in mover.warming_up)
    ]
    return bool(actives) or any(moved)


@define(eq=False)
class _TaskMover:
    """``warming_up`` has the processes and tasks of the warm-ups for active tasks."""

    assignment: PartialAssignment
    lags: Lags
    behaviour: ReleaseBehaviour
    queue: ConstrainedQueue
    remaining_warmups: int
    warming_up: set[tuple[int, int]] = field(factory=set)

    def to_move(self, pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the pairs of process and task that should move, in their order."""
        by_task, tasks = self.lags.by_task, len(self.assignment.tasks)
        moving = [pair for pair in sorted(pairs) if self._should_move(*pair)]
        keys = [by_task[task].caught_up_count * tasks + task for _, task in moving]
        return [moving[at] for at in priority_queue_order(keys, self.behaviour.iterator_order)]

    def move_active(self, task: int, process: int) -> None:
        """Move the active task of a process to another one; there is always one."""
        lags, standbys = self.lags.by_task[task], self.assignment.standbys[task]
        ready = [other for other in standbys if lags.has_caught_up(other)]
        if (other := self.queue.poll(ready.__contains__, ready)) is not None:
            self._swap(task, process, other, AssignmentReason.CAUGHT_UP_STANDBY)
        elif (other := self._least_loaded_caught_up(task)) is not None:
            self._move(task, process, other, AssignmentReason.CAUGHT_UP)
        elif (other := next(lags.by_lag())) in standbys:
            self._swap(task, process, other, AssignmentReason.LEAST_LAG)
        else:
            self._move(task, process, other, AssignmentReason.LEAST_LAG)
        self.queue.offer(other, process)

    def move_standby(self, task: int, process: int) -> bool:
        """Move the standby of a process to another one without the task; return whether there is one."""
        assignment = self.assignment
        other, why = self._least_loaded_caught_up(task), AssignmentReason.STANDBY_CAUGHT_UP
        if other is None and self.behaviour.least_lag_fallback:
            other, why = self._lower_lag_process(task, process), AssignmentReason.STANDBY_LEAST_LAG
        if other is None:
            return False
        assignment.standbys[task].add(other)
        assignment.record(task, other, why, process)
        if self._take_warmup():
            assignment.record(task, process, AssignmentReason.STANDBY_WARM_UP, other)
        else:
            assignment.standbys[task].discard(process)
            assignment.task_count[process] -= 1
        assignment.task_count[other] += 1
        self.queue.offer(other, process)
        return True

    def _should_move(self, process: int, task: int) -> bool:
        lags = self.lags.by_task[task]
        if lags.has_caught_up(process):
            return False
        return lags.least < lags.lag(process) if self.behaviour.least_lag_fallback else lags.caught_up_count > 0

    def _swap(self, task: int, process: int, other: int, why: AssignmentReason) -> None:
        assignment = self.assignment
        assignment.active[task] = other
        assignment.standbys[task].remove(other)
        assignment.standbys[task].add(process)
        assignment.record(task, other, why, process)
        assignment.record(task, process, AssignmentReason.WARM_UP, other)

    def _move(self, task: int, process: int, other: int, why: AssignmentReason) -> None:
        assignment = self.assignment
        assignment.active[task] = other
        assignment.record(task, other, why, process)
        if self._take_warmup():
            assignment.standbys[task].add(process)
            assignment.record(task, process, AssignmentReason.WARM_UP, other)
            self.warming_up.add((process, task))
        else:
            assignment.task_count[process] -= 1
        assignment.task_count[other] += 1

    def _take_warmup(self) -> bool:
        self.remaining_warmups -= 1
        return self.remaining_warmups >= 0

    def _least_loaded_caught_up(self, task: int) -> int | None:
        """Return the least loaded process that has caught up and does not have the task."""
        lags, has = self.lags.by_task[task], self.assignment.has

        def wanted(process: int) -> bool:
            return lags.has_caught_up(process) and not has(process, task)

        return self.queue.poll(wanted, None if lags.others_caught_up else [*filter(wanted, lags.caught_up)])

    def _lower_lag_process(self, task: int, process: int) -> int | None:
        """Return the process without the task with the smallest lag, if that is smaller than the lag of ``process``."""
        before = takewhile(process.__ne__, self.lags.by_task[task].by_lag())
        return next((other for other in before if not self.assignment.has(other, task)), None)
