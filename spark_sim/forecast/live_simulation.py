"""A simulated group that continues a live one: the same members, with the same bytes and the same coordinator."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Final, Self
from uuid import UUID

from attrs import evolve, field, frozen

from streams_assignor import ReceivedAssignment, Topology
from streams_assignor.codec import EARLIEST_PROBEABLE_VERSION, LATEST_OFFSET, TaskId, TopicPartition
from streams_assignor.groups import InspectedMember
from streams_assignor.probing.model import MemberState
from streams_assignor.protocol.member import Member
from streams_assignor.spark_sim.forecast.observation import ObservedGroup, ObservedProcess
from streams_assignor.spark_sim.model.member import SimulatedMember
from streams_assignor.spark_sim.model.metrics import MeasuredSimulation
from streams_assignor.spark_sim.model.processes import start_process, stop_process
from streams_assignor.spark_sim.model.scenario import Instance, Scenario
from streams_assignor.spark_sim.model.settle import settle
from streams_assignor.spark_sim.model.workload import Workload
from streams_assignor.task_assignor import BUILT_IN, TaskAssignor
from streams_assignor.upgrade.releases import OURS, Release
from streams_assignor.upgrade.streams_config import StreamsConfig

NEW_PROCESS: Final = "(new)"


@frozen
class RestoredStore:
    """A store that a process has to restore."""

    process: str
    task: TaskId
    offsets: int | None
    """At least so many; None: no member has reported an offset of the task."""
    bytes: int | None
    """About so many bytes of its changelogs; None: brokers have not said how much they hold."""


@frozen(kw_only=True)
class ObservedWorkload(Workload):
    """The configuration of the members of a live group."""

    observed: ObservedGroup
    task_assignor_name: str | None = None
    """A key of ``task_assignor.BUILT_IN``: what leaders of our own use; None for the default of the release."""
    lag: bool = field(default=True, init=False)
    threads_by_process: Mapping[str, tuple[str, ...]] = field(hash=False)
    """The names of the members of each process, also of one that is added."""

    @classmethod
    def of(cls, observed: ObservedGroup, *, ephemeral: bool, task_assignor_name: str | None = None) -> ObservedWorkload:
        """Return the workload of a group; a process that is added has as many threads as the first one."""
        names = {
            process.name: tuple(f"{process.name}.{number + 1}" for number in range(len(process.threads)))
            if len(process.threads) > 1
            else (process.name,)
            for process in observed.processes
        }
        first = observed.processes[0]
        added = tuple(name.replace(first.name, NEW_PROCESS) for name in names[first.name])
        return cls(
            observed=observed,
            threads_by_process={**names, NEW_PROCESS: added},
            threads=max(map(len, names.values())),
            standbys=observed.config.num_standby_replicas,
            ephemeral=ephemeral,
            task_assignor_name=task_assignor_name,
        )

    def member_names(self, process: str) -> tuple[str, ...]:
        """Return the names of a process's members."""
        return self.threads_by_process[process]

    @property
    def stream_topology(self) -> Topology:
        """The topology of the group, as far as it shows it."""
        return self.observed.topology

    @property
    def partition_counts(self) -> dict[str, int]:
        """Topic => number of partitions."""
        return dict(self.observed.partitions)

    @property
    def end_offsets(self) -> dict[TopicPartition, int]:
        """Changelog partition => the largest offset that a member has reported."""
        return self.observed.end_offsets

    @property
    def partitions_by_task(self) -> Mapping[TaskId, frozenset[TopicPartition]]:
        """Task => the partitions that it reads."""
        return {task: frozenset(partitions) for task, partitions in self.observed.tasks.items()}

    def task_assignor(self, release: Release) -> TaskAssignor | None:
        """Return what our own leaders use; the bytes of a group do not show it."""
        return BUILT_IN[self.task_assignor_name] if self.task_assignor_name and release == OURS else None

    def streams_config(self, upgrade_from: str | None) -> StreamsConfig:
        """Return the configuration of the group, with another ``upgrade.from``."""
        return evolve(self.observed.config, upgrade_from=upgrade_from)


