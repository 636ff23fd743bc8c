"""Tasks to members: how the tasks of a client are dealt to the members inside its process.

A task assignor looks at processes; but it is the members (in Kafka, the stream threads) that get partitions. Each era
of Kafka deals differently, and what a member had before counts for more and more. Members are always taken in the order
of their ids. Java: ``interleaveConsumerTasksByGroupId``, ``tryStickyAndBalancedTaskAssignmentWithinClient``,
``assignTasksToThreads``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, cycle
from typing import Final

from attrs import field, frozen

from subscription_codec import TaskId

NOTHING_HAD: Final[Mapping[str, Sequence[TaskId]]] = {}
NOT_IN_THIS_PROCESS: Final = ""
"""Stands for an owner that is a member of another process; which one does not matter."""


@frozen
class Share:
    """What one member gets: its active and standby tasks, each in order."""

    active: tuple[TaskId, ...] = ()
    standby: tuple[TaskId, ...] = ()


def _in_order(members: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(members))


def _tasks(tasks: Iterable[TaskId]) -> frozenset[TaskId]:
    return frozenset(tasks)


@frozen(kw_only=True)
class Crew:
    """A client whose tasks are to be dealt: its members, what the task assignor gave it, and who had what.

    ``had`` are the stateful tasks of which a member has state, least behind first. ``owners`` says, for tasks whose
    partitions somebody still owns (KIP-429), who that is: members of this process by id, others as
    ``NOT_IN_THIS_PROCESS``.
    """

    members: tuple[str, ...] = field(converter=_in_order)
    active: frozenset[TaskId] = field(converter=_tasks)
    standby: frozenset[TaskId] = field(default=frozenset(), converter=_tasks)
    stateful: frozenset[TaskId] = frozenset()
    had: Mapping[str, Sequence[TaskId]] = NOTHING_HAD
    owners: Mapping[TaskId, frozenset[str]] = field(factory=dict)


Deal = Callable[[Sequence[Crew], bool], dict[str, Share]]
"""Deals the tasks of all clients, in their order; the flag says whether this is a version probing rebalance."""

_Hands = dict[str, list[TaskId]]


def in_turn(crews: Sequence[Crew], _probing: bool) -> dict[str, Share]:
    """Up to 2.3: everybody gets one task, then everybody the next.

    >>> crew = Crew(members=["b", "a"], active=[TaskId(0, 0), TaskId(0, 1), TaskId(1, 0)])
    >>> [str(task) for task in in_turn([crew], False)["a"].active]
    ['0_0', '1_0']
    """
    return _shares((_in_turn(crew.active, crew.members), _in_turn(crew.standby, crew.members)) for crew in crews)


def stay_or_in_turn(crews: Sequence[Crew], probing: bool) -> dict[str, Share]:
    """2.4 and 2.5: active tasks stay with their members if that can be done without taking one from somebody else.

    Once a client cannot have that, a further rebalance is due in any case, and none of the clients after it tries.
    """
    unavoidable = probing

    def dealt(crew: Crew) -> _Hands:
        nonlocal unavoidable
        staying = None if unavoidable or not crew.owners else _staying(crew)
        unavoidable |= bool(crew.owners) and staying is None
        return _in_turn(crew.active, crew.members) if staying is None else staying

    return _shares((dealt(crew), _in_turn(crew.standby, crew.members)) for crew in crews)


def by_lag(crews: Sequence[Crew], _probing: bool) -> dict[str, Share]:
    """2.6 to 3.1: stateful tasks go back to the member that has most of their state, as long as that is fair.

    Then stateless tasks fill up; standbys are dealt as stateful tasks are, without a look at how many active ones
    somebody has.
    """
    return _shares(
        (_with_stateless(_filled(crew.active & crew.stateful, crew, {}), crew), _filled(crew.standby, crew, {}))
        for crew in crews
    )


def by_lag_and_load(crews: Sequence[Crew], _probing: bool) -> dict[str, Share]:
    """3.2 and later: stateful, standby and stateless tasks one after the other, evenly in sum."""

    def dealt(crew: Crew) -> tuple[_Hands, _Hands]:
        load: dict[str, int] = {}
        stateful = _filled(crew.active & crew.stateful, crew, load)
        standby = _filled(crew.standby, crew, load)
        stateless = _filled(crew.active - crew.stateful, crew, load, forgetting=True)
        return {member: stateful[member] + stateless[member] for member in crew.members}, standby

    return _shares(map(dealt, crews))


def _shares(dealt: Iterable[tuple[_Hands, _Hands]]) -> dict[str, Share]:
    return {
        member: Share(tuple(sorted(tasks)), tuple(sorted(standby[member])))
        for active, standby in dealt
        for member, tasks in active.items()
    }


def _in_turn(tasks: Iterable[TaskId], members: Sequence[str]) -> _Hands:
    ordered = sorted(tasks)
    return {member: ordered[place :: len(members)] for place, member in enumerate(members)}


def _staying(crew: Crew) -> _Hands | None:
    """Leave every task with its owner; None if an owner is elsewhere, has too many, or shares the task with another."""
    most = -(-len(crew.active) // len(crew.members))
    hands: _Hands = {member: [] for member in crew.members}
    new = []
    for task in sorted(crew.active):
        owners = crew.owners.get(task, frozenset())
        if not owners:
            new.append(task)
            continue
        owner, *others = owners
        if others or owner not in hands or len(hands[owner]) >= most:
            return None
        hands[owner].append(task)
    unfilled = deque(member for member, hand in hands.items() if len(hand) < most)
    for task in new:
        member = unfilled.popleft()
        hands[member].append(task)
        if len(hands[member]) < most:
            unfilled.append(member)
    return hands


def _filled(tasks: frozenset[TaskId], crew: Crew, load: dict[str, int], *, forgetting: bool = False) -> _Hands:
    """Deal ``tasks`` so that everybody ends up with equally many, counting what they have already (``load``).

    First everybody takes back what it had, up to the fair number; then whoever has less is filled up with the lowest
    tasks; what is left goes one each to those who have exactly the fair number, the previous owner first. ``load`` is
    added to. ``forgetting`` looks at nobody's past.
    """
    fair = (sum(load.values()) + len(tasks)) // len(crew.members)
    room = {member: fair - load.get(member, 0) for member in crew.members}
    hands: _Hands = {member: [] for member in crew.members}
    left = set(tasks)
    wanted: dict[TaskId, str] = {}
    for member, hand in hands.items():
        for task in () if forgetting else crew.had.get(member, ()):
            if task in left and len(hand) < room[member]:
                hand.append(task)
                left.remove(task)
            elif task in left:
                wanted[task] = member
    lowest = deque(sorted(left))
    unfilled = deque(member for member, hand in hands.items() if len(hand) < room[member])
    while unfilled:
        member = unfilled.popleft()
        hands[member].append(lowest.popleft())
        if len(hands[member]) < room[member]:
            unfilled.append(member)
    with_the_fair_number = [member for member, hand in hands.items() if len(hand) == room[member]]
    _deal_the_rest(set(lowest), with_the_fair_number, wanted, hands)
    for member, hand in hands.items():
        load[member] = load.get(member, 0) + len(hand)
    return hands


def _deal_the_rest(left: set[TaskId], members: list[str], wanted: Mapping[TaskId, str], hands: _Hands) -> None:
    """Give one task more to some members. Fewer tasks than members are left here."""
    for task, member in sorted(wanted.items()):
        if task in left and member in members:
            hands[member].append(task)
            left.remove(task)
            members.remove(member)
    for task, member in zip(sorted(left), members, strict=False):
        hands[member].append(task)


def _with_stateless(hands: _Hands, crew: Crew) -> _Hands:
    """Add the stateless tasks: first to those who have one less than the others, then in turn."""
    number = [len(hand) for hand in hands.values()]
    short = [member for member, hand in hands.items() if len(hand) < max(number)]
    for task, member in zip(sorted(crew.active - crew.stateful), chain(short, cycle(crew.members)), strict=False):
        hands[member].append(task)
    return hands
