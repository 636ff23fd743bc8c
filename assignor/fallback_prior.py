"""The fallback-prior task assignor: everybody goes on with what it had, and the group tries again soon.

Kafka takes it when it cannot find out how far the clients are behind (the end offsets could not be read), so nothing
good can be decided. How it works. (1) Every task stays with the client that had it active, however uneven that is;
(2) what is left goes to one that had it as a standby, up to a quota; (3) the rest, in task order, to the least loaded.
(4) Standbys stay likewise, unless their client is full while others have room; never beside their active.

Kafka walks Java hash maps here, and prefers clients where a task meets tasks it has never met; ties are decided by the
number of members and the signed order of process ids here. Java: ``FallbackPriorTaskAssignor`` (2.6 and later).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from assignor.by_load import ByLoad
from assignor.client_state import ClientState, in_order
from subscription_codec import TaskId


def assign_tasks(
    clients: Iterable[ClientState], tasks: Iterable[TaskId], stateful: Collection[TaskId], standbys: int = 0
) -> bool:
    """Fill ``active`` and ``standby`` of the clients; return that a follow-up rebalance is wanted, as it always is."""
    ordered, ids = in_order(clients), sorted(set(tasks))
    if ordered:
        left = _stay(ordered, ids)
        by_load = ByLoad(len(ordered), lambda at: (ordered[at].load, -ordered[at].capacity))
        for task in left:
            at = by_load.least()
            ordered[at].active.add(task)
            by_load.changed(at)
        _add_standbys(ordered, [task for task in ids if task in stateful], standbys, by_load)
    return True


def _stay(clients: list[ClientState], ids: list[TaskId]) -> list[TaskId]:
    """Give tasks to those who had them; return those that nobody had, or had as a standby but may not get."""
    # Of several who claim a task the last one is its active owner (as in Kafka's map order), the first its standby.
    owner = {task: client for client in clients for task in client.previous_active}
    standby = {task: client for client in reversed(clients) for task in client.previous_standby}
    for task in ids:
        if task in owner:
            owner[task].active.add(task)
    quota = len(ids) // sum(client.capacity for client in clients)
    left = []
    for task in ids:
        client = standby.get(task)
        if task in owner:
            continue
        if client is not None and len(client.active) < client.capacity * quota:
            client.active.add(task)
        else:
            left.append(task)
    return left


def _add_standbys(clients: list[ClientState], ids: list[TaskId], standbys: int, by_load: ByLoad) -> None:
    previous: dict[TaskId, list[int]] = {}
    for at, client in enumerate(clients):
        for task in client.previous_standby:
            previous.setdefault(task, []).append(at)
    for task in ids:
        for _ in range(min(standbys, len(clients) - 1)):
            at = _place_for(clients, task, previous.get(task, []), by_load)
            clients[at].standby.add(task)
            by_load.changed(at)


def _place_for(clients: list[ClientState], task: TaskId, previous: list[int], by_load: ByLoad) -> int:
    def lacks(at: int) -> bool:
        return task not in clients[at].active and task not in clients[at].standby

    mine = min(filter(lacks, previous), key=by_load.key, default=None)
    if mine is not None and not (
        clients[mine].full and clients[by_load.least()].has_more_available_than(clients[mine])
    ):
        return mine
    return by_load.least(lacks)
