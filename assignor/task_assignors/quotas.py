"""Computes the number of tasks of each process; only numbers, no tasks.

Every process gets at least ``tasks // members`` tasks for each of its members. If there are fewer tasks than members,
that is none; then every process keeps its tasks, up to one per member. The rest is distributed one by one. The least
and the most loaded process of the result are the limits for all: no process gets less or more than that. Within the
limits, each keeps as many of its tasks as possible.

There are two ways to distribute: to the least loaded process, as Kafka does, or to the one that is least loaded
*afterwards*, which is often more even if processes differ in size. The second is used if it keeps no fewer tasks and
its limits are no wider. For processes of one size they are equal: each gets the average, rounded down or up.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import islice
from operator import truediv

from attrs import frozen


@frozen
class Quotas:
    """The numbers of tasks that each process gets at least and at most."""

    minimum: list[int]
    """The smallest number of tasks."""
    maximum: list[int]
    """The largest number of tasks."""
    kept: list[int]
    """How many of its previous tasks it keeps."""
    spread: Fraction
    """The difference between the largest and the smallest load within the limits."""


def compute_quotas(capacities: Sequence[int], owned: Sequence[int], tasks: int) -> Quotas:
    """Compute the quotas of processes with these capacities that had so many of the tasks.

    >>> compute_quotas([1, 1, 1], owned=[4, 2, 0], tasks=7).kept
    [3, 2, 0]
    """
    quota = tasks // sum(capacities)
    certain = [
        capacity * quota if quota else min(count, capacity) for capacity, count in zip(capacities, owned, strict=True)
    ]
    now, afterwards = (_quotas(capacities, owned, certain, tasks, ahead) for ahead in (0, 1))
    as_good = sum(afterwards.kept) >= sum(now.kept) and afterwards.spread <= now.spread
    return afterwards if as_good else now


def distribute(
    capacities: Sequence[int],
    counts: Sequence[int],
    tasks: int,
    maximum: Sequence[int] | None = None,
    look_ahead: int = 0,
) -> list[int]:
    """Distribute the missing ones of ``tasks`` and return the number of each process."""
    distributed = list(counts)
    for _ in islice(iter_least_loaded(capacities, distributed, maximum, look_ahead), tasks - sum(counts)):
        pass
    return distributed


def iter_least_loaded(
    capacities: Sequence[int], counts: list[int], maximum: Sequence[int] | None = None, look_ahead: int = 0
) -> Iterator[int]:
    """Distribute tasks one by one and yield the process of each: the least loaded (``look_ahead=1``: afterwards).

    Of equals it is the largest, then the first. ``counts`` is updated. No process gets more than ``maximum``; the
    caller must not take more in total.
    """
    queue = [
        ((count + look_ahead) / capacity, -capacity, process)
        for process, (count, capacity) in enumerate(zip(counts, capacities, strict=True))
        if maximum is None or count < maximum[process]
    ]
    heapq.heapify(queue)
    while True:
        _, size, process = queue[0]
        counts[process] += 1
        yield process
        if maximum is None or counts[process] < maximum[process]:
            heapq.heapreplace(queue, ((counts[process] + look_ahead) / -size, size, process))
        else:
            heapq.heappop(queue)


def _quotas(
    capacities: Sequence[int], owned: Sequence[int], guaranteed: Sequence[int], tasks: int, look_ahead: int
) -> Quotas:
    distributed = distribute(capacities, guaranteed, tasks, look_ahead=look_ahead)
    loads = list(map(truediv, distributed, capacities))
    lowest, highest = loads.index(min(loads)), loads.index(max(loads))
    # In integers, as 1 / 49 * 49 is less than 1.
    low = [
        max(sure, -(-distributed[lowest] * capacity // capacities[lowest]))
        for sure, capacity in zip(guaranteed, capacities, strict=True)
    ]
    high = [distributed[highest] * capacity // capacities[highest] for capacity in capacities]
    wanted = [max(least, min(most, count)) for least, most, count in zip(low, high, owned, strict=True)]
    granted = distribute(capacities, low, min(tasks, sum(wanted)), wanted)
    return Quotas(
        low,
        high,
        list(map(min, granted, owned)),
        Fraction(distributed[highest], capacities[highest]) - Fraction(distributed[lowest], capacities[lowest]),
    )
