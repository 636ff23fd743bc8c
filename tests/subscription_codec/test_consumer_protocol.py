"""The envelope around userdata, versions 0 to 3 and above."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.codec import (
    Assignment,
    DecodeError,
    EncodeError,
    FutureSubscription,
    FutureVersion,
    Subscription,
    TopicPartition,
    encode_assignment,
    encode_subscription,
)
from streams_assignor.codec.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    TopicPartitions,
    decode_consumer_assignment,
    decode_consumer_subscription,
    decode_leader_userdata,
    decode_member_userdata,
    encode_consumer_assignment,
    encode_consumer_subscription,
    encode_leader_userdata,
    encode_member_userdata,
    flatten_by_topic,
    group_by_topic,
)
from streams_assignor.codec.errors import Truncated
from streams_assignor.codec.wire.types import Bytes

names = st.text(st.characters(codec="utf-8"), max_size=6)
groups = st.lists(
    st.builds(TopicPartitions, names, st.lists(st.integers(0, 9), max_size=3).map(tuple)), max_size=3
).map(tuple)
user_data = st.none() | st.binary(max_size=8)


@st.composite
def member_subscriptions(draw):
    version = draw(st.integers(0, 5))
    return ConsumerSubscription(
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
    assert subscription == decode_consumer_subscription(encode_consumer_subscription(subscription))


@given(st.builds(ConsumerAssignment, groups, user_data, st.integers(0, 5), st.binary(max_size=4)))
def test_a_member_assignment_survives_the_wire(assignment):
    assert assignment == decode_consumer_assignment(encode_consumer_assignment(assignment))


def test_a_leader_checks_topics_that_it_does_not_keep():
    encoded = encode_member_userdata(ConsumerSubscription(("a", "b"), version=1), Subscription(11, 11))

    assert () == decode_member_userdata(encoded, with_topics=False)[0].topics
    with pytest.raises(DecodeError, match=r"topics\[1\]"):
        decode_member_userdata(encoded.replace(b"\x00\x01b", b"\x7f\xffb"), with_topics=False)


def test_both_layers_survive_the_wire_in_one_call():
    envelope, userdata = ConsumerSubscription(("a",), version=1), Subscription(11, 11, prev_tasks=())
    encoded = encode_member_userdata(envelope, userdata)

    assert (envelope._replace(user_data=encode_subscription(userdata)), userdata) == decode_member_userdata(encoded)
    assert FutureSubscription(11, 11) == decode_member_userdata(encoded, supported_version=10)[1]._replace(rest=b"")
    assert encode_subscription(Subscription(4, 3)) in encode_member_userdata(
        envelope, Subscription(4, 4), as_release="2.0.1"
    )


def test_both_layers_of_an_assignment_survive_the_wire_in_one_call():
    envelope, userdata = ConsumerAssignment(version=1), Assignment(4, 4)
    encoded = encode_leader_userdata(envelope, userdata)

    assert (envelope._replace(user_data=encode_assignment(userdata)), userdata) == decode_leader_userdata(encoded)
    with pytest.raises(FutureVersion):
        decode_leader_userdata(encoded, supported_version=3)


def test_kafka_python_reads_what_we_write():
    from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

    ours = ConsumerSubscription(("a", "b"), b"userdata", group_by_topic([TopicPartition("a", 1)]), 7, "rack", version=3)

    theirs = ConsumerProtocolSubscription.decode(encode_consumer_subscription(ours))

    assert (["a", "b"], b"userdata", 7, "rack") == (
        theirs.topics,
        theirs.user_data,
        theirs.generation_id,
        theirs.rack_id,
    )


@pytest.mark.parametrize("decode", [decode_consumer_subscription, decode_consumer_assignment])
@pytest.mark.parametrize("encoded", [b"", b"\0", b"\xff\xff", b"\0\0\xff\xff\xff\xfe", None])
def test_malformed_envelopes_are_decode_errors(decode, encoded):
    with pytest.raises(DecodeError):
        decode(encoded)


def test_a_negative_version_is_not_written():
    with pytest.raises(EncodeError):
        encode_consumer_assignment(ConsumerAssignment(version=-1))


def test_topics_cannot_be_null():
    with pytest.raises(EncodeError) as caught:
        encode_consumer_subscription(ConsumerSubscription((None,)))

    assert "topics[0]" == caught.value.field


@given(st.sets(st.builds(TopicPartition, names, st.integers(0, 5)), max_size=8))
def test_grouping_and_flattening_are_inverse_and_sorted(partitions):
    assert tuple(sorted(partitions)) == flatten_by_topic(group_by_topic(partitions))


@pytest.mark.parametrize(("given", "expected"), [(None, None), ("", b""), ("cafe", b"\xca\xfe")])
def test_userdata_is_hex_or_null_in_json(given, expected):
    assert expected == Bytes(4, nullable=True).from_json(given)


@pytest.mark.parametrize("given", ["xy", 7, ["00"]])
def test_userdata_that_is_no_hex_is_refused(given):
    with pytest.raises(EncodeError, match="needs hex or null"):
        Bytes(4, nullable=True).from_json(given)


def test_a_topic_name_of_32768_bytes_cannot_be_written():
    """Kafka's strings have a signed length of 16 bits."""
    assert encode_consumer_subscription(ConsumerSubscription(topics=(32_767 * "t",)))
    with pytest.raises(EncodeError, match="does not fit into 2 bytes"):
        encode_consumer_subscription(ConsumerSubscription(topics=(32_768 * "t",)))


def test_bytes_without_a_version_name_the_field_and_its_place():
    with pytest.raises(Truncated) as refused:
        decode_consumer_subscription(b"\x00")

    assert (0, "version") == (refused.value.offset, refused.value.field)


def test_strict_decoding_refuses_what_is_left():
    whole = encode_consumer_assignment(ConsumerAssignment())

    assert b"x" == decode_consumer_assignment(whole + b"x").trailing
    assert ConsumerAssignment() == decode_consumer_assignment(whole, strict=True)
    with pytest.raises(DecodeError):
        decode_consumer_assignment(whole + b"x", strict=True)
