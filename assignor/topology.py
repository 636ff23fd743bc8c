"""What an application consists of: subtopologies, the topics they read and write, and the tasks that follow.

Java: ``InternalTopologyBuilder.TopicsInfo``, ``DefaultPartitionGrouper`` / ``PartitionGrouper``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from attrs import field, frozen

from subscription_codec import TaskId, TopicPartition

Tasks = Mapping[TaskId, tuple[TopicPartition, ...]]
"""Each task with the partitions it reads, sorted."""


def _sorted(topics: object) -> tuple[str, ...]:
    if isinstance(topics, str):
        raise TypeError(f"needs several topic names, got the text {topics!r}")
    return tuple(sorted(set(topics)))  # type: ignore[call-overload]  # anything else that is no iterable raises


@frozen(kw_only=True)
class Subtopology:
    """One connected part of an application; one task is made per partition of its sources.

    ``sources`` are external topics, ``repartition_sources`` internal topics that another subtopology writes (it lists
    them in ``repartition_sinks``), ``changelogs`` are the topics of its state stores. All of them sorted.
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
    def stateful(self) -> bool:
        """Whether its tasks have state, and so can have standbys."""
        return bool(self.changelogs)


@frozen
class Topology:
    """The subtopologies of an application; their numbers are the first half of a task id.

    >>> Topology.of(Subtopology(sources=["orders"])).source_topics
    ('orders',)
    """

    subtopologies: tuple[Subtopology, ...]

    def __attrs_post_init__(self) -> None:
        """Refuse a topic that two subtopologies read: its partitions would have two owners."""
        seen: dict[str, int] = {}
        for number, subtopology in enumerate(self.subtopologies):
            for topic in subtopology.inputs:
                if seen.setdefault(topic, number) != number:
                    raise ValueError(f"topic {topic!r} is read by subtopologies {seen[topic]} and {number}")
            if not subtopology.inputs:
                raise ValueError(f"subtopology {number} reads no topic")

    @classmethod
    def of(cls, *subtopologies: Subtopology) -> Topology:
        """Make a topology of its parts, numbered in this order."""
        return cls(subtopologies)

    @cached_property
    def source_topics(self) -> tuple[str, ...]:
        """All topics that a consumer of this application subscribes to."""
        return tuple(sorted(topic for subtopology in self.subtopologies for topic in subtopology.inputs))

    def tasks(self, partitions: Mapping[str, int]) -> Tasks:
        """Return the tasks, given the number of partitions of each topic.

        Subtopology ``g`` has as many tasks as its largest source has partitions; a source with fewer drops out of the
        higher tasks. A subtopology with a source that does not exist yet has no tasks (0.10.2 to 2.0 skip it as well).

        >>> tasks = Topology.of(Subtopology(sources=["a", "b"])).tasks({"a": 2, "b": 1})
        >>> {str(task): list(map(str, inputs)) for task, inputs in tasks.items()}
        {'0_0': ['a-0', 'b-0'], '0_1': ['a-1']}
        """
        known = self.with_internal_topics(partitions)
        return {
            TaskId(number, partition): tuple(
                TopicPartition(topic, partition) for topic in subtopology.inputs if partition < known[topic]
            )
            for number, subtopology in enumerate(self.subtopologies)
            if known.keys() >= set(subtopology.inputs)
            for partition in range(max(known[topic] for topic in subtopology.inputs))
        }

    def stateful(self, task: TaskId) -> bool:
        """Whether a task has state."""
        return self.subtopologies[task.subtopology].stateful

    def with_internal_topics(self, partitions: Mapping[str, int]) -> dict[str, int]:
        """Add the repartition topics: each has as many partitions as the largest source of those who write to it.

        Goes round until nothing new is found, because a source may itself be a repartition topic; what cannot be
        known (a source is missing) stays out. Topics that exist keep the count they have.
        """
        known = dict(partitions)
        while True:
            found = {
                topic: max(known[source] for writer in writers for source in writer.inputs)
                for topic, writers in self._writers().items()
                if topic not in known and all(known.keys() >= set(writer.inputs) for writer in writers)
            }
            if not found:
                return known
            known |= found

    def changelog_partitions(self, partitions: Mapping[str, int]) -> dict[str, int]:
        """Return how many partitions each changelog topic needs: one for each task of its subtopology."""
        counts: dict[str, int] = {}
        for task in self.tasks(partitions):
            for topic in self.subtopologies[task.subtopology].changelogs:
                counts[topic] = max(counts.get(topic, 0), task.partition + 1)
        return counts

    def _writers(self) -> dict[str, list[Subtopology]]:
        writers: dict[str, list[Subtopology]] = {}
        for subtopology in self.subtopologies:
            for topic in subtopology.repartition_sinks:
                writers.setdefault(topic, []).append(subtopology)
        return writers
