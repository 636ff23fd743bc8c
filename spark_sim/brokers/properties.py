"""What must hold of a cluster and the group that watches it: *always* (after every step) and *eventually* (at the end).

Where the KIPs leave something to the operator, a property may well be violated: that is what a sweep is for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from spark_sim.brokers import metadata_log
from spark_sim.brokers.nodes import newest_level
from spark_sim.properties import Violation
from upgrade.features.cluster import Cluster, lacks
from upgrade.features.levels import KRAFT, METADATA

if TYPE_CHECKING:
    from spark_sim.brokers.world import World

STAYS: Final = "always: no node stays that cannot read what is finalised"
LACKED: Final = "always: no level is finalised that a live node lacks"
READABLE: Final = "always: no node of the cluster runs on metadata that it cannot read"
NOTHING_LOST: Final = "always: a safe downgrade loses nothing"
NEWER_LOST: Final = "always: a lossy downgrade loses exactly the newer records"
NEVER_BACK: Final = "always: no member of the group goes back"
ALL_BACK: Final = "eventually: every node is in the cluster"
NOT_AHEAD: Final = "eventually: no member of the group is ahead of what is finalised"
PROPERTIES: Final = (STAYS, LACKED, READABLE, NOTHING_LOST, NEWER_LOST, NEVER_BACK, ALL_BACK, NOT_AHEAD)


def always(before: World, world: World) -> Iterator[Violation]:
    """Check a cluster that has come to rest after a step."""
    yield from _staying(world)
    yield from _unreadable(world)
    yield from _lost(before, world)
    yield from _gone_back(before, world)


def eventually(world: World) -> Iterator[Violation]:
    """Check a cluster at the end."""
    for process in world.processes.values():
        if process.own and process.meant and not world.is_in(process):
            yield Violation(ALL_BACK, process.name, f"as {process.release} it did not get into the cluster")
    if world.group:
        level = world.cluster.level_of(world.group.feature)
        for name, known in world.group.levels.items():
            if known > level:
                text = f"uses {world.group.feature} {known}, and finalised is {level or 'none'}"
                yield Violation(NOT_AHEAD, name, text)


def lacked_by(cluster: Cluster) -> Iterator[Violation]:
    """Check the live nodes at the very moment when a level is finalised."""
    live = {node.id: node for group in (cluster.brokers, cluster.controllers) for node in group.values() if node.live}
    for node in live.values():
        for feature, level in sorted(lacks(node, _recorded(cluster)).items()):
            yield Violation(LACKED, str(node.id), f"has {feature} only up to {node.range_of(feature)[1]}, not {level}")


def _staying(world: World) -> Iterator[Violation]:
    recorded = _recorded(world.cluster)
    for process in world.running:
        for group in (world.cluster.brokers, world.cluster.controllers):
            node = group.get(process.id)
            if node and node.live and (missing := lacks(node, recorded)):
                feature, level = min(missing.items())
                yield Violation(STAYS, process.name, f"runs as {process.release} and lacks {feature} {level}")
                break


def _unreadable(world: World) -> Iterator[Violation]:
    for process in filter(world.is_in, world.processes.values()):
        entries = world.log.entries[: process.loaded]
        if why := metadata_log.unreadable(world.cluster.dialect, entries, newest_level(process.release)):
            yield Violation(READABLE, process.name, f"runs as {process.release}: {why}")


def _lost(before: World, world: World) -> Iterator[Violation]:
    begin = len(before.log.entries)
    for loss in metadata_log.losses(world.cluster.dialect, world.log.entries, begin):
        text = f"from {METADATA} {loss.before} to {loss.after}: lost {_set(loss.lost)}, expected {_set(loss.newer)}"
        if loss.unsafe and loss.lost != loss.newer:
            yield Violation(NEWER_LOST, "", text)
        if not loss.unsafe and loss.lost:
            yield Violation(NOTHING_LOST, "", text)


def _gone_back(before: World, world: World) -> Iterator[Violation]:
    if before.group and world.group:
        highest = max(before.group.levels.values())
        for name, level in world.group.levels.items():
            if level < highest:
                yield Violation(NEVER_BACK, name, f"goes from {world.group.feature} {highest} to {level or 'none'}")


def _recorded(cluster: Cluster) -> dict[str, int]:
    """Return the levels that nodes are held to: nobody is refused for kraft.version."""
    return {feature: level for feature, level in cluster.finalized.items() if feature != KRAFT}


def _set(names: frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
