"""The high-availability task assignor (KIP-441): an even assignment in the end, a running one until then.

How it works. (1) Stateful tasks are dealt to the clients in turn and evened out; (2) standbys go to the least loaded,
and are evened out. That is what the group is heading for: it does not depend on who has what. (3) Where a client is
too far behind on what it would get (``acceptable.recovery.lag``), somebody who has caught up does its work, while it
warms up; a follow-up rebalance then looks again, until nobody has to wait any longer. (4) Stateless tasks fill up.

Equal to Kafka's, task by task, but not by the same steps: Kafka looks at all pairs of clients, and at all clients for
every task. Java: ``HighAvailabilityTaskAssignor`` (default from 2.6 on).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, MutableMapping
from heapq import heapify, heapreplace
from typing import Final
from uuid import UUID

from assignor import lags
from assignor.assignment_configs import AssignmentConfigs
from assignor.balance import balance, everybody, with_its_tags
from assignor.client_state import RUNNING, UNKNOWN_LAG, ClientState, in_order
from assignor.movements import Rules, move
from assignor.placing import Placing, Why
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

Reasons = MutableMapping[tuple[TaskId, UUID], str]
"""Why a client has a task."""


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
) -> bool:
    """Fill ``active`` and ``standby`` of the clients; return whether a follow-up rebalance should look again.

    Needs the ``lags`` of all clients for all stateful tasks; a missing one raises ``FatalError``, as the leader dies.
    ``reasons``, if given, is filled with why each client has what it has.
    """
    ordered = in_order(clients)
    if not ordered:
        return False
    placing = Placing.of(ordered, sorted(stateful), explained=reasons is not None)
    _deal(placing)
    _add_standbys(placing, config, rules)
    known = lags.read(ordered, placing.tasks, config.acceptable_recovery_lag)
    followup = move(placing, known, rules, config.max_warmup_replicas)
    _hand_out(placing)
    stateless = _add_stateless(ordered, sorted(set(tasks).difference(stateful)))
    if reasons is not None:
        reasons.update(_explained(placing, known) | dict.fromkeys(stateless, Why.STATELESS.value))
    return followup


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


def _add_standbys(placing: Placing, config: AssignmentConfigs, rules: Rules) -> None:
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


def _hand_out(placing: Placing) -> None:
    clients = placing.clients
    for task, owner, standbys in zip(placing.tasks, placing.owner, placing.standbys, strict=True):
        clients[owner].active.add(task)
        for client in standbys:
            clients[client].standby.add(task)


def _add_stateless(clients: list[ClientState], tasks: list[TaskId]) -> list[tuple[TaskId, UUID]]:
    """Give each task to the client with the fewest active tasks per member; standbys do not count here."""
    by_load = [(len(client.active) / client.capacity, at) for at, client in enumerate(clients)]
    heapify(by_load)
    given = []
    for task in tasks:
        at = by_load[0][1]
        clients[at].active.add(task)
        heapreplace(by_load, (len(clients[at].active) / clients[at].capacity, at))
        given.append((task, clients[at].process_id))
    return given


def _explained(placing: Placing, known: lags.Lags) -> dict[tuple[TaskId, UUID], str]:
    """Put the reasons into words, for those who have the task in the end."""
    explained = {}
    for (task, client), (reason, other) in (placing.why or {}).items():
        if placing.has(client, task):
            name = None if other is None else placing.clients[other].process_id
            lag = known.of(client, task)
            behind = _LAGS.get(lag, f"{lag} behind")
            explained[placing.tasks[task], placing.clients[client].process_id] = (
                f"{reason.value.format(other=name)} ({behind})"
            )
    return explained


_LAGS: Final = {RUNNING: "was active here", UNKNOWN_LAG: "its lag is not known"}
