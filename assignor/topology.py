"""What an application consists of: subtopologies, the topics they read and write, and the tasks that follow.

What a leader does about topics that are missing or do not fit is in ``internal_topics``.
Java: ``InternalTopologyBuilder.TopicsInfo``, ``DefaultPartitionGrouper`` / ``PartitionGrouper``, ``RepartitionTopics``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from attrs import field, frozen

from subscription_codec import TaskId, TopicPartition

Tasks = Mapping[TaskId, tuple[TopicPartition, ...]]
"""Each task with the partitions it reads, sorted."""


def _sorted(topics: object) -> tuple[str, ...]:
    if isinstance(topics, str):
        raise TypeError(f"needs several topic names, got the text {topics!r}")
    return tuple(sorted(set(topics)))  # type: ignore[call-overload]  # anything else that is no iterable raises


def _groups(groups: Iterable[Iterable[str]]) -> tuple[frozenset[str], ...]:
    return tuple(group for group in map(frozenset, map(_sorted, groups)) if group)


def _counts(counts: Mapping[str, int] | None) -> Mapping[str, int]:
    return dict(counts or {})


@frozen(kw_only=True)
class Subtopology:
    """One connected part of an application; one task is made per partition of its sources.

    ``sources`` are external topics, ``repartition_sources`` internal topics that another subtopology writes (it lists
    them in ``repartition_sinks``), ``changelogs`` are the topics of its state stores. All of them sorted, all of them
    full names. A changelog may be a source as well: that of a table with ``topology.optimization`` is.
    """

    sources: tuple[str, ...] = field(default=(), converter=_sorted)
    repartition_sources: tuple[str, ...] = field(default=(), converter=_sorted)
    repartition_sinks: tuple[str, ...] = field(default=(), converter=_sorted)
    changelogs: tuple[str, ...] = field(default=(), converter=_sorted)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """All topics whose partitions become input of a task."""
        return tuple(sorted({*self.sources, *self.repartition_sources}))

    @property
    def own_changelogs(self) -> tuple[str, ...]:
        """The changelogs that are topics of their own. Java: ``TopicsInfo.nonSourceChangelogTopics``."""
        return tuple(topic for topic in self.changelogs if topic not in self.inputs)

    @property
    def stateful(self) -> bool:
        """Whether its tasks have state, and so can have standbys."""
        return bool(self.changelogs)


@frozen
class Topology:
    """The subtopologies of an application; their numbers are the first half of a task id.

    ``repartition_counts`` are the numbers of partitions that the application itself chose for repartition topics
    (``Repartitioned.numberOfPartitions``, 2.6), ``copartition_groups`` the topics that have to have equally many.

    >>> Topology.of(Subtopology(sources=["orders"])).source_topics
    ('orders',)
    """

    subtopologies: tuple[Subtopology, ...]
    repartition_counts: Mapping[str, int] = field(default=None, converter=_counts, hash=False, kw_only=True)
    copartition_groups: tuple[frozenset[str], ...] = field(default=(), converter=_groups, kw_only=True)

    def __attrs_post_init__(self) -> None:
        """Refuse what cannot be, first of all a topic that two subtopologies read: who would own its partitions?"""
        seen: dict[str, int] = {}
        for number, subtopology in enumerate(self.subtopologies):
            for topic in subtopology.inputs:
                if seen.setdefault(topic, number) != number:
                    raise ValueError(f"topic {topic!r} is read by subtopologies {seen[topic]} and {number}")
            if not subtopology.inputs:
                raise ValueError(f"subtopology {number} reads no topic")
        for topic, count in self.repartition_counts.items():
            if topic not in self.repartition_topics:
                raise ValueError(f"topic {topic!r} is no repartition topic, its count cannot be set")
            if count < 1:
                raise ValueError(f"topic {topic!r} cannot have {count} partitions")
        for group in self.copartition_groups:
            for topic in sorted(group - seen.keys()):
                raise ValueError(f"topic {topic!r} is to be co-partitioned, but nobody reads it")

    @classmethod
    def of(
        cls,
        *subtopologies: Subtopology,
        repartition_counts: Mapping[str, int] | None = None,
        copartition_groups: Iterable[Iterable[str]] = (),
    ) -> Topology:
        """Make a topology of its parts, numbered in this order."""
        return cls(subtopologies, repartition_counts=repartition_counts, copartition_groups=copartition_groups)

    @cached_property
    def source_topics(self) -> tuple[str, ...]:
        """All topics that a consumer of this application subscribes to."""
        return tuple(sorted(topic for subtopology in self.subtopologies for topic in subtopology.inputs))

    @cached_property
    def repartition_topics(self) -> tuple[str, ...]:
        """The internal topics between subtopologies."""
        return tuple(sorted({topic for each in self.subtopologies for topic in each.repartition_sources}))

    @cached_property
    def external_topics(self) -> tuple[str, ...]:
        """The topics that have to be there, because nobody creates them for the application."""
        return tuple(topic for topic in self.source_topics if topic not in self.repartition_topics)

    @cached_property
    def internal_topics(self) -> tuple[str, ...]:
        """The topics that a leader creates: look these up as well before it is asked for an assignment."""
        changelogs = {topic for each in self.subtopologies for topic in each.own_changelogs}
        return tuple(sorted(changelogs.union(self.repartition_topics)))

    def tasks(self, partitions: Mapping[str, int]) -> Tasks:
        """Return the tasks, given the number of partitions of each topic.

        Co-partitioning is not looked at here: hand in ``Prepared.partitions`` where it matters.
        Subtopology ``g`` has as many tasks as its largest source has partitions; a source with fewer drops out of the
        higher tasks. A subtopology with a source that does not exist yet has no tasks (0.10.2 to 2.0 skip it as well).

        >>> tasks = Topology.of(Subtopology(sources=["a", "b"])).tasks({"a": 2, "b": 1})
        >>> {str(task): list(map(str, inputs)) for task, inputs in tasks.items()}
        {'0_0': ['a-0', 'b-0'], '0_1': ['a-1']}
        """
        known = self.with_internal_topics(partitions)
        sizes = self._sizes(known)
        return {
            TaskId(number, partition): tuple(
                TopicPartition(topic, partition) for topic in subtopology.inputs if partition < known[topic]
            )
            for number, subtopology in enumerate(self.subtopologies)
            for partition in range(sizes.get(number, 0))
        }

    def stateful(self, task: TaskId) -> bool:
        """Whether a task has state."""
        return self.subtopologies[task.subtopology].stateful

    def changelogs_of(self, task: TaskId) -> tuple[TopicPartition, ...]:
        """Return the changelog partitions of a task, which its standbys read, whether they exist or not."""
        return tuple(TopicPartition(topic, task.partition) for topic in self.subtopologies[task.subtopology].changelogs)

    def with_internal_topics(self, partitions: Mapping[str, int]) -> dict[str, int]:
        """Add the repartition topics: each has as many partitions as the largest source of those who write to it.

        What cannot be known (a source is missing) stays out. Topics that exist keep the count they have, after them
        comes what ``repartition_counts`` says.

        >>> chain = [Subtopology(sources=["in"], repartition_sinks=["a"]), Subtopology(repartition_sources=["a"])]
        >>> Topology.of(*chain).with_internal_topics({"in": 4})
        {'in': 4, 'a': 4}
        """
        fixed = {**self.repartition_counts, **partitions}
        writers = {topic: found for topic, found in self._writers.items() if topic not in fixed}
        counts = _grown(fixed, writers)
        while unsure := [topic for topic in writers if topic in counts and not _complete(writers[topic], counts)]:
            for topic in unsure:
                del counts[topic]
        return counts

    def changelog_partitions(self, partitions: Mapping[str, int]) -> dict[str, int]:
        """Return how many partitions each changelog topic needs: one for each task of its subtopology.

        Sources that serve as changelogs are not among them.
        """
        counts: dict[str, int] = {}
        for number, size in self._sizes(self.with_internal_topics(partitions)).items():
            for topic in self.subtopologies[number].own_changelogs:
                counts[topic] = max(counts.get(topic, 0), size)
        return counts

    def _sizes(self, known: Mapping[str, int]) -> dict[int, int]:
        """Return how many tasks each subtopology has, those without all their sources left out."""
        return {
            number: max(known[topic] for topic in subtopology.inputs)
            for number, subtopology in enumerate(self.subtopologies)
            if _complete([subtopology], known)
        }

    @cached_property
    def _writers(self) -> dict[str, list[Subtopology]]:
        """Return who writes to each repartition topic; other sinks are the application's own business."""
        writers: dict[str, list[Subtopology]] = {}
        for subtopology in self.subtopologies:
            for topic in subtopology.repartition_sinks:
                if topic in self.repartition_topics:
                    writers.setdefault(topic, []).append(subtopology)
        return writers


def _complete(readers: Iterable[Subtopology], known: Mapping[str, int]) -> bool:
    return all(topic in known for reader in readers for topic in reader.inputs)


def _grown(fixed: Mapping[str, int], writers: Mapping[str, list[Subtopology]]) -> dict[str, int]:
    """Let the counts of repartition topics grow until each is as large as what its writers read, known so far or not.

    Two of them may depend on each other (both halves of a foreign-key join write what the other reads), so nobody can
    wait until all sources are known. Kafka does not wait either, but goes on with the first count it meets, in the
    order of a hash set; ours does not depend on any order.
    """
    counts = dict(fixed)
    while True:
        found = {
            topic: max(counts[source] for writer in them for source in writer.inputs if source in counts)
            for topic, them in writers.items()
            if any(source in counts for writer in them for source in writer.inputs)
        }
        if found.items() <= counts.items():
            return counts
        counts |= found
