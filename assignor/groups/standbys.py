"""The owners of tasks and partitions, and which standbys are warm-ups.

An assignment does not mark a standby as a warm-up (KIP-441), so it is inferred:

1. If no member is to rejoin later, or the assignments are below version 7, no task movement is under way: all are
   standbys.
2. Otherwise ``num.standby.replicas`` is taken to be the smallest number of replicas of an active task with state. (A
   task has state if a member has a replica or an offset sum of it.) If it is 0, all replicas are warm-ups. A task with
   exactly that many has standbys only. Of a task with more, some replica is a warm-up, and it is unknown which.
3. With client tags, some tasks may have fewer standbys than others. Rule 2 would guess, so it is unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from heapq import merge
from itertools import chain, groupby, repeat
from operator import itemgetter
from typing import Any, Final, TypeVar

from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.codec.columns import SortedPartitions, count_distinct
from streams_assignor.groups.decoded import topology_order
from streams_assignor.groups.member import InspectedMember

T = TypeVar("T")

_FEW: Final = 1024
"""So many tasks or partitions of a group may be in a set: much faster, with ten times the memory of a column."""


class StandbyKind(Enum):
    """The kind of a replica of a task."""

    STANDBY = "standby"
    WARM_UP = "warm-up"
    EITHER = "standby or warm-up"


def classify_standbys(members: Sequence[InspectedMember]) -> Mapping[TaskId, StandbyKind]:
    """Classify the replicas of each task that has any."""
    replicas = Counter(task for member in members for task in member.assignment.standbys)
    if not any(member.assignment.next_rebalance_ms is not None for member in members):
        return dict.fromkeys(replicas, StandbyKind.STANDBY)
    if any(member.subscription.client_tags for member in members):
        return dict.fromkeys(replicas, StandbyKind.EITHER)
    usual = min((replicas[task] for task in _active_with_state(members, replicas)), default=0)
    if usual == 0:
        return dict.fromkeys(replicas, StandbyKind.WARM_UP)
    return {task: StandbyKind.STANDBY if number <= usual else StandbyKind.EITHER for task, number in replicas.items()}


def _active_with_state(members: Sequence[InspectedMember], replicas: Iterable[TaskId]) -> set[TaskId]:
    active = {task for member in members for task in member.assignment.active}
    return active & {*replicas, *(task for member in members for task in member.subscription.offset_sums or ())}


def owners_by_task(members: Iterable[InspectedMember]) -> Mapping[TaskId, tuple[str, ...]]:
    """Return the names for people of the members with each active task."""
    return _group_owners((member.label, member.assignment.active) for member in members)


def tasks_with_multiple_owners(members: Sequence[InspectedMember]) -> Iterator[tuple[TaskId, list[str]]]:
    """Yield each active task of more than one member, and its owners, in order."""
    return _repeated(members, [member.assignment.active for member in members], topology_order)


def partitions_with_multiple_owners(members: Sequence[InspectedMember]) -> Iterator[tuple[TopicPartition, list[str]]]:
    """Yield each partition that is assigned more than once, and to whom, sorted."""
    return _repeated(members, [member.assignment.partitions for member in members], lambda partition: partition)


def _repeated(
    members: Sequence[InspectedMember], columns: Sequence[Sequence[T]], order: Callable[[T], Any]
) -> Iterator[tuple[T, list[str]]]:
    """Merge the sorted columns of members; yield what is there more than once."""
    number = sum(map(len, columns))
    if number <= _FEW and _count_distinct(columns) == number:
        return
    names = [member.name for member in members]
    rows = merge(*map(zip, columns, map(repeat, names)), key=lambda row: order(row[0]))
    for thing, equal_rows in groupby(rows, key=itemgetter(0)):
        owners = [name for _, name in equal_rows]
        if len(owners) > 1:
            yield thing, owners


def _count_distinct(columns: Sequence[Sequence[object]]) -> int:
    partitions = [column for column in columns if isinstance(column, SortedPartitions)]
    return count_distinct(partitions) if len(partitions) == len(columns) else len({*chain.from_iterable(columns)})


def _group_owners(things_by_name: Iterable[tuple[str, Iterable[T]]]) -> Mapping[T, tuple[str, ...]]:
    owners: dict[T, list[str]] = {}
    for name, things in things_by_name:
        for thing in things:
            owners.setdefault(thing, []).append(name)
    return {thing: tuple(names) for thing, names in owners.items()}


def unassigned_partitions(members: Sequence[InspectedMember], partitions: Mapping[str, int]) -> list[TopicPartition]:
    """List the partitions of subscribed topics without an owner; topics with an unknown number do not count."""
    if not partitions:
        return []
    topics = {topic for member in members for topic in member.subscription.topics if topic in partitions}
    missing = {TopicPartition(topic, number) for topic in topics for number in range(partitions[topic])}
    for member in members:
        missing.difference_update(member.assignment.partitions)
    return sorted(missing)
