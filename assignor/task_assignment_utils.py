"""Steps that a task assignor of one's own may be made of (KIP-924): from one assignment to a better one.

Java: ``TaskAssignmentUtils``. Kafka changes the assignment that it is given; these return a new one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from attrs import define, evolve, field

from assignor.application_state import ApplicationState
from assignor.client_state import ClientState, in_order
from assignor.placing import Placing
from assignor.rack_aware import RackAware
from assignor.racks import Costs, Racks
from assignor.standby import add_standbys, add_standbys_by_tags
from assignor.task_assignment import KafkaStreamsAssignment, TaskAssignment
from subscription_codec import TaskId


def identity_assignment(state: ApplicationState) -> TaskAssignment:
    """Let everybody keep what it had. Java: ``TaskAssignmentUtils.identityAssignment``.

    Left out is what ``validate`` would refuse: tasks that are gone or have lost their state, and all but the first
    claim to an active task. Kafka copies those too. Tasks that nobody had stay unassigned.
    """
    free, stateful = set(state.tasks), state.stateful
    shares = []
    for client in state.ordered_clients:
        active = client.previous_active_tasks & free
        free -= active
        standby = (client.previous_standby_tasks & stateful) - active
        shares.append(KafkaStreamsAssignment(client.process_id, active, standby))
    return TaskAssignment.of(shares)


def default_standby_assignment(state: ApplicationState, assignment: TaskAssignment) -> TaskAssignment:
    """Add the standbys: to the least loaded, spread over client tags if so configured.

    Each stateful task that is active somewhere gets as many as are configured, or as there are processes for; standbys
    that are there already stay and count (Kafka would add to them). Java:
    ``TaskAssignmentUtils.defaultStandbyTaskAssignment``.
    """
    group = _Group(state, assignment)
    shares = [*map(group.share, group.clients)]
    missing: dict[int, list[TaskId]] = {}
    for task in sorted(state.stateful & group.active.keys()):
        if (number := state.configs.num_standby_replicas - len(group.standby.get(task, ()))) > 0:
            missing.setdefault(number, []).append(task)
    count = [len(share.active) + len(share.standby) for share in shares]
    for number, tasks in sorted(missing.items()):
        placing = Placing.of(group.clients, tasks, explained=False)
        placing.count, placing.owner = count, [max(group.active[task]) for task in tasks]
        placing.standbys = [group.standby.setdefault(task, set()) for task in tasks]
        if state.configs.rack_aware_assignment_tags:
            add_standbys_by_tags(placing, number, state.configs.rack_aware_assignment_tags)
        else:
            add_standbys(placing, number)
    return group.with_places([*group.standby], [*group.standby.values()], "standby")


def why_not_rack_aware(
    state: ApplicationState,
    *,
    standbys: bool = False,
    traffic_cost: int | None = None,
    non_overlap_cost: int | None = None,
) -> str:
    """Say why the rack-aware optimisation, of active tasks or of ``standbys``, would do nothing; ``""`` if it can.

    There has to be a strategy and both costs, configured or given; all processes have to be in racks, and all
    partitions (for standbys: changelogs) of all tasks to have replicas in racks. Java: what it says in its log.
    """
    return _why_not(_at_these_costs(state, traffic_cost, non_overlap_cost), standbys)


def optimize_rack_aware_active_tasks(
    state: ApplicationState,
    assignment: TaskAssignment,
    *,
    tasks: Iterable[TaskId] | None = None,
    traffic_cost: int | None = None,
    non_overlap_cost: int | None = None,
) -> TaskAssignment:
    """Let active tasks change processes, so that it costs least (``rack_aware``); each has as many as before.

    ``tasks`` (all, if not given) have to be active in some process of the group. An active task reads its partitions
    and writes its changelogs, so both count. Where ``why_not_rack_aware`` has something to say, all stays as it is.
    Java: ``optimizeRackAwareActiveTasks``, which drops a standby where its task becomes active; here nothing becomes
    active beside its standby.
    """
    state = _at_these_costs(state, traffic_cost, non_overlap_cost)
    if _why_not(state, standbys=False):
        return assignment
    group = _Group(state, assignment)
    ids = group.chosen(tasks, group.active)
    owners = [min(group.active[task]) for task in ids]
    group.rack_aware(_racks(state, standbys=False)).actives(
        ids, owners, _NO_COSTS.configured(state.configs), [group.standby.get(task, ()) for task in ids]
    )
    return group.with_places(ids, [{owner} for owner in owners], "active")


def optimize_rack_aware_standby_tasks(
    state: ApplicationState,
    assignment: TaskAssignment,
    *,
    tasks: Iterable[TaskId] | None = None,
    traffic_cost: int | None = None,
    non_overlap_cost: int | None = None,
) -> TaskAssignment:
    """Let standbys change processes, likewise; with client tags only where that keeps copies as spread out as they are.

    Both strategies come to the same here. Java: ``optimizeRackAwareStandbyTasks``.
    """
    state = _at_these_costs(state, traffic_cost, non_overlap_cost)
    if _why_not(state, standbys=True):
        return assignment
    group = _Group(state, assignment)
    ids = group.chosen(tasks, group.standby)
    standbys = [{*group.standby[task]} for task in ids]
    actives = [group.active.get(task, ()) for task in ids]
    by_tags = bool(state.configs.rack_aware_assignment_tags)
    costs = _NO_COSTS.configured(state.configs)
    group.rack_aware(_racks(state, standbys=True)).standbys(ids, actives, standbys, costs, by_tags)
    return group.with_places(ids, standbys, "standby")


_NO_COSTS: Final = Costs(traffic=0, non_overlap=0)


def _at_these_costs(state: ApplicationState, traffic: int | None, non_overlap: int | None) -> ApplicationState:
    """The same state, with costs in its configuration that were given instead."""
    configs = state.configs
    if traffic is not None:
        configs = evolve(configs, rack_aware_traffic_cost=traffic)
    if non_overlap is not None:
        configs = evolve(configs, rack_aware_non_overlap_cost=non_overlap)
    return evolve(state, configs=configs)


def _why_not(state: ApplicationState, standbys: bool) -> str:
    configs = state.configs
    if configs.rack_aware_assignment_strategy != "none":
        for name in ("traffic_cost", "non_overlap_cost"):
            if getattr(configs, f"rack_aware_{name}") is None:
                return f"rack.aware.assignment.{name} is not configured"
    tasks = sorted(state.stateful if standbys else state.tasks)
    processes = [client.process_id for client in state.ordered_clients]
    # Changelogs have their turn as partitions of standbys.
    return _racks(state, standbys).why_not(evolve(configs, num_standby_replicas=0), processes, tasks, ())


def _racks(state: ApplicationState, standbys: bool) -> Racks:
    """What a task reads; ``standbys`` read changelogs only."""
    racks = state.racks(with_changelogs=True)
    return evolve(racks, partitions=racks.changelogs) if standbys else racks


@define(eq=False)
class _Group:
    """The processes of a group as numbers, and which of them have a task active or as a standby."""

    state: ApplicationState
    assignment: TaskAssignment
    clients: list[ClientState] = field(init=False)
    active: dict[TaskId, set[int]] = field(factory=dict, init=False)
    standby: dict[TaskId, set[int]] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        """Look who has what; processes that are not in the group do not count."""
        self.clients = in_order(self.state.client_states)
        for at, client in enumerate(self.clients):
            share = self.share(client)
            for has, tasks in ((self.active, share.active), (self.standby, share.standby)):
                for task in tasks:
                    has.setdefault(task, set()).add(at)

    def share(self, client: ClientState) -> KafkaStreamsAssignment:
        """What a process has; nothing, if it is not in the assignment."""
        shares = self.assignment.assignments
        return shares.get(client.process_id, KafkaStreamsAssignment(client.process_id))

    def chosen(self, tasks: Iterable[TaskId] | None, has: Mapping[TaskId, Collection[int]]) -> list[TaskId]:
        """The tasks to optimise, all of which somebody has to have."""
        chosen = sorted(has if tasks is None else set(tasks))
        if missing := [task for task in chosen if task not in has]:
            raise ValueError(f"task {missing[0]} is to be optimised, but no process of the group has it")
        return chosen

    def rack_aware(self, racks: Racks) -> RackAware:
        balanced = self.state.configs.rack_aware_assignment_strategy == "balance_subtopology"
        return RackAware(self.clients, racks, balanced)

    def with_places(self, ids: Sequence[TaskId], places: Sequence[Collection[int]], role: str) -> TaskAssignment:
        """The same assignment, but for who has these tasks in this role."""
        shares = dict(self.assignment.assignments)
        given: list[set[TaskId]] = [set() for _ in self.clients]
        for task, clients in zip(ids, places, strict=True):
            for at in clients:
                given[at].add(task)
        for client, tasks in zip(self.clients, given, strict=True):
            share = self.share(client)
            shares[client.process_id] = evolve(share, **{role: getattr(share, role) - {*ids} | tasks})
        return TaskAssignment(shares)
