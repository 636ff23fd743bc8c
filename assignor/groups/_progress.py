"""How far a group is: one line for an operator who asks whether an upgrade is stuck, and the end of a wait.

Metadata contains versions, not releases. So a member counts for all releases that could have sent its metadata: 7 of 12
members are "on 3.4.0 to 4.3.1". With a wanted release, the members count that may run it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum
from typing import Final

from attrs import field, frozen

from streams_assignor.formats.text import count, format_seconds, join_names
from streams_assignor.groups._group import InspectedGroup
from streams_assignor.groups.broker_assigned.reconciliation import blocking_members
from streams_assignor.groups.described_group import CLASSIC, DEAD, EMPTY, REBALANCING, STABLE, STREAMS, WITHOUT_METADATA
from streams_assignor.groups.member import InspectedMember
from streams_assignor.groups.upgrade_status import Stage
from streams_assignor.upgrade.release_detection import KAFKA_RELEASES, CandidateReleases, format_ranges
from streams_assignor.upgrade.releases import Release
from streams_assignor.upgrade.upgrade_from import PINNED_VERSIONS

_SHOWN_NAMES: Final = 3


class Rebalance(Enum):
    """The next rebalance, as far as metadata shows it."""

    IMMEDIATE = "immediate"
    """A member is about to rejoin: on request, to raise its version, or to revoke partitions."""

    PROBING = "probing"
    """The leader's process rejoins at a given time, to see whether warm-up tasks have caught up (KIP-441)."""


@frozen(kw_only=True)
class GroupProgress:
    """How far a group is; ``progress_text`` renders it."""

    state: str
    type: str
    protocol: str
    error: str
    members: int
    """The number of members."""

    problems: int

    releases: str
    """The wanted release, or the newest releases that members may run; empty if no member shows a version."""

    waiting_for: tuple[str, ...]
    """Names of the members that do not run them; empty if no member shows a version."""

    labels: Mapping[str, str] = field(hash=False)
    """The names for people, by name."""

    next_rebalance: Rebalance | None
    next_rebalance_ms: int | None
    """Milliseconds since 1970; None unless it is a probing rebalance."""

    unconfirmed: tuple[str, ...]
    """In a group whose broker assigns: names of the members that have to revoke, or to confirm their assignment."""

    is_certain: bool = True
    """Whether metadata shows that the members run a wanted release, or only that they may."""

    @property
    def on_releases(self) -> int:
        """The number of members that may run ``releases``."""
        return self.members - len(self.waiting_for) if self.releases else 0


def group_progress(
    group: InspectedGroup, release: Release | None = None, wanted: Collection[Release] = ()
) -> GroupProgress:
    """Return how far a group is, on its way to a release if one is given; ``wanted`` are all that are good enough."""
    versions = [member for member in group.members if member.subscription.used_version is not None]
    newest = max(map(_generation_of_code, versions), default=None)
    if release and group.described.type == STREAMS:
        versions = [*group.members]  # they have no versions, and may show a release
    arrived = {
        member.name: member
        for member in versions
        if (group.candidates_of(member).can_be(release) if release else _generation_of_code(member) == newest)
    }
    times = [member.assignment.next_rebalance_ms for member in group.members if member.assignment.next_rebalance_ms]
    in_last_step = group.upgrade_status.stage is Stage.LAST_STEP
    immediate = in_last_step or any(member.is_about_to_rejoin for member in group.members)
    return GroupProgress(
        state=group.described.state,
        type=group.described.type,
        protocol=group.described.protocol,
        error=group.described.error,
        members=len(group.members),
        problems=len(group.problems),
        releases=release.name if release and versions else _releases_text(arrived.values()),
        waiting_for=_names(member for member in group.members if versions and member.name not in arrived),
        labels={member.name: member.label for member in group.members},
        next_rebalance=Rebalance.IMMEDIATE if immediate else Rebalance.PROBING if times else None,
        next_rebalance_ms=None if immediate else min(times, default=None),
        unconfirmed=blocking_members(group.reconciliations),
        is_certain=not release or not _indistinguishable(map(group.candidates_of, arrived.values()), wanted),
    )


def _names(members: Iterable[InspectedMember]) -> tuple[str, ...]:
    return tuple(member.name for member in members)


def _generation_of_code(member: InspectedMember) -> tuple[int, int]:
    """Sort key: a later release has a higher supported version, or a later consumer."""
    return member.subscription.readable_version or 0, member.subscription.consumer_protocol_version or 0


def _releases_text(members: Iterable[InspectedMember]) -> str:
    """Write the releases of members of the same version, without those of this project if Kafka has some."""
    texts = []
    for member in members:
        candidates = member.subscription.candidate_releases
        unpinned, pinned = (
            tuple(release for release in part if release in KAFKA_RELEASES)
            for part in (candidates.unpinned, candidates.pinned)
        )
        texts.append(str(CandidateReleases(unpinned, pinned) if unpinned or pinned else candidates))
    return " and ".join(dict.fromkeys(texts))


def indistinguishable_releases(group: InspectedGroup, wanted: Collection[Release]) -> str:
    """Return the releases that some member may run, if some of them are not wanted; empty otherwise.

    The newest release of the table cannot be told from newer ones, and what was assumed is not known.
    """
    return _indistinguishable(map(group.candidates_of, group.members), wanted)


