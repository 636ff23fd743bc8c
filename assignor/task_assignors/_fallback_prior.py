"""The fallback-prior task assignor: every process keeps its tasks, and the group rebalances again soon.

Kafka uses it if the lags are unknown because the end offsets could not be read. How it works. (1) Every task stays with
the process that had it active, however unbalanced that is. (2) The number of other tasks of each process is decided
next, as balanced as possible (``quotas.distribute``). (3) Within that, tasks go to processes that had them as a
standby; (4) the rest goes to the least loaded processes, in task order. (5) Standbys stay where they were, unless their
process has as many tasks as members while another one is less loaded; never with their active task.

Kafka iterates over Java hash maps here, and prefers processes where a task shares a process with new tasks. Here, ties
are decided by the number of members and the signed order of process ids. Java: ``FallbackPriorTaskAssignor`` (2.6 and
later).
"""

from __future__ import annotations

from collections.abc import Callable, Set
from fractions import Fraction
from operator import attrgetter
from typing import ClassVar

from attrs import frozen

from streams_assignor.codec import TaskId
from streams_assignor.task_assignors.application_state import ApplicationState, KafkaStreamsState
from streams_assignor.task_assignors.least_loaded import LeastLoadedHeap
from streams_assignor.task_assignors.partial_assignment import (
    AssignmentReason,
    PartialAssignment,
    ReasonTexts,
    task_assignment,
)
from streams_assignor.task_assignors.quotas import distribute, iter_least_loaded
from streams_assignor.task_assignors.task_assignment import TaskAssignment


@frozen
class FallbackPriorTaskAssignor:
    """Every process keeps its tasks, and a follow-up rebalance is always requested. Needs no lags."""

    name: ClassVar[str] = "fallback-prior"

    def assign(self, state: ApplicationState, /, *, reasons: ReasonTexts | None = None) -> TaskAssignment:
        """Assign all tasks; add the reason for each task and process to ``reasons``."""
        assignment = PartialAssignment.of(
            state.sorted_processes, sorted(state.tasks), record_reasons=reasons is not None
        )
        if not assignment.processes:
            return task_assignment(state)
        previous_standbys = _previous_processes(assignment, attrgetter("previous_standby_tasks"))
        _assign_active(assignment, previous_standbys)
        _assign_standbys(assignment, state, previous_standbys)
        if reasons is not None:
            assignment.render_reasons(reasons)
        return task_assignment(state, assignment, follow_up=True)


def _assign_active(assignment: PartialAssignment, previous_standbys: dict[TaskId, list[int]]) -> None:
    previous_active = _previous_processes(assignment, attrgetter("previous_active_tasks"))
    capacities, counts = assignment.capacity, assignment.task_count
    unassigned = []
    for number, task in enumerate(assignment.tasks):
        if task in previous_active:
            owner = previous_active[task][-1]  # of several the last one, as in Kafka's map order
            counts[owner] += 1
            _assign(assignment, number, owner, AssignmentReason.KEPT)
        else:
            unassigned.append(number)
    most = _quotas(capacities, counts, len(assignment.tasks))
    without_state = []
    for number in unassigned:
        able = [at for at in previous_standbys.get(assignment.tasks[number], ()) if counts[at] < most[at]]
        if able:
            at = min(able, key=lambda at: (counts[at] / capacities[at], -capacities[at]))
            counts[at] += 1
            _assign(assignment, number, at, AssignmentReason.STANDBY_TAKES_OVER)
        else:
            without_state.append(number)
    for number, at in zip(without_state, iter_least_loaded(capacities, counts, most), strict=False):
        _assign(assignment, number, at, AssignmentReason.LEAST_LOADED)


def _assign(assignment: PartialAssignment, task: int, process: int, why: AssignmentReason) -> None:
    assignment.active[task] = process
    assignment.record(task, process, why)


def _previous_processes(
    assignment: PartialAssignment, previous_tasks: Callable[[KafkaStreamsState], Set[TaskId]]
) -> dict[TaskId, list[int]]:
    """Return the processes that had each task that still exists."""
    by_task: dict[TaskId, list[int]] = {}
    existing = frozenset(assignment.tasks)
    for at, process in enumerate(assignment.processes):
        for task in previous_tasks(process) & existing:
            by_task.setdefault(task, []).append(at)
    return by_task


def _quotas(capacities: list[int], counts: list[int], tasks: int) -> list[int]:
    """Return the largest number of tasks of each process, for the smaller spread of the two ways to distribute."""

    def spread(even_share: list[int]) -> Fraction:
        loads = [*map(Fraction, even_share, capacities)]
        return max(loads) - min(loads)

    return min((distribute(capacities, counts, tasks, look_ahead=ahead) for ahead in (0, 1)), key=spread)


def _assign_standbys(
    assignment: PartialAssignment, state: ApplicationState, previous_standbys: dict[TaskId, list[int]]
) -> None:
    by_load = LeastLoadedHeap(len(assignment.processes), lambda at: (assignment.load(at), -assignment.capacity[at]))
    copies = min(state.configs.num_standby_replicas, len(assignment.processes) - 1)
    for number, task in enumerate(assignment.tasks):
        for _ in range(copies if task in state.stateful else 0):
            at, why = _standby_process(assignment, number, previous_standbys.get(task, []), by_load)
            assignment.standbys[number].add(at)
            assignment.record(number, at, why)
            assignment.task_count[at] += 1
            by_load.update(at)


def _standby_process(
    assignment: PartialAssignment, task: int, previous: list[int], by_load: LeastLoadedHeap
) -> tuple[int, AssignmentReason]:
    def lacks(at: int) -> bool:
        return not assignment.has(at, task)

    mine = min(filter(lacks, previous), key=by_load.key, default=None)
    if mine is not None:
        is_full = assignment.task_count[mine] >= assignment.capacity[mine]
        if not (is_full and by_load.key(by_load.least()) < by_load.key(mine)):
            return mine, AssignmentReason.STANDBY_KEPT
    return by_load.least(lacks), AssignmentReason.STANDBY
