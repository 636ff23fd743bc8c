"""Members and tasks over time: intervals that begin with one generation and end with another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from attrs import define, field

from streams_assignor.groups.history._causes import Cause, GenerationChange
from streams_assignor.groups.history._generation import Generation, GroupMember
from streams_assignor.groups.history.tables import Begun, Row, task_row

PRESENT: Final = "present"
_ENDED: Final[Mapping[str, str]] = {
    "member-left": "left",
    "member-timed-out": "timed-out",
    "all-members-left": "gone",
    "static-member-restarted": "restarted",
}
"""How members ended, by the cause of the first generation without them; ``gone`` otherwise."""


_NONE: Final = frozenset[str]()


@define
class MemberLifetimes:
    """The members of a group; a row is complete when the member is gone."""

    group: str
    _first: dict[str, tuple[int, int, str]] = field(factory=dict)
    _last: Mapping[str, GroupMember] = field(factory=dict)
    _versions: dict[str, list[Row]] = field(factory=dict)
    """The versions that each member has sent: one entry whenever it differs from the one before."""
    _last_generation: int = 0

    def advance(self, change: GenerationChange, cause: Cause) -> Iterator[Row]:
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

    def update(self, change: GenerationChange) -> Iterator[Row]:
        """Yield the members that another record of the same generation replaces: their instance id has a new owner."""
        time = change.after.time
        replaced = {member.instance_id for member in change.new} & {member.instance_id for member in change.gone} - {
            None
        }
        for member in change.gone:
            # A second process with its instance id fences it in the same way; the records do not tell them apart.
            yield self._row(member.member_id, time, "restarted" if member.instance_id in replaced else "gone")
        for member in change.new:
            began = "restarted" if member.instance_id in replaced else "joined"
            self._first[member.member_id] = (self._last_generation, time, began)
        self._take(change.after)

    def _take(self, after: Generation) -> None:
        before, self._last = self._last, after.members
        for name, member in after.members.items():
            versions, last = _sent_versions(member), before.get(name)
            if versions[0] is None or (last is not None and _sent_versions(last) == versions):
                continue
            sent, rows = _as_columns(versions), self._versions.setdefault(name, [])
            if not rows or not sent.items() <= rows[-1].items():
                rows.append({"from_generation": after.number, "from_time": after.time, **sent})

    def close(self) -> Iterator[Row]:
        """Yield the members of the last generation."""
        for name in list(self._first):
            yield self._row(name, None, PRESENT)

    def _row(self, name: str, time: int | None, ended: str) -> Row:
        member, (number, began_at, began) = self._last[name], self._first.pop(name)
        return {
            "group": self.group,
            "member_id": name,
            "name": member.name,
            "client_id": member.described.client_id,
            "host": member.described.host,
            "instance_id": member.instance_id,
            "process_id": member.process_id,
            "rack": member.rack,
            "end_point": member.end_point,
            "topology_epoch": member.epoch_facts.topology_epoch,
            "is_classic": member.epoch_facts.is_classic,
            "first_generation": number,
            "last_generation": self._last_generation,
            "first_time": began_at,
            "last_time": time,
            "began": began,
            "ended": ended,
            **_as_columns(_sent_versions(member)),
            "versions": self._versions.pop(name, []),
            "releases": member.releases,
            "topics": list(member.topics),
        }


def _sent_versions(member: GroupMember) -> tuple[int | None, int | None]:
    sent = member.subscription
    return sent.used_version, sent.supported_version


def _as_columns(versions: tuple[int | None, int | None]) -> Row:
    return dict(zip(("used_version", "supported_version"), versions, strict=True))


_Interval = tuple[str, str, str]
"""A task, a role and a member id."""


@define
class TaskIntervals:
    """Who has which task; a row is complete when the interval ends."""

    group: str
    _open: dict[_Interval, Begun] = field(factory=dict)
    _members: Mapping[str, GroupMember] = field(factory=dict)
    _exceptions: dict[_Interval, str] = field(factory=dict)
    """Tasks without an owner, or with two, and the names of their owners."""

    def advance(self, after: Generation) -> Iterator[Row]:
        """Yield the intervals that end with a generation, and begin others. Most tasks stay where they are."""
        ended, begun = _moves(self._members, after.members)
        lost = {task for task, role, _ in ended if role == "active"}
        exceptions = dict(sorted(self._find_exceptions(after, lost)))
        ended += [interval for interval in self._exceptions if interval not in exceptions]
        begun += [item for item in exceptions.items() if item[0] not in self._exceptions]
        self._members, self._exceptions = after.members, exceptions
        for interval in ended:
            yield task_row(self.group, interval, self._open.pop(interval), after.time)
        for interval, name in begun:
            self._open[interval] = (name, after.number, after.time)

    def _find_exceptions(self, after: Generation, lost: set[str]) -> Iterator[tuple[_Interval, str]]:
        owners = after.owners
        lost |= {task for task, role, _ in self._exceptions if role == "unowned"}
        for task in lost - owners.keys():
            yield (task, "unowned", ""), ""
        if sum(len(member.active) for member in after.members.values()) > len(owners):
            for task, ids in owners.items():
                if len(ids) > 1:
                    names = " ".join(after.members[member_id].name for member_id in ids)
                    yield (task, "owned-twice", " ".join(ids)), names

    def close(self, until: int | None = None) -> Iterator[Row]:
        """Yield the intervals of the last generation, which ended at a time; None: records do not show its end."""
        for interval, begun in self._open.items():
            yield task_row(self.group, interval, begun, until)
        self._open, self._members, self._exceptions = {}, {}, {}


def _moves(
    before: Mapping[str, GroupMember], after: Mapping[str, GroupMember]
) -> tuple[list[_Interval], list[tuple[_Interval, str]]]:
    """Return what members have no longer, and what they have now, with their names; always in the same order."""
    ended: list[_Interval] = []
    begun: list[tuple[_Interval, str]] = []
    for member_id, member in after.items():
        last = before.get(member_id)
        for role, was, now in (
            ("active", last.active if last else _NONE, member.active),
            ("standby", last.standby if last else _NONE, member.standby),
        ):
            if was is not now and was != now:
                ended += [(task, role, member_id) for task in sorted(was - now)]
                begun += [((task, role, member_id), member.name) for task in sorted(now - was)]
    for member_id, last in before.items():
        if member_id not in after:
            ended += [(task, "active", member_id) for task in sorted(last.active)]
            ended += [(task, "standby", member_id) for task in sorted(last.standby)]
    return ended, begun
