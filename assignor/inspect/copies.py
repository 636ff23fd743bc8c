"""Who has which task: owners, copies, and which copies are warm-ups.

An assignment does not say that a standby is a warm-up (KIP-441), so it is concluded:

1. No member is asked to rejoin later, or the answers are below version 7: no movement is under way, all are standbys.
2. Otherwise ``num.standby.replicas`` is taken to be the smallest number of copies that an active task with state has
   (a task has state if somebody has a copy or an offset sum of it). With 0, all copies are warm-ups; a task with just
   that many has standbys only; of a task with more, some copy is a warm-up and nobody can say which.
3. With client tags some tasks may have fewer standbys than others, so that rule 2 would guess: nobody can say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import TypeVar

from assignor.inspect.member import Member
from subscription_codec import TaskId, TopicPartition

T = TypeVar("T")


class Copy(Enum):
    """What the copy of a task is."""

    STANDBY = "standby"
    WARM_UP = "warm-up"
    EITHER = "standby or warm-up"


def copies(members: Sequence[Member]) -> Mapping[TaskId, Copy]:
    """Say of each task with copies what its copies are."""
    held = Counter(task for member in members for task in member.got.standbys)
    if not any(member.got.next_rebalance_ms is not None for member in members):
        return dict.fromkeys(held, Copy.STANDBY)
    if any(member.sent.tags for member in members):
        return dict.fromkeys(held, Copy.EITHER)
    usual = min((held[task] for task in _active_with_state(members, held)), default=0)
    if usual == 0:
        return dict.fromkeys(held, Copy.WARM_UP)
    return {task: Copy.STANDBY if number <= usual else Copy.EITHER for task, number in held.items()}


def _active_with_state(members: Sequence[Member], held: Iterable[TaskId]) -> set[TaskId]:
    active = {task for member in members for task in member.got.active}
    return active & {*held, *(task for member in members for task in member.sent.sums or ())}


def owners(members: Iterable[Member]) -> Mapping[TaskId, tuple[str, ...]]:
    """Name the members that run each task."""
    return _by_owner((member.name, member.got.active) for member in members)


def owners_of_partitions(members: Iterable[Member]) -> Mapping[TopicPartition, tuple[str, ...]]:
    """Name the members that have each partition."""
    return _by_owner((member.name, member.got.partitions) for member in members)


def _by_owner(given: Iterable[tuple[str, Iterable[T]]]) -> Mapping[T, tuple[str, ...]]:
    found: dict[T, tuple[str, ...]] = {}
    for name, things in given:
        for thing in things:
            found[thing] = (*found.get(thing, ()), name)
    return found


def ownerless(members: Sequence[Member], partitions: Mapping[str, int]) -> list[TopicPartition]:
    """List the partitions of subscribed topics that nobody has; topics of unknown size do not count."""
    topics = {topic for member in members for topic in member.sent.topics}
    taken = owners_of_partitions(members)
    everything = (TopicPartition(topic, each) for topic in sorted(topics) for each in range(partitions.get(topic, 0)))
    return [partition for partition in everything if partition not in taken]
