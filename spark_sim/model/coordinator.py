"""The coordinator of a classic consumer group: its members, its generation, its leader and pending responses.

It simulates what matters to an assignor in Kafka's ``GroupCoordinator``. JoinGroup waits for every known member. The
leader stays leader as long as it is a member; when it leaves, one of the remaining members is elected. A member that
leaves and rejoins gets a new member id, after all others, unless it is static (KIP-345). A follower that rejoins a
stable group with an unchanged subscription gets the current generation back (the cause of KAFKA-10455). No timeout
passes here by itself.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable, Mapping
from copy import copy
from typing import Final

SESSION_TIMEOUT_MS: Final = 10_000
ELECT_OLDEST, ELECT_NEWEST = "oldest", "newest"


class GroupPhase(enum.Enum):
    """The phase of a group between two generations."""

    EMPTY = "no members"
    PREPARING_REBALANCE = "waiting for JoinGroup of all members"
    COMPLETING_REBALANCE = "waiting for the leader's SyncGroup"
    STABLE = "assigned"


class Coordinator:
    """One group. Member ids are ``NAME-1``, ``NAME-2``, ... in the order of joining."""

    def __init__(self) -> None:
        self.election_rule = ELECT_OLDEST
        """Which member leads after the leader has left: oldest, newest, or one by name (else the oldest)."""
        self.generation = 0
        self.phase = GroupPhase.EMPTY
        self.leader: str | None = None
        self.pending_sync_responses: set[str] = set()
        """Member ids that have an assignment to take."""
        self._subscriptions: dict[str, bytes] = {}  # in the order of joining
        self._assignments: Mapping[str, bytes] = {}
        self._joined: set[str] = set()
        self._static_members: dict[str, str] = {}  # by instance id
        self._last_member_number = 0

    def restore(
        self,
        generation: int,
        leader: str,
        subscriptions: Mapping[str, bytes],
        assignments: Mapping[str, bytes],
        static_members: Mapping[str, str],
    ) -> None:
        """Continue as the coordinator of a stable group whose members have taken their assignments.

        Args:
            generation: The number of its generation.
            leader: The member id of the leader.
            subscriptions: Member id => subscription, in the order of joining.
            assignments: Member id => assignment.
            static_members: ``group.instance.id`` => member id.
        """
        self.generation, self.phase, self.leader = generation, GroupPhase.STABLE, leader
        self._subscriptions, self._assignments = dict(subscriptions), dict(assignments)
        self._static_members, self._last_member_number = dict(static_members), len(subscriptions)

    @property
    def members(self) -> tuple[str, ...]:
        """Member ids, oldest first."""
        return tuple(self._subscriptions)

    @property
    def subscriptions(self) -> Mapping[str, bytes]:
        """Member id => subscription, as the leader of a new generation gets them: a copy."""
        return self._subscriptions.copy()

    @property
    def assignments(self) -> Mapping[str, bytes]:
        """Member id => the last assignment that the leader has made."""
        return self._assignments

    @property
    def state(self) -> Hashable:
        """The key of the group's future: names of members in the order of joining, without their numbers."""
        return (
            self.phase,
            self.election_rule,
            _name(self.leader or ""),
            tuple(map(_name, self._subscriptions)),
            frozenset(map(_name, self._joined)),
            frozenset(map(_name, self.pending_sync_responses)),
        )

    def is_join_pending(self, member_id: str | None) -> bool:
        """Whether a rebalance is being prepared and waits for JoinGroup of this member."""
        return (
            self.phase is GroupPhase.PREPARING_REBALANCE
            and member_id in self._subscriptions
            and member_id not in self._joined
        )

    def join(self, name: str, member_id: str | None, subscription: bytes, instance_id: str | None = None) -> str:
        """Handle JoinGroup: prepare a rebalance if necessary; return the member id, a new one for an unknown member.

        A known follower with an unchanged subscription gets the current generation back. So does a static member that
        joins a stable group as another process, whatever its subscription.
        Java: ``doCurrentMemberJoinGroup``, ``updateStaticMemberAndRebalance``.
        """
        if member_id not in self._subscriptions:
            return self._add_member(name, subscription, instance_id)
        previous = self._subscriptions[member_id]
        self._subscriptions[member_id] = subscription
        if subscription == previous and self._keeps_generation_for(member_id):
            self._answer_with_current_generation(member_id)
        else:
            self._prepare_rebalance()
            self._joined.add(member_id)
            self.pending_sync_responses.discard(member_id)
        return member_id

    def complete_join_phase(self) -> bool:
        """Begin the next generation if all members have joined; return whether the leader is to assign."""
        if self.phase is not GroupPhase.PREPARING_REBALANCE or len(self._joined) < len(self._subscriptions):
            return False
        self.generation += 1
        self.phase = GroupPhase.COMPLETING_REBALANCE if self._subscriptions else GroupPhase.EMPTY
        return self.phase is GroupPhase.COMPLETING_REBALANCE

    def on_leader_sync(self, member_id: str, generation: int, assignments: Mapping[str, bytes]) -> bool:
        """Handle SyncGroup of the leader: every member has a response. False if it is late or not from the leader."""
        accepted = (
            self.phase is GroupPhase.COMPLETING_REBALANCE and generation == self.generation and member_id == self.leader
        )
        if accepted:
            self.phase = GroupPhase.STABLE
            self._assignments = assignments
            self.pending_sync_responses = set(self._subscriptions)
        return accepted

    def sync_response(self, member_id: str) -> bytes:
        """Return the assignment that SyncGroup returns to a member; empty if the leader has left it out."""
        self.pending_sync_responses.discard(member_id)
        return self._assignments.get(member_id, b"")

    def remove_member(self, member_id: str) -> None:
        """Remove a member on LeaveGroup or a timeout: the others rebalance, and if it led, another one is elected."""
        if self._subscriptions.pop(member_id, None) is None:
            return
        self._joined.discard(member_id)
        self.pending_sync_responses.discard(member_id)
        self._static_members = {
            instance: member for instance, member in self._static_members.items() if member != member_id
        }
        if self.leader == member_id:
            self.leader = self._elect_leader()
        self._prepare_rebalance()

    def fork(self) -> Coordinator:
        """Return an independent copy."""
        twin = copy(self)
        twin.pending_sync_responses = self.pending_sync_responses.copy()
        twin._subscriptions = self._subscriptions.copy()
        twin._joined = self._joined.copy()
        twin._static_members = self._static_members.copy()
        return twin

    def _add_member(self, name: str, subscription: bytes, instance_id: str | None) -> str:
        self._last_member_number += 1
        member_id = f"{name}-{self._last_member_number}"
        before = self._static_members.get(instance_id) if instance_id else None
        if instance_id:
            self._static_members[instance_id] = member_id
        if before is not None:
            self._replace_static_member(before, member_id, subscription)
            if self.phase is GroupPhase.STABLE:
                self._answer_with_current_generation(member_id)
                return member_id
        self._prepare_rebalance()
        self._subscriptions[member_id] = subscription
        self._joined.add(member_id)
        self.leader = self.leader or self._elect_leader()
        return member_id

    def _replace_static_member(self, old_member_id: str, new_member_id: str, subscription: bytes) -> None:
        """Replace the member id of a static member; its place and assignment stay. Java: ``replaceStaticMember``."""
        self._subscriptions = {
            new_member_id if member == old_member_id else member: subscription if member == old_member_id else previous
            for member, previous in self._subscriptions.items()
        }
        self._assignments = {
            new_member_id if member == old_member_id else member: encoded
            for member, encoded in self._assignments.items()
        }
        self._joined.discard(old_member_id)
        self.pending_sync_responses.discard(old_member_id)
        if self.leader == old_member_id:
            self.leader = new_member_id

    def _keeps_generation_for(self, member_id: str) -> bool:
        return self.phase is GroupPhase.COMPLETING_REBALANCE or (
            self.phase is GroupPhase.STABLE and member_id != self.leader
        )

    def _answer_with_current_generation(self, member_id: str) -> None:
        if self.phase is GroupPhase.STABLE:
            self.pending_sync_responses.add(member_id)

    def _elect_leader(self) -> str | None:
        """Return the member that leads next by the election rule; None without members."""
        name, _, number = self.election_rule.partition("#")
        named = [member for member in self._subscriptions if member.rpartition("-")[0] == name]
        candidates = reversed(self._subscriptions) if self.election_rule == ELECT_NEWEST else iter(self._subscriptions)
        return next(iter(named[int(number or 1) - 1 :]), None) or next(candidates, None)

    def _prepare_rebalance(self) -> None:
        if self.phase is not GroupPhase.PREPARING_REBALANCE:
            self.phase = GroupPhase.PREPARING_REBALANCE
            self._joined.clear()


def _name(member_id: str) -> str:
    return member_id.rpartition("-")[0]
