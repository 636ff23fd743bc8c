"""Properties of a cluster and its watching group: *always* (after every step) and *eventually* (in the final state).

Where the KIPs leave a decision to the operator, a sweep finds the plans that violate a property.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from streams_assignor.spark_sim.brokers import _metadata_log
from streams_assignor.spark_sim.brokers._nodes import newest_level
from streams_assignor.spark_sim.brokers.cluster_state import ClusterState
from streams_assignor.spark_sim.model.violations import Violation
from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.cluster.features.cluster import FeatureCluster, unsupported_levels
from streams_assignor.upgrade.cluster.features.registration import recorded_levels

NODES_SUPPORT_LEVELS: Final = "always: no node stays that cannot read what is finalized"
LEVELS_SUPPORTED_WHEN_FINALIZED: Final = "always: no level is finalized that a live node lacks"
METADATA_READABLE: Final = "always: no node of the cluster runs on metadata that it cannot read"
SAFE_DOWNGRADE_LOSES_NOTHING: Final = "always: a safe downgrade loses nothing"
UNSAFE_DOWNGRADE_LOSES_NEWER_ONLY: Final = "always: a lossy downgrade loses exactly the newer records"
GROUP_LEVEL_NEVER_DECREASES: Final = "always: no member of the group goes back"
ALL_NODES_IN_CLUSTER: Final = "eventually: every node is in the cluster"
GROUP_NOT_AHEAD: Final = "eventually: no member of the group is ahead of what is finalized"
PROPERTIES: Final = (
    NODES_SUPPORT_LEVELS,
    LEVELS_SUPPORTED_WHEN_FINALIZED,
    METADATA_READABLE,
    SAFE_DOWNGRADE_LOSES_NOTHING,
    UNSAFE_DOWNGRADE_LOSES_NEWER_ONLY,
    GROUP_LEVEL_NEVER_DECREASES,
    ALL_NODES_IN_CLUSTER,
    GROUP_NOT_AHEAD,
)


def always(before: ClusterState, state: ClusterState) -> Iterator[Violation]:
    """Yield the violations of a settled state after a step."""
    yield from _nodes_without_support(state)
    yield from _unreadable_metadata(state)
    yield from _downgrade_losses(before, state)
    yield from _decreased_levels(before, state)


def eventually(state: ClusterState) -> Iterator[Violation]:
    """Yield the violations of a final state."""
    for process in state.nodes.values():
        if process.original and process.should_run and not state.in_cluster(process):
            yield Violation(ALL_NODES_IN_CLUSTER, process.name, f"as {process.release} it did not get into the cluster")
    if state.group:
        level = state.cluster.level_of(state.group.feature)
        for name, used_level in state.group.levels.items():
            if used_level > level:
                text = f"uses {state.group.feature} {used_level}, and finalized is {level or 'none'}"
                yield Violation(GROUP_NOT_AHEAD, name, text)


def unsupported_at_finalization(cluster: FeatureCluster) -> Iterator[Violation]:
    """Yield the live nodes that do not support a level at the moment when it is finalized."""
    live = {node.id: node for group in (cluster.brokers, cluster.controllers) for node in group.values() if node.live}
    for node in live.values():
        for feature, level in sorted(unsupported_levels(node, recorded_levels(cluster)).items()):
            yield Violation(
                LEVELS_SUPPORTED_WHEN_FINALIZED,
                str(node.id),
                f"has {feature} only up to {node.range_of(feature)[1]}, not {level}",
            )


def _nodes_without_support(state: ClusterState) -> Iterator[Violation]:
    recorded = recorded_levels(state.cluster)
    for process in state.running_nodes:
        for group in (state.cluster.brokers, state.cluster.controllers):
            node = group.get(process.id)
            if node and node.live and (missing := unsupported_levels(node, recorded)):
                feature, level = min(missing.items())
                yield Violation(
                    NODES_SUPPORT_LEVELS, process.name, f"runs as {process.release} and lacks {feature} {level}"
                )
                break


def _unreadable_metadata(state: ClusterState) -> Iterator[Violation]:
    for process in filter(state.in_cluster, state.nodes.values()):
        entries = state.log.entries[: process.loaded_entries]
        if why := _metadata_log.first_unreadable_record(state.cluster.dialect, entries, newest_level(process.release)):
            yield Violation(METADATA_READABLE, process.name, f"runs as {process.release}: {why}")


def _downgrade_losses(before: ClusterState, state: ClusterState) -> Iterator[Violation]:
    begin = len(before.log.entries)
    for loss in _metadata_log.downgrade_losses(state.cluster.dialect, state.log.entries, begin):
        losses = f"lost {_joined(loss.lost)}, expected {_joined(loss.newer_than_level)}"
        text = f"from {METADATA_VERSION} {loss.before} to {loss.after}: {losses}"
        if loss.unsafe and loss.lost != loss.newer_than_level:
            yield Violation(UNSAFE_DOWNGRADE_LOSES_NEWER_ONLY, "", text)
        if not loss.unsafe and loss.lost:
            yield Violation(SAFE_DOWNGRADE_LOSES_NOTHING, "", text)


def _decreased_levels(before: ClusterState, state: ClusterState) -> Iterator[Violation]:
    if before.group and state.group:
        highest = max(before.group.levels.values())
        for name, level in state.group.levels.items():
            if level < highest:
                yield Violation(
                    GROUP_LEVEL_NEVER_DECREASES, name, f"goes from {state.group.feature} {highest} to {level or 'none'}"
                )


def _joined(names: frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
