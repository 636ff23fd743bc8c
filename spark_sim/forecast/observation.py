"""The facts of a described group: processes, topology, state stores. It is what a forecast starts from.

A stable classic group shows the input of its last decision, the subscriptions, beside the result, the assignments. So
what it does not show (the release of the leader, some of its configuration) can be tried: what repeats the last
decision is kept (``reproduction``).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final
from uuid import UUID

from attrs import evolve, field, frozen

from streams_assignor import Subtopology, Topology
from streams_assignor.cluster import ClusterSnapshot
from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.groups import InspectedGroup, InspectedMember, place_of
from streams_assignor.groups.described_group import REBALANCING, STABLE
from streams_assignor.groups.offsets import ChangelogSizes
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.releases import OURS, Release
from streams_assignor.upgrade.streams_config import StreamsConfig


@frozen
class StateSize:
    """The size of the changelogs of one task together."""

    bytes: int
    begin: int | None
    """The sum of their first offsets; None: not known."""
    end: int | None
    """The sum of the offsets behind their last records; None: not known."""

    def bytes_behind(self, offset_sum: int) -> int:
        """Estimate the bytes from an offset sum on: a part of the whole, as if all records had one size.

        >>> StateSize(1000, 0, 200).bytes_behind(150)
        250
        """
        if self.begin is None or self.end is None or offset_sum <= self.begin:
            return self.bytes
        return round(self.bytes * max(0, self.end - offset_sum) / (self.end - self.begin))


def state_sizes(changelogs: ChangelogSizes, task_counts: Mapping[int, int]) -> dict[TaskId, StateSize]:
    """Return the size of each task of which it is known.

    Args:
        changelogs: The answers of brokers.
        task_counts: Subtopology with state => its number of tasks.
    """
    sizes = {}
    topics = _topics_by_partitions(changelogs)
    for number, count in task_counts.items():
        of_it = topics[count] if [*task_counts.values()].count(count) == 1 else ()
        for partition in range(count if of_it else 0):
            logs = [TopicPartition(topic, partition) for topic in of_it]
            sizes[TaskId(number, partition)] = StateSize(
                sum(changelogs.sizes[log] for log in logs),
                _sum(changelogs.begins, logs),
                _sum(changelogs.ends, logs),
            )
    return sizes


def size_problems(changelogs: ChangelogSizes, task_counts: Mapping[int, int]) -> tuple[str, ...]:
    """Say why the size of some state is not known."""
    known = {task.subtopology for task in state_sizes(changelogs, task_counts)}
    unknown = ", ".join(map(str, sorted(task_counts.keys() - known)))
    if not unknown or changelogs.failures:
        return changelogs.failures if unknown else ()
    return (f"which changelogs subtopology {unknown} has does not follow from the numbers of their partitions",)


def _topics_by_partitions(changelogs: ChangelogSizes) -> Mapping[int, list[str]]:
    """Return the changelogs of which the size of each partition is known, by the number of partitions."""
    partitions: dict[str, set[int]] = defaultdict(set)
    for topic, partition in changelogs.sizes:
        partitions[topic].add(partition)
    topics: dict[int, list[str]] = defaultdict(list)
    for topic, numbers in sorted(partitions.items()):
        if numbers == {*range(len(numbers))}:
            topics[len(numbers)].append(topic)
    return topics


def _sum(offsets: Mapping[TopicPartition, int], logs: Sequence[TopicPartition]) -> int | None:
    known = [offsets[log] for log in logs if log in offsets]
    return sum(known) if len(known) == len(logs) else None


MOST_PARTITIONS: Final = 100_000
"""Of a topic whose size is not known."""
MOST_SUBTOPOLOGIES: Final = 1_000
_THREAD: Final = re.compile(r"-StreamThread-\d+")
_THREAD_CLIENT: Final = re.compile(r"-StreamThread-\d+(-consumer)?$")
_NUMBER: Final = re.compile(r"-\d+$")
_CHANGELOG: Final = "(changelogs of subtopology {})"
"""All changelogs of a subtopology as one: a member reports the sum of their offsets."""


class ForecastError(UpgradeError):
    """There is no forecast of a group; the message says why."""


@frozen(eq=False)
class ObservedProcess:
    """A process of the group: the members with one process id."""

    name: str
    """The name for people, unique in the group."""
    process_id: UUID
    threads: tuple[InspectedMember, ...]

    @property
    def is_static(self) -> bool:
        """Whether its members are static (KIP-345)."""
        return all(thread.described.group_instance_id for thread in self.threads)

    @property
    def active(self) -> frozenset[TaskId]:
        """The active tasks of its last assignments."""
        return frozenset(task for thread in self.threads for task in thread.assignment.active)


@frozen(eq=False, kw_only=True)
class ObservedGroup:
    """A stable classic group of Kafka Streams. Two are equal only if they are the same object."""

    group: InspectedGroup
    processes: tuple[ObservedProcess, ...]
    topology: Topology
    partitions: Mapping[str, int]
    """The partitions of each source topic and of the changelogs."""
    offset_sums: Mapping[tuple[UUID, TaskId], int]
    """The offset sums that each process reported when it last joined, of stores that it did not run."""
    end_offset_sums: Mapping[TaskId, int] = field(init=False)
    """The largest offset sum that a member has reported of each task: its end may be later."""
    state_sizes: Mapping[TaskId, StateSize] = field(factory=dict)
    """How much the changelogs of each task hold, as far as it is known."""
    size_problems: tuple[str, ...] = ()
    """Why it is not known of others."""
    config: StreamsConfig
    """The configuration of the members, as far as it is known: the number of standbys is taken from the group."""

    @end_offset_sums.default
    def _largest_sums(self) -> Mapping[TaskId, int]:
        ends: dict[TaskId, int] = {}
        for (_, task), offset_sum in self.offset_sums.items():
            ends[task] = max(offset_sum, ends.get(task, 0))
        return ends

    @property
    def tasks(self) -> Mapping[TaskId, tuple[TopicPartition, ...]]:
        """The tasks with the partitions that they read."""
        return self.topology.tasks(self.partitions)

    @property
    def end_offsets(self) -> dict[TopicPartition, int]:
        """The end offsets of the changelogs."""
        return {
            TopicPartition(topic, partition): self.end_offset_sums.get(TaskId(number, partition), 0)
            for number, subtopology in enumerate(self.topology.subtopologies)
            for topic in subtopology.changelogs
            for partition in range(self.partitions[topic])
        }

    def cluster(self, now_ms: int) -> ClusterSnapshot:
        """Return the topics as a leader sees them."""
        return ClusterSnapshot(partitions=self.partitions, end_offsets=self.end_offsets, now_ms=now_ms)

    def in_generation(self, group: InspectedGroup) -> ObservedGroup:
        """Return the same topics in another generation, which need not be at rest.

        Raises:
            ForecastError: It is not shown, or cannot be read.
        """
        _check_readable(group)
        sums = dict(_offset_sums(group.members))
        return evolve(self, group=group, processes=tuple(_processes(group.members)), offset_sums=sums)


def possible_releases(member: InspectedMember) -> Sequence[Release]:
    """Return the releases that a member can be: Kafka's, which add their thread to the client id, or ours."""
    releases = member.subscription.candidate_releases.releases
    of_kafka = _THREAD_CLIENT.search(member.described.client_id) is not None
    return [release for release in releases if (release != OURS) == of_kafka] or releases


