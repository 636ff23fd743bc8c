"""The high-availability task assignor (KIP-441): an even assignment in the end, a running one until then.

How it works. (1) Stateful tasks are dealt to the clients in turn and evened out; (2) standbys go to the least loaded,
and are evened out. If racks count, both are then brought nearer to what they read (``rack_aware``). That is what the
group is heading for: it does not depend on who has what. (3) Where a client is too far behind on what it would get
(``acceptable.recovery.lag``), somebody who has caught up does its work, while it warms up; a follow-up rebalance then
looks again, until nobody has to wait any longer. (4) Stateless tasks fill up, and are brought nearer, too.

Equal to Kafka's, task by task (with racks: at no greater cost), but not by the same steps: Kafka looks at all pairs of
clients, and at all clients for every task. Java: ``HighAvailabilityTaskAssignor`` (default from 2.6 on).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from heapq import heapify, heapreplace
from typing import Final

from assignor import lags
from assignor.assignment_configs import AssignmentConfigs
from assignor.balance import balance, everybody, with_its_tags
from assignor.client_state import RUNNING, UNKNOWN_LAG, ClientState, in_order
from assignor.movements import Rules, move
from assignor.placing import Placing, Reasons, Why, explain
from assignor.rack_aware import RackAware
from assignor.racks import HIGH_AVAILABILITY, STATELESS, Costs, Racks
from assignor.rearranging import Move
from assignor.standby import add_standbys, add_standbys_by_tags
from subscription_codec import TaskId
from upgrade import UnknownRelease, number_of

NEWEST: Final = Rules()

_CHANGES: Final = (
    ((3, 3), NEWEST),
    ((3, 2), Rules(heap_array_order=True)),
    ((2, 6), Rules(client_tags=False, min_lag_candidates=False, heap_array_order=True)),
)
"""The rules from a release on."""


def rules_of(release: str) -> Rules:
    """Return the rules of a release of Kafka (``3.2.3``) or of a line (``3.2``); what is not Kafka's has the newest.

    >>> rules_of("2.8.2").min_lag_candidates
    False
    """
    number = number_of(release)
    for since, rules in _CHANGES:
        if number >= since:
            return rules
    raise UnknownRelease(f"release {release!r} has no high-availability assignor, which came with 2.6")


_DEFAULTS: Final = AssignmentConfigs()


def assign_tasks(
    clients: Iterable[ClientState],
    tasks: Iterable[TaskId],
    stateful: Collection[TaskId],
    config: AssignmentConfigs = _DEFAULTS,
    rules: Rules = NEWEST,
    reasons: Reasons | None = None,
    racks: Racks | None = None,
) -> bool:
    """Fill ``active`` and ``standby`` of the clients; return whether a follow-up rebalance should look again.

    Needs the ``lags`` of all clients for all stateful tasks; a missing one raises ``FatalError``, as the leader dies.
    ``reasons``, if given, is filled with why each client has what it has. With ``racks``, those count if that is
    configured and all of them are known (``Racks.why_not``).
    """
    ordered = in_order(clients)
    if not ordered:
        return False
    ids = sorted(set(tasks) | set(stateful))
    placing = Placing.of(ordered, sorted(stateful), explained=reasons is not None)
    by_rack = RackAware.of(ordered, ids, placing.tasks, config, racks)
    costs = HIGH_AVAILABILITY.configured(config)
    _deal(placing)
    if by_rack:
        _note(placing, by_rack.actives(placing.tasks, placing.owner, costs))
    _add_standbys(placing, config, rules, by_rack, costs)
    known = lags.read(ordered, placing.tasks, config.acceptable_recovery_lag)
    followup = move(placing, known, rules, config.max_warmup_replicas)
    _hand_out(placing)
    stateless = Placing.of(ordered, sorted(set(ids).difference(placing.tasks)), explained=reasons is not None)
    _add_stateless(stateless)
    if by_rack:
        _note(stateless, by_rack.actives(stateless.tasks, stateless.owner, STATELESS))
    _hand_out(stateless)
    if reasons is not None:
        explain(reasons, stateless.why or {}, ordered, stateless.tasks)
        explain(
            reasons, placing.why or {}, ordered, placing.tasks, lambda client, task: _behind(known.of(client, task))
        )
    return followup


def _note(placing: Placing, moves: Iterable[Move]) -> None:
    for task, left, client in moves:
        placing.note(task, client, Why.RACKS, left)


def _deal(placing: Placing) -> None:
    """Deal the tasks in turn, and even out where clients have different numbers of members."""
    number = len(placing.clients)
    shares = [list(range(client, len(placing.tasks), number)) for client in range(number)]
    placing.count = [len(share) for share in shares]
    for task in range(len(placing.tasks)):
        placing.owner[task] = task % number
        placing.note(task, task % number, Why.DEALT)

    def move_active(task: int, _source: int, destination: int) -> None:
        placing.owner[task] = destination

    balance(placing, shares, move_active, everybody(placing))


def _add_standbys(
    placing: Placing, config: AssignmentConfigs, rules: Rules, by_rack: RackAware | None, costs: Costs
) -> None:
    if not config.num_standby_replicas:
        return
    by_tags = rules.client_tags and bool(config.rack_aware_assignment_tags)
    if by_tags:
        add_standbys_by_tags(placing, config.num_standby_replicas, config.rack_aware_assignment_tags)
    else:
        add_standbys(placing, config.num_standby_replicas)
    shares: list[list[int]] = [[] for _ in placing.clients]
    for task, standbys in enumerate(placing.standbys):
        for client in standbys:
            shares[client].append(task)

    def move_standby(task: int, source: int, destination: int) -> None:
        placing.standbys[task].remove(source)
        placing.standbys[task].add(destination)

    balance(placing, shares, move_standby, with_its_tags(placing) if by_tags else everybody(placing))
    if by_rack:
        actives = [[owner] for owner in placing.owner]
        _note(placing, by_rack.standbys(placing.tasks, actives, placing.standbys, costs, by_tags))


def _hand_out(placing: Placing) -> None:
    clients = placing.clients
    for task, owner, standbys in zip(placing.tasks, placing.owner, placing.standbys, strict=True):
        clients[owner].active.add(task)
        for client in standbys:
            clients[client].standby.add(task)


def _add_stateless(placing: Placing) -> None:
    """Give each task to the client with the fewest active tasks per member; standbys do not count here."""
    count = [len(client.active) for client in placing.clients]
    by_load = [(many / capacity, at) for at, (many, capacity) in enumerate(zip(count, placing.capacity, strict=True))]
    heapify(by_load)
    for task in range(len(placing.tasks)):
        at = by_load[0][1]
        placing.owner[task] = at
        placing.note(task, at, Why.STATELESS)
        count[at] += 1
        heapreplace(by_load, (count[at] / placing.capacity[at], at))


def _behind(lag: int) -> str:
    return f" ({_LAGS.get(lag, f'{lag} behind')})"


_LAGS: Final = {RUNNING: "was active here", UNKNOWN_LAG: "its lag is not known"}
