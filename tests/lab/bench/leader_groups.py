"""Groups for ``bench_leader``: the subscriptions of all members as bytes, and what a leader knows of the cluster."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from uuid import UUID

from attrs import evolve, field, frozen

from streams_assignor.clients.leader_lookup import snapshot_cluster
from streams_assignor.codec import TopicPartition
from streams_assignor.protocol.internal_topics import NewTopic
from streams_assignor.streams_assignor import StreamsAssignor
from streams_assignor.task_assignors.high_availability import HighAvailabilityTaskAssignor
from streams_assignor.topology import Subtopology, Topology

APPLICATION: Final = "app"
PARTITIONS: Final = 100
"""Of each topic, and so the tasks of each subtopology."""
END_OFFSET: Final = 100_000
RACKS: Final = ("a", "b", "c")
ZONES: Final = tuple(f"zone-{letter}" for letter in "abcde")
CLUSTERS: Final = ("cluster-1", "cluster-2", "cluster-3")


@frozen(kw_only=True)
class Features:
    """What a group is configured with, besides standbys, end points and cooperative owners, which all groups have."""

    name: str
    config: Mapping[str, object]

    @property
    def tags(self) -> bool:
        """Whether standbys are spread over client tags."""
        return "rack.aware.assignment.tags" in self.config

    @property
    def racks(self) -> bool:
        """Whether racks count."""
        return "rack.aware.assignment.strategy" in self.config


_STANDBYS: Final = {"num.standby.replicas": 1}
_TAGS: Final = {"num.standby.replicas": 2, "rack.aware.assignment.tags": "zone,cluster"}
STANDBYS: Final = Features(name="1 standby", config=_STANDBYS)
TAGS: Final = Features(name="2 standbys, tags", config=_TAGS)
RACKS_ONLY: Final = Features(
    name="1 standby, racks", config={**_STANDBYS, "rack.aware.assignment.strategy": "min_traffic"}
)
ALL: Final = Features(name="2 standbys, tags, racks", config={**_TAGS, "rack.aware.assignment.strategy": "min_traffic"})
FEATURES: Final = (STANDBYS, TAGS, RACKS_ONLY, ALL)


@frozen
class Group:
    """A group that is about to be assigned."""

    features: Features
    members: Mapping[str, StreamsAssignor]
    partitions: Mapping[str, int]
    end_offsets: Mapping[TopicPartition, int]
    replica_racks: Mapping[TopicPartition, tuple[str, ...]]
    subscriptions: Mapping[str, bytes] = field(factory=dict)

    @property
    def leader(self) -> StreamsAssignor:
        """The first member."""
        return next(iter(self.members.values()))

    def joined(self) -> Group:
        """Return the group once all members have sent their subscriptions."""
        return evolve(self, subscriptions={name: each.subscription() for name, each in self.members.items()})

    def assign(self) -> dict[str, bytes]:
        """Do the complete leader step: look up topics and offsets, assign, encode."""
        cluster, plan = snapshot_cluster(self.leader, self.partitions, _Admin(self), 0)
        return self.leader.assign(cluster, self.subscriptions, plan)


@frozen
class _Admin:
    """Answers from memory, as the admin client on the JVM side does."""

    group: Group

    def partition_counts(self, topics: Iterable[str]) -> Mapping[str, int]:
        return {topic: self.group.partitions[topic] for topic in topics}

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        return {each: self.group.end_offsets[each] for each in partitions}

    def committed_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        return self.end_offsets(partitions)

    def replica_racks(self, topics: Iterable[str]) -> Mapping[TopicPartition, tuple[str, ...]]:
        wanted = set(topics)
        return {each: racks for each, racks in self.group.replica_racks.items() if each.topic in wanted}

    def create(self, topics: Sequence[NewTopic]) -> None:
        raise AssertionError(topics)  # they all exist


def cold(features: Features, members: int, tasks: int) -> Group:
    """Return a new group: no member has any state."""
    draw = random.Random(members)
    numbers = range(tasks // PARTITIONS)
    topology = Topology.of(
        *(
            Subtopology(sources=[f"input-{at:03}"], changelogs=[f"{APPLICATION}-store-{at:03}-changelog"])
            for at in numbers
        )
    )
    topics = [topic for each in topology.subtopologies for topic in (*each.sources, *each.changelogs)]
    replicas = [TopicPartition(topic, partition) for topic in topics for partition in range(PARTITIONS)]
    group = Group(
        features,
        {f"member-{at:04}": _member(features, topology, at, draw) for at in range(members)},
        dict.fromkeys(topics, PARTITIONS),
        {each: END_OFFSET for each in replicas if each.topic.endswith("changelog")},
        {each: tuple(draw.sample(RACKS, 2)) for each in replicas},
    )
    return group.joined()


def warm(group: Group) -> Group:
    """Return the group once all tasks have run, and a tenth of the members has gone."""
    for name, encoded in group.assign().items():
        group.members[name].on_assignment(encoded)
    left = [name for at, name in enumerate(group.members) if at % 10 != 5]
    return evolve(group, members={name: group.members[name] for name in left}).joined()


def member_config(features: Features, number: int) -> dict[str, object]:
    """Return the configuration of a member."""
    config = {"application.server": f"host-{number:04}.example.com:8080", **features.config}
    if features.tags:
        config["client.tag.zone"] = ZONES[number % len(ZONES)]
        config["client.tag.cluster"] = CLUSTERS[number % len(CLUSTERS)]
    if features.racks:
        config["client.rack"] = RACKS[number % len(RACKS)]
    return config


def _member(features: Features, topology: Topology, number: int, draw: random.Random) -> StreamsAssignor:
    return StreamsAssignor(
        topology,
        member_config(features, number),
        process_id=UUID(int=draw.getrandbits(128)),
        task_assignor=HighAvailabilityTaskAssignor(),
    )
