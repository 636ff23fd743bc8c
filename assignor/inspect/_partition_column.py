"""The partitions of a member as a column: a few bytes for each, instead of the 100 of a record with its number."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from subscription_codec import TopicPartition
from subscription_codec.columns import INT32, INT64, Column
from subscription_codec.consumer_protocol import TopicPartitions


class SortedPartitions(Column[TopicPartition]):
    """All partitions of some groups, sorted by (topic, partition); records are created on access.

    >>> groups = [TopicPartitions("b", (1, 0)), TopicPartitions("a", (7,)), TopicPartitions("b", (0,))]
    >>> [str(each) for each in SortedPartitions(groups)]
    ['a-7', 'b-0', 'b-0', 'b-1']
    """

    __slots__ = ("_ends", "_numbers", "_topics")

    def __init__(self, groups: Iterable[TopicPartitions]) -> None:
        self._topics: list[str] = []
        self._ends, self._numbers = array(INT64), array(INT32)
        last: list[int] = []
        for topic, numbers in sorted(groups, key=_topic_of):
            if not self._topics or self._topics[-1] != topic:
                self._close(last)
                self._topics.append(topic)
                last = []
            last.extend(numbers)
        self._close(last)

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[TopicPartition]:
        start = 0
        for topic, end in zip(self._topics, self._ends, strict=True):
            for place in range(start, end):
                yield TopicPartition(topic, self._numbers[place])
            start = end

    def _record_at(self, index: int) -> TopicPartition:
        return TopicPartition(self._topics[bisect_right(self._ends, index)], self._numbers[index])

    def _close(self, numbers: list[int]) -> None:
        """Add the partitions of the last topic."""
        if self._topics:
            numbers.sort()
            self._numbers.extend(numbers)
            self._ends.append(len(self._numbers))


def _topic_of(group: TopicPartitions) -> str:
    return group.topic
