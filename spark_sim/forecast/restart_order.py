"""The cheapest order in which all instances of a group are restarted, by playing the restarts.

Cheap orders. An order is compared by the first of these in which it differs: what goes wrong, tasks that change their
process, state to restore (bytes as far as they are known, then offsets, then stores), rebalances, changes of the
leader.

How it is found. A group does not show which member leads, nor which one would next. So the order is sought for one of
the possible leaders, as members of one release decide alike, and then played for each, with each next leader. If that
leader can be of releases that behave differently, or have several task assignors, the costs with each are added. Up to
``MOST_EXACT`` instances the search is A*: it begins with the cheapest beginnings, takes beginnings that leave the group
in one state as one, and ends with the first whole order that it takes, so that no other is cheaper. The estimate of the
rest is what cannot be avoided: a rebalance for each instance that is not static, and a change of the leader if that has
still to restart. With more instances, or after ``MOST_PLAYS`` restarts played, the next restart is one that costs no
more than that, else the cheapest of a few.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import count, islice
from operator import add, sub
from random import Random
from typing import Any, Final, Self
from uuid import UUID

from attrs import asdict, astuple, define, evolve, frozen

from streams_assignor.spark_sim.forecast.assumptions import EITHER_PROTOCOL, assumptions
from streams_assignor.spark_sim.forecast.live_simulation import LiveSimulation
from streams_assignor.spark_sim.forecast.observation import ObservedGroup
from streams_assignor.spark_sim.forecast.operations import Operation
from streams_assignor.spark_sim.forecast.possibilities import MOST_LEADERS, possible_groups, with_standbys
from streams_assignor.spark_sim.model.scenario import Instance

MOST_EXACT: Final = 8
"""The most instances of which the cheapest order is searched for."""
MOST_PLAYS: Final = 10_000
"""The restarts played after which no search goes on."""
MOST_CANDIDATES: Final = 8
"""How many instances are compared as the next one where no search is made."""


@frozen(order=True)
class Cost:
    """The cost of restarts; compared in this order."""

    violations: int = 0
    """The failure."""
    moves: int = 0
    """How often a task changes its process."""
    bytes: int = 0
    """Of state to restore, as far as they are known."""
    offsets: int = 0
    """To restore, as far as they are known."""
    stores: int = 0
    """To restore."""
    rebalances: int = 0
    leader_changes: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(*map(add, astuple(self), astuple(other)))

    def __sub__(self, other: Cost) -> Cost:
        return Cost(*map(sub, astuple(self), astuple(other)))

    @classmethod
    def of(cls, simulation: LiveSimulation) -> Self:
        """Return what has happened to a group so far."""
        return cls(
            violations=len(simulation.violations),
            moves=simulation.moved_tasks,
            bytes=sum(store.bytes or 0 for store in simulation.restored),
            offsets=sum(store.offsets or 0 for store in simulation.restored),
            stores=len(simulation.restored),
            rebalances=simulation.coordinator.generation - 1,
            leader_changes=simulation.leader_changes,
        )


@frozen
class CostRange:
    """The costs of a restart, or of all, over the possibilities."""

    least: Cost
    most: Cost

    @classmethod
    def of(cls, costs: Sequence[Cost]) -> Self:
        """Return the range of costs; the cheapest and the dearest as a whole."""
        return cls(min(costs), max(costs))

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {"least": asdict(self.least), "most": asdict(self.most)}


@frozen(kw_only=True)
class RestartOrder:
    """An order in which all instances of a group are restarted."""

    group: str
    operation: Operation
    tasks: int
    restarts: tuple[tuple[str, CostRange], ...]
    """The processes in their order, each with what its restart costs."""
    cost: CostRange
    """Of all restarts."""
    after_session: CostRange
    """Of all in this order, if each is back only after the sessions of its members."""
    at_least: Cost
    """The cost of every order."""
    is_exact: bool
    """Whether no other order is cheaper."""
    plays: int
    """How many restarts were played."""
    leader: str
    """The process that leads now, as far as is known: the order is the cheapest for it; empty: the broker assigns."""
    leaders: tuple[str, ...]
    """The processes that may lead now: the costs are those of all of them."""
    violations: tuple[str, ...]
    """The failure in some possibility."""
    assumptions: tuple[str, ...]

    @property
    def is_safe(self) -> bool:
        """Whether nothing goes wrong, whoever leads."""
        return not self.violations

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "group": self.group,
            "step": str(self.operation),
            "processes": len(self.restarts),
            "tasks": self.tasks,
            "order": [{"process": process, "cost": cost.as_json()} for process, cost in self.restarts],
            "cost": self.cost.as_json(),
            "after_session": self.after_session.as_json(),
            "is_cheapest": self.is_exact,
            "at_least": asdict(self.at_least),
            "plays": self.plays,
            "leader": self.leader or None,
            "leaders": list(self.leaders),
            "violations": list(self.violations),
            "assumed": list(self.assumptions),
        }


def restart_order(
    observed: ObservedGroup,
    operation: Operation,
    *,
    now_ms: int,
    session_timeout_s: float | None = None,
    ephemeral: bool = False,
    most_plays: int = MOST_PLAYS,
    on_played: Callable[[int], object] = lambda _number: None,
) -> RestartOrder:
    """Find the cheapest order in which all instances of a group are restarted.

    Args:
        observed: The group.
        operation: ``restart all`` or ``upgrade all``.
        now_ms: As of ``forecast``.
        session_timeout_s: As of ``forecast``.
        ephemeral: As of ``forecast``.
        most_plays: The restarts played after which the search does not go on.
        on_played: Called with the number of restarts that are played, after each.

    Raises:
        ForecastError: No possibility repeats the last decision of the group.
    """
    observed = with_standbys(observed)
    names = sorted(process.name for process in observed.processes)
    ids = {name: new_process_id(name) for name in names}
    starts: dict[str, list[tuple[LiveSimulation, Mapping[str, Instance]]]] = {}
    protocols = set[str]()
    for possible in possible_groups(observed, names[:1], now_ms):
        started = {name: operation.instance or possible.instances[name] for name in names}
        group = possible.continued(now_ms, ids, ephemeral=ephemeral)
        starts.setdefault(possible.leading, []).append((group, started))
        protocols.add(possible.rebalance_protocol)
    return cheapest_order(
        [_played(*group) for group in next(iter(starts.values()))],
        [
            [_played(*group, process) for group in groups]
            for groups in starts.values()
            for process in _next_leaders(observed)
        ],
        {process.name: int(not process.is_static) for process in observed.processes},
        operation,
        on_played=on_played,
        most_plays=most_plays,
        group=observed.group.described.name,
        tasks=len(observed.tasks),
        leader=next(iter(starts)),
        leaders=tuple(starts),
        assumptions=(
            *assumptions(observed, session_timeout_s, ephemeral=ephemeral),
            *([EITHER_PROTOCOL] if len(protocols) > 1 else []),
            "the order is the cheapest if the member that is longest in the group leads next; costs are those of any",
            "a process that finds no process id draws one of several that are possible: assignors go by their order",
        ),
    )


@frozen(eq=False)
class PlayedGroup:
    """A group as it may be, after some restarts."""

    cost: Cost
    """Of the restarts until now."""
    state: Hashable
    """The key of the group's future: groups with equal ones do so alike."""
    restarted: Callable[[str, bool], PlayedGroup]
    """Returns the group after another restart, at rest: of which process, and whether it is back after its session."""
    leader: str = ""
    """The process that leads; empty: none."""
    violation_texts: Sequence[str] = ()
    """The failure."""


