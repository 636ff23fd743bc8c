"""The rack-aware optimisation as a min-cost-flow problem: groups of tasks, slots, rack groups, hubs and costs.

A *slot* is a process that takes tasks of one subtopology; without a capacity for each subtopology, all count as one.
A *rack group* has the slots of processes of one class, which cost a task the same unless it is in one of them. A *hub*
leads to all rack groups of a subtopology. An *entry* is a rack group or a hub; hubs are numbered on from the rack
groups.

Of the assignments with the least cost, one with the fewest moves is wanted: a cost counts more than all moves together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final

from attrs import field, frozen

from assignor.task_assignors.rack_aware._min_cost_flow import UNLIMITED
from assignor.task_assignors.rack_aware.racks import RackAwareCosts

HUB_MIN_RACKS: Final = 8
"""With so many racks or more, a task reaches all racks without a replica through the hub: one arc instead of many."""

Tags = frozenset[tuple[str, str]]


@frozen(eq=False)
class ReplicaLocality:
    """Where the partitions of a task have replicas."""

    partitions: int
    """The number of partitions of the task."""
    local_partitions: Mapping[int, int]
    """The number of its partitions with a replica in each rack; racks without any are left out."""

    def remote_partitions(self, rack: int) -> int:
        """Return the number of partitions without a replica in a rack."""
        return self.partitions - self.local_partitions.get(rack, 0)


@frozen
class TaskPlacement:
    """A task, or those of its replicas that may move."""

    task: int
    processes: Sequence[int]
    """The processes that have it."""
    locality: ReplicaLocality
    excluded: Collection[int] = ()
    """Other processes that it must not move to."""
    group: int = 0
    """Its subtopology, if the capacity depends on that."""
    allows: Callable[[int], bool] | None = None
    """Whether it may move to a class of processes; None if it may move to all."""


@frozen
class ProcessClasses:
    """Processes of one class cost any task the same, unless it is there already."""

    class_of: Sequence[int]
    """The class of each process."""
    rack: Sequence[int]
    """The rack of each class."""
    tags: Sequence[Tags]
    """The client tags of each class; empty if they do not count."""


@frozen
class FlowGroup:
    """Tasks that are alike: in the same process, with the same costs. A task with forbidden slots is alone."""

    tasks: Sequence[int]
    current: Sequence[tuple[int, int]]
    """Its slots, with the cost of staying in each."""
    entries: Sequence[tuple[int, int]]
    """The entries that it may move through, with the cost."""
    forbidden: frozenset[int]
    """The slots that it must not move to: no process takes two replicas of a task."""


@frozen
class FlowModel:
    """All slots, rack groups and hubs. Every process keeps its number of tasks."""

    classes: ProcessClasses
    costs: RackAwareCosts
    totals: Sequence[int]
    """The number of tasks of each process."""
    slot_capacity: Sequence[int]
    rack_groups: Sequence[Sequence[int]]
    """The slots of each rack group, without those of processes that have no tasks."""
    rack_group_of: Mapping[int, int] = field(init=False)
    """The rack group of each of these slots."""
    hubs: Sequence[range] = field(init=False)
    """The rack groups behind each hub."""
    scale: int = field(init=False)
    """What a cost of 1 counts; a move counts 1."""

    @rack_group_of.default
    def _rack_group_of(self) -> dict[int, int]:
        return {slot: number for number, slots in enumerate(self.rack_groups) for slot in slots}

    @hubs.default
    def _hubs(self) -> list[range]:
        classes = len(self.classes.rack)
        return [range(first, first + classes) for first in range(0, len(self.rack_groups), classes)]

    @scale.default
    def _scale(self) -> int:
        return sum(self.totals) + 1

    @classmethod
    def of(
        cls,
        tasks: Sequence[TaskPlacement],
        classes: ProcessClasses,
        costs: RackAwareCosts,
        capacity: Sequence[Sequence[int]],
    ) -> FlowModel:
        """Build the model. ``capacity`` is that of each process for each subtopology; empty if there is no limit."""
        processes = len(classes.class_of)
        counts = Counter(process for task in tasks for process in task.processes)
        rack_groups: list[list[int]] = [[] for _ in range(max(1, len(capacity)) * len(classes.rack))]
        for group in range(max(1, len(capacity))):
            for process, number in enumerate(classes.class_of):
                if counts[process]:
                    rack_groups[group * len(classes.rack) + number].append(group * processes + process)
        return cls(
            classes,
            costs,
            [counts[process] for process in range(processes)],
            [each for of_group in capacity for each in of_group] or [UNLIMITED] * processes,
            rack_groups,
        )

    @property
    def processes(self) -> int:
        """The number of processes."""
        return len(self.totals)

    def slots_behind(self, entry: int) -> list[int]:
        """Return all slots behind a rack group or a hub."""
        hub = entry - len(self.rack_groups)
        return [slot for number in ([entry] if hub < 0 else self.hubs[hub]) for slot in self.rack_groups[number]]

    def groups(self, tasks: Sequence[TaskPlacement]) -> list[FlowGroup]:
        """Group the tasks that are alike."""
        alike: dict[tuple[int, ...], list[TaskPlacement]] = {}
        for task in tasks:
            alone = bool(task.excluded) or len(task.processes) > 1 or task.allows is not None
            key = (task.task, task.processes[0]) if alone else (task.group, task.processes[0], id(task.locality))
            alike.setdefault(key, []).append(task)
        return [self._group(each) for each in alike.values()]

    def _group(self, tasks: Sequence[TaskPlacement]) -> FlowGroup:
        one = tasks[0]
        base = one.group * self.processes
        rack, class_of = self.classes.rack, self.classes.class_of
        current = [
            (base + process, self._cost(one.locality.remote_partitions(rack[class_of[process]]), 0))
            for process in one.processes
        ]
        free = len(current) == 1 and not one.excluded
        forbidden = () if free else (base + process for process in (*one.excluded, *one.processes))
        return FlowGroup([task.task for task in tasks], current, [*self._entries(one)], frozenset(forbidden))

    def _entries(self, task: TaskPlacement) -> Iterator[tuple[int, int]]:
        rack, locality = self.classes.rack, task.locality
        # Where a replica in the rack saves something, the way through the hub costs no less than the direct way.
        by_hub = task.allows is None and len(rack) >= HUB_MIN_RACKS and self.costs.traffic >= 0
        for number in locality.local_partitions if by_hub else range(len(rack)):
            if task.allows is None or task.allows(number):
                yield task.group * len(rack) + number, self._cost(locality.remote_partitions(rack[number]), 1)
        if by_hub:
            yield len(self.rack_groups) + task.group, self._cost(locality.partitions, 1)

    def _cost(self, remote: int, moves: int) -> int:
        return (self.costs.traffic * remote + self.costs.non_overlap * moves) * self.scale + moves
