"""The state of a simulated group: its members, its coordinator, its topics, its state stores, and the record.

Nothing here decides what happens. ``actions``, ``settle`` and ``script`` change the state; ``properties`` checks it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from copy import copy
from random import Random
from typing import Self
from uuid import UUID

from attrs import evolve

from streams_assignor import ReceivedAssignment
from streams_assignor.cluster import ClusterSnapshot
from streams_assignor.codec import TaskId
from streams_assignor.spark_sim.model.coordinator import Coordinator
from streams_assignor.spark_sim.model.events import GroupEvent
from streams_assignor.spark_sim.model.member import SimulatedMember
from streams_assignor.spark_sim.model.scenario import Scenario
from streams_assignor.spark_sim.model.violations import ADVISORY_PROPERTIES, Violation
from streams_assignor.spark_sim.model.workload import LONG_CHANGELOG_END


class GroupState:
    """The state of the group of a scenario, at first without members.

    A subclass may observe the run: the methods ``on_...`` are called at protocol events and do nothing here.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.workload = scenario.workload
        self.has_two_topologies = len(scenario.topologies) > 1
        """Whether its members run more than one topology: a new one is rolled out."""
        partitions = self.workload.partition_counts
        if self.has_two_topologies:
            more = (topic for topology in scenario.topologies for topic in topology.external_topics)
            partitions = dict.fromkeys(more, self.workload.partitions) | partitions
        self.cluster = ClusterSnapshot(partitions=partitions, end_offsets=self.workload.end_offsets)
        """The topics as leaders see them."""
        self.coordinator = Coordinator()
        self.members: dict[str, SimulatedMember] = {}
        """Name => member, in the order in which they last started; members that do not run included."""
        self.now_ms = 0
        """Simulated time; it passes only when a timeout does."""
        self.held = False
        """Whether steps do not settle the group."""
        self.shutdown_requested = False
        """Whether a member has requested the shutdown of the application (KIP-663)."""
        self.caught_up_by_process: dict[str, frozenset[TaskId]] = {}
        """Process => tasks whose whole state it has; kept only for a workload with lag."""
        self.process_starts = 0
        """How many processes have been started."""
        self.process_id_seed = 0
        """Draws the order of new process ids, by which Kafka orders processes; 0: each is after all before it."""
        self.process_ids_on_disk: dict[str, UUID] = {}
        """Process => the process id in its state directory; releases that keep one have written it."""
        self.events: list[GroupEvent] = []
        self.violations: list[Violation] = []
        self.remarks: list[Violation] = []
        """Violations of advisory properties."""
        self.version_probes = 0
        """How many assignments had a lower version than the subscription that they answer."""
        self.probes_in_vain = False
        """Whether the last step ends with probing rebalances that go on for ever and move nothing."""
        self.max_rebalances = 0
        """The most rebalances that one step caused."""

    def fork(self) -> Self:
        """Return an independent copy; schedules with a common prefix share its run."""
        twin = copy(self)
        twin.coordinator = self.coordinator.fork()
        twin.members = {name: member.fork() for name, member in self.members.items()}
        twin.caught_up_by_process = self.caught_up_by_process.copy()
        twin.process_ids_on_disk = self.process_ids_on_disk.copy()
        twin.events = self.events.copy()
        twin.violations = self.violations.copy()
        twin.remarks = self.remarks.copy()
        return twin

    @property
    def leader(self) -> str:
        """The process of the member that leads; empty: nobody leads."""
        name = (self.coordinator.leader or "").rpartition("-")[0]
        return self.members[name].process if name in self.members else ""

    @property
    def state(self) -> Hashable:
        """The key of the group's future, apart from time: groups with equal ones do so alike.

        Numbers that only count, such as those of member ids and joins, are left out.
        """
        members = tuple(
            (
                name,
                member.running,
                member.instance,
                evolve(member.assignor.member, join_count=0),
                member.owned_tasks,
                member.assigned_tasks,
                member.received_version,
                member.rejoin_needed,
                member.leave_before_rejoin,
                member.next_probing_rebalance_ms is None,
            )
            for name, member in sorted(self.members.items())
        )
        has = frozenset(self.caught_up_by_process.items()), frozenset(self.process_ids_on_disk.items())
        return self.coordinator.state, members, has

    @property
    def running_members(self) -> Iterator[SimulatedMember]:
        """The members that run, in the order in which they last started."""
        return (member for member in self.members.values() if member.running)

    @property
    def owner_by_task(self) -> dict[TaskId, str]:
        """The process that owns each task."""
        return {task: member.process for member in self.running_members for task in member.owned_tasks}

    @property
    def current_members(self) -> list[SimulatedMember]:
        """The members that run and are in the group, in the order in which they first joined."""
        by_id = {member.member_id: member for member in self.running_members}
        return [by_id[member_id] for member_id in self.coordinator.members if member_id in by_id]

    @property
    def orphaned_ids(self) -> list[str]:
        """Member ids in the group whose member does not run any more, oldest first."""
        running = {member.member_id for member in self.running_members}
        return [member_id for member_id in self.coordinator.members if member_id not in running]

    @property
    def leader_balances_by_lag(self) -> bool:
        """Whether the leader's assignor considers lags (KIP-441)."""
        leaders = (member for member in self.members.values() if member.member_id == self.coordinator.leader)
        return any(member.assignor.member.behaviour.lag_based for member in leaders)

    def process_members(self, member: SimulatedMember) -> list[SimulatedMember]:
        """Return the members of a member's process, itself included."""
        return [self.members[name] for name in self.workload.member_names(member.process)]

    def is_process_running(self, process: str) -> bool:
        """Whether a member of a process runs."""
        return any(member.process == process for member in self.running_members)

    def log(self, kind: str, member: str, *values: object) -> None:
        """Append an event; see ``events.EVENT_TEMPLATES`` for the kinds and their values."""
        self.events.append(GroupEvent(self.now_ms, self.coordinator.generation, kind, member, values))

    def report_violations(self, violations: Iterable[Violation]) -> None:
        """Record violations, equal ones once."""
        for violation in violations:
            advisory = violation.property in ADVISORY_PROPERTIES
            recorded = self.remarks if advisory else self.violations
            if violation not in recorded:
                self.log(
                    "remark" if advisory else "violation", violation.member or "-", violation.property, violation.text
                )
                recorded.append(violation)

    def new_process_id(self) -> UUID:
        """Return the process id of a process that finds none on its disk."""
        self.process_starts += 1
        number, seed = self.process_starts, self.process_id_seed
        return UUID(int=Random(f"{seed} {number}").getrandbits(127) if seed else number)

    def end_offset_sum(self, task: TaskId) -> int:  # noqa: ARG002 - a group that was observed has other ends
        """Return the sum of the end offsets of the changelogs of a task, which a store that is caught up has."""
        return LONG_CHANGELOG_END

    def start_offset_sum(self, process: str, task: TaskId) -> int:  # noqa: ARG002
        """Return the offset sum of a store of a process that is not caught up."""
        return 0

    def on_assignment_computed(self, leader: SimulatedMember, assignments: Mapping[str, bytes]) -> None:
        """Observe the assignments of a leader, before its SyncGroup."""

    def on_sync(self, member: SimulatedMember, assignment: bytes, received: ReceivedAssignment) -> None:
        """Observe the assignment that a member has decoded and acted on."""

    def on_session_timeout(self) -> None:
        """Observe that a session timeout passes, before the orphaned ids are removed."""