def cheapest_order(
    first: Sequence[PlayedGroup],
    possible: Sequence[Sequence[PlayedGroup]],
    rebalances: Mapping[str, int],
    operation: Operation,
    *,
    on_played: Callable[[int], object],
    most_plays: int = MOST_PLAYS,
    **facts: Any,
) -> RestartOrder:
    """Find the cheapest order for some groups, and play it for all that are possible.

    Args:
        first: The groups for which it is sought: their costs are added.
        possible: All groups.
        rebalances: How many a restart of each process costs at least, by its name.
        operation: The step.
        on_played: As of ``restart_order``.
        most_plays: As of ``restart_order``.
        facts: The fields of ``RestartOrder`` that no play decides.
    """
    search = _Search(rebalances, on_played)
    beginning, *starting = (_Beginning((), tuple(sorted(rebalances)), tuple(groups)) for groups in (first, *possible))
    order, is_exact = search.order(beginning, most_plays)
    played = [[start, *search.along(start, order)] for start in starting]
    # Whether an instance is back in time nobody knows before.
    late = [[*search.along(start, order, after_session=True)] for start in starting]
    ends, late_ends = ([group for *_, end in each for group in end.groups] for each in (played, late))
    return RestartOrder(
        operation=operation,
        restarts=tuple(
            (
                name,
                CostRange.of(
                    [
                        after - before
                        for steps in played
                        for before, after in zip(steps[number].costs, steps[number + 1].costs, strict=True)
                    ]
                ),
            )
            for number, name in enumerate(order)
        ),
        cost=CostRange.of([group.cost for group in ends]),
        after_session=CostRange.of([group.cost for group in late_ends]),
        at_least=evolve(search.unavoidable(beginning)[0], leader_changes=0),
        is_exact=is_exact,
        plays=search.plays,
        violations=tuple(dict.fromkeys(text for group in (*ends, *late_ends) for text in group.violation_texts)),
        **facts,
    )


