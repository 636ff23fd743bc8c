"""The high-availability task assignor (KIP-441): a balanced assignment in the end, and no long restoration until then.

How it works. (1) Stateful tasks are assigned in turn and balanced; (2) standbys go to the least loaded processes and
are balanced. If racks count, ``rack_aware`` then moves both. This is the target assignment; it does not depend on
previous tasks. (3) If the lag of the target process is too large (``acceptable.recovery.lag``), the task runs on a
process that has caught up while the target process warms up; follow-up rebalances repeat this until no task has to
wait. (4) Tasks without state go to the least loaded processes, and are moved for racks, too.

The result equals Kafka's, task by task (with racks: at no greater cost), by other steps: Kafka examines all pairs of
processes, and all processes for every task. Java: ``HighAvailabilityTaskAssignor`` (default from 2.6 on).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from heapq import heapify, heapreplace
from typing import ClassVar, Final

from attrs import frozen

from streams_assignor.config import AssignmentConfigs
from streams_assignor.task_assignors.application_state import LATEST_OFFSET, UNKNOWN_LAG, ApplicationState
from streams_assignor.task_assignors.high_availability import _lags
from streams_assignor.task_assignors.high_availability._balance import all_processes, balance, with_superset_tags
from streams_assignor.task_assignors.high_availability._task_movement import move_tasks
from streams_assignor.task_assignors.high_availability.standbys import add_standbys, add_standbys_by_tags
from streams_assignor.task_assignors.partial_assignment import (
    AssignmentReason,
    PartialAssignment,
    ReasonTexts,
    task_assignment,
)
from streams_assignor.task_assignors.rack_aware import RackAwareOptimizer
from streams_assignor.task_assignors.rack_aware.racks import (
    HIGH_AVAILABILITY_COSTS,
    STATELESS_COSTS,
    RackAwareCosts,
    Racks,
)
from streams_assignor.task_assignors.task_assignment import TaskAssignment
from streams_assignor.upgrade import UnknownRelease, number_of
from streams_assignor.upgrade.release_behaviour import CURRENT, ReleaseBehaviour, behaviour_of


def movement_behaviour_of(release: str) -> ReleaseBehaviour:
    """Return the row of a release (``3.2.3``) or line (``3.2``) of Kafka; our own releases have the newest behaviour.

    Raises:
        UnknownRelease: The release is older than this assignor.

    >>> movement_behaviour_of("2.8.2").least_lag_fallback
    False

    """
    behaviour = behaviour_of(number_of(release))
    if behaviour.task_assignor != "high-availability":
        raise UnknownRelease(f"release {release!r} has no high-availability assignor, which came with 2.6")
    return behaviour


@frozen
class HighAvailabilityTaskAssignor:
    """A balanced assignment in the end; until then, tasks run on processes that have caught up. Needs all lags."""

    name: ClassVar[str] = "high-availability"

    behaviour: ReleaseBehaviour = CURRENT

    def assign(self, state: ApplicationState, /, *, reasons: ReasonTexts | None = None) -> TaskAssignment:
        """Assign all tasks; add the reason for each task and process to ``reasons``.

        A follow-up rebalance is requested while any task has to move later. Racks count if that is configured and all
        of them are known (``Racks.disabled_reason``). Raises ``FatalError`` if a process has no lag of a stateful task.
        """
        ordered, config, explain = state.sorted_processes, state.configs, reasons is not None
        if not ordered:
            return task_assignment(state)
        ids = sorted(state.tasks)
        assignment = PartialAssignment.of(ordered, sorted(state.stateful), record_reasons=explain)
        by_rack = RackAwareOptimizer.of(ordered, ids, assignment.tasks, config, Racks.configured_for(state))
        costs = HIGH_AVAILABILITY_COSTS.with_configured(config)
        _assign_round_robin(assignment)
        if by_rack:
            by_rack.move_active(assignment, range(len(assignment.tasks)), costs)
        _add_standbys(assignment, config, self.behaviour, by_rack, costs)
        task_lags = _lags.collect_lags(ordered, assignment.tasks, config.acceptable_recovery_lag)
        follow_up = move_tasks(assignment, task_lags, self.behaviour, config.max_warmup_replicas)
        stateless = PartialAssignment.of(
            ordered, [task for task in ids if task not in state.stateful], record_reasons=explain
        )
        _add_stateless(stateless, assignment.active)
        if by_rack:
            by_rack.move_active(stateless, range(len(stateless.tasks)), STATELESS_COSTS)
        if reasons is not None:
            stateless.render_reasons(reasons)
            assignment.render_reasons(reasons, lambda process, task: _lag_suffix(task_lags.of(process, task)))
        return task_assignment(state, assignment, stateless, follow_up=follow_up)


def _assign_round_robin(assignment: PartialAssignment) -> None:
    """Assign the tasks in turn, and balance them if processes have different numbers of members."""
    number = len(assignment.processes)
    shares = [list(range(process, len(assignment.tasks), number)) for process in range(number)]
    assignment.task_count = [len(share) for share in shares]
    for task in range(len(assignment.tasks)):
        assignment.active[task] = task % number
        assignment.record(task, task % number, AssignmentReason.ROUND_ROBIN)

    def move_active(task: int, _source: int, destination: int) -> None:
        assignment.active[task] = destination

    balance(assignment, shares, move_active, all_processes(assignment))


def _add_standbys(
    assignment: PartialAssignment,
    config: AssignmentConfigs,
    rules: ReleaseBehaviour,
    by_rack: RackAwareOptimizer | None,
    costs: RackAwareCosts,
) -> None:
    if not config.num_standby_replicas:
        return
    by_tags = rules.client_tags and bool(config.rack_aware_assignment_tags)
    if by_tags:
        add_standbys_by_tags(assignment, config.num_standby_replicas, config.rack_aware_assignment_tags)
    else:
        add_standbys(assignment, config.num_standby_replicas)
    shares: list[list[int]] = [[] for _ in assignment.processes]
    for task, standbys in enumerate(assignment.standbys):
        for process in standbys:
            shares[process].append(task)

    def move_standby(task: int, source: int, destination: int) -> None:
        assignment.standbys[task].remove(source)
        assignment.standbys[task].add(destination)

    balance(assignment, shares, move_standby, with_superset_tags(assignment) if by_tags else all_processes(assignment))
    if by_rack:
        by_rack.move_standbys(assignment, costs, by_tags)


def _add_stateless(assignment: PartialAssignment, active: Iterable[int]) -> None:
    """Assign each task to the process with the fewest active tasks per member; standbys do not count here.

    ``active`` has the process of each task that is assigned already.
    """
    assigned = Counter(active)
    count = [assigned[process] for process in range(len(assignment.processes))]
    by_load = [
        (task_count / capacity, at)
        for at, (task_count, capacity) in enumerate(zip(count, assignment.capacity, strict=True))
    ]
    heapify(by_load)
    for task in range(len(assignment.tasks)):
        at = by_load[0][1]
        assignment.active[task] = at
        assignment.record(task, at, AssignmentReason.STATELESS)
        count[at] += 1
        heapreplace(by_load, (count[at] / assignment.capacity[at], at))


def _lag_suffix(lag: int) -> str:
    return f" ({_LAG_TEXTS.get(lag, f'{lag} behind')})"


_LAG_TEXTS: Final = {LATEST_OFFSET: "was active here", UNKNOWN_LAG: "its lag is not known"}
