"""Derives an upgrade guide from the results of a sweep: for each pair of releases the cheapest safe plan.

Only verdicts decide; Kafka's own guides are compared afterwards, to explain the differences. A *hop* is a plan that
leads from one release to another without stopping the group, a *path* is one hop or several through bridge releases.
A sweep sees rebalance metadata and task ownership, and no records. The *way* of an entry is therefore that of
``upgrade.verdict``, which knows record formats (KAFKA-13769, KIP-904), as long as the sweep does not refute it. So the
guide, ``streams-assignor plan`` and the report advise the same.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from attrs import frozen

from streams_assignor.spark_sim.search.cell_result import ERROR, HOLDS, SAFE_IF, UNKNOWN, UNSAFE, UpgradeResult
from streams_assignor.upgrade.planner import documented_hops
from streams_assignor.upgrade.plans import (
    KAFKA_8649_RULE_SET,
    RECORD_FORMAT_CHANGES,
    Obstacle,
    Plan,
    Upgrade,
    is_downgrade,
    obstacles,
)
from streams_assignor.upgrade.releases import Release
from streams_assignor.upgrade.upgrade_from import line_number
from streams_assignor.upgrade.verdict import Guidance, guidance

BOUNCES: Final[Mapping[Plan, int]] = {Plan.ONE_BOUNCE: 1, Plan.TWO_BOUNCES: 2}
Pair = tuple[Release, Release]


@frozen
class UpgradePath:
    """The safe hops from one release to another; none if only an offline upgrade is safe."""

    origin: Release
    target: Release
    hops: tuple[UpgradeResult, ...] = ()

    @property
    def bounces(self) -> int:
        """The number of rolling restarts; 0 for offline."""
        return sum(BOUNCES[hop.upgrade.plan] for hop in self.hops)

    @property
    def via(self) -> tuple[str, ...]:
        """The bridge releases, in order."""
        return tuple(hop.upgrade.target.name for hop in self.hops[:-1])

    @property
    def sign(self) -> str:
        """One character for tables: the number of bounces, or ``o`` for offline."""
        return str(self.bounces or "o")

    def __str__(self) -> str:
        return path_text(hop.upgrade for hop in self.hops)


def path_text(hops: Iterable[Upgrade]) -> str:
    """Write the hops of a path; without any it is ``offline``."""
    return ", then ".join(map(_hop_text, hops)) or "offline"


def _hop_text(hop: Upgrade) -> str:
    if hop.plan is Plan.OFFLINE:
        return "offline"
    value = f' with upgrade.from="{hop.upgrade_from}"' if hop.upgrade_from else ""
    return f"{'one bounce' if hop.plan is Plan.ONE_BOUNCE else 'two bounces'}{value} to {hop.target}"


@frozen
class PairGuide:
    """The guide for one pair of releases."""

    path: UpgradePath
    """The cheapest safe path by metadata alone."""
    advised: Guidance
    plain_bounce: UpgradeResult | None
    """A single bounce without configuration, if it is unsafe."""
    unseen_obstacles: tuple[Obstacle, ...]
    """Changes of record formats, which a sweep does not see."""
    verdict: str
    """The verdict of ``way``."""

    @property
    def way(self) -> tuple[Upgrade, ...]:
        """The way to take: the advised one, or the path if the sweep refutes it."""
        return self.advised.hops if self.verdict in HOLDS else tuple(hop.upgrade for hop in self.path.hops)

    @property
    def if_met(self) -> tuple[Upgrade, ...]:
        """The way that is enough if the topology meets the conditions; empty if there is none of its own."""
        return self.advised.if_met if self.verdict == SAFE_IF else ()

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions of ``safe-if``."""
        return self.advised.conditions if self.verdict == SAFE_IF else ()

    @property
    def by_metadata(self) -> UpgradePath | None:
        """The path if it is neither the way nor the one under conditions: the metadata allows it, and no guide."""
        shown_paths = {path_text(self.way), path_text(self.if_met)}
        return None if str(self.path) in shown_paths else self.path

    @property
    def sign(self) -> str:
        """The number of bounces, or ``o`` for offline; ``1/2`` is one if the conditions are met, else two."""
        met = f"{count_bounces(self.if_met)}/" if self.if_met else ""
        return met + str(count_bounces(self.way) or "o") + "?" * (self.verdict == SAFE_IF and not met)


def count_bounces(hops: Iterable[Upgrade]) -> int:
    """Return the number of rolling restarts; 0 for offline."""
    return sum(BOUNCES.get(hop.plan, 0) for hop in hops)


def derive_guide(results: Iterable[UpgradeResult]) -> dict[Pair, PairGuide]:
    """Derive the guide from the results of a sweep, in the order of its cells."""
    cells: defaultdict[Pair, list[UpgradeResult]] = defaultdict(list)
    for result in results:
        cells[result.upgrade.origin, result.upgrade.target].append(result)
    hops = {pair: hop for pair, cell in cells.items() if (hop := _cheapest_safe_plan(cell)) is not None}
    paths = dict(_shortest_paths(hops))
    swept = {result.upgrade: result.explored_verdict for cell in cells.values() for result in cell}
    advised = {pair: guidance(*pair) for pair in cells}
    return {
        pair: PairGuide(
            UpgradePath(*pair, paths.get(pair, ())),
            advised[pair],
            next((result for result in cell if _is_plain_bounce(result) and not result.holds), None),
            tuple(obstacle for obstacle in obstacles(*pair) if obstacle in RECORD_FORMAT_CHANGES),
            _worst_verdict(advised[pair], swept),
        )
        for pair, cell in cells.items()
    }


