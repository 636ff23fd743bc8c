"""The topics of a streams group: which are missing or have the wrong number of partitions, and its tasks.

The broker refuses to assign tasks while the topics do not fit the topology, and states the reason to members only. A
description shows the topology without its copartition groups, so the reason is found again from the topics. The
rules are in the order of the broker. Java: ``InternalTopicManager.configureTopics``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from streams_assignor.codec import TaskId
from streams_assignor.groups.broker_assigned import DescribedSubtopology, DescribedTopology
from streams_assignor.groups.described_group import NOT_READY, DescribedGroup
from streams_assignor.upgrade.input_values import InvalidInput, parse_number


class WrongCount(NamedTuple):
    """A topic with another number of partitions than the topology needs."""

    topic: str
    partitions: int
    expected: int


def missing_source_topics(group: DescribedGroup) -> list[str]:
    """List the source topics that do not exist."""
    sources = {topic for subtopology in _subtopologies(group) for topic in subtopology.source_topics}
    return sorted(sources & group.missing_topics)


def missing_internal_topics(group: DescribedGroup) -> list[str]:
    """List the changelog and repartition topics that do not exist; the broker creates them once all sources exist."""
    return [] if missing_source_topics(group) else sorted(group.missing_topics & _topics(group))


def wrong_internal_topics(group: DescribedGroup) -> list[WrongCount]:
    """List the internal topics that exist with another number of partitions than needed, as far as that is known."""
    counts = group.partition_counts
    wrong_counts = set[WrongCount]()
    for subtopology in _subtopologies(group):
        tasks = task_count(subtopology, counts)
        # A repartition topic without a number gets that of its upstream topics, which copartitioning may raise.
        expected = {topic.name: topic.partitions for topic in subtopology.repartition_sources}
        expected |= {
            topic.name: topic.partitions or tasks or 0
            for topic in subtopology.changelogs
            if topic.name not in subtopology.source_topics  # a source topic that serves as changelog has its own number
        }
        wrong_counts.update(
            WrongCount(name, counts[name], number)
            for name, number in expected.items()
            if number and counts.get(name, number) != number
        )
    return sorted(wrong_counts)


def unequal_source_topics(group: DescribedGroup) -> list[Mapping[str, int]]:
    """List, for each subtopology whose source topics differ in their number of partitions, that number by topic.

    A topology may need equal ones (copartitioning) or not; a description does not show it. So differences count only
    if the group is not ready and no other reason is found.
    """
    other_reasons = missing_source_topics(group) or missing_internal_topics(group) or wrong_internal_topics(group)
    if group.state != NOT_READY or other_reasons:
        return []
    counts = [
        {
            topic: group.partition_counts[topic]
            for topic in sorted(subtopology.input_topics)
            if topic in group.partition_counts
        }
        for subtopology in _subtopologies(group)
    ]
    return [by_topic for by_topic in counts if len({*by_topic.values()}) > 1]


def task_count(subtopology: DescribedSubtopology, counts: Mapping[str, int]) -> int | None:
    """Return the number of tasks of a subtopology: the most partitions of a topic it reads; None if one is unknown."""
    partition_counts = [counts.get(topic) for topic in subtopology.input_topics]
    numbers = [number for number in partition_counts if number is not None]
    return max(numbers) if numbers and len(numbers) == len(partition_counts) else None


def expected_tasks(group: DescribedGroup, *, stateful: bool = False) -> set[TaskId]:
    """Return the tasks of a streams group, or those with state, as far as the number of partitions is known."""
    return set(_tasks(group, stateful))


def task_id(subtopology: str, partition: int) -> TaskId:
    """Return a task. Kafka Streams numbers its subtopologies, though the protocol has strings.

    >>> str(task_id("1", 3)), str(task_id("left", 3))
    ('1_3', 'left__0_3')
    """
    try:
        return TaskId(parse_number(subtopology), partition)
    except InvalidInput:
        return TaskId(0, partition, subtopology)


def _tasks(group: DescribedGroup, stateful: bool) -> Iterator[TaskId]:
    for subtopology in _subtopologies(group):
        if subtopology.changelogs or not stateful:
            yield from (
                task_id(subtopology.name, number)
                for number in range(task_count(subtopology, group.partition_counts) or 0)
            )


def _subtopologies(group: DescribedGroup) -> tuple[DescribedSubtopology, ...]:
    topology = _topology(group)
    return topology.subtopologies if topology else ()


def _topics(group: DescribedGroup) -> frozenset[str]:
    topology = _topology(group)
    return topology.topics if topology else frozenset()


def _topology(group: DescribedGroup) -> DescribedTopology | None:
    return group.broker.topology if group.broker else None
