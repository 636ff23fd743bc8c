"""Cooperative rebalancing: nobody gets a task before its owner has given it up (KIP-429).

Members keep their partitions while they rejoin. A task that is to move is withheld for one rebalance, in which its
owner learns that it is no longer its own; who is waiting for it asks for the next rebalance at once.
Java: ``populateActiveTaskAndPartitionsLists``, ``buildStandbyTaskMap``, ``addClientAssignments``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from attrs import field, frozen

from assignor.dealing import Share
from assignor.eras import Interim
from assignor.group import Client
from assignor.topology import Tasks
from subscription_codec import NO_REBALANCE, TaskId, TopicPartition

AT_ONCE: Final = 0
"""The time of a rebalance that shall follow immediately."""


@frozen
class Given:
    """What one member really gets now, what it has to wait for, and when it shall ask for the next rebalance."""

    share: Share = field(factory=Share)
    withheld: tuple[TaskId, ...] = ()
    next_rebalance_ms: int = NO_REBALANCE


def hand_over(
    client: Client,
    shares: Mapping[str, Share],
    tasks: Tasks,
    claims: Mapping[TopicPartition, frozenset[str]],
    interim: Interim,
    follow_up: int | None,
) -> dict[str, Given]:
    """Withhold from the members of a client what others still own.

    ``claims`` are the owners of partitions (none if nobody cooperates). ``follow_up`` is when the client shall ask for
    a rebalance; one of its members does, unless one of them asks for one at once anyway.
    """
    given: dict[str, Given] = {}
    for each in client.members:
        share = shares[each.member]
        withheld = tuple(task for task in share.active if claims and _owned_by_others(each.member, tasks[task], claims))
        if withheld:
            kept = tuple(task for task in share.active if task not in withheld)
            share = Share(kept, tuple(sorted({*share.standby, *_interim(withheld, client, interim)})))
        when = AT_ONCE if withheld else NO_REBALANCE if follow_up is None else follow_up
        follow_up = None if when != NO_REBALANCE else follow_up
        given[each.member] = Given(share, withheld, when)
    return given


def _owned_by_others(
    member: str, partitions: Iterable[TopicPartition], claims: Mapping[TopicPartition, frozenset[str]]
) -> bool:
    return any(member not in claims[partition] for partition in partitions if partition in claims)


def _interim(withheld: Iterable[TaskId], client: Client, interim: Interim) -> Iterable[TaskId]:
    """Find the tasks whose state shall not be closed just because they wait for their owner."""
    if interim is Interim.NEVER:
        return ()
    had = client.state.previous_standby
    return [task for task in withheld if task in client.state.lags and (interim is Interim.IF_STATEFUL or task in had)]
