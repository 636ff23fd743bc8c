"""The broker's side of a classic consumer group: who is in it, which generation it is, who leads.

A simulated stand-in for Kafka's ``GroupCoordinator`` with what matters to an assignor: JoinGroup waits for every known
member or for its session to end, the leader stays leader as long as it is a member, and a member that leaves and comes
back gets a new member id at the end of the line. Time is a number that the caller hands in; nothing waits.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from copy import copy
from typing import Final

from attrs import frozen

SESSION_TIMEOUT_MS: Final = 10_000


class Phase(enum.Enum):
    """Where the group is between two generations."""

    EMPTY = "no members"
    PREPARING = "waiting for JoinGroup of all members"
    COMPLETING = "waiting for the leader's SyncGroup"
    STABLE = "assigned"


@frozen
class CompletedJoin:
    """What JoinGroup answers when a generation begins. ``subscriptions`` go to the leader only."""

    generation: int
    leader: str
    subscriptions: Mapping[str, bytes]


class Coordinator:
    """One group. Member ids are ``NAME-1``, ``NAME-2``, ... in the order of joining."""

    def __init__(self, session_timeout_ms: int = SESSION_TIMEOUT_MS) -> None:
        self.session_timeout_ms = session_timeout_ms
        self.elects_newest = False
        self.generation = 0
        self.phase = Phase.EMPTY
        self.leader: str | None = None
        self._subscriptions: dict[str, bytes] = {}  # in the order of joining
        self._joined: set[str] = set()
        self._heard_at: dict[str, int] = {}
        self._ids_given = 0

    @property
    def members(self) -> tuple[str, ...]:
        """Member ids, oldest first."""
        return tuple(self._subscriptions)

    @property
    def waits_for(self) -> tuple[str, ...]:
        """Members whose JoinGroup is missing while a rebalance is prepared."""
        return tuple(member for member in self._subscriptions if member not in self._joined)

    def join(self, name: str, member_id: str | None, subscription: bytes, now: int) -> str:
        """JoinGroup: begin a rebalance if there is none. An id that is not known (any more) is replaced."""
        if member_id is None or member_id not in self._subscriptions:
            self._ids_given += 1
            member_id = f"{name}-{self._ids_given}"
        self._prepare()
        self._subscriptions[member_id] = subscription
        self._joined.add(member_id)
        self._heard_at[member_id] = now
        return member_id

    def heartbeat(self, member_id: str, now: int) -> None:
        """Heartbeat: the session goes on."""
        if member_id in self._subscriptions:
            self._heard_at[member_id] = now

    def leave(self, member_id: str) -> None:
        """LeaveGroup: the rest rebalances."""
        if self._subscriptions.pop(member_id, None) is not None:
            self._joined.discard(member_id)
            del self._heard_at[member_id]
            self.leader = None if self.leader == member_id else self.leader
            self._prepare()

    def expire(self, now: int) -> tuple[str, ...]:
        """End the sessions that have not been heard of for the session timeout; return whose."""
        gone = tuple(m for m, heard_at in self._heard_at.items() if now - heard_at >= self.session_timeout_ms)
        for member_id in gone:
            self.leave(member_id)
        return gone

    def complete_join(self) -> CompletedJoin | None:
        """Begin the next generation, if a rebalance is prepared and everybody has joined."""
        if self.phase is not Phase.PREPARING or self.waits_for:
            return None
        self.generation += 1
        if not self._subscriptions:
            self.phase, self.leader = Phase.EMPTY, None
            return None
        self.phase = Phase.COMPLETING
        if self.leader is None:
            self.leader = self.members[-1 if self.elects_newest else 0]
        return CompletedJoin(self.generation, self.leader, dict(self._subscriptions))

    def sync(self, member_id: str, generation: int) -> bool:
        """SyncGroup of the leader: the generation is assigned. False if it comes too late or from someone else."""
        in_time = self.phase is Phase.COMPLETING and generation == self.generation and member_id == self.leader
        if in_time:
            self.phase = Phase.STABLE
        return in_time

    def fork(self) -> Coordinator:
        """Return an independent copy."""
        twin = copy(self)
        twin._subscriptions = self._subscriptions.copy()
        twin._joined = self._joined.copy()
        twin._heard_at = self._heard_at.copy()
        return twin

    def _prepare(self) -> None:
        if self.phase is not Phase.PREPARING:
            self.phase = Phase.PREPARING
            self._joined.clear()
