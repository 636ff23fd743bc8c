"""Balances tasks: they move to processes with fewer tasks per member.

Kafka tries every ordered pair of processes, again and again, until nothing moves. Nearly all pairs can move nothing,
and that depends on one number of each process. So the second process of a pair is found in a tree of these numbers: in
the same order and with the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from attrs import define, field

from streams_assignor.task_assignors.partial_assignment import AssignmentReason, PartialAssignment

MoveTask = Callable[[int, int, int], None]
"""Called with a task, the process that it leaves and the one that it moves to."""


@define(eq=False)
class EligibleProcesses:
    """Processes that may get a task: a tree of their loads with one task more."""

    processes: Sequence[int]
    leaves: int = field(init=False)
    tree: list[float] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Start without loads."""
        self.leaves = 1 << (len(self.processes) - 1).bit_length()
        self.tree = [inf] * (2 * self.leaves)

    def update(self, index: int, load: float) -> None:
        """Set the load at an index."""
        tree, at = self.tree, index + self.leaves
        tree[at] = load
        while at > 1:
            at >>= 1
            left, right = tree[2 * at], tree[2 * at + 1]
            tree[at] = left if left < right else right

    def first(self, start: int, load: float) -> int | None:
        """Return the first index from ``start`` on with at most this load; None if there is none."""
        tree, at = self.tree, start + self.leaves
        if start >= self.leaves or tree[1] > load:
            return None
        while tree[at] > load:
            while at & 1:
                at >>= 1  # a right child: go up to where something follows
            if not at:
                return None
            at += 1
        while at < self.leaves:
            at *= 2
            if tree[at] > load:
                at += 1
        return at - self.leaves


def balance(
    assignment: PartialAssignment,
    tasks_by_process: list[list[int]],
    move: MoveTask,
    eligible: Sequence[EligibleProcesses],
) -> None:
    """Move tasks between processes until no pair of them can; ``tasks_by_process`` has the sorted tasks of each.

    ``eligible`` has the processes that may get tasks from each process.
    """
    count, capacity = assignment.task_count, assignment.capacity
    places: list[list[tuple[EligibleProcesses, int]]] = [[] for _ in count]
    for candidates in {id(processes): processes for processes in eligible}.values():
        for place, process in enumerate(candidates.processes):
            candidates.update(place, (count[process] + 1) / capacity[process])
            places[process].append((candidates, place))

    def move_tasks(source: int, destination: int) -> bool:
        kept: list[int] = []
        moved: list[int] = []
        tasks = tasks_by_process[source]
        for index, task in enumerate(tasks):
            if (count[source] - 1) / capacity[source] < (count[destination] + 1) / capacity[destination]:
                kept += tasks[index:]
                break
            if assignment.has(destination, task):
                kept.append(task)
                continue
            moved.append(task)
            move(task, source, destination)
            assignment.record(task, destination, AssignmentReason.BALANCED, source)
            count[source] -= 1
            count[destination] += 1
        if moved:
            tasks_by_process[source] = kept
            tasks_by_process[destination] = sorted(tasks_by_process[destination] + moved)
            for process in (source, destination):
                for candidates, place in places[process]:
                    candidates.update(place, (count[process] + 1) / capacity[process])
        return bool(moved)

    changed = True
    while changed:
        changed = False
        for source, candidates in enumerate(eligible):
            start = 0
            while tasks_by_process[source]:
                first = candidates.first(start, (count[source] - 1) / capacity[source])
                if first is None:
                    break
                changed |= move_tasks(source, candidates.processes[first])
                start = first + 1


def all_processes(assignment: PartialAssignment) -> list[EligibleProcesses]:
    """All processes may get tasks from all."""
    candidates = EligibleProcesses(range(len(assignment.processes)))
    return [candidates] * len(assignment.processes)


def with_superset_tags(assignment: PartialAssignment) -> list[EligibleProcesses]:
    """Processes with at least the same process tags may get tasks, so that no task loses different tags."""
    processes_with: dict[tuple[str, str], list[int]] = {}
    tags_of = [frozenset(process.client_tags.items()) for process in assignment.processes]
    for process, tags in enumerate(tags_of):
        for tag in tags:
            processes_with.setdefault(tag, []).append(process)
    everyone = range(len(tags_of))
    candidates = {
        tags: EligibleProcesses(
            [
                other
                for other in min((processes_with[tag] for tag in tags), key=len, default=everyone)
                if tags <= tags_of[other]
            ]
        )
        for tags in set(tags_of)
    }
    return [candidates[tags] for tags in tags_of]
