"""Described groups, encoded with the codec, for tests of `groups` and its command."""

from uuid import UUID

from streams_assignor.codec import (
    LATEST_OFFSET,
    NO_FOLLOW_UP,
    Assignment,
    ClientTag,
    HostInfo,
    HostPartitions,
    StandbyTask,
    Subscription,
    TaskId,
    TaskOffsetSum,
    TopicPartition,
    encode_assignment,
    encode_subscription,
)
from streams_assignor.codec.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    encode_consumer_assignment,
    encode_consumer_subscription,
    group_by_topic,
)
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

TOPIC = "orders"


def tasks(text):
    return [TaskId.parse(each) for each in text.split()]


def partitions(text):
    """The partitions that the tasks read."""
    return [TopicPartition(TOPIC, task.partition) for task in tasks(text)]


def member(
    name,
    used=11,
    supported=11,
    *,
    envelope=3,
    active="",
    standby="",
    had="",
    sums=(),
    owned="",
    answered=None,
    answered_supported=None,
    next_ms=NO_FOLLOW_UP,
    error=0,
    sent_error=0,
    process=None,
    host="/10.0.0.1",
    trailing=b"",
    got_trailing=b"",
    tags=(),
    end_point="",
    hosts=(),
    topics=(TOPIC,),
    rack=None,
    instance=None,
):
    """A member of Kafka Streams; the UUID in its ids follows from its name."""
    answered = used if answered is None else answered
    number = UUID(bytes=name.encode().ljust(16, b"\0"))
    userdata = Subscription(
        version=used,
        supported_version=supported if used >= 3 else -1,
        process_id=process or number,
        prev_tasks=tasks(had),
        task_offset_sums=[
            *(TaskOffsetSum(task, LATEST_OFFSET) for task in tasks(had)),
            *(TaskOffsetSum(TaskId.parse(task), position) for task, position in dict(sums).items()),
        ],
        user_end_point=end_point,
        error_code=sent_error,
        client_tags=[ClientTag(*tag) for tag in tags],
        trailing=trailing,
    )
    answer = Assignment(
        version=answered,
        supported_version=answered_supported or answered,
        active_tasks=tasks(active),
        standby_tasks=[StandbyTask(task, ()) for task in tasks(standby)],
        error_code=error,
        next_rebalance_ms=next_ms,
        partitions_by_host=[HostPartitions(HostInfo(*host), ()) for host in hosts],
        trailing=got_trailing,
    )
    return DescribedGroupMember(
        member_id=f"app-{name}-consumer-{number}",
        group_instance_id=instance,
        client_id=f"app-{name}-consumer",
        host=host,
        subscription=encode_consumer_subscription(
            ConsumerSubscription(
                topics=topics,
                user_data=encode_subscription(userdata),
                owned_partitions=group_by_topic(partitions(owned)),
                generation_id=4 if envelope > 1 else -1,
                rack_id=rack if envelope > 2 else None,
                version=envelope,
            )
        ),
        assignment=encode_consumer_assignment(
            ConsumerAssignment(group_by_topic(partitions(active)), encode_assignment(answer), version=envelope)
        ),
    )


def group(*members, **facts):
    """A group of Kafka Streams, stable by default."""
    usual = {
        "name": "app",
        "state": "Stable",
        "protocol_type": "consumer",
        "protocol": "stream",
        "max_message_bytes": 1_048_588,
    }
    return DescribedGroup(**{**usual, "members": members, **facts})


def assigned(active="", standby="", warm_up="", partitions=()):
    """The present or target assignment of a member of a group whose broker assigns."""
    return Assigned(
        active=tuple(tasks(active)),
        standby=tuple(tasks(standby)),
        warm_up=tuple(tasks(warm_up)),
        partitions=tuple(partitions),
    )


def broker_assigned(name, current=None, *, target=..., instance=None, **facts):
    """A member of a group whose broker assigns; it has its target, unless another one is given."""
    current = current or assigned()
    return DescribedGroupMember(
        member_id=name,
        group_instance_id=instance,
        client_id=f"app-{name}-consumer",
        host="/10.0.0.1",
        broker_assignment=BrokerAssignment(
            current=current, target=current if target is ... else target, **{"epoch": 1, **facts}
        ),
    )


SUBTOPOLOGIES = (
    DescribedSubtopology(name="0", source_topics=(TOPIC,), repartition_sink_topics=("app-by-id",)),
    DescribedSubtopology(
        name="1",
        changelogs=(InternalTopic(name="app-store-changelog"),),
        repartition_sources=(InternalTopic(name="app-by-id", configs={"cleanup.policy": "delete"}),),
    ),
)
"""``orders`` is repartitioned and counted."""

COUNTS = {TOPIC: 2, "app-by-id": 2, "app-store-changelog": 2}


def streams_group(*members, subtopologies=SUBTOPOLOGIES, epoch=1, assignment_epoch=1, topology_epoch=0, **facts):
    """A streams group (KIP-1071), stable by default, whose topics exist."""
    configs, operations = facts.pop("configs", {}), facts.pop("authorized_operations", None)
    broker = BrokerGroup(
        epoch=epoch,
        assignment_epoch=assignment_epoch,
        topology=DescribedTopology(epoch=topology_epoch, subtopologies=subtopologies),
        configs=configs,
        authorized_operations=operations,
    )
    usual = {"type": "streams", "protocol_type": "streams", "protocol": "", "partition_counts": COUNTS}
    return group(*members, broker=broker, **{**usual, **facts})


def of_range(name, own, topic=TOPIC, user_data=None):
    """A member of a group of plain consumers."""
    return DescribedGroupMember(
        member_id=f"consumer-{name}",
        client_id=f"consumer-{name}",
        host="/10.0.0.1",
        subscription=encode_consumer_subscription(ConsumerSubscription(topics=(topic,), version=1)),
        assignment=encode_consumer_assignment(
            ConsumerAssignment(group_by_topic(TopicPartition(topic, each) for each in own), user_data, version=1)
        ),
    )
