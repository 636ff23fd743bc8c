"""Members and tasks over time: intervals that begin with one generation and end with another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from attrs import define, field

from assignor.audit._causes import Cause, Transition
from assignor.audit._generation import Generation, GroupMember
from assignor.audit.tables import Row

PRESENT: Final = "present"
_ENDED: Final[Mapping[str, str]] = {
    "member-left": "left",
    "member-timed-out": "timed-out",
    "all-members-left": "gone",
    "static-member-restarted": "restarted",
}
"""How members ended, by the cause of the first generation without them; ``gone`` otherwise."""


@define
class MemberLifetimes:
    """The members of a group; a row is complete when the member is gone."""

    group: str
    _first: dict[str, tuple[int, int, str]] = field(factory=dict)
    _last: dict[str, GroupMember] = field(factory=dict)
    _versions: dict[str, list[Row]] = field(factory=dict)
    """What each member has sent: one entry whenever it differs from the one before."""
    _last_generation: int = 0

    def advance(self, change: Transition, cause: Cause) -> Iterator[Row]:
        """Yield the members that are gone, and begin those that are new."""
        restarted = {member.member_id for member in change.restarted}
        identities = {member.identity for member in change.restarted}
        for member in change.gone:
            ended = "restarted" if member.identity in identities else _ENDED.get(cause.code, "gone")
            yield self._row(member.member_id, change.after.time, ended)
        after = change.after
        for member in change.new:
            began = "restarted" if member.member_id in restarted else "joined"
            if change.before is None and after.number > 1:
                began = PRESENT
            self._first[member.member_id] = (after.number, after.time, began)
        self._last_generation = after.number
        self._take(after)

    def update(self, change: Transition) -> Iterator[Row]:
        """Yield the members that another record of the same generation replaces: their instance id has a new owner."""
        time = change.after.time
        replaced = {each.instance_id for each in change.new} & {each.instance_id for each in change.gone} - {None}
        for member in change.gone:
            yield self._row(member.member_id, time, "fenced" if member.instance_id in replaced else "gone")
        for member in change.new:
            began = "restarted" if member.instance_id in replaced else "joined"
            self._first[member.member_id] = (self._last_generation, time, began)
        self._take(change.after)

    def _take(self, after: Generation) -> None:
        self._last = dict(after.members)
        for name, member in after.members.items():
            if member.used_version is None:
                continue
            sent = {"used_version": member.used_version, "supported_version": member.supported_version}
            known = self._versions.setdefault(name, [])
            if not known or not sent.items() <= known[-1].items():
                known.append({"from_generation": after.number, "from_time": after.time, **sent})

    def close(self) -> Iterator[Row]:
        """Yield the members of the last generation."""
        for name in list(self._first):
            yield self._row(name, None, PRESENT)

    def _row(self, name: str, time: int | None, ended: str) -> Row:
        member, (number, began_at, began) = self._last.pop(name), self._first.pop(name)
        return {
            "group": self.group,
            "member_id": name,
            "name": member.name,
            "client_id": member.client_id,
            "host": member.host,
            "instance_id": member.instance_id,
            "process_id": member.process_id,
            "first_generation": number,
            "last_generation": self._last_generation,
            "first_time": began_at,
            "last_time": time,
            "began": began,
            "ended": ended,
            "used_version": member.used_version,
            "supported_version": member.supported_version,
            "versions": self._versions.pop(name, []),
            "releases": member.releases,
            "topics": list(member.topics),
        }


@define
class TaskIntervals:
    """Who has which task; a row is complete when the interval ends."""

    group: str
    _open: dict[tuple[str, str, str], Row] = field(factory=dict)
    _known: set[str] = field(factory=set)

    def advance(self, after: Generation) -> Iterator[Row]:
        """Yield the intervals that end with a generation, and begin others."""
        current = dict(self._intervals(after))
        for key in [key for key in self._open if key not in current]:
            yield {**self._open.pop(key), "until_time": after.time}
        for (task, role, owner), name in current.items():
            if (task, role, owner) not in self._open:
                self._open[task, role, owner] = {
                    "group": self.group,
                    "task": task,
                    "role": role,
                    "member_id": owner,
                    "member": name,
                    "from_generation": after.number,
                    "from_time": after.time,
                    "until_time": None,
                }

    def _intervals(self, after: Generation) -> Iterator[tuple[tuple[str, str, str], str]]:
        for member in after.members.values():
            for role, tasks in (("active", member.active), ("standby", member.standby)):
                for task in tasks:
                    yield (task, role, member.member_id), member.name
        self._known.update(after.owners)
        for task in self._known:
            owners = after.owners.get(task, ())
            if not owners:
                yield (task, "unowned", ""), ""
            elif len(owners) > 1:
                yield (task, "owned-twice", " ".join(owners)), " ".join(after.members[each].name for each in owners)

    def close(self) -> Iterator[Row]:
        """Yield the intervals of the last generation."""
        yield from self._open.values()
        self._open = {}
