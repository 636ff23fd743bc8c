"""Which member waits for which, in a group whose broker assigns: from current to target assignment.

A member comes to a target assignment in two steps. First it revokes what is not in its target; until it has confirmed
that, it keeps its epoch, and the broker does not show what it still holds. Then it gets the epoch of the target
assignment, and what is in its target and free. A task that another member has not released yet comes later. Since 4.4
a standby or warm-up task changes its role without being revoked (KAFKA-20665). So:

1. A member whose epoch is below that of the target assignment has not confirmed it: it has to revoke, or its next
   heartbeat is due. A group waits for such members first.
2. A task that a member lacks and another one still shows has to be revoked by the latter.
3. A task that a member lacks and no other member shows may be held by an unconfirmed member.

Java: ``CurrentAssignmentBuilder`` of KIP-848 and of KIP-1071.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from attrs import frozen

from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.groups.broker_assigned import Assigned, BrokerAssignment
from streams_assignor.groups.described_group import STREAMS, DescribedGroup
from streams_assignor.groups.member import InspectedMember

Thing = TaskId | TopicPartition

_ROLES: Final[Mapping[str, Callable[[Assigned], Sequence[Thing]]]] = {
    "partition": lambda assigned: assigned.partitions,
    "active": lambda assigned: assigned.active,
    "standby": lambda assigned: assigned.standby,
    "warm-up": lambda assigned: assigned.warm_up,
}

_SOLE_ROLES: Final = ("partition", "active")
_REPLICAS: Final = ("standby", "warm-up")
_NOTHING: Final = Assigned()
_MAX_CANDIDATES: Final = 10
"""The most members that may hold something without being shown; more say only that they are unconfirmed."""


@frozen(kw_only=True)
class Awaited:
    """Something that a member is to have and does not have yet."""

    role: str
    """``partition``, ``active``, ``standby`` or ``warm-up``."""

    thing: Thing

    holders: tuple[str, ...]
    """Names of the members that have to revoke it first, or one of which may have to; empty if none is known."""


@frozen(kw_only=True)
class Reconciliation:
    """How far one member is on its way to its target assignment."""

    is_confirmed: bool
    """Whether its epoch is that of the target assignment, so that it has revoked what it is not to have."""

    awaited: tuple[Awaited, ...] = ()

    is_away: bool = False
    """Whether it is a static member that has left for a while; then it is not confirmed."""

    to_revoke: tuple[tuple[str, Thing], ...] = ()
    """Role and task or partition that it shows and is not to have: the broker has not asked it to revoke yet."""

    @property
    def is_complete(self) -> bool:
        """Whether the member has its target assignment."""
        return self.is_confirmed and not self.awaited and not self.to_revoke

    @property
    def waits_for(self) -> tuple[str, ...]:
        """Names of the members that have to revoke something for it, sorted."""
        return tuple(sorted({name for awaited in self.awaited for name in awaited.holders}))


COMPLETE: Final = Reconciliation(is_confirmed=True)


@frozen
class _Holders:
    """Which members have what, as far as the broker shows it; built once for a group."""

    owners: Mapping[Thing, set[str]]
    """The members that own each active task or partition."""

    copies: Mapping[tuple[str, Thing], set[str]]
    """Members of a process with a copy of a task, in any role."""

    targets: Mapping[tuple[str, Thing], set[str]]
    """Members that are to have something in a role."""

    unconfirmed: frozenset[str]

    def of(self, name: str, assignment: BrokerAssignment, role: str, thing: Thing) -> tuple[str, ...]:
        """Return the members that keep one from getting a thing.

        An active task or a partition has one owner; a process has one copy of a task, in whatever role.
        """
        shown = set(self.owners.get(thing, ())) if role in _SOLE_ROLES else set[str]()
        if assignment.process_id:
            shown |= self.copies.get((assignment.process_id, thing), set())
        if shown - {name}:
            return tuple(sorted(shown - {name}))
        # An unconfirmed member may hold what it is not to have; the broker does not show it.
        entitled = self.targets.get((role, thing), set()) | {name}
        if len(self.unconfirmed) > _MAX_CANDIDATES + len(entitled):
            return ()  # without a look at each of them, for each thing of each member
        candidates = self.unconfirmed - entitled
        return tuple(sorted(candidates)) if len(candidates) <= _MAX_CANDIDATES else ()


def reconcile(group: DescribedGroup, members: Sequence[InspectedMember]) -> Mapping[str, Reconciliation]:
    """Return how far each member is, by its name; empty for a classic group."""
    assignments = {member.name: assignment for member in members if (assignment := member.described.broker_assignment)}
    epoch = group.broker.assignment_epoch if group.broker else 0
    unconfirmed = frozenset(
        name
        for name, assignment in assignments.items()
        if assignment.target is not None and assignment.epoch is not None and assignment.epoch < epoch
    )
    if not unconfirmed and all(assignment.target in (None, assignment.current) for assignment in assignments.values()):
        return dict.fromkeys(assignments, COMPLETE)
    holders = _holders(assignments, unconfirmed)
    changes_roles = group.type == STREAMS and bool(group.protocol)  # brokers before 4.4 do not name the assignor
    return {
        name: COMPLETE
        if assignment.target is None
        else Reconciliation(
            is_confirmed=name not in unconfirmed,
            is_away=assignment.is_away,
            awaited=tuple(
                Awaited(role=role, thing=thing, holders=holders.of(name, assignment, role, thing))
                for role, thing in _difference(assignment.target, assignment.current)
            ),
            to_revoke=tuple(_revoked(assignment.current, assignment.target, changes_roles=changes_roles)),
        )
        for name, assignment in assignments.items()
    }


def blocking_members(reconciliations: Mapping[str, Reconciliation]) -> tuple[str, ...]:
    """Return the names of the members that a group waits for: those that have to revoke or confirm; else all others."""
    holders = {name for reconciliation in reconciliations.values() for name in reconciliation.waits_for}
    first = [
        name for name, reconciliation in reconciliations.items() if name in holders or not reconciliation.is_confirmed
    ]
    return tuple(first or (name for name, reconciliation in reconciliations.items() if not reconciliation.is_complete))


def _difference(one: Assigned, other: Assigned) -> Iterator[tuple[str, Thing]]:
    """Yield what the first one has and the second one does not have in the same role."""
    for role, select in _ROLES.items():
        others = set(select(other))
        yield from ((role, thing) for thing in select(one) if thing not in others)


def _revoked(current: Assigned, target: Assigned, *, changes_roles: bool) -> Iterator[tuple[str, Thing]]:
    """Yield what a member has to revoke; since 4.4 a replica becomes the task of another role at once (KAFKA-20665)."""
    kept = {thing for _, thing in _difference(target, _NOTHING)} if changes_roles else set[Thing]()
    yield from (pair for pair in _difference(current, target) if pair[0] not in _REPLICAS or pair[1] not in kept)


def _holders(assignments: Mapping[str, BrokerAssignment], unconfirmed: frozenset[str]) -> _Holders:
    owners: dict[Thing, set[str]] = defaultdict(set)
    copies: dict[tuple[str, Thing], set[str]] = defaultdict(set)
    targets: dict[tuple[str, Thing], set[str]] = defaultdict(set)
    for name, assignment in assignments.items():
        for role, thing in _difference(assignment.current, _NOTHING):
            copies[assignment.process_id, thing].add(name)
            if role in _SOLE_ROLES:
                owners[thing].add(name)
        for key in _difference(assignment.target or _NOTHING, _NOTHING):
            targets[key].add(name)
    return _Holders(owners, copies, targets, unconfirmed)
