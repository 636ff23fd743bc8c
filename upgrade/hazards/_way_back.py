"""The way back after a step of a plan: how far a bounce undoes it, and what is lost."""

from __future__ import annotations

import enum
from typing import Final

from attrs import frozen

from streams_assignor.upgrade.hazards._stores import EMPTY_DIRECTORY, unreadable_formats
from streams_assignor.upgrade.hazards._table import static_downgrade
from streams_assignor.upgrade.plans import (
    RECORD_FORMAT_CHANGES,
    Obstacle,
    Plan,
    Upgrade,
    is_downgrade,
    is_wrongly_probed,
    obstacles,
)
from streams_assignor.upgrade.releases import Release
from streams_assignor.upgrade.upgrade_from import PINNED_VERSIONS
from streams_assignor.upgrade.verdict import TopologyFeature, advised_hop
from streams_assignor.upgrade.verdict.conditions import without_features


class WayBackVerdict(enum.Enum):
    """Whether a group can return to the release before a step."""

    OPEN = "open"
    """A bounce is enough, and nothing is lost."""
    LOSSY = "lossy"
    """A bounce is enough, but stores on disk are lost and are restored from the changelogs."""
    OFFLINE = "offline"
    """The group has to stop."""


@frozen
class WayBack:
    """How to return after a step, and until when."""

    verdict: WayBackVerdict
    how: str
    source: str
    brief: str = ""
    """``how`` in a few words; empty if it is one short sentence itself."""
    needs_operator: bool = False
    """Whether it needs what no broker shows: records that are processed first, or empty state directories."""

    def as_json(self) -> dict[str, str]:
        """Return plain values; ``verdict`` and ``how`` as in the plans of brokers."""
        return {"verdict": self.verdict.value, "how": self.how, "source": self.source}

    def __str__(self) -> str:
        return f"{self.verdict.value}: {self.how}"

    @property
    def summary(self) -> str:
        """The verdict, and the way in a few words."""
        return f"{self.verdict.value}: {self.brief or self.how}"


class StepKind(enum.Enum):
    """The members after a step."""

    PINNED = "of the new release, with upgrade.from"
    DONE = "of the new release"
    HELD_BACK = "of the old release still, with upgrade.from, before a downgrade"
    STOPPED = "stopped, still of the old release"


_OBSTACLE_SOURCES: Final = {
    Obstacle.VERSION: "KIP-268",
    Obstacle.OVERSHOT: "KAFKA-8649",
    Obstacle.PROTOCOL: "KIP-429",
    Obstacle.FOREIGN_KEY_JOINS: "KAFKA-13769",
    Obstacle.REPARTITIONING: "KIP-904",
}


def source_of(hop: Upgrade) -> str:
    """Name the documents that require the steps of a hop.

    >>> from streams_assignor.upgrade.plans import documented_upgrade
    >>> from streams_assignor.upgrade.releases import release_named
    >>> source_of(documented_upgrade(release_named("2.3"), release_named("3.9")))
    'KIP-429, KIP-904, upgrade guide of 3.9'

    There are none for a release whose behaviour is assumed.
    """
    if assumed := assumptions_of(hop.origin, hop.target):
        return f"none ({' and '.join(assumed)})"
    sources = [_OBSTACLE_SOURCES[obstacle] for obstacle in obstacles(hop.origin, hop.target)]
    if hop.upgrade_from in PINNED_VERSIONS and is_wrongly_probed(hop.origin, hop.target):
        sources.append(_OBSTACLE_SOURCES[Obstacle.OVERSHOT])
    if not sources and (hop.origin.supported_version != hop.target.supported_version or not hop.target.kafka_name):
        sources = ["KIP-268"]
    newest = max(hop.origin, hop.target, key=lambda release: release.number)
    return ", ".join([*sources, *([f"upgrade guide of {newest.line}"] if newest.kafka_name else [])])


