"""Groups as a broker shows them, made of bytes of the codec; for the tests of `assignor.inspect` and its command."""

from uuid import UUID

from assignor.inspect import RawGroup, RawMember
from subscription_codec import (
    NO_REBALANCE,
    RUNNING,
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
    MemberAssignment,
    MemberSubscription,
    encode_member_assignment,
    encode_member_subscription,
    grouped,
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
    next_ms=NO_REBALANCE,
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
    """A member of Kafka Streams; the number in its ids is made of its name."""
    answered = used if answered is None else answered
    number = UUID(bytes=name.encode().ljust(16, b"\0"))
    userdata = Subscription(
        version=used,
        latest_supported=supported if used >= 3 else -1,
        process_id=process or number,
        prev_tasks=tasks(had),
        task_offset_sums=[
            *(TaskOffsetSum(task, RUNNING) for task in tasks(had)),
            *(TaskOffsetSum(TaskId.parse(task), position) for task, position in dict(sums).items()),
        ],
        user_end_point=end_point,
        error_code=sent_error,
        client_tags=[ClientTag(*tag) for tag in tags],
        trailing=trailing,
    )
    answer = Assignment(
        version=answered,
        latest_supported=answered_supported or answered,
        active_tasks=tasks(active),
        standby_tasks=[StandbyTask(task, ()) for task in tasks(standby)],
        error_code=error,
        next_rebalance_ms=next_ms,
        trailing=got_trailing,
    )
    return RawMember(
        member_id=f"app-{name}-consumer-{number}",
        instance_id=instance,
        client_id=f"app-{name}-consumer",
        host=host,
        subscription=encode_member_subscription(
            MemberSubscription(
                topics=(TOPIC,),
                user_data=encode_subscription(userdata),
                owned_partitions=grouped(partitions(owned)),
                generation_id=4 if envelope > 1 else -1,
                rack_id=rack if envelope > 2 else None,
                version=envelope,
            )
        ),
        assignment=encode_member_assignment(
            MemberAssignment(grouped(partitions(active)), encode_assignment(answer), version=envelope)
        ),
    )


def group(*members, **facts):
    """A stable group of Kafka Streams, if not said otherwise."""
    usual = {"name": "app", "state": "Stable", "protocol_type": "consumer", "protocol": "stream", "limit": 1_048_588}
    return RawGroup(**{**usual, "members": members, **facts})


def of_range(name, own, topic=TOPIC):
    """A member of a group of plain consumers."""
    return RawMember(
        member_id=f"consumer-{name}",
        client_id=f"consumer-{name}",
        host="/10.0.0.1",
        subscription=encode_member_subscription(MemberSubscription(topics=(topic,), version=1)),
        assignment=encode_member_assignment(
            MemberAssignment(grouped(TopicPartition(topic, each) for each in own), version=1)
        ),
    )
