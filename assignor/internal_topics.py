"""What a leader does about topics before it assigns tasks: see which are missing, count the internal ones, create them.

``prepare`` decides and touches nothing; ``create_missing`` hands the result to an admin client that somebody else owns.
What differs between releases is in ``RULES``. Three things are not there, because nobody would want them back:

- Up to 2.6.1 and in 2.7.0 a leader that cannot count the repartition topics goes round for ever (KAFKA-10689).
- 3.9.2 and 4.3.1 look at co-partition groups only if there is a repartition topic at all ("Skipping here is actually
  not correct", says pull request 19189 of the same lines in the broker); 2.0.1 and 2.8.2 always look, as this does.
- 2.0.1 counts a repartition topic from those sources of its writer that exist. This waits until all of them do.

Java: ``RepartitionTopics``, ``CopartitionedTopicsEnforcer``, ``ChangelogTopics``, ``InternalTopicManager``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, Protocol

from attrs import Factory, frozen

from assignor.errors import FatalError
from assignor.topology import Tasks, Topology
from probing.events import AssignorError

REPARTITION_CONFIG: Final[Mapping[str, str]] = {
    "message.timestamp.type": "CreateTime",
    "cleanup.policy": "delete",
    "segment.bytes": "52428800",
    "retention.ms": "-1",
}
"""The defaults of ``RepartitionTopicConfig`` in 2.8.2, 3.9.2 and 4.3.1.

2.0.1 has no timestamp type, keeps records for 2^63-1 ms and also sets ``segment.index.bytes`` and ``segment.ms``.
"""

CHANGELOG_CONFIG: Final[Mapping[str, str]] = {"message.timestamp.type": "CreateTime", "cleanup.policy": "compact"}
"""The defaults of ``UnwindowedUnversionedChangelogTopicConfig``. Windowed and versioned stores need more, and a
topology does not say which stores it has: that, like the application's own ``topic.`` settings, is up to the admin."""


@frozen(kw_only=True)
class TopicRules:
    """How leaders of some releases react; ``since`` is the first ``LATEST_SUPPORTED_VERSION`` of them.

    ``answers_missing``: a missing source topic is answered with an error code, before anything else is looked at. If
    not, the subtopologies that need it are left out. ``copartition_error`` is what Kafka throws.
    """

    since: int
    releases: str
    answers_missing: bool
    copartition_error: str


RULES: Final = (
    TopicRules(
        since=1,
        releases="0.10.2 to 1.1 (0.10.0 dies of a missing topic)",
        answers_missing=False,
        copartition_error="TopologyBuilderException",
    ),
    TopicRules(since=3, releases="2.0", answers_missing=False, copartition_error="TopologyException"),
    TopicRules(since=4, releases="2.1 and later", answers_missing=True, copartition_error="TopologyException"),
)
TODAY: Final = RULES[-1]


def rules_for(latest_version: int) -> TopicRules:
    """Find the rules of a leader by the latest version it supports; the error code came with version 4.

    >>> rules_for(3).releases
    '2.0'
    """
    return next(rules for rules in reversed(RULES) if rules.since <= latest_version)


@frozen
class NewTopic:
    """A topic to create. The number of replicas is the admin's choice."""

    name: str
    partitions: int
    config: Mapping[str, str]


@frozen(kw_only=True)
class Prepared:
    """What a leader has to know of topics: with an ``error_code`` it answers that, and nothing else is filled in.

    ``partitions`` has the topics that tasks read, repartition topics included, ``changelogs`` those that are topics of
    their own. ``to_create`` are the internal topics that do not exist.
    """

    missing: tuple[str, ...] = ()
    error_code: int = 0
    partitions: Mapping[str, int] = Factory(dict)
    changelogs: Mapping[str, int] = Factory(dict)
    tasks: Tasks = Factory(dict)
    to_create: tuple[NewTopic, ...] = ()


class TopicAdmin(Protocol):
    """Creates topics, and waits until they are there. One that exists by now is no error: another leader was faster."""

    def create(self, topics: Sequence[NewTopic]) -> None: ...


def create_missing(prepared: Prepared, admin: TopicAdmin) -> None:
    """Have the missing internal topics created, all at once."""
    if prepared.to_create:
        admin.create(prepared.to_create)


def missing_sources(topology: Topology, partitions: Mapping[str, int]) -> tuple[str, ...]:
    """List the topics that do not exist although the application reads them and does not write them."""
    return tuple(topic for topic in topology.external_topics if topic not in partitions)