class LiveSimulation(MeasuredSimulation):
    """Continues a live group; ``restart``, ``stop``, ``add`` and ``upgrade`` are what happens to it."""

    def __init__(
        self,
        workload: ObservedWorkload,
        instances: Mapping[str, Instance],
        leader: InspectedMember,
        now_ms: int,
        new_process_ids: Mapping[str, UUID],
    ) -> None:
        """Continue a group.

        Args:
            workload: Its configuration.
            instances: The release of each of its processes.
            leader: The member that leads.
            now_ms: The time, in milliseconds since 1970.
            new_process_ids: Process => its process id if it starts and finds none on its disk.
        """
        observed = workload.observed
        super().__init__(
            Scenario(tuple((process.name, instances[process.name]) for process in observed.processes), (), workload)
        )
        self._new_process_ids, self._starting, self.now_ms = new_process_ids, "", now_ms
        self.restored: tuple[RestoredStore, ...] = ()
        """The stores that processes have to restore before they are caught up, in the order in which they begin."""
        self.leader_changes = 0
        """After how many restarts another process led than before."""
        self._restoring: frozenset[tuple[str, TaskId]] = frozenset()
        self._observed = observed
        self._threads: dict[str, InspectedMember] = {}
        for process in observed.processes:
            self._continue(process, instances[process.name])
        by_id = {member.member_id: self._threads[name] for name, member in self.members.items() if member.member_id}
        self.coordinator.restore(
            1,
            next(member_id for member_id, thread in by_id.items() if thread is leader),
            {member_id: thread.described.subscription for member_id, thread in by_id.items()},
            {member_id: thread.described.assignment for member_id, thread in by_id.items()},
            {
                instance_id: member_id
                for member_id, thread in by_id.items()
                if (instance_id := thread.described.group_instance_id)
            },
        )
        self.cluster = observed.cluster(now_ms)
        self._owner_by_task = self.owner_by_task

    @property
    def state(self) -> Hashable:
        """The key of the group's future, and the state that it still restores."""
        return super().state, self._restoring

    @property
    def violation_texts(self) -> tuple[str, ...]:
        """The failures until now."""
        return tuple(f"{violation.property} ({violation.text})" for violation in self.violations)

    def elect(self, process: str | None) -> None:
        """Let a process lead when the leader has gone; None: the one that is longest in the group."""
        if process is not None:
            self.coordinator.election_rule = self.workload.member_names(process)[0]

    # -- what happens to the group ---------------------------------------------------------------------------------

    def stop(self, *processes: str) -> Self:
        """Stop processes at a time, and settle."""
        for process in processes:
            self._stop(process)
        settle(self)
        return self

    def start(self, instances: Mapping[str, Instance]) -> Self:
        """Start processes at a time, those that run again before their sessions time out, and settle."""
        leader = self.leader
        left = [self._stop(process) for process in instances if self.is_process_running(process)]
        if any(left):
            settle(self)  # the others do not wait for them
        for process, instance in instances.items():
            if self.workload.ephemeral:
                self._restoring = frozenset(place for place in self._restoring if place[0] != process)
            self._starting = process
            start_process(self, process, instance)
            for name in self.workload.member_names(process):
                self._configure(self.members[name], self._threads.get(name))
        settle(self)
        self.leader_changes += self.leader != leader
        return self

    def _stop(self, process: str) -> bool:
        """Stop a process; return whether its members leave the group."""
        members = [member for member in self.running_members if member.process == process]
        leaves = any(member.instance.release.leaves_on_close for member in members)
        stop_process(self, process, "stopped", leave=leaves)
        return leaves

    def on_sync(self, member: SimulatedMember, assignment: bytes, received: ReceivedAssignment) -> None:
        """Note what a member has to restore."""
        super().on_sync(member, assignment, received)
        has = self.caught_up_by_process.get(member.process, frozenset())
        stateful = member.assignor.member.stateful_subtopologies
        for task in {*received.active, *received.standby}:
            place = member.process, task
            if task.subtopology in stateful and task not in has and place not in self._restoring:
                self._restoring |= {place}
                self.restored += (self._to_restore(*place),)

    def _to_restore(self, process: str, task: TaskId) -> RestoredStore:
        end, start = self._observed.end_offset_sums.get(task), self.start_offset_sum(process, task)
        size = self._observed.state_sizes.get(task)
        return RestoredStore(
            process,
            task,
            offsets=None if end is None else end - start,
            bytes=None if size is None else size.bytes_behind(start),
        )

    # -- state stores ----------------------------------------------------------------------------------------------

    def new_process_id(self) -> UUID:
        """Return the process id that was given."""
        return self._new_process_ids[self._starting]

    def end_offset_sum(self, task: TaskId) -> int:
        """Return the largest offset sum that a member has reported of a task."""
        return self._observed.end_offset_sums.get(task, 0)

    def start_offset_sum(self, process: str, task: TaskId) -> int:
        """Return what the process reported of a task."""
        reported = self._observed.offset_sums.get((self._process_id_of(process), task), 0)
        return 0 if self.workload.ephemeral else reported

    def _process_id_of(self, process: str) -> UUID:
        by_name = {observed.name: observed.process_id for observed in self._observed.processes}
        return by_name.get(process, UUID(int=0))

    # -- the members as they are -----------------------------------------------------------------------------------

    def _continue(self, process: ObservedProcess, instance: Instance) -> None:
        caught_up: set[TaskId] = set()
        for name, thread in zip(self.workload.member_names(process.name), process.threads, strict=True):
            sent = thread.subscription
            reported = sent.previous_standby if sent.offset_sums is None else sent.offset_sums
            member = SimulatedMember.start(name, process.name, instance, self.workload, process.process_id, reported)
            self._threads[name] = thread
            self._configure(member, thread)
            member.assignor.restore(_that_sent(thread, member.assignor.member))
            received = member.assignor.on_assignment(thread.described.assignment)
            member.member_id = f"{name}-{len(self.members) + 1}"
            member.rejoin_needed = False
            member.owned_tasks = frozenset(received.active)
            member.assigned_tasks = member.owned_tasks.union(received.standby)
            member.received_version = received.version
            member.next_probing_rebalance_ms = received.rejoin_at_ms
            self.members[name] = member
            caught_up |= member.assigned_tasks
            caught_up |= {
                task for task, offset_sum in (sent.offset_sums or {}).items() if self._is_at_end(task, offset_sum)
            }
        self.caught_up_by_process[process.name] = frozenset(caught_up)
        if keeps_process_id(instance.release) and self.workload.has_persistent_state:
            self.process_ids_on_disk[process.name] = process.process_id

    def _is_at_end(self, task: TaskId, offset_sum: int) -> bool:
        return offset_sum == LATEST_OFFSET or offset_sum >= self.end_offset_sum(task)

    def _configure(self, member: SimulatedMember, thread: InspectedMember | None) -> None:
        """Give a member that has started what it has of its own; one that is added has nothing of the kind."""
        if thread is None:
            member.group_instance_id = None
            return
        sent = thread.subscription
        member.group_instance_id = thread.described.group_instance_id
        member.assignor.restore(
            evolve(
                member.assignor.member,
                end_point=sent.user_end_point,
                client_tags=dict(sent.client_tags),
                rack_id=sent.rack,
            )
        )


def keeps_process_id(release: Release) -> bool:
    """Whether a process finds its process id in its state directory; our own members have no such directory."""
    return release.behaviour.keeps_process_id and release != OURS


def _that_sent(thread: InspectedMember, member: Member) -> Member:
    """Return a member in the state in which it sent its subscription."""
    sent, version = thread.subscription, member.version
    used = sent.used_version or 0
    if EARLIEST_PROBEABLE_VERSION <= used < version.supported_version:
        version = evolve(version, used_version=used, state=MemberState.DOWNGRADED)
    return evolve(
        member,
        version=version,
        previous_active=frozenset(sent.previous_active),
        owned_partitions=frozenset(sent.owned_partitions),
        join_count=sent.userdata.unique_field if sent.userdata else 0,
    )
