"""State of a simulated cluster: the model of ``upgrade.cluster.features`` with processes, disks and faults around it.

``upgrade.cluster.features`` decides whether a node may register, whether an update is accepted, what a node does with
an unsupported level, what a downgrade drops and what a broker answers. ``actions`` and ``settle`` call it. States are
immutable values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any

from attrs import evolve, field, frozen

from streams_assignor.spark_sim.brokers._metadata_log import MetadataLog
from streams_assignor.spark_sim.brokers._nodes import ClusterNodes, NodeState, Role, supported_ranges
from streams_assignor.spark_sim.brokers._watching_group import WatchingGroup
from streams_assignor.spark_sim.brokers.scenario import BrokerScenario, level_text
from streams_assignor.spark_sim.model.events import TraceEvent
from streams_assignor.spark_sim.model.scenario import ScenarioError
from streams_assignor.spark_sim.model.violations import Violation
from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.cluster.features.cluster import (
    ClusterEvent,
    ClusterTransition,
    EventType,
    FeatureCluster,
    FeatureNode,
    unsupported_levels,
)
from streams_assignor.upgrade.cluster.features.dialects import ValidatedNodes
from streams_assignor.upgrade.cluster.features.feature_cache import FinalizedFeatureCaches


class EventKind(StrEnum):
    """Kinds of events. The second group are those of ``upgrade.cluster.features``."""

    STARTED = "started"
    STOPPED = "stopped"
    CRASHED = "crashed"
    ELECTED = "elected"
    UNANSWERED = "unanswered"
    DESCRIBED = "described"
    RESTARTED = "restarted"
    LEARNED = "learned"
    VIOLATION = "violation"

    ARRIVED = "arrived"
    REGISTERED = "registered"
    REFUSED = "refused"
    SKIPPED = "skipped"
    BLOCKED = "blocked"
    DEPRECATED = "deprecated"
    EXITED = "exited"
    UNREGISTERED = "unregistered"
    RESIGNED = "resigned"
    LOGGED = "logged"
    FINALIZED = "finalized"
    NOTIFIED = "notified"
    RENEGOTIATED = "renegotiated"


@frozen(eq=False, kw_only=True)
class ClusterState:
    """A cluster between two steps, with all events and violations so far."""

    cluster: FeatureCluster
    nodes: ClusterNodes
    log: MetadataLog
    feature_caches: FinalizedFeatureCaches = field(factory=FinalizedFeatureCaches)
    group: WatchingGroup | None = None
    events: tuple[TraceEvent, ...] = ()
    violations: tuple[Violation, ...] = ()

    @property
    def running_nodes(self) -> Iterator[NodeState]:
        """The running nodes in the order of the scenario."""
        return (process for process in self.nodes.values() if process.running)

    def in_cluster(self, process: NodeState) -> bool:
        """Whether a node is running and registered in each of its roles."""
        registrations = [self.cluster.brokers] * process.is_broker + [self.cluster.controllers] * process.is_controller
        return process.running and all(process.id in group and group[process.id].live for group in registrations)

    def node_by_id(self, number: int) -> NodeState:
        """Return the node with an id."""
        return next(process for process in self.nodes.values() if process.id == number)

    # -- the next state ------------------------------------------------------------------------------------------

    def with_event(self, kind: EventKind, node: str, text: str) -> ClusterState:
        """Return the state with one more event."""
        return evolve(self, events=(*self.events, TraceEvent(kind, node, text)))

    def with_nodes(self, *processes: NodeState) -> ClusterState:
        """Return the state with replaced or added nodes."""
        return evolve(self, nodes={**self.nodes, **{process.name: process for process in processes}})

    def with_outcome(self, outcome: ClusterTransition) -> ClusterState:
        """Return the state after an outcome of the model; a node that exits stops in all its roles."""
        state = evolve(self, cluster=outcome.cluster)
        for event in outcome.events:
            state = state._with_node_event(event)
        return state

    def _with_node_event(self, event: ClusterEvent) -> ClusterState:
        name = "" if event.node is None else self.node_by_id(event.node).name
        text = f"{event.type.value}: {event.text}" if event.text else event.type.value
        state = self.with_event(EventKind[event.type.name], name, text)
        return state.with_node_stopped(name) if event.type is EventType.EXITED else state

    def with_node_stopped(self, name: str, *, should_run: bool = True, crashed: bool = False) -> ClusterState:
        """Return the state after a node has stopped; ``should_run``: the operator has not stopped it."""
        process = self.nodes[name]
        state = self.with_nodes(evolve(process, running=False, should_run=should_run, crashed=crashed))
        return evolve(state, cluster=_without_node(self.cluster, process.id))

    def with_violations(self, violations: Iterable[Violation]) -> ClusterState:
        """Return the state with the violations that it does not have yet."""
        state = self
        for violation in violations:
            if violation not in state.violations:
                state = state.with_event(
                    EventKind.VIOLATION, violation.member, f"VIOLATION {violation.property}: {violation.text}"
                )
                state = evolve(state, violations=(*state.violations, violation))
        return state


def _without_node(cluster: FeatureCluster, number: int) -> FeatureCluster:
    """Stop a node in all its roles. A broker stays registered, except in ZooKeeper, where its znode is ephemeral."""

    def stopped(group: Iterable[tuple[int, FeatureNode]]) -> dict[int, FeatureNode]:
        return {node_id: evolve(node, live=node.live and node_id != number) for node_id, node in group}

    brokers = stopped(cluster.brokers.items())
    if cluster.in_zookeeper:
        brokers.pop(number, None)
    return evolve(
        cluster,
        brokers=brokers,
        controllers=stopped(cluster.controllers.items()),
        registering={node_id: node for node_id, node in cluster.registering.items() if node_id != number},
        active=None if cluster.active == number else cluster.active,
    )


def unsettled_state(scenario: BrokerScenario) -> ClusterState:
    """Return the cluster of a scenario before the first step: all nodes run with all metadata.

    Raises:
        ScenarioError: a node does not support a finalized level.
    """
    in_zookeeper = scenario.dialect.asked is ValidatedNodes.LIVE_BROKERS
    levels = dict(scenario.levels)
    if METADATA_VERSION not in levels:
        raise ScenarioError("expected a level of metadata.version after level, such as 3.9-IV0")
    log = MetadataLog.initial(levels[METADATA_VERSION])
    end = len(log.entries)
    processes = {
        name: NodeState(
            name, _role(name, in_zookeeper), release, running=True, loaded_entries=end, snapshot_entries=end
        )
        for name, release in scenario.nodes
    }
    nodes = {
        process.name: FeatureNode(process.id, supported_ranges(process.release, scenario.dialect))
        for process in processes.values()
    }
    for name, node in nodes.items():
        for feature, level in unsupported_levels(node, levels).items():
            raise ScenarioError(f"{name}@{processes[name].release} does not support {level_text((feature, level))}")
    voters = {
        process.id: nodes[process.name] for process in processes.values() if process.is_controller and not in_zookeeper
    }
    brokers = {process.id: nodes[process.name] for process in processes.values() if process.is_broker}
    quorum: Any = voters.keys()  # mypy does not infer what frozenset accepts as a converter
    cluster = FeatureCluster(
        dialect=scenario.dialect,
        brokers=brokers,
        controllers=voters,
        voter_ids=quorum,
        finalized=levels,
        epoch=1,
    )
    group = WatchingGroup.watching(scenario.watched_feature) if scenario.watched_feature else None
    return ClusterState(cluster=cluster, nodes=processes, log=log, group=group)


def _role(name: str, in_zookeeper: bool) -> Role:
    if in_zookeeper or name.startswith("b"):
        return Role.BROKER
    return Role.CONTROLLER if name.startswith("c") else Role.BOTH
