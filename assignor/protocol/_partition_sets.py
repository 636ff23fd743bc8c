"""Sets of partitions that are made when they are asked for.

A set of one partition takes 216 bytes for 12 on the wire, and a member looks at few of them: a host map names the
partitions of the whole group.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, KeysView, Mapping, Sequence, Set
from functools import cached_property
from typing import Any, TypeVar

from assignor.protocol._task_sets import SMALL, places_by_task
from subscription_codec import HostInfo, HostPartitions, StandbyTask, TaskId, TopicPartition
from subscription_codec.columns import HostMap, without_repeats

PartitionSet = frozenset[TopicPartition]
K = TypeVar("K")


class PartitionSets(Mapping[K, PartitionSet]):
    """A read-only mapping to sets of partitions, which are made from the places of a key in some list.

    >>> PartitionSets({"a": [0, 1], "b": []}, [1, 1])
    {'a': frozenset({1}), 'b': frozenset()}
    """

    def __init__(self, places: Mapping[K, Sequence[int]], listed: Sequence[Any]) -> None:
        self._places = places
        self._listed = listed

    def __getitem__(self, key: K) -> PartitionSet:
        return frozenset(map(self._listed.__getitem__, self._places[key]))

    def __iter__(self) -> Iterator[K]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def keys(self) -> KeysView[K]:
        """Return the keys, as a view with the speed of a dictionary."""
        return self._places.keys()

    def __repr__(self) -> str:
        return repr(dict(self))


class _SetOfLast(PartitionSets[K]):
    """The last place of a key has its record, and that has its partitions."""

    def __getitem__(self, key: K) -> PartitionSet:
        return frozenset(self._listed[self._places[key][-1]].partitions)


class _HostSets(_SetOfLast[HostInfo]):
    """Most members look at most for their own host, so the dictionary is made on demand."""

    def __init__(self, hosts: Sequence[HostPartitions]) -> None:
        self._listed = hosts

    def __contains__(self, key: object) -> bool:
        return any(host == key for host in _names_of(self._listed))

    def __bool__(self) -> bool:
        return bool(self._listed)

    @cached_property
    def _places(self) -> dict[HostInfo, tuple[int]]:  # type: ignore[override]
        return {host: (place,) for place, host in enumerate(_names_of(self._listed))}


def _names_of(hosts: Sequence[HostPartitions]) -> Iterable[HostInfo]:
    return hosts.hosts if isinstance(hosts, HostMap) else (host for host, _ in hosts)


def by_active_task(tasks: Sequence[TaskId], partitions: Sequence[TopicPartition]) -> PartitionSets[TaskId]:
    """Match the i-th task id with the i-th partition. Java: ``getActiveTasks``."""
    return PartitionSets(places_by_task(tasks, len(tasks)), partitions)


def by_standby_task(tasks: Sequence[StandbyTask]) -> PartitionSets[TaskId]:
    """Return the partitions of each standby task; the last entry of a task counts."""
    return _SetOfLast(places_by_task((task for task, _ in tasks), len(tasks)), tasks)


def by_host(hosts: Sequence[HostPartitions]) -> PartitionSets[HostInfo]:
    """Return the partitions of each host of a host map; the last entry of a host counts."""
    return _HostSets(hosts)


class ManyPartitions(Set[TopicPartition]):
    """A set of sorted partitions, which may repeat."""

    __slots__ = ("_number", "_sorted")

    def __init__(self, ordered: Sequence[TopicPartition]) -> None:
        self._sorted = ordered
        self._number = sum(1 for _ in self)

    @classmethod
    def _from_iterable(cls, it: Iterable[Any]) -> Any:
        return frozenset(it)

    def __len__(self) -> int:
        return self._number

    def __iter__(self) -> Iterator[TopicPartition]:
        return without_repeats(self._sorted)

    def __contains__(self, partition: object) -> bool:
        if not isinstance(partition, TopicPartition):
            return False
        place = bisect_left(self._sorted, partition)
        return place < len(self._sorted) and self._sorted[place] == partition

    __hash__ = Set._hash


def partition_set(ordered: Sequence[TopicPartition]) -> Set[TopicPartition]:
    """Return the set of sorted partitions."""
    return frozenset(ordered) if len(ordered) <= SMALL else ManyPartitions(ordered)
