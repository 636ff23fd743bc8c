"""The sticky task assignor: tasks stay with their processes within the balance; others go to the least loaded process.

How it works. (1) ``quotas`` limits the tasks of each process, and how many of its previous tasks it keeps: as many as
fit between the loads of the least and the most loaded process of a balanced assignment. (2) Tasks without an owner go
to a process that had them as a standby, within its quota; so do tasks that their owner cannot keep. (3) Processes above
their quota release tasks of their most numerous subtopologies. Unassigned tasks go to the least loaded processes, in
task order. (4) Standbys: see ``standbys``. If racks count, ``rack_aware`` moves active tasks after (3) and standbys
after (4).

Tasks that share one process should share few others. Kafka remembers pairs of tasks for that. Here, a standby goes to
the process, among a few equally loaded ones, with the fewest tasks that already share a process with it. Active tasks
come first and share nothing yet; they are spread in task order.

An active task moves only if no process of the group had it, or if its owner was above its quota. If
processes leave, their tasks move; if processes join, as many tasks move as they get. No other task moves among
processes of equal size (each gets the average, rounded down or up), nor with fewer tasks than members; among processes
of different sizes, at most ``tasks % members`` others. If nothing has changed, nothing moves, standbys included.

Limits. Sizes of tasks and lags do not count. Kafka iterates over Java hash maps here, so its ties depend on hashing;
these are decided by the number of members, then by the signed order of process ids, whatever the order of the input.
With ``hash_order`` all tasks go where they go with Kafka, up to the order of processes in one bucket
(``_kafka_sticky``).
Java: ``StickyTaskAssignor`` (0.11 to 2.5 default).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Final

from attrs import frozen

from streams_assignor.codec import TaskId
from streams_assignor.task_assignors.application_state import ApplicationState, KafkaStreamsState
from streams_assignor.task_assignors.java_order import bucket_order, uuid_hash
from streams_assignor.task_assignors.partial_assignment import (
    AssignmentReason,
    PartialAssignment,
    ReasonTexts,
    RecordReason,
    task_assignment,
)
from streams_assignor.task_assignors.quotas import Quotas, compute_quotas, iter_least_loaded
from streams_assignor.task_assignors.rack_aware import RackAwareOptimizer
from streams_assignor.task_assignors.rack_aware.racks import STATELESS_COSTS, STICKY_COSTS, Racks
from streams_assignor.task_assignors.sticky._kafka_sticky import KafkaStickyAssignment
from streams_assignor.task_assignors.sticky._standbys import ProcessesByTask, assign_standbys
from streams_assignor.task_assignors.task_assignment import TaskAssignment

UNASSIGNED: Final = -1


@frozen
class StickyTaskAssignor:
    """Tasks stay with their processes as long as that is balanced. Needs no lags, requests no follow-up rebalance."""

    name: ClassVar[str] = "sticky"

    stateless_standbys: bool = False
    """Whether tasks without state have standbys, too (Java: before 2.6)."""

    hash_order: bool = False
    """Whether ties of processes are decided by the order of a Java hash map, as in Kafka's own leaders, and standbys go
    where they put them."""

    def assign(self, state: ApplicationState, /, *, reasons: ReasonTexts | None = None) -> TaskAssignment:
        """Assign all tasks; add the reason for each task and process to ``reasons``.

        Every task becomes active once. If there are fewer processes than replicas of a task, it has fewer standbys.
        Racks count if that is configured and all of them are known (``Racks.disabled_reason``).
        """
        processes, ids, configs = state.sorted_processes, sorted(state.tasks), state.configs
        if self.hash_order:
            by_id = {process.process_id: process for process in processes}
            processes = tuple(by_id[one] for one in bucket_order([*by_id], {one: uuid_hash(one) for one in by_id}))
        partial = PartialAssignment.of(processes, ids, record_reasons=reasons is not None)
        if not processes:
            return task_assignment(state)
        record = None if reasons is None else partial.record
        was_active, was_standby = _previous_processes(processes, ids)
        if self.hash_order:
            kafka = KafkaStickyAssignment(partial.capacity, ids, was_active, was_standby, record)
            partial.active = kafka.assign_active()
            copies = min(configs.num_standby_replicas, len(processes) - 1)
            for number, standbys in enumerate(kafka.assign_standbys(copies)):
                partial.standbys[number].update(standbys)
            if reasons is not None:
                partial.render_reasons(reasons)
            return task_assignment(state, partial)
        partial.active = _assign_active(partial.capacity, ids, was_active, was_standby, record)
        wanting = [number for number, task in enumerate(ids) if self.stateless_standbys or state.tasks[task].stateful]
        by_rack = RackAwareOptimizer.of(
            processes, ids, (ids[task] for task in wanting), configs, Racks.configured_for(state)
        )
        costs = STICKY_COSTS.with_configured(configs)
        if by_rack:
            by_rack.move_active(partial, wanting, costs)
            by_rack.move_active(partial, sorted({*range(len(ids))}.difference(wanting)), STATELESS_COSTS)
        copies = min(configs.num_standby_replicas, len(processes) - 1)
        if copies > 0:
            for number, standbys in assign_standbys(
                partial.capacity, partial.active, was_active, was_standby, wanting, copies, record
            ):
                partial.standbys[number].update(standbys)
            if by_rack:
                by_rack.move_standbys(partial, costs)
        if reasons is not None:
            partial.render_reasons(reasons)
        return task_assignment(state, partial)


def _previous_processes(
    processes: Sequence[KafkaStreamsState], ids: Sequence[TaskId]
) -> tuple[ProcessesByTask, ProcessesByTask]:
    """Return the processes that had each task active, and those that had it as a standby."""
    numbers = {task: number for number, task in enumerate(ids)}
    none: list[int] = []
    was_active, was_standby = [none] * len(ids), [none] * len(ids)
    for process, state in enumerate(processes):
        for previous, had in (
            (state.previous_active_tasks, was_active),
            (state.previous_standby_tasks, was_standby),
        ):
            for task in previous:
                number = numbers.get(task)
                if number is not None:
                    if had[number]:
                        had[number].append(process)
                    else:
                        had[number] = [process]
    return was_active, was_standby


def _assign_active(
    capacities: Sequence[int],
    ids: Sequence[TaskId],
    previous_active: ProcessesByTask,
    previous_standby: ProcessesByTask,
    record: RecordReason | None,
) -> list[int]:
    """Return the process of each task."""
    owners, had = _previous_owners(capacities, previous_active)
    if record:
        for number, owner in enumerate(owners):
            if owner != UNASSIGNED:
                record(number, owner, AssignmentReason.KEPT, None)
    shares = compute_quotas(capacities, had, len(ids))
    excess = [count - keep for count, keep in zip(had, shares.kept, strict=True)]
    room = _RemainingQuota(capacities, shares, len(ids))
    _move_to_previous(
        owners, excess, room, previous_active, AssignmentReason.OTHER_OWNER_OVERLOADED, record, unowned=False
    )
    _move_to_previous(owners, excess, room, previous_standby, AssignmentReason.STANDBY_TAKES_OVER, record, unowned=True)
    _move_to_previous(
        owners, excess, room, previous_standby, AssignmentReason.STANDBY_OF_OVERLOADED, record, unowned=False
    )
    given_up = _release_excess(owners, excess, ids)
    homeless = [number for number, owner in enumerate(owners) if owner == UNASSIGNED]
    for number, process in zip(homeless, room.remaining(), strict=False):
        owners[number] = process
        if record:
            record(
                number,
                process,
                AssignmentReason.MOVED_FROM_OVERLOADED if number in given_up else AssignmentReason.LEAST_LOADED,
                given_up.get(number),
            )
    return owners


def _previous_owners(capacities: Sequence[int], previous_active: ProcessesByTask) -> tuple[list[int], list[int]]:
    """Return the previous owner of each task, and the number of tasks of each; of several owners, the least loaded."""
    owners = [processes[0] if len(processes) == 1 else UNASSIGNED for processes in previous_active]
    had = [0] * len(capacities)
    for owner in owners:
        if owner != UNASSIGNED:
            had[owner] += 1
    for number, processes in enumerate(previous_active):
        if len(processes) > 1:
            owners[number] = min(
                processes, key=lambda process: (had[process] / capacities[process], -capacities[process])
            )
            had[owners[number]] += 1
    return owners, had


class _RemainingQuota:
    """The number of tasks that each process may still get."""

    def __init__(self, capacities: Sequence[int], shares: Quotas, tasks: int) -> None:
        self._capacities, self._low, self._high = capacities, shares.minimum, shares.maximum
        self._counts = shares.kept[:]
        lacking = sum(max(0, low - keep) for low, keep in zip(shares.minimum, shares.kept, strict=True))
        self._spare = tasks - sum(shares.kept) - lacking

    def take_least_loaded(self, candidates: Iterable[int]) -> int:
        """Take one task from the quota of the least loaded candidate; ``UNASSIGNED`` if none has any left."""
        counts, capacities = self._counts, self._capacities
        able = [
            (counts[process] / capacities[process], -capacities[process], process)
            for process in candidates
            if counts[process] < (self._high if self._spare else self._low)[process]
        ]
        if not able:
            return UNASSIGNED
        process = min(able)[-1]
        self._spare -= counts[process] >= self._low[process]
        counts[process] += 1
        return process

    def remaining(self) -> Iterator[int]:
        """Take the rest of the quotas, least loaded process first: so processes below their minimum come first."""
        return iter_least_loaded(self._capacities, self._counts, self._high)


def _move_to_previous(
    owners: list[int],
    excess: list[int],
    quota: _RemainingQuota,
    previous: ProcessesByTask,
    why: AssignmentReason,
    record: RecordReason | None,
    *,
    unowned: bool,
) -> None:
    """Move tasks without an owner (``unowned``), or tasks of owners above their quota, to a previous process."""
    if not (UNASSIGNED in owners if unowned else any(excess)):
        return
    for number, owner in enumerate(owners):
        if previous[number] and (owner == UNASSIGNED if unowned else owner != UNASSIGNED and excess[owner]):
            process = quota.take_least_loaded(previous[number])
            if process != UNASSIGNED:
                owners[number] = process
                if record:
                    record(number, process, why, owner)
                if not unowned:
                    excess[owner] -= 1


def _release_excess(owners: list[int], excess: Sequence[int], ids: Sequence[TaskId]) -> dict[int, int]:
    """Release the tasks above the quota of their owner, from its most numerous subtopologies.

    Return the released tasks with their previous owners.
    """
    given_up: dict[int, int] = {}
    if not any(excess):
        return given_up
    owned: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    seen: Counter[tuple[int, int, str | None]] = Counter()
    for number, (owner, task) in enumerate(zip(owners, ids, strict=True)):
        if owner != UNASSIGNED and excess[owner]:
            kind = (owner, task.subtopology, task.topology)
            owned[owner].append((seen[kind], number))
            seen[kind] += 1
    for owner, ranked in owned.items():
        for _, number in sorted(ranked)[-excess[owner] :]:
            owners[number] = UNASSIGNED
            given_up[number] = owner
    return given_up
