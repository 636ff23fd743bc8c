"""How many tasks each client gets: numbers only, no task and no client is named here.

Everybody gets the whole quota, ``tasks // members`` for each of its members. Where there are fewer tasks than members
the quota is zero; then everybody keeps what it had, up to one task per member, for nobody is busier than that.
What is left is dealt out one by one, and the loads of the result are a window that nobody may leave: nobody gets less
than the least loaded there, nobody more than the most loaded. Within it as much is kept as fits.

There are two ways of dealing: to the least loaded, as Kafka does, or to the one that is least loaded *afterwards*,
which is often the more even way where clients differ in size. The second is taken if it keeps no less and its window
is no wider. With one size they are the same: everybody gets the average, rounded down or up.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import islice
from operator import truediv

from attrs import frozen


@frozen
class Shares:
    """For each client the least and the most it may get, and how many it keeps of those it had.

    ``width`` is the difference between the most and the least load that the window allows.
    """

    low: list[int]
    high: list[int]
    keep: list[int]
    width: Fraction


def share_out(capacities: Sequence[int], had: Sequence[int], tasks: int) -> Shares:
    """Decide for clients of these capacities, who had so many of the tasks.

    >>> share_out([1, 1, 1], had=[4, 2, 0], tasks=7).keep
    [3, 2, 0]
    """
    quota = tasks // sum(capacities)
    certain = [
        capacity * quota if quota else min(count, capacity) for capacity, count in zip(capacities, had, strict=True)
    ]
    now, afterwards = (_window(capacities, had, certain, tasks, ahead) for ahead in (0, 1))
    as_good = sum(afterwards.keep) >= sum(now.keep) and afterwards.width <= now.width
    return afterwards if as_good else now


def deal(
    capacities: Sequence[int], counts: Sequence[int], tasks: int, most: Sequence[int] | None = None, ahead: int = 0
) -> list[int]:
    """Deal out what is missing to ``tasks`` in all, and return how many each has then."""
    dealt = list(counts)
    for _ in islice(least_loaded(capacities, dealt, most, ahead), tasks - sum(counts)):
        pass
    return dealt


def least_loaded(
    capacities: Sequence[int], counts: list[int], most: Sequence[int] | None = None, ahead: int = 0
) -> Iterator[int]:
    """Give one after the other to the least loaded (``ahead=1``: least loaded afterwards) and say to whom.

    Among equals to the largest, then to the first. ``counts`` go up; nobody gets more than ``most``, and the caller
    asks for no more than there is.
    """
    queue = [
        ((count + ahead) / capacity, -capacity, place)
        for place, (count, capacity) in enumerate(zip(counts, capacities, strict=True))
        if most is None or count < most[place]
    ]
    heapq.heapify(queue)
    while True:
        _, size, place = queue[0]
        counts[place] += 1
        yield place
        if most is None or counts[place] < most[place]:
            heapq.heapreplace(queue, ((counts[place] + ahead) / -size, size, place))
        else:
            heapq.heappop(queue)


def _window(capacities: Sequence[int], had: Sequence[int], certain: Sequence[int], tasks: int, ahead: int) -> Shares:
    dealt = deal(capacities, certain, tasks, ahead=ahead)
    loads = list(map(truediv, dealt, capacities))
    lowest, highest = loads.index(min(loads)), loads.index(max(loads))
    # In whole numbers, for 1 / 49 * 49 is less than one.
    low = [
        max(sure, -(-dealt[lowest] * capacity // capacities[lowest]))
        for sure, capacity in zip(certain, capacities, strict=True)
    ]
    high = [dealt[highest] * capacity // capacities[highest] for capacity in capacities]
    wanted = [max(least, min(most, count)) for least, most, count in zip(low, high, had, strict=True)]
    granted = deal(capacities, low, min(tasks, sum(wanted)), wanted)
    return Shares(
        low,
        high,
        list(map(min, granted, had)),
        Fraction(dealt[highest], capacities[highest]) - Fraction(dealt[lowest], capacities[lowest]),
    )
