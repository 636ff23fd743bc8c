"""A Streams group that watches a feature of the cluster: real members, whose real bytes carry its level (KIP-584).

Only the leader asks brokers. What it sees reaches the others in a rebalance, and what any of them carries survives a
leader that asks a stale broker, or that has just started.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import lru_cache
from typing import Final
from uuid import UUID

from attrs import evolve, field, frozen

from assignor import StreamsPartitionAssignor, Subtopology, Topology
from assignor.cluster import Cluster
from spark_sim.brokers.scenario import MEMBERS
from upgrade.features.rpc import Described, NewestFeatures

TOPOLOGY: Final = Topology.of(Subtopology(sources=("data",)))
PARTITIONS: Final = {"data": 1}


@frozen(eq=False)
class Group:
    """The members in joining order (the first one leads), the feature, and the newest answer that the leader heard."""

    feature: str
    members: Mapping[str, StreamsPartitionAssignor]
    heard: Described | None = None

    @classmethod
    def watching(cls, feature: str) -> Group:
        """Start a group; ``ConfigException`` if this cannot be a feature."""
        return leader_sees(cls(feature, {name: _member(feature, name) for name in MEMBERS}), 0)

    @property
    def leader(self) -> str:
        """The name of the member that leads."""
        return next(iter(self.members))

    @property
    def levels(self) -> dict[str, int]:
        """The level that each member has, 0 for none."""
        return {name: member.member.levels.get(self.feature, 0) for name, member in self.members.items()}

    def asks(self, answer: Described) -> Group:
        """Let the leader hear a broker's answer; if that is news, there is a rebalance."""
        newest = NewestFeatures()
        for each in filter(None, (self.heard, answer)):
            newest.hear(each)
        heard = newest.newest(answer.listener)
        level = heard.finalized.get(self.feature, 0) if heard else 0
        after = evolve(self, heard=heard)
        return leader_sees(after, level) if self.members[self.leader].raised_by({self.feature: level}) else after

    def restarted(self, name: str) -> Group:
        """Stop a member, which leaves the group, and start it again with nothing; then there is a rebalance."""
        others = {each: member for each, member in self.members.items() if each != name}
        heard = None if name == self.leader else self.heard
        return leader_sees(Group(self.feature, {**others, name: _member(self.feature, name)}, heard), 0)


def leader_sees(group: Group, level: int) -> Group:
    """Let everybody join and the leader hand out what it sees (0: nothing) and what the members carry."""
    return evolve(group, members=_after(_Rebalance(group.feature, tuple(group.levels.items()), level, group.members)))


@frozen
class _Rebalance:
    """What a rebalance begins with. What else the members remember does not matter for the levels that they carry."""

    feature: str
    carried: tuple[tuple[str, int], ...]
    seen: int
    members: Mapping[str, StreamsPartitionAssignor] = field(eq=False)


@lru_cache(maxsize=1024)
def _after(rebalance: _Rebalance) -> Mapping[str, StreamsPartitionAssignor]:
    """Play a rebalance in real bytes. The same one is played once, as it takes long."""
    members = {name: copy(member) for name, member in rebalance.members.items()}
    subscriptions = {name: member.subscription() for name, member in members.items()}
    leader = next(iter(members.values()))
    answers = leader.assign(Cluster(partitions=PARTITIONS, levels={rebalance.feature: rebalance.seen}), subscriptions)
    for name, member in members.items():
        member.on_assignment(answers[name])
    return members


def _member(feature: str, name: str) -> StreamsPartitionAssignor:
    return StreamsPartitionAssignor(TOPOLOGY, process_id=UUID(int=ord(name)), watches=(feature,))
