"""How much state the tasks of a group have: of the sizes of its changelogs, as far as brokers tell them.

A group does not say which changelog belongs to which subtopology. Kafka makes a changelog with a partition for each
task, so it is known if no other subtopology with state has as many tasks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from attrs import frozen

from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.groups.offsets import ChangelogSizes


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