# -- state stores ----------------------------------------------------------------------------------------------------
# The members of a process share its disk. Every store is caught up with its changelog unless the changelog is long
# (``with lag``): then it begins at offset 0, and is caught up once its task has run there, or at a probing rebalance.

NO_TASKS: frozenset[TaskId] = frozenset()


def offset_sums(state: GroupState, member: SimulatedMember) -> dict[TaskId, int]:
    """Return the offset sums that a member reports in its subscription."""
    stored = member.stored_tasks if state.workload.threads == 1 else _stored_tasks(state, member)
    if not state.workload.lag:
        return dict.fromkeys(stored, 0)
    caught_up = caught_up_tasks(state, member) | member.assignor.member.previous_active
    state.caught_up_by_process[member.process] = caught_up
    return {
        task: state.end_offset_sum(task) if task in caught_up else state.start_offset_sum(member.process, task)
        for task in stored
    }


def caught_up_tasks(state: GroupState, member: SimulatedMember) -> frozenset[TaskId]:
    """Return the tasks whose whole state the process of a member has (with ``lag`` only)."""
    return state.caught_up_by_process.get(member.process, NO_TASKS)


def _stored_tasks(state: GroupState, member: SimulatedMember) -> frozenset[TaskId]:
    """Return the stores of the process that a member reports.

    Up to 2.5 each thread reports the whole state directory. Since 2.6 it reports the stores that it has open, and the
    first thread also those that no thread has open.
    """
    threads = state.process_members(member)
    stored = NO_TASKS.union(*(thread.stored_tasks for thread in threads))
    if member.reports_whole_state_dir:
        return stored
    if member is not next(thread for thread in threads if thread.running):
        return stored & member.assigned_tasks
    return stored - NO_TASKS.union(
        *(thread.assigned_tasks for thread in threads if thread.running and thread is not member)
    )
