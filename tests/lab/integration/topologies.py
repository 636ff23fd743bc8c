"""The topologies that `counting.py` and `java/Counting.java` have in common, and their topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen
from kafka.partitioner.default import murmur2

from streams_assignor.codec import TaskId
from streams_assignor.topology import Subtopology, Topology

STANDBYS = "standbys"
"""Like "stateful"; the members also report what their stores hold."""
SHAPES = ("stateless", "stateful", "repartition", STANDBYS)
PARTITIONS = 6
KEYS = tuple(map(str, range(PARTITIONS)))  # the source has them in the partitions of their names
RACKS = ("a", "b")
"""Of the nodes of a broker with racks, in the order of their ids; partitions are assigned to the nodes in turn."""


@frozen
class Topics:
    """The topics of one application; "" for what its shape does not have."""

    shape: str
    application: str
    source: str
    output: str
    partitions: int = PARTITIONS

    @property
    def changelog(self) -> str:
        return "" if self.shape == "stateless" else f"{self.application}-store-changelog"

    @property
    def repartition(self) -> str:
        return f"{self.application}-store-repartition" if self.shape == "repartition" else ""


def topology(topics: Topics) -> Topology:
    changelogs = [topics.changelog] if topics.changelog else []
    if not topics.repartition:
        return Topology.of(Subtopology(sources=[topics.source], changelogs=changelogs))
    return Topology.of(
        Subtopology(sources=[topics.source], repartition_sinks=[topics.repartition]),
        Subtopology(repartition_sources=[topics.repartition], changelogs=changelogs),
    )


def tasks(topics: Topics) -> dict[str, set[str]]:
    """The names of all tasks, each with the partitions that it reads."""
    found = topology(topics).tasks({topics.source: topics.partitions})
    return {str(task): set(map(str, partitions)) for task, partitions in found.items()}


def rack_of(task: str) -> str:
    """Where all partitions of a task are, if the broker has racks."""
    return RACKS[int(task.partition("_")[2]) % len(RACKS)]


def task_of(active: Mapping[TaskId, Any], partition: Any) -> TaskId:
    """The task that reads a partition."""
    return next(task for task, inputs in active.items() if tuple(partition) in inputs)


def counted_in(topics: Topics) -> dict[str, str]:
    """For each key the name of the task that writes its records to the output."""
    if not topics.repartition:
        return {key: f"0_{key}" for key in KEYS}
    return {key: f"1_{(murmur2(key.encode()) & 0x7FFFFFFF) % PARTITIONS}" for key in KEYS}
