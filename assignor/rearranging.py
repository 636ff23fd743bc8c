"""Rearranging tasks so that the sum of all costs is least, with as many at each client as before.

How it works. A task is at a *place* and may go to any other; as nobody is to have more or less in the end, tasks go
round in circles. What a place costs a task depends on little: it is the same for all places in a *hall* (such as the
clients in one rack), except for the one where it is. So the network has an arc from a task to its own place and one to
each hall, not to each place; and where there are many halls, one to a *lobby*, behind which are all halls that cost it
the same. ``min_cost_flow`` says how many of each kind of task go through each of them, and how many each place takes.
Which of those who enter a hall takes which place in it does not matter.

It does where a task may not go, because it is there already in another way. Those are kept apart when places are given
out. If somebody is left over then, everything is done again with an arc for it to each single place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice

from attrs import define, field, frozen

from assignor.min_cost_flow import EVERYTHING, Network

Move = tuple[int, int, int]
"""A task, the place that it leaves and the place that it takes."""
_Leaving = tuple[int, int]
_Flows = list[tuple[int, int]]
"""Where to, and how many."""


@frozen
class Kind:
    """Tasks that are alike: in the same place, with the same costs.

    ``stays`` are places where they are, with what it costs to stay; ``enters`` are halls and lobbies, with what it
    costs to go there. ``barred`` are other places that are not for them. If there are any, or several ``stays``, the
    kind is a single task, and no place takes two copies of it.
    """

    tasks: Sequence[int]
    stays: Sequence[tuple[int, int]]
    enters: Sequence[tuple[int, int]]
    barred: Collection[int] = ()

    def closed(self) -> set[int]:
        """The places that it may not enter; none where anything goes."""
        open_to_all = len(self.stays) == 1 and not self.barred
        return set() if open_to_all else {*self.barred, *(place for place, _ in self.stays)}


@frozen
class House:
    """``halls`` are lists of places, ``lobbies`` lists of halls; lobbies are numbered on from the halls.

    Each place belongs to a client (``owners``) and has ``room`` for so many tasks; each client gets ``totals`` in all,
    which is exactly what there is.
    """

    halls: Sequence[Sequence[int]]
    lobbies: Sequence[Sequence[int]]
    owners: Sequence[int]
    room: Sequence[int]
    totals: Sequence[int]

    def behind(self, entrance: int) -> list[int]:
        """All places behind a hall or a lobby."""
        lobby = entrance - len(self.halls)
        halls = [entrance] if lobby < 0 else self.lobbies[lobby]
        return [place for hall in halls for place in self.halls[hall]]


def rearranged(kinds: Sequence[Kind], house: House) -> list[Move]:
    """Return which tasks move, and where, so that the sum of all costs is least; in the order of tasks."""
    single: set[int] = set()
    while True:
        moves, left_over = _read(_Plan(kinds, house, single))
        if not left_over:
            return sorted(moves)
        single |= left_over


@define(eq=False)
class _Plan:
    """What flows through a house. ``single`` are kinds with an arc to each single place.

    For each kind, ``staying`` has how many do at each of its places, ``entering`` where others go: to entrances, or to
    places if it is single. ``inside`` has how many go on from each entrance.
    """

    kinds: Sequence[Kind]
    house: House
    single: Collection[int]
    hall_of: dict[int, int] = field(init=False)
    staying: list[list[int]] = field(init=False)
    entering: list[_Flows] = field(init=False)
    inside: list[_Flows] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Build the network, and let it flow."""
        house, entrances = self.house, len(self.kinds)
        self.hall_of = {place: hall for hall, inside in enumerate(house.halls) for place in inside}
        places = entrances + len(house.halls) + len(house.lobbies)
        clients = places + len(house.owners)
        sink = clients + len(house.totals)
        network = Network(sink + 1)
        stays, enters = [], []
        for number, kind in enumerate(self.kinds):
            # Each task takes one of these ways, so that what they all cost may be left out.
            least = min(cost for _, cost in (*kind.stays, *kind.enters))
            many = len(kind.tasks)
            base, ways = (places, self._places(kind)) if number in self.single else (entrances, self._entrances(kind))
            stays.append([network.arc(number, places + place, many, cost - least) for place, cost in kind.stays])
            enters.append([(to, network.arc(number, base + to, room, cost - least)) for to, room, cost in ways])
        doors = [
            [(to, network.arc(entrances + entrance, base + to)) for to in behind]
            for entrance, (base, behind) in enumerate(
                [*((places, hall) for hall in house.halls), *((entrances, lobby) for lobby in house.lobbies)]
            )
        ]
        for place, owner in enumerate(house.owners):
            network.arc(places + place, clients + owner, house.room[place])
        for client, total in enumerate(house.totals):
            network.arc(clients + client, sink, total)
        network.send({number: len(kind.tasks) * len(kind.stays) for number, kind in enumerate(self.kinds)}, sink)
        self.staying = [[network.flow(arc) for arc in arcs] for arcs in stays]
        self.entering = [_flows(network, arcs) for arcs in enters]
        self.inside = [_flows(network, arcs) for arcs in doors]

    def _entrances(self, kind: Kind) -> Iterator[tuple[int, int, int]]:
        """Give the entrances of a kind, how many may go there, and at what cost."""
        closed, halls = kind.closed(), self.house.halls
        inside = [self.hall_of.get(place) for place in closed]
        for entrance, cost in kind.enters:
            by_door = closed and entrance < len(halls)
            yield entrance, len(halls[entrance]) - inside.count(entrance) if by_door else EVERYTHING, cost

    def _places(self, kind: Kind) -> Iterator[tuple[int, int, int]]:
        """Give every place of a kind, in the same way."""
        closed = kind.closed()
        for entrance, cost in kind.enters:
            yield from ((place, 1, cost) for place in self.house.behind(entrance) if place not in closed)


