"""The rules of a roll of the nodes of a cluster in KRaft mode: what a look shows, and the gates.

A broker shows the levels that it supports, which are those of a release line: no request returns a patch level. The
gates say what levels do not show: 4.3.0 from 4.3.1, the release of a controller without a broker. A node counts as
restarted when a look found it gone, or with other levels; who restarts by hand is waited for until then. A command may
be over before any look: then the node has to be there for the soak time, and the gate says that nobody saw it go.
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
_SHOWS_NOTHING: Final = "does not show what it supports"


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

    most_under_replicated: int = 0
    fetches: Mapping[str, int | None] | None = field(default=None, hash=False)
    """When each instance had fetched metadata last, at the first look after the commands had ended; None: before."""


@frozen(kw_only=True)
class NodeLife:
    """The looks at a node since its last command."""

    since: float | None = None
    """The first of the looks that have shown it without a gap; None: it is not there."""
    returns: int = 0
    """How often it has gone and returned."""
    went: bool = False
    """Whether a look has not shown it."""
    is_broker: bool = False
    """Whether a look has shown a broker."""
    fetch_ms: int | None = None
    """As ``NodeSeen.last_fetch_ms`` of the last look."""


@frozen(kw_only=True)
class ClusterLife:
    """The memory of nodes over steps, until an operator has answered."""

    answers: int
    """How many answers there were."""
    nodes: Mapping[str, NodeLife] = field(factory=dict, hash=False)
    """By instance."""


def remember(state: RollState, memory: ClusterMemory | None, seen: ClusterObservation) -> ClusterMemory:
    """Return what is remembered after a look."""
    fetches = memory.fetches if memory else None
    if fetches is None and state.commands_ended and not seen.problem:
        nodes = {name: seen.of(name) for name in seen.node_ids}
        fetches = {name: node.last_fetch_ms if node else None for name, node in nodes.items()}
    most = max(memory.most_under_replicated if memory else 0, len(seen.under_replicated))
    return ClusterMemory(most_under_replicated=most, fetches=fetches)


def follow(state: RollState, life: ClusterLife | None, seen: ClusterObservation) -> ClusterLife:
    """Return what is remembered of nodes after a look."""
    known = life.nodes if life and life.answers == state.answers else {}
    if seen.problem:
        return ClusterLife(answers=state.answers, nodes=known)
    touched = state.step.instances if state.step and not state.commands_ended else ()
    nodes: dict[str, NodeLife] = {}
    for name in seen.node_ids:
        life_now = _life(known.get(name) or _before(state, name), seen.of(name), seen.seconds)
        nodes[name] = NodeLife(is_broker=life_now.is_broker) if name in touched else life_now
    return ClusterLife(answers=state.answers, nodes=nodes)


def _before(state: RollState, name: str) -> NodeLife:
    """Return what the journal has of a node of the step: whether it was a broker."""
    shown = state.step.before.get(name, ()) if state.step else ()
    return NodeLife(is_broker=any(text != _SHOWS_NOTHING for text in shown))


def _life(before: NodeLife, node: NodeSeen | None, now: float) -> NodeLife:
    if node is None or _has_gone(before, node):
        return evolve(before, since=None, went=True, fetch_ms=node.last_fetch_ms if node else None)
    has_returned = before.since is None
    return evolve(
        before,
        since=now if has_returned else before.since,
        returns=before.returns + (has_returned and before.went),
        is_broker=before.is_broker or node.is_broker,
        fetch_ms=node.last_fetch_ms,
    )


def _has_gone(before: NodeLife, node: NodeSeen) -> bool:
    """Whether a look shows that a node does not take part.

    A controller without a broker may lack for a moment what was committed just now: it has gone if it is silent, too.
    """
    if node.is_broker or before.is_broker or not node.is_voter:
        return not node.is_broker
    return node.is_caught_up is not True and before.fetch_ms == node.last_fetch_ms


# -- gates: each returns None if it does not concern the step ---------------------------------------------------------


def _visible(_state: RollState, _watch: RollWatch, seen: ClusterObservation) -> GateResult:
    if not seen.problem:
        return passed("visible", f"{len(seen.nodes)} nodes")
    return waiting("visible", DeviationKind.NOT_VISIBLE, f"not described: {seen.problem}", "a cluster that answers")


def _no_crash_loop(_state: RollState, watch: RollWatch, _seen: ClusterObservation) -> GateResult | None:
    for name, life in watch.lasting.nodes.items():
        if life.returns >= _LOOP_RETURNS:
            text = f"{name} has gone and returned {life.returns} times"
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
    by_hand = state.plan.verbs == (BY_HAND,)
    more = {"is_patient": by_hand}
    for name in state.step.instances:
        if watch.lasting.nodes[name].since is None:
            text = f"{name} is not registered"
            kind = DeviationKind.NOT_RETURNED
            return waiting("returned", kind, text, f"{name} is registered", instances=(name,), **more)
        if _is_silent(watch, seen, name):
            text, kind = f"{name} has not fetched metadata since its command ended", DeviationKind.NOT_RETURNED
            return waiting("returned", kind, text, f"{name} fetches metadata", instances=(name,), **more)
        if by_hand and not _shows_release(state, seen, name) and not watch.lasting.nodes[name].went:
            # Whoever has restarted it while roll did not run, says so.
            text, kind = (
                f"{name} was not seen to go, and nothing else shows that it was restarted",
                DeviationKind.CONDITION,
            )
            is_patient = state.step.seconds_before == 0
            return waiting("returned", kind, text, f"{name} goes and returns", instances=(name,), is_patient=is_patient)
    return passed("returned", f"{shortened(state.step.instances)} registered")


def _release(state: RollState, watch: RollWatch, seen: ClusterObservation) -> GateResult | None:
    """Whether each restarted node supports the levels of the release; after a round, every node."""
    if state.round is None or (_is_once(state) and not _is_round_over(state)) or seen.problem:
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
    if _is_once(state):
        return None
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
    if is_old and in_time and not watch.lasting.nodes[name].returns:
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
    of_plan = sorted(
        {_broker_release(each).newest for pair in state.plan.rounds for each in (pair.before, pair.config)}
    )
    levels = {None, *(newest.level for newest in of_plan)}
    # Somebody may have upgraded the cluster further since roll was called last: the next step would be a downgrade.
    if wrong := [name for name in names if name not in state.suspects and _highest_level(seen, name) not in levels]:
        text = shortened([f"{name} {_supported_text(seen.nodes[seen.node_ids[name]])}" for name in wrong])
        expected = f"nodes that support up to {' or '.join(map(str, of_plan))}"
        return failed("others", DeviationKind.OTHER_RELEASE, text, expected, *wrong)
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
    is_before = state.step is None and not _is_round_over(state)
    if is_before or level == newest.level:
        return passed("levels", _level_text(seen.levels))
    return waiting("levels", DeviationKind.CONDITION, _level_text(seen.levels), f"metadata.version {newest}")


def _lives_on(state: RollState, watch: RollWatch, seen: ClusterObservation) -> GateResult | None:
    """Whether a restarted node has been there for the soak time.

    A command that does not wait may leave the old process, which is about to go; a new one may fail soon.
    """
    soak_s = state.plan.limits.soak_s
    if state.step is None or _is_once(state) or seen.problem or not soak_s:
        return None
    lives = {name: watch.lasting.nodes[name] for name in state.step.instances}
    there_s = min(0.0 if life.since is None else seen.seconds - life.since for life in lives.values())
    if there_s < soak_s:
        text = f"{shortened(tuple(lives))} there for {there_s:.0f} s of {soak_s:g}"
        return waiting("alive", None, text, left_s=max(1.0, soak_s - there_s))
    unseen = [name for name, life in lives.items() if not life.went and not _shows_release(state, seen, name)]
    notes = [f"no look has shown that {shortened(unseen)} went"] if unseen else []
    return passed("alive", "; ".join([f"{shortened(tuple(lives))} there for {there_s:.0f} s", *notes]))


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
        "the registered brokers, with the other nodes and the releases of the plan",
        "a node that failed meanwhile, or that somebody has upgraded further",
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
    RollGate(
        "alive",
        "how long a node has been there without a gap since its command ended, with the soak time",
        "the old process may be about to go, the new one may fail soon",
        "--soak",
        _AFTER,
        _lives_on,
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


CLUSTER_RULES: Final = RollRules(CLUSTER_GATES, remember, follow, happened, _leader, lambda *_: (), observed)
"""The rules of a roll of a cluster in KRaft mode."""


# -- words -----------------------------------------------------------------------------------------------------------


def _is_once(state: RollState) -> bool:
    return state.round is not None and state.round.action is RoundAction.ONCE


def _is_round_over(state: RollState) -> bool:
    return state.step is None and not state.remaining


def _highest_level(seen: ClusterObservation, name: str) -> int | None:
    """Return the highest metadata.version that a node supports; None: it does not show it."""
    node = seen.of(name)
    return node.metadata_levels[1] if node and node.metadata_levels else None


def _shows_release(state: RollState, seen: ClusterObservation, name: str) -> bool:
    """Whether the levels of a node tell the release of a round from the one before."""
    assert state.round
    node = seen.of(name)
    is_shown = node is not None and node.metadata_levels is not None
    return is_shown and _broker_release(state.round.config).newest != _broker_release(state.round.before).newest


def _broker_release(config: InstanceConfig) -> BrokerRelease:
    return broker_release(config.release)


def _supported_text(node: NodeSeen) -> str:
    if node.metadata_levels is None:
        return _SHOWS_NOTHING
    return f"supports up to {NEWEST_CATALOG.level_name(METADATA_VERSION, node.metadata_levels[1])}"


def _level_text(levels: Mapping[str, int]) -> str:
    level = levels.get(METADATA_VERSION)
    return f"metadata.version {NEWEST_CATALOG.level_name(METADATA_VERSION, level) if level else 'is not finalized'}"
