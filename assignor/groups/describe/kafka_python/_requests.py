"""Requests that kafka-python (3.0.12) lacks: they describe groups whose broker assigns (KIP-848, KIP-932, KIP-1071).

kafka-python makes its messages of Kafka's schemas, and has none of these. Each class reads the file of its own name in
``_schemas``: six files of Kafka, 32 kB. kio 0.6.5 has the requests, in 14 MB and on connections of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from streams_assignor.clients.kafka_python._private_api import ApiMessage
from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.groups import (
    Assigned,
    BrokerAssignment,
    BrokerGroup,
    DescribedGroup,
    DescribedGroupMember,
    DescribedSubtopology,
    DescribedTopology,
    InternalTopic,
)
from streams_assignor.groups.broker_assigned.topics import task_id
from streams_assignor.groups.decoded import in_order
from streams_assignor.groups.describe.kafka_python import _schemas
from streams_assignor.groups.described_group import CONSUMER, SHARE, STREAMS
from streams_assignor.upgrade.input_values import InvalidInput, parse_number
from streams_assignor.upgrade.topology_description import DescribedNode

_UNKNOWN: Final = -(2**31)
"""The value of authorized operations that were not asked for, or that the broker does not know."""

_AVAILABLE: Final = "available"
_NOT_UNDERSTOOD: Final = "not-understood"
_STATUSES: Final = {1: "not-stored", 2: "error", 3: _AVAILABLE}
_KINDS: Final = {1: "Source", 2: "Processor", 3: "Sink"}
_PATTERN: Final = "(a pattern)"  # the description of a group does not have it

_CLASSIC_MEMBER: Final = 0  # the type of a member of a consumer group
_CONSUMER_MEMBER: Final = 1


def _message_class(name: str) -> Any:
    """Make a message of the schema with that name."""
    return type(ApiMessage)(name, (ApiMessage,), {"__module__": __name__}, load_json=_schemas)


_NAMES: Final = {CONSUMER: "ConsumerGroupDescribe", SHARE: "ShareGroupDescribe", STREAMS: "StreamsGroupDescribe"}
REQUESTS: Final[Mapping[str, Any]] = {kind: _message_class(f"{name}Request") for kind, name in _NAMES.items()}
"""The describing request of each type of group."""

RESPONSES: Final[Mapping[str, Any]] = {kind: _message_class(f"{name}Response") for kind, name in _NAMES.items()}
"""The response to each; kafka-python finds its class by its number, and has only a weak reference to it."""


def described_group(group: Any, group_type: str) -> DescribedGroup:
    """Convert a group in a response to one of these requests."""
    is_streams = group_type == STREAMS
    description = _topology_description(group) if is_streams else None
    return DescribedGroup(
        name=group.group_id,
        state=group.group_state,
        type=group_type,
        protocol_type=group_type,
        protocol=getattr(group, "assignor_name", None) or "",
        members=tuple(
            DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=getattr(member, "instance_id", None),
                client_id=member.client_id,
                host=member.client_host,
                broker_assignment=_streams_assignment(member) if is_streams else _consumer_assignment(member),
            )
            for member in group.members
        ),
        broker=BrokerGroup(
            epoch=group.group_epoch,
            assignment_epoch=group.assignment_epoch,
            topology=_topology(group.topology) if is_streams and group.topology else None,
            topology_description=description,
            topology_description_status=_description_status(group, is_known=description is not None),
            authorized_operations=None if group.authorized_operations == _UNKNOWN else group.authorized_operations,
        ),
    )


def _consumer_assignment(member: Any) -> BrokerAssignment:
    """Convert the assignment of a member of KIP-848 or KIP-932; the latter has no target."""
    target = getattr(member, "target_assignment", None)
    return BrokerAssignment(
        epoch=member.member_epoch,
        topics=tuple(member.subscribed_topic_names),
        topic_regex=getattr(member, "subscribed_topic_regex", None) or None,
        current=_partitions(member.assignment),
        target=None if target is None else _partitions(target),
        is_classic=getattr(member, "member_type", _CONSUMER_MEMBER) == _CLASSIC_MEMBER,
        rack=member.rack_id,
    )


def _partitions(assignment: Any) -> Assigned:
    topics = assignment.topic_partitions
    # A broker of another make sends ids without names; ``_facts`` looks for the names.
    partitions = (
        TopicPartition(topic.topic_name or str(topic.topic_id), number)
        for topic in topics
        for number in topic.partitions
    )
    return Assigned(partitions=tuple(sorted(partitions)))


def _streams_assignment(member: Any) -> BrokerAssignment:
    end_point = member.user_endpoint
    return BrokerAssignment(
        epoch=member.member_epoch,
        current=_tasks(member.assignment),
        target=_tasks(member.target_assignment),
        is_classic=member.is_classic,
        process_id=member.process_id,
        topology_epoch=member.topology_epoch,
        rack=member.rack_id,
        end_point=f"{end_point.host}:{end_point.port}" if end_point else "",
        client_tags={tag.key: tag.value for tag in member.client_tags},
        offset_sums=_offsets(member.task_offsets),
        end_offset_sums=_offsets(member.task_end_offsets),
    )


def _tasks(assignment: Any) -> Assigned:
    return Assigned(
        active=_task_ids(assignment.active_tasks),
        standby=_task_ids(assignment.standby_tasks),
        warm_up=_task_ids(assignment.warmup_tasks),
    )


def _task_ids(subtopologies: Iterable[Any]) -> tuple[TaskId, ...]:
    return in_order(
        task_id(subtopology.subtopology_id, number)
        for subtopology in subtopologies
        for number in subtopology.partitions
    )


def _offsets(tasks: Iterable[Any]) -> Mapping[TaskId, int]:
    return {task_id(task.subtopology_id, task.partition): task.offset for task in tasks}


def _topology(topology: Any) -> DescribedTopology:
    return DescribedTopology(
        epoch=topology.epoch,
        subtopologies=tuple(
            DescribedSubtopology(
                name=subtopology.subtopology_id,
                source_topics=tuple(subtopology.source_topics),
                repartition_sink_topics=tuple(subtopology.repartition_sink_topics),
                changelogs=tuple(map(_internal_topic, subtopology.state_changelog_topics)),
                repartition_sources=tuple(map(_internal_topic, subtopology.repartition_source_topics)),
            )
            for subtopology in topology.subtopologies or ()
        ),
    )


def _description_status(group: Any, *, is_known: bool) -> str | None:
    """Return why there is a description or none; None with a broker before 4.4, whose status is read as 0."""
    status = getattr(group, "topology_description_status", 0)
    text = _STATUSES.get(status, str(status)) if status else None
    return _NOT_UNDERSTOOD if text == _AVAILABLE and not is_known else text


def _topology_description(group: Any) -> tuple[DescribedNode, ...] | None:
    """Return the nodes of a topology as ``Topology#describe()`` has them; None if they are not there or not known.

    The names of internal topics begin with the application id there, and not in the text.
    """
    described = getattr(group, "topology_description", None)
    if described is None:
        return None
    prefix, subtopologies = f"{group.group_id}-", _topology(group.topology).subtopologies if group.topology else ()
    topics = {
        name: name.removeprefix(prefix)
        for subtopology in subtopologies
        for name in (*subtopology.repartition_sink_topics, *(topic.name for topic in subtopology.repartition_sources))
    }
    try:
        nodes = [
            node
            for subtopology in described.subtopologies
            for node in _described_nodes(subtopology.nodes, parse_number(subtopology.subtopology_id), topics)
        ]
        for store in described.global_stores:
            nodes += _described_nodes([store.source, store.processor], None, topics)
    except (InvalidInput, KeyError):
        return None  # of a later release
    return tuple(nodes) or None


def _described_nodes(
    nodes: Sequence[Any], subtopology: int | None, topics: Mapping[str, str]
) -> Iterator[DescribedNode]:
    predecessors: dict[str, list[str]] = {}
    for node in nodes:
        for name in node.successors:
            predecessors.setdefault(name, []).append(node.name)
    for node in nodes:
        kind = _KINDS[node.node_type]
        named = node.source_topics if kind == "Source" else [node.sink_topic] if node.sink_topic else []
        has_pattern = kind == "Source" and not named
        yield DescribedNode(
            kind,
            node.name,
            subtopology,
            topics=(_PATTERN,) if has_pattern else tuple(topics.get(name, name) for name in named),
            stores=tuple(node.stores),
            predecessors=tuple(predecessors.get(node.name, ())),
            has_pattern=has_pattern,
        )


def _internal_topic(topic: Any) -> InternalTopic:
    return InternalTopic(
        name=topic.name,
        partitions=topic.partitions,
        replication_factor=topic.replication_factor,
        configs={config.key: config.value for config in topic.topic_configs},
    )
