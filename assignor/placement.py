"""Which task assignor a leader uses, and how it is asked: client states in, tasks and follow-up rebalances out.

Java: ``StreamsPartitionAssignor.assignTasksToClients``, ``createTaskAssignor``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Final
from uuid import UUID

from attrs import frozen

from assignor import fallback_prior, high_availability, sticky, task_assignor
from assignor.assignment_configs import AssignmentConfigs
from assignor.cluster import Cluster
from assignor.errors import FatalError
from assignor.group import Client
from assignor.movements import Rules
from assignor.racks import Racks
from assignor.task_assignor import (
    ApplicationState,
    AssignmentError,
    BuiltIn,
    KafkaStreamsState,
    TaskAssignor,
    TaskInfo,
    validate,
)
from assignor.topology import Tasks, Topology
from subscription_codec import TaskId


@frozen(kw_only=True)
class Work:
    """What there is to assign. ``leader`` is the process that asks for a follow-up rebalance if one is wanted."""

    topology: Topology
    cluster: Cluster
    tasks: Tasks
    configs: AssignmentConfigs
    leader: UUID

    @property
    def stateful(self) -> frozenset[TaskId]:
        """The tasks with state."""
        return frozenset(task for task in self.tasks if self.topology.stateful(task))

    def racks(self, clients: Sequence[Client]) -> Racks | None:
        """Say where everything is, if that is to count."""
        if self.configs.rack_aware_assignment_strategy == "none":
            return None
        changelogs = {task: self.topology.changelogs_of(task) for task in self.stateful}
        members = {client.process_id: [each.rack for each in client.members] for client in clients}
        return Racks.of(members, self.tasks, changelogs, self.cluster.racks)

    @property
    def follow_up(self) -> dict[UUID, int]:
        """A follow-up rebalance after the configured interval, asked for by the leader's process."""
        return {self.leader: self.cluster.now_ms + self.configs.probing_rebalance_interval_ms}


Placement = Callable[[Sequence[Client], Work], dict[UUID, int]]
"""Fills in what each client gets; says which process shall ask for a rebalance, and when (milliseconds since 1970)."""


@cache  # so that settings that say the same are equal
def by_sticky(*, standbys_without_state: bool = False) -> Placement:
    """Let tasks stay where they are (the default up to 2.5). There is never anything to follow."""

    def place(clients: Sequence[Client], work: Work) -> dict[UUID, int]:
        may_have_standbys = frozenset(work.tasks) if standbys_without_state else work.stateful
        states = [client.state for client in clients]
        sticky.assign_tasks(
            states,
            work.tasks,
            may_have_standbys,
            work.configs.num_standby_replicas,
            config=work.configs,
            racks=work.racks(clients),
        )
        return {}

    return place


@cache
def by_high_availability(rules: Rules = high_availability.NEWEST) -> Placement:
    """Balance the tasks with an eye on lags (the default since 2.6).

    If the leader could not get the offsets that lags are made of, everybody goes on with what it had, and the group
    tries again later (``FallbackPriorTaskAssignor``).
    """

    def place(clients: Sequence[Client], work: Work) -> dict[UUID, int]:
        states, stateful = [client.state for client in clients], work.stateful
        if work.cluster.offsets is None:
            return by_fallback_prior(clients, work)
        wanted = high_availability.assign_tasks(
            states, work.tasks, stateful, work.configs, rules, racks=work.racks(clients)
        )
        return work.follow_up if wanted else {}

    return place


def by_fallback_prior(clients: Sequence[Client], work: Work) -> dict[UUID, int]:
    """Let everybody go on with what it had, and look again later; a ``Placement`` itself."""
    states = [client.state for client in clients]
    fallback_prior.assign_tasks(states, work.tasks, work.stateful, work.configs.num_standby_replicas)
    return work.follow_up


def by(assignor: TaskAssignor) -> Placement:
    """Ask an assignor of the application's own (KIP-924); ``FatalError`` (``StreamsException``) if it did wrong.

    The built-in ones need no interface between them and the leader.
    """
    if isinstance(assignor, BuiltIn) and assignor.name in _DIRECTLY:
        return _DIRECTLY[assignor.name]

    def place(clients: Sequence[Client], work: Work) -> dict[UUID, int]:
        topology = work.topology
        state = ApplicationState(
            tasks={
                task: TaskInfo(
                    stateful=topology.stateful(task), partitions=inputs, changelogs=topology.changelogs_of(task)
                )
                for task, inputs in work.tasks.items()
            },
            clients={client.process_id: _as_the_interface_has_it(client) for client in clients},
            configs=work.configs,
            partition_racks=work.cluster.racks,
        )
        assignment = assignor.assign(state)
        verdict = validate(state, assignment)
        if verdict.error is not AssignmentError.NONE:
            problem = f"Task assignment returned an error: {verdict.error.name}: {verdict.message}"
            raise FatalError(problem, "StreamsException")
        follow_ups: dict[UUID, int] = {}
        for client in clients:
            share = assignment.assignments[client.process_id]
            client.state.active, client.state.standby = set(share.active), set(share.standby)
            if share.follow_up_rebalance_ms is not None:
                follow_ups[client.process_id] = work.cluster.now_ms + share.follow_up_rebalance_ms
        return follow_ups

    return place


def _as_the_interface_has_it(client: Client) -> KafkaStreamsState:
    state = client.state
    return KafkaStreamsState(
        process_id=state.process_id,
        num_processing_threads=state.capacity,
        consumer_client_ids=[each.member for each in client.members],
        previous_active_tasks=state.previous_active,
        previous_standby_tasks=state.previous_standby,
        lags=state.lags,
        client_tags=state.tags,
        host_info=client.host,
        rack_id=client.members[0].rack,
    )


STICKY: Final = by_sticky()
"""What our own members do who are not told otherwise: it needs no offsets."""

_DIRECTLY: Final[Mapping[str, Placement]] = {
    task_assignor.STICKY.name: STICKY,
    task_assignor.HIGH_AVAILABILITY.name: by_high_availability(),
    task_assignor.FALLBACK_PRIOR.name: by_fallback_prior,
}
