"""Table of an operator's plans, and the steps that the operator does not choose.

``fault_steps`` and ``race_steps`` are faults: crashes, stale brokers, the registration of an old broker, restarts of
members. ``background_steps`` may happen at any time and are not faults.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from attrs import evolve, frozen

from streams_assignor.spark_sim.brokers.cluster_state import ClusterState
from streams_assignor.spark_sim.brokers.operator_program import (
    AwaitSnapshots,
    ChangeLevel,
    OperatorPhase,
    ReleasePair,
    RollingRestart,
    restarts_of_stopped_nodes,
)
from streams_assignor.spark_sim.brokers.scenario import GROUP_MEMBERS, ClusterStep, make_step
from streams_assignor.upgrade.cluster.features.dialects import DIALECTS, KAFKA_4, KIP_778, Dialect

OLD_BROKER: Final = "b9"
"""The name of the added broker of the older release."""


@frozen
class OperatorPlan:
    """The phases of a plan, one after the other."""

    name: str
    description: str
    phases: tuple[OperatorPhase, ...]
    documented: tuple[Dialect, ...] = ()
    """The dialects whose documentation recommends the plan."""
    dialects: tuple[Dialect, ...] = DIALECTS
    """The dialects in which the plan differs from other plans."""
    with_watching_group: bool = False
    """Whether a Streams group watches the level."""

    def next_steps(self, state: ClusterState, pair: ReleasePair, phase_index: int) -> Iterator[tuple[ClusterStep, int]]:
        """Yield the operator's next steps, each with its phase; after the last phase only restarts of stopped nodes."""
        while phase_index < len(self.phases) and self.phases[phase_index].done(state, pair):
            phase_index += 1
        if phase_index == len(self.phases):
            yield from ((step, phase_index) for step in restarts_of_stopped_nodes(state))
            return
        phase = self.phases[phase_index]
        yield from ((step, phase_index) for step in phase.next_steps(state, pair))
        if phase.may_stop_early:
            yield from self.next_steps(state, pair, phase_index + 1)

    def finished(self, state: ClusterState, pair: ReleasePair, phase_index: int) -> bool:
        """Whether the operator has finished all phases."""
        return all(phase.done(state, pair) for phase in self.phases[phase_index:])


_UPGRADE: Final = (RollingRestart(), ChangeLevel())
_ROLL_BACK: Final = RollingRestart(to_origin=True)
_LOWER_LEVEL: Final = ChangeLevel("downgrade")
_KRAFT: Final = (KIP_778, KAFKA_4)

_PLANS: Final = (
    OperatorPlan("upgrade", "bounce every node, then finalize", _UPGRADE, DIALECTS),
    OperatorPlan(
        "early",
        "try to finalize all the time while nodes are bounced",
        (RollingRestart(tries_to_finalize=True), ChangeLevel()),
    ),
    OperatorPlan(
        "back",
        "bounce some nodes, and back before anything is finalized",
        (RollingRestart(may_stop_early=True), _ROLL_BACK),
        DIALECTS,
    ),
    OperatorPlan("at_once", "finalize, then bounce back without a downgrade", (*_UPGRADE, _ROLL_BACK)),
    OperatorPlan(
        "lower_and_back", "finalize, lower the level, bounce back", (*_UPGRADE, _LOWER_LEVEL, _ROLL_BACK), _KRAFT
    ),
    OperatorPlan(
        "hasty",
        "the same, without waiting until every node has loaded the level",
        (*_UPGRADE, ChangeLevel("downgrade", wait_for_quiescence=False), _ROLL_BACK),
    ),
    OperatorPlan(
        "snapshot",
        "the same, waiting for a snapshot",
        (*_UPGRADE, _LOWER_LEVEL, AwaitSnapshots(), _ROLL_BACK),
        dialects=_KRAFT,
    ),
    OperatorPlan(
        "lossy",
        "the same with an unsafe downgrade",
        (*_UPGRADE, ChangeLevel("downgrade", "unsafe"), _ROLL_BACK),
        (KIP_778,),
        _KRAFT,
    ),
    OperatorPlan("watched", "a group watches an upgrade", _UPGRADE, DIALECTS, with_watching_group=True),
    OperatorPlan(
        "watched_lower",
        "a group watches a level that is finalized and lowered",
        (*_UPGRADE, _LOWER_LEVEL),
        with_watching_group=True,
    ),
)
PLANS: Final[Mapping[str, OperatorPlan]] = {plan.name: plan for plan in _PLANS}


def fault_steps(state: ClusterState, pair: ReleasePair, plan: OperatorPlan) -> Iterator[ClusterStep]:
    """Yield the faults that can occur."""
    for node in state.running_nodes:
        yield make_step("crash", node.name)
        if not node.stale:
            yield make_step("stale", node.name)
    if OLD_BROKER not in state.nodes:
        yield make_step("register", OLD_BROKER, to=pair.origin)
    if plan.with_watching_group:
        yield from (make_step("restart", name) for name in GROUP_MEMBERS)


def race_steps(state: ClusterState, pair: ReleasePair, request: ClusterStep) -> Iterator[ClusterStep]:
    """Yield the two orders of a request to finalize and a simultaneous registration of an old broker."""
    if request.verb == "finalize" and OLD_BROKER not in state.nodes:
        for mode in ("", "after"):
            yield evolve(make_step("race", OLD_BROKER, to=pair.origin, mode=mode), levels=request.levels)


def background_steps(state: ClusterState) -> Iterator[ClusterStep]:
    """Yield what may happen at any time: a restart, the end of staleness, a request of the group's leader."""
    for node in state.nodes.values():
        if node.crashed and not node.original:
            yield make_step("start", node.name)
    for node in state.running_nodes:
        if node.stale:
            yield make_step("fresh", node.name)
        if state.group and node.id in state.cluster.brokers:
            yield make_step("ask", node.name)
