"""Streams group that watches a feature of the cluster: real members whose messages carry the level (KIP-584).

Only the leader sends requests to brokers. The level reaches the other members in a rebalance. A level that any member
carries is not lost if the leader has just started, or if its answer comes from a stale broker.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import lru_cache
from typing import Final
from uuid import UUID

from attrs import evolve, field, frozen

from assignor import StreamsAssignor, Subtopology, Topology
from assignor.cluster import ClusterSnapshot
from spark_sim.brokers.scenario import GROUP_MEMBERS
from upgrade.cluster.features.rpc import FeatureMetadata, NewestFeatures

TOPOLOGY: Final = Topology.of(Subtopology(sources=("data",)))
PARTITIONS: Final = {"data": 1}


@frozen(eq=False)
class WatchingGroup:
    """The state of the group."""

    feature: str
    members: Mapping[str, StreamsAssignor]
    """The members in joining order; the first one leads."""
    newest_answer: FeatureMetadata | None = None
    """The newest answer that the leader has received."""

    @classmethod
    def watching(cls, feature: str) -> WatchingGroup:
        """Return a new group; ``ConfigException`` for an invalid feature name."""
        return rebalance(cls(feature, {name: _new_member(feature, name) for name in GROUP_MEMBERS}), 0)

    @property
    def leader(self) -> str:
        """The name of the leader."""
        return next(iter(self.members))

    @property
    def levels(self) -> dict[str, int]:
        """The level of each member, 0 for none."""
        return {name: member.member.feature_levels.get(self.feature, 0) for name, member in self.members.items()}

    def with_answer(self, answer: FeatureMetadata) -> WatchingGroup:
        """Return the group after a broker's answer to the leader; a new level causes a rebalance."""
        observed = NewestFeatures()
        for each in filter(None, (self.newest_answer, answer)):
            observed.observe(each)
        newest = observed.newest(answer.listener)
        level = newest.finalized.get(self.feature, 0) if newest else 0
        after = evolve(self, newest_answer=newest)
        return rebalance(after, level) if self.members[self.leader].needs_rejoin_for({self.feature: level}) else after

    def with_member_restarted(self, name: str) -> WatchingGroup:
        """Return the group after a restart of a member without its state, and the rebalance that it causes."""
        others = {each: member for each, member in self.members.items() if each != name}
        newest = None if name == self.leader else self.newest_answer
        return rebalance(WatchingGroup(self.feature, {**others, name: _new_member(self.feature, name)}, newest), 0)


def rebalance(group: WatchingGroup, leader_level: int) -> WatchingGroup:
    """Return the group after a rebalance in which the leader's metadata has a level (0 for none)."""
    return evolve(
        group,
        members=_run_rebalance(
            _RebalanceInput(group.feature, tuple(group.levels.items()), leader_level, group.members)
        ),
    )


@frozen
class _RebalanceInput:
    """The input of a rebalance. Other state of the members does not affect the levels."""

    feature: str
    carried_levels: tuple[tuple[str, int], ...]
    leader_level: int
    members: Mapping[str, StreamsAssignor] = field(eq=False)


@lru_cache(maxsize=1024)
def _run_rebalance(given: _RebalanceInput) -> Mapping[str, StreamsAssignor]:
    """Run a rebalance with real messages; cached, because it is slow."""
    members = {name: copy(member) for name, member in given.members.items()}
    subscriptions = {name: member.subscription() for name, member in members.items()}
    leader = next(iter(members.values()))
    answers = leader.assign(
        ClusterSnapshot(partitions=PARTITIONS, feature_levels={given.feature: given.leader_level}), subscriptions
    )
    for name, member in members.items():
        member.on_assignment(answers[name])
    return members


def _new_member(feature: str, name: str) -> StreamsAssignor:
    return StreamsAssignor(TOPOLOGY, process_id=UUID(int=ord(name)), watches=(feature,))
