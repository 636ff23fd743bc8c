"""Findings about versions: who cannot read whom, and what ``upgrade.from`` has to do with it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from assignor.inspect.member import Member
from assignor.inspect.raw import STABLE
from assignor.inspect.scene import Said, Scene, names, verb
from assignor.inspect.standing import Stage, listed
from subscription_codec import EARLIEST_PROBEABLE_VERSION


def cannot_read(scene: Scene) -> Iterator[Said]:
    """Members that were answered a version above theirs."""
    for member in scene.members:
        version, highest = member.got.version, member.sent.highest
        # Below version 3 a member may know more than it says.
        if version is not None and highest is not None and version > max(highest, EARLIEST_PROBEABLE_VERSION - 1):
            yield Said(
                f"{member.name} was answered version {version} and supports {highest}: it cannot read that",
                [member.name],
            )


def cannot_probe(scene: Scene) -> Iterator[Said]:
    """Members of before 2.0 beside newer ones that are of 2.4 or later, whose envelope would show on them too."""
    old, new = _old_and_new(scene)
    if old and new and all(member.sent.envelope for member in new):
        yield _dies(old, new, f"{names(old)} {verb(old, 'seems', 'seem')} to be of a release before 2.0")


def may_not_probe(scene: Scene) -> Iterator[Said]:
    """Likewise beside members of 2.0 to 2.3, whose envelope is the old one: it may be ``upgrade.from``."""
    old, new = _old_and_new(scene)
    if old and new and not all(member.sent.envelope for member in new):
        yield _dies(
            old, new, f"{names(old)} may be of a release before 2.0 (or have upgrade.from set: then all is well)"
        )


def _old_and_new(scene: Scene) -> tuple[list[Member], list[Member]]:
    old = [member for member in scene.members if _before_probing(member) and not member.sent.senders.surely_pinned]
    return old, [member for member in scene.members if (member.sent.used or 0) >= EARLIEST_PROBEABLE_VERSION]


def _dies(old: Sequence[Member], new: Sequence[Member], who: str) -> Said:
    sent = min(member.sent.used or 0 for member in new)
    return Said(
        f"{who}, which cannot probe versions (KIP-268): whoever of such leads dies of version {sent}, which "
        f"{names(new)} {verb(new, 'sends', 'send')}",
        [member.name for member in old],
    )


def _before_probing(member: Member) -> bool:
    return member.sent.used is not None and member.sent.used < EARLIEST_PROBEABLE_VERSION


def upgrade_from(scene: Scene) -> Iterator[Said]:
    """Members that have it set for sure."""
    surely = [member for member in scene.members if member.sent.senders.surely_pinned]
    if surely:
        others = any(_before_probing(member) for member in scene.members if member not in surely)
        then = "which is right until all others are upgraded too" if others else "and nobody needs that any more"
        yield Said(
            f"{names(surely)} {verb(surely, 'sends', 'send')} version {_versions(surely)} in an envelope of 2.4 or "
            f"later: upgrade.from is still set, {then}",
            [member.name for member in surely],
        )


def maybe_upgrade_from(scene: Scene) -> Iterator[Said]:
    """Members that may have it set, or be old."""
    perhaps = [
        member
        for member in scene.members
        if member.sent.senders.pinned and member.sent.senders.plain and _before_probing(member)
    ]
    if perhaps:
        yield Said(
            f"{names(perhaps)} {verb(perhaps, 'sends', 'send')} version {_versions(perhaps)}: "
            f"{perhaps[0].sent.senders}",
            [member.name for member in perhaps],
        )


def _versions(members: Sequence[Member]) -> str:
    return listed(sorted({member.sent.used or 0 for member in members}))


def could_speak_more(scene: Scene) -> Iterator[Said]:
    """The last step of an upgrade, which should not last."""
    if scene.standing.stage is Stage.LAST_STEP and scene.raw.state == STABLE:
        yield Said(f"{scene.standing.text}; if it stays so, a follow-up rebalance was lost (KAFKA-10455)")


def mixed_protocols(scene: Scene) -> Iterator[Said]:
    """Eager members beside cooperative ones."""
    found: dict[str, list[Member]] = defaultdict(list)
    for member in scene.members:
        found[member.rebalance_protocol].append(member)
    if found["eager"] and found["cooperative"]:
        yield Said(
            f"{names(found['eager'])} {verb(found['eager'], 'is', 'are')} eager and {names(found['cooperative'])} "
            "cooperative: tasks can have two owners (KIP-429); bounce with upgrade.from first",
            [member.name for member in found["eager"]],
        )
