"""Lists of many topics, which are decoded one row at a time."""

import pickle

from streams_assignor.codec import TopicPartition
from streams_assignor.codec.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    TopicPartitions,
    decode_consumer_subscription,
    encode_consumer_assignment,
    encode_consumer_subscription,
    flatten_by_topic,
)
from streams_assignor.groups import DescribedGroup, DescribedGroupMember, inspect_group

TOPICS = tuple(TopicPartitions(f"t{number:02}", (1, 0)) for number in reversed(range(30)))
LONG_NAME = "x" * 250


def owned(topics):
    return encode_consumer_subscription(ConsumerSubscription(("orders",), b"", topics, version=3))


def test_many_topics_are_decoded_one_at_a_time_and_equal_to_a_tuple():
    rows = decode_consumer_subscription(owned(TOPICS)).owned_partitions

    assert tuple(rows) == TOPICS
    assert rows[3] == TOPICS[3]
    assert pickle.loads(pickle.dumps(rows)) == TOPICS


def test_the_partitions_of_many_topics_are_in_order():
    rows = decode_consumer_subscription(owned((*TOPICS, TopicPartitions("empty", ())))).owned_partitions
    expected = sorted(TopicPartition(topic, number) for topic, numbers in TOPICS for number in numbers)

    assert [*flatten_by_topic(rows)] == expected


def test_a_member_with_a_topic_that_no_broker_has_cannot_be_read():
    topics = (TopicPartitions(LONG_NAME, (0,)),)
    member = DescribedGroupMember(
        member_id="m",
        subscription=owned(topics),
        assignment=encode_consumer_assignment(ConsumerAssignment(topics, b"", version=3)),
    )
    group = DescribedGroup(name="g", state="Stable", protocol_type="consumer", protocol="stream", members=(member,))
    (found,) = inspect_group(group).members

    assert "a topic with a name of 250 characters; the longest has 249" in found.subscription.problem
    assert "assignment: partitions of a topic with a name of 250 characters" in found.assignment.problem
