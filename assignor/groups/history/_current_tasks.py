"""Tasks that each member of a group whose broker assigns has, awaits and has to revoke, over time.

A coordinator writes a record of a member's current assignment whenever that changes: when the member joins, when it has
confirmed that it revoked something, and when it gets what others have released. So a task that moves has no owner from
one record to another. Until a member's heartbeat, its record shows what it is to revoke.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from attrs import define, field

from streams_assignor.groups.history.tables import Begun, Row, task_row

Task = str | tuple[str, int]
"""A task, or the id of a topic and the number of a partition; names of topics become known later."""
Share = Mapping[str, frozenset[Task]]
"""The tasks of a member, by role."""

ACTIVE: Final = "active"
ROLES: Final = (ACTIVE, "standby", "warm-up")
UNOWNED: Final = "unowned"
OWNED_TWICE: Final = "owned-twice"
AWAITED: Final = "awaited"
TO_REVOKE: Final = "to-revoke"
_NOTHING: Final = frozenset[Task]()

_Interval = tuple[Task, str, str]
"""A task, a role and a member id."""


def share(current: Share, pending: Share, target: Share | None) -> Share:
    """Return what a member has and is still to come to, by role.

    Args:
        current: Its target by its last record.
        pending: Its other tasks, which it has to revoke.
        target: Its target assignment; None if it is not known.
    """
    roles = dict[str, frozenset[Task]]()
    for role in ROLES:
        assigned, revoked = current.get(role, _NOTHING), pending.get(role, _NOTHING)
        roles[role] = assigned | revoked
        if target is not None:
            wanted, of_role = target.get(role, _NOTHING), "" if role == ACTIVE else f"-{role}"
            roles[f"{AWAITED}{of_role}"] = wanted - assigned
            roles[f"{TO_REVOKE}{of_role}"] = revoked | (assigned - wanted)
    return {role: tasks for role, tasks in roles.items() if tasks}


def is_complete(share_of_member: Share) -> bool:
    """Whether a member has its target assignment."""
    return not any(role.startswith((AWAITED, TO_REVOKE)) for role in share_of_member)


@define
class CurrentTasks:
    """Follows the shares of members; a row is complete when an interval ends. One without duration is left out."""

    group: str
    label: Callable[[Task], str]
    """Returns the text of a task."""
    is_shared: bool = False
    """Whether a partition may have several members, as in a share group (KIP-932)."""
    _shares: dict[str, Share] = field(factory=dict)
    _names: dict[str, str] = field(factory=dict)
    _owners: dict[Task, tuple[str, ...]] = field(factory=dict)
    """The member ids that have each task active; none for one that nobody has any more."""
    _open: dict[_Interval, Begun] = field(factory=dict)

    def update(self, member_id: str, name: str, now: Share, number: int, time: int) -> Iterator[Row]:
        """Take the share of a member, which is empty if it is gone; yield the intervals that end."""
        before = self._shares.pop(member_id, {})
        self._names[member_id] = name
        if now:
            self._shares[member_id] = now
        for role in {**before, **now}:
            lost = before.get(role, _NOTHING) - now.get(role, _NOTHING)
            gained = now.get(role, _NOTHING) - before.get(role, _NOTHING)
            for task in sorted(lost):
                yield from self._end((task, role, member_id), time)
            for task in sorted(gained):
                self._open[task, role, member_id] = (name, number, time)
            for task in sorted(lost | gained) if role == ACTIVE else ():
                yield from self._note_owner(task, member_id, number, time, is_owner=task in gained)
        if not now:
            del self._names[member_id]

    def _note_owner(self, task: Task, member_id: str, number: int, time: int, *, is_owner: bool) -> Iterator[Row]:
        before = self._owners.get(task)
        others = tuple(owner for owner in before or () if owner != member_id)
        after = self._owners[task] = (*others, member_id) if is_owner else others
        ended = None if before is None else self._exception(before)
        begun = self._exception(after)
        if ended != begun:
            if ended is not None:
                yield from self._end((task, *ended), time)
            if begun is not None:
                self._open[task, *begun] = (" ".join(map(self._names.__getitem__, after)), number, time)

    def _exception(self, owners: tuple[str, ...]) -> tuple[str, str] | None:
        """Return the role, and the member ids, of a task that has not one owner."""
        if not owners:
            return UNOWNED, ""
        return (OWNED_TWICE, " ".join(owners)) if len(owners) > 1 and not self.is_shared else None

    def _end(self, interval: _Interval, time: int) -> Iterator[Row]:
        begun = self._open.pop(interval)
        if begun[-1] != time:
            yield self._row(interval, begun, time)

    def close(self, time: int | None = None) -> Iterator[Row]:
        """Yield the intervals that are open, until a time; None: until the last record."""
        for interval, begun in self._open.items():
            if begun[-1] != time:
                yield self._row(interval, begun, time)
        self._open = {}

    def _row(self, interval: _Interval, begun: Begun, until: int | None) -> Row:
        task, role, owner = interval
        return task_row(self.group, (self.label(task), role, owner), begun, until)
