"""Sets of partitions that are made when they are asked for.

A set of one partition takes 216 bytes for 12 on the wire, and a member looks at few of them: a host map names the
partitions of the whole group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

from subscription_codec import HostInfo, HostPartitions, StandbyTask, TaskId, TopicPartition
from subscription_codec.columns import HostMap

PartitionSet = frozenset[TopicPartition]
K = TypeVar("K")


class PartitionSets(Mapping[K, PartitionSet]):
    """A read-only mapping to sets of partitions.

    >>> PartitionSets({"a": [1, 1], "b": []}, frozenset)
    {'a': frozenset({1}), 'b': frozenset()}
    """

    def __init__(self, stored: Mapping[K, Any], set_of: Callable[[Any], PartitionSet]) -> None:
        self._stored = stored
        self._set_of = set_of

    def __getitem__(self, key: K) -> PartitionSet:
        return self._set_of(self._stored[key])

    def __iter__(self) -> Iterator[K]:
        return iter(self._stored)

    def __len__(self) -> int:
        return len(self._stored)

    def __contains__(self, key: object) -> bool:
        return key in self._stored

    def keys(self) -> KeysView[K]:
        """Return the keys, as a view with the speed of a dictionary."""
        return self._stored.keys()

    def __repr__(self) -> str:
        return repr(dict(self))


def by_active_task(tasks: Iterable[TaskId], partitions: Iterable[TopicPartition]) -> PartitionSets[TaskId]:
    """Match the i-th task id with the i-th partition. Java: ``getActiveTasks``."""
    active: dict[TaskId, Any] = {}
    for task, each in zip(tasks, partitions, strict=True):
        if (known := active.setdefault(task, each)) is not each:
            if type(known) is list:
                known.append(each)
            else:
                active[task] = [known, each]
    return PartitionSets(active, _one_or_more)


def by_standby_task(tasks: Iterable[StandbyTask]) -> PartitionSets[TaskId]:
    """Return the partitions of each standby task."""
    return PartitionSets(dict(tasks), frozenset)


def by_host(hosts: Sequence[HostPartitions]) -> PartitionSets[HostInfo]:
    """Return the partitions of each host of a host map; the last entry of a host counts."""
    return _HostSets(hosts)


class _HostSets(PartitionSets[HostInfo]):
    """Most members never look at a host, so the dictionary is made on demand too."""

    def __init__(self, hosts: Sequence[HostPartitions]) -> None:
        self._hosts = hosts

    def __getitem__(self, key: HostInfo) -> PartitionSet:
        return frozenset(self._hosts[self._stored[key]].partitions)

    @cached_property
    def _stored(self) -> dict[HostInfo, int]:  # type: ignore[override]
        hosts = self._hosts
        names = hosts.hosts if isinstance(hosts, HostMap) else [host for host, _ in hosts]
        return {host: place for place, host in enumerate(names)}


def _one_or_more(stored: TopicPartition | list[TopicPartition]) -> PartitionSet:
    return frozenset(stored) if isinstance(stored, list) else frozenset((stored,))
