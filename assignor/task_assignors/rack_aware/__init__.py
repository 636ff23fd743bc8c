"""Rack-aware optimization (KIP-925): moves tasks between processes to reduce traffic across racks, with few moves.

How it works. Every process keeps its number of tasks. The cost of the assignment (``RackAwareCosts``) becomes minimal;
of the assignments with that cost, one with the fewest moves is taken. Of equal tasks those with greater ids move, to
free slots in the order of processes.

* ``min_traffic``: processes of one rack cost the same, so tasks only change racks.
* ``balance_subtopology``: besides, no process may have more tasks of a subtopology than its fraction of all tasks,
  rounded up. So tasks may also move within a rack, or to where they cost more.
* Standbys, with either strategy: all replicas of all tasks at once, no two of a task in one process. (In Kafka, two
  processes at a time exchange standbys, in up to four rounds, so it may miss the least cost.) With client tags, the
  replicas of a task must not lose different tags. Each replica may move if the others stay. If several replicas of a
  task have moved and do not fit, all but one of them are pinned, and it is solved again, until nothing moves.

Java: ``RackAwareTaskAssignor``, ``MinTrafficGraphConstructor``, ``BalanceSubtopologyGraphConstructor``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, takewhile
from math import ceil
from typing import Final

from attrs import define, field

from streams_assignor.codec import TaskId
from streams_assignor.config import AssignmentConfigs
from streams_assignor.task_assignors.application_state import KafkaStreamsState
from streams_assignor.task_assignors.partial_assignment import AssignmentReason, PartialAssignment
from streams_assignor.task_assignors.rack_aware._flow_model import ProcessClasses, ReplicaLocality, Tags, TaskPlacement
from streams_assignor.task_assignors.rack_aware._rack_flow import TaskMove, optimize_moves
from streams_assignor.task_assignors.rack_aware.racks import RackAwareCosts, Racks, ReplicaRacks

MAX_TAG_ROUNDS: Final = 4
"""The maximum number of rounds in which standbys move under client tags, as in Kafka."""


@define(eq=False)
class RackAwareOptimizer:
    """Optimizes the assignment of a group whose racks are all known (``Racks.disabled_reason`` is empty)."""

    processes: Sequence[KafkaStreamsState]
    racks: Racks
    balance_subtopology: bool
    _rack: list[int] = field(init=False)
    _rack_numbers: dict[str, int] = field(init=False)
    _locality_cache: dict[tuple[int, tuple[tuple[int, int], ...]], ReplicaLocality] = field(factory=dict, init=False)

    @classmethod
    def of(
        cls,
        processes: Sequence[KafkaStreamsState],
        tasks: Iterable[TaskId],
        stateful: Iterable[TaskId],
        config: AssignmentConfigs,
        racks: Racks | None,
    ) -> RackAwareOptimizer | None:
        """Build the optimizer; None if racks are not configured or not known."""
        if racks is None or racks.disabled_reason(
            config, (process.process_id for process in processes), tasks, stateful
        ):
            return None
        return cls(processes, racks, config.rack_aware_assignment_strategy == "balance_subtopology")

    def __attrs_post_init__(self) -> None:
        """Number the racks of the processes, in the order of their names."""
        names = [self.racks.rack_of(process.process_id) for process in self.processes]
        self._rack_numbers = {name: number for number, name in enumerate(sorted(set(names)))}
        self._rack = [self._rack_numbers[name] for name in names]

    def move_active(self, assignment: PartialAssignment, tasks: Sequence[int], costs: RackAwareCosts) -> None:
        """Move some of the active tasks of an assignment, and record why."""
        owners = [assignment.active[task] for task in tasks]
        for at, left, process in self.optimize_active([assignment.tasks[task] for task in tasks], owners, costs):
            assignment.active[tasks[at]] = process
            assignment.record(tasks[at], process, AssignmentReason.RACK_AWARE, left)

    def move_standbys(self, assignment: PartialAssignment, costs: RackAwareCosts, by_tags: bool = False) -> None:
        """Move the standbys of an assignment, and record why."""
        actives = [[owner] for owner in assignment.active]
        for task, left, process in self.optimize_standbys(
            assignment.tasks, actives, assignment.standbys, costs, by_tags
        ):
            assignment.record(task, process, AssignmentReason.RACK_AWARE, left)

    def optimize_active(
        self, ids: Sequence[TaskId], owners: list[int], costs: RackAwareCosts, excluded: Sequence[Collection[int]] = ()
    ) -> list[TaskMove]:
        """Move active tasks: update ``owners`` and return the moves. No task moves to a process of its ``excluded``."""
        reads = self._localities(ids, self.racks.partition_racks)
        if not self.balance_subtopology and not any(excluded):
            moves = self._min_traffic(owners, reads, costs)
        else:
            groups, room = (
                self._subtopology_capacity(ids, owners, any(excluded))
                if self.balance_subtopology
                else ([0] * len(ids), [])
            )
            tasks = [
                TaskPlacement(task, [owner], reads[task], excluded[task] if excluded else (), groups[task])
                for task, owner in enumerate(owners)
            ]
            moves = optimize_moves(tasks, self._rack_classes(), costs, room)
        for task, _, process in moves:
            owners[task] = process
        return moves

    def optimize_standbys(
        self,
        ids: Sequence[TaskId],
        active: Sequence[Collection[int]],
        standbys: Sequence[set[int]],
        costs: RackAwareCosts,
        by_tags: bool = False,
    ) -> list[TaskMove]:
        """Move standbys: update ``standbys`` and return the moves. Both sequences have the processes of each task."""
        wanting = [task for task, places in enumerate(standbys) if places]
        reads = dict(
            zip(wanting, self._localities([ids[task] for task in wanting], self.racks.changelog_racks), strict=True)
        )
        if not by_tags:
            moves = optimize_moves(
                [TaskPlacement(task, sorted(standbys[task]), reads[task], active[task]) for task in wanting],
                self._rack_classes(),
                costs,
            )
            _apply_moves(moves, standbys)
            return moves
        classes = self._rack_and_tag_classes()

        def once_more(_turn: int) -> list[TaskMove]:
            copies = [_TaskReplicas(task, active[task], standbys[task], reads[task], classes) for task in wanting]
            moves = _move_replicas(copies, classes, costs)
            _apply_moves(moves, standbys)
            return moves

        return [*chain.from_iterable(takewhile(bool, map(once_more, range(MAX_TAG_ROUNDS))))]

    def _localities(self, ids: Sequence[TaskId], replicas: Mapping[TaskId, ReplicaRacks]) -> list[ReplicaLocality]:
        """Return the locality of each task; equal ones are one object."""
        localities = []
        for task in ids:
            near = Counter(
                self._rack_numbers[rack] for racks in replicas[task] for rack in {*racks} if rack in self._rack_numbers
            )
            key = len(replicas[task]), tuple(sorted(near.items()))
            if key not in self._locality_cache:
                self._locality_cache[key] = ReplicaLocality(len(replicas[task]), dict(key[1]))
            localities.append(self._locality_cache[key])
        return localities

    def _rack_classes(self) -> ProcessClasses:
        return ProcessClasses(self._rack, range(len(self._rack_numbers)), [frozenset()] * len(self._rack_numbers))

    def _rack_and_tag_classes(self) -> ProcessClasses:
        classes: dict[tuple[int, Tags], int] = {}
        class_of = [
            classes.setdefault((rack, frozenset(process.client_tags.items())), len(classes))
            for rack, process in zip(self._rack, self.processes, strict=True)
        ]
        return ProcessClasses(class_of, [rack for rack, _ in classes], [tags for _, tags in classes])

    def _min_traffic(
        self, owners: Sequence[int], reads: Sequence[ReplicaLocality], costs: RackAwareCosts
    ) -> list[TaskMove]:
        """Move tasks between racks, as if each were one large process; then to the free slots there."""
        racks = range(len(self._rack_numbers))
        tasks = [TaskPlacement(task, [self._rack[owner]], reads[task]) for task, owner in enumerate(owners)]
        changes = optimize_moves(tasks, ProcessClasses(racks, racks, [frozenset()] * len(racks)), costs)
        free: defaultdict[int, list[int]] = defaultdict(list)
        for task, left, _ in changes:
            free[left].append(owners[task])
        places = {rack: iter(sorted(processes)) for rack, processes in free.items()}
        return [(task, owners[task], next(places[rack])) for task, _, rack in changes]

    def _subtopology_capacity(
        self, ids: Sequence[TaskId], owners: Sequence[int], keeping: bool
    ) -> tuple[list[int], list[list[int]]]:
        """Number the subtopologies; return how many tasks of each a process may have (``keeping``: or has now)."""
        names: dict[tuple[str, int], int] = {}
        groups = [names.setdefault((task.topology or "", task.subtopology), len(names)) for task in ids]
        sizes, counts = Counter(groups), Counter(owners)
        has = Counter(zip(groups, owners, strict=True)) if keeping else Counter[tuple[int, int]]()
        # In floating point, as in Java: it may round up by accident.
        room = [
            [
                max(ceil(counts[process] * 1.0 / len(ids) * sizes[group]), has[group, process])
                for process in range(len(self.processes))
            ]
            for group in range(len(names))
        ]
        return groups, room


@define(eq=False)
class _TaskReplicas:
    """The replicas of a task under client tags. Those in ``pinned`` must not move."""

    task: int
    actives: Collection[int]
    standbys: Collection[int]
    locality: ReplicaLocality
    classes: ProcessClasses
    pinned: set[int] = field(factory=set)

    def placements(self) -> Iterator[TaskPlacement]:
        """Yield each standby that may move, to processes with which no tags are lost if the other replicas stay."""
        replicas = {*self.actives, *self.standbys}
        tags = self._tags(replicas)
        for process in sorted({*self.standbys} - self.pinned):
            others = replicas - {process}
            losing = self.classes.losing_tags(self._tags(others), len(tags))
            yield TaskPlacement(self.task, [process], self.locality, others, excluded_classes=losing)

    def _tags(self, processes: Collection[int]) -> Tags:
        return frozenset().union(*(self.classes.tags[self.classes.class_of[process]] for process in processes))

    def traffic_saved(self, move: TaskMove) -> int:
        """Return how many partitions fewer a standby reads from other racks."""
        left, taken = (
            self.locality.remote_partitions(self.classes.rack[self.classes.class_of[process]]) for process in move[1:]
        )
        return left - taken

    def is_compatible(self, moves: Sequence[TaskMove]) -> bool:
        """Whether the replicas may all move so: to different processes, and without loss of tags."""
        before = {*self.actives, *self.standbys}
        after = before - {left for _, left, _ in moves} | {taken for _, _, taken in moves}
        return len(after) == len(before) and len(self._tags(after)) >= len(self._tags(before))


def _move_replicas(copies: Sequence[_TaskReplicas], classes: ProcessClasses, costs: RackAwareCosts) -> list[TaskMove]:
    """Move replicas; if several of a task do not fit, all but the most useful move are pinned."""
    while True:
        moves = optimize_moves(
            [placement for replicas in copies for placement in replicas.placements()], classes, costs
        )
        by_task: defaultdict[int, list[TaskMove]] = defaultdict(list)
        for move in moves:
            by_task[move[0]].append(move)
        apart = [replicas for replicas in copies if not replicas.is_compatible(by_task[replicas.task])]
        if not apart:
            return moves
        for replicas in apart:
            _, *others = sorted(by_task[replicas.task], key=replicas.traffic_saved, reverse=True)
            replicas.pinned.update(left for _, left, _ in others)


def _apply_moves(moves: Sequence[TaskMove], standbys: Sequence[set[int]]) -> None:
    for task, left, _ in moves:
        standbys[task].remove(left)
    for task, _, taken in moves:
        standbys[task].add(taken)
