"""Subtopologies of an application, the topics that they read and write, and the tasks that result.

``protocol.internal_topics`` handles topics that are missing or do not fit.
Java: ``InternalTopologyBuilder.TopicsInfo``, ``DefaultPartitionGrouper`` / ``PartitionGrouper``, ``RepartitionTopics``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import zip_longest
from typing import Final

from attrs import field, frozen

from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.codec.columns import partitions_of, task_of
from streams_assignor.errors import UsageError

InputPartitionsByTask = Mapping[TaskId, tuple[TopicPartition, ...]]
"""Each task with the partitions it reads, sorted."""


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
"""The defaults of ``UnwindowedUnversionedChangelogTopicConfig``. Windowed and versioned stores need more: give it as
``topic_configs``, like the application's own ``topic.`` settings."""

_USAGE: Final = "use Topology.of(Subtopology(sources=[...]), ...)"


# The converters have the types that a type checker accepts, the checks behind them take whatever arrives.
def _sorted_names(topics: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(_checked_names(topics))))


def _nonempty_groups(groups: Iterable[Iterable[str]]) -> tuple[frozenset[str], ...]:
    return tuple(group for group in map(frozenset, map(_sorted_names, groups)) if group)


def _counts(counts: Mapping[str, int] | None) -> Mapping[str, int]:
    return _checked_counts(counts or {})


def _configs(configs: Mapping[str, Mapping[str, str]] | None) -> Mapping[str, Mapping[str, str]]:
    return _checked_configs(configs or {})


def _as_tuple(subtopologies: Iterable[Subtopology]) -> tuple[Subtopology, ...]:
    return tuple(_checked_subtopologies(subtopologies))


def _checked_names(topics: object) -> list[str]:
    if isinstance(topics, str):
        raise UsageError(f"expected a list of topic names, got the text {topics!r}: use [{topics!r}]")
    if not isinstance(topics, Iterable):
        raise UsageError(f"expected a list of topic names, got a {type(topics).__name__}")
    names = list(topics)
    for name in names:
        if not isinstance(name, str) or not name:
            raise UsageError(f"expected a list of topic names, got {name!r} as one of them")
    return names


def _checked_counts(counts: object) -> dict[str, int]:
    if not isinstance(counts, Mapping):
        raise UsageError(f"expected a dictionary of topic names and partition counts, got a {type(counts).__name__}")
    for topic, count in counts.items():
        if not isinstance(count, int) or count < 1:
            raise UsageError(f"expected at least 1 partition for topic {topic!r}, got {count!r}")
    return dict(counts)


def _checked_configs(configs: object) -> dict[str, dict[str, str]]:
    if not isinstance(configs, Mapping):
        raise UsageError(f"expected a dictionary of topic names and configurations, got a {type(configs).__name__}")
    for topic, config in configs.items():
        if not isinstance(config, Mapping) or not all(
            isinstance(text, str) for pair in config.items() for text in pair
        ):
            raise UsageError(f"expected a dictionary of texts as the configuration of topic {topic!r}, got {config!r}")
    return {topic: dict(config) for topic, config in configs.items()}


def _checked_subtopologies(subtopologies: object) -> list[Subtopology]:
    if isinstance(subtopologies, str) or not isinstance(subtopologies, Iterable):
        raise UsageError(f"expected several subtopologies, got a {type(subtopologies).__name__}: {_USAGE}")
    checked = list(subtopologies)
    for subtopology in checked:
        if not isinstance(subtopology, Subtopology):
            raise UsageError(f"expected subtopologies, got a {type(subtopology).__name__} as one of them: {_USAGE}")
    if not checked:
        raise UsageError(f"expected at least one subtopology, got none: {_USAGE}")
    return checked


@frozen(kw_only=True)
class Subtopology:
    """One connected part of an application; it has one task per partition of its sources.

    All topics are full names, sorted.
    """

    sources: tuple[str, ...] = field(default=(), converter=_sorted_names)
    """The external topics that it reads."""
    repartition_sources: tuple[str, ...] = field(default=(), converter=_sorted_names)
    """The internal topics that it reads; another subtopology has them in ``repartition_sinks``."""
    repartition_sinks: tuple[str, ...] = field(default=(), converter=_sorted_names)
    """The internal topics that it writes for other subtopologies."""
    changelogs: tuple[str, ...] = field(default=(), converter=_sorted_names)
    """The topics of its state stores. May include a source: of a table with ``topology.optimization``."""

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """All topics that its tasks read."""
        return tuple(sorted({*self.sources, *self.repartition_sources}))

    @property
    def non_source_changelogs(self) -> tuple[str, ...]:
        """The changelogs that are topics of their own. Java: ``TopicsInfo.nonSourceChangelogTopics``."""
        return tuple(topic for topic in self.changelogs if topic not in self.inputs)

    @property
    def stateful(self) -> bool:
        """Whether its tasks have state, and so may have standbys."""
        return bool(self.changelogs)


