"""The JSON form of what only groups have whose broker assigns; the keys are null in a classic group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streams_assignor.codec import TaskId
from streams_assignor.groups.broker_assigned import BrokerAssignment, BrokerGroup, DescribedSubtopology, InternalTopic
from streams_assignor.groups.broker_assigned.reconciliation import Reconciliation
from streams_assignor.groups.described_group import STREAMS, DescribedGroup
from streams_assignor.upgrade.topology_description import DescribedNode

_OPERATIONS: Final[Mapping[int, str]] = {
    3: "READ",
    4: "WRITE",
    5: "CREATE",
    6: "DELETE",
    7: "ALTER",
    8: "DESCRIBE",
    9: "CLUSTER_ACTION",
    10: "DESCRIBE_CONFIGS",
    11: "ALTER_CONFIGS",
    12: "IDEMPOTENT_WRITE",
    13: "CREATE_TOKENS",
    14: "DESCRIBE_TOKENS",
    15: "TWO_PHASE_COMMIT",
}
"""The operations by bit. Java: ``AclOperation``."""


def broker_group_json(group: DescribedGroup) -> dict[str, Any]:
    """Return the keys of a group."""
    broker_group = group.broker or BrokerGroup()
    is_known = group.broker is not None
    return {
        "epoch": broker_group.epoch if is_known else None,
        "assignment_epoch": broker_group.assignment_epoch if is_known else None,
        "topology": broker_group.topology
        and {
            "epoch": broker_group.topology.epoch,
            "subtopologies": {
                subtopology.name: _subtopology_json(subtopology) for subtopology in broker_group.topology.subtopologies
            },
        },
        "topology_description_status": broker_group.topology_description_status,
        "topology_description": None
        if broker_group.topology_description is None
        else [_node_json(node) for node in broker_group.topology_description],
        "configs": None if broker_group.configs is None else dict(broker_group.configs),
        "authorized_operations": _operation_names(broker_group.authorized_operations),
        "partition_counts": dict(sorted(group.partition_counts.items())) if group.type == STREAMS else None,
    }


def _operation_names(bits: int | None) -> list[str] | None:
    return None if bits is None else [name for bit, name in _OPERATIONS.items() if bits & 1 << bit]


def _subtopology_json(subtopology: DescribedSubtopology) -> dict[str, Any]:
    return {
        "source_topics": list(subtopology.source_topics),
        "repartition_sink_topics": list(subtopology.repartition_sink_topics),
        "repartition_source_topics": {source.name: _topic_json(source) for source in subtopology.repartition_sources},
        "changelogs": {changelog.name: _topic_json(changelog) for changelog in subtopology.changelogs},
    }


def _node_json(node: DescribedNode) -> dict[str, Any]:
    return {
        "kind": node.kind,
        "name": node.name,
        "subtopology": node.subtopology,
        "topics": None if node.has_pattern else list(node.topics),
        "stores": list(node.stores),
        "predecessors": list(node.predecessors),
    }


def _topic_json(topic: InternalTopic) -> dict[str, Any]:
    return {
        "partitions": topic.partitions,
        "replication_factor": topic.replication_factor,
        "configs": dict(topic.configs),
    }


def broker_member_json(
    assignment: BrokerAssignment | None, progress: Reconciliation | None, group_type: str
) -> dict[str, Any]:
    """Return the keys of a member."""
    if assignment is None or progress is None:
        return dict.fromkeys(_MEMBER_KEYS)
    target = assignment.target
    return {
        "epoch": assignment.epoch,
        "has_target": None if assignment.epoch is None and progress.is_complete else progress.is_complete,
        "topology_epoch": assignment.topology_epoch if group_type == STREAMS else None,
        "is_classic": assignment.is_classic,
        "topic_regex": assignment.topic_regex,
        "target": target
        and {
            "partitions": list(map(str, target.partitions)),
            "active": list(map(str, target.active)),
            "standby": list(map(str, target.standby)),
            "warm_up": list(map(str, target.warm_up)),
        },
        "to_revoke": [{"role": role, "name": str(thing)} for role, thing in progress.to_revoke],
        "awaited": [
            {"role": awaited.role, "name": str(awaited.thing), "holders": list(awaited.holders)}
            for awaited in progress.awaited
        ],
        "offset_sums": _sums_json(assignment.offset_sums),
        "end_offset_sums": _sums_json(assignment.end_offset_sums),
    }


def _sums_json(sums: Mapping[TaskId, int]) -> dict[str, int] | None:
    return {str(task): offset_sum for task, offset_sum in sums.items()} if sums else None


_MEMBER_KEYS: Final = (
    "epoch",
    "has_target",
    "topology_epoch",
    "is_classic",
    "topic_regex",
    "target",
    "to_revoke",
    "awaited",
    "end_offset_sums",
)
