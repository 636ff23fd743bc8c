"""Tasks and clients of a group as a house that ``rearranging`` can work on: what it costs whom to be where.

Clients of one sort (in one rack) cost a task the same, unless it is there. Of all assignments with the least cost one
with the fewest moves is wanted, so a cost counts more than all moves together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final

from attrs import frozen

from assignor.min_cost_flow import EVERYTHING
from assignor.racks import Costs
from assignor.rearranging import House, Kind, Move, rearranged

MANY_RACKS: Final = 8
"""From so many on, there is one way for a task to all racks in which it has no replica."""

Tags = frozenset[tuple[str, str]]


@frozen(eq=False)
class Reads:
    """What a task reads: so many partitions, and how many of them have a replica in a rack, for racks with any."""

    partitions: int
    near: Mapping[int, int]

    def far(self, rack: int) -> int:
        """How many partitions are in other racks only."""
        return self.partitions - self.near.get(rack, 0)


@frozen
class Seated:
    """A task, or those copies of it that may move: the clients that have them, and others that it must not get to.

    ``group`` are tasks that may not be too many in one place; ``may`` says to which sorts of clients it may go.
    """

    task: int
    at: Sequence[int]
    reads: Reads
    barred: Collection[int] = ()
    group: int = 0
    may: Callable[[int], bool] | None = None


@frozen
class Sorts:
    """Clients of one sort are alike for any task that is not there: their racks, and with tags those too."""

    of_client: Sequence[int]
    rack: Sequence[int]
    tags: Sequence[Tags]


def move_between(tasks: Sequence[Seated], sorts: Sorts, costs: Costs, room: Sequence[Sequence[int]] = ()) -> list[Move]:
    """Rearrange tasks between clients. ``room``, if given, is that of each client for each group."""
    clients, groups = len(sorts.of_client), max(1, len(room))
    totals = [0] * clients
    for task in tasks:
        for client in task.at:
            totals[client] += 1
    # The places are clients, or clients and groups; halls are sorts of clients, or sorts and groups.
    halls: list[list[int]] = [[] for _ in range(groups * len(sorts.rack))]
    for group in range(groups):
        for client, sort in enumerate(sorts.of_client):
            if totals[client]:
                halls[group * len(sorts.rack) + sort].append(group * clients + client)
    lobbies = [[*range(group * len(sorts.rack), (group + 1) * len(sorts.rack))] for group in range(groups)]
    house = House(
        halls,
        lobbies,
        owners=[*range(clients)] * groups,
        room=[each for of_group in room for each in of_group] or [EVERYTHING] * clients,
        totals=totals,
    )
    kinds = _Kinds(sorts, costs, len(house.halls), sum(totals) + 1).of(tasks, clients)
    return [(task, left % clients, taken % clients) for task, left, taken in rearranged(kinds, house)]


@frozen
class _Kinds:
    """Tasks in groups that are alike. A cost counts ``scale`` times, a move once: so fewer moves decide at last."""

    sorts: Sorts
    costs: Costs
    lobbies: int
    scale: int

    def of(self, tasks: Sequence[Seated], clients: int) -> list[Kind]:
        alike: dict[tuple[int, ...], list[Seated]] = {}
        for task in tasks:
            alone = bool(task.barred) or len(task.at) > 1 or task.may is not None
            key = (task.task, task.at[0]) if alone else (task.group, task.at[0], id(task.reads))
            alike.setdefault(key, []).append(task)
        return [self._kind(each, clients) for each in alike.values()]

    def _kind(self, tasks: Sequence[Seated], clients: int) -> Kind:
        one = tasks[0]
        base = one.group * clients
        rack = self.sorts.rack
        stays = [(base + client, self._cost(one.reads.far(rack[self.sorts.of_client[client]]), 0)) for client in one.at]
        barred = [base + client for client in one.barred]
        return Kind([task.task for task in tasks], stays, [*self._enters(one)], barred)

    def _enters(self, task: Seated) -> Iterator[tuple[int, int]]:
        rack, reads = self.sorts.rack, task.reads
        # Where a replica nearby is worth something, who goes by the lobby pays no less than by the door.
        lobby = task.may is None and len(rack) >= MANY_RACKS and self.costs.traffic >= 0
        for sort in reads.near if lobby else range(len(rack)):
            if task.may is None or task.may(sort):
                yield task.group * len(rack) + sort, self._cost(reads.far(rack[sort]), 1)
        if lobby:
            yield self.lobbies + task.group, self._cost(reads.partitions, 1)

    def _cost(self, far: int, moves: int) -> int:
        return (self.costs.traffic * far + self.costs.non_overlap * moves) * self.scale + moves
