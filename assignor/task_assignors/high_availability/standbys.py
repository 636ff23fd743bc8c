"""Assigns standbys to the least loaded processes, or to processes with different process tags (KIP-708).

How it works. Each stateful task in turn takes the least loaded process that does not have it yet. With
``rack.aware.assignment.tags``, it takes processes whose tags differ from those of all its replicas so far. A tag with
no more values than replicas so far stops counting. Standbys without such a process go to the least loaded ones in the
end, in the order of a Java hash map. Java: ``DefaultStandbyTaskAssignor``, ``ClientTagAwareStandbyTaskAssignor`` (3.2
and later).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from heapq import heapify, heappop, heappush, heapreplace

from attrs import define, field

from streams_assignor.task_assignors.java_order import hash_order
from streams_assignor.task_assignors.partial_assignment import AssignmentReason, PartialAssignment


def add_standbys(assignment: PartialAssignment, standbys: int) -> None:
    """Give each task this many standbys, or as many as there are processes for."""
    _assign_to_least_loaded(assignment, ((task, standbys) for task in range(len(assignment.tasks))))


def add_standbys_by_tags(assignment: PartialAssignment, standbys: int, keys: Collection[str]) -> None:
    """Give each task this many standbys, on processes with different tags as far as possible."""
    values: dict[str, set[str]] = {key: set() for key in keys}
    for process in assignment.processes:
        for key in values.keys() & process.client_tags.keys():
            values[key].add(process.client_tags[key])
    places = _ProcessesByTags.of(assignment, keys)
    missing = {}
    for task in range(len(assignment.tasks)):
        if left := _assign_by_tags(assignment, places, task, standbys, values):
            missing[assignment.tasks[task]] = left
    number = {task: at for at, task in enumerate(assignment.tasks)}
    in_order = [task for task in hash_order(assignment.tasks) if task in missing]
    _assign_to_least_loaded(assignment, ((number[task], missing[task]) for task in in_order))


def _assign_to_least_loaded(assignment: PartialAssignment, missing_by_task: Iterable[tuple[int, int]]) -> None:
    count, capacity = assignment.task_count, assignment.capacity
    by_load = [(assignment.load(process), process) for process in range(len(count))]
    heapify(by_load)
    for task, missing in missing_by_task:
        owner, standbys = assignment.active[task], assignment.standbys[task]
        aside = []
        while missing and by_load:
            process = by_load[0][1]
            if process == owner or process in standbys:
                aside.append(heappop(by_load))
                continue
            _add_standby(assignment, task, process, AssignmentReason.STANDBY)
            heapreplace(by_load, (count[process] / capacity[process], process))
            missing -= 1
        for entry in aside:
            heappush(by_load, entry)


def _add_standby(assignment: PartialAssignment, task: int, process: int, why: AssignmentReason) -> None:
    assignment.standbys[task].add(process)
    assignment.task_count[process] += 1
    assignment.record(task, process, why)


def _assign_by_tags(
    assignment: PartialAssignment, processes: _ProcessesByTags, task: int, standbys: int, values: dict[str, set[str]]
) -> int:
    """Assign the standbys of a task to processes with different tags; return how many are left."""
    rejected: dict[str, set[int]] = {}
    last = assignment.active[task]
    for used in range(1, standbys + 1):
        for key, value in processes.tags[processes.group_of[last]].items():
            if len(values[key]) > used:
                rejected.setdefault(key, set()).update(processes.having[key, value])
            else:
                rejected.pop(key, None)  # every value is in use, so it cannot differ any more
        chosen = processes.assign_standby(task, set().union(*rejected.values()))
        if chosen is None:
            return standbys + 1 - used
        last = chosen
    return 0


@define(eq=False)
class _ProcessesByTags:
    """Processes by load, in groups with equal tags: only the first of each group has to be examined."""

    assignment: PartialAssignment
    tags: list[dict[str, str]]
    groups: list[list[tuple[float, int]]]
    group_of: list[int]
    """The group of each process."""
    having: dict[tuple[str, str], list[int]] = field(init=False)
    """The groups that have a tag."""
    heap: list[tuple[float, int, int]] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Add the first of each group."""
        for group in self.groups:
            heapify(group)
        self.heap = [(*group[0], number) for number, group in enumerate(self.groups)]
        heapify(self.heap)
        self.having = {}
        for number, tags in enumerate(self.tags):
            for tag in tags.items():
                self.having.setdefault(tag, []).append(number)

    @classmethod
    def of(cls, assignment: PartialAssignment, keys: Collection[str]) -> _ProcessesByTags:
        """Group the processes by their values of some tags."""
        numbers: dict[frozenset[tuple[str, str]], int] = {}
        groups: list[list[tuple[float, int]]] = []
        group_of = []
        for process, state in enumerate(assignment.processes):
            tags = frozenset((key, value) for key, value in state.client_tags.items() if key in keys)
            number = numbers.setdefault(tags, len(groups))
            if number == len(groups):
                groups.append([])
            groups[number].append((assignment.load(process), process))
            group_of.append(number)
        return cls(assignment, [dict(tags) for tags in numbers], groups, group_of)

    def assign_standby(self, task: int, rejected: Collection[int]) -> int | None:
        """Assign a standby to the least loaded process without the task whose group is not rejected; return it."""
        others: list[tuple[float, int, int]] = []
        aside = []
        chosen = None
        while self.heap and chosen is None:
            load, process, number = heappop(self.heap)
            group = self.groups[number]
            if not group or group[0] != (load, process):
                continue  # outdated: its load has changed
            if others and others[-1] == (load, process, number):
                continue  # there twice
            if number in rejected:
                others.append((load, process, number))
            elif self.assignment.has(process, task):
                aside.append((heappop(group), number))
                self._augment(number)
            else:
                chosen = process
                _add_standby(self.assignment, task, process, AssignmentReason.DIFFERENT_TAGS)
                heapreplace(group, (self.assignment.load(process), process))
                self._augment(number)
        for entry in others:
            heappush(self.heap, entry)
        for process_by_load, number in aside:
            heappush(self.groups[number], process_by_load)
        for number in {number for _, number in aside}:
            self._augment(number)
        return chosen

    def _augment(self, number: int) -> None:
        if group := self.groups[number]:
            heappush(self.heap, (*group[0], number))