def prepare(topology: Topology, partitions: Mapping[str, int], rules: TopicRules = TODAY) -> Prepared:
    """Work out all topics of an application; ``partitions`` are those that exist, internal ones as well.

    Internal topics that exist do not decide anything, they only have to fit.

    >>> from assignor.topology import Subtopology
    >>> counting = Subtopology(sources=["orders"], changelogs=["app-counts-changelog"])
    >>> [(topic.name, topic.partitions) for topic in prepare(Topology.of(counting), {"orders": 3}).to_create]
    [('app-counts-changelog', 3)]
    """
    return _prepared(topology, frozenset(partitions.items()), rules)


@lru_cache(maxsize=4)  # it is the same in nearly all rebalances
def _prepared(topology: Topology, existing: frozenset[tuple[str, int]], rules: TopicRules) -> Prepared:
    partitions = dict(existing)
    missing = missing_sources(topology, partitions)
    if missing and rules.answers_missing:
        return Prepared(missing=missing, error_code=AssignorError.INCOMPLETE_SOURCE_TOPIC_METADATA)
    external = {topic: partitions[topic] for topic in topology.external_topics if topic in partitions}
    repartition = _copartitioned(topology, external, _counted(topology, external, missing), rules)
    known = external | repartition
    changelogs = topology.changelog_partitions(known)
    _check_existing(repartition | changelogs, partitions)
    return Prepared(
        missing=missing,
        partitions=known,
        changelogs=changelogs,
        tasks=topology.tasks(known),
        to_create=(
            *_new(repartition, partitions, REPARTITION_CONFIG),
            *_new(changelogs, partitions, CHANGELOG_CONFIG),
        ),
    )


def _counted(topology: Topology, external: Mapping[str, int], missing: Sequence[str]) -> dict[str, int]:
    """Count the repartition topics, those left out that wait for a missing topic.

    Java: ``RepartitionTopics.setRepartitionSourceTopicPartitionCount``.
    """
    if_complete = topology.with_internal_topics({**external, **dict.fromkeys(missing, 1)})
    endless = [topic for topic in topology.repartition_topics if topic not in if_complete]
    if endless:
        raise FatalError(f"cannot count the partitions of {', '.join(endless)}: no topic that exists leads there")
    counts = topology.with_internal_topics(external)
    return {topic: counts[topic] for topic in topology.repartition_topics if topic in counts}


def _copartitioned(
    topology: Topology, external: Mapping[str, int], counted: Mapping[str, int], rules: TopicRules
) -> dict[str, int]:
    """Make the groups even. External topics and explicit counts decide, and have to agree; without any, the largest.

    As in Kafka, group by group in the order given, and what was counted from the counts before stays as it is.
    Java: ``CopartitionedTopicsEnforcer.enforce``.
    """
    counts = dict(counted)
    for group in topology.copartition_groups:
        inner = sorted(group.intersection(topology.repartition_topics))
        outer = sorted(group.difference(inner))
        absent = [topic for topic in outer if topic not in external]
        if absent:
            raise FatalError(f"co-partitioned topics do not exist: {', '.join(absent)}", rules.copartition_error)
        if counts.keys() >= set(inner):
            explicit = {topic: counts[topic] for topic in inner if topic in topology.repartition_counts}
            decided = {**{topic: external[topic] for topic in outer}, **explicit}
            if len(set(decided.values())) > 1:
                found = ", ".join(f"{topic} has {count}" for topic, count in sorted(decided.items()))
                raise FatalError(f"co-partitioned topics differ in partitions: {found}", rules.copartition_error)
            size = max((decided or {topic: counts[topic] for topic in inner}).values())
            counts.update(dict.fromkeys(inner, size))
        else:  # only before 2.1: one of them waits for a missing topic, so all do
            counts = {topic: count for topic, count in counts.items() if topic not in group}
    return counts


def _check_existing(expected: Mapping[str, int], partitions: Mapping[str, int]) -> None:
    """Refuse to go on with internal topics of another size. Java: ``InternalTopicManager.validateTopics``."""
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


def _new(wanted: Mapping[str, int], partitions: Mapping[str, int], config: Mapping[str, str]) -> list[NewTopic]:
    return [NewTopic(topic, count, config) for topic, count in sorted(wanted.items()) if topic not in partitions]
