"""The upgrade guide that a sweep writes by itself: for every pair of releases the least that is safe.

Only verdicts decide; Kafka's own guides are looked at afterwards, to say where the two differ and why. A *hop* is a
plan that leads from one release to another without stopping the group, a *way* is one hop or several through bridges.
A sweep sees rebalance metadata and who owns what. It does not see records, so what only their formats ask for
(KAFKA-13769, KIP-904) is said beside a way and never decides about it.
"""

from __future__ import annotations

import enum
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from attrs import frozen

from spark_sim.cell_result import SAFE, CellResult
from upgrade.matrix import (
    FORMATS,
    KAFKA_8649_RULES,
    Obstacle,
    Plan,
    bridge_between,
    documented_plan,
    goes_back,
    obstacles,
    upgrade_from_value,
)
from upgrade.releases import Release
from upgrade.upgrade_from import line_of

BOUNCES: Final[Mapping[Plan, int]] = {Plan.ONE_BOUNCE: 1, Plan.TWO_BOUNCES: 2}
Pair = tuple[Release, Release]


@frozen
class Way:
    """How to come from one release to another: safe hops, one after the other; none if only offline is safe."""

    origin: Release
    target: Release
    hops: tuple[CellResult, ...] = ()

    @property
    def bounces(self) -> int:
        """How often every member is restarted; 0 for offline."""
        return sum(BOUNCES[hop.upgrade.plan] for hop in self.hops)

    @property
    def via(self) -> tuple[str, ...]:
        """The bridges, in order."""
        return tuple(hop.upgrade.target.name for hop in self.hops[:-1])

    @property
    def values(self) -> tuple[str, ...]:
        """The ``upgrade.from`` of each hop that needs one."""
        return tuple(hop.upgrade.upgrade_from for hop in self.hops if hop.upgrade.upgrade_from)

    @property
    def sign(self) -> str:
        """One character for tables: the number of bounces, or ``o`` for offline."""
        return str(self.bounces or "o")

    def __str__(self) -> str:
        if not self.hops:
            return "offline"
        return ", then ".join(map(_told, self.hops))


def _told(hop: CellResult) -> str:
    upgrade = hop.upgrade
    value = f' with upgrade.from="{upgrade.upgrade_from}"' if upgrade.upgrade_from else ""
    return f"{'one bounce' if upgrade.plan is Plan.ONE_BOUNCE else 'two bounces'}{value} to {upgrade.target}"


@frozen
class Entry:
    """What the guide says of a pair: the way, what a single bounce without configuration breaks, and what is unseen."""

    way: Way
    otherwise: CellResult | None
    unseen: tuple[Obstacle, ...]


def guide(results: Iterable[CellResult]) -> dict[Pair, Entry]:
    """Derive the guide from the results of a sweep, in the order of its cells."""
    cells: defaultdict[Pair, list[CellResult]] = defaultdict(list)
    for result in results:
        cells[result.upgrade.origin, result.upgrade.target].append(result)
    hops = {pair: hop for pair, cell in cells.items() if (hop := _least(cell)) is not None}
    found = dict(_ways(hops))
    return {
        pair: Entry(
            Way(*pair, found.get(pair, ())),
            next((each for each in cell if _is_plain(each) and each.verdict != SAFE), None),
            tuple(each for each in obstacles(*pair) if each in FORMATS),
        )
        for pair, cell in cells.items()
    }


def _is_plain(result: CellResult) -> bool:
    return result.upgrade.plan is Plan.ONE_BOUNCE and result.upgrade.upgrade_from is None


def _least(cell: Iterable[CellResult]) -> CellResult | None:
    """Pick the safe plan with the fewest bounces; among values the one people expect, then that which holds back least.

    A single bounce with a configuration that nobody removes is a mistake and no plan, even where it does no harm.
    """
    plans = [
        each for each in cell if each.verdict == SAFE and (_is_plain(each) or each.upgrade.plan is Plan.TWO_BOUNCES)
    ]
    return min(plans, key=_price, default=None)


def _price(result: CellResult) -> tuple[int, bool, tuple[int, ...]]:
    upgrade = result.upgrade
    value = upgrade.upgrade_from
    older = min(upgrade.origin, upgrade.target, key=lambda release: release.number)
    return BOUNCES[upgrade.plan], value not in {None, older.line}, tuple(-n for n in line_of(value)) if value else ()


