"""Settles a cluster: elects a controller, handles registrations, and propagates the metadata to all nodes.

Stale nodes receive no metadata until they are fresh or restart.
"""

from __future__ import annotations

from attrs import evolve

from streams_assignor.spark_sim.brokers._nodes import NodeState
from streams_assignor.spark_sim.brokers.cluster_state import ClusterState, EventKind
from streams_assignor.upgrade.cluster.features.cluster import EventType, FeatureCluster
from streams_assignor.upgrade.cluster.features.dialects import StartupReaction
from streams_assignor.upgrade.cluster.features.levels_of_releases import catalog_of
from streams_assignor.upgrade.cluster.features.registration import (
    elect_controller,
    expire_registration,
    observe_finalized_levels,
    register_broker,
)


def settle(state: ClusterState) -> ClusterState:
    """Return the state after all pending elections, registrations and metadata updates."""
    while True:
        before = state
        state = _propagate_metadata(_handle_registrations(with_controller(state)))
        if state.cluster == before.cluster:
            return state


def eligible_controllers(cluster: FeatureCluster) -> list[int]:
    """Return the ids of the eligible controllers: in KRaft the live voters, if they are a majority."""
    if cluster.in_zookeeper:
        return sorted(number for number, node in cluster.brokers.items() if node.live)
    live = sorted(number for number, node in cluster.controllers.items() if node.live)
    return live if 2 * len(live) > len(cluster.voter_ids) else []


def with_controller(state: ClusterState, number: int | None = None) -> ClusterState:
    """Elect a node, by default the first eligible one if no controller is active."""
    eligible = eligible_controllers(state.cluster)
    if not eligible:
        return evolve(state, cluster=evolve(state.cluster, active=None))
    if number is None and state.cluster.active is not None:
        return state
    number = number or eligible[0]
    cluster = elect_controller(state.cluster, number)
    process = state.node_by_id(number)
    state = evolve(state, cluster=evolve(cluster, catalog=catalog_of(process.release.line)))
    return state.with_event(EventKind.ELECTED, process.name, "becomes the active controller")


def handle_registration(state: ClusterState, number: int) -> ClusterState:
    """Handle a registration: by the active controller, or in ZooKeeper also without one."""
    if state.cluster.active is None and not state.cluster.in_zookeeper:
        return state
    outcome = register_broker(state.cluster, number)
    if EventType.REFUSED in outcome.event_types and _already_refused(state, number):
        return state  # it is fenced and retries; one event is enough
    return state.with_outcome(outcome)


def _already_refused(state: ClusterState, number: int) -> bool:
    name = state.node_by_id(number).name
    return next((event.kind is EventKind.REFUSED for event in reversed(state.events) if event.who == name), False)


def _handle_registrations(state: ClusterState) -> ClusterState:
    for number in sorted(state.cluster.registering):
        state = handle_registration(state, number)
        if number in state.cluster.registering and state.cluster.active is not None:
            state = _reject_registration(state, number)
    return state


def _reject_registration(state: ClusterState, number: int) -> ClusterState:
    match state.cluster.dialect.start:
        case StartupReaction.RETRIES:
            return state.with_outcome(expire_registration(state.cluster, number))
        case StartupReaction.EXITS:
            return state.with_outcome(observe_finalized_levels(state.cluster, number))
        case _:
            return state


def _propagate_metadata(state: ClusterState) -> ClusterState:
    for process in list(state.running_nodes):
        if not process.stale and (
            process.id in state.cluster.controllers
            or (process.id in state.cluster.brokers and process.id not in state.cluster.registering)
        ):
            state = state.with_outcome(observe_finalized_levels(state.cluster, process.id))
            if state.nodes[process.name].running:
                state = _catch_up(state, process)
    return state


def _catch_up(state: ClusterState, process: NodeState) -> ClusterState:
    state = state.with_nodes(evolve(process, loaded_entries=len(state.log.entries)))
    if process.id not in state.cluster.brokers:
        return state
    caches, _ = state.feature_caches.catch_up(state.cluster, process.id)
    return evolve(state, feature_caches=caches)
