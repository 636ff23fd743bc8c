"""What changed between two looks at a group, as codes with parameters; ``messages.change_text`` renders them."""

from __future__ import annotations

from collections.abc import Iterator

from assignor.inspect._group import InspectedGroup
from assignor.inspect._messages import Change
from assignor.inspect.member import InspectedMember, in_order
from assignor.inspect.standbys import owners_by_task


def find_changes(
    before: InspectedGroup | None, after: InspectedGroup, last_decoded: InspectedGroup | None = None
) -> list[Change]:
    """Compare two looks.

    Args:
        before: the look before; None for the first look, which is one change.
        after: the look now.
        last_decoded: the last look with metadata (default: `before`). Versions and tasks are compared with it, because
            the broker shows no metadata while a group rebalances.

    """
    if before is None:
        return [Change("first-seen", {"state": after.described.state, "members": len(after.members)})]
    last_decoded = last_decoded or before
    return [
        *_state_changes(before, after),
        *_member_changes(before, after),
        *_version_changes(last_decoded, after),
        *_task_changes(last_decoded, after),
    ]


def _state_changes(before: InspectedGroup, after: InspectedGroup) -> Iterator[Change]:
    old, new = before.described.state, after.described.state
    if old != new:
        yield Change("state", {"before": old, "after": new})
    epochs = [group.described.broker.epoch if group.described.broker else None for group in (before, after)]
    if None not in epochs and epochs[0] != epochs[1]:
        yield Change("epoch", {"before": epochs[0], "after": epochs[1]})


def _member_changes(before: InspectedGroup, after: InspectedGroup) -> Iterator[Change]:
    old, new = ({member.described.member_id: member.name for member in group.members} for group in (before, after))
    if joined := [name for each, name in new.items() if each not in old]:
        yield Change("joined", {"members": joined})
    if left := [name for each, name in old.items() if each not in new]:
        yield Change("left", {"members": left})


def _version_changes(before: InspectedGroup, after: InspectedGroup) -> Iterator[Change]:
    old = {member.described.member_id: _versions(member) for member in before.members}
    for member in after.members:
        was, now = old.get(member.described.member_id), _versions(member)
        if was and now and was != now:
            yield Change("version", {"member": member.name, "before": was, "after": now})
    was_status, status = before.upgrade_status, after.upgrade_status
    if was_status.used and status.used and was_status != status:
        yield Change("upgrade", {"status": status})


def _versions(member: InspectedMember) -> tuple[int, int | None] | None:
    """Return the sent and the received version; None if none was sent."""
    sent = member.subscription.used_version
    return None if sent is None else (sent, member.assignment.used_version)


def _task_changes(before: InspectedGroup, after: InspectedGroup) -> Iterator[Change]:
    old, new = owners_by_task(before.members), owners_by_task(after.members)
    if not (old and new):
        return
    for task in in_order({*old, *new}):
        was, now = old.get(task, ()), new.get(task, ())
        if was != now:
            yield Change("task", {"task": str(task), "before": was, "after": now})
