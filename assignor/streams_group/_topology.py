"""The topology as a member sends it when it joins; the coordinator compares it with that of the group.

A Java member and a member of this package can be in one group only if these fields are equal, lists in their order
included ("Topology updates are not supported yet"). Topics and their configurations are sorted. Co-partition groups are
in the order of Java's hash sets, which Kafka does not sort.

Java: ``StreamThread.initBrokerTopology``, ``InternalTopologyBuilder.copartitionGroups`` and
``StreamsGroupHeartbeatRequestManager.fromStreamsToHeartbeatRequest`` of 4.3.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from streams_assignor.task_assignors.java_order import bucket_order, buckets_of_copy, spread, string_hash
from streams_assignor.topology import CHANGELOG_CONFIG, REPARTITION_CONFIG, Subtopology, Topology

TOPOLOGY_EPOCH: Final = 0
"""All releases up to 4.4 send this one (KIP-1071: topology updates come later)."""

BROKER_DEFAULT: Final = -1
"""The replication factor of ``default.replication.factor`` of the brokers; Kafka Streams' default."""


def topology_fields(topology: Topology, replication_factor: int = BROKER_DEFAULT) -> dict[str, Any]:
    """Return the field ``topology`` of a heartbeat.

    >>> fields = topology_fields(Topology.of(Subtopology(sources=["orders"])))
    >>> [(each["subtopologyId"], each["sourceTopics"]) for each in fields["subtopologies"]]
    [('0', ['orders'])]
    """
    groups = _in_set_order([frozenset(group) for group in topology.copartition_groups])
    subtopologies = [
        _subtopology(str(number), subtopology, topology, groups, replication_factor)
        for number, subtopology in enumerate(topology.subtopologies)
    ]
    # Java sorts the ids as texts.
    return {
        "epoch": TOPOLOGY_EPOCH,
        "subtopologies": sorted(subtopologies, key=lambda subtopology: str(subtopology["subtopologyId"])),
    }


def _subtopology(
    name: str, subtopology: Subtopology, topology: Topology, groups: Iterable[frozenset[str]], replication_factor: int
) -> dict[str, Any]:
    internal = frozenset(topology.repartition_topics)
    repartition = subtopology.repartition_sources
    sources = [topic for topic in subtopology.sources if topic not in repartition]

    def topic(name: str, defaults: Mapping[str, str], partitions: int = 0) -> dict[str, Any]:
        config = topology.topic_config(name, defaults)
        return {
            "name": name,
            "partitions": partitions,
            "replicationFactor": replication_factor,
            "topicConfigs": [{"key": key, "value": value} for key, value in sorted(config.items())],
        }

    return {
        "subtopologyId": name,
        "sourceTopics": sources,
        "sourceTopicRegex": [],
        "stateChangelogTopics": [topic(changelog, CHANGELOG_CONFIG) for changelog in subtopology.changelogs],
        "repartitionSinkTopics": [sink for sink in subtopology.repartition_sinks if sink in internal],
        "repartitionSourceTopics": [
            topic(name, REPARTITION_CONFIG, topology.repartition_counts.get(name, 0)) for name in repartition
        ],
        "copartitionGroups": [
            _copartition_group(group, sources, repartition) for group in groups if group <= {*sources, *repartition}
        ],
    }


def _copartition_group(
    group: frozenset[str], sources: Sequence[str], repartition: Sequence[str]
) -> dict[str, list[int]]:
    topics = bucket_order(sorted(group), {topic: spread(string_hash(topic)) for topic in group})
    return {
        "sourceTopics": [sources.index(topic) for topic in topics if topic in sources],
        "sourceTopicRegex": [],
        "repartitionSourceTopics": [repartition.index(topic) for topic in topics if topic in repartition],
    }


def _in_set_order(groups: Sequence[frozenset[str]]) -> list[frozenset[str]]:
    """Return the groups in the order of a ``HashSet``; the hash of a set is the sum of those of its elements.

    Java makes it of a list that has each group once for each of its topics.
    """
    hashes = {group: spread(sum(map(string_hash, group))) for group in groups}
    return bucket_order(groups, hashes, buckets_of_copy(sum(map(len, groups))))
