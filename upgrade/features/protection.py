"""Keeping out, and throwing out, nodes that lack what is finalised; and the race between a start and an update.

A broker comes up in two steps: it arrives (``start_broker``), and the controller deals with that (``register``). What
happens in between is the race of KIP-584, "Incompatible broker lifetime". A controller or a running broker hears of new
levels when the caller says so (``learn``). Java: ``ClusterControlManager.registerBroker``, and ``replay`` of
``FeatureControlManager``.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from upgrade.errors import FeatureError
from upgrade.features.cluster import NOT_SUPPORTED, Cluster, Event, Node, Outcome, Ranges, What, lacks, range_text
from upgrade.features.dialects import Meets, Start
from upgrade.features.levels import KRAFT, METADATA
from upgrade.features.update import KNOWS_CONTROLLERS


def start_broker(cluster: Cluster, number: int, supports: Ranges, *, active: bool = True) -> Outcome:
    """Start a broker, up to the point where it asks to be registered.

    Where a broker checks for itself, it reads what is finalised "before creating the broker's own ephemeral node"
    (KIP-584). ``active`` is false below the migration level of inter.broker.protocol.version: then it "validates"
    nothing and advertises nothing.
    """
    node = Node(number, supports if active else {})
    missing = lacks(node, _recorded(cluster)) if cluster.enabled else {}
    if cluster.dialect.start is Start.EXITS and active and missing:
        return Outcome(cluster, (Event(What.EXITED, number, _lacking(node, missing)),))
    arriving = {**cluster.arriving, number: node}
    return Outcome(evolve(cluster, arriving=arriving), (Event(What.ARRIVED, number),))


def register(cluster: Cluster, number: int) -> Outcome:
    """Let the controller deal with an arrived broker; one that it refused can be tried again."""
    node = _of(cluster.arriving, number, "an arriving broker")
    if why := _not_registered(cluster, node):
        what = What.SKIPPED if cluster.dialect.start is Start.EXITS else What.REFUSED
        return Outcome(cluster, (Event(what, number, why),))
    brokers = dict(sorted({**cluster.brokers, number: node}.items()))
    after = evolve(cluster, arriving=_without(cluster.arriving, number), brokers=brokers)
    return Outcome(after, (Event(What.REGISTERED, number),))


def _not_registered(cluster: Cluster, node: Node) -> str:
    if cluster.in_zookeeper:
        # A broker that advertises nothing is below the migration level and not judged.
        missing = lacks(node, _recorded(cluster)) if cluster.enabled and node.supports else {}
        return _lacking(node, missing) if missing else ""
    # First all ranges of the broker: Kafka holds even a feature that is not finalised against them, at level 0.
    recorded = _recorded(cluster)
    for feature in (*node.supports, *recorded):
        low, high = node.range_of(feature)
        level = recorded.get(feature, 0)
        if not low <= level <= high and (level or cluster.dialect.lowest_level == 0):
            return (
                f"Unable to register because the broker does not support finalized version {level} of {feature}. "
                f"The broker wants a version between {low} and {high}, inclusive."
            )
    return ""


def give_up(cluster: Cluster, number: int) -> Outcome:
    """Let a broker that was not registered in time exit (``initial.broker.registration.timeout.ms``)."""
    _of(cluster.arriving, number, "an arriving broker")
    after = evolve(cluster, arriving=_without(cluster.arriving, number))
    return Outcome(after, (Event(What.EXITED, number, "not registered in time"),))


def start_controller(cluster: Cluster, number: int, supports: Ranges) -> Outcome:
    """Start a voter: it replicates the log, exits if that has a level it lacks, and is known to the active one."""
    if number not in cluster.quorum:
        raise FeatureError(f"expected one of the controllers {sorted(cluster.quorum)}, got {number}")
    node = Node(number, supports)
    if missing := lacks(node, _recorded(cluster)):
        return Outcome(cluster, (Event(What.EXITED, number, _replayed(node, missing)),))
    after = evolve(cluster, controllers=dict(sorted({**cluster.controllers, number: node}.items())))
    known = cluster.level_of(METADATA) >= KNOWS_CONTROLLERS
    return Outcome(after, (Event(What.REGISTERED, number),) if known else ())


def learn(cluster: Cluster, number: int) -> Outcome:
    """Let a node hear what is finalised: a watch fires (ZooKeeper), or it has replicated the log so far.

    A node with both roles hears it as a controller, which is stricter.
    """
    if number in cluster.controllers:
        return _controller_learns(cluster, cluster.controllers[number])
    node = _of({**cluster.brokers, **cluster.arriving}, number, "a broker or controller")
    missing = lacks(node, _recorded(cluster)) if cluster.enabled and node.supports else {}
    if not missing:
        return Outcome(cluster)
    why = _lacking(node, missing)
    if cluster.dialect.meets is Meets.LOGS:
        return Outcome(cluster, (Event(What.LOGGED, number, why),))
    unregistered = (Event(What.UNREGISTERED, number),) if cluster.dialect.meets is Meets.UNREGISTERS else ()
    return Outcome(_gone(cluster, number), (*unregistered, Event(What.EXITED, number, why)))


def _controller_learns(cluster: Cluster, node: Node) -> Outcome:
    missing = lacks(node, _recorded(cluster))
    if not missing:
        return Outcome(cluster)
    exited = Event(What.EXITED, node.id, _replayed(node, missing))
    stopped = evolve(cluster, controllers={**cluster.controllers, node.id: evolve(node, live=False)})
    if node.id != cluster.active:
        return Outcome(stopped, (exited,))
    # "In the unlikely event that an active controller encounters an unsupported metadata.version, it should resign and
    # terminate." -- KIP-778
    return Outcome(evolve(stopped, active=None), (Event(What.RESIGNED, node.id), exited))


def elect(cluster: Cluster, number: int) -> Cluster:
    """Make a live node the active controller; what is finalised is durable and stays."""
    nodes = cluster.brokers if cluster.in_zookeeper else cluster.controllers
    if not _of(nodes, number, "a controller").live:
        raise FeatureError(f"expected a live controller, but {number} has stopped")
    return evolve(cluster, active=number)


def stop(cluster: Cluster, number: int) -> Cluster:
    """Stop a broker. In ZooKeeper its node is ephemeral and goes with it; in KRaft it stays registered."""
    node = _of({**cluster.brokers, **cluster.arriving}, number, "a broker")
    if cluster.in_zookeeper or number in cluster.arriving:
        return _gone(cluster, number)
    return evolve(cluster, brokers={**cluster.brokers, number: evolve(node, live=False)})


def unregister(cluster: Cluster, number: int) -> Outcome:
    """Take a broker out of the registration (``kafka-cluster unregister``)."""
    _of(cluster.brokers, number, "a registered broker")
    return Outcome(evolve(cluster, brokers=_without(cluster.brokers, number)), (Event(What.UNREGISTERED, number),))


def _recorded(cluster: Cluster) -> dict[str, int]:
    """Return the levels that are records: the quorum keeps kraft.version to itself, and nobody is refused for it."""
    return {feature: level for feature, level in cluster.finalized.items() if feature != KRAFT}


def _lacking(node: Node, missing: Mapping[str, int]) -> str:
    def said(feature: str, level: int) -> str:
        known = node.range_of(feature)
        has = f"it has {known[0]} to {known[1]}" if known != NOT_SUPPORTED else "it does not have the feature"
        return f"{feature} is finalised at {level}, {has}"

    return "; ".join(said(feature, level) for feature, level in sorted(missing.items()))


def _replayed(node: Node, missing: Mapping[str, int]) -> str:
    feature, level = min(missing.items())
    low, high = node.range_of(feature)
    return (
        f"Tried to apply FeatureLevelRecord FeatureLevelRecord(name='{feature}', featureLevel={level}), but this "
        f"controller only supports versions {range_text(low, high)}"
    )


def _gone(cluster: Cluster, number: int) -> Cluster:
    brokers, arriving = (_without(group, number) for group in (cluster.brokers, cluster.arriving))
    active = None if cluster.in_zookeeper and cluster.active == number else cluster.active
    return evolve(cluster, brokers=brokers, arriving=arriving, active=active)


def _without(nodes: Mapping[int, Node], number: int) -> dict[int, Node]:
    return {each: node for each, node in nodes.items() if each != number}


def _of(nodes: Mapping[int, Node], number: int, what: str) -> Node:
    if number not in nodes:
        raise FeatureError(f"expected {what}, one of {sorted(nodes)}, got {number}")
    return nodes[number]
