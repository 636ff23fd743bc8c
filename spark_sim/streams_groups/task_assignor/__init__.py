"""The broker's task assignor of streams groups (KIP-1071), ``sticky``, as each release of Kafka has it."""

# mypy: implicit-reexport
from streams_assignor.spark_sim.streams_groups.task_assignor._hash_order import hash_map_order
from streams_assignor.spark_sim.streams_groups.task_assignor._releases import NEWEST_RELEASE, RELEASES
from streams_assignor.spark_sim.streams_groups.task_assignor._sticky import assign
from streams_assignor.spark_sim.streams_groups.task_assignor._types import (
    AssignmentMemberSpec,
    GroupSpec,
    KnownTopology,
    MemberAssignment,
    StreamsTaskId,
    TargetAssignment,
    TaskAssignorError,
    TopologyDescriber,
    UnknownReleaseError,
    by_subtopology,
)
