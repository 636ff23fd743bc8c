"""The ``StickyTaskAssignor`` of Kafka's group coordinator, decision by decision.

How it works: a quota limits how many tasks a member keeps for stickiness. It begins as the average, rounded up; when a
member has reached it, the average of the rest is the new quota.

1. Active tasks stay on the member that had them, below the quota of active tasks.
2. Other active tasks move to a member with their state, below the same quota.
3. The rest goes to the least loaded members of the least loaded processes.
4. Standbys stay where their task was active, then where it was a standby, below the quota of all tasks.
5. The rest of the standbys goes to the least loaded processes without the task.

Equal loads are decided by the iteration order of Java's maps (`_hash_order`) and by the order of the group's members.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import define, frozen

from streams_assignor.spark_sim.streams_groups.task_assignor._hash_order import java_text_order
from streams_assignor.spark_sim.streams_groups.task_assignor._previous_members import PreviousMember, previous_members
from streams_assignor.spark_sim.streams_groups.task_assignor._process_state import (
    ProcessQueue,
    ProcessState,
    process_states,
)
from streams_assignor.spark_sim.streams_groups.task_assignor._releases import NEWEST_RELEASE, ReleaseRules, rules_of
from streams_assignor.spark_sim.streams_groups.task_assignor._types import (
    GroupSpec,
    MemberAssignment,
    StreamsTaskId,
    TargetAssignment,
    TaskAssignorError,
    TopologyDescriber,
    by_subtopology,
    task_ids,
)


def assign(
    group: GroupSpec,
    topology: TopologyDescriber,
    *,
    release: str = NEWEST_RELEASE,
) -> TargetAssignment:
    """Compute the target assignment of a group as the broker of a release does.

    Args:
        group: Members and configuration. Its order of members decides between previous owners of a task.
        topology: Subtopologies and their numbers of tasks.
        release: The release of the broker.

    Raises:
        TaskAssignorError: There are tasks but no members.
        UnknownReleaseError: The assignor of the release is not modelled.
    """
    rules = rules_of(release)
    stateful = _tasks(
        topology, (subtopology for subtopology in topology.subtopologies() if topology.is_stateful(subtopology))
    )
    tasks = _tasks(topology, topology.subtopologies())
    assignment = _Assignment.of(group, rules, len(tasks), len(stateful))
    assignment.assign_active(tasks)
    if group.num_standby_replicas:
        assignment.assign_standbys(stateful, group.num_standby_replicas)
    return TargetAssignment({member: assignment.of_member(member) for member in group.members})


@define
class _Quota:
    """How many tasks a member may have to keep another one: the average of the members that are not full."""

    tasks: int
    members: int

    @property
    def per_member(self) -> int:
        """The average number of tasks of a member, rounded up."""
        return -(-self.tasks // self.members) if self.members else 0

    def update(self, count: int) -> None:
        """Set a member aside that has just reached the quota with this number of tasks."""
        if count == self.per_member:
            self.members -= 1
            self.tasks -= count


@frozen
class _Previous:
    """Members that had tasks before."""

    active: Mapping[StreamsTaskId, PreviousMember]
    standby: Mapping[StreamsTaskId, Sequence[PreviousMember]]

    @classmethod
    def of(cls, group: GroupSpec, members: Mapping[str, PreviousMember], rules: ReleaseRules) -> _Previous:
        """Collect them in the order of the group; the last owner of an active task counts."""
        return cls(
            {task: members[id_] for id_, spec in group.members.items() for task in task_ids(spec.active_tasks)},
            previous_members(
                candidate for id_, spec in group.members.items() for candidate in rules.collect(members[id_], spec)
            ),
        )


@define(eq=False)
class _Assignment:
    """An assignment in progress."""

    members: Mapping[str, PreviousMember]
    processes: Sequence[ProcessState]
    """In the iteration order of Kafka's map."""
    previous: _Previous
    rules: ReleaseRules
    active_quota: _Quota
    """The quota of active tasks."""
    quota: _Quota
    """The quota of all tasks."""

    @classmethod
    def of(cls, group: GroupSpec, rules: ReleaseRules, tasks: int, stateful: int) -> _Assignment:
        """Begin with the members of a group."""
        process_of_member = {member: spec.process_id for member, spec in group.members.items()}
        processes = process_states(process_of_member, rules.process_order)
        members = {id_: PreviousMember(id_, processes[spec.process_id]) for id_, spec in group.members.items()}
        standbys = stateful * group.num_standby_replicas
        return cls(
            members,
            list(processes.values()),
            _Previous.of(group, members, rules),
            rules,
            _Quota(tasks, len(members)),
            _Quota(tasks + standbys, len(members)),
        )

    def assign_active(self, tasks: Iterable[StreamsTaskId]) -> None:
        """Assign each task as active."""
        by_partition = sorted(tasks, key=_by_partition)
        moving = [task for task in by_partition if not self._stays(task, self.previous.active.get(task))]
        rest = [task for task in moving if not self._stays(task, self._with_state(task))]
        queue = ProcessQueue(self.processes)
        for task in sorted(rest, key=_by_subtopology):
            count = queue.add_task(task, active=True)
            if count is None:
                raise TaskAssignorError(f"No process available to assign active task {task}.")
            self._count_active(count)

    def assign_standbys(self, tasks: Iterable[StreamsTaskId], replicas: int) -> None:
        """Assign so many standbys of each task, or fewer if all processes have it."""
        missing = []
        for task in sorted(tasks, key=_by_partition, reverse=True):
            placed = 0
            while placed < replicas and self._standby_stays(task):
                placed += 1
            missing.append((task, replicas - placed))
        queue = ProcessQueue(self.processes)
        for task, standbys in sorted(
            missing, key=lambda missing_standbys: _by_subtopology(missing_standbys[0]), reverse=True
        ):
            for _ in range(standbys):
                count = queue.add_task(task, active=False)
                if count is None:
                    break  # Kafka logs that there is not enough available capacity
                self.quota.update(count)

    def of_member(self, member: str) -> MemberAssignment:
        """Return what a member is assigned."""
        process = self.members[member].process
        return MemberAssignment(
            by_subtopology(process.active_tasks.get(member, ())), by_subtopology(process.standby_tasks.get(member, ()))
        )

    def _with_state(self, task: StreamsTaskId) -> PreviousMember | None:
        members = self.previous.standby.get(task)
        return self.rules.pick(members, lambda _: False) if members else None

    def _stays(self, task: StreamsTaskId, member: PreviousMember | None) -> bool:
        """Assign an active task to a previous member below the quota, if there is one."""
        if member is None or member.process.task_counts[member.id] >= self.active_quota.per_member:
            return False
        self._count_active(member.process.add_task(member.id, task, active=True))
        return True

    def _count_active(self, count: int) -> None:
        self.active_quota.update(count)
        self.quota.update(count)

    def _standby_stays(self, task: StreamsTaskId) -> bool:
        """Assign one standby to a previous member below the quota, if there is one."""
        active = self.previous.active.get(task)
        standbys = self.previous.standby.get(task)
        return self._add_standby(task, active) or bool(
            standbys and self._add_standby(task, self.rules.pick(standbys, lambda process: process.has_task(task)))
        )

    def _add_standby(self, task: StreamsTaskId, member: PreviousMember | None) -> bool:
        if (
            member is None
            or member.process.has_task(task)
            or member.process.task_counts[member.id] >= self.quota.per_member
        ):
            return False
        self.quota.update(member.process.add_task(member.id, task, active=False))
        return True


def _tasks(topology: TopologyDescriber, subtopologies: Iterable[str]) -> list[StreamsTaskId]:
    return [
        StreamsTaskId(subtopology, at)
        for subtopology in subtopologies
        for at in range(topology.max_num_input_partitions(subtopology))
    ]


def _by_partition(task: StreamsTaskId) -> tuple[int, bytes]:
    return task.partition, java_text_order(task.subtopology_id)


def _by_subtopology(task: StreamsTaskId) -> tuple[bytes, int]:
    return java_text_order(task.subtopology_id), task.partition
