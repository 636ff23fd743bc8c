"""The state of one process in the group, as a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

# The status of a process. CRASHED and STOPPED do not run. A member either has to join (while the group prepares a
# rebalance), has joined, has a SyncGroup response to take, is assigned, or has to rejoin. ABSENT is no process, but may
# have orphaned ids: in groups of any size (``any_size``) each of these is by itself.
CRASHED, STOPPED, NOT_A_MEMBER, JOIN_PENDING, JOINED, SYNC_RESPONSE_PENDING, ASSIGNED, REJOIN_NEEDED, ABSENT = range(9)
MEMBER_STATUSES: Final = frozenset({JOIN_PENDING, JOINED, SYNC_RESPONSE_PENDING, ASSIGNED, REJOIN_NEEDED})

PREPARING, COMPLETING, STABLE = range(3)


class OrphanedId(NamedTuple):
    """A member id in the group whose process does not run any more."""

    subscription: int = -1
    """The subscription that the leader reads of it; -1 if it has not joined."""
    leads: bool = False


class PackedProcessState(NamedTuple):
    """The state of one process."""

    sequence: int
    """The number of its instance sequence."""
    rounds_done: int
    """Its position in the instance sequence."""
    status: int
    version: int = -1
    """A number of ``ProtocolTable.version_states``; -1 if it does not run."""
    payload: int = -1
    """``SYNC_RESPONSE_PENDING``: the answer; ``ASSIGNED``: the version received; ``STOPPED``: the next round."""
    leads: bool = False
    keeps_tasks: bool = False
    """Whether it has tasks that it does not give up to rejoin."""
    orphaned_ids: tuple[OrphanedId, ...] = ()
    """The member ids that it left in the group, oldest first."""

    @property
    def running(self) -> bool:
        return self.status not in {CRASHED, STOPPED, ABSENT}

    @property
    def is_member(self) -> bool:
        return self.status in MEMBER_STATUSES


def on_prepare_rebalance(state: PackedProcessState) -> PackedProcessState:
    """Return a process state once a rebalance is being prepared: the group waits for its ids."""
    orphaned_ids = with_join_pending(state.orphaned_ids)
    if not state.is_member or state.status == SYNC_RESPONSE_PENDING:
        return state._replace(orphaned_ids=orphaned_ids)
    return state._replace(status=JOIN_PENDING, payload=-1, orphaned_ids=orphaned_ids)


def with_join_pending(orphaned_ids: Iterable[OrphanedId]) -> tuple[OrphanedId, ...]:
    return tuple(OrphanedId(-1, orphan.leads) for orphan in orphaned_ids)


def elected_states(state: PackedProcessState) -> Iterator[PackedProcessState]:
    """Yield what a process state becomes if one of its ids is elected, for each id."""
    if state.is_member:
        yield state._replace(leads=True)
    for place, orphan in enumerate(state.orphaned_ids):
        yield state._replace(
            orphaned_ids=(*state.orphaned_ids[:place], orphan._replace(leads=True), *state.orphaned_ids[place + 1 :])
        )