def observe(
    group: InspectedGroup,
    config: StreamsConfig,
    stateful: Iterable[int] | None = None,
    changelogs: ChangelogSizes | None = None,
) -> ObservedGroup:
    """Return what a group shows of itself.

    Args:
        group: The group.
        config: The configuration of its members.
        stateful: The numbers of the subtopologies with state stores; None: those of which a member has reported one.
        changelogs: How much its changelogs hold; None if nobody has asked.

    Raises:
        ForecastError: The group is none that the simulation can continue.
    """
    _check_readable(group)
    _check_partitions(group)
    _check_at_rest(group)
    sources = _sources(group.members)
    with_state = reported_subtopologies(group.members) if stateful is None else {*stateful}
    tasks = max(sources) + 1
    topology = Topology.of(
        *(
            Subtopology(sources=sources[number], changelogs=[_CHANGELOG.format(number)] if number in with_state else [])
            for number in range(tasks)
        )
    )
    known = {
        topic: group.described.partition_counts.get(topic, count) for topic, count in _partitions(group.members).items()
    }
    changelog_partitions = topology.changelog_partitions(known)
    task_counts = {
        number: changelog_partitions[name]
        for number in sorted(with_state)
        if (name := _CHANGELOG.format(number)) in changelog_partitions
    }
    return ObservedGroup(
        group=group,
        processes=tuple(_processes(group.members)),
        topology=topology,
        partitions=known | changelog_partitions,
        state_sizes=state_sizes(changelogs, task_counts) if changelogs else {},
        size_problems=size_problems(changelogs, task_counts) if changelogs else (),
        offset_sums=dict(_offset_sums(group.members)),
        config=config,
    )


def _check_readable(group: InspectedGroup) -> None:
    described = group.described
    if described.state in REBALANCING:
        raise ForecastError(f"group {described.name}: expected a stable group, got {described.state}: look again later")
    if described.state != STABLE or not group.is_streams or not group.members:
        shown = " ".join(filter(None, (described.state, described.type, described.protocol)))
        raise ForecastError(f"group {described.name}: expected a stable classic group of Kafka Streams, got {shown}")
    for member in group.members:
        if problem := member.subscription.problem or member.assignment.problem:
            raise ForecastError(f"group {described.name}: {member.label} cannot be read: {problem}")
        if member.subscription.process_id is None or not member.subscription.candidate_releases.releases:
            raise ForecastError(f"group {described.name}: no release is known that sends what {member.label} sent")
        if any(task.topology for task in member.assignment.active):
            raise ForecastError(f"group {described.name}: it has named topologies, which the simulation does not have")