def _worst_verdict(advised: Guidance, swept: Mapping[Upgrade, str]) -> str:
    """Return the verdict of an advised way; a hop that the sweep has explored can only worsen it."""
    verdicts = {swept.get(hop) for hop in (*advised.hops, *advised.if_met)}
    return next((verdict for verdict in (UNSAFE, ERROR, UNKNOWN) if verdict in verdicts), advised.verdict.value)


def _is_plain_bounce(result: UpgradeResult) -> bool:
    return result.upgrade.plan is Plan.ONE_BOUNCE and result.upgrade.upgrade_from is None


def _cheapest_safe_plan(cell: Iterable[UpgradeResult]) -> UpgradeResult | None:
    """Return the safe plan with the fewest bounces; among values the older line, then the newest one.

    A single bounce with a configuration that is never removed is a mistake and no plan, even where it is safe.
    """
    plans = [
        result
        for result in cell
        if result.holds and (_is_plain_bounce(result) or result.upgrade.plan is Plan.TWO_BOUNCES)
    ]
    return min(plans, key=_plan_cost, default=None)


def _plan_cost(result: UpgradeResult) -> tuple[int, bool, tuple[int, ...]]:
    upgrade = result.upgrade
    value = upgrade.upgrade_from
    older = min(upgrade.origin, upgrade.target, key=lambda release: release.number)
    return (
        BOUNCES[upgrade.plan],
        value not in {None, older.line},
        tuple(-n for n in line_number(value)) if value else (),
    )


def _shortest_paths(hops: Mapping[Pair, UpgradeResult]) -> Iterator[tuple[Pair, tuple[UpgradeResult, ...]]]:
    """Yield the best path for each pair that has one: fewest bounces, then fewest bridges, then the newest ones.

    A bridge release lies between the two releases.
    """
    nodes = sorted({release for pair in hops for release in pair}, key=lambda release: release.number)
    for upwards in (nodes, nodes[::-1]):
        for first, origin in enumerate(upwards):
            best: dict[Release, tuple[UpgradeResult, ...]] = {origin: ()}
            for target in upwards[first + 1 :]:
                through = [
                    (*way, hop)
                    for bridge, way in best.items()
                    if (bridge == origin or bridge.is_released) and (hop := hops.get((bridge, target))) is not None
                ]
                if through:
                    best[target] = min(through, key=_path_cost)
                    yield (origin, target), best[target]


def _path_cost(way: Sequence[UpgradeResult]) -> tuple[int, int, list[tuple[int, ...]]]:
    return sum(BOUNCES[hop.upgrade.plan] for hop in way), len(way), [_newest_bridge_first(hop) for hop in way[:-1]]


def _newest_bridge_first(hop: UpgradeResult) -> tuple[int, ...]:
    return tuple(-number for number in hop.upgrade.target.number)


# -- differences from Kafka's guides -----------------------------------------------------------------------------------


class DifferenceReason(enum.Enum):
    """Why the sweep differs from Kafka's guides. The order is that in which the reasons are tried."""

    FORMATS = "the guides ask for more because of records (KAFKA-13769, KIP-904), which a sweep does not see"
    PUSHED = "KAFKA-8649: the guides promise one bounce, and the sweep finds members that fail on it"
    BACK = "the guides know no rolling way back to a release that cannot be probed; the metadata allows one"
    BACK_PUSHED = "KAFKA-8649 makes a single bounce back fatal; members that are held back first are not pushed"
    FIXED_BRIDGE = "KAFKA-6054: no value helps on the way there, but a fixed release in between does"


@frozen
class GuideDifference:
    """A pair for which the sweep and Kafka's guides differ; ``reason`` is None if the difference is unexplained."""

    origin: Release
    target: Release
    documented: tuple[Upgrade, ...]
    derived: str
    reason: DifferenceReason | None


def guide_differences(entries: Mapping[Pair, PairGuide]) -> list[GuideDifference]:
    """List the pairs for which Kafka's guides differ."""
    return [
        GuideDifference(*pair, documented, str(entry.path), _difference_reason(pair, entry))
        for pair, entry in entries.items()
        if path_text(documented := documented_hops(*pair)) != str(entry.path)
    ]


def _difference_reason(pair: Pair, entry: PairGuide) -> DifferenceReason | None:
    origin, target = pair
    pair_obstacles = set(obstacles(*pair))
    if pair_obstacles and pair_obstacles <= RECORD_FORMAT_CHANGES.keys() and entry.path.bounces == 1:
        return DifferenceReason.FORMATS
    if is_downgrade(*pair):
        if Obstacle.OVERSHOT in pair_obstacles:
            return DifferenceReason.BACK_PUSHED
        if Obstacle.VERSION in pair_obstacles or not target.is_probeable:
            return DifferenceReason.BACK
    elif target.rule_set == KAFKA_8649_RULE_SET and origin.supported_version < target.supported_version:
        return DifferenceReason.PUSHED
    elif Obstacle.VERSION in pair_obstacles and entry.path.via:
        return DifferenceReason.FIXED_BRIDGE
    return None


def entry_json(entry: PairGuide) -> dict[str, Any]:
    """Return one object of ``guide.json``."""
    path, otherwise, way = entry.path, entry.plain_bounce, entry.way
    return {
        "from": path.origin.name,
        "to": path.target.name,
        "verdict": entry.verdict,
        "conditions": list(entry.conditions),
        "bounces": count_bounces(way) or None,
        "via": [hop.target.name for hop in way[:-1]],
        "upgrade_from": [hop.upgrade_from for hop in way if hop.upgrade_from],
        "way": path_text(way),
        "if_met": path_text(entry.if_met) if entry.if_met else None,
        "by_metadata": entry.by_metadata and str(entry.by_metadata),
        "otherwise": otherwise and {"property": otherwise.property, "example": otherwise.example},
        "not_seen": [obstacle.value for obstacle in entry.unseen_obstacles],
    }
