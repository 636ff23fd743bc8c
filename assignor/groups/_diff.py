"""The changes between two looks at a group, as codes with parameters; ``messages.change_text`` renders them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from streams_assignor.groups._group import InspectedGroup
from streams_assignor.groups._messages import Change, upgrade_text
from streams_assignor.groups.decoded import in_order
from streams_assignor.groups.described_group import WITHOUT_METADATA
from streams_assignor.groups.member import InspectedMember
from streams_assignor.groups.member_names import member_label, place_of, short_name
from streams_assignor.groups.standbys import owners_by_task


def find_changes(
    before: InspectedGroup | None,
    after: InspectedGroup,
    last_settled: InspectedGroup | None = None,
    departed: Sequence[InspectedMember] = (),
) -> list[Change]:
    """Compare two looks.

    Args:
        before: the look before; None for the first look, which is one change.
        after: the look now.
        last_settled: the last look with metadata (default: `before`). Members, versions and tasks are compared with it:
            while a classic group rebalances, the broker shows no metadata, and old members beside their successors.
        departed: members that have left before.

    """
    if before is None:
        return [Change("first-seen", {"state": after.described.state, "members": len(after.members)})]
    last_settled = last_settled or before
    changes = _state_changes(before, after)
    if is_hidden(after):
        return [*changes]
    replaced = replaced_members(last_settled, after)
    return [
        *changes,
        *_member_changes(last_settled, after, replaced, departed),
        *_version_changes(last_settled, after),
        *_task_changes(last_settled, after, {old.label: new.label for old, new in replaced}),
    ]


def is_hidden(group: InspectedGroup) -> bool:
    """Whether the broker hides metadata, and shows members that are being replaced."""
    return group.described.state in WITHOUT_METADATA


def replaced_members(before: InspectedGroup, after: InspectedGroup) -> list[tuple[InspectedMember, InspectedMember]]:
    """Pair the members that have left with those that have joined at their places."""
    left, joined = _difference(before, after), _difference(after, before)
    return _pairs(left, joined)


def _difference(group: InspectedGroup, other: InspectedGroup) -> list[InspectedMember]:
    other_ids = {member.described.member_id for member in other.members}
    return [member for member in group.members if member.described.member_id not in other_ids]


def _pairs(
    old: Iterable[InspectedMember], new: Iterable[InspectedMember]
) -> list[tuple[InspectedMember, InspectedMember]]:
    """Pair members at the same places; each member is in one pair at most."""
    at_place = defaultdict[str, list[InspectedMember]](list)
    for member in old:
        at_place[place_of(member.described)].append(member)
    return [(left.pop(0), member) for member in new if (left := at_place[place_of(member.described)])]


def _state_changes(before: InspectedGroup, after: InspectedGroup) -> Iterator[Change]:
    old, new = before.described.state, after.described.state
    if old != new:
        yield Change("state", {"before": old, "after": new})
    epochs = [group.described.broker.epoch if group.described.broker else None for group in (before, after)]
    if None not in epochs and epochs[0] != epochs[1]:
        yield Change("epoch", {"before": epochs[0], "after": epochs[1]})


def _member_changes(
    before: InspectedGroup,
    after: InspectedGroup,
    replaced: Sequence[tuple[InspectedMember, InspectedMember]],
    departed: Sequence[InspectedMember],
) -> Iterator[Change]:
    paired = {member.described.member_id for pair in replaced for member in pair}
    joined, left = (
        [member for member in _difference(*groups) if member.described.member_id not in paired]
        for groups in ((after, before), (before, after))
    )
    back = _pairs(departed, joined)
    returned = {new.described.member_id for _, new in back}
    for code, texts in (
        ("replaced", [_succession(*pair) for pair in replaced]),
        ("back", [_succession(*pair) for pair in back]),
        ("joined", [member.label for member in joined if member.described.member_id not in returned]),
        ("left", [member.label for member in left]),
    ):
        if texts:
            yield Change(code, {"members": texts})


def _succession(old: InspectedMember, new: InspectedMember) -> str:
    """Name a member and its successor: the place once, and both UUIDs beside it."""
    old_uuid, new_uuid = (short_name(member.described.member_id) for member in (old, new))
    return member_label(new.described, uuid=f"{old_uuid} → {new_uuid}")


def _version_changes(before: InspectedGroup, after: InspectedGroup) -> Iterator[Change]:
    old = {member.described.member_id: _versions(member) for member in before.members}
    for member in after.members:
        was, now = old.get(member.described.member_id), _versions(member)
        if was and now and was != now:
            yield Change("version", {"member": member.label, "before": was, "after": now})
    was_status, status = before.upgrade_status, after.upgrade_status
    if was_status.used and status.used and upgrade_text(was_status) != upgrade_text(status):
        yield Change("upgrade", {"status": status})


def _versions(member: InspectedMember) -> tuple[int, int | None] | None:
    """Return the sent and the received version; None if none was sent."""
    sent = member.subscription.used_version
    return None if sent is None else (sent, member.assignment.used_version)


def _task_changes(before: InspectedGroup, after: InspectedGroup, successors: Mapping[str, str]) -> Iterator[Change]:
    """Yield tasks with other owners; a member that was replaced is its successor."""
    old, new = owners_by_task(before.members), owners_by_task(after.members)
    if not (old and new):
        return
    for task in in_order({*old, *new}):
        was, now = tuple(successors.get(owner, owner) for owner in old.get(task, ())), new.get(task, ())
        if was != now:
            yield Change("task", {"task": str(task), "before": was, "after": now})
