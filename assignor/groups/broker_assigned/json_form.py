"""The JSON form of what only groups have whose broker assigns; the keys are null in a classic group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from assignor.groups.broker_assigned import BrokerAssignment, BrokerGroup, DescribedSubtopology, InternalTopic
from assignor.groups.broker_assigned.reconciliation import Reconciliation
from assignor.groups.described_group import STREAMS, DescribedGroup
from subscription_codec import TaskId
from upgrade.topology_description import DescribedNode

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
    found = group.broker or BrokerGroup()
    known = group.broker is not None
    return {
        "epoch": found.epoch if known else None,
        "assignment_epoch": found.assignment_epoch if known else None,
        "topology": found.topology
        and {
            "epoch": found.topology.epoch,
            "subtopologies": {each.name: _subtopology_json(each) for each in found.topology.subtopologies},
        },
        "topology_description_status": found.topology_description_status,
        "topology_description": None
        if found.topology_description is None
        else [_node_json(each) for each in found.topology_description],
        "configs": None if found.configs is None else dict(found.configs),
        "authorized_operations": _operation_names(found.authorized_operations),
        "partition_counts": dict(sorted(group.partition_counts.items())) if group.type == STREAMS else None,
    }


def _operation_names(bits: int | None) -> list[str] | None:
    return None if bits is None else [name for bit, name in _OPERATIONS.items() if bits & 1 << bit]


def _subtopology_json(found: DescribedSubtopology) -> dict[str, Any]:
    return {
        "source_topics": list(found.source_topics),
        "repartition_sink_topics": list(found.repartition_sink_topics),
        "repartition_source_topics": {each.name: _topic_json(each) for each in found.repartition_sources},
        "changelogs": {each.name: _topic_json(each) for each in found.changelogs},
    }


def _node_json(found: DescribedNode) -> dict[str, Any]:
    return {
        "kind": found.kind,
        "name": found.name,
        "subtopology": found.subtopology,
        "topics": None if found.has_pattern else list(found.topics),
        "stores": list(found.stores),
        "predecessors": list(found.predecessors),
    }


def _topic_json(found: InternalTopic) -> dict[str, Any]:
    return {
        "partitions": found.partitions,
        "replication_factor": found.replication_factor,
        "configs": dict(found.configs),
    }


def broker_member_json(
    found: BrokerAssignment | None, progress: Reconciliation | None, group_type: str
) -> dict[str, Any]:
    """Return the keys of a member."""
    if found is None or progress is None:
        return dict.fromkeys(_MEMBER_KEYS)
    target = found.target
    return {
        "epoch": found.epoch,
        "has_target": None if found.epoch is None and progress.is_complete else progress.is_complete,
        "topology_epoch": found.topology_epoch if group_type == STREAMS else None,
        "is_classic": found.is_classic,
        "topic_regex": found.topic_regex,
        "target": target
        and {
            "partitions": list(map(str, target.partitions)),
            "active": list(map(str, target.active)),
            "standby": list(map(str, target.standby)),
            "warm_up": list(map(str, target.warm_up)),
        },
        "to_revoke": [{"role": role, "name": str(thing)} for role, thing in progress.to_revoke],
        "awaited": [
            {"role": each.role, "name": str(each.thing), "holders": list(each.holders)} for each in progress.awaited
        ],
        "offset_sums": _sums_json(found.offset_sums),
        "end_offset_sums": _sums_json(found.end_offset_sums),
    }


def _sums_json(sums: Mapping[TaskId, int]) -> dict[str, int] | None:
    return {str(task): each for task, each in sums.items()} if sums else None


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
