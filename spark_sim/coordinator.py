"""The broker's side of a classic consumer group: who is in it, which generation it is, who leads, who has an answer.

A simulated stand-in for Kafka's ``GroupCoordinator`` with what matters to an assignor. JoinGroup waits for every known
member; the leader stays leader as long as it is a member, and when it goes another one is elected among those who
remain; a member that leaves and comes back gets a new member id at the end of the line, unless it is static (KIP-345).
Who joins a running generation with nothing new to say is given that generation back (the root of KAFKA-10455). Nothing
happens by itself, time is not known here.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from copy import copy
from typing import Final

SESSION_TIMEOUT_MS: Final = 10_000
OLDEST, NEWEST = "oldest", "newest"


class Phase(enum.Enum):
    """Where the group is between two generations."""

    EMPTY = "no members"
    PREPARING = "waiting for JoinGroup of all members"
    COMPLETING = "waiting for the leader's SyncGroup"
    STABLE = "assigned"


class Coordinator:
    """One group. Member ids are ``NAME-1``, ``NAME-2``, ... in the order of joining.

    ``elects`` says who leads next when a leader has gone: ``oldest``, ``newest``, or the name of a member (the oldest
    if that one is not there).
    """

    def __init__(self) -> None:
        self.elects = OLDEST
        self.generation = 0
        self.phase = Phase.EMPTY
        self.leader: str | None = None
        self.untaken: set[str] = set()
        self._subscriptions: dict[str, bytes] = {}  # in the order of joining
        self._answers: Mapping[str, bytes] = {}
        self._joined: set[str] = set()
        self._static: dict[str, str] = {}  # by instance id
        self._ids_given = 0

    @property
    def members(self) -> tuple[str, ...]:
        """Member ids, oldest first."""
        return tuple(self._subscriptions)

    @property
    def subscriptions(self) -> Mapping[str, bytes]:
        """What everybody joined with, by member id: the leader of a new generation gets a copy."""
        return self._subscriptions.copy()

    def waits_for(self, member_id: str | None) -> bool:
        """Whether a rebalance is prepared, and this member's JoinGroup is missing."""
        return self.phase is Phase.PREPARING and member_id in self._subscriptions and member_id not in self._joined

    def join(self, name: str, member_id: str | None, subscription: bytes, instance_id: str | None = None) -> str:
        """JoinGroup: begin a rebalance if there has to be one; return the member id, a new one if it is not known.

        A follower that is known and says what it said before gets the running generation back. So does a static member
        that comes back as another process while all is stable, whatever it says now.
        Java: ``doCurrentMemberJoinGroup``, ``updateStaticMemberAndRebalance``.
        """
        if member_id not in self._subscriptions:
            return self._add(name, subscription, instance_id)
        said_before = self._subscriptions[member_id]
        self._subscriptions[member_id] = subscription
        if subscription == said_before and self._goes_on_for(member_id):
            self._give_back(member_id)
        else:
            self._prepare()
            self._joined.add(member_id)
            self.untaken.discard(member_id)
        return member_id

    def complete_join(self) -> bool:
        """Begin the next generation if a rebalance is prepared and everybody has joined; say whether it has begun."""
        if self.phase is not Phase.PREPARING or len(self._joined) < len(self._subscriptions):
            return False
        self.generation += 1
        self.phase = Phase.COMPLETING if self._subscriptions else Phase.EMPTY
        return self.phase is Phase.COMPLETING

    def sync(self, member_id: str, generation: int, answers: Mapping[str, bytes]) -> bool:
        """SyncGroup of the leader: everybody has an answer. False if it comes too late or from someone else."""
        in_time = self.phase is Phase.COMPLETING and generation == self.generation and member_id == self.leader
        if in_time:
            self.phase = Phase.STABLE
            self._answers = answers
            self.untaken = set(self._subscriptions)
        return in_time

    def take(self, member_id: str) -> bytes:
        """Return what SyncGroup answers a member; nothing if the leader has left it out."""
        self.untaken.discard(member_id)
        return self._answers.get(member_id, b"")

    def remove(self, member_id: str) -> None:
        """LeaveGroup, or the session has timed out: the rest rebalances. If it led, another one does from now on."""
        if self._subscriptions.pop(member_id, None) is None:
            return
        self._joined.discard(member_id)
        self.untaken.discard(member_id)
        self._static = {instance: member for instance, member in self._static.items() if member != member_id}
        if self.leader == member_id:
            self.leader = self._elected()
        self._prepare()

    def fork(self) -> Coordinator:
        """Return an independent copy."""
        twin = copy(self)
        twin.untaken = self.untaken.copy()
        twin._subscriptions = self._subscriptions.copy()
        twin._joined = self._joined.copy()
        twin._static = self._static.copy()
        return twin

    def _add(self, name: str, subscription: bytes, instance_id: str | None) -> str:
        self._ids_given += 1
        member_id = f"{name}-{self._ids_given}"
        before = self._static.get(instance_id) if instance_id else None
        if instance_id:
            self._static[instance_id] = member_id
        if before is not None:
            self._replace(before, member_id, subscription)
            if self.phase is Phase.STABLE:
                self._give_back(member_id)
                return member_id
        self._prepare()
        self._subscriptions[member_id] = subscription
        self._joined.add(member_id)
        self.leader = self.leader or self._elected()
        return member_id

    def _replace(self, before: str, member_id: str, subscription: bytes) -> None:
        """Let a static member have the place of the one it was, its answer included. Java: ``replaceStaticMember``."""
        self._subscriptions = {
            member_id if member == before else member: subscription if member == before else said
            for member, said in self._subscriptions.items()
        }
        self._answers = {member_id if member == before else member: blob for member, blob in self._answers.items()}
        self._joined.discard(before)
        self.untaken.discard(before)
        if self.leader == before:
            self.leader = member_id

    def _goes_on_for(self, member_id: str) -> bool:
        return self.phase is Phase.COMPLETING or (self.phase is Phase.STABLE and member_id != self.leader)

    def _give_back(self, member_id: str) -> None:
        if self.phase is Phase.STABLE:
            self.untaken.add(member_id)

    def _elected(self) -> str | None:
        """Choose among the members that there are now."""
        named = (member for member in self._subscriptions if member.rpartition("-")[0] == self.elects)
        in_line = reversed(self._subscriptions) if self.elects == NEWEST else iter(self._subscriptions)
        return next(named, None) or next(in_line, None)

    def _prepare(self) -> None:
        if self.phase is not Phase.PREPARING:
            self.phase = Phase.PREPARING
            self._joined.clear()
