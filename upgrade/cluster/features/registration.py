"""Registration: nodes that do not support the finalized levels are refused or exit.

A broker starts in two transitions: ``start_broker`` requests the registration, ``register_broker`` answers it. An
update in between is the race of KIP-584, "Incompatible broker lifetime". ``observe_finalized_levels`` delivers
new levels to a controller or a running broker. Java: ``ClusterControlManager.registerBroker``, and ``replay`` of
``FeatureControlManager``.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from streams_assignor.upgrade.cluster.features.catalog import KRAFT_VERSION, METADATA_VERSION
from streams_assignor.upgrade.cluster.features.cluster import (
    NOT_SUPPORTED,
    ClusterEvent,
    ClusterTransition,
    EventType,
    FeatureCluster,
    FeatureNode,
    SupportedRanges,
    raise_minimum_levels,
    range_text,
    unsupported_levels,
)
from streams_assignor.upgrade.cluster.features.dialects import (
    DeprecatedBy,
    LateRegistration,
    StartupReaction,
    UnsupportedLevelReaction,
)
from streams_assignor.upgrade.cluster.features.update_features import CONTROLLER_REGISTRATION_LEVEL
from streams_assignor.upgrade.errors import FeatureError


def start_broker(
    cluster: FeatureCluster, node_id: int, supports: SupportedRanges, *, feature_system_active: bool = True
) -> ClusterTransition:
    """Start a broker, up to the request of its registration.

    A broker that checks the levels itself reads them "before creating the broker's own ephemeral node" (KIP-584).

    Args:
        cluster: The cluster.
        node_id: The id of the broker.
        supports: The levels that it supports.
        feature_system_active: False if its inter.broker.protocol.version is below the migration level: the broker
            then neither checks nor advertises levels.
    """
    node = FeatureNode(node_id, supports if feature_system_active else {})
    missing = unsupported_levels(node, recorded_levels(cluster)) if cluster.enabled else {}
    if cluster.dialect.start is StartupReaction.EXITS and feature_system_active and missing:
        return ClusterTransition(cluster, (ClusterEvent(EventType.EXITED, node_id, _unsupported_text(node, missing)),))
    arriving = {**cluster.registering, node_id: node}
    return ClusterTransition(evolve(cluster, registering=arriving), (ClusterEvent(EventType.ARRIVED, node_id),))


def register_broker(cluster: FeatureCluster, node_id: int) -> ClusterTransition:
    """Register a broker or refuse it; a refused broker can try again.

    In KIP-584 the controller then persists the minimum levels that the broker has raised.
    """
    node = _require_node(cluster.registering, node_id, "an arriving broker")
    why = _registration_error(cluster, node)
    late = cluster.dialect.late
    if why and late is not LateRegistration.BLOCKED:
        event_type = EventType.SKIPPED if late is LateRegistration.SKIPPED else EventType.REFUSED
        return ClusterTransition(cluster, (ClusterEvent(event_type, node_id, why),))
    brokers = dict(sorted({**cluster.brokers, node_id: node}.items()))
    after = evolve(cluster, registering=_without_node(cluster.registering, node_id), brokers=brokers)
    if why:
        # Its node in ZooKeeper is there and counts; it exits when its watch fires.
        return ClusterTransition(after, (ClusterEvent(EventType.BLOCKED, node_id, why),))
    registered = (ClusterEvent(EventType.REGISTERED, node_id),)
    if cluster.dialect.deprecated_by is not DeprecatedBy.ADVERTISEMENTS or not cluster.enabled:
        return ClusterTransition(after, registered)
    raised = raise_minimum_levels(after)
    return evolve(raised, events=(*registered, *raised.events))


def _registration_error(cluster: FeatureCluster, node: FeatureNode) -> str:
    if cluster.in_zookeeper:
        # A broker that advertises no levels is below the migration level and is not checked.
        missing = unsupported_levels(node, recorded_levels(cluster)) if cluster.enabled and node.supports else {}
        return _unsupported_text(node, missing) if missing else ""
    # First all ranges of the broker: Kafka checks features that are not finalized, too, at level 0.
    recorded = recorded_levels(cluster)
    for feature in (*node.supports, *recorded):
        low, high = node.range_of(feature)
        level = recorded.get(feature, 0)
        if not low <= level <= high and (level or cluster.dialect.lowest_level == 0):
            return (
                f"Unable to register because the broker does not support finalized version {level} of {feature}. "
                f"The broker wants a version between {low} and {high}, inclusive."
            )
    return ""


def expire_registration(cluster: FeatureCluster, node_id: int) -> ClusterTransition:
    """Stop a broker that was not registered in time (``initial.broker.registration.timeout.ms``)."""
    _require_node(cluster.registering, node_id, "an arriving broker")
    after = evolve(cluster, registering=_without_node(cluster.registering, node_id))
    return ClusterTransition(after, (ClusterEvent(EventType.EXITED, node_id, "not registered in time"),))


def start_controller(cluster: FeatureCluster, node_id: int, supports: SupportedRanges) -> ClusterTransition:
    """Start a voter: it replicates the log, and exits if it does not support a level in it."""
    if node_id not in cluster.voter_ids:
        raise FeatureError(f"expected one of the controllers {sorted(cluster.voter_ids)}, got {node_id}")
    node = FeatureNode(node_id, supports)
    if missing := unsupported_levels(node, recorded_levels(cluster)):
        return ClusterTransition(cluster, (ClusterEvent(EventType.EXITED, node_id, _replay_error(node, missing)),))
    after = evolve(cluster, controllers=dict(sorted({**cluster.controllers, node_id: node}.items())))
    is_registered = cluster.level_of(METADATA_VERSION) >= CONTROLLER_REGISTRATION_LEVEL
    return ClusterTransition(after, (ClusterEvent(EventType.REGISTERED, node_id),) if is_registered else ())


def observe_finalized_levels(cluster: FeatureCluster, node_id: int) -> ClusterTransition:
    """Deliver the finalized levels to a node: a watch fires (ZooKeeper), or the node has replicated the log.

    A node with both roles observes them as a controller, which is stricter.
    """
    if node_id in cluster.controllers:
        return _controller_observes(cluster, cluster.controllers[node_id])
    node = _require_node({**cluster.brokers, **cluster.registering}, node_id, "a broker or controller")
    missing = unsupported_levels(node, recorded_levels(cluster)) if cluster.enabled and node.supports else {}
    if not missing:
        return ClusterTransition(cluster)
    why = _unsupported_text(node, missing)
    if cluster.dialect.meets is UnsupportedLevelReaction.LOGS:
        return ClusterTransition(cluster, (ClusterEvent(EventType.LOGGED, node_id, why),))
    unregistered = (
        (ClusterEvent(EventType.UNREGISTERED, node_id),)
        if cluster.dialect.meets is UnsupportedLevelReaction.UNREGISTERS
        else ()
    )
    return ClusterTransition(
        _remove_broker(cluster, node_id), (*unregistered, ClusterEvent(EventType.EXITED, node_id, why))
    )


def _controller_observes(cluster: FeatureCluster, node: FeatureNode) -> ClusterTransition:
    missing = unsupported_levels(node, recorded_levels(cluster))
    if not missing:
        return ClusterTransition(cluster)
    exited = ClusterEvent(EventType.EXITED, node.id, _replay_error(node, missing))
    stopped = evolve(cluster, controllers={**cluster.controllers, node.id: evolve(node, live=False)})
    if node.id != cluster.active:
        return ClusterTransition(stopped, (exited,))
    # "In the unlikely event that an active controller encounters an unsupported metadata.version, it should resign and
    # terminate." -- KIP-778
    return ClusterTransition(evolve(stopped, active=None), (ClusterEvent(EventType.RESIGNED, node.id), exited))


def elect_controller(cluster: FeatureCluster, node_id: int) -> FeatureCluster:
    """Make a live node the active controller; the finalized levels stay."""
    nodes = cluster.brokers if cluster.in_zookeeper else cluster.controllers
    if not _require_node(nodes, node_id, "a controller").live:
        raise FeatureError(f"expected a live controller, but {node_id} has stopped")
    return evolve(cluster, active=node_id)


def deprecate_in_release(cluster: FeatureCluster, minimum: Mapping[str, int]) -> ClusterTransition:
    """Raise minimum levels as the code of the active controller's release does (older version of KIP-584).

    Raises:
        FeatureError: In this dialect no release code does it; KIP-584 has ``register_broker`` for it.
    """
    if cluster.dialect.deprecated_by is not DeprecatedBy.RELEASE_CODE:
        raise FeatureError(
            f"expected a dialect in which release code deprecates levels, got {cluster.dialect.name}, in which "
            f"{cluster.dialect.deprecated_by.value} does"
        )
    return raise_minimum_levels(cluster, minimum)


def stop_broker(cluster: FeatureCluster, node_id: int) -> FeatureCluster:
    """Stop a broker. With ZooKeeper its ephemeral node is deleted; in KRaft mode it stays registered."""
    node = _require_node({**cluster.brokers, **cluster.registering}, node_id, "a broker")
    if cluster.in_zookeeper or node_id in cluster.registering:
        return _remove_broker(cluster, node_id)
    return evolve(cluster, brokers={**cluster.brokers, node_id: evolve(node, live=False)})


def unregister_broker(cluster: FeatureCluster, node_id: int) -> ClusterTransition:
    """Unregister a broker (``kafka-cluster unregister``)."""
    _require_node(cluster.brokers, node_id, "a registered broker")
    return ClusterTransition(
        evolve(cluster, brokers=_without_node(cluster.brokers, node_id)),
        (ClusterEvent(EventType.UNREGISTERED, node_id),),
    )


def recorded_levels(cluster: FeatureCluster) -> dict[str, int]:
    """Return the levels that are records in the log: all but kraft.version, which belongs to the quorum."""
    return {feature: level for feature, level in cluster.finalized.items() if feature != KRAFT_VERSION}


def _unsupported_text(node: FeatureNode, missing: Mapping[str, int]) -> str:
    def text(feature: str, level: int) -> str:
        range_ = node.range_of(feature)
        has = f"it has {range_[0]} to {range_[1]}" if range_ != NOT_SUPPORTED else "it does not have the feature"
        return f"{feature} is finalized at {level}, {has}"

    return "; ".join(text(feature, level) for feature, level in sorted(missing.items()))


def _replay_error(node: FeatureNode, missing: Mapping[str, int]) -> str:
    feature, level = min(missing.items())
    low, high = node.range_of(feature)
    return (
        f"Tried to apply FeatureLevelRecord FeatureLevelRecord(name='{feature}', featureLevel={level}), but this "
        f"controller only supports versions {range_text(low, high)}"
    )


def _remove_broker(cluster: FeatureCluster, number: int) -> FeatureCluster:
    brokers, arriving = (_without_node(group, number) for group in (cluster.brokers, cluster.registering))
    active = None if cluster.in_zookeeper and cluster.active == number else cluster.active
    return evolve(cluster, brokers=brokers, registering=arriving, active=active)


def _without_node(nodes: Mapping[int, FeatureNode], number: int) -> dict[int, FeatureNode]:
    return {node_id: node for node_id, node in nodes.items() if node_id != number}


def _require_node(nodes: Mapping[int, FeatureNode], number: int, what: str) -> FeatureNode:
    if number not in nodes:
        raise FeatureError(f"expected {what}, one of {sorted(nodes)}, got {number}")
    return nodes[number]
