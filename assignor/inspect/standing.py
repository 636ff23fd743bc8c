"""Where the upgrade of a group stands, by the versions that its members sent when they joined last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

from attrs import field, frozen

from assignor.inspect.member import Member
from subscription_codec import EARLIEST_PROBEABLE_VERSION


class Stage(Enum):
    """How far it is."""

    UNKNOWN = "nothing can be read"
    DONE = "all send the highest version that they know"
    WAITING = "all send one version, and some know a higher one"
    LAST_STEP = "all know a higher version than they send"
    MIXED = "members send different versions"
    BEFORE_PROBING = "all send a version below 3, in which nobody says what he knows"


@frozen(kw_only=True)
class Standing:
    """The stage, in words too.

    ``used`` counts members by the version that they send. ``common`` is the highest version that everybody can read,
    as far as that is known; ``waiting_for`` names those who cannot read more while others can.
    """

    stage: Stage
    text: str
    used: Mapping[int, int] = field(factory=dict, hash=False)
    common: int | None = None
    waiting_for: tuple[str, ...] = ()


def standing(members: Sequence[Member]) -> Standing:
    """Judge the versions of all members."""
    readable = [member for member in members if member.sent.used is not None]
    if not readable:
        return Standing(stage=Stage.UNKNOWN, text="unknown: no member shows a version")
    used = Counter(member.sent.used for member in readable if member.sent.used is not None)
    knows = {member.name: member.sent.highest or 0 for member in readable}
    common, best = min(knows.values()), max(knows.values())
    behind = tuple(name for name, highest in knows.items() if highest == common) if common < best else ()
    stage = _stage(used, common, best)
    return Standing(
        stage=stage,
        text=_text(stage, used, common, behind, _why_old(readable)) + _unread(len(members) - len(readable)),
        used=dict(sorted(used.items())),
        common=common,
        waiting_for=behind,
    )


def _stage(used: Mapping[int, int], common: int, best: int) -> Stage:
    if len(used) > 1:
        return Stage.MIXED
    (sent,) = used
    if best < EARLIEST_PROBEABLE_VERSION:
        return Stage.BEFORE_PROBING
    if sent < common:
        return Stage.LAST_STEP
    return Stage.WAITING if common < best else Stage.DONE


def _why_old(members: Sequence[Member]) -> str:
    """Say why members send a version below 3."""
    old = [member for member in members if (member.sent.used or 0) < EARLIEST_PROBEABLE_VERSION]
    if all(member.sent.senders.surely_pinned for member in old):
        return "upgrade.from is still set"
    return "a release before 2.0, or upgrade.from is still set"


def _text(stage: Stage, used: Mapping[int, int], common: int, behind: Sequence[str], why_old: str) -> str:
    (sent, *_), everybody = used, sum(used.values())
    match stage:
        case Stage.DONE:
            return f"all on version {sent}"
        case Stage.BEFORE_PROBING:
            return f"all on version {sent}: {why_old}"
        case Stage.LAST_STEP:
            return f"all send {sent} and all know {common}: the rebalance that raises the version is still to come"
        case Stage.WAITING:
            return f"all on version {sent}; {_waiting(behind, common, why_old)}"
    counted = ", ".join(f"{number} of {everybody} send {version}" for version, number in sorted(used.items()))
    return f"mixed: {counted}; the group can speak {common}" + (
        f"; {_waiting(behind, common, why_old)}" if behind else ""
    )


def _waiting(names: Sequence[str], common: int, why_old: str) -> str:
    if common < EARLIEST_PROBEABLE_VERSION:
        return f"waiting for {listed(names)} (version {common}: {why_old})"
    return f"waiting for {listed(names)} ({'supports' if len(names) == 1 else 'support'} {common})"


def _unread(number: int) -> str:
    return f"; {number} cannot be read" if number else ""


def listed(things: Iterable[object], most: int = 5) -> str:
    """Write a list as one says it, and not too long.

    >>> listed("abc"), listed("abc", most=2)
    ('a, b and c', 'a, b and 1 more')
    """
    names = [str(thing) for thing in things]
    if len(names) > most:
        names = [*names[:most], f"{len(names) - most} more"]
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
