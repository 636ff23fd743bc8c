"""The fallback-prior task assignor: everybody goes on with what it had, and the group tries again soon.

Kafka takes it when it cannot find out how far the clients are behind (the end offsets could not be read), so nothing
good can be decided. How it works. (1) Every task stays with the client that had it active, however uneven that is.
(2) How many of the others each client gets is decided first, as evenly as that can still be (``sticky_shares.deal``).
(3) Within that they go to clients that had them as a standby; (4) the rest, in task order, to the least loaded.
(5) Standbys stay likewise, unless their client is full while others have room; never beside their active.

Kafka walks Java hash maps here, and prefers clients where a task meets tasks it has never met; ties are decided by the
number of members and the signed order of process ids here. Java: ``FallbackPriorTaskAssignor`` (2.6 and later).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from fractions import Fraction

from assignor.by_load import ByLoad
from assignor.client_state import ClientState, in_order
from assignor.placing import Reasons, Why
from assignor.sticky_shares import deal, least_loaded
from subscription_codec import TaskId

_Say = Callable[[TaskId, ClientState, Why], None]


def assign_tasks(
    clients: Iterable[ClientState],
    tasks: Iterable[TaskId],
    stateful: Collection[TaskId],
    standbys: int = 0,
    reasons: Reasons | None = None,
) -> bool:
    """Fill ``active`` and ``standby`` of the clients; return that a follow-up rebalance is wanted, as it always is.

    ``reasons``, if given, is filled with why each client has what it has.
    """
    ordered, ids = in_order(clients), sorted(set(tasks))
    if not ordered:
        return True

    def say(task: TaskId, client: ClientState, why: Why) -> None:
        if reasons is not None:
            reasons[task, client.process_id] = why.value

    _place_active(ordered, ids, say)
    _add_standbys(ordered, [task for task in ids if task in stateful], standbys, say)
    return True


def _place_active(clients: list[ClientState], ids: list[TaskId], say: _Say) -> None:
    # Of several who claim a task the last one is its active owner, as in Kafka's map order.
    owner = {task: at for at, client in enumerate(clients) for task in client.previous_active}
    stood = _who_stood_by(clients)
    capacities, counts = [client.capacity for client in clients], [0] * len(clients)

    def give(task: TaskId, at: int, why: Why) -> None:
        clients[at].active.add(task)
        say(task, clients[at], why)

    for task in [task for task in ids if task in owner]:
        counts[owner[task]] += 1
        give(task, owner[task], Why.KEPT)
    most = _numbers(capacities, counts, len(ids))
    nobodys = []
    for task in [task for task in ids if task not in owner]:
        able = [at for at in stood.get(task, ()) if counts[at] < most[at]]
        if able:
            at = min(able, key=lambda at: (counts[at] / capacities[at], -capacities[at]))
            counts[at] += 1
            give(task, at, Why.STANDBY_TAKES_OVER)
        else:
            nobodys.append(task)
    for task, at in zip(nobodys, least_loaded(capacities, counts, most), strict=False):
        give(task, at, Why.NEW)


def _who_stood_by(clients: list[ClientState]) -> dict[TaskId, list[int]]:
    stood: dict[TaskId, list[int]] = {}
    for at, client in enumerate(clients):
        for task in client.previous_standby:
            stood.setdefault(task, []).append(at)
    return stood


def _numbers(capacities: list[int], counts: list[int], tasks: int) -> list[int]:
    """Say how many each gets: the rest goes to the least loaded, or those least loaded with it, if that is fairer."""

    def spread(dealt: list[int]) -> Fraction:
        loads = [*map(Fraction, dealt, capacities)]
        return max(loads) - min(loads)

    return min((deal(capacities, counts, tasks, ahead=ahead) for ahead in (0, 1)), key=spread)


def _add_standbys(clients: list[ClientState], ids: list[TaskId], standbys: int, say: _Say) -> None:
    by_load = ByLoad(len(clients), lambda at: (clients[at].load, -clients[at].capacity))
    previous = _who_stood_by(clients)
    for task in ids:
        for _ in range(min(standbys, len(clients) - 1)):
            at, why = _place_for(clients, task, previous.get(task, []), by_load)
            clients[at].standby.add(task)
            say(task, clients[at], why)
            by_load.changed(at)


def _place_for(clients: list[ClientState], task: TaskId, previous: list[int], by_load: ByLoad) -> tuple[int, Why]:
    def lacks(at: int) -> bool:
        return task not in clients[at].active and task not in clients[at].standby

    mine = min(filter(lacks, previous), key=by_load.key, default=None)
    if mine is not None and not (
        clients[mine].full and clients[by_load.least()].has_more_available_than(clients[mine])
    ):
        return mine, Why.STAYS_STANDBY
    return by_load.least(lacks), Why.STANDBY
