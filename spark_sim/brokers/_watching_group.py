"""Streams group that watches a feature of the cluster: real members whose messages carry the level (KIP-584).

Only the leader sends requests to brokers. The level reaches the other members in a rebalance. A level that any member
carries is not lost if the leader has just started, or if its answer comes from a stale broker.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final
from uuid import UUID

from attrs import evolve, field, frozen

from streams_assignor import StreamsAssignor, Subtopology, Topology
from streams_assignor.spark_sim.brokers.scenario import GROUP_MEMBERS
from streams_assignor.upgrade.cluster.features.carried_levels import CarriedLevels
from streams_assignor.upgrade.cluster.features.rpc import FeatureMetadata, NewestFeatures

TOPOLOGY: Final = Topology.of(Subtopology(sources=("data",)))
PARTITIONS: Final = {"data": 1}


@frozen(eq=False)
class WatchingGroup:
    """The state of the group."""

    feature: str
    levels: Mapping[str, int] = field(factory=lambda: dict.fromkeys(GROUP_MEMBERS, 0))
    """The level of each member, 0 for none, in joining order; the first one leads."""
    newest_answer: FeatureMetadata | None = None
    """The newest answer that the leader has received."""

    @classmethod
    def watching(cls, feature: str) -> WatchingGroup:
        """Return a new group; ``ConfigException`` for an invalid feature name."""
        return rebalance(cls(feature), 0)

    @property
    def leader(self) -> str:
        """The name of the leader."""
        return next(iter(self.levels))

    def with_answer(self, answer: FeatureMetadata) -> WatchingGroup:
        """Return the group after a broker's answer to the leader; a new level causes a rebalance."""
        observed = NewestFeatures()
        for seen in filter(None, (self.newest_answer, answer)):
            observed.observe(seen)
        newest = observed.newest(answer.listener)
        level = newest.finalized.get(self.feature, 0) if newest else 0
        after = evolve(self, newest_answer=newest)
        leader = _carried(self.feature, self.levels[self.leader])
        return rebalance(after, level) if leader.needs_rejoin_for({self.feature: level}) else after

    def with_member_restarted(self, name: str) -> WatchingGroup:
        """Return the group after a restart of a member without its state, and the rebalance that it causes."""
        others = {member: level for member, level in self.levels.items() if member != name}
        newest = None if name == self.leader else self.newest_answer
        return rebalance(WatchingGroup(self.feature, {**others, name: 0}, newest), 0)


def rebalance(group: WatchingGroup, leader_level: int) -> WatchingGroup:
    """Return the group after a rebalance in which the leader's metadata has a level (0 for none)."""
    return evolve(group, levels=_run_rebalance(group.feature, tuple(group.levels.items()), leader_level))


@lru_cache(maxsize=1024)
def _run_rebalance(feature: str, levels: tuple[tuple[str, int], ...], leader_level: int) -> Mapping[str, int]:
    """Run a rebalance with real messages; cached, because it is slow. Other state does not affect the levels."""
    carried = {name: _carried(feature, level) for name, level in levels}
    members = {
        name: StreamsAssignor(TOPOLOGY, process_id=UUID(int=ord(name)), extension=extension)
        for name, extension in carried.items()
    }
    leader = next(iter(members))
    carried[leader].observed = {feature: leader_level}
    answers = members[leader].assign(PARTITIONS, {name: member.subscription() for name, member in members.items()})
    for name, member in members.items():
        member.on_assignment(answers[name])
    return {name: extension.levels.get(feature, 0) for name, extension in carried.items()}


def _carried(feature: str, level: int) -> CarriedLevels:
    return CarriedLevels([feature], levels={feature: level} if level else {})
