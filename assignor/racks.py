"""Racks (KIP-925): where the clients are and where the replicas of their partitions, as far as that is known.

Reading from another rack costs money and time. So a task is better placed where its partitions have replicas; but only
if all of that is known, otherwise the assignors leave racks alone, and ``Racks.why_not`` says why.
Java: ``RackAwareTaskAssignor``; ``client.rack``, ``rack.aware.assignment.*``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final
from uuid import UUID

from attrs import frozen

from assignor.assignment_configs import AssignmentConfigs
from assignor.client_state import NOTHING
from subscription_codec import TaskId, TopicPartition

Replicas = Sequence[Collection[str | None]]
"""For each partition of a task the racks of its replicas; ``None`` for a broker that does not say."""


@frozen
class Costs:
    """What an assignment costs: so much for each partition without a replica in the rack of its client, and so much for
    each task that is not where it would be without a look at racks.
    """

    traffic: int
    non_overlap: int

    def configured(self, config: AssignmentConfigs) -> Costs:
        """Return what is configured, and these where nothing is."""
        traffic, non_overlap = config.rack_aware_traffic_cost, config.rack_aware_non_overlap_cost
        return Costs(
            self.traffic if traffic is None else traffic, self.non_overlap if non_overlap is None else non_overlap
        )


HIGH_AVAILABILITY: Final = Costs(traffic=10, non_overlap=1)
"""Of stateful tasks, where nothing is configured. Java: ``HighAvailabilityTaskAssignor``."""
STICKY: Final = Costs(traffic=1, non_overlap=10)
"""Java: ``LegacyStickyTaskAssignor``."""
STATELESS: Final = Costs(traffic=1, non_overlap=0)
"""Of stateless tasks, whatever is configured. Java: ``RackAwareTaskAssignor``."""


@frozen(kw_only=True)
class Racks:
    """``clients`` has, for each process, the ``client.rack`` of each of its members (``None``: it has none).

    ``partitions`` are those that a task reads, ``changelogs`` those of its stores, which its standbys read.
    """

    clients: Mapping[UUID, Collection[str | None]]
    partitions: Mapping[TaskId, Replicas]
    changelogs: Mapping[TaskId, Replicas] = NOTHING

    def why_not(
        self,
        config: AssignmentConfigs,
        processes: Iterable[UUID],
        tasks: Iterable[TaskId],
        stateful: Iterable[TaskId],
    ) -> str:
        """Say why racks cannot be looked at; nothing if they can.

        All processes have to be in one rack each, all partitions of all tasks have to have replicas in known racks;
        with standbys all changelogs too. Java: ``canEnableRackAwareAssignor``.
        """
        if config.rack_aware_assignment_strategy == "none":
            return "rack.aware.assignment.strategy is none"
        for process in processes:
            if why := _why_not_client(self.clients.get(process, ())):
                return f"process {process} {why}"
        for task in tasks:
            if why := _why_not_task(self.partitions.get(task, ())):
                return f"task {task} {why.format('partition')}"
        for task in stateful if config.num_standby_replicas else ():
            if why := _why_not_task(self.changelogs.get(task, ())):
                return f"task {task} {why.format('changelog partition')}"
        return ""

    @classmethod
    def of(
        cls,
        clients: Mapping[UUID, Collection[str | None]],
        partitions: Mapping[TaskId, Iterable[TopicPartition]],
        changelogs: Mapping[TaskId, Iterable[TopicPartition]],
        replicas: Mapping[TopicPartition, Collection[str | None]],
    ) -> Racks:
        """Make it from the partitions of each task and the racks of the replicas of each partition."""

        def by_task(all_of: Mapping[TaskId, Iterable[TopicPartition]]) -> dict[TaskId, Replicas]:
            return {task: [replicas.get(each, ()) for each in its] for task, its in all_of.items()}

        return cls(clients=clients, partitions=by_task(partitions), changelogs=by_task(changelogs))

    def rack_of(self, process: UUID) -> str:
        """The rack of a process, all of whose members are in one."""
        (rack,) = set(self.clients[process])
        assert rack is not None  # why_not has said so
        return rack


def _why_not_client(racks: Collection[str | None]) -> str:
    known = sorted({rack for rack in racks if rack is not None})
    if not known:
        return "has no client.rack"
    if None in racks:
        return "has a member without client.rack"
    return f"has members in different racks: {', '.join(known)}" if len(known) > 1 else ""


def _why_not_task(replicas: Replicas) -> str:
    if not replicas:
        return "has no {} that is known"
    for number, racks in enumerate(replicas):
        if not racks:
            return f"has no known replica of its {{}} number {number}"
        if None in racks:
            return f"has a replica of its {{}} number {number} on a broker without a rack"
    return ""
