"""The sticky task assignor: tasks stay where they are as long as that is fair, the rest goes to the least loaded.

How it works. (1) ``sticky_shares`` says how many tasks each client gets and how many of its own it keeps: as many as
fit between the loads of the least and the most loaded client of a fair deal. (2) Tasks without an owner go to a client
that had them as a standby, if it may get more; so do tasks that their owner cannot keep. (3) Who still has too many
gives up those of its most numerous subtopologies; whatever is left goes to the least loaded, in task order.
(4) Standbys follow: ``sticky_standbys``.

Partitions of two topics should not gather in one place. Kafka asks whether a standby would meet any task there that
it has not met anywhere (pairs). Two tasks have met if somebody has both, so there are no pairs to remember: ours goes
where it meets the fewest that it has met, among a few. For an active task the question is idle, as it comes first and
has not met any; they are spread by going round in task order.

What moves. An active task moves only if nobody here had it, or if its owner had more than its number. From one answer
to the next, if somebody left, the tasks of those who left move, and if somebody joined, as many as those who joined
get. No others among clients of one size (each gets the average, rounded down or up), nor with fewer tasks than
members; among clients of different sizes at most ``tasks % members`` others. If nothing changed nothing moves, standbys
included.

What it cannot see: sizes of tasks, lags. Kafka walks Java hash maps here, so its ties are accidents of hashing; ours
are decided by the number of members, then by the signed order of process ids, whatever the order of the input.
Java: ``StickyTaskAssignor`` (0.11 to 2.5 default).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from assignor.client_state import ClientState, in_order
from assignor.sticky_shares import Shares, least_loaded, share_out
from assignor.sticky_standbys import Places, place_standbys
from subscription_codec import TaskId

NOBODY: Final = -1


def assign_tasks(
    clients: Iterable[ClientState], tasks: Iterable[TaskId], stateful: Collection[TaskId], standbys: int = 0
) -> None:
    """Fill ``active`` and ``standby`` of the clients. Each task becomes active once; with fewer clients than copies,
    there are fewer standbys. Standbys are for ``stateful`` tasks only (Java: from 2.6 on; earlier for all).
    """
    ordered, ids = in_order(clients), sorted(dict.fromkeys(tasks))
    if not ordered:
        return
    capacities = [client.capacity for client in ordered]
    was_active, was_standby = _who_had(ordered, ids)
    owners = _place_active(capacities, ids, was_active, was_standby)
    for task, owner in zip(ids, owners, strict=True):
        ordered[owner].active.add(task)
    copies = min(standbys, len(ordered) - 1)
    if copies > 0:
        wanting = [number for number, task in enumerate(ids) if task in stateful]
        for number, places in place_standbys(capacities, owners, was_active, was_standby, wanting, copies):
            for place in places:
                ordered[place].standby.add(ids[number])


def _who_had(clients: Sequence[ClientState], ids: Sequence[TaskId]) -> tuple[Places, Places]:
    """Say for each task who had it active, and who as a standby."""
    numbers = {task: number for number, task in enumerate(ids)}
    nobody: list[int] = []
    was_active, was_standby = [nobody] * len(ids), [nobody] * len(ids)
    for place, client in enumerate(clients):
        for previous, had in ((client.previous_active, was_active), (client.previous_standby, was_standby)):
            for task in previous:
                number = numbers.get(task)
                if number is not None:
                    if had[number]:
                        had[number].append(place)
                    else:
                        had[number] = [place]
    return was_active, was_standby


def _place_active(
    capacities: Sequence[int], ids: Sequence[TaskId], was_active: Places, was_standby: Places
) -> list[int]:
    """Return the client of each task."""
    owners, had = _owners(capacities, was_active)
    shares = share_out(capacities, had, len(ids))
    excess = [count - keep for count, keep in zip(had, shares.keep, strict=True)]
    room = _Room(capacities, shares, len(ids))
    _move_to_who_had_it(owners, excess, room, was_active, orphans=False)
    _move_to_who_had_it(owners, excess, room, was_standby, orphans=True)
    _move_to_who_had_it(owners, excess, room, was_standby, orphans=False)
    _give_up(owners, excess, ids)
    homeless = [number for number, owner in enumerate(owners) if owner == NOBODY]
    for number, place in zip(homeless, room.left(), strict=False):
        owners[number] = place
    return owners


def _owners(capacities: Sequence[int], was_active: Places) -> tuple[list[int], list[int]]:
    """Return whose each task was, and how many each client had. Of several who say so it is the least loaded."""
    owners = [places[0] if len(places) == 1 else NOBODY for places in was_active]
    had = [0] * len(capacities)
    for owner in owners:
        if owner != NOBODY:
            had[owner] += 1
    for number, places in enumerate(was_active):
        if len(places) > 1:
            owners[number] = min(places, key=lambda place: (had[place] / capacities[place], -capacities[place]))
            had[owners[number]] += 1
    return owners, had


class _Room:
    """Who may still get a task, so that in the end everybody has its share."""

    def __init__(self, capacities: Sequence[int], shares: Shares, tasks: int) -> None:
        self._capacities, self._low, self._high = capacities, shares.low, shares.high
        self._counts = shares.keep[:]
        lacking = sum(max(0, low - keep) for low, keep in zip(shares.low, shares.keep, strict=True))
        self._spare = tasks - sum(shares.keep) - lacking

    def take(self, places: Iterable[int]) -> int:
        """Take room for a task at the least loaded of ``places``, if at any."""
        counts, capacities = self._counts, self._capacities
        able = [
            (counts[place] / capacities[place], -capacities[place], place)
            for place in places
            if counts[place] < (self._high if self._spare else self._low)[place]
        ]
        if not able:
            return NOBODY
        place = min(able)[-1]
        self._spare -= counts[place] >= self._low[place]
        counts[place] += 1
        return place

    def left(self) -> Iterator[int]:
        """Take what is left, at the least loaded first: so those that lack some of their share come before others."""
        return least_loaded(self._capacities, self._counts, self._high)


def _move_to_who_had_it(owners: list[int], excess: list[int], room: _Room, had: Places, *, orphans: bool) -> None:
    """Find a warm place for tasks that nobody owns (``orphans``), or else for those of owners who have too many."""
    for number, owner in enumerate(owners):
        if had[number] and (owner == NOBODY if orphans else owner != NOBODY and excess[owner]):
            place = room.take(had[number])
            if place != NOBODY:
                owners[number] = place
                if not orphans:
                    excess[owner] -= 1


def _give_up(owners: list[int], excess: Sequence[int], ids: Sequence[TaskId]) -> None:
    """Take what is too much from its owner, from the subtopologies of which it has most, so that it keeps a mixture."""
    if not any(excess):
        return
    owned: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    seen: Counter[tuple[int, int, str | None]] = Counter()
    for number, (owner, task) in enumerate(zip(owners, ids, strict=True)):
        if owner != NOBODY and excess[owner]:
            kind = (owner, task.subtopology, task.topology)
            owned[owner].append((seen[kind], number))
            seen[kind] += 1
    for owner, ranked in owned.items():
        for _, number in sorted(ranked)[-excess[owner] :]:
            owners[number] = NOBODY
