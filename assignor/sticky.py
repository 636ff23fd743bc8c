"""The sticky task assignor: tasks stay where they are as long as that is fair, the rest goes to the least loaded.

How it works. (1) ``sticky_shares`` says how many tasks each client gets and how many of its own it keeps: as many as
fit between the loads of the least and the most loaded client of a fair deal. (2) Tasks without an owner go to a client
that had them as a standby, if it may get more; so do tasks that their owner cannot keep. (3) Who still has too many
gives up those of its most numerous subtopologies; whatever is left goes to the least loaded, in task order.
(4) Standbys follow: ``sticky_standbys``. If racks count, active tasks change clients after (3) and standbys after
(4), as far as that is worth more than staying: ``rack_aware``.

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

from attrs import evolve

from assignor.assignment_configs import AssignmentConfigs
from assignor.client_state import ClientState, in_order
from assignor.placing import Note, Notes, Reasons, Why, explain
from assignor.rack_aware import RackAware
from assignor.racks import STATELESS, STICKY, Costs, Racks
from assignor.sticky_shares import Shares, least_loaded, share_out
from assignor.sticky_standbys import Places, place_standbys
from subscription_codec import TaskId

NOBODY: Final = -1


_DEFAULTS: Final = AssignmentConfigs()


def assign_tasks(
    clients: Iterable[ClientState],
    tasks: Iterable[TaskId],
    stateful: Collection[TaskId],
    standbys: int = 0,
    *,
    config: AssignmentConfigs = _DEFAULTS,
    racks: Racks | None = None,
    reasons: Reasons | None = None,
) -> None:
    """Fill ``active`` and ``standby`` of the clients. Each task becomes active once; with fewer clients than copies,
    there are fewer standbys. Standbys are for ``stateful`` tasks only (Java: from 2.6 on; earlier for all).

    Of ``config`` only the rack-aware strategy and costs count here. With ``racks``, those count if that is configured
    and all of them are known (``Racks.why_not``). ``reasons``, if given, is filled with why who has what.
    """
    ordered, ids = in_order(clients), sorted(dict.fromkeys(tasks))
    if not ordered:
        return
    notes: Notes = {}
    note = None if reasons is None else _noted_in(notes)
    capacities = [client.capacity for client in ordered]
    was_active, was_standby = _who_had(ordered, ids)
    owners = _place_active(capacities, ids, was_active, was_standby, note)
    wanting = [number for number, task in enumerate(ids) if task in stateful]
    by_rack = racks and RackAware.of(
        ordered, ids, [ids[task] for task in wanting], evolve(config, num_standby_replicas=standbys), racks
    )
    costs = STICKY.configured(config)
    if by_rack:
        _change_racks(by_rack, ids, owners, wanting, costs, note)
        _change_racks(by_rack, ids, owners, sorted({*range(len(ids))}.difference(wanting)), STATELESS, note)
    for task, owner in zip(ids, owners, strict=True):
        ordered[owner].active.add(task)
    copies = min(standbys, len(ordered) - 1)
    if copies > 0:
        places = [*place_standbys(capacities, owners, was_active, was_standby, wanting, copies, note)]
        if by_rack:
            _change_racks_of_standbys(by_rack, ids, owners, places, costs, note)
        for number, holders in places:
            for place in holders:
                ordered[place].standby.add(ids[number])
    if reasons is not None:
        explain(reasons, notes, ordered, ids)


def _noted_in(notes: Notes) -> Note:
    def note(task: int, place: int, why: Why, other: int | None = None) -> None:
        notes[task, place] = why, other

    return note


def _change_racks(
    by_rack: RackAware, ids: Sequence[TaskId], owners: list[int], some: Sequence[int], costs: Costs, note: Note | None
) -> None:
    """Bring some of the active tasks nearer to what they read."""
    theirs = [owners[task] for task in some]
    for task, left, place in by_rack.actives([ids[task] for task in some], theirs, costs):
        owners[some[task]] = place
        if note:
            note(some[task], place, Why.RACKS, left)


def _change_racks_of_standbys(
    by_rack: RackAware,
    ids: Sequence[TaskId],
    owners: Sequence[int],
    places: list[tuple[int, list[int]]],
    costs: Costs,
    note: Note | None,
) -> None:
    standbys = [set(holders) for _, holders in places]
    numbers = [number for number, _ in places]
    theirs, actives = [ids[number] for number in numbers], [[owners[number]] for number in numbers]
    moves = by_rack.standbys(theirs, actives, standbys, costs)
    places[:] = zip(numbers, map(sorted, standbys), strict=True)
    if note:
        for task, left, place in moves:
            note(numbers[task], place, Why.RACKS, left)


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
    capacities: Sequence[int], ids: Sequence[TaskId], was_active: Places, was_standby: Places, note: Note | None
) -> list[int]:
    """Return the client of each task."""
    owners, had = _owners(capacities, was_active)
    if note:
        for number, owner in enumerate(owners):
            if owner != NOBODY:
                note(number, owner, Why.KEPT, None)
    shares = share_out(capacities, had, len(ids))
    excess = [count - keep for count, keep in zip(had, shares.keep, strict=True)]
    room = _Room(capacities, shares, len(ids))
    _move_to_who_had_it(owners, excess, room, was_active, Why.ALSO_HAD_IT, note, orphans=False)
    _move_to_who_had_it(owners, excess, room, was_standby, Why.STANDBY_TAKES_OVER, note, orphans=True)
    _move_to_who_had_it(owners, excess, room, was_standby, Why.STANDBY_RELIEVES, note, orphans=False)
    given_up = _give_up(owners, excess, ids)
    homeless = [number for number, owner in enumerate(owners) if owner == NOBODY]
    for number, place in zip(homeless, room.left(), strict=False):
        owners[number] = place
        if note:
            note(number, place, Why.GIVEN_UP if number in given_up else Why.NEW, given_up.get(number))
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


def _move_to_who_had_it(
    owners: list[int], excess: list[int], room: _Room, had: Places, why: Why, note: Note | None, *, orphans: bool
) -> None:
    """Find a warm place for tasks that nobody owns (``orphans``), or else for those of owners who have too many."""
    for number, owner in enumerate(owners):
        if had[number] and (owner == NOBODY if orphans else owner != NOBODY and excess[owner]):
            place = room.take(had[number])
            if place != NOBODY:
                owners[number] = place
                if note:
                    note(number, place, why, owner)
                if not orphans:
                    excess[owner] -= 1


def _give_up(owners: list[int], excess: Sequence[int], ids: Sequence[TaskId]) -> dict[int, int]:
    """Take what is too much from its owner, from the subtopologies of which it has most, so that it keeps a mixture.

    Return what was taken, and from whom.
    """
    given_up: dict[int, int] = {}
    if not any(excess):
        return given_up
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
            given_up[number] = owner
    return given_up
