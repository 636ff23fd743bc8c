"""Plans the internal topics before a leader assigns tasks: which topics are missing, and how many partitions they need.

``plan_internal_topics`` is pure; ``create_internal_topics`` passes the plan to an admin client. Differences between
releases are in ``upgrade.release_behaviour``. Three of them are defects, and are not reproduced:

- Up to 2.6.1 and in 2.7.0, a leader that cannot count the repartition topics loops for ever (KAFKA-10689).
- 3.9.2 and 4.3.1 check co-partition groups only if there is any repartition topic ("Skipping here is actually not
  correct": pull request 19189, for the same lines in the broker). 2.0.1 and 2.8.2 always check, as this module does.
- 2.0.1 counts a repartition topic from the existing sources of its writer. This module waits for all of them.

Java: ``RepartitionTopics``, ``CopartitionedTopicsEnforcer``, ``ChangelogTopics``, ``InternalTopicManager``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from attrs import Factory, frozen

from streams_assignor.codec import TaskId
from streams_assignor.errors import FatalError
from streams_assignor.probing.model import AssignorError
from streams_assignor.task_assignors.application_state import TaskInfo, task_infos
from streams_assignor.topology import CHANGELOG_CONFIG, REPARTITION_CONFIG, InputPartitionsByTask, Topology
from streams_assignor.upgrade.release_behaviour import CURRENT, ReleaseBehaviour


@frozen
class NewTopic:
    """A topic to create. The admin client chooses the number of replicas."""

    name: str
    partitions: int
    config: Mapping[str, str]


@frozen(kw_only=True)
class InternalTopicPlan:
    """The topics and tasks of an application."""

    missing_sources: tuple[str, ...] = ()
    error_code: int = 0
    """The error code for all members; if it is not 0, all fields below are empty."""
    partitions: Mapping[str, int] = Factory(dict)
    """The number of partitions of each topic that tasks read, repartition topics included."""
    changelogs: Mapping[str, int] = Factory(dict)
    """The number of partitions of each changelog topic that is not a source."""
    tasks: InputPartitionsByTask = Factory(dict)
    task_infos: Mapping[TaskId, TaskInfo] = Factory(dict)
    """The same tasks, as task assignors get them."""
    new_topics: tuple[NewTopic, ...] = ()
    """The internal topics that do not exist yet."""


class TopicAdmin(Protocol):
    """Creates topics and waits until they exist. An existing topic is no error: another leader was faster."""

    def create(self, topics: Sequence[NewTopic]) -> None: ...


def create_internal_topics(plan: InternalTopicPlan, admin: TopicAdmin) -> None:
    """Create all missing internal topics in one call."""
    if plan.new_topics:
        admin.create(plan.new_topics)


def missing_sources(topology: Topology, partitions: Mapping[str, int]) -> tuple[str, ...]:
    """Return the external topics that the application reads but that do not exist."""
    return tuple(topic for topic in topology.external_topics if topic not in partitions)


def plan_internal_topics(
    topology: Topology,
    partitions: Mapping[str, int],
    behaviour: ReleaseBehaviour = CURRENT,
    *,
    topics_complete: bool = True,
) -> InternalTopicPlan:
    """Plan all topics of an application, given the partitions of those that exist, internal ones included.

    Existing internal topics decide nothing, but have to fit; ``FatalError`` if they do not. If not ``topics_complete``,
    a topic may exist although it is not in ``partitions``: then no topic is reported as missing.

    >>> from streams_assignor.topology import Subtopology
    >>> counting = Topology.of(Subtopology(sources=["orders"], changelogs=["app-counts-changelog"]))
    >>> [(topic.name, topic.partitions) for topic in plan_internal_topics(counting, {"orders": 3}).new_topics]
    [('app-counts-changelog', 3)]
    """
    missing = missing_sources(topology, partitions)
    if missing and topics_complete and behaviour.encodes_missing_topics:
        return InternalTopicPlan(missing_sources=missing, error_code=AssignorError.INCOMPLETE_SOURCE_TOPIC_METADATA)
    external = {topic: partitions[topic] for topic in topology.external_topics if topic in partitions}
    repartition = _enforce_copartitioning(
        topology, external, _count_repartition_partitions(topology, external, missing), behaviour.copartition_exception
    )
    counts = external | repartition
    changelogs = topology.changelog_partitions(counts)
    _validate_existing(repartition | changelogs, partitions)
    tasks = topology.tasks(counts)
    return InternalTopicPlan(
        missing_sources=missing,
        partitions=counts,
        changelogs=changelogs,
        tasks=tasks,
        task_infos=task_infos(topology, tasks),
        new_topics=(
            *_new_topics(topology, repartition, partitions, REPARTITION_CONFIG),
            *_new_topics(topology, changelogs, partitions, CHANGELOG_CONFIG),
        ),
    )


def _count_repartition_partitions(
    topology: Topology, external: Mapping[str, int], missing: Sequence[str]
) -> dict[str, int]:
    """Return the partitions of repartition topics, without those that depend on a missing topic.

    Java: ``RepartitionTopics.setRepartitionSourceTopicPartitionCount``.
    """
    if_complete = topology.with_repartition_topics({**external, **dict.fromkeys(missing, 1)})
    endless = [topic for topic in topology.repartition_topics if topic not in if_complete]
    if endless:
        raise FatalError(f"cannot count the partitions of {', '.join(endless)}: no topic that exists leads there")
    counts = topology.with_repartition_topics(external)
    return {topic: counts[topic] for topic in topology.repartition_topics if topic in counts}


def _enforce_copartitioning(
    topology: Topology, external: Mapping[str, int], counted: Mapping[str, int], java_exception: str
) -> dict[str, int]:
    """Give the topics of each co-partition group the same number of partitions.

    External topics and explicit counts decide, and have to agree; without them, the largest topic decides. As in Kafka,
    groups are handled in order, and counts derived from earlier ones are not updated.
    Java: ``CopartitionedTopicsEnforcer.enforce``.
    """
    counts = dict(counted)
    for group in topology.copartition_groups:
        inner = sorted(group.intersection(topology.repartition_topics))
        outer = sorted(group.difference(inner))
        absent = [topic for topic in outer if topic not in external]
        if absent:
            raise FatalError(f"co-partitioned topics do not exist: {', '.join(absent)}", java_exception)
        if counts.keys() >= set(inner):
            explicit = {topic: counts[topic] for topic in inner if topic in topology.repartition_counts}
            decided = {**{topic: external[topic] for topic in outer}, **explicit}
            if len(set(decided.values())) > 1:
                differing = ", ".join(f"{topic} has {count}" for topic, count in sorted(decided.items()))
                raise FatalError(f"co-partitioned topics differ in partitions: {differing}", java_exception)
            size = max((decided or {topic: counts[topic] for topic in inner}).values())
            counts.update(dict.fromkeys(inner, size))
        else:  # only before 2.1: one topic depends on a missing one, so the whole group waits
            counts = {topic: count for topic, count in counts.items() if topic not in group}
    return counts


def _validate_existing(expected: Mapping[str, int], partitions: Mapping[str, int]) -> None:
    """Raise ``FatalError`` for existing topics of another size. Java: ``InternalTopicManager.validateTopics``."""
    wrong = [
        f"{topic} (expected {count}, actual {partitions[topic]})"
        for topic, count in sorted(expected.items())
        if partitions.get(topic, count) != count
    ]
    if wrong:
        raise FatalError(
            f"existing internal topics have invalid partitions: {', '.join(wrong)}; "
            "clean up with the application reset tool (kafka-streams-application-reset) first",
            "StreamsException",
        )


def _new_topics(
    topology: Topology, expected: Mapping[str, int], partitions: Mapping[str, int], defaults: Mapping[str, str]
) -> list[NewTopic]:
    return [
        NewTopic(topic, count, topology.topic_config(topic, defaults))
        for topic, count in sorted(expected.items())
        if topic not in partitions
    ]
