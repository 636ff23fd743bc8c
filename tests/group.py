"""Members that talk to each other in real bytes, without a broker: what h11 calls a connection pair."""

from uuid import UUID

from streams_assignor import StreamsAssignor
from streams_assignor.cluster import ClusterSnapshot
from streams_assignor.codec import TopicPartition
from streams_assignor.upgrade import StreamsConfig, release_named


class Group:
    """``Group(topology, {"orders": 4}, a="2.0.1", b="1.1.1,upgrade.from=...")``: one process for each name.

    All changelogs that exist are empty; ``cluster`` may be replaced.
    """

    def __init__(self, topology, partitions, **releases):
        self.topology = topology
        self.cluster = ClusterSnapshot(partitions=partitions, end_offsets=empty(topology, partitions))
        self.members = {}
        for number, (name, release) in enumerate(releases.items(), 1):
            self.add(name, release, process=number)

    def add(self, name, release="streams-assignor", *, process, task_assignor=None, **config):
        settings = StreamsConfig(**config)
        self.members[name] = StreamsAssignor(
            self.topology,
            settings,
            process_id=UUID(int=process),
            release=release_named(release),
            task_assignor=task_assignor,
        )
        return self.members[name]

    def answers(self, leader=None):
        """Everyone joins and one leads: what everyone will get."""
        subscriptions = {name: member.subscription() for name, member in self.members.items()}
        leader = leader or next(iter(self.members))
        return self.members[leader].assign(self.cluster, subscriptions)

    def rebalance(self, leader=None):
        """One generation: everyone joins, one leads, everyone gets its answer."""
        answers = self.answers(leader)
        return {name: member.on_assignment(answers[name]) for name, member in self.members.items()}

    def settle(self, leader=None, most=10):
        """Rebalance until no member rejoins at once or has had to revoke a task; return the last generation."""
        for _ in range(most):
            before = {name: member.member.owned_partitions for name, member in self.members.items()}
            received = self.rebalance(leader)
            gave_up = any(before[name] - set(each.partitions) for name, each in received.items())
            if not gave_up and not any(each.rejoin for each in received.values()):
                return received
        raise AssertionError(f"still rebalancing after {most} generations")

    @property
    def versions(self):
        return {name: member.used_version for name, member in self.members.items()}


def empty(topology, partitions):
    """The end offsets of all changelogs that exist: nothing was ever written."""
    topics = {topic for each in topology.subtopologies for topic in each.changelogs}
    return {TopicPartition(topic, number): 0 for topic in topics for number in range(partitions.get(topic, 0))}
