"""Answers for a replaced ``StreamsPartitionAssignor.assign``: the leader of this project assigns the group."""

from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import UUID

from streams_assignor import StreamsAssignor, Subtopology, Topology
from streams_assignor.cluster import ClusterSnapshot
from streams_assignor.codec import TopicPartition
from streams_assignor.task_assignor import BUILT_IN
from streams_assignor.upgrade import StreamsConfig

Values = Mapping[str, Any]
_TOPICS: Final = ("sources", "repartitionSources", "sinks", "changelogs")
_NO_PARTITIONS: Final = "topic-without-partitions"


def plan_topics(values: Values) -> Values:
    """The partitions of all internal topics."""
    plan, _ = _leader(values).plan_internal_topics(_partitions(values))
    topology = _topology(values)
    if plan.error_code:
        return {"refused": f"error code {plan.error_code}"}
    counts = {topic: plan.partitions[topic] for topic in topology.repartition_topics if topic in plan.partitions}
    return {"repartition": counts, "changelogs": dict(plan.changelogs)}


def required_offsets(values: Values) -> Values:
    """The offsets to look up, now that ``partitions`` has the changelogs that were there before."""
    plan, required = _leader(values).plan_internal_topics(_partitions(values))
    if plan.error_code:
        return {"refused": f"error code {plan.error_code}"}
    return {"changelogs": required.changelogs, "sourceChangelogs": required.source_changelogs}


def assign_group(values: Values) -> Values:
    """The assignments of all members, as whole consumer-protocol messages."""
    offsets = values.get("endOffsets")
    cluster = ClusterSnapshot(
        partitions=_partitions(values),
        end_offsets=None
        if offsets is None
        else {TopicPartition(topic, number): offset for topic, number, offset in offsets},
        replica_racks={TopicPartition(topic, number): racks for topic, number, racks in values["racks"]},
        now_ms=values["now"],
    )
    subscriptions = {member: bytes.fromhex(encoded) for member, encoded in values["subscriptions"].items()}
    assignments = _leader(values).assign(cluster, subscriptions)
    return {"assignments": {member: encoded.hex() for member, encoded in assignments.items()}}


def _partitions(values: Values) -> Mapping[str, int]:
    return {**values["partitions"], _NO_PARTITIONS: 0}


def _leader(values: Values) -> StreamsAssignor:
    settings = {key: value for key, value in values["settings"].items() if value is not None}
    for tag in settings["rack.aware.assignment.tags"]:
        settings[f"client.tag.{tag}"] = "of the leader"  # a configuration needs one; the group's are in subscriptions
    return StreamsAssignor(
        _topology(values),
        StreamsConfig.of(settings),
        process_id=UUID(values["processId"]) if values["processId"] else None,
        task_assignor=BUILT_IN[values["assignor"]],
    )


def _topology(values: Values) -> Topology:
    # Here no topology is empty: one without tasks takes its place.
    rows = values["subtopologies"] or [{**dict.fromkeys(_TOPICS, ()), "sources": [_NO_PARTITIONS], "counts": {}}]
    subtopologies = [
        Subtopology(
            sources=row["sources"],
            repartition_sources=row["repartitionSources"],
            repartition_sinks=row["sinks"],
            changelogs=row["changelogs"],
        )
        for row in rows
    ]
    counts = {topic: count for row in rows for topic, count in row["counts"].items()}
    groups = values["copartitionGroups"]
    return Topology.of(*subtopologies, repartition_counts=counts, copartition_groups=groups)


OPERATIONS: Final[Mapping[str, Callable[[Values], Values]]] = {
    "plan topics": plan_topics,
    "required offsets": required_offsets,
    "assign group": assign_group,
}
