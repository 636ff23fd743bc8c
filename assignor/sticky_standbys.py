"""Where the standbys go, when the active tasks have their places.

They stay with those who had the task, standby or active. A missing one goes to whoever will be least loaded, never to
one who has the task; among the first few equals to the one that shares the fewest tasks with those who have it. After
that, standbys move as long as that makes the more loaded of two clients less loaded than it was: at first only what
is too much in a fair deal, so that nothing is given that must be given back. In the end there is nothing left to move;
so next time, if nothing changes, nothing moves.

Clients and tasks are numbers here: their places in the order of process ids and of task ids.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from math import inf
from typing import Final

from assignor.placing import Note, Why
from assignor.sticky_shares import deal

LOOKS: Final = 8
"""Among how many equally loaded clients a standby looks for company it has not met: few, so that it is quick."""

Places = Sequence[list[int]]
"""For each task some clients."""


def place_standbys(
    capacities: Sequence[int],
    owners: Sequence[int],
    was_active: Places,
    was_standby: Places,
    wanting: Sequence[int],
    copies: int,
    note: Note | None = None,
) -> Iterator[tuple[int, list[int]]]:
    """Place so many copies of each task that is ``wanting``; give tasks and the clients of their copies."""
    group = _Group(capacities, owners, was_active, was_standby)
    for task in wanting:
        for place in group.who_stays(task, copies):
            group.add(task, place)
            if note:
                was_its_active = place in was_active[task]
                note(task, place, Why.KEEPS_STATE if was_its_active else Why.STAYS_STANDBY, None)
    group.queue = queue = _Queue(capacities, group.totals)
    for task in wanting:
        while len(group.holders[task]) <= copies:
            _, place = group.best(task, group.holders[task])
            group.add(task, place)
            if note:
                note(task, place, Why.STANDBY, None)
            queue.move(place, group.totals[place])
    if group.uneven():
        given = _given(group, wanting)
        _even_out(group, given, _limits(group), note)
        while _even_out(group, given, [0] * len(capacities), note):
            pass
    for task in wanting:
        yield task, group.holders[task][1:]


class _Queue:
    """Clients by the load that one more task would make, then the larger, then the earlier; in lines of equal load.

    A line is put in order when it is first looked at. Its first is at the end, where taking it is cheap.
    """

    def __init__(self, capacities: Sequence[int], totals: Sequence[int]) -> None:
        self._capacities = capacities
        self._client = sorted(range(len(capacities)), key=lambda place: (capacities[place], -place))
        self._standing = sorted(range(len(capacities)), key=self._client.__getitem__)
        self._load = [0.0] * len(capacities)
        self._lines: dict[float, list[int]] = {}
        self._loads: list[float] = []
        self._in_order: set[float] = set()
        for place, total in enumerate(totals):
            self._enter(place, total)

    def lowest(self) -> float:
        """Return the least load that one more task can make."""
        return self._loads[0]

    def lines(self) -> Iterator[tuple[float, Iterator[int]]]:
        """Give the lines, from the least load on, and for each its clients from the first on."""
        for load in self._loads:
            if load not in self._in_order:
                self._lines[load].sort()
                self._in_order.add(load)
            yield load, map(self._client.__getitem__, reversed(self._lines[load]))

    def move(self, place: int, total: int) -> None:
        """Let a client stand where it belongs with ``total`` tasks."""
        load, standing = self._load[place], self._standing[place]
        line = self._lines[load]
        del line[bisect_left(line, standing) if load in self._in_order else line.index(standing)]
        if not line:
            del self._lines[load]
            self._loads.remove(load)
            self._in_order.discard(load)
        self._enter(place, total)

    def _enter(self, place: int, total: int) -> None:
        self._load[place] = load = (total + 1) / self._capacities[place]
        if load not in self._lines:
            self._lines[load] = []
            insort(self._loads, load)
        if load in self._in_order:
            insort(self._lines[load], self._standing[place])
        else:
            self._lines[load].append(self._standing[place])


class _Group:
    """Who has what. The holders of a task: its owner, then those who have it as a standby."""

    queue: _Queue

    def __init__(
        self, capacities: Sequence[int], owners: Sequence[int], was_active: Places, was_standby: Places
    ) -> None:
        self.capacities, self._was_active, self._was_standby = capacities, was_active, was_standby
        self.holders = [[owner] for owner in owners]
        self.active = [0] * len(capacities)
        for owner in owners:
            self.active[owner] += 1
        self.totals = self.active[:]
        self._shared: list[dict[int, int]] = [{} for _ in capacities]

    def add(self, task: int, place: int) -> None:
        shared = self._shared
        for other in self.holders[task]:
            shared[place][other] = shared[other][place] = shared[place].get(other, 0) + 1
        self.holders[task].append(place)
        self.totals[place] += 1

    def remove(self, task: int, place: int) -> None:
        self.holders[task].remove(place)
        self.totals[place] -= 1
        for other in self.holders[task]:
            self._shared[place][other] -= 1
            self._shared[other][place] -= 1

    def load(self, place: int, more: int = 0) -> float:
        return (self.totals[place] + more) / self.capacities[place]

    def uneven(self) -> bool:
        """Whether anything could be made more even: the most loaded against the least loaded."""
        return max(map(self.load, range(len(self.totals)))) > self.queue.lowest()

    def had(self, task: int, place: int) -> bool:
        return place in self._was_active[task] or place in self._was_standby[task]

    def who_stays(self, task: int, copies: int) -> Sequence[int]:
        """Those who had it, but for its owner: of too many first those who had it active, then the least loaded."""
        owner, active = self.holders[task][0], self._was_active[task]
        places = [place for place in active if place != owner]
        places += [place for place in self._was_standby[task] if place != owner and place not in active]
        if len(places) > copies:
            places.sort(key=lambda place: (place not in active, self.load(place, 1), -self.capacities[place]))
        return places[:copies]

    def best(self, task: int, company: Sequence[int]) -> tuple[float, int]:
        """Return who gets a copy, and the load it has then: of the first few equals the one with least in common."""
        holders = self.holders[task]
        for load, line in self.queue.lines():
            best, fewest, looks = -1, 0, 0
            for place in line:
                if place in holders:
                    continue
                shared = self._shared[place]
                common = sum([shared.get(other, 0) for other in company])
                if not looks or common < fewest:
                    best, fewest = place, common
                looks += 1
                if looks == LOOKS or not common:
                    break
            if looks:
                return load, best
        return inf, -1


def _given(group: _Group, wanting: Sequence[int]) -> list[set[int]]:
    """Return for each client the tasks it has as standbys."""
    given: list[set[int]] = [set() for _ in group.totals]
    for task in wanting:
        for place in group.holders[task][1:]:
            given[place].add(task)
    return given


def _limits(group: _Group) -> list[int]:
    """Return how many tasks each client may have, so that none is more loaded than the most loaded of a fair deal."""
    capacities = group.capacities
    dealt = deal(capacities, group.active, sum(group.totals), ahead=1)
    most = max(range(len(dealt)), key=lambda place: dealt[place] / capacities[place])
    return [dealt[most] * capacity // capacities[most] for capacity in capacities]


def _even_out(group: _Group, given: Sequence[set[int]], limits: Sequence[int], note: Note | None) -> bool:
    """Let all who are above their limits give, the most loaded first, and first what they had not had before."""
    moved = False
    for place in sorted(range(len(limits)), key=lambda place: -group.load(place)):
        if group.load(place) <= group.queue.lowest():
            continue
        for task in sorted(given[place], key=lambda task: (group.had(task, place), task)):
            if group.totals[place] <= limits[place] or group.load(place) <= group.queue.lowest():
                break
            load, best = group.best(task, [holder for holder in group.holders[task] if holder != place])
            if load < group.load(place):
                group.remove(task, place)
                group.add(task, best)
                if note:
                    note(task, best, Why.BALANCED, place)
                for each in (place, best):
                    group.queue.move(each, group.totals[each])
                given[place].remove(task)
                given[best].add(task)
                moved = True
    return moved
