"""The sticky task assignor: tasks stay where they are as long as that is fair, the rest goes to the least loaded.

How it works. (1) Each task goes back to the client that had it active, up to a quota; (2) what is left goes to one that
had it as a standby, under the same quota; (3) the rest, in task order, to the least loaded client, preferring one
where it meets tasks it has not been together with (pairs), so that not all partitions of two topics gather in one
place. (4) Standbys follow by the same rule, never beside their active.

What it cannot see: sizes of tasks, lags. Kafka walks Java hash maps here, so its ties are accidents of hashing; ours
are decided by task id and by the signed order of process ids, whatever the order of the input.
Java: ``StickyTaskAssignor`` (0.11 to 2.5 default).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from assignor.client_state import ClientState, in_order
from subscription_codec import TaskId


def assign_tasks(
    clients: Iterable[ClientState], tasks: Iterable[TaskId], stateful: Collection[TaskId], standbys: int = 0
) -> None:
    """Fill ``active`` and ``standby`` of the clients. Each task becomes active once; with fewer clients than copies,
    there are fewer standbys. Standbys are for ``stateful`` tasks only (Java: from 2.6 on; earlier for all).
    """
    ordered, sorted_tasks = in_order(clients), sorted(tasks)
    if not ordered:
        return
    pairs = _Pairs(sorted_tasks)
    for task in _keep_previous(ordered, sorted_tasks, pairs):
        client = _best(ordered, ordered, task, pairs)
        pairs.place(task, client)
        client.active.add(task)
    for task in sorted_tasks:
        if task in stateful:
            _add_standbys(ordered, task, standbys, pairs)


class _Pairs:
    """Which tasks have been put together so far."""

    def __init__(self, tasks: Sequence[TaskId]) -> None:
        self.seen: set[frozenset[TaskId]] = set()
        self.most = len(tasks) * (len(tasks) - 1) // 2

    def place(self, task: TaskId, client: ClientState) -> None:
        """Note that ``task`` comes to what ``client`` has already."""
        self.seen.update(frozenset((task, other)) for other in client.tasks)

    def has_new(self, task: TaskId, client: ClientState) -> bool:
        """Whether ``task`` would meet a task there that it has not met anywhere."""
        return len(self.seen) < self.most and any(frozenset((task, other)) not in self.seen for other in client.tasks)


def _keep_previous(clients: Sequence[ClientState], tasks: Sequence[TaskId], pairs: _Pairs) -> list[TaskId]:
    """Give tasks back to previous active clients, then to previous standby clients; return the tasks that are left."""
    quota = len(tasks) // sum(client.capacity for client in clients)
    left = list(tasks)
    for previously in ("previous_active", "previous_standby"):
        # Of several who claim a task the last one is its active owner (as in Kafka's map order), the first its standby.
        claims = clients if previously == "previous_active" else reversed(clients)
        owner = {task: client for client in claims for task in getattr(client, previously)}
        still_left = []
        for task in left:
            client = owner.get(task)
            if client is not None and len(client.active) < client.capacity * quota:
                pairs.place(task, client)
                client.active.add(task)
            else:
                still_left.append(task)
        left = still_left
    return left


def _add_standbys(clients: Sequence[ClientState], task: TaskId, standbys: int, pairs: _Pairs) -> None:
    for _ in range(standbys):
        candidates = [client for client in clients if task not in client.active and task not in client.standby]
        if not candidates:
            return
        client = _best(candidates, clients, task, pairs)
        pairs.place(task, client)
        client.standby.add(task)


def _best(candidates: Sequence[ClientState], group: Sequence[ClientState], task: TaskId, pairs: _Pairs) -> ClientState:
    """Choose one of ``candidates``: a previous owner if that is fair, else the least loaded."""
    if len(candidates) == 1:
        return candidates[0]
    active = [client for client in candidates if task in client.previous_active]
    standby = [client for client in candidates if task in client.previous_standby]
    least_loaded_standby = _least_loaded(standby, task, pairs) if standby else None
    for previous in (*active[-1:], least_loaded_standby):
        if previous is not None and not _unfair(previous, group):
            return previous
    return _least_loaded(candidates, task, pairs)


def _unfair(client: ClientState, group: Iterable[ClientState]) -> bool:
    return client.full and any(other.has_more_available_than(client) for other in group)


def _least_loaded(candidates: Sequence[ClientState], task: TaskId, pairs: _Pairs) -> ClientState:
    """Return the least loaded client, if possible one where ``task`` makes a new pair."""
    for client in candidates:
        if not client.tasks:
            return client
    mixing = [client for client in candidates if pairs.has_new(task, client)]
    return min(mixing or candidates, key=lambda client: (client.load, -client.capacity))
