"""Reads committed offsets from coordinators and end offsets from leaders: OffsetFetch, Metadata, ListOffsets.

Requests have a limit of groups, topics and partitions. What a broker does not return is missing in the result, and a
failure says why.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, TypeVar

from attrs import define, field
from kafka.errors import for_code

from assignor.clients.kafka_python._broker_connection import BrokerConnection
from assignor.clients.kafka_python._private_api import ListOffsetsRequest, MetadataRequest, OffsetFetchRequest
from assignor.formats.text import count
from assignor.groups.offsets import GroupOffsets, OffsetRequest
from subscription_codec import TopicPartition
from upgrade.cluster.client.connection import Deadline
from upgrade.cluster.client.errors import ClusterError
from upgrade.cluster.client.node_address import node_address

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
_NO_COMMIT: Final = -1


@define
class _Found:
    """What brokers have returned."""

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
    found = _Found()
    _read_committed(requests, connect, deadline, found, report)
    wanted = {partition for each in requests for partition in (*each.partitions, *found.committed.get(each.group, ()))}
    leaders, addresses = _leaders(requests, wanted, node, deadline, found)
    _read_ends(leaders, addresses, connect, deadline, found, report)
    return {each.group: _offsets_of(each, leaders, found) for each in requests}


def _offsets_of(request: OffsetRequest, known: Iterable[TopicPartition], found: _Found) -> GroupOffsets:
    committed = found.committed.get(request.group, {})
    wanted = {*request.partitions, *committed}
    if request.reads_changelogs:
        wanted.update(each for each in known if request.is_changelog(each.topic))
    reasons = (found.missing_ends[each] for each in sorted(wanted) if each in found.missing_ends)
    failures = [*dict.fromkeys((*found.failures.get(request.group, ()), *reasons))]
    more = [f"and {len(failures) - _MOST_FAILURES} more"] if len(failures) > _MOST_FAILURES else []
    return GroupOffsets(
        committed=committed,
        ends={each: found.ends[each] for each in wanted if each in found.ends},
        failures=(*failures[:_MOST_FAILURES], *more),
    )


def _batches(things: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(things)
    while batch := list(islice(rest, size)):
        yield batch


# -- committed offsets ------------------------------------------------------------------------------------------------


def _read_committed(
    requests: Sequence[OffsetRequest], connect: Connect, deadline: Deadline, found: _Found, report: Progress
) -> None:
    groups = defaultdict[str, list[str]](list)
    for each in requests:
        if each.coordinator:
            groups[each.coordinator].append(each.group)
        else:
            found.failures[each.group].append("the coordinator has not described the group")
    half = deadline.share(2)
    for number, (coordinator, names) in enumerate(groups.items()):
        report(f"committed offsets: coordinator {number + 1} of {len(groups)}, {count(len(names), 'group')}")
        try:
            with connect(coordinator, half.share(len(groups) - number)) as broker:
                for name, answer in _fetched(broker, names, half.share(len(groups) - number)):
                    _take_committed(name, answer, found)
        except ClusterError as error:
            for name in names:
                if name not in found.committed:
                    found.failures[name].append(f"committed offsets: {error}")


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
        yield from ((each.group_id, each) for each in answer.groups)


def _take_committed(group: str, answer: Any, found: _Found) -> None:
    if answer.error_code:
        found.failures[group].append(f"committed offsets: {for_code(answer.error_code).message}")
        return
    committed = found.committed[group]
    for topic in answer.topics:
        for each in topic.partitions:
            if each.error_code:
                found.failures[group].append(f"{topic.name}: {for_code(each.error_code).message}")
            elif each.committed_offset != _NO_COMMIT:
                committed[TopicPartition(topic.name, each.partition_index)] = each.committed_offset


# -- end offsets ------------------------------------------------------------------------------------------------------


def _leaders(
    requests: Sequence[OffsetRequest],
    wanted: set[TopicPartition],
    node: BrokerConnection,
    deadline: Deadline,
    found: _Found,
) -> tuple[dict[TopicPartition, int], dict[int, str]]:
    """Return the leader of each wanted partition, and of each changelog of groups that need them; and addresses."""
    with_changelogs = [each for each in requests if each.reads_changelogs]
    leaders, addresses = dict[TopicPartition, int](), dict[int, str]()
    topics = sorted({each.topic for each in wanted})
    batches: list[list[str] | None] = [None] if with_changelogs else [*_batches(topics, _TOPICS_PER_REQUEST)]
    for names in batches:
        asked = None if names is None else [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
        try:
            answer = node.send(MetadataRequest, deadline, topics=asked, allow_auto_topic_creation=False)
        except ClusterError as error:
            found.missing_ends.update((each, f"leaders of partitions: {error}") for each in wanted)
            break
        addresses |= {each.node_id: node_address(each) for each in answer.brokers}
        for topic in answer.topics:
            is_changelog = any(each.is_changelog(topic.name) for each in with_changelogs)
            for each in topic.partitions:
                partition = TopicPartition(topic.name, each.partition_index)
                if is_changelog or partition in wanted:
                    leaders[partition] = each.leader_id
    for each in wanted - leaders.keys():
        found.missing_ends.setdefault(each, f"no topic {each.topic} that the user may describe has its partition")
    return leaders, addresses


def _read_ends(
    leaders: Mapping[TopicPartition, int],
    addresses: Mapping[int, str],
    connect: Connect,
    deadline: Deadline,
    found: _Found,
    report: Progress,
) -> None:
    by_leader = defaultdict[int, list[TopicPartition]](list)
    for partition, leader in sorted(leaders.items()):
        by_leader[leader].append(partition)
    for number, (leader, partitions) in enumerate(by_leader.items()):
        if leader not in addresses:
            found.missing_ends.update((each, f"{each} has no leader") for each in partitions)
            continue
        report(f"end offsets: leader {number + 1} of {len(by_leader)}, {count(len(partitions), 'partition')}")
        try:
            share = deadline.share(len(by_leader) - number)
            with connect(addresses[leader], share) as broker:
                for batch in _batches(partitions, _PARTITIONS_PER_REQUEST):
                    _take_ends(broker.send(ListOffsetsRequest, share, **_latest_of(batch)), found)
        except ClusterError as error:
            found.missing_ends.update((each, f"end offsets: {error}") for each in partitions if each not in found.ends)


def _latest_of(partitions: Sequence[TopicPartition]) -> dict[str, Any]:
    topics = defaultdict[str, list[Any]](list)
    for topic, number in partitions:
        topics[topic].append(
            ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition(partition_index=number, timestamp=_LATEST)
        )
    return {
        "replica_id": -1,
        "isolation_level": 0,
        "min_version": 1,
        "topics": [ListOffsetsRequest.ListOffsetsTopic(name=name, partitions=each) for name, each in topics.items()],
    }


def _take_ends(answer: Any, found: _Found) -> None:
    for topic in answer.topics:
        for each in topic.partitions:
            partition = TopicPartition(topic.name, each.partition_index)
            if each.error_code:
                found.missing_ends[partition] = f"end offset of {topic.name}: {for_code(each.error_code).message}"
            else:
                found.ends[partition] = each.offset
