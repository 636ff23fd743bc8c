"""Applies the steps of a scenario (``scenario.VERBS``) to a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from attrs import evolve

from streams_assignor.spark_sim.brokers._nodes import NodeState, Role, supported_ranges
from streams_assignor.spark_sim.brokers._settle import handle_registration, settle, with_controller
from streams_assignor.spark_sim.brokers._watching_group import WatchingGroup
from streams_assignor.spark_sim.brokers.cluster_state import ClusterState, EventKind, unsettled_state
from streams_assignor.spark_sim.brokers.properties import always, eventually, unsupported_at_finalization
from streams_assignor.spark_sim.brokers.scenario import BrokerScenario, ClusterStep, level_text
from streams_assignor.spark_sim.model.scenario import ScenarioError
from streams_assignor.upgrade.cluster.brokers.protocol_versions import BrokerRelease
from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.cluster.features.cluster import EventType
from streams_assignor.upgrade.cluster.features.dialects import Dialect, DowngradeIntent
from streams_assignor.upgrade.cluster.features.registration import start_broker, start_controller, unregister_broker
from streams_assignor.upgrade.cluster.features.update_features import UpdateFeaturesRequest, UpdateItem, update_features


def initial_state(scenario: BrokerScenario) -> ClusterState:
    """Return the settled cluster of a scenario before its first step."""
    return settle(unsettled_state(scenario))


def apply_step(state: ClusterState, step: ClusterStep) -> ClusterState:
    """Apply one step and settle the cluster.

    Raises:
        UpgradeError: the step is not possible in this state.
    """
    after = settle(_ACTIONS[step.verb](state, step))
    return after.with_violations(always(state, after))


def check_final_state(state: ClusterState) -> ClusterState:
    """Check the properties of a final state."""
    return state.with_violations(eventually(state))


def run_scenario(scenario: BrokerScenario) -> ClusterState:
    """Run a whole scenario; a violation does not stop it."""
    state = initial_state(scenario)
    for step in scenario.steps:
        state = apply_step(state, step)
    return check_final_state(state)


# -- nodes -----------------------------------------------------------------------------------------------------------


def _stop_node(state: ClusterState, name: str, kind: EventKind = EventKind.STOPPED) -> ClusterState:
    if not state.nodes[name].running:
        return state.with_nodes(evolve(state.nodes[name], should_run=False))
    text = "stops" if kind is EventKind.STOPPED else "crashes"
    return state.with_event(kind, name, text).with_node_stopped(
        name, should_run=False, crashed=kind is EventKind.CRASHED
    )


def _start_node(state: ClusterState, name: str, release: BrokerRelease | None) -> ClusterState:
    state = _stop_node(state, name)
    node = state.nodes[name]
    node = evolve(node, release=release or node.release, running=True, should_run=True, crashed=False, stale=False)
    state = state.with_nodes(node).with_event(EventKind.STARTED, name, f"starts as {node.release}")
    if node.is_controller and not state.cluster.in_zookeeper:
        state = _start_controller(state, node)
    if node.is_broker and state.nodes[name].running:
        state = state.with_outcome(
            start_broker(state.cluster, node.id, supported_ranges(node.release, state.cluster.dialect))
        )
    return state


def _start_controller(state: ClusterState, node: NodeState) -> ClusterState:
    """Start a controller: it replays the levels of its log one by one, then the finalized levels."""
    cluster, ranges = state.cluster, supported_ranges(node.release, state.cluster.dialect)
    for level in state.log.levels_from(node.replay_start(cluster.dialect)):
        then = start_controller(evolve(cluster, finalized={METADATA_VERSION: level}), node.id, ranges)
        if EventType.EXITED in then.event_types:
            return state.with_outcome(evolve(then, cluster=cluster))
    return state.with_outcome(start_controller(cluster, node.id, ranges))


def _bounce(state: ClusterState, step: ClusterStep) -> ClusterState:
    for name, release in step.nodes:
        stopped = settle(_stop_node(state, name))
        state = settle(_start_node(stopped.with_violations(always(state, stopped)), name, release))
    return state


def _start_nodes(state: ClusterState, step: ClusterStep) -> ClusterState:
    for name, release in step.nodes:
        state = _start_node(state, name, release)
    return state


def _stop_nodes(state: ClusterState, step: ClusterStep) -> ClusterState:
    for name, _ in step.nodes:
        state = settle(_stop_node(state, name))
    return state


def _crash(state: ClusterState, step: ClusterStep) -> ClusterState:
    for name, _ in step.nodes:
        state = _stop_node(state, name, EventKind.CRASHED)
    return state


def _add_brokers(state: ClusterState, step: ClusterStep) -> ClusterState:
    """Start new brokers with empty disks; each loads the latest snapshot of the controllers."""
    compacted = max(node.snapshot_entries for node in state.nodes.values())
    for name, release in step.nodes:
        assert release is not None, "a new broker has a release; this should never happen"
        entries = len(state.log.entries)
        new_broker = NodeState(
            name, Role.BROKER, release, original=False, loaded_entries=entries, snapshot_entries=compacted
        )
        state = _start_node(state.with_nodes(new_broker), name, release)
    return state


def _unregister(state: ClusterState, step: ClusterStep) -> ClusterState:
    for name, _ in step.nodes:
        state = state.with_outcome(unregister_broker(state.cluster, state.nodes[name].id))
    return state


def _elect(state: ClusterState, step: ClusterStep) -> ClusterState:
    return with_controller(state, state.nodes[step.nodes[0][0]].id)


# -- levels ----------------------------------------------------------------------------------------------------------


def _downgrade(state: ClusterState, step: ClusterStep) -> ClusterState:
    return _request_update(state, step, DowngradeIntent.UNSAFE if step.mode == "unsafe" else DowngradeIntent.SAFE)


def _request_update(state: ClusterState, step: ClusterStep, intent: DowngradeIntent) -> ClusterState:
    cluster = state.cluster
    if cluster.active is None:
        return state.with_event(EventKind.UNANSWERED, "", "there is no active controller")
    code = update_code(cluster.dialect, intent)
    answer = update_features(
        cluster, UpdateFeaturesRequest(tuple(UpdateItem(feature, level, code) for feature, level in step.levels))
    )
    for feature, result in {"": answer.top_level, **answer.results}.items():
        if not result.ok:
            state = state.with_event(
                EventKind.REFUSED, "", f"{feature}{': ' * bool(feature)}{result.code.name} {result.message}"
            )
    if answer.cluster is cluster:
        return state
    written = [level for level in step.levels if not answer.results or answer.results[level[0]].ok]
    state = state.with_event(EventKind.FINALIZED, "", f"finalized: {', '.join(map(level_text, written))}")
    state = evolve(state, cluster=answer.cluster).with_violations(unsupported_at_finalization(answer.cluster))
    before, after = cluster.level_of(METADATA_VERSION), answer.cluster.level_of(METADATA_VERSION)
    if before == after:
        return state
    return evolve(
        state,
        log=state.log.with_level(
            before, after, unsafe=cluster.dialect.downgrade_intent(code) is DowngradeIntent.UNSAFE
        ),
    )


def update_code(dialect: Dialect, intent: DowngradeIntent) -> int:
    """Return the code of an intent in a request; KIP-584 has one code for safe and unsafe downgrades."""
    codes = {kind: code for code, kind in dialect.kinds.items()}
    return codes.get(intent, codes[DowngradeIntent.SAFE])


def _race(state: ClusterState, step: ClusterStep) -> ClusterState:
    """Start brokers, then handle their registration and the request in the order of the scenario."""
    state = _add_brokers(state, step)
    if not step.mode:
        for name, _ in step.nodes:
            if state.nodes[name].running:
                state = handle_registration(state, state.nodes[name].id)
    return _request_update(state, step, DowngradeIntent.UPGRADE)


# -- propagation -----------------------------------------------------------------------------------------------------


def _set_staleness(state: ClusterState, step: ClusterStep) -> ClusterState:
    return state.with_nodes(*(evolve(state.nodes[name], stale=step.verb == "stale") for name, _ in step.nodes))


def _snapshot(state: ClusterState, _step: ClusterStep) -> ClusterState:
    return state.with_nodes(*(evolve(node, snapshot_entries=node.loaded_entries) for node in state.running_nodes))


def _query_features(state: ClusterState, step: ClusterStep) -> ClusterState:
    ((name, _),) = step.nodes
    broker = state.cluster.brokers.get(state.nodes[name].id)
    if state.group is None or broker is None or not state.nodes[name].running:
        raise ScenarioError(f"{name} does not answer: expected a running broker")
    answer = state.feature_caches.api_versions_response(broker)
    level = answer.finalized.get(state.group.feature, 0)
    answered = state.with_event(
        EventKind.DESCRIBED, name, f"answers with {state.group.feature} {level or 'none'} (epoch {answer.epoch})"
    )
    return _with_group(answered, state.group.with_answer(answer))


def _restart(state: ClusterState, step: ClusterStep) -> ClusterState:
    for name, _ in step.nodes:
        if state.group is not None:
            state = _with_group(
                state.with_event(EventKind.RESTARTED, name, "restarts"), state.group.with_member_restarted(name)
            )
    return state


def _with_group(state: ClusterState, group: WatchingGroup) -> ClusterState:
    """Set the group after a possible rebalance, with an event for each member whose level changed."""
    before = state.group.levels if state.group else {}
    for name, level in group.levels.items():
        if level != before.get(name):
            state = state.with_event(EventKind.LEARNED, name, f"uses {group.feature} {level or 'none'}")
    return evolve(state, group=group)


_ACTIONS: Final[Mapping[str, Callable[[ClusterState, ClusterStep], ClusterState]]] = {
    "bounce": _bounce,
    "stop": _stop_nodes,
    "start": _start_nodes,
    "crash": _crash,
    "register": _add_brokers,
    "unregister": _unregister,
    "elect": _elect,
    "finalize": lambda state, step: _request_update(state, step, DowngradeIntent.UPGRADE),
    "downgrade": _downgrade,
    "race": _race,
    "stale": _set_staleness,
    "fresh": _set_staleness,
    "snapshot": _snapshot,
    "ask": _query_features,
    "restart": _restart,
}
