"""The rules of a roll of the nodes of a cluster in KRaft mode: what a look shows, and the gates.

A broker shows the levels that it supports, which are those of a release line: no request returns a patch level. The
gates say what levels do not show: 4.3.0 from 4.3.1, the release of a controller without a broker. A node counts as
restarted when a look found it gone, or with other levels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import evolve, field, frozen

from streams_assignor.upgrade.cluster.brokers.protocol_versions import BrokerRelease, MetadataMode, broker_release
from streams_assignor.upgrade.cluster.brokers.steps import BrokerAdvice, BrokerStep
from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.cluster.features.levels_of_releases import NEWEST_CATALOG
from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.roll.deviations import DeviationKind
from streams_assignor.upgrade.roll.gates import (
    EVERY_PHASE,
    GatePhase,
    GateResult,
    RollGate,
    RollRules,
    RollWatch,
    failed,
    passed,
    shortened,
    waiting,
)
from streams_assignor.upgrade.roll.plan import ALL_INSTANCES, BY_HAND, InstanceConfig, RollRound, RoundAction
from streams_assignor.upgrade.roll.state import RollState

_LOOP_RETURNS: Final = 3


# -- the plan --------------------------------------------------------------------------------------------------------


def cluster_rounds(advice: BrokerAdvice) -> tuple[RollRound, ...]:
    """Return the rounds of a plan for a cluster in KRaft mode: one restart of each node, then its levels.

    Raises:
        UpgradeError: The cluster has ZooKeeper, there is no way, or a step is neither of the two.

    >>> from streams_assignor.upgrade.cluster.brokers.planner import advise_brokers
    >>> plan = advise_brokers(broker_release("4.2.1"), broker_release("4.3.1"), MetadataMode.KRAFT)
    >>> [each.action.value for each in cluster_rounds(plan)]
    ['restart', 'once']
    """
    if advice.mode is not MetadataMode.KRAFT:
        raise UpgradeError(
            "expected a cluster in KRaft mode, got one with ZooKeeper: each of its steps changes the configuration of "
            "every broker; do what plan --brokers prints"
        )
    if not advice.steps:
        raise UpgradeError(f"no way from {advice.origin} to {advice.target}: {'; '.join(advice.warnings)}")
    rounds: list[RollRound] = []
    before = InstanceConfig(advice.origin)
    for step in advice.steps:
        rounds.append(_round(step, before, advice.origin))
        before = rounds[-1].config
    return tuple(rounds)


def _round(step: BrokerStep, before: InstanceConfig, origin: str) -> RollRound:
    is_raise = bool(step.levels) and " upgrade " in step.do
    if not step.rolls and not is_raise:
        raise UpgradeError(f"the plan has a step that is not a restart; do it first, then call roll again: {step.do}")
    return RollRound(
        action=RoundAction.RESTART if step.rolls else RoundAction.ONCE,
        config=InstanceConfig(step.release),
        before=before,
        hop_origin=origin,
        text=step.do,
        way_back=step.way_back.verdict.value,
        back=step.way_back.how,
        leader_last=bool(step.rolls),
    )


# -- what a look shows -----------------------------------------------------------------------------------------------


@frozen(kw_only=True)
class NodeSeen:
    """A node as the cluster describes it."""

    node_id: int
    is_broker: bool = False
    """Whether it is a broker that is registered and not fenced."""
    metadata_levels: tuple[int, int] | None = None
    """The lowest and the highest level of metadata.version that it supports; None: it was not asked."""
    is_voter: bool = False
    """Whether it is a controller that votes."""
    is_caught_up: bool | None = None
    """Whether it has all of the metadata that is committed; None: unknown."""
    last_fetch_ms: int | None = None
    """When it has fetched metadata last, by the clock of the active controller; None: unknown."""


@frozen(kw_only=True)
class ClusterObservation:
    """One look at a cluster."""

    seconds: float
    node_ids: Mapping[str, int] = field(hash=False)
    """The id of each instance of the plan."""
    nodes: Mapping[int, NodeSeen] = field(factory=dict, hash=False)
    controller: int | None = None
    """The active controller; None: unknown."""
    levels: Mapping[str, int] = field(factory=dict, hash=False)
    """The finalized levels."""
    under_replicated: tuple[str, ...] = ()
    """The partitions with fewer replicas in sync than replicas, those without a leader too."""
    problem: str = ""
    """Why the cluster is not described; empty if it is."""

    def of(self, instance: str) -> NodeSeen | None:
        """Return a node by the name of its instance; None if it is not there."""
        return self.nodes.get(self.node_ids[instance])

    def is_there(self, instance: str) -> bool:
        """Whether a node takes part: as a broker that is registered, or as a voter that has all metadata."""
        node = self.of(instance)
        return node is not None and (node.is_broker or (node.is_voter and node.is_caught_up is True))

    def incarnations(self, instance: str) -> frozenset[str]:
        """Return the levels that a node supports; of all of them, the finalized level."""
        if instance == ALL_INSTANCES:
            return frozenset({_level_text(self.levels)}) if self.levels else frozenset()
        node = self.of(instance)
        if node is None or not self.is_there(instance):
            return frozenset()
        return frozenset({_supported_text(node)})

    def owners(self) -> Mapping[str, str]:
        """Return nothing: partitions have replicas on several nodes."""
        return {}


@frozen(kw_only=True)
class ClusterMemory:
    """The memory of the looks of a phase."""

    there: frozenset[str] = frozenset()
    """The brokers that were registered at the last look."""
    returns: Mapping[str, int] = field(factory=dict, hash=False)
    """How often each instance has gone and returned."""
    most_under_replicated: int = 0
    fetches: Mapping[str, int | None] | None = field(default=None, hash=False)
    """When each instance had fetched metadata last, at the first look after the commands had ended; None: before."""


def remember(state: RollState, memory: ClusterMemory | None, seen: ClusterObservation) -> ClusterMemory:
    """Return what is remembered after a look."""
    nodes = {name: seen.of(name) for name in seen.node_ids}
    there = frozenset(name for name, node in nodes.items() if node and node.is_broker)
    fetches = memory.fetches if memory else None
    if fetches is None and state.commands_ended and not seen.problem:
        fetches = {name: node.last_fetch_ms if node else None for name, node in nodes.items()}
    if memory is None:
        return ClusterMemory(there=there, most_under_replicated=len(seen.under_replicated), fetches=fetches)
    if seen.problem:
        return memory
    returns = dict(memory.returns)
    for name in there - memory.there:
        returns[name] = returns.get(name, 0) + 1
    most = max(memory.most_under_replicated, len(seen.under_replicated))
    return evolve(memory, there=there, returns=returns, most_under_replicated=most, fetches=fetches)


# -- gates: each returns None if it does not concern the step ---------------------------------------------------------


def _visible(_state: RollState, _watch: RollWatch, seen: ClusterObservation) -> GateResult:
    if not seen.problem:
        return passed("visible", f"{len(seen.nodes)} nodes")
    return waiting("visible", DeviationKind.NOT_VISIBLE, f"not described: {seen.problem}", "a cluster that answers")


def _no_crash_loop(_state: RollState, watch: RollWatch, _seen: ClusterObservation) -> GateResult | None:
    for name, times in watch.memory.returns.items():
        if times >= _LOOP_RETURNS:
            text = f"{name} has gone and returned {times} times"
            return failed("crash-loop", DeviationKind.CRASH_LOOP, text, "a node that stays", name)
    return None


def _is_silent(watch: RollWatch, seen: ClusterObservation, name: str) -> bool:
    """Whether a controller without a broker has fetched nothing since its command ended.

    Until others commit more metadata, one that is gone has all that is committed.
    """
    node, fetches = seen.of(name), watch.memory.fetches or {}
    if node is None or node.is_broker or node.last_fetch_ms is None:
        return False
    return fetches.get(name) == node.last_fetch_ms


def _returned(state: RollState, watch: RollWatch, seen: ClusterObservation) -> GateResult | None:
    if state.step is None or _is_once(state) or seen.problem:
        return None
    more = {"is_patient": state.plan.verbs == (BY_HAND,)}
    for name in state.step.instances:
        if not seen.is_there(name):
            text = f"{name} is not registered"
            kind = DeviationKind.NOT_RETURNED
            return waiting("returned", kind, text, f"{name} is registered", instances=(name,), **more)
        if _is_silent(watch, seen, name):
            text, kind = f"{name} has not fetched metadata since its command ended", DeviationKind.NOT_RETURNED
            return waiting("returned", kind, text, f"{name} fetches metadata", instances=(name,), **more)
    return passed("returned", f"{shortened(state.step.instances)} registered")


def _release(state: RollState, watch: RollWatch, seen: ClusterObservation) -> GateResult | None:
    """Whether each restarted node supports the levels of the release; after a round, every node."""
    if state.round is None or _is_once(state) or seen.problem:
        return None
    wanted, old = _broker_release(state.round.config), _broker_release(state.round.before)
    notes = [f"no request tells {wanted} from {old}"] if wanted.newest == old.newest else []
    for name in state.step.instances if state.step else state.plan.names:
        node = seen.of(name)
        if node is None or not seen.is_there(name) or (node.is_broker and node.metadata_levels is None):
            return waiting("config", None, f"{name} does not answer")
        if node.metadata_levels is None:
            notes.append(f"{name}, a controller without a broker, does not show its release")
        elif node.metadata_levels[1] != wanted.newest.level:
            return _other_release(state, watch, seen, name, _supported_text(node), wanted, old)
    return passed("config", "; ".join([f"as {wanted}, which supports up to {wanted.newest}", *notes]))


def _other_release(
    state: RollState,
    watch: RollWatch,
    seen: ClusterObservation,
    name: str,
    shown: str,
    wanted: BrokerRelease,
    old: BrokerRelease,
) -> GateResult:
    """Return what a node with other levels means: until it has gone, the old process may still be there."""
    is_old = f"up to {NEWEST_CATALOG.level_name(METADATA_VERSION, old.newest.level or 0)}" in shown
    kind = DeviationKind.OLD_RELEASE if is_old else DeviationKind.OTHER_RELEASE
    expected = f"{name} runs {wanted}, which supports up to {wanted.newest}"
    text = f"{name} {shown}"
    by_hand = state.plan.verbs == (BY_HAND,)
    in_time = by_hand or watch.waited(seen) < state.plan.limits.session_timeout_s
    if is_old and in_time and not watch.memory.returns.get(name):
        return waiting("config", kind, text, expected, instances=(name,), is_patient=by_hand)
    return failed("config", kind, text, expected, name)


def _others(state: RollState, _watch: RollWatch, seen: ClusterObservation) -> GateResult | None:
    if seen.problem:
        return None
    touched = state.step.instances if state.step else ()
    names = [name for name in state.plan.names if name not in touched]
    if missing := [name for name in names if not seen.is_there(name)]:
        text = f"{shortened(missing)} not registered"
        more = {"instances": tuple(missing)}
        return waiting("others", DeviationKind.MEMBER_GONE, text, "every other node is registered", **more)
    known = set(seen.node_ids.values())
    if strangers := sorted(str(node) for node in seen.nodes if node not in known):
        text = f"node {shortened(strangers)} is no instance of the plan"
        return failed("others", DeviationKind.FOREIGN_MEMBER, text, "the instances of the plan")
    return passed("others", f"{len(names)} other nodes are registered")


def _in_sync(_state: RollState, watch: RollWatch, seen: ClusterObservation) -> GateResult | None:
    if seen.problem:
        return None
    if seen.under_replicated:
        text = f"{len(seen.under_replicated):,} under-replicated partitions: {shortened(seen.under_replicated)}"
        return waiting("in-sync", DeviationKind.CONDITION, text, "no under-replicated partition")
    return passed("in-sync", f"no under-replicated partition (at most {watch.memory.most_under_replicated:,})")


def _quorum(_state: RollState, _watch: RollWatch, seen: ClusterObservation) -> GateResult | None:
    if seen.problem:
        return None
    if seen.controller is None:
        return waiting("quorum", DeviationKind.CONDITION, "no active controller", "an active controller")
    voters = [node for node in seen.nodes.values() if node.is_voter]
    if behind := [str(node.node_id) for node in voters if node.is_caught_up is False]:
        text = f"controller {shortened(behind)} lacks committed metadata"
        return waiting("quorum", DeviationKind.CONDITION, text, "every controller has the committed metadata")
    return passed("quorum", f"{len(voters)} controllers, {seen.controller} active")


def _levels(state: RollState, _watch: RollWatch, seen: ClusterObservation) -> GateResult | None:
    """Whether the levels are raised at the end, and not before: the way back would be closed."""
    if state.round is None or seen.problem:
        return None
    newest, level = _broker_release(state.round.config).newest, seen.levels.get(METADATA_VERSION)
    if not _is_once(state):
        oldest = min(_broker_release(config).newest for config in state.configs.values())
        if level is not None and oldest.level is not None and level > oldest.level:
            text, expected = (
                _level_text(seen.levels),
                f"metadata.version of at most {oldest}, until every node runs {newest}",
            )
            return failed("levels", DeviationKind.CONDITION, text, expected)
        return passed("levels", _level_text(seen.levels))
    if state.step is None or level == newest.level:
        return passed("levels", _level_text(seen.levels))
    return waiting("levels", DeviationKind.CONDITION, _level_text(seen.levels), f"metadata.version {newest}")


_AFTER: Final = frozenset({GatePhase.AFTER})
_DONE: Final = frozenset({GatePhase.AFTER, GatePhase.ROUND})

CLUSTER_GATES: Final = (
    RollGate(
        "visible", "the cluster, with a description", "nothing is done blindly", "--timeout", EVERY_PHASE, _visible
    ),
    RollGate(
        "crash-loop",
        "how often a node has returned, with three times",
        "a node that fails again and again moves the leaders of its partitions each time",
        "",
        EVERY_PHASE,
        _no_crash_loop,
    ),
    RollGate(
        "returned",
        "the registered brokers, and the controllers that fetch metadata, with the nodes of the step",
        "the node that was restarted has to be back before the next one",
        "--timeout",
        _AFTER,
        _returned,
    ),
    RollGate(
        "config",
        "the levels that a node supports, with those of the release",
        "the old release was started again; after a round, of every node",
        "",
        _DONE,
        _release,
    ),
    RollGate(
        "others",
        "the registered brokers, with the other nodes",
        "a node that failed meanwhile",
        "--timeout",
        EVERY_PHASE,
        _others,
    ),
    RollGate(
        "in-sync",
        "replicas of each partition, with those in sync",
        "the next restart could take the last replica of a partition",
        "--timeout",
        EVERY_PHASE,
        _in_sync,
    ),
    RollGate(
        "quorum",
        "the end of each controller's log, with what is committed",
        "the next restart could take the majority",
        "--timeout",
        EVERY_PHASE,
        _quorum,
    ),
    RollGate(
        "levels",
        "the finalized metadata.version, with what every node supports",
        "a level that was raised too early closes the way back",
        "",
        EVERY_PHASE,
        _levels,
    ),
)


def happened(state: RollState, instance: str, _verb: str, seen: ClusterObservation) -> bool | None:
    """Whether a restart, or the change of levels, has been done; None: a look does not show it."""
    assert state.step
    assert state.round
    now, before = seen.incarnations(instance), frozenset(state.step.before.get(instance, ()))
    if instance == ALL_INSTANCES:
        return seen.levels.get(METADATA_VERSION) == _broker_release(state.round.config).newest.level or None
    return True if now and before and now != before else None


def observed(_state: RollState, watch: RollWatch, seen: ClusterObservation) -> Mapping[str, Any]:
    """Return what came of a step."""
    return {
        "controller": seen.controller,
        "levels": dict(seen.levels),
        "most_under_replicated": watch.memory.most_under_replicated,
        "seconds": round(watch.waited(seen), 1),
    }


def _leader(seen: ClusterObservation) -> str | None:
    return next((name for name, node_id in seen.node_ids.items() if node_id == seen.controller), None)


CLUSTER_RULES: Final = RollRules(CLUSTER_GATES, remember, lambda *_: None, happened, _leader, lambda *_: (), observed)
"""The rules of a roll of a cluster in KRaft mode."""


# -- words -----------------------------------------------------------------------------------------------------------


def _is_once(state: RollState) -> bool:
    return state.round is not None and state.round.action is RoundAction.ONCE


def _broker_release(config: InstanceConfig) -> BrokerRelease:
    return broker_release(config.release)


def _supported_text(node: NodeSeen) -> str:
    if node.metadata_levels is None:
        return "does not show what it supports"
    return f"supports up to {NEWEST_CATALOG.level_name(METADATA_VERSION, node.metadata_levels[1])}"


def _level_text(levels: Mapping[str, int]) -> str:
    level = levels.get(METADATA_VERSION)
    return f"metadata.version {NEWEST_CATALOG.level_name(METADATA_VERSION, level) if level else 'is not finalized'}"