def _next_leaders(observed: ObservedGroup) -> Sequence[str | None]:
    """Return the processes that are tried as the next leader, whenever one has gone; None: the longest in the group.

    In a large group only that: each more would play all of its restarts again.
    """
    is_small = len(observed.processes) <= MOST_LEADERS
    return None, *(process.name for process in observed.processes if is_small)


def new_process_id(process: str) -> UUID:
    """Return the process id that a process gets if it finds none: always the same, so that orders can be compared."""
    return UUID(int=Random(process).getrandbits(128))


def _played(simulation: LiveSimulation, started: Mapping[str, Instance], next_leader: str | None = None) -> PlayedGroup:
    """Return a classic group, with the next configuration of each process, and the process that leads next."""
    if next_leader is not None:
        simulation = simulation.fork()
        simulation.elect(next_leader)

    def restarted(process: str, after_session: bool) -> PlayedGroup:
        group = simulation.fork()
        if after_session:
            group.stop(process)
        group.start({process: started[process]}).finish()
        group.events.clear()  # nobody reads them, and there are many groups
        return _played(group, started)

    return PlayedGroup(Cost.of(simulation), simulation.state, restarted, simulation.leader, simulation.violation_texts)


@frozen(eq=False)
class _Beginning:
    """A group after the first restarts of an order."""

    restarted: tuple[str, ...]
    remaining: tuple[str, ...]
    groups: tuple[PlayedGroup, ...]
    """The group as it may be: with one leader, for each release and protocol that it can have."""

    @property
    def costs(self) -> list[Cost]:
        """The cost of the restarts until now, with each release."""
        return [group.cost for group in self.groups]

    @property
    def leaders(self) -> set[str]:
        """The processes that lead."""
        return {group.leader for group in self.groups}

    @property
    def state(self) -> Hashable:
        """The key of the group's future: beginnings with equal ones do so alike."""
        return self.remaining, *(group.state for group in self.groups)


@define(eq=False)
class _Search:
    """Plays restarts."""

    rebalances: Mapping[str, int]
    """How many a restart of each process costs at least; 0: its members are static."""
    on_played: Callable[[int], object]
    plays: int = 0

    def order(self, start: _Beginning, most_plays: int) -> tuple[tuple[str, ...], bool]:
        """Return an order, and whether none is cheaper."""
        if len(start.remaining) > MOST_EXACT:
            return self._greedy(start), False
        number = count()
        beginnings = [(self._estimate(start), 0, next(number), start)]
        passed = set[Hashable]()
        while True:
            *_, beginning = heappop(beginnings)
            if not beginning.remaining:
                return beginning.restarted, True
            if self.plays >= most_plays:
                return self._greedy(beginning), False
            state = beginning.state
            if state not in passed:
                passed.add(state)
                for name in beginning.remaining:
                    longer = self._restart(beginning, name)
                    heappush(beginnings, (self._estimate(longer), -len(longer.restarted), next(number), longer))

    def along(self, start: _Beginning, order: Iterable[str], *, after_session: bool = False) -> Iterator[_Beginning]:
        """Play an order; yield the group after each restart."""
        for name in order:
            start = self._restart(start, name, after_session=after_session)
            yield start

    def unavoidable(self, beginning: _Beginning) -> list[Cost]:
        """Return what every order of the remaining restarts costs at least, with each release of the leader."""
        dynamic = {name: least for name in beginning.remaining if (least := self.rebalances[name])}
        is_alone = len(self.rebalances) == 1
        return [
            Cost(rebalances=sum(dynamic.values()), leader_changes=int(not is_alone and group.leader in dynamic))
            for group in beginning.groups
        ]

    def _estimate(self, beginning: _Beginning) -> Cost:
        return sum((*beginning.costs, *self.unavoidable(beginning)), start=Cost())

    def _greedy(self, beginning: _Beginning) -> tuple[str, ...]:
        """Go on with a restart that costs no more than it must, else with the cheapest of some; the leader last."""
        while beginning.remaining:
            least, leaders = self._estimate(beginning), beginning.leaders
            candidates: list[_Beginning] = []
            for name in islice(sorted(beginning.remaining, key=leaders.__contains__), MOST_CANDIDATES):
                candidates.append(self._restart(beginning, name))
                if self._estimate(candidates[-1]) <= least:
                    break
            beginning = min(candidates, key=self._estimate)
        return beginning.restarted

    def _restart(self, beginning: _Beginning, process: str, *, after_session: bool = False) -> _Beginning:
        groups = []
        for before in beginning.groups:
            groups.append(before.restarted(process, after_session))
            self.plays += 1
            self.on_played(self.plays)
        remaining = tuple(name for name in beginning.remaining if name != process)
        return _Beginning((*beginning.restarted, process), remaining, tuple(groups))
