"""What has changed between two looks at a group, in words."""

from __future__ import annotations

from collections.abc import Iterator

from assignor.inspect.copies import owners
from assignor.inspect.group import Group
from assignor.inspect.member import Member, task_order
from assignor.inspect.standing import listed


def changes(before: Group | None, after: Group, shown: Group | None = None) -> list[str]:
    """Say what has happened; nothing if all is as before.

    While a group rebalances the broker shows no bytes, so versions and tasks are compared with ``shown``, how the group
    was when it last showed some (by default: before).
    """
    if before is None:
        return [f"{after.raw.state} with {_number(len(after.members), 'member')}"]
    shown = shown or before
    return [*_state(before, after), *_members(before, after), *_versions(shown, after), *_tasks(shown, after)]


def _state(before: Group, after: Group) -> Iterator[str]:
    if before.raw.state != after.raw.state:
        yield f"{before.raw.state} → {after.raw.state}"


def _members(before: Group, after: Group) -> Iterator[str]:
    old, new = ({member.raw.member_id: member for member in group.members} for group in (before, after))
    if come := [new[each].name for each in new if each not in old]:
        yield f"joined: {listed(come)}"
    if gone := [old[each].name for each in old if each not in new]:
        yield f"left: {listed(gone)}"


def _versions(before: Group, after: Group) -> Iterator[str]:
    old = {member.raw.member_id: _spoken(member) for member in before.members}
    for member in after.members:
        said, was = _spoken(member), old.get(member.raw.member_id)
        if said and was and said != was:
            yield f"{member.name}: version {was} → {said}"
    if before.standing.used and after.standing.used and before.standing.text != after.standing.text:
        yield after.standing.text


def _spoken(member: Member) -> str:
    """Write the version that it sends, and the one it was answered."""
    sent, got = member.sent.used, member.got.version
    return "" if sent is None else f"{sent}, answered {got}" if got != sent else str(sent)


def _tasks(before: Group, after: Group) -> Iterator[str]:
    old, new = owners(before.members), owners(after.members)
    if not (old and new):
        return
    for task in sorted({*old, *new}, key=task_order):
        was, now = old.get(task, ()), new.get(task, ())
        if was != now:
            yield f"task {task}: {listed(was) if was else 'nobody'} → {listed(now) if now else 'nobody'}"


def _number(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