def _indistinguishable(shown: Iterable[CandidateReleases], wanted: Collection[Release]) -> str:
    candidates = {release for each in shown for release in each.releases}
    if assumed := [release.name for release in candidates if release.assumed_like]:
        return assumed[0]
    possible = tuple(release for release in KAFKA_RELEASES if release in candidates)
    is_certain = {*possible} <= {*wanted} and KAFKA_RELEASES[-1] not in possible
    return "" if is_certain else format_ranges(possible)


def upgrade_from_note(group: InspectedGroup, release: Release) -> str:
    """Say what the metadata of members of a release shows of ``upgrade.from``; empty if all of it.

    Most values change no byte. So a group that is on its release may have a second rolling bounce before it. A streams
    group knows none.
    """
    if group.described.type == STREAMS:
        return ""
    if pinned := [member.label for member in group.members if member.subscription.candidate_releases.is_pinned]:
        return (
            f"upgrade.from is still set for {join_names(pinned, limit=_SHOWN_NAMES)}: a bounce without it has to follow"
        )
    invisible = [value for value in release.upgrade_from if value not in PINNED_VERSIONS]
    if not invisible:
        return ""
    return (
        f"upgrade.from of {invisible[0]} or later changes no byte of the metadata, so it is not known whether it is "
        "set: if this was the first of two bounces, the second one has to follow"
    )


# -- waiting ---------------------------------------------------------------------------------------------------------


def is_stable(group: InspectedGroup) -> bool:
    """Whether the group is stable and no rebalance follows immediately; a probing rebalance may be scheduled.

    In the last step of an upgrade a rebalance that raises the version has to follow.
    """
    rebalance_follows = any(member.is_about_to_rejoin for member in group.members)
    in_last_step = group.upgrade_status.stage is Stage.LAST_STEP
    return group.described.state == STABLE and bool(group.members) and not rebalance_follows and not in_last_step


def shows_releases(group: InspectedGroup) -> bool:
    """Whether what the members send shows releases, or may when the group is stable."""
    raw = group.described
    return not group.members or group.has_tasks or (raw.type == CLASSIC and not raw.protocol)


def is_empty(group: InspectedGroup) -> bool:
    """Whether the group has no members."""
    return group.described.state in (EMPTY, DEAD)


def is_on_release(group: InspectedGroup, release: Release) -> bool:
    """Whether the group is stable and every member may run the release, with or without ``upgrade.from``."""
    return is_stable(group) and all(group.candidates_of(member).can_be(release) for member in group.members)


# -- text ------------------------------------------------------------------------------------------------------------


def progress_text(progress: GroupProgress, now_ms: int) -> str:
    """Render one line; ``now_ms`` is the time in milliseconds since 1970."""
    problems = count(progress.problems, "problem") if progress.problems else ""
    return "; ".join(filter(None, (*_facts(progress, now_ms), problems)))


def _facts(progress: GroupProgress, now_ms: int) -> tuple[str, ...]:
    members = count(progress.members, "member")
    waiting_for = _waiting_for([progress.labels[name] for name in progress.waiting_for or progress.unconfirmed])
    if progress.error and progress.members:
        return (f"not completely described ({progress.state})", f"{members}{_unversioned(progress)}", waiting_for)
    if progress.error:
        return (f"not described ({progress.state})",)
    if progress.state in (EMPTY, DEAD):
        return (f"no members ({progress.state})",)
    if progress.state in WITHOUT_METADATA:
        return (f"rebalancing ({progress.state}) with {members}", "versions are shown when it is stable")
    return (
        f"rebalancing ({progress.state})" if progress.state in REBALANCING else _unless(STABLE, progress.state),
        _on_releases(progress) if progress.releases else f"{members}{_unversioned(progress)}",
        waiting_for,
        _next_rebalance(progress, now_ms),
    )


def _unless(usual: str, state: str) -> str:
    return "" if state == usual else state


def _on_releases(progress: GroupProgress) -> str:
    members = count(progress.members, "member")
    which = f"{progress.on_releases} of " if progress.waiting_for else "all " * (progress.members > 1)
    return f"{which}{members} {'on' if progress.is_certain else 'may run'} {progress.releases}"


def _unversioned(progress: GroupProgress) -> str:
    words = dict.fromkeys(filter(None, (progress.type if progress.type != CLASSIC else "", progress.protocol)))
    return f" ({', '.join(words)})" if words else ""


def _waiting_for(names: Sequence[str]) -> str:
    return f"waiting for {join_names(names, limit=_SHOWN_NAMES)}" if names else ""


def _next_rebalance(progress: GroupProgress, now_ms: int) -> str:
    if progress.next_rebalance is None:
        return "no rebalance is due" if progress.releases else ""
    if progress.next_rebalance_ms is None:
        return "a rebalance follows immediately"
    seconds = (progress.next_rebalance_ms - now_ms) / 1000
    if seconds < 0:
        return f"rebalance overdue by {format_seconds(-seconds)} (probing)"
    return f"next rebalance in {format_seconds(seconds)} (probing)"
