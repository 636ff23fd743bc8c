"""Racks of processes and of the replicas of their partitions (KIP-925).

Reading from another rack costs money and time. So a task should be in a rack with replicas of its partitions. Assignors
use racks only if all of them are known; otherwise ``Racks.disabled_reason`` says why not.
Java: ``RackAwareTaskAssignor``; ``client.rack``, ``rack.aware.assignment.*``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final
from uuid import UUID

from attrs import frozen

from streams_assignor.codec import TaskId
from streams_assignor.config import AssignmentConfigs
from streams_assignor.task_assignors.application_state import EMPTY, ApplicationState

ReplicaRacks = Sequence[Collection[str | None]]
"""The racks of the replicas of each partition of a task; None for a broker without a rack."""


@frozen
class RackAwareCosts:
    """The costs of an assignment."""

    traffic: int
    """For each partition without a replica in the rack of its process."""
    non_overlap: int
    """For each task that has moved because of racks."""

    def with_configured(self, config: AssignmentConfigs) -> RackAwareCosts:
        """Return the configured costs, and these where none are configured."""
        traffic, non_overlap = config.rack_aware_traffic_cost, config.rack_aware_non_overlap_cost
        return RackAwareCosts(
            self.traffic if traffic is None else traffic, self.non_overlap if non_overlap is None else non_overlap
        )


HIGH_AVAILABILITY_COSTS: Final = RackAwareCosts(traffic=10, non_overlap=1)
"""The costs of stateful tasks where nothing is configured. Java: ``HighAvailabilityTaskAssignor``."""
STICKY_COSTS: Final = RackAwareCosts(traffic=1, non_overlap=10)
"""Java: ``LegacyStickyTaskAssignor``."""
STATELESS_COSTS: Final = RackAwareCosts(traffic=1, non_overlap=0)
"""The costs of stateless tasks, whatever is configured. Java: ``RackAwareTaskAssignor``."""


@frozen(kw_only=True)
class Racks:
    """The racks of a group, as far as they are known."""

    process_racks: Mapping[UUID, Collection[str | None]]
    """The ``client.rack`` of the members of each process; None for a member without one."""
    partition_racks: Mapping[TaskId, ReplicaRacks]
    """The racks of the partitions that each task reads."""
    changelog_racks: Mapping[TaskId, ReplicaRacks] = EMPTY
    """The racks of the changelog partitions of each task, which its standbys read."""

    def disabled_reason(
        self,
        config: AssignmentConfigs,
        processes: Iterable[UUID],
        tasks: Iterable[TaskId],
        stateful: Iterable[TaskId],
    ) -> str:
        """Explain why racks cannot count; empty if they can.

        All processes have to be in one rack each, all partitions of all tasks have to have replicas in known racks;
        with standbys all changelogs too. Java: ``canEnableRackAwareAssignor``.
        """
        if config.rack_aware_assignment_strategy == "none":
            return "rack.aware.assignment.strategy is none"
        for process in processes:
            if why := _process_problem(self.process_racks.get(process, ())):
                return f"process {process} {why}"
        for task in tasks:
            if why := _task_problem(self.partition_racks.get(task, ())):
                return f"task {task} {why.format('partition')}"
        for task in stateful if config.num_standby_replicas else ():
            if why := _task_problem(self.changelog_racks.get(task, ())):
                return f"task {task} {why.format('changelog partition')}"
        return ""

    @classmethod
    def of(cls, state: ApplicationState) -> Racks:
        """Find the racks of the members, and of the replicas of the partitions of each task."""
        replicas = state.partition_racks
        return cls(
            process_racks={
                process: client.member_rack_ids or (client.rack_id,) for process, client in state.clients.items()
            },
            partition_racks={
                task: [replicas.get(partition, ()) for partition in info.partitions]
                for task, info in state.tasks.items()
            },
            changelog_racks={
                task: [replicas.get(partition, ()) for partition in info.changelogs]
                for task, info in state.tasks.items()
            },
        )

    @classmethod
    def configured_for(cls, state: ApplicationState) -> Racks | None:
        """Like ``of``; None if racks do not count in the configuration."""
        return None if state.configs.rack_aware_assignment_strategy == "none" else cls.of(state)

    def rack_of(self, process: UUID) -> str:
        """The rack of a process, all of whose members are in one."""
        (rack,) = set(self.process_racks[process])
        assert rack is not None  # disabled_reason has checked it
        return rack


def _process_problem(racks: Collection[str | None]) -> str:
    known_racks = sorted({rack for rack in racks if rack is not None})
    if not known_racks:
        return "has no client.rack"
    if None in racks:
        return "has a member without client.rack"
    return f"has members in different racks: {', '.join(known_racks)}" if len(known_racks) > 1 else ""


def _task_problem(replicas: ReplicaRacks) -> str:
    if not replicas:
        return "has no {} that is known"
    for number, racks in enumerate(replicas):
        if not racks:
            return f"has no known replica of its {{}} number {number}"
        if None in racks:
            return f"has a replica of its {{}} number {number} on a broker without a rack"
    return ""
