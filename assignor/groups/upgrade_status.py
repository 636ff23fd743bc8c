"""Where the upgrade of a group stands, from the versions in its members' last subscriptions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

from attrs import field, frozen

from streams_assignor.codec import EARLIEST_PROBEABLE_VERSION
from streams_assignor.groups.member import InspectedMember


class Stage(Enum):
    """Progress of an upgrade."""

    UNKNOWN = "no version can be read"
    DONE = "all send the highest version that they support"
    WAITING = "all send one version, and some support a higher one"
    LAST_STEP = "all support a higher version than they send"
    MIXED = "members send different versions"
    BEFORE_PROBING = "all send a version below 3, which does not contain the supported version"


@frozen(kw_only=True)
class UpgradeStatus:
    """The stage and the versions it follows from; ``messages.upgrade_text`` renders it."""

    stage: Stage

    used: Mapping[int, int] = field(factory=dict, hash=False)
    """Number of members by the version that they send, ascending."""

    common: int | None = None
    """The highest version that all members are known to support; None if no version can be read."""

    waiting_for: tuple[str, ...] = ()
    """Names of the members that support only `common` while others support more."""

    waiting_labels: tuple[str, ...] = ()
    """Their names for people."""

    pinned: bool = False
    """Whether all members that send a version below 3 certainly have ``upgrade.from`` set."""

    unreadable: int = 0
    """Number of members without a readable version."""


def upgrade_status(members: Sequence[InspectedMember]) -> UpgradeStatus:
    """Judge the versions of all members."""
    stage = upgrade_stage(members)
    if stage is Stage.UNKNOWN:
        return UpgradeStatus(stage=stage, unreadable=len(members))
    readable = [member for member in members if member.subscription.used_version is not None]
    used = Counter([member.subscription.used_version or 0 for member in readable])
    supported = [member.subscription.readable_version or 0 for member in readable]
    common, highest = min(supported), max(supported)
    lowest = [member for member, version in zip(readable, supported, strict=True) if version == common < highest]
    old = [member for member in readable if (member.subscription.used_version or 0) < EARLIEST_PROBEABLE_VERSION]
    return UpgradeStatus(
        stage=stage,
        used=dict(sorted(used.items())),
        common=common,
        waiting_for=tuple(member.name for member in lowest),
        waiting_labels=tuple(member.label for member in lowest),
        pinned=all(member.subscription.candidate_releases.is_pinned for member in old),
        unreadable=len(members) - len(readable),
    )


def upgrade_stage(members: Iterable[InspectedMember]) -> Stage:
    """Judge how far the versions of all members are."""
    readable = [sent for member in members if (sent := member.subscription).used_version is not None]
    if not readable:
        return Stage.UNKNOWN
    used = {sent.used_version or 0 for sent in readable}
    supported = {sent.readable_version or 0 for sent in readable}
    common, highest = min(supported), max(supported)
    if len(used) > 1:
        return Stage.MIXED
    if highest < EARLIEST_PROBEABLE_VERSION:
        return Stage.BEFORE_PROBING
    if min(used) < common:
        return Stage.LAST_STEP
    return Stage.WAITING if common < highest else Stage.DONE
