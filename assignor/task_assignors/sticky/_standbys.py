"""Assigns the standbys of the sticky assignor, once all active tasks are assigned.

A standby stays with a process that had the task, standby or active. Missing standbys go to the process that will be
least loaded and does not have the task; among the first few equals, to the one that shares the fewest tasks with the
other processes of the task. After that, standbys move as long as the more loaded of two processes gets less loaded: at
first only those above the quota of a balanced assignment, so that no move is undone. In the end nothing can move; so
next time, if nothing has changed, nothing moves.

Processes and tasks are numbers here: their positions in the order of process ids and of task ids.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from math import inf
from typing import Final

from streams_assignor.task_assignors.partial_assignment import AssignmentReason, RecordReason
from streams_assignor.task_assignors.quotas import distribute

MAX_CANDIDATES: Final = 8
"""The number of equally loaded processes that are compared for a standby; small, for speed."""

ProcessesByTask = Sequence[list[int]]
"""For each task, the processes in question."""


def assign_standbys(
    capacities: Sequence[int],
    active: Sequence[int],
    previous_active: ProcessesByTask,
    previous_standby: ProcessesByTask,
    tasks: Sequence[int],
    num_standbys: int,
    record: RecordReason | None = None,
) -> Iterator[tuple[int, list[int]]]:
    """Assign the standbys of ``tasks``; yield each task with the processes of its standbys."""
    group = _StandbyState(capacities, active, previous_active, previous_standby)
    for task in tasks:
        for process in group.retained_standbys(task, num_standbys):
            group.add(task, process)
            if record:
                was_its_active = process in previous_active[task]
                record(
                    task,
                    process,
                    AssignmentReason.PREVIOUS_ACTIVE_KEPT if was_its_active else AssignmentReason.STANDBY_KEPT,
                    None,
                )
    group.queue = queue = _LoadBuckets(capacities, group.totals)
    for task in tasks:
        while len(group.holders[task]) <= num_standbys:
            _, process = group.best_process(task, group.holders[task])
            group.add(task, process)
            if record:
                record(task, process, AssignmentReason.STANDBY, None)
            queue.update(process, group.totals[process])
    if group.uneven():
        given = _standbys_by_process(group, tasks)
        _rebalance(group, given, _max_tasks(group), record)
        while _rebalance(group, given, [0] * len(capacities), record):
            pass
    for task in tasks:
        yield task, group.holders[task][1:]


class _LoadBuckets:
    """Processes by their load with one more task, then largest first, then in order; in buckets of equal load.

    A bucket is sorted when it is first used. Its first process is at the end, where removing it is cheap.
    """

    def __init__(self, capacities: Sequence[int], totals: Sequence[int]) -> None:
        self._capacities = capacities
        self._process = sorted(range(len(capacities)), key=lambda process: (capacities[process], -process))
        self._rank = sorted(range(len(capacities)), key=self._process.__getitem__)
        self._load = [0.0] * len(capacities)
        self._lines: dict[float, list[int]] = {}
        self._loads: list[float] = []
        self._in_order: set[float] = set()
        for process, total in enumerate(totals):
            self._insert(process, total)

    def lowest_load(self) -> float:
        """Return the smallest load with one more task."""
        return self._loads[0]

    def buckets(self) -> Iterator[tuple[float, Iterator[int]]]:
        """Yield the buckets from the smallest load on, each with its processes in order."""
        for load in self._loads:
            if load not in self._in_order:
                self._lines[load].sort()
                self._in_order.add(load)
            yield load, map(self._process.__getitem__, reversed(self._lines[load]))

    def update(self, process: int, total: int) -> None:
        """Move a process to the bucket for ``total`` tasks."""
        load, standing = self._load[process], self._rank[process]
        line = self._lines[load]
        del line[bisect_left(line, standing) if load in self._in_order else line.index(standing)]
        if not line:
            del self._lines[load]
            self._loads.remove(load)
            self._in_order.discard(load)
        self._insert(process, total)

    def _insert(self, process: int, total: int) -> None:
        self._load[process] = load = (total + 1) / self._capacities[process]
        if load not in self._lines:
            self._lines[load] = []
            insort(self._loads, load)
        if load in self._in_order:
            insort(self._lines[load], self._rank[process])
        else:
            self._lines[load].append(self._rank[process])


class _StandbyState:
    """The assignment so far. The holders of a task: its owner, then the processes of its standbys."""

    queue: _LoadBuckets

    def __init__(
        self,
        capacities: Sequence[int],
        owners: Sequence[int],
        was_active: ProcessesByTask,
        was_standby: ProcessesByTask,
    ) -> None:
        self.capacities, self._was_active, self._was_standby = capacities, was_active, was_standby
        self.holders = [[owner] for owner in owners]
        self.active = [0] * len(capacities)
        for owner in owners:
            self.active[owner] += 1
        self.totals = self.active[:]
        self._shared: list[dict[int, int]] = [{} for _ in capacities]

    def add(self, task: int, process: int) -> None:
        shared, holders = self._shared[process], self.holders[task]
        for other in holders:
            shared[other] = self._shared[other][process] = shared.get(other, 0) + 1
        holders.append(process)
        self.totals[process] += 1

    def remove(self, task: int, process: int) -> None:
        self.holders[task].remove(process)
        self.totals[process] -= 1
        for other in self.holders[task]:
            self._shared[process][other] -= 1
            self._shared[other][process] -= 1

    def load(self, process: int, more: int = 0) -> float:
        return (self.totals[process] + more) / self.capacities[process]

    def uneven(self) -> bool:
        """Whether a move can improve the balance: the most against the least loaded process."""
        return max(map(self.load, range(len(self.totals)))) > self.queue.lowest_load()

    def previously_had(self, task: int, process: int) -> bool:
        return process in self._was_active[task] or process in self._was_standby[task]

    def retained_standbys(self, task: int, copies: int) -> Sequence[int]:
        """Return previous processes of a task but its owner: those that had it active first, then the least loaded."""
        owner, active, standby = self.holders[task][0], self._was_active[task], self._was_standby[task]
        if not active and not standby:
            return ()
        previous = (
            standby if active == [owner] else [*active, *[process for process in standby if process not in active]]
        )
        if owner in previous:
            previous = [process for process in previous if process != owner]
        if len(previous) <= copies:
            return previous
        return sorted(
            previous, key=lambda process: (process not in active, self.load(process, 1), -self.capacities[process])
        )[:copies]

    def best_process(self, task: int, holders_to_meet: Sequence[int]) -> tuple[float, int]:
        """Return the best process for a standby after its load then: of the first equals, least in common."""
        holders = self.holders[task]
        for load, line in self.queue.buckets():
            best, fewest, looks = -1, 0, 0
            for process in line:
                if process in holders:
                    continue
                shared = self._shared[process]
                common = sum([shared.get(other, 0) for other in holders_to_meet])
                if not looks or common < fewest:
                    best, fewest = process, common
                looks += 1
                if looks == MAX_CANDIDATES or not common:
                    break
            if looks:
                return load, best
        return inf, -1


def _standbys_by_process(group: _StandbyState, wanting: Sequence[int]) -> list[set[int]]:
    """Return the standbys of each process."""
    given: list[set[int]] = [set() for _ in group.totals]
    for task in wanting:
        for process in group.holders[task][1:]:
            given[process].add(task)
    return given


def _max_tasks(group: _StandbyState) -> list[int]:
    """Return the largest number of tasks of each process: the largest load of a balanced assignment."""
    capacities = group.capacities
    distributed = distribute(capacities, group.active, sum(group.totals), look_ahead=1)
    most = max(range(len(distributed)), key=lambda process: distributed[process] / capacities[process])
    return [distributed[most] * capacity // capacities[most] for capacity in capacities]


def _rebalance(
    group: _StandbyState, standbys: Sequence[set[int]], max_tasks: Sequence[int], record: RecordReason | None
) -> bool:
    """Move standbys of processes above their limits, most loaded first; first those that they did not have before."""
    moved = False
    for process in sorted(range(len(max_tasks)), key=lambda process: -group.load(process)):
        if group.load(process) <= group.queue.lowest_load():
            continue
        for task in sorted(standbys[process], key=lambda task: (group.previously_had(task, process), task)):
            if group.totals[process] <= max_tasks[process] or group.load(process) <= group.queue.lowest_load():
                break
            load, best = group.best_process(task, [holder for holder in group.holders[task] if holder != process])
            if load < group.load(process):
                group.remove(task, process)
                group.add(task, best)
                if record:
                    record(task, best, AssignmentReason.BALANCED, process)
                for changed in (process, best):
                    group.queue.update(changed, group.totals[changed])
                standbys[process].remove(task)
                standbys[best].add(task)
                moved = True
    return moved
