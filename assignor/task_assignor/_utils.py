"""Building blocks for task assignors (KIP-924): each turns an assignment into a better one.

Java: ``TaskAssignmentUtils``. Kafka changes the assignment that it is given; these return a new one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from attrs import define, evolve, field

from streams_assignor.codec import TaskId
from streams_assignor.task_assignors.application_state import ApplicationState, KafkaStreamsState
from streams_assignor.task_assignors.high_availability.standbys import add_standbys, add_standbys_by_tags
from streams_assignor.task_assignors.partial_assignment import PartialAssignment
from streams_assignor.task_assignors.rack_aware import RackAwareOptimizer
from streams_assignor.task_assignors.rack_aware.racks import RackAwareCosts, Racks
from streams_assignor.task_assignors.task_assignment import KafkaStreamsAssignment, TaskAssignment


def identity_assignment(state: ApplicationState) -> TaskAssignment:
    """Keep the previous tasks of every process. Java: ``TaskAssignmentUtils.identityAssignment``.

    Tasks that ``validate`` would reject are left out: tasks that no longer exist or have no state any more, and all but
    the first claim to an active task. Kafka copies those, too. Tasks that no process had stay unassigned.
    """
    free, stateful = set(state.tasks), state.stateful
    shares = []
    for client in state.sorted_processes:
        active = client.previous_active_tasks & free
        free -= active
        standby = (client.previous_standby_tasks & stateful) - active
        shares.append(KafkaStreamsAssignment(client.process_id, active, standby))
    return TaskAssignment.of(shares)


def default_standby_assignment(state: ApplicationState, assignment: TaskAssignment) -> TaskAssignment:
    """Add standbys to the least loaded processes, spread over client tags if configured.

    Each stateful active task gets as many as configured, or as there are processes for. Existing standbys stay and
    count (Kafka would add to them). Java: ``TaskAssignmentUtils.defaultStandbyTaskAssignment``.
    """
    group = _IndexedAssignment(state, assignment)
    shares = [*map(group.assignment_of, group.clients)]
    missing: dict[int, list[TaskId]] = {}
    for task in sorted(state.stateful & group.active.keys()):
        if (number := state.configs.num_standby_replicas - len(group.standby.get(task, ()))) > 0:
            missing.setdefault(number, []).append(task)
    count = [len(share.active) + len(share.standby) for share in shares]
    for number, tasks in sorted(missing.items()):
        partial = PartialAssignment.of(group.clients, tasks, record_reasons=False)
        partial.task_count, partial.active = count, [max(group.active[task]) for task in tasks]
        partial.standbys = [group.standby.setdefault(task, set()) for task in tasks]
        if state.configs.rack_aware_assignment_tags:
            add_standbys_by_tags(partial, number, state.configs.rack_aware_assignment_tags)
        else:
            add_standbys(partial, number)
    return group.with_processes([*group.standby], [*group.standby.values()], "standby")


def rack_aware_disabled_reason(
    state: ApplicationState,
    *,
    standbys: bool = False,
    traffic_cost: int | None = None,
    non_overlap_cost: int | None = None,
) -> str:
    """Explain why rack-aware optimization of active tasks, or of ``standbys``, would do nothing; empty if it can.

    It needs a strategy and both costs, configured or given; a rack for every process; and replicas in known racks for
    all partitions (for standbys: changelogs) of all tasks. Java: the text in its log.
    """
    return _disabled_reason(_with_costs(state, traffic_cost, non_overlap_cost), standbys)


def optimize_rack_aware_active_tasks(
    state: ApplicationState,
    assignment: TaskAssignment,
    *,
    tasks: Iterable[TaskId] | None = None,
    traffic_cost: int | None = None,
    non_overlap_cost: int | None = None,
) -> TaskAssignment:
    """Move active tasks at the least cost (``rack_aware``); every process keeps its number of tasks.

    ``tasks`` (all, if not given) have to be active in some process of the group. An active task reads its partitions
    and writes its changelogs, so both count. Where ``rack_aware_disabled_reason`` has something to say, all stays as it
    is. Java: ``optimizeRackAwareActiveTasks``, which drops a standby where its task becomes active; here nothing
    becomes active beside its standby.
    """
    state = _with_costs(state, traffic_cost, non_overlap_cost)
    if _disabled_reason(state, standbys=False):
        return assignment
    group = _IndexedAssignment(state, assignment)
    ids = group.selected(tasks, group.active)
    owners = [min(group.active[task]) for task in ids]
    group.optimizer(_racks(state, standbys=False)).optimize_active(
        ids, owners, _ZERO_COSTS.with_configured(state.configs), [group.standby.get(task, ()) for task in ids]
    )
    return group.with_processes(ids, [{owner} for owner in owners], "active")


def optimize_rack_aware_standby_tasks(
    state: ApplicationState,
    assignment: TaskAssignment,
    *,
    tasks: Iterable[TaskId] | None = None,
    traffic_cost: int | None = None,
    non_overlap_cost: int | None = None,
) -> TaskAssignment:
    """Move standbys at the least cost (``rack_aware``); with client tags, no task loses different tags.

    Both strategies are equal here. Java: ``optimizeRackAwareStandbyTasks``.
    """
    state = _with_costs(state, traffic_cost, non_overlap_cost)
    if _disabled_reason(state, standbys=True):
        return assignment
    group = _IndexedAssignment(state, assignment)
    ids = group.selected(tasks, group.standby)
    standbys = [{*group.standby[task]} for task in ids]
    actives = [group.active.get(task, ()) for task in ids]
    by_tags = bool(state.configs.rack_aware_assignment_tags)
    costs = _ZERO_COSTS.with_configured(state.configs)
    group.optimizer(_racks(state, standbys=True)).optimize_standbys(ids, actives, standbys, costs, by_tags)
    return group.with_processes(ids, standbys, "standby")


_ZERO_COSTS: Final = RackAwareCosts(traffic=0, non_overlap=0)


def _with_costs(state: ApplicationState, traffic: int | None, non_overlap: int | None) -> ApplicationState:
    """Return the state with the given costs in its configuration."""
    configs = state.configs
    if traffic is not None:
        configs = evolve(configs, rack_aware_traffic_cost=traffic)
    if non_overlap is not None:
        configs = evolve(configs, rack_aware_non_overlap_cost=non_overlap)
    return evolve(state, configs=configs)


def _disabled_reason(state: ApplicationState, standbys: bool) -> str:
    configs = state.configs
    if configs.rack_aware_assignment_strategy != "none":
        for name in ("traffic_cost", "non_overlap_cost"):
            if getattr(configs, f"rack_aware_{name}") is None:
                return f"rack.aware.assignment.{name} is not configured"
    tasks = sorted(state.stateful if standbys else state.tasks)
    processes = [client.process_id for client in state.sorted_processes]
    # Changelogs have their turn as partitions of standbys.
    return _racks(state, standbys).disabled_reason(evolve(configs, num_standby_replicas=0), processes, tasks, ())


def _racks(state: ApplicationState, standbys: bool) -> Racks:
    """The racks of what tasks read: standbys read changelogs only, active tasks write them, too."""
    tasks = {
        task: info._replace(partitions=tuple(dict.fromkeys((*(() if standbys else info.partitions), *info.changelogs))))
        for task, info in state.tasks.items()
    }
    clients = {process: evolve(client, member_rack_ids=()) for process, client in state.clients.items()}
    return Racks.of(evolve(state, tasks=tasks, clients=clients))


@define(eq=False)
class _IndexedAssignment:
    """An assignment with processes as numbers: those that have each task active, and those with its standbys."""

    state: ApplicationState
    assignment: TaskAssignment
    active: dict[TaskId, set[int]] = field(factory=dict, init=False)
    standby: dict[TaskId, set[int]] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        """Index the assignment, without processes that are not in the group."""
        for at, client in enumerate(self.clients):
            share = self.assignment_of(client)
            for has, tasks in ((self.active, share.active), (self.standby, share.standby)):
                for task in tasks:
                    has.setdefault(task, set()).add(at)

    @property
    def clients(self) -> Sequence[KafkaStreamsState]:
        """All processes, sorted."""
        return self.state.sorted_processes

    def assignment_of(self, client: KafkaStreamsState) -> KafkaStreamsAssignment:
        """Return the tasks of a process; none if it is not in the assignment."""
        shares = self.assignment.assignments
        return shares.get(client.process_id, KafkaStreamsAssignment(client.process_id))

    def selected(self, tasks: Iterable[TaskId] | None, has: Mapping[TaskId, Collection[int]]) -> list[TaskId]:
        """Return the tasks to optimize; raise ``ValueError`` for one that no process has."""
        chosen = sorted(has if tasks is None else set(tasks))
        if missing := [task for task in chosen if task not in has]:
            raise ValueError(f"task {missing[0]} is to be optimized, but no process of the group has it")
        return chosen

    def optimizer(self, racks: Racks) -> RackAwareOptimizer:
        balanced = self.state.configs.rack_aware_assignment_strategy == "balance_subtopology"
        return RackAwareOptimizer(self.clients, racks, balanced)

    def with_processes(self, ids: Sequence[TaskId], places: Sequence[Collection[int]], role: str) -> TaskAssignment:
        """Return the assignment with other processes for these tasks in one role."""
        shares = dict(self.assignment.assignments)
        given: list[set[TaskId]] = [set() for _ in self.clients]
        for task, clients in zip(ids, places, strict=True):
            for at in clients:
                given[at].add(task)
        for client, tasks in zip(self.clients, given, strict=True):
            share = self.assignment_of(client)
            shares[client.process_id] = evolve(share, **{role: getattr(share, role) - {*ids} | tasks})
        return TaskAssignment(shares)
