"""Members that talk to each other in real bytes, without a broker: what h11 calls a connection pair."""

from uuid import UUID

from assignor import StreamsPartitionAssignor
from upgrade import StreamsConfig, release_named


class Group:
    """``Group(topology, {"orders": 4}, a="2.0.1", b="1.1.1,upgrade.from=...")``: one process for each name."""

    def __init__(self, topology, partitions, **releases):
        self.topology = topology
        self.partitions = partitions
        self.members = {}
        for number, (name, release) in enumerate(releases.items(), 1):
            self.add(name, release, process=number)

    def add(self, name, release="streams-assignor", *, process, **config):
        settings = StreamsConfig(**config)
        self.members[name] = StreamsPartitionAssignor(
            self.topology, settings, process_id=UUID(int=process), release=release_named(release)
        )

    def rebalance(self, leader=None):
        """One generation: everyone joins, one leads, everyone gets its answer."""
        subscriptions = {name: member.subscription() for name, member in self.members.items()}
        leader = leader or next(iter(self.members))
        answers = self.members[leader].assign(self.partitions, subscriptions)
        return {name: member.on_assignment(answers[name]) for name, member in self.members.items()}

    @property
    def versions(self):
        return {name: member.used_version for name, member in self.members.items()}
