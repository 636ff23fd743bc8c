"""Checks of versions: members that cannot read each other's metadata, and ``upgrade.from``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from streams_assignor.codec import EARLIEST_PROBEABLE_VERSION
from streams_assignor.groups.check import GroupView, Match, names_of
from streams_assignor.groups.described_group import STABLE
from streams_assignor.groups.member import InspectedMember
from streams_assignor.groups.upgrade_status import Stage, upgrade_stage


def cannot_read(view: GroupView) -> Iterator[Match]:
    """Members that received a version above the supported one."""
    for member in view.members:
        version, supported = member.assignment.used_version, member.subscription.readable_version
        # Below version 3 a subscription does not contain the supported version, which may be higher than the used one.
        if version is not None and supported is not None and EARLIEST_PROBEABLE_VERSION <= version > supported:
            yield Match({"name": member.name, "version": version, "supported": supported}, [member.name])


def cannot_probe(view: GroupView) -> Iterator[Match]:
    """Members before 2.0 beside newer ones of 2.4 or later: with ``upgrade.from``, their envelope would be newer."""
    yield from _unable_to_probe(view, certain=True)


def may_not_probe(view: GroupView) -> Iterator[Match]:
    """Members that may be before 2.0 beside members of 2.0 to 2.3, whose envelope is the old one, too."""
    yield from _unable_to_probe(view, certain=False)


def _unable_to_probe(view: GroupView, *, certain: bool) -> Iterator[Match]:
    old = [member for member in _below_probing(view) if not member.subscription.candidate_releases.is_pinned]
    new = [member for member in view.members if _used(member) >= EARLIEST_PROBEABLE_VERSION] if old else []
    if new and all(member.subscription.consumer_protocol_version for member in new) is certain:
        version = min(map(_used, new))
        yield Match({"old": names_of(old), "new": names_of(new), "version": version}, names_of(old))


def _used(member: InspectedMember) -> int:
    return member.subscription.used_version or 0


def _below_probing(view: GroupView) -> list[InspectedMember]:
    return [
        member
        for member in view.members
        if (version := member.subscription.used_version) is not None and version < EARLIEST_PROBEABLE_VERSION
    ]


def upgrade_from(view: GroupView) -> Iterator[Match]:
    """Members that certainly have ``upgrade.from`` set."""
    below = _below_probing(view)
    pinned = [member for member in below if member.subscription.candidate_releases.is_pinned]
    if pinned:
        has_others = len(below) > len(pinned)
        yield Match(
            {"pinned": names_of(pinned), "versions": _used_versions(pinned), "others": has_others}, names_of(pinned)
        )


def maybe_upgrade_from(view: GroupView) -> Iterator[Match]:
    """Members that have ``upgrade.from`` set or are of an old release."""
    members = [
        member
        for member in _below_probing(view)
        if member.subscription.candidate_releases.pinned and member.subscription.candidate_releases.unpinned
    ]
    if members:
        releases = members[0].subscription.candidate_releases
        yield Match(
            {"names": names_of(members), "versions": _used_versions(members), "releases": releases}, names_of(members)
        )


def _used_versions(members: Sequence[InspectedMember]) -> list[int]:
    return sorted({*map(_used, members)})


def could_speak_more(view: GroupView) -> Iterator[Match]:
    """A stable group in the last step of an upgrade, which should not last."""
    if view.described.state == STABLE and upgrade_stage(view.members) is Stage.LAST_STEP:
        yield Match({"status": view.upgrade_status})


def mixed_protocols(view: GroupView) -> Iterator[Match]:
    """Eager members beside cooperative ones."""
    eager = [member.name for member in view.members if member.rebalance_protocol == "eager"]
    cooperative = (
        [member.name for member in view.members if member.rebalance_protocol == "cooperative"] if eager else []
    )
    if cooperative:
        yield Match({"eager": eager, "cooperative": cooperative}, eager)