def _flows(network: Network, arcs: Sequence[tuple[int, int]]) -> _Flows:
    return [(to, flow) for to, arc in arcs if (flow := network.flow(arc))]


@frozen
class _Closed:
    """Which places are closed to a task, and its kind."""

    kind: int
    places: set[int]


def _read(plan: _Plan) -> tuple[list[Move], set[int]]:
    """Return the moves, and kinds of tasks that there was no place left for."""
    moves: list[Move] = []
    waiting: list[list[_Leaving]] = [[] for _ in plan.inside]
    closed: dict[_Leaving, _Closed] = {}
    for number, (kind, staying, entering) in enumerate(zip(plan.kinds, plan.staying, plan.entering, strict=True)):
        leaving = iter(
            [(task, at) for (at, _), many in zip(kind.stays, staying, strict=True) for task in kind.tasks[many:]]
        )
        if places := kind.closed():
            closed |= dict.fromkeys([(kind.tasks[0], at) for at, _ in kind.stays], _Closed(number, places))
        for to, many in entering:
            if number in plan.single:
                moves.append((*next(leaving), to))
            else:
                waiting[to] += islice(leaving, many)
    halls = len(plan.house.halls)
    for comers, behind in zip(waiting[halls:], plan.inside[halls:], strict=True):
        queue = iter(sorted(comers))
        for hall, many in behind:
            waiting[hall] += islice(queue, many)
    left_over: set[int] = set()
    for comers, behind in zip(waiting[:halls], plan.inside[:halls], strict=True):
        seated, others = _seated(sorted(comers), dict(behind), closed)
        moves += seated
        left_over |= others
    return moves, left_over


def _seated(
    comers: Sequence[_Leaving], free: dict[int, int], closed: Mapping[_Leaving, _Closed]
) -> tuple[list[Move], set[int]]:
    """Give the free places of a hall to those who enter, in turn. To whom the rest is closed, changes with another."""
    moves: list[Move] = []
    left_over: set[int] = set()
    for task, leaves in comers:
        mine = closed.get((task, leaves)) or _Closed(-1, set())
        place = next((place for place in free if place not in mine.places), None)
        if place is None:
            rest = next(iter(free))
            place = _given_up(moves, mine.places, rest, closed)
            if place is None:
                left_over.add(mine.kind)
                continue
            _take(free, rest)
        else:
            _take(free, place)
        mine.places.add(place)
        moves.append((task, leaves, place))
    return moves, left_over


def _given_up(moves: list[Move], not_these: set[int], rest: int, closed: Mapping[_Leaving, _Closed]) -> int | None:
    """Let somebody who has been given a place take ``rest`` instead, and return that place."""
    for at, (task, leaves, place) in enumerate(moves):
        its = closed.get((task, leaves)) or _Closed(-1, set())
        if place not in not_these and rest not in its.places:
            its.places.discard(place)
            its.places.add(rest)
            moves[at] = task, leaves, rest
            return place
    return None


def _take(free: dict[int, int], place: int) -> None:
    free[place] -= 1
    if not free[place]:
        del free[place]
