"""Processes that an assignment is written into: one value for a built-in assignor, its naive twin and the checks."""

from collections.abc import Mapping
from uuid import UUID

from attrs import define, evolve, field

from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.config import AssignmentConfigs
from streams_assignor.task_assignors._fallback_prior import FallbackPriorTaskAssignor
from streams_assignor.task_assignors.application_state import (
    EMPTY,
    ApplicationState,
    KafkaStreamsState,
    TaskInfo,
    java_uuid_order,
)
from streams_assignor.task_assignors.high_availability import HighAvailabilityTaskAssignor
from streams_assignor.task_assignors.rack_aware.racks import Racks
from streams_assignor.task_assignors.sticky import StickyTaskAssignor
from streams_assignor.upgrade.release_behaviour import CURRENT

NO_RACKS = Racks(process_racks={}, partition_racks={})


@define(eq=False)
class ProcessState:
    """A process; ``active`` and ``standby`` are what it is assigned."""

    process_id: UUID
    capacity: int
    previous_active: frozenset[TaskId] = frozenset()
    previous_standby: frozenset[TaskId] = frozenset()
    active: set[TaskId] = field(factory=set)
    standby: set[TaskId] = field(factory=set)
    lags: Mapping[TaskId, int] = EMPTY
    client_tags: Mapping[str, str] = EMPTY

    @property
    def tasks(self):
        return self.active | self.standby

    @property
    def load(self):
        """Tasks per member."""
        return (len(self.active) + len(self.standby)) / self.capacity

    @property
    def is_full(self):
        return len(self.active) + len(self.standby) >= self.capacity

    def has_lower_load_than(self, other):
        return (self.load, -self.capacity) < (other.load, -other.capacity)


def sorted_by_process_id(processes):
    return sorted(processes, key=lambda process: java_uuid_order(process.process_id))


def application_state(processes, tasks, stateful, config, racks=None):
    """The same group as a task assignor gets it. Without ``racks`` they do not count."""
    racks, config = racks or NO_RACKS, config if racks else evolve(config, rack_aware_assignment_strategy="none")
    replicas = {
        TopicPartition(f"{role} of {task}", number): each
        for role, by_task in (("inputs", racks.partition_racks), ("changelogs", racks.changelog_racks))
        for task, partitions in by_task.items()
        for number, each in enumerate(partitions)
    }

    def partitions(role, task, by_task):
        return tuple(TopicPartition(f"{role} of {task}", number) for number in range(len(by_task.get(task, ()))))

    return ApplicationState(
        tasks={
            task: TaskInfo(
                stateful=task in stateful,
                partitions=partitions("inputs", task, racks.partition_racks),
                changelogs=partitions("changelogs", task, racks.changelog_racks),
            )
            for task in tasks
        },
        clients={
            each.process_id: KafkaStreamsState(
                process_id=each.process_id,
                num_processing_threads=each.capacity,
                previous_active_tasks=each.previous_active,
                previous_standby_tasks=each.previous_standby,
                lags=each.lags,
                client_tags=each.client_tags,
                member_rack_ids=tuple(racks.process_racks.get(each.process_id, ())),
            )
            for each in processes
        },
        configs=config,
        partition_racks=replicas,
    )


def assign(assignor, processes, state, reasons=None):
    """Write into the processes what ``assignor`` gives them; return whether it asks for a follow-up rebalance."""
    assignments = assignor.assign(state, reasons=reasons).assignments
    for each in processes:
        each.active |= assignments[each.process_id].active
        each.standby |= assignments[each.process_id].standby
    return any(each.follow_up_rebalance_ms is not None for each in assignments.values())


def assign_sticky(processes, tasks, stateful, standbys=0, *, config=None, racks=None, reasons=None):
    config = evolve(config or AssignmentConfigs(), num_standby_replicas=standbys)
    return assign(
        StickyTaskAssignor(), processes, application_state(processes, tasks, stateful, config, racks), reasons
    )


def assign_high_availability(processes, tasks, stateful, config=None, behaviour=CURRENT, reasons=None, racks=None):
    state = application_state(processes, {*tasks, *stateful}, stateful, config or AssignmentConfigs(), racks)
    return assign(HighAvailabilityTaskAssignor(behaviour), processes, state, reasons)


def assign_fallback_prior(processes, tasks, stateful, standbys=0, reasons=None):
    config = AssignmentConfigs(num_standby_replicas=standbys)
    return assign(
        FallbackPriorTaskAssignor(), processes, application_state(processes, tasks, stateful, config), reasons
    )