@frozen
class Topology:
    """The subtopologies of an application; their numbers are the first half of a task id.

    >>> Topology.of(Subtopology(sources=["orders"])).source_topics
    ('orders',)
    """

    subtopologies: tuple[Subtopology, ...] = field(converter=_as_tuple)
    repartition_counts: Mapping[str, int] = field(default=None, converter=_counts, hash=False, kw_only=True)
    """The numbers of partitions that the application has chosen (``Repartitioned.numberOfPartitions``, 2.6)."""
    copartition_groups: tuple[frozenset[str], ...] = field(default=(), converter=_nonempty_groups, kw_only=True)
    """Groups of topics that need equal numbers of partitions."""
    topic_configs: Mapping[str, Mapping[str, str]] = field(default=None, converter=_configs, hash=False, kw_only=True)
    """The configurations of internal topics, where they differ from ``REPARTITION_CONFIG`` and ``CHANGELOG_CONFIG``."""

    def __attrs_post_init__(self) -> None:
        """Raise ``UsageError`` for subtopologies that do not fit together, and for settings that do not fit them."""
        readers = self._check_sources()
        self._check_sinks()
        for topic in self.repartition_counts:
            if topic not in self.repartition_topics:
                raise UsageError(f"topic {topic!r} is no repartition topic, its count cannot be set")
        for topic in self.topic_configs:
            if topic not in self.internal_topics:
                raise UsageError(f"topic {topic!r} is no internal topic, its configuration cannot be set")
        for group in self.copartition_groups:
            for topic in sorted(group - readers.keys()):
                raise UsageError(f"topic {topic!r} is to be co-partitioned, but no subtopology reads it")

    def _check_sources(self) -> Mapping[str, int]:
        """Return the subtopology that reads each topic; ``UsageError`` if there are two, or if one reads nothing."""
        readers: dict[str, int] = {}
        for number, subtopology in enumerate(self.subtopologies):
            for topic in subtopology.inputs:
                if readers.setdefault(topic, number) != number:
                    raise UsageError(
                        f"topic {topic!r} is read by subtopologies {readers[topic]} and {number}: "
                        "make one subtopology of both"
                    )
            if not subtopology.inputs:
                raise UsageError(f"subtopology {number} reads no topic: set its sources or repartition_sources")
        return readers

    def _check_sinks(self) -> None:
        """Raise ``UsageError`` for a repartition topic that no subtopology writes: no leader could count it."""
        for number, subtopology in enumerate(self.subtopologies):
            for topic in subtopology.repartition_sources:
                if topic not in self._writers:
                    raise UsageError(
                        f"subtopology {number} reads repartition topic {topic!r}, which no subtopology writes: add it "
                        "to the repartition_sinks of its writer, or move it to sources if another application writes it"
                    )

    @classmethod
    def of(
        cls,
        *subtopologies: Subtopology,
        repartition_counts: Mapping[str, int] | None = None,
        copartition_groups: Iterable[Iterable[str]] = (),
        topic_configs: Mapping[str, Mapping[str, str]] | None = None,
    ) -> Topology:
        """Build a topology from subtopologies, numbered in this order."""
        return cls(
            subtopologies,
            repartition_counts=repartition_counts,
            copartition_groups=copartition_groups,
            topic_configs=topic_configs,
        )

    @cached_property
    def source_topics(self) -> tuple[str, ...]:
        """All topics that a consumer of this application subscribes to."""
        return tuple(sorted(topic for subtopology in self.subtopologies for topic in subtopology.inputs))

    @cached_property
    def repartition_topics(self) -> tuple[str, ...]:
        """The internal topics between subtopologies."""
        return tuple(sorted({topic for subtopology in self.subtopologies for topic in subtopology.repartition_sources}))

    @cached_property
    def external_topics(self) -> tuple[str, ...]:
        """The source topics that have to exist: the leader does not create them."""
        return tuple(topic for topic in self.source_topics if topic not in self.repartition_topics)

    @cached_property
    def internal_topics(self) -> tuple[str, ...]:
        """The topics that a leader creates. Their numbers of partitions are part of the input of an assignment."""
        changelogs = {topic for subtopology in self.subtopologies for topic in subtopology.non_source_changelogs}
        return tuple(sorted(changelogs.union(self.repartition_topics)))

    def tasks(self, partitions: Mapping[str, int]) -> InputPartitionsByTask:
        """Return the tasks, given the number of partitions of each topic.

        A subtopology has as many tasks as its largest source has partitions; a smaller source has no partition in the
        last tasks. A subtopology with a missing source has no tasks (0.10.2 to 2.0 skip it, too). Co-partitioning is
        ignored here: pass ``InternalTopicPlan.partitions`` if it matters.

        >>> tasks = Topology.of(Subtopology(sources=["a", "b"])).tasks({"a": 2, "b": 1})
        >>> {str(task): list(map(str, inputs)) for task, inputs in tasks.items()}
        {'0_0': ['a-0', 'b-0'], '0_1': ['a-1']}
        """
        counts = self.with_repartition_topics(partitions)
        tasks: dict[TaskId, tuple[TopicPartition, ...]] = {}
        for number, size in self._task_counts(counts).items():
            topics = self.subtopologies[number].inputs
            inputs = zip_longest(*(partitions_of(topic, range(counts[topic])) for topic in topics))
            ids = map(task_of, range(number << 32, (number << 32) + size))  # the objects that subscriptions decode to
            tasks.update(zip(ids, (tuple(filter(None, row)) for row in inputs), strict=True))
        return tasks

    def topic_config(self, topic: str, defaults: Mapping[str, str]) -> Mapping[str, str]:
        """Return the configuration of an internal topic."""
        return {**defaults, **self.topic_configs[topic]} if topic in self.topic_configs else defaults

    def is_stateful(self, task: TaskId) -> bool:
        """Whether a task has state."""
        return self.subtopologies[task.subtopology].stateful

    def with_repartition_topics(self, partitions: Mapping[str, int]) -> dict[str, int]:
        """Add the repartition topics: each has as many partitions as the largest source of its writers.

        A repartition topic with a missing source is left out. Existing counts come first, then ``repartition_counts``.

        >>> chain = [Subtopology(sources=["in"], repartition_sinks=["a"]), Subtopology(repartition_sources=["a"])]
        >>> Topology.of(*chain).with_repartition_topics({"in": 4})
        {'in': 4, 'a': 4}
        """
        fixed = {**self.repartition_counts, **partitions}
        writers = {topic: subtopologies for topic, subtopologies in self._writers.items() if topic not in fixed}
        counts = _propagate_counts(fixed, writers)
        while unsure := [topic for topic in writers if topic in counts and not _has_all_inputs(writers[topic], counts)]:
            for topic in unsure:
                del counts[topic]
        return counts

    def changelog_partitions(self, partitions: Mapping[str, int]) -> dict[str, int]:
        """Return the number of partitions of each changelog topic: one for each task of its subtopology.

        Sources that serve as changelogs are left out.
        """
        counts: dict[str, int] = {}
        for number, size in self._task_counts(self.with_repartition_topics(partitions)).items():
            for topic in self.subtopologies[number].non_source_changelogs:
                counts[topic] = max(counts.get(topic, 0), size)
        return counts

    def _task_counts(self, counts: Mapping[str, int]) -> dict[int, int]:
        """Return the number of tasks of each subtopology that has all its sources."""
        return {
            number: max(counts[topic] for topic in subtopology.inputs)
            for number, subtopology in enumerate(self.subtopologies)
            if _has_all_inputs([subtopology], counts)
        }

    @cached_property
    def _writers(self) -> dict[str, list[Subtopology]]:
        """Return the writers of each repartition topic; other sinks do not matter."""
        writers: dict[str, list[Subtopology]] = {}
        for subtopology in self.subtopologies:
            for topic in subtopology.repartition_sinks:
                if topic in self.repartition_topics:
                    writers.setdefault(topic, []).append(subtopology)
        return writers


def _has_all_inputs(readers: Iterable[Subtopology], counts: Mapping[str, int]) -> bool:
    return all(topic in counts for reader in readers for topic in reader.inputs)


def _propagate_counts(fixed: Mapping[str, int], writers: Mapping[str, list[Subtopology]]) -> dict[str, int]:
    """Raise the counts of repartition topics until each is as large as the sources of its writers.

    Two topics may depend on each other: each half of a foreign-key join writes what the other one reads. So this cannot
    wait until all sources are known. Kafka takes the first count that it meets in the order of a hash set; this result
    does not depend on any order.
    """
    counts = dict(fixed)
    while True:
        propagated = {
            topic: max(counts[source] for writer in them for source in writer.inputs if source in counts)
            for topic, them in writers.items()
            if any(source in counts for writer in them for source in writer.inputs)
        }
        if propagated.items() <= counts.items():
            return counts
        counts |= propagated