def _check_at_rest(group: InspectedGroup) -> None:
    described = group.described
    for member in group.members:
        if code := member.assignment.error_code:
            raise ForecastError(f"group {described.name}: the leader sent {member.label} the error {code}")
        if member.is_about_to_rejoin:
            why = " and ".join(cause.value for cause in member.rejoin_causes)
            raise ForecastError(f"group {described.name}: {member.label} is about to rejoin ({why}): look again later")
        if member.assignment.next_rebalance_ms:
            # Nothing in a group says how far its warm-up tasks are, and the next rebalance depends on it.
            raise ForecastError(
                f"group {described.name}: tasks warm up, and {member.label} is to rejoin for it: look again after its "
                "probing rebalance (probing.rebalance.interval.ms)"
            )


def _check_partitions(group: InspectedGroup) -> None:
    """Refuse what no leader assigns: the simulation would take it for topics of that size."""
    name = group.described.name
    for member in group.members:
        tasks, partitions = member.assignment.tasks_of_partitions, member.assignment.partitions
        if len(tasks) != len(partitions):
            what = f"{len(partitions)} partitions and {len(tasks)} tasks"
            raise ForecastError(f"group {name}: {member.label} was assigned {what}: expected a task for each partition")
    for task, partition in _inputs(group.members):
        count = group.described.partition_counts.get(partition.topic, MOST_PARTITIONS)
        if not (0 <= partition.partition < count and 0 <= task.subtopology < MOST_SUBTOPOLOGIES):
            limits = f"a partition below {count} and a subtopology below {MOST_SUBTOPOLOGIES}"
            raise ForecastError(f"group {name}: task {task} reads {partition}: expected {limits}")


def _inputs(members: Iterable[InspectedMember]) -> Iterator[tuple[TaskId, TopicPartition]]:
    for member in members:
        yield from zip(member.assignment.tasks_of_partitions, member.assignment.partitions, strict=True)


def _sources(members: Iterable[InspectedMember]) -> Mapping[int, set[str]]:
    """Return the topics of each subtopology, up to the last one that has a task."""
    topics: dict[int, set[str]] = defaultdict(set)
    for task, partition in _inputs(members):
        topics[task.subtopology].add(partition.topic)
    unseen = [number for number in range(max(topics, default=0) + 1) if number not in topics]
    if unseen:
        raise ForecastError(f"no member has a task of subtopology {unseen[0]}: its topics are not known")
    return topics


def _partitions(members: Iterable[InspectedMember]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for _, partition in _inputs(members):
        counts[partition.topic] = max(partition.partition + 1, counts.get(partition.topic, 0))
    return counts


def reported_subtopologies(members: Iterable[InspectedMember]) -> frozenset[int]:
    """Return the subtopologies of which a member has state, as far as members and the leader say."""
    return frozenset(_reported(members))


def _reported(members: Iterable[InspectedMember]) -> Iterator[int]:
    for member in members:
        sent = member.subscription
        reported = sent.previous_standby if sent.offset_sums is None else sent.offset_sums
        yield from (task.subtopology for task in (*reported, *member.assignment.standbys))


def observed_processes(group: InspectedGroup) -> tuple[ObservedProcess, ...]:
    """Return the processes of a group, as far as members show theirs."""
    return tuple(_processes(group.members))


def _processes(members: Iterable[InspectedMember]) -> Iterator[ObservedProcess]:
    """Yield the processes, named by what the user calls them: instance id or client id without its thread, and host."""
    threads: dict[UUID, list[InspectedMember]] = defaultdict(list)
    for member in members:
        if member.subscription.process_id:
            threads[member.subscription.process_id].append(member)
    names = {process_id: _THREAD.sub("", _place(of_process[0])) for process_id, of_process in threads.items()}
    for process_id, of_process in threads.items():
        name = names[process_id]
        unique = name if [*names.values()].count(name) == 1 else f"{name} {str(process_id)[:8]}"
        yield ObservedProcess(unique, process_id, tuple(of_process))


def _place(member: InspectedMember) -> str:
    """Name the place of a thread; Kafka Streams adds the number of the thread to an instance id."""
    raw = member.described
    instance_id = raw.group_instance_id
    return place_of(evolve(raw, group_instance_id=_NUMBER.sub("", instance_id)) if instance_id else raw)


def _offset_sums(members: Iterable[InspectedMember]) -> Iterator[tuple[tuple[UUID, TaskId], int]]:
    for member in members:
        for task, offset_sum in (member.subscription.offset_sums or {}).items():
            if offset_sum >= 0 and member.subscription.process_id:
                yield (member.subscription.process_id, task), offset_sum