def assumptions_of(*releases: Release) -> tuple[str, ...]:
    """Say what was assumed of releases.

    >>> from streams_assignor.upgrade.releases import resolve_release
    >>> assumptions_of(resolve_release("4.9", "4.3").release)
    ('4.9.0 is assumed to behave like 4.3.1',)
    """
    return tuple(
        f"{release} is assumed to behave like {release.assumed_like}" for release in releases if release.assumed_like
    )


def way_back(hop: Upgrade, kind: StepKind, absent: frozenset[TopologyFeature] = frozenset()) -> WayBack:
    """Return the way back to ``hop.origin`` after a step of this kind; a feature that is absent asks for nothing."""
    origin, target = hop.origin, hop.target
    if kind is StepKind.STOPPED:
        return WayBack(WayBackVerdict.OPEN, f"start every member as {origin} again", "KIP-268")
    if kind is StepKind.HELD_BACK:
        return WayBack(
            WayBackVerdict.OPEN, f"remove upgrade.from and bounce every member, still as {origin}", "KIP-268"
        )
    formats = unreadable_formats(origin, target)
    # Before upgrade.from is removed, the members that return are no newer than the others in what they send.
    back = Upgrade(target, origin, Plan.ONE_BOUNCE) if kind is StepKind.PINNED else advised_hop(target, origin, absent)
    drains = _drains(back, absent)
    words = [_return_by(back, pinned=kind is StepKind.PINNED, drains=drains)]
    brief = _brief_return(back, pinned=kind is StepKind.PINNED)
    sources = [source_of(back)]
    if formats:
        lines = ", ".join(store_format.line for store_format in formats)
        words.append(f"{origin} cannot open the stores of {lines}: {EMPTY_DIRECTORY}")
        brief += ", empty stores"
        sources += [store_format.source for store_format in formats]
    lowers = back.plan is not Plan.OFFLINE and not (kind is StepKind.PINNED and target.pinned_version(hop.upgrade_from))
    if lowers and (static := static_downgrade(target, origin)):
        words.append("a static member waits until its session has timed out")
        brief += ", static members after their session"
        sources.append(static.source)
    verdict = WayBackVerdict.LOSSY if formats else WayBackVerdict.OPEN
    distinct = dict.fromkeys(", ".join(sources).split(", "))
    verdict = WayBackVerdict.OFFLINE if back.plan is Plan.OFFLINE else verdict
    needs_operator = bool(formats) or (kind is StepKind.DONE and drains)
    return WayBack(verdict, "; ".join(words), ", ".join(distinct), brief, needs_operator)


def _brief_return(back: Upgrade, *, pinned: bool) -> str:
    origin = back.target
    if pinned:
        return f"to {origin} until upgrade.from is removed"
    if back.plan is Plan.OFFLINE:
        return f"stop the group, start it as {origin}"
    if back.plan is Plan.ONE_BOUNCE:
        return f"to {origin} at any time"
    return f"to {origin} in two bounces"


def _return_by(back: Upgrade, *, pinned: bool, drains: bool) -> str:
    target, origin, value = back.origin, back.target, back.upgrade_from
    if pinned:
        return f"until upgrade.from is removed, bounce every member that has {target} to {origin} again"
    if back.plan is Plan.OFFLINE:
        return f"no bounce leads back: stop every member of {target}, then start every member as {origin}"
    if back.plan is Plan.ONE_BOUNCE:
        return f"at any time, bounce every member that has {target} to {origin} again"
    if not is_downgrade(target, origin):
        return f'bounce every member to {origin} with upgrade.from="{value}", then remove it and bounce again'
    wait = ", wait until the records written before are processed" if drains else ""
    return f'set upgrade.from="{value}" again and bounce every member, still as {target}{wait}, then bounce to {origin}'


def _drains(back: Upgrade, absent: frozenset[TopologyFeature]) -> bool:
    """Whether records are in a format that the release to which the group returns cannot read."""
    in_the_way = without_features(obstacles(back.origin, back.target), absent)
    return not RECORD_FORMAT_CHANGES.keys().isdisjoint(in_the_way)
