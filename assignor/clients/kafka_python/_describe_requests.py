"""Requests that kafka-python (3.0.12) lacks: they describe groups whose broker assigns (KIP-848, KIP-932, KIP-1071).

kafka-python makes its messages of Kafka's schemas, and has none of these. Each class reads the file of its own name in
``_schemas``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from assignor.clients.kafka_python import _schemas
from assignor.clients.kafka_python._private_api import ApiMessage
from assignor.inspect.described_group import (
    CONSUMER,
    SHARE,
    STREAMS,
    BrokerAssignment,
    DescribedGroup,
    DescribedGroupMember,
)
from subscription_codec import TaskId, TopicPartition


def _message_class(name: str) -> Any:
    """Make a message of the schema with that name."""
    return type(ApiMessage)(name, (ApiMessage,), {"__module__": __name__}, load_json=_schemas)


_NAMES: Final = {CONSUMER: "ConsumerGroupDescribe", SHARE: "ShareGroupDescribe", STREAMS: "StreamsGroupDescribe"}
REQUESTS: Final[Mapping[str, Any]] = {kind: _message_class(f"{name}Request") for kind, name in _NAMES.items()}
"""By type of group."""

_RESPONSES: Final = [_message_class(f"{name}Response") for name in _NAMES.values()]
"""kafka-python finds the class of a response by its number, and has only a weak reference to it."""


def described_group(found: Any, group_type: str) -> DescribedGroup:
    """Convert a group in a response to one of these requests."""
    return DescribedGroup(
        name=found.group_id,
        state=found.group_state,
        type=group_type,
        protocol_type=group_type,
        protocol=getattr(found, "assignor_name", ""),
        members=tuple(
            DescribedGroupMember(
                member_id=each.member_id,
                group_instance_id=getattr(each, "instance_id", None),
                client_id=each.client_id,
                host=each.client_host,
                broker_assignment=_streams_assignment(each) if group_type == STREAMS else _consumer_assignment(each),
            )
            for each in found.members
        ),
    )


def _consumer_assignment(member: Any) -> BrokerAssignment:
    """Convert the assignment of a member of KIP-848 or KIP-932; the latter has no target."""
    partitions = _partitions(member.assignment)
    target = getattr(member, "target_assignment", None)
    return BrokerAssignment(
        epoch=member.member_epoch,
        topics=tuple(member.subscribed_topic_names),
        partitions=partitions,
        is_target=target is None or partitions == _partitions(target),
        rack=member.rack_id,
    )


def _partitions(assignment: Any) -> tuple[TopicPartition, ...]:
    topics = assignment.topic_partitions
    return tuple(sorted(TopicPartition(topic.topic_name, each) for topic in topics for each in topic.partitions))


def _streams_assignment(member: Any) -> BrokerAssignment:
    current, target = (
        [_tasks(each) for each in (assignment.active_tasks, assignment.standby_tasks, assignment.warmup_tasks)]
        for assignment in (member.assignment, member.target_assignment)
    )
    end_point = member.user_endpoint
    return BrokerAssignment(
        epoch=member.member_epoch,
        active=current[0],
        standby=current[1],
        warm_up=current[2],
        is_target=current == target,
        process_id=member.process_id,
        rack=member.rack_id,
        end_point=f"{end_point.host}:{end_point.port}" if end_point else "",
        client_tags={tag.key: tag.value for tag in member.client_tags},
    )


def _tasks(subtopologies: Iterable[Any]) -> tuple[TaskId, ...]:
    return tuple(sorted(_task(each.subtopology_id, number) for each in subtopologies for number in each.partitions))


def _task(subtopology: str, partition: int) -> TaskId:
    """Return a task; Kafka Streams numbers its subtopologies, though the protocol has strings."""
    if subtopology.isdecimal():
        return TaskId(int(subtopology), partition)
    return TaskId(0, partition, subtopology)
