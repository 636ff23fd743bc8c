"""Why a rebalance happened, from two neighbouring generations and the commits between them.

A record does not say it, so a cause is inferred by the rules of ``CAUSES``, in their order: the first that applies is
the cause. ``certain``: no other explanation fits the records; ``likely``: another one is possible; ``unknown``: none of
the rules applies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final

from attrs import field, frozen

from streams_assignor.formats.text import format_seconds
from streams_assignor.groups.described_group import CLASSIC, STREAMS
from streams_assignor.groups.history._commits import GenerationCommits
from streams_assignor.groups.history._generation import EpochProgress, Generation, GroupMember
from streams_assignor.groups.history.tables import ASSUMED_SESSION_MS

CERTAIN: Final = "certain"
LIKELY: Final = "likely"
UNKNOWN: Final = "unknown"
_SCHEDULE_SLACK_MS: Final = 60_000
"""How much later than scheduled a probing rebalance completes: a member polls, and the others join."""
_SHOWN_NAMES: Final = 10
_FIRST_EPOCH: Final = 2

_REGULAR_COMMITS: Final = 3
"""Commits of a partition in one generation from which follows how often a member commits."""
_FENCING_SLACK_MS: Final = 10_000
"""How much later than a session ends a coordinator removes the member, at most, if it is busy."""


@frozen
class Cause:
    """Why a generation came about."""

    code: str
    confidence: str
    detail: str = ""


@frozen(kw_only=True)
class GenerationChange:
    """Two neighbouring generations, and what changed between them."""

    before: Generation | None
    after: Generation
    commits: GenerationCommits = field(factory=GenerationCommits)
    """Those before the generation, as far as commits were read."""
    assumed_session_ms: int = ASSUMED_SESSION_MS
    """The session timeout of members whose records have none."""

    @cached_property
    def new(self) -> list[GroupMember]:
        """Members that were not in the generation before."""
        earlier = self.before.members if self.before else {}
        if earlier.keys() == self.after.members.keys():
            return []
        return [member for member in self.after.members.values() if member.member_id not in earlier]

    @cached_property
    def gone(self) -> list[GroupMember]:
        """Members of the generation before that are not in this one."""
        earlier = self.before.members if self.before else {}
        if earlier.keys() <= self.after.members.keys():
            return []
        return [member for member in earlier.values() if member.member_id not in self.after.members]

    @cached_property
    def kept(self) -> list[tuple[GroupMember, GroupMember]]:
        """The other members, before and after."""
        earlier = self.before.members if self.before else {}
        return [(earlier[name], member) for name, member in self.after.members.items() if name in earlier]

    @cached_property
    def restarted(self) -> list[GroupMember]:
        """New members with the identity, or the process id, of one that is gone or still listed."""
        if self.before is None or not self.new:
            return []
        earlier, listed = self.gone, [member for member, _ in self.kept]
        identities = {member.identity for member in earlier} | {
            member.identity for member in listed if member.instance_id
        }
        processes = {member.process_id for member in earlier} - {None}
        return [member for member in self.new if member.identity in identities or member.process_id in processes]


def infer_cause(transition: GenerationChange) -> Cause:
    """Return the cause of a generation."""
    for code, rule in CAUSES.items():
        inferred = rule(transition)
        if inferred is not None:
            confidence, detail = inferred
            return Cause(code, confidence, detail + _errors_of_gone(transition))
    return Cause(UNKNOWN, UNKNOWN, "no rule explains it from the records")


def _errors_of_gone(transition: GenerationChange) -> str:
    """Return the error codes in the last assignments of members that are gone: they may have ended because of them."""
    codes = sorted({member.error_code for member in transition.gone if member.error_code})
    return f"; error code {', '.join(map(str, codes))} in the last assignment of members that are gone" if codes else ""


_Found = tuple[str, str] | None


def _names(members: Iterable[GroupMember]) -> str:
    names = sorted(member.name for member in members)
    more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
    return ", ".join(names[:_SHOWN_NAMES]) + more


def _group_created(change: GenerationChange) -> _Found:
    if change.before is not None and change.before.members:
        return None
    if not change.after.members:
        return (CERTAIN, "the group has no members yet") if change.before is None else None
    first = "the first generation in the records" if change.before is None else "the group was empty"
    confidence = CERTAIN if change.before is not None else _confidence_of_the_first(change.after)
    return confidence, f"{first}; joined: {_names(change.after.members.values())}"


def _confidence_of_the_first(first: Generation) -> str:
    if first.number <= 1:
        return CERTAIN
    # The first epoch is 1 up to Kafka 4.0 and 2 in 4.3.
    return LIKELY if first.type != CLASSIC and first.number == _FIRST_EPOCH else UNKNOWN


def _group_converted(change: GenerationChange) -> _Found:
    before = change.before
    if before is not None and before.type != change.after.type:
        return CERTAIN, f"{before.type} to {change.after.type}"
    # GroupMetadataManager.convertToClassicGroup prepares a rebalance, so that those who stay share the partitions.
    alone = before is not None and before.is_conversion and not change.new and not change.gone
    return (LIKELY, f"the first rebalance as a {change.after.type} group") if alone else None


def _static_member_restarted(change: GenerationChange) -> _Found:
    statics = [member for member in change.restarted if member.instance_id]
    if statics and len(statics) == len(change.new):
        return CERTAIN, f"restarted with the same group.instance.id: {_names(statics)}"
    return None


def _member_restarted(change: GenerationChange) -> _Found:
    if not (restarted := change.restarted):
        return None
    joined = [member for member in change.new if member not in restarted]
    more = f"; joined: {_names(joined)}" if joined else ""
    return LIKELY, f"restarted: {_names(restarted)}{more}"


def _member_joined(change: GenerationChange) -> _Found:
    if not change.new:
        return None
    more = f"; gone: {_names(change.gone)}" if change.gone else ""
    return CERTAIN if not change.gone else LIKELY, f"joined: {_names(change.new)}{more}"


def _owned(member: GroupMember) -> Iterator[tuple[str, int]]:
    for partition in member.partitions:
        topic, _, number = partition.rpartition("-")
        yield topic, int(number)


def _silence(change: GenerationChange, member: GroupMember) -> int | None:
    """Return how long a member had not committed when the group had joined again; None if it had never.

    In a group that is not classic the coordinator also writes a record when a member joins or confirms an assignment.
    """
    commits = change.commits.last_times
    signs = [commits[partition] for partition in _owned(member) if partition in commits] if commits else []
    last = max(*signs, member.last_sign_of_life) if signs else member.last_sign_of_life
    moment = change.after.joined_time or change.after.time
    return moment - last if moment >= 0 <= last else None


def _has_committed_lately(change: GenerationChange, member: GroupMember) -> bool:
    """Whether neither its session nor its poll interval, which is its rebalance timeout, can have ended.

    A session begins with a heartbeat, up to a third of it before the last commit (``heartbeat.interval.ms``).
    """
    silence = _silence(change, member)
    session = member.session_timeout_ms or change.assumed_session_ms
    return silence is not None and silence < min(session * 2 // 3, member.rebalance_timeout_ms or session)


def _stopped_committing(change: GenerationChange, member: GroupMember) -> bool:
    """Whether a member of a group that is not classic committed regularly, and then not for as long as a session.

    One that is idle does not commit either: then it was silent for any time, and may have left.
    """
    commit_sums = change.commits.sums
    sums = [commit_sums[partition] for partition in _owned(member) if partition in commit_sums]
    regular = [commit_sum.longest_gap_ms for commit_sum in sums if commit_sum.commits >= _REGULAR_COMMITS]
    silence = _silence(change, member)
    if not regular or silence is None:
        return False
    session = change.assumed_session_ms
    limits = {session, member.rebalance_timeout_ms or session}
    return any(limit * 2 // 3 <= silence <= limit + 3 * max(regular) + _FENCING_SLACK_MS for limit in limits)


def _member_left(change: GenerationChange) -> _Found:
    if not change.gone or not all(_has_committed_lately(change, member) for member in change.gone):
        return None
    confidence = CERTAIN if all(member.session_timeout_ms for member in change.gone) else LIKELY
    signs = "committed" if change.after.type == CLASSIC else "committed or confirmed an assignment"
    assumed = "" if confidence == CERTAIN else f", assumed to be {format_seconds(change.assumed_session_ms / 1000)}"
    return confidence, f"left: {_names(change.gone)} ({signs} within the session timeout{assumed})"


def _member_timed_out(change: GenerationChange) -> _Found:
    if not change.gone:
        return None
    # Kafka Streams does not leave a classic group when it closes: internal.leave.group.on.close is false. Nor do static
    # members. It leaves a group of KIP-1071.
    streams = change.after.is_streams and change.after.type == CLASSIC
    stays = streams or any(member.instance_id for member in change.gone)
    if change.after.type == CLASSIC:
        silent = any(_silence(change, member) is not None for member in change.gone)
    else:
        silent = all(_stopped_committing(change, member) for member in change.gone)
    # Silence is no evidence if no member commits: there may be no records.
    silent = silent and any(_has_committed_lately(change, before) for before, _ in change.kept)
    return (LIKELY, f"timed out: {_names(change.gone)}") if stays or silent else None


def _version_probing(change: GenerationChange) -> _Found:
    answered = [after for before, after in change.kept if _probed_again(before, after)]
    if not answered:
        return None
    versions = sorted({member.subscription.used_version or 0 for member in answered})
    return CERTAIN, f"version {', '.join(map(str, versions))} after probing: {_names(answered)}"


def _probed_again(before: GroupMember, after: GroupMember) -> bool:
    used, now = before.subscription.used_version, after.subscription.used_version
    return used is not None and now is not None and (used != now or (before.assignment.used_version or 0) < used)


def _error(change: GenerationChange) -> _Found:
    failed = [before for before, _ in change.kept if before.error_code]
    return (LIKELY, f"error code {failed[0].error_code}: {_names(failed)}") if failed else None


def _revocation(change: GenerationChange) -> _Found:
    rejoining = [before for before, _ in change.kept if before.is_about_to_rejoin]
    return (CERTAIN, f"rejoined after the last assignment: {_names(rejoining)}") if rejoining else None


def _probing_rebalance(change: GenerationChange) -> _Found:
    due = [before for before, _ in change.kept if before.assignment.next_rebalance_ms]
    if not due:
        return None
    moment = min(member.assignment.next_rebalance_ms or 0 for member in due)
    completed = change.after.joined_time or change.after.time
    if completed < moment:
        return None
    return CERTAIN if completed - moment <= _SCHEDULE_SLACK_MS else LIKELY, f"scheduled by the leader for {_names(due)}"


def _subscription_changed(change: GenerationChange) -> _Found:
    changed = [after for before, after in change.kept if before.topics != after.topics]
    return (CERTAIN, f"other topics: {_names(changed)}") if changed else None


def _topology_changed(change: GenerationChange) -> _Found:
    before, after = _progress(change)
    if before is None or after is None or before.topology_epoch == after.topology_epoch:
        return None
    return CERTAIN, f"topology epoch {before.topology_epoch} to {after.topology_epoch}"


def _settings_changed(change: GenerationChange) -> _Found:
    before, after = _progress(change)
    if before is None or after is None or before.settings is None or after.settings is None:
        return None
    changed = sorted(
        name for name in {**before.settings, **after.settings} if before.settings.get(name) != after.settings.get(name)
    )
    texts = [f"{name} {before.settings.get(name, '-')} to {after.settings.get(name, '-')}" for name in changed]
    return (CERTAIN, f"settings of the group: {', '.join(texts)}") if texts else None


def _topics_changed(change: GenerationChange) -> _Found:
    before, after = _progress(change)
    if before is None or after is None:
        return None
    if _is_first_assignment(change):
        return LIKELY, "the first tasks are assigned: the internal topics were created"
    if before.topics_hash == after.topics_hash:
        return None
    # 0: there is none of the topics, or the broker was of a release that writes no hash.
    confidence = CERTAIN if before.topics_hash and after.topics_hash else LIKELY
    return confidence, "topics were created, deleted or got partitions, or racks of their replicas changed"


def _is_first_assignment(change: GenerationChange) -> bool:
    """Whether a streams group gets tasks for the first time: its members waited for the coordinator to make topics."""
    had = any(member.partitions or member.assignment.active for member, _ in change.kept)
    has = any(member.partitions or member.assignment.active for _, member in change.kept)
    return change.after.type == STREAMS and has and not had


def _progress(change: GenerationChange) -> tuple[EpochProgress | None, EpochProgress | None]:
    return change.before.progress if change.before else None, change.after.progress


def _partitions_added(change: GenerationChange) -> _Found:
    # No member is new or gone here: those causes come first.
    before = frozenset[str]().union(*(member.partitions for member, _ in change.kept))
    after = frozenset[str]().union(*(member.partitions for _, member in change.kept))
    added, removed = after - before, before - after
    if not added or removed or _is_first_assignment(change):
        return None
    return LIKELY, f"{len(added)} more partitions are assigned"


def _metadata_changed(change: GenerationChange) -> _Found:
    changed = [after for before, after in change.kept if _metadata(before) != _metadata(after)]
    return (LIKELY, f"other metadata: {_names(changed)}") if changed else None


def _metadata(member: GroupMember) -> tuple[object, ...]:
    sent = member.subscription
    return member.process_id, member.rack, sent.used_version, sent.supported_version


def _leader_rejoined(change: GenerationChange) -> _Found:
    # JoinGroup of a follower with the same metadata starts no rebalance; that of the leader always does
    # (GroupCoordinator.doJoinGroup).
    leader = change.after.members.get(change.after.leader)
    if leader is None or change.before is None or change.before.leader != change.after.leader:
        return None
    return LIKELY, f"{leader.name} joined again: its topic metadata changed, or it asked for a rebalance"


CAUSES: Final[Mapping[str, Callable[[GenerationChange], _Found]]] = {
    "group-started": _group_created,
    "all-members-left": lambda change: None if change.after.members else (CERTAIN, f"gone: {_names(change.gone)}"),
    "group-converted": _group_converted,
    "static-member-restarted": _static_member_restarted,
    "member-restarted": _member_restarted,
    "member-joined": _member_joined,
    "member-left": _member_left,
    "member-timed-out": _member_timed_out,
    "member-gone": lambda change: (LIKELY, f"left or timed out: {_names(change.gone)}") if change.gone else None,
    "version-probing": _version_probing,
    "error-code": _error,
    "follow-up": _revocation,
    "probing-rebalance": _probing_rebalance,
    "subscription-changed": _subscription_changed,
    "topology-changed": _topology_changed,
    "settings-changed": _settings_changed,
    "partitions-added": _partitions_added,
    "topics-changed": _topics_changed,
    "metadata-changed": _metadata_changed,
    "leader-rejoined": _leader_rejoined,
}
"""The rules, by cause. The codes are part of the tables and do not change."""
