"""Phases of an operator's plan; each phase yields the steps that may come next, in every order.

RollingRestart()          restart every node with the newer release, one by one
ChangeLevel()             finalize the newer release's level of metadata.version
ChangeLevel("downgrade")  downgrade to the older release's level
AwaitSnapshots()          wait until every node has written a snapshot
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from attrs import frozen

from streams_assignor.spark_sim.brokers._nodes import NodeState, newest_level
from streams_assignor.spark_sim.brokers.cluster_state import ClusterState
from streams_assignor.spark_sim.brokers.scenario import ClusterStep, Level, make_step
from streams_assignor.upgrade.cluster.brokers.protocol_versions import BrokerRelease
from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION


@frozen
class ReleasePair:
    """The two releases of an upgrade; a cluster starts at the newest level of the older one."""

    origin: BrokerRelease
    target: BrokerRelease

    @property
    def origin_level(self) -> Level:
        """The newest level of the older release."""
        return METADATA_VERSION, newest_level(self.origin)

    @property
    def target_level(self) -> Level:
        """The newest level of the newer release."""
        return METADATA_VERSION, newest_level(self.target)


class OperatorPhase(Protocol):
    """A part of a plan, in one step or many."""

    @property
    def may_stop_early(self) -> bool:
        """Whether the operator may go on to the next phase at any time."""
        ...

    def done(self, state: ClusterState, pair: ReleasePair) -> bool:
        """Whether the phase is finished."""
        ...

    def next_steps(self, state: ClusterState, pair: ReleasePair) -> Iterator[ClusterStep]:
        """Yield the enabled steps of the phase."""
        ...


@frozen
class RollingRestart:
    """Restart every node with another release, one by one, in any order."""

    to_origin: bool = False
    """Whether the nodes return to the older release."""
    tries_to_finalize: bool = False
    """Whether the operator also tries to finalize before all nodes are upgraded."""
    may_stop_early: bool = False

    def done(self, state: ClusterState, pair: ReleasePair) -> bool:
        """Whether all nodes run the release."""
        return all(node.running and node.release == self._wanted_release(pair) for node in original_nodes(state))

    def next_steps(self, state: ClusterState, pair: ReleasePair) -> Iterator[ClusterStep]:
        """Yield a stop for each node if all are running, else a start for each stopped node."""
        to = self._wanted_release(pair)
        down = [node for node in original_nodes(state) if not node.running]
        for node in down:
            yield make_step("start", node.name, to=to if node.release != to else None)
            if node.crashed and node.release != to:
                yield make_step("start", node.name)
        if not down:
            yield from (make_step("stop", node.name) for node in original_nodes(state) if node.release != to)
        if self.tries_to_finalize:
            yield make_step("finalize", level=pair.target_level)

    def _wanted_release(self, pair: ReleasePair) -> BrokerRelease:
        return pair.origin if self.to_origin else pair.target


@frozen
class ChangeLevel:
    """Change metadata.version to the level of the newer or the older release; remove brokers that do not support it."""

    verb: str = "finalize"
    mode: str = ""
    wait_for_quiescence: bool = True
    """Whether the operator waits until every node has loaded the lower level (KIP-778)."""
    may_stop_early: bool = False

    def done(self, state: ClusterState, pair: ReleasePair) -> bool:
        """Whether the level is finalized, and for a downgrade loaded by every node."""
        reached = state.cluster.level_of(METADATA_VERSION) == self._wanted_level(pair)[1]
        waits = self.verb == "downgrade" and self.wait_for_quiescence
        return reached and (
            not waits or all(node.loaded_entries == len(state.log.entries) for node in original_nodes(state))
        )

    def next_steps(self, state: ClusterState, pair: ReleasePair) -> Iterator[ClusterStep]:
        """Yield the request, or the removal of an added broker that does not support the level."""
        yield from restarts_of_stopped_nodes(state)
        if state.cluster.level_of(METADATA_VERSION) != self._wanted_level(pair)[1]:
            yield make_step(self.verb, level=self._wanted_level(pair), mode=self.mode)
        for node in state.nodes.values():
            if not node.original and node.release != pair.target:
                if node.running:
                    yield make_step("stop", node.name)
                elif node.id in state.cluster.brokers:
                    yield make_step("unregister", node.name)

    def _wanted_level(self, pair: ReleasePair) -> Level:
        return pair.target_level if self.verb == "finalize" else pair.origin_level


@frozen
class AwaitSnapshots:
    """Wait until every node has written a snapshot of its metadata."""

    may_stop_early: bool = False

    def done(self, state: ClusterState, _pair: ReleasePair) -> bool:
        """Whether the last snapshot of every node is up to date."""
        return all(node.running and node.snapshot_entries == len(state.log.entries) for node in original_nodes(state))

    def next_steps(self, state: ClusterState, _pair: ReleasePair) -> Iterator[ClusterStep]:
        """Yield the step that writes snapshots."""
        yield from restarts_of_stopped_nodes(state)
        yield ClusterStep("snapshot")


def original_nodes(state: ClusterState) -> list[NodeState]:
    """Return the nodes of the scenario's head."""
    return [node for node in state.nodes.values() if node.original]


def restarts_of_stopped_nodes(state: ClusterState) -> Iterator[ClusterStep]:
    """Yield a start for each stopped node, with its release."""
    return (make_step("start", node.name) for node in original_nodes(state) if not node.running)
