"""Who gets the standbys: the least loaded clients, if wanted with client tags that differ (``rack.aware``, KIP-708).

How it works. Each stateful task in turn takes the client with the fewest tasks per member that does not have it yet.
With ``rack.aware.assignment.tags`` it takes, of each task, first those whose tags differ from the tags of all copies
so far; a tag with no more values than copies so far cannot tell any longer and stops counting. What finds no client
that way goes to the least loaded ones in the end, in the order of a Java hash map.
Java: ``DefaultStandbyTaskAssignor``, ``ClientTagAwareStandbyTaskAssignor`` (3.2 and later).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from heapq import heapify, heappop, heappush, heapreplace

from attrs import define, field

from assignor.java_order import hash_order
from assignor.placing import Placing, Why


def add_standbys(placing: Placing, standbys: int) -> None:
    """Give each task this many standbys, or as many as there are clients for."""
    _to_least_loaded(placing, ((task, standbys) for task in range(len(placing.tasks))))


def add_standbys_by_tags(placing: Placing, standbys: int, keys: Collection[str]) -> None:
    """Give each task this many standbys, on clients with other tags than those that have it, as far as they go."""
    values: dict[str, set[str]] = {key: set() for key in keys}
    for client in placing.clients:
        for key in values.keys() & client.tags.keys():
            values[key].add(client.tags[key])
    places = _Places.of(placing, keys)
    missing = {}
    for task in range(len(placing.tasks)):
        if left := _spread_out(placing, places, task, standbys, values):
            missing[placing.tasks[task]] = left
    number = {task: at for at, task in enumerate(placing.tasks)}
    in_order = [task for task in hash_order(placing.tasks) if task in missing]
    _to_least_loaded(placing, ((number[task], missing[task]) for task in in_order))


def _to_least_loaded(placing: Placing, wanted: Iterable[tuple[int, int]]) -> None:
    count, capacity = placing.count, placing.capacity
    by_load = [(placing.load(client), client) for client in range(len(count))]
    heapify(by_load)
    for task, missing in wanted:
        owner, standbys = placing.owner[task], placing.standbys[task]
        aside = []
        while missing and by_load:
            client = by_load[0][1]
            if client == owner or client in standbys:
                aside.append(heappop(by_load))
                continue
            _place(placing, task, client, Why.STANDBY)
            heapreplace(by_load, (count[client] / capacity[client], client))
            missing -= 1
        for each in aside:
            heappush(by_load, each)


def _place(placing: Placing, task: int, client: int, why: Why) -> None:
    placing.standbys[task].add(client)
    placing.count[client] += 1
    placing.note(task, client, why)


def _spread_out(placing: Placing, places: _Places, task: int, standbys: int, values: dict[str, set[str]]) -> int:
    """Place a task's standbys on clients with other tags; return how many there were none for."""
    taken: dict[str, set[str]] = {}
    last = placing.owner[task]
    for used in range(1, standbys + 1):
        for key in values.keys() & placing.clients[last].tags.keys():
            if len(values[key]) > used:
                taken.setdefault(key, set()).add(placing.clients[last].tags[key])
            else:
                taken.pop(key, None)  # every value is in use: it cannot tell one client from another any longer
        found = places.take(task, lambda tags: all(tags.get(key) not in taken[key] for key in taken))
        if found is None:
            return standbys + 1 - used
        last = found
    return 0


@define(eq=False)
class _Places:
    """Clients by load, in groups with equal tags: looking at the best of each group is enough."""

    placing: Placing
    tags: list[dict[str, str]]
    groups: list[list[tuple[float, int]]]
    best: list[tuple[float, int, int]] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Enter the best of each group."""
        for group in self.groups:
            heapify(group)
        self.best = [(*group[0], number) for number, group in enumerate(self.groups)]
        heapify(self.best)

    @classmethod
    def of(cls, placing: Placing, keys: Collection[str]) -> _Places:
        """Group the clients by their values of some tags."""
        groups: dict[frozenset[tuple[str, str]], list[tuple[float, int]]] = {}
        for number, client in enumerate(placing.clients):
            tags = frozenset((key, value) for key, value in client.tags.items() if key in keys)
            groups.setdefault(tags, []).append((placing.load(number), number))
        return cls(placing, [dict(tags) for tags in groups], list(groups.values()))

    def take(self, task: int, wanted: Callable[[dict[str, str]], bool]) -> int | None:
        """Place a standby on the least loaded client that lacks the task and has wanted tags; return the client."""
        others: list[tuple[float, int, int]] = []
        aside = []
        found = None
        while self.best and found is None:
            load, client, number = heappop(self.best)
            group = self.groups[number]
            if not group or group[0] != (load, client):
                continue  # its load has changed; there is a newer entry
            if others and others[-1] == (load, client, number):
                continue  # it is there twice
            if not wanted(self.tags[number]):
                others.append((load, client, number))
            elif self.placing.has(client, task):
                aside.append((heappop(group), number))
                self._enter(number)
            else:
                found = client
                _place(self.placing, task, client, Why.DIFFERENT_TAGS)
                heapreplace(group, (self.placing.load(client), client))
                self._enter(number)
        for entry in others:
            heappush(self.best, entry)
        for each, number in aside:
            heappush(self.groups[number], each)
        for number in {number for _, number in aside}:
            self._enter(number)
        return found

    def _enter(self, number: int) -> None:
        if group := self.groups[number]:
            heappush(self.best, (*group[0], number))
