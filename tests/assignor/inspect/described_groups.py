"""Described groups, encoded with the codec, for tests of `assignor.inspect` and its command."""

from uuid import UUID

from assignor.inspect import BrokerAssignment, DescribedGroup, DescribedGroupMember
from subscription_codec import (
    LATEST_OFFSET,
    NO_FOLLOW_UP,
    Assignment,
    ClientTag,
    StandbyTask,
    Subscription,
    TaskId,
    TaskOffsetSum,
    TopicPartition,
    encode_assignment,
    encode_subscription,
)
from subscription_codec.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    encode_consumer_assignment,
    encode_consumer_subscription,
    group_by_topic,
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
        trailing=got_trailing,
    )
    return DescribedGroupMember(
        member_id=f"app-{name}-consumer-{number}",
        group_instance_id=instance,
        client_id=f"app-{name}-consumer",
        host=host,
        subscription=encode_consumer_subscription(
            ConsumerSubscription(
                topics=(TOPIC,),
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


def broker_assigned(name, *, active="", standby="", warm_up="", **facts):
    """A member of a group whose broker assigns."""
    assigned = {"active": active, "standby": standby, "warm_up": warm_up}
    return DescribedGroupMember(
        member_id=name,
        client_id=f"app-{name}-consumer",
        host="/10.0.0.1",
        broker_assignment=BrokerAssignment(**{key: tuple(tasks(text)) for key, text in assigned.items()}, **facts),
    )


def of_range(name, own, topic=TOPIC):
    """A member of a group of plain consumers."""
    return DescribedGroupMember(
        member_id=f"consumer-{name}",
        client_id=f"consumer-{name}",
        host="/10.0.0.1",
        subscription=encode_consumer_subscription(ConsumerSubscription(topics=(topic,), version=1)),
        assignment=encode_consumer_assignment(
            ConsumerAssignment(group_by_topic(TopicPartition(topic, each) for each in own), version=1)
        ),
    )
