"""The rack-aware optimization as a min-cost-flow problem: groups of tasks, slots, rack groups, hubs and costs.

A *slot* is a process that takes tasks of one subtopology; without a capacity for each subtopology, all count as one.
A *rack group* has the slots of processes of one class, which cost a task the same unless it is in one of them. A *hub*
leads to all rack groups of a subtopology. An *entry* is a rack group or a hub; hubs are numbered on from the rack
groups.

Of the assignments with the least cost, one with the fewest moves is wanted: a cost counts more than all moves together.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Final

from attrs import define, field, frozen

from streams_assignor.task_assignors.rack_aware._min_cost_flow import UNLIMITED
from streams_assignor.task_assignors.rack_aware.racks import RackAwareCosts

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
    """The processes that have the task."""
    locality: ReplicaLocality
    excluded: Collection[int] = ()
    """Other processes that it must not move to."""
    group: int = 0
    """Its subtopology, if the capacity depends on that."""
    excluded_classes: Collection[int] | None = None
    """The classes of processes that it must not move to, in order; None if client tags do not count."""


@frozen
class ProcessClasses:
    """Processes of one class cost any task the same, unless it is there already."""

    class_of: Sequence[int]
    """The class of each process."""
    rack: Sequence[int]
    """The rack of each class."""
    tags: Sequence[Tags]
    """The client tags of each class; empty if they do not count."""
    _losing: dict[tuple[Tags, int], Sequence[int]] = field(factory=dict, init=False)

    @cached_property
    def _classes_by_tag(self) -> Mapping[tuple[str, str], Sequence[int]]:
        classes: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for number, tags in enumerate(self.tags):
            for tag in tags:
                classes[tag].append(number)
        return classes

    @cached_property
    def _classes_by_size(self) -> Sequence[Sequence[int]]:
        """The classes with each number of tags."""
        sizes = [len(tags) for tags in self.tags]
        return [
            [number for number, size in enumerate(sizes) if size == wanted_size]
            for wanted_size in range(max(sizes) + 1)
        ]

    def losing_tags(self, others: Tags, least: int) -> Sequence[int]:
        """Return the classes, in order, that have fewer than ``least`` tags together with the tags of others."""
        key = others, least
        if key not in self._losing:
            wanted = least - len(others)  # so many tags have to be new
            common = Counter(chain.from_iterable(self._classes_by_tag.get(tag, ()) for tag in others))
            few = chain.from_iterable(self._classes_by_size[: max(wanted, 0)])
            losing = {
                number for number, common_count in common.items() if len(self.tags[number]) - common_count < wanted
            }
            self._losing[key] = sorted(losing.union(few))
        return self._losing[key]


@define(eq=False)
class EntryCosts:
    """The entries of tasks with equal costs, if no class of processes is excluded."""

    targets: list[int]
    """The entries, in order; the first ones are one for each class."""
    costs: list[int]
    """The cost of each entry."""
    relative: dict[int, list[int]] = field(factory=dict)
    rooms: list[int] = field(factory=list)
    """How many tasks may take each entry, if no slot is forbidden; empty until needed."""
    places: dict[int, int] = field(factory=dict)
    """The place of each entry in these columns; empty until needed."""

    def relative_costs(self, least: int) -> list[int]:
        """Return the costs without the part ``least``, which all of them have. Not to be changed."""
        if least not in self.relative:
            self.relative[least] = [cost - least for cost in self.costs]
        return self.relative[least]


@frozen
class Entries:
    """The entries that some tasks may move through."""

    shared: EntryCosts
    excluded: Collection[int] = ()
    """The places in ``shared`` of those that they must not, in order."""

    def without_excluded(self, column: list[int]) -> list[int]:
        """Return a column of ``shared`` without the excluded entries. Not to be changed."""
        if not self.excluded:
            return column
        column = column.copy()
        for place in reversed([*self.excluded]):
            del column[place]
        return column

    @property
    def targets(self) -> list[int]:
        """The entries, in order."""
        return self.without_excluded(self.shared.targets)

    @property
    def costs(self) -> list[int]:
        """The cost of each entry."""
        return self.without_excluded(self.shared.costs)

    @property
    def distinct_costs(self) -> set[int]:
        """All costs, without duplicates."""
        return {*self.costs}


@frozen
class FlowGroup:
    """Tasks that are alike: in the same process, with the same costs. A task with forbidden slots is alone."""

    tasks: Sequence[int]
    current: Sequence[tuple[int, int]]
    """Its slots, with the cost of staying in each."""
    entries: Entries
    """The entries that it may move through."""
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
    """The meaning of a cost of 1; a move counts 1."""
    _entry_costs: dict[tuple[int, int, bool], EntryCosts] = field(factory=dict, init=False)

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
            [slots for of_group in capacity for slots in of_group] or [UNLIMITED] * processes,
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
            alone = bool(task.excluded) or len(task.processes) > 1 or task.excluded_classes is not None
            key = (task.task, task.processes[0]) if alone else (task.group, task.processes[0], id(task.locality))
            alike.setdefault(key, []).append(task)
        return [self._group(tasks_alike) for tasks_alike in alike.values()]

    def _group(self, tasks: Sequence[TaskPlacement]) -> FlowGroup:
        first = tasks[0]
        base = first.group * self.processes
        rack, class_of = self.classes.rack, self.classes.class_of
        current = [
            (base + process, self._cost(first.locality.remote_partitions(rack[class_of[process]]), 0))
            for process in first.processes
        ]
        free = len(current) == 1 and not first.excluded
        forbidden = () if free else (base + process for process in (*first.excluded, *first.processes))
        return FlowGroup([task.task for task in tasks], current, self._entries(first), frozenset(forbidden))

    def _entries(self, task: TaskPlacement) -> Entries:
        key = task.group, id(task.locality), task.excluded_classes is None
        if key not in self._entry_costs:
            pairs = list(self._all_entries(task))
            self._entry_costs[key] = EntryCosts([entry for entry, _ in pairs], [cost for _, cost in pairs])
        return Entries(self._entry_costs[key], task.excluded_classes or ())

    def _all_entries(self, task: TaskPlacement) -> Iterator[tuple[int, int]]:
        rack, locality = self.classes.rack, task.locality
        # Where a replica in the rack saves something, the way through the hub costs no less than the direct way.
        by_hub = task.excluded_classes is None and len(rack) >= HUB_MIN_RACKS and self.costs.traffic >= 0
        for number in locality.local_partitions if by_hub else range(len(rack)):
            yield task.group * len(rack) + number, self._cost(locality.remote_partitions(rack[number]), 1)
        if by_hub:
            yield len(self.rack_groups) + task.group, self._cost(locality.partitions, 1)

    def _cost(self, remote: int, moves: int) -> int:
        return (self.costs.traffic * remote + self.costs.non_overlap * moves) * self.scale + moves
