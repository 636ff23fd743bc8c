"""Reads committed offsets from coordinators, end offsets and sizes of logs from leaders.

Requests have a limit of groups, topics and partitions. Offsets that a broker does not return are missing in the result,
and a failure says why.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any, Final, TypeVar

from attrs import define, field
from kafka.errors import for_code

from streams_assignor.clients.kafka_python._private_api import (
    DescribeLogDirsRequest,
    ListOffsetsRequest,
    MetadataRequest,
    OffsetFetchRequest,
)
from streams_assignor.clients.kafka_python.broker_connection import BrokerConnection, raise_for_error
from streams_assignor.codec import TopicPartition
from streams_assignor.formats.text import count
from streams_assignor.groups.offsets import ChangelogSizes, GroupOffsets, OffsetRequest
from streams_assignor.upgrade.cluster.client.connection import Deadline
from streams_assignor.upgrade.cluster.client.errors import ClusterError
from streams_assignor.upgrade.cluster.client.node_address import node_address

T = TypeVar("T")

Connect = Callable[[str, Deadline], BrokerConnection]
Progress = Callable[[str], object]

_GROUPS_PER_REQUEST: Final = 100
_TOPICS_PER_REQUEST: Final = 1000
_PARTITIONS_PER_REQUEST: Final = 2000
_MOST_FAILURES: Final = 10
_FIRST_WITH_GROUPS: Final = 8  # OffsetFetch of several groups
_LAST_WITH_NAMES: Final = 9  # later ones have ids of topics
_ALL_TOPICS: Final = 2  # null means all since this version
_LATEST: Final = -1
_EARLIEST: Final = -2
_NO_COMMIT: Final = -1


@define
class _Answers:
    """The answers of brokers."""

    committed: dict[str, dict[TopicPartition, int]] = field(factory=lambda: defaultdict(dict))
    ends: dict[TopicPartition, int] = field(factory=dict)
    failures: dict[str, list[str]] = field(factory=lambda: defaultdict(list))
    """Why committed offsets are missing, by group."""
    missing_ends: dict[TopicPartition, str] = field(factory=dict)
    """Why."""


def read_offsets(
    requests: Sequence[OffsetRequest], node: BrokerConnection, connect: Connect, deadline: Deadline, report: Progress
) -> Mapping[str, GroupOffsets]:
    """Return the offsets of groups, by name, as far as brokers answer until the deadline.

    ``report`` is called with a line before each step that asks several brokers.
    """
    answers = _Answers()
    _read_committed(requests, connect, deadline, answers, report)
    wanted = {
        partition
        for request in requests
        for partition in (*request.partitions, *answers.committed.get(request.group, ()))
    }
    leaders, addresses = _leaders(requests, wanted, node, deadline, answers)
    _read_ends(leaders, addresses, connect, deadline, answers, report)
    return {request.group: _offsets_of(request, leaders, answers) for request in requests}


def _offsets_of(request: OffsetRequest, partitions: Iterable[TopicPartition], answers: _Answers) -> GroupOffsets:
    committed = answers.committed.get(request.group, {})
    wanted = {*request.partitions, *committed}
    if request.reads_changelogs:
        wanted.update(partition for partition in partitions if request.is_changelog(partition.topic))
    reasons = (answers.missing_ends[partition] for partition in sorted(wanted) if partition in answers.missing_ends)
    failures = [*dict.fromkeys((*answers.failures.get(request.group, ()), *reasons))]
    more = [f"and {len(failures) - _MOST_FAILURES} more"] if len(failures) > _MOST_FAILURES else []
    return GroupOffsets(
        committed=committed,
        ends={partition: answers.ends[partition] for partition in wanted if partition in answers.ends},
        failures=(*failures[:_MOST_FAILURES], *more),
    )


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


# -- committed offsets ------------------------------------------------------------------------------------------------


def _read_committed(
    requests: Sequence[OffsetRequest], connect: Connect, deadline: Deadline, answers: _Answers, report: Progress
) -> None:
    groups = defaultdict[str, list[str]](list)
    for request in requests:
        if request.coordinator:
            groups[request.coordinator].append(request.group)
        else:
            answers.failures[request.group].append("the coordinator has not described the group")
    half = deadline.share(2)
    for number, (coordinator, names) in enumerate(groups.items()):
        report(f"committed offsets: coordinator {number + 1} of {len(groups)}, {count(len(names), 'group')}")
        try:
            with connect(coordinator, half.share(len(groups) - number)) as broker:
                for name, answer in _fetched(broker, names, half.share(len(groups) - number)):
                    _take_committed(name, answer, answers)
            for name in {*names} - answers.committed.keys() - answers.failures.keys():
                answers.failures[name].append(f"committed offsets: {coordinator} has not answered for this group")
        except ClusterError as error:
            for name in names:
                if name not in answers.committed:
                    answers.failures[name].append(f"committed offsets: {error}")


def _fetched(broker: BrokerConnection, names: Sequence[str], deadline: Deadline) -> Iterator[tuple[str, Any]]:
    """Yield the answer of each group, by name; a broker before 3.0 takes one group a request."""
    _, latest = broker.versions_of(OffsetFetchRequest.API_KEY) or (0, 0)
    limits = {"min_version": _ALL_TOPICS, "max_version": _LAST_WITH_NAMES}
    if latest < _FIRST_WITH_GROUPS:
        for name in names:
            yield name, broker.send(OffsetFetchRequest, deadline, group_id=name, topics=None, **limits)
        return
    for batch in _batches(names, _GROUPS_PER_REQUEST):
        groups = [OffsetFetchRequest.OffsetFetchRequestGroup(group_id=name, topics=None) for name in batch]
        answer = broker.send(OffsetFetchRequest, deadline, groups=groups, **limits)
        yield from ((group.group_id, group) for group in answer.groups)


def _take_committed(group: str, answer: Any, answers: _Answers) -> None:
    if answer.error_code:
        answers.failures[group].append(f"committed offsets: {for_code(answer.error_code).message}")
        return
    committed = answers.committed[group]
    for topic in answer.topics:
        for partition in topic.partitions:
            if partition.error_code:
                answers.failures[group].append(f"{topic.name}: {for_code(partition.error_code).message}")
            elif partition.committed_offset != _NO_COMMIT:
                committed[TopicPartition(topic.name, partition.partition_index)] = partition.committed_offset


# -- end offsets ------------------------------------------------------------------------------------------------------


def _leaders(
    requests: Sequence[OffsetRequest],
    wanted: set[TopicPartition],
    node: BrokerConnection,
    deadline: Deadline,
    answers: _Answers,
) -> tuple[dict[TopicPartition, int], dict[int, str]]:
    """Return the leader of each wanted partition, and of each changelog of groups that need them; and addresses."""
    with_changelogs = [request for request in requests if request.reads_changelogs]
    leaders, addresses = dict[TopicPartition, int](), dict[int, str]()
    topics = sorted({partition.topic for partition in wanted})
    batches: list[list[str] | None] = [None] if with_changelogs else [*_batches(topics, _TOPICS_PER_REQUEST)]
    for names in batches:
        asked = None if names is None else [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
        try:
            answer = node.send(MetadataRequest, deadline, topics=asked, allow_auto_topic_creation=False)
        except ClusterError as error:
            for request in requests:
                answers.failures[request.group].append(f"leaders of partitions: {error}")
            return leaders, addresses
        addresses |= {broker.node_id: node_address(broker) for broker in answer.brokers}
        for topic in answer.topics:
            is_changelog = any(request.is_changelog(topic.name) for request in with_changelogs)
            for metadata in topic.partitions:
                partition = TopicPartition(topic.name, metadata.partition_index)
                if is_changelog or partition in wanted:
                    leaders[partition] = metadata.leader_id
    for partition in wanted - leaders.keys():
        answers.missing_ends.setdefault(
            partition, f"no topic {partition.topic} that the user may describe has its partition"
        )
    return leaders, addresses


def _read_ends(
    leaders: Mapping[TopicPartition, int],
    addresses: Mapping[int, str],
    connect: Connect,
    deadline: Deadline,
    answers: _Answers,
    report: Progress,
) -> None:
    by_leader = defaultdict[int, list[TopicPartition]](list)
    for partition, leader in sorted(leaders.items()):
        by_leader[leader].append(partition)
    for number, (leader, partitions) in enumerate(by_leader.items()):
        if leader not in addresses:
            answers.missing_ends.update((partition, f"{partition} has no leader") for partition in partitions)
            continue
        report(f"end offsets: leader {number + 1} of {len(by_leader)}, {count(len(partitions), 'partition')}")
        try:
            share = deadline.share(len(by_leader) - number)
            with connect(addresses[leader], share) as broker:
                for batch in _batches(partitions, _PARTITIONS_PER_REQUEST):
                    _take_ends(broker.send(ListOffsetsRequest, share, **_offsets_of_time(batch, _LATEST)), answers)
            for partition in partitions:
                if partition not in answers.ends:
                    answers.missing_ends.setdefault(partition, f"end offset of {partition.topic}: no answer")
        except ClusterError as error:
            answers.missing_ends.update(
                (partition, f"end offsets: {error}") for partition in partitions if partition not in answers.ends
            )


def _offsets_of_time(partitions: Sequence[TopicPartition], timestamp: int) -> dict[str, Any]:
    topics = defaultdict[str, list[Any]](list)
    for topic, number in partitions:
        topics[topic].append(
            ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition(partition_index=number, timestamp=timestamp)
        )
    return {
        "replica_id": -1,
        "isolation_level": 0,
        "min_version": 1,
        "topics": [ListOffsetsRequest.ListOffsetsTopic(name=name, partitions=rows) for name, rows in topics.items()],
    }


def _take_ends(answer: Any, answers: _Answers) -> None:
    for topic in answer.topics:
        for response in topic.partitions:
            partition = TopicPartition(topic.name, response.partition_index)
            if response.error_code:
                answers.missing_ends[partition] = f"end offset of {topic.name}: {for_code(response.error_code).message}"
            else:
                answers.ends[partition] = response.offset


# -- sizes ------------------------------------------------------------------------------------------------------------


def read_changelog_sizes(
    group: str, node: BrokerConnection, connect: Connect, deadline: Deadline, report: Progress
) -> ChangelogSizes:
    """Return how much the leaders of the changelogs of a group hold, as far as brokers answer until the deadline."""
    request, unread = OffsetRequest(group=group, coordinator="", reads_changelogs=True), _Answers()
    leaders, addresses = _leaders([request], set(), node, deadline, unread)
    by_leader = defaultdict[int, list[TopicPartition]](list)
    for partition, leader in sorted(leaders.items()):
        by_leader[leader].append(partition)
    sizes, begins, ends = dict[TopicPartition, int](), _Answers(), _Answers()
    failures = dict.fromkeys(unread.failures[group])
    for number, (leader, partitions) in enumerate(by_leader.items()):
        if leader not in addresses:
            failures[f"{partitions[0]} has no leader"] = None
            continue
        report(f"sizes of changelogs: leader {number + 1} of {len(by_leader)}, {count(len(partitions), 'partition')}")
        try:
            share = deadline.share(len(by_leader) - number)
            with connect(addresses[leader], share) as broker:
                for batch in _batches(partitions, _PARTITIONS_PER_REQUEST):
                    sizes |= _sizes(stored := broker.send(DescribeLogDirsRequest, share, topics=_by_topic(batch)))
                    for directory in filter(attrgetter("error_code"), stored.results):
                        error = for_code(directory.error_code).message
                        failures[f"sizes of changelogs: {broker.server}, {directory.log_dir}: {error}"] = None
                    _take_ends(broker.send(ListOffsetsRequest, share, **_offsets_of_time(batch, _EARLIEST)), begins)
                    _take_ends(broker.send(ListOffsetsRequest, share, **_offsets_of_time(batch, _LATEST)), ends)
        except ClusterError as error:
            failures[f"sizes of changelogs: {error}"] = None
    if missing := leaders.keys() - sizes.keys():
        named = f"no size of {min(missing)}" + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
        failures[f"{named}: a broker tells it to those who may describe the cluster"] = None
    return ChangelogSizes(sizes=sizes, begins=begins.ends, ends=ends.ends, failures=tuple(failures))


def _by_topic(partitions: Sequence[TopicPartition]) -> list[Any]:
    topics = defaultdict[str, list[int]](list)
    for topic, number in partitions:
        topics[topic].append(number)
    return [
        DescribeLogDirsRequest.DescribableLogDirTopic(topic=topic, partitions=numbers)
        for topic, numbers in topics.items()
    ]


def _sizes(answer: Any) -> dict[TopicPartition, int]:
    """Return the sizes of partitions; a copy that moves to another directory is not counted yet."""
    raise_for_error(answer)
    return {
        TopicPartition(topic.name, partition.partition_index): partition.partition_size
        for directory in answer.results
        for topic in directory.topics
        for partition in topic.partitions
        if not partition.is_future_key
    }
