"""The lag of partitions, tasks and replicas of state.

Who reads a partition follows from the assignment. A leader's answer has one task for each partition, in the order of
the sorted partitions (Java: ``StreamsPartitionAssignor.onAssignment``). A broker that assigns has tasks only, and the
topology says what they read.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat

from attrs import frozen

from streams_assignor.codec import LATEST_OFFSET, OFFSET_UNKNOWN, TaskId, TopicPartition
from streams_assignor.groups._group import InspectedGroup
from streams_assignor.groups.broker_assigned import DescribedSubtopology
from streams_assignor.groups.broker_assigned.topics import task_id
from streams_assignor.groups.described_group import STREAMS, GroupOffsets
from streams_assignor.groups.member import InspectedMember
from streams_assignor.groups.offsets._offsets import OffsetRequest


@frozen(kw_only=True)
class PartitionLag:
    """A partition that a group reads, or has read."""

    partition: TopicPartition

    task: TaskId | None
    """None if it is unknown, or the group has no tasks."""

    member: InspectedMember | None
    """None if it is assigned to no member."""

    committed: int | None
    """None: there is no commit."""

    end: int | None
    """None: unknown."""

    @property
    def lag(self) -> int | None:
        """How many offsets are behind the committed one; None if it is unknown.

        A reset or a topic that was made again can leave a committed offset behind the end: then nothing is to be read.
        """
        if self.end == 0:
            return 0
        if self.committed is None or self.end is None:
            return None
        return max(0, self.end - self.committed)


@frozen(kw_only=True)
class TaskLag:
    """An active task of a member."""

    task: TaskId
    member: InspectedMember
    lag: int | None
    """The sum of its partitions; None if one is unknown."""


@frozen(kw_only=True)
class StateLag:
    """A replica of the state of a task."""

    task: TaskId
    member: InspectedMember
    restored: int | None
    """The sum of the restored offsets, when the member joined last; None: unknown."""

    end: int | None
    """The sum of the end offsets of its changelogs; None: unknown."""

    is_running: bool = False
    """Whether its owner ran it when it joined last: then all is restored."""

    @property
    def lag(self) -> int | None:
        """How many offsets the replica was behind, at most: it has restored more since it joined. None: unknown."""
        if self.is_running:
            return 0
        return None if self.restored is None or self.end is None else max(0, self.end - self.restored)


def offset_request(group: InspectedGroup, *, of_active_state: bool = False) -> OffsetRequest:
    """Return which offsets of a group are needed; with those of ``active_state_lags``, if they are asked for."""
    topology = _topology(group)
    owned = {partition for member in group.members for partition, _ in _owned(group, topology, member)}
    changelogs = {
        TopicPartition(changelog.name, task.partition)
        for member in group.members
        for task in _replicas(member)
        if (subtopology := topology.get(_first_task(task)))
        for changelog in subtopology.changelogs
    }
    has_replicas = any(member.assignment.standbys for member in group.members)
    restores = of_active_state and any(not lag.is_running for lag in active_state_lags(group))
    return OffsetRequest(
        group=group.described.name,
        coordinator=group.described.coordinator,
        partitions=frozenset(owned | changelogs),
        reads_changelogs=group.is_streams and (has_replicas or restores),
    )


def partition_lags(group: InspectedGroup) -> list[PartitionLag]:
    """Return the partitions that are assigned or have a committed offset, sorted."""
    offsets = group.offsets or GroupOffsets()
    topology = _topology(group)
    owners = {
        partition: (task, member) for member in group.members for partition, task in _owned(group, topology, member)
    }
    lags = []
    for partition in sorted({*owners, *offsets.committed}):
        task, member = owners.get(partition, (None, None))
        committed, end = offsets.committed.get(partition), offsets.ends.get(partition)
        lags.append(PartitionLag(partition=partition, task=task, member=member, committed=committed, end=end))
    return lags


def task_lags(partitions: Sequence[PartitionLag]) -> list[TaskLag]:
    """Return the lag of each task, in the order of its first partition."""
    lags: dict[tuple[TaskId, str], TaskLag] = {}
    for partition in partitions:
        if partition.task is None or partition.member is None:
            continue
        key = partition.task, partition.member.name
        lag = partition.lag
        if key in lags:
            before = lags[key].lag
            lag = None if lag is None or before is None else before + lag
        lags[key] = TaskLag(task=partition.task, member=partition.member, lag=lag)
    return list(lags.values())


def state_lags(group: InspectedGroup) -> list[StateLag]:
    """Return the standby and warm-up replicas of all members, as far as their tasks are known."""
    offsets = group.offsets or GroupOffsets()
    topology = _topology(group)
    by_size = {} if topology else _changelogs(group, offsets)
    lags = []
    for member in group.members:
        raw = member.described.broker_assignment
        restored = (raw.offset_sums if raw else member.subscription.offset_sums) or {}
        for task in _replicas(member):
            subtopology = topology.get(_first_task(task))
            topics = (
                [changelog.name for changelog in subtopology.changelogs]
                if subtopology
                else by_size.get(_first_task(task))
            )
            end = raw.end_offset_sums.get(task) if raw else None
            if end is None:
                end = _sum_of_ends(topics, task.partition, offsets)
            position = restored.get(task, -1)
            lags.append(StateLag(task=task, member=member, restored=position if position >= 0 else None, end=end))
    return lags


def active_state_lags(group: InspectedGroup) -> list[StateLag]:
    """Return the active tasks of a group that have state, and how far their processes were when they joined.

    A subtopology has state if a member has reported some of it. Versions below 7 have no offsets. In a streams group
    the topology says which have state, and no broker how much of it an active task had.
    """
    if topology := _topology(group):
        active = ((task, member) for member in group.members for task in member.assignment.active)
        has_state = {first for first, subtopology in topology.items() if subtopology.changelogs}
        return [
            StateLag(task=task, member=member, restored=None, end=None)
            for task, member in active
            if _first_task(task) in has_state
        ]
    offsets = group.offsets or GroupOffsets()
    with_state, by_size, by_process = _with_state(group), _changelogs(group, offsets), _reported_by_process(group)
    lags = []
    for member in group.members:
        reported = by_process[str(member.subscription.process_id)]
        # A process has nothing of a task that it does not report; a cooperative one reports nothing up to version 6.
        unreported = OFFSET_UNKNOWN if member.subscription.offset_sums is None else 0
        for task in member.assignment.active:
            if _first_task(task) not in with_state:
                continue
            position = reported.get(task, unreported)
            lags.append(
                StateLag(
                    task=task,
                    member=member,
                    restored=position if position >= 0 else None,
                    end=_sum_of_ends(by_size.get(_first_task(task)), task.partition, offsets),
                    is_running=position == LATEST_OFFSET,
                )
            )
    return lags


def _reported_by_process(group: InspectedGroup) -> Mapping[str, Mapping[TaskId, int]]:
    """Return the offset sums of each process. Of several threads one reports what it runs, or what is on disk."""
    found: dict[str, dict[TaskId, int]] = defaultdict(dict)
    for member in group.members:
        sent = member.subscription
        sums = found[str(sent.process_id)]
        for task, position in _reported(member).items():
            before = sums.get(task, OFFSET_UNKNOWN)
            sums[task] = LATEST_OFFSET if LATEST_OFFSET in (before, position) else max(before, position)
    return found


def _reported(member: InspectedMember) -> Mapping[TaskId, int]:
    """Return the offset sums of a member, as a leader takes them. Java: ``SubscriptionInfo.taskOffsetSums``."""
    sent = member.subscription
    if sent.offset_sums is not None:
        return sent.offset_sums
    return dict.fromkeys(sent.previous_standby, OFFSET_UNKNOWN) | dict.fromkeys(sent.previous_active, LATEST_OFFSET)


def _replicas(member: InspectedMember) -> tuple[TaskId, ...]:
    return (*member.assignment.standbys, *member.assignment.warm_ups)


_Topology = Mapping[TaskId, DescribedSubtopology]
"""The subtopologies of a group of KIP-1071, by their tasks of partition 0; empty in other groups."""


def _topology(group: InspectedGroup) -> _Topology:
    topology = group.described.broker.topology if group.described.broker else None
    return {task_id(subtopology.name, 0): subtopology for subtopology in (topology.subtopologies if topology else ())}


def _first_task(task: TaskId) -> TaskId:
    return task._replace(partition=0)


def _owned(
    group: InspectedGroup, topology: _Topology, member: InspectedMember
) -> Iterator[tuple[TopicPartition, TaskId | None]]:
    """Yield the partitions that a member reads, each with its task."""
    assignment, counts = member.assignment, group.described.partition_counts
    if group.described.type == STREAMS:
        for task in assignment.active:
            subtopology = topology.get(_first_task(task))
            topics = subtopology.input_topics if subtopology else ()
            yield from (
                (TopicPartition(topic, task.partition), task)
                for topic in topics
                if task.partition < counts.get(topic, 0)
            )
        return
    tasks: Iterable[TaskId | None] = assignment.tasks_of_partitions
    if len(assignment.tasks_of_partitions) != len(assignment.partitions):
        tasks = repeat(None, len(assignment.partitions))
    yield from zip(assignment.partitions, tasks, strict=True)


def _with_state(group: InspectedGroup) -> set[TaskId]:
    """Return the first task of each subtopology of which a member has a replica, or has reported one.

    Up to 2.5 a member with the eager protocol reports all that it ran, with state or without: only offsets tell.
    """
    return {
        _first_task(task)
        for member in group.members
        for task in (
            *_replicas(member),
            *(member.subscription.offset_sums or ()),
            *member.subscription.previous_standby,
        )
    }


def _changelogs(group: InspectedGroup, offsets: GroupOffsets) -> Mapping[TaskId, Sequence[str]]:
    """Return the changelogs of the subtopologies of a classic group, by their first tasks, where they are known.

    Metadata does not say which store belongs to which subtopology. It is known if one subtopology has all state, or
    if no other one with state has as many tasks: a changelog has a partition for each.
    """
    with_state = _with_state(group)
    request = OffsetRequest(group=group.described.name, coordinator="")
    sizes: dict[str, int] = {}
    for topic, partition in offsets.ends:
        if request.is_changelog(topic):
            sizes[topic] = max(sizes.get(topic, 0), partition + 1)
    if len(with_state) == 1:
        return dict.fromkeys(with_state, sorted(sizes))
    tasks: dict[TaskId, int] = {}
    for member in group.members:
        for task in (*member.assignment.active, *_replicas(member), *_reported(member)):
            tasks[_first_task(task)] = max(tasks.get(_first_task(task), 0), task.partition + 1)
    alike = Counter(tasks[first] for first in with_state)
    return {
        first: sorted(topic for topic, size in sizes.items() if size == tasks[first])
        for first in with_state
        if alike[tasks[first]] == 1
    }


def _sum_of_ends(topics: Sequence[str] | None, partition: int, offsets: GroupOffsets) -> int | None:
    ends = [offsets.ends.get(TopicPartition(topic, partition)) for topic in topics or ()]
    known_ends = [end for end in ends if end is not None]
    return sum(known_ends) if ends and len(known_ends) == len(ends) else None