def _ways(hops: Mapping[Pair, CellResult]) -> Iterator[tuple[Pair, tuple[CellResult, ...]]]:
    """Yield the best way for each pair that has one: fewest bounces, then fewest bridges, then the newest ones.

    A bridge lies between the two releases, as nobody goes beyond where he wants to be.
    """
    nodes = sorted({release for pair in hops for release in pair}, key=lambda release: release.number)
    for upwards in (nodes, nodes[::-1]):
        for first, origin in enumerate(upwards):
            best: dict[Release, tuple[CellResult, ...]] = {origin: ()}
            for target in upwards[first + 1 :]:
                through = [
                    (*way, hop)
                    for bridge, way in best.items()
                    if (bridge == origin or bridge.released) and (hop := hops.get((bridge, target))) is not None
                ]
                if through:
                    best[target] = min(through, key=_length)
                    yield (origin, target), best[target]


def _length(way: Sequence[CellResult]) -> tuple[int, int, list[tuple[int, ...]]]:
    return sum(BOUNCES[hop.upgrade.plan] for hop in way), len(way), [_newest_first(hop) for hop in way[:-1]]


def _newest_first(hop: CellResult) -> tuple[int, ...]:
    return tuple(-number for number in hop.upgrade.target.number)


# -- beside what Kafka's guides say -----------------------------------------------------------------------------------


class Reason(enum.Enum):
    """Why the sweep says something else than Kafka's guides. The order is that in which they are tried."""

    FORMATS = "the guides ask for more because of records (KAFKA-13769, KIP-904), which a sweep does not see"
    PUSHED = "KAFKA-8649: the guides promise one bounce, and the sweep finds members that die of it"
    BACK = "the guides know no rolling way back to a release that cannot be probed; the metadata allows one"
    BACK_PUSHED = "KAFKA-8649 makes a single bounce back fatal; members that are held back first are not pushed"
    FIXED_BRIDGE = "KAFKA-6054: no value helps on the way there, but a fixed release in between does"


@frozen
class Difference:
    """A pair of which the sweep and Kafka's guides say different things; ``reason`` is None if nobody knows why."""

    origin: Release
    target: Release
    documented: str
    derived: str
    reason: Reason | None


def differences(entries: Mapping[Pair, Entry]) -> list[Difference]:
    """List the pairs of which the guides say something else."""
    return [
        Difference(*pair, said, str(entry.way), _reason(pair, entry))
        for pair, entry in entries.items()
        if (said := documented_way(*pair)) != str(entry.way)
    ]


def documented_way(origin: Release, target: Release) -> str:
    """Say what the guides tell a user to do, in the words of a ``Way``."""
    bridge = bridge_between(origin, target)
    stops = [origin, *([bridge] if bridge else []), target]
    return ", then ".join(_documented_hop(*hop) for hop in pairwise(stops))


def _documented_hop(origin: Release, target: Release) -> str:
    plan, value = documented_plan(origin, target), upgrade_from_value(origin, target)
    if plan is Plan.OFFLINE:
        return "offline"
    words = "one bounce" if plan is Plan.ONE_BOUNCE else f'two bounces with upgrade.from="{value}"'
    return f"{words} to {target}"


def _reason(pair: Pair, entry: Entry) -> Reason | None:
    origin, target = pair
    found = set(obstacles(*pair))
    if found and found <= FORMATS.keys() and entry.way.bounces == 1:
        return Reason.FORMATS
    if goes_back(*pair):
        if Obstacle.PUSHED in found:
            return Reason.BACK_PUSHED
        if Obstacle.VERSION in found or not target.can_be_probed:
            return Reason.BACK
    elif target.rules == KAFKA_8649_RULES and origin.latest_version < target.latest_version:
        return Reason.PUSHED
    elif Obstacle.VERSION in found and entry.way.via:
        return Reason.FIXED_BRIDGE
    return None


def counted(found: Iterable[Difference]) -> Counter[Reason | None]:
    """Count differences by their reason."""
    return Counter(each.reason for each in found)


def entry_json(entry: Entry) -> dict[str, Any]:
    """Return plain values for machines: one object of ``guide.json``."""
    way, otherwise = entry.way, entry.otherwise
    return {
        "from": way.origin.name,
        "to": way.target.name,
        "bounces": way.bounces or None,
        "via": list(way.via),
        "upgrade_from": list(way.values),
        "way": str(way),
        "otherwise": otherwise and {"property": otherwise.violated, "example": otherwise.example},
        "not_seen": [each.value for each in entry.unseen],
    }
