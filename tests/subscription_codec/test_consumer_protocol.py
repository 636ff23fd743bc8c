"""The envelope around userdata, versions 0 to 3 and above."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subscription_codec import DecodeError, EncodeError, TopicPartition
from subscription_codec._wire import NullableBytes
from subscription_codec.consumer_protocol import (
    MemberAssignment,
    MemberSubscription,
    TopicPartitions,
    decode_member_assignment,
    decode_member_subscription,
    encode_member_assignment,
    encode_member_subscription,
    flattened,
    grouped,
)

names = st.text(st.characters(codec="utf-8"), max_size=6)
groups = st.lists(
    st.builds(TopicPartitions, names, st.lists(st.integers(0, 9), max_size=3).map(tuple)), max_size=3
).map(tuple)
user_data = st.none() | st.binary(max_size=8)


@st.composite
def member_subscriptions(draw):
    version = draw(st.integers(0, 5))
    return MemberSubscription(
        topics=draw(st.lists(names, max_size=3).map(tuple)),
        user_data=draw(user_data),
        owned_partitions=draw(groups) if version >= 1 else (),
        generation_id=draw(st.integers(-1, 9)) if version >= 2 else -1,
        rack_id=draw(st.none() | names) if version >= 3 else None,
        version=version,
        trailing=draw(st.binary(max_size=4)),
    )


@given(member_subscriptions())
def test_a_member_subscription_survives_the_wire(subscription):
    assert subscription == decode_member_subscription(encode_member_subscription(subscription))


@given(st.builds(MemberAssignment, groups, user_data, st.integers(0, 5), st.binary(max_size=4)))
def test_a_member_assignment_survives_the_wire(assignment):
    assert assignment == decode_member_assignment(encode_member_assignment(assignment))


def test_kafka_python_reads_what_we_write():
    from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

    ours = MemberSubscription(("a", "b"), b"userdata", grouped([TopicPartition("a", 1)]), 7, "rack", version=3)

    theirs = ConsumerProtocolSubscription.decode(encode_member_subscription(ours))

    assert (["a", "b"], b"userdata", 7, "rack") == (
        theirs.topics,
        theirs.user_data,
        theirs.generation_id,
        theirs.rack_id,
    )


@pytest.mark.parametrize("decode", [decode_member_subscription, decode_member_assignment])
@pytest.mark.parametrize("blob", [b"", b"\0", b"\xff\xff", b"\0\0\xff\xff\xff\xfe", None])
def test_what_is_no_envelope_is_a_decode_error(decode, blob):
    with pytest.raises(DecodeError):
        decode(blob)


def test_a_negative_version_is_not_written():
    with pytest.raises(EncodeError):
        encode_member_assignment(MemberAssignment(version=-1))


def test_topics_cannot_be_null():
    with pytest.raises(EncodeError) as caught:
        encode_member_subscription(MemberSubscription((None,)))

    assert "topics[0]" == caught.value.field


@given(st.sets(st.builds(TopicPartition, names, st.integers(0, 5)), max_size=8))
def test_grouping_and_flattening_are_inverse_and_sorted(partitions):
    assert tuple(sorted(partitions)) == flattened(grouped(partitions))


@pytest.mark.parametrize(("given", "expected"), [(None, None), ("", b""), ("cafe", b"\xca\xfe")])
def test_userdata_is_hex_or_null_in_json(given, expected):
    assert expected == NullableBytes().from_json(given)


@pytest.mark.parametrize("given", ["xy", 7, ["00"]])
def test_userdata_that_is_no_hex_is_refused(given):
    with pytest.raises(EncodeError, match="needs hex or null"):
        NullableBytes().from_json(given)
