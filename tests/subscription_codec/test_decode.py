"""Any bytes give a record or a ``DecodeError``."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams_assignor.codec import (
    Assignment,
    ClientTag,
    DecodeError,
    FutureAssignment,
    FutureSubscription,
    FutureVersion,
    Subscription,
    TaskId,
    TaskOffsetSum,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    explain,
    to_fields,
)
from streams_assignor.codec.consumer_protocol import decode_consumer_assignment, decode_consumer_subscription
from streams_assignor.codec.errors import BadCount, BadText, BadVersion, TrailingBytes, Truncated
from streams_assignor.codec.layout import MAX_CLIENT_TAGS
from streams_assignor.codec.records import IMMEDIATELY, NO_FOLLOW_UP
from tests.subscription_codec import naive
from tests.subscription_codec.strategies import assignments, future_subscriptions, subscriptions

DECODERS = [decode_subscription, decode_assignment, decode_consumer_subscription, decode_consumer_assignment]


@given(subscriptions() | future_subscriptions())
def test_a_subscription_survives_the_wire(subscription):
    decoded = decode_subscription(encode_subscription(subscription))

    assert subscription == decoded
    assert decoded == subscription
    assert encode_subscription(subscription) == encode_subscription(decoded)


@given(assignments())
def test_an_assignment_survives_the_wire(assignment):
    decoded = decode_assignment(encode_assignment(assignment))

    assert assignment == decoded
    assert decoded == assignment
    assert encode_assignment(assignment) == encode_assignment(decoded)


@given(subscriptions())
def test_the_naive_decoder_agrees_about_any_subscription(subscription):
    encoded = encode_subscription(subscription)

    assert naive.subscription(encoded) == to_fields(decode_subscription(encoded)) == to_fields(subscription)


@given(assignments())
def test_the_naive_decoder_agrees_about_any_assignment(assignment):
    encoded = encode_assignment(assignment)

    assert naive.assignment(encoded) == to_fields(decode_assignment(encoded)) == to_fields(assignment)
    assert list(naive.assignment(encoded)) == list(to_fields(assignment))


@given(subscriptions() | assignments(), st.sampled_from([bytearray, memoryview]))
def test_any_bytes_like_object_is_accepted(record, kind):
    encode, decode = codec_of(record)

    assert record == decode(kind(encode(record)))


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_the_buffers_of_client_libraries_are_accepted(kind):
    userdata = encode_subscription(Subscription(version=1))

    assert decode_subscription(userdata) == decode_subscription(kind(userdata))


@given(st.binary(max_size=200), st.sampled_from(DECODERS))
def test_any_bytes_give_a_record_or_a_decode_error(encoded, decode):
    error = refusal(decode, encoded)

    assert error is None or (error.field and 0 <= error.offset <= len(encoded))


def refusal(decode, encoded, **options):
    """The ``DecodeError``, if there is one; any other exception ends the test."""
    try:
        decode(encoded, **options)
    except DecodeError as error:
        return error
    return None


def codec_of(record):
    if isinstance(record, Subscription):
        return encode_subscription, decode_subscription
    return encode_assignment, decode_assignment


@given(subscriptions() | assignments(), st.data())
def test_damaged_bytes_give_a_record_or_a_decode_error(record, data):
    encode, decode = codec_of(record)
    encoded = bytearray(encode(record))
    encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    del encoded[data.draw(st.integers(0, len(encoded))) :]
    error = refusal(decode, bytes(encoded))

    assert error is None or 0 <= error.offset <= len(encoded)


@given(subscriptions() | assignments(), st.data())
def test_the_record_of_damaged_bytes_encodes_to_the_same_bytes(record, data):
    encode, decode = codec_of(record)
    encoded = bytearray(encode(record))
    for at in data.draw(st.lists(st.integers(0, len(encoded) - 1), min_size=1, max_size=3)):
        encoded[at] = data.draw(st.integers(0, 255))
    if refusal(decode, bytes(encoded)) is None:
        again = encode(decode(bytes(encoded)))

        # Over-long modified UTF-8 and repeated subtopologies have a shorter form; their content is the same.
        assert again == encoded or decode(again) == decode(bytes(encoded))


@settings(deadline=None)  # a few hundred cuts each
@given(subscriptions() | assignments())
def test_every_cut_of_a_record_is_refused(record):
    encode, decode = codec_of(record)
    encoded = encode(record._replace(trailing=b""))

    assert all(isinstance(refusal(decode, encoded[:length]), DecodeError) for length in range(len(encoded)))


@given(subscriptions() | assignments())
def test_strict_refuses_bytes_after_the_last_field_and_nothing_else(record):
    encode, decode = codec_of(record)
    exact = record._replace(trailing=b"")
    encoded = encode(record)
    error = refusal(decode, encoded, strict=True)

    assert exact == decode(encode(exact), strict=True)
    assert bool(record.trailing) == isinstance(error, TrailingBytes)
    if error is not None:
        assert ("trailing", len(encode(exact))) == (error.field, error.offset)


def test_strict_accepts_future_subscriptions():
    assert FutureSubscription(12, 12, b"x") == decode_subscription(bytes.fromhex("0000000c0000000c78"), strict=True)


@given(subscriptions() | assignments())
def test_explain_shows_every_byte_of_a_record_below_the_fields_of_its_version(record):
    encode, _ = codec_of(record)
    kind = type(record).__name__.lower()

    parts = list(explain(kind, encode(record)))

    assert encode(record) == b"".join(part.raw for part in parts)
    assert [sum(len(part.raw) for part in parts[:index]) for index in range(len(parts))] == [
        part.offset for part in parts
    ]
    shown = dict.fromkeys(part.field.partition("[")[0].removesuffix(".count") for part in parts)
    assert list(to_fields(record)) == list(shown)


@given(st.sampled_from(["subscription", "assignment"]), st.binary(max_size=100))
def test_explain_shows_every_byte_of_anything(kind, encoded):
    assert encoded == b"".join(part.raw for part in explain(kind, encoded))


@pytest.mark.parametrize("decode", DECODERS)
def test_null_userdata_is_a_decode_error(decode):
    with pytest.raises(DecodeError, match="userdata is null"):
        decode(None)


def test_the_error_names_the_innermost_field_and_its_offset():
    with pytest.raises(Truncated) as caught:
        decode_assignment(bytes.fromhex("000000010000000000000001000000000000000000000001000361626300"))

    assert ("standby_tasks[0].partitions[0].partition", 29) == (caught.value.field, caught.value.offset)


@pytest.mark.parametrize("raw", ["c1", "f09f9880", "e28200", "80"])
def test_text_that_is_not_modified_utf8_is_refused(raw):
    name = bytes.fromhex(raw)
    encoded = bytes.fromhex("000000010000000000000001000000000000000000000001")
    encoded += len(name).to_bytes(2, "big") + name + bytes(4)

    with pytest.raises(BadText) as caught:
        decode_assignment(encoded)

    assert "standby_tasks[0].partitions[0].topic" == caught.value.field


@pytest.mark.parametrize("version", [12, 13, 2**31 - 1])
def test_a_subscription_from_the_future_keeps_both_versions_and_all_bytes(version):
    encoded = version.to_bytes(4, "big") * 2 + b"whatever comes then"

    record = decode_subscription(encoded)

    assert record == FutureSubscription(version, version, b"whatever comes then")
    assert encoded == encode_subscription(record)


def test_before_2_0_a_future_version_is_refused_for_any_following_bytes():
    """Two int32 were once read here too, so that the error depended on the first half of the process id."""
    with pytest.raises(FutureVersion, match="unable to decode subscription data: version=3") as refused:
        decode_subscription(bytes.fromhex("00000003ffffffff"), supported_version=2)

    assert (0, "version") == (refused.value.offset, refused.value.field)


def test_a_subscription_from_the_future_needs_eight_bytes():
    with pytest.raises(Truncated, match="supported_version at offset 4"):
        decode_subscription(bytes.fromhex("0000000c000000"))


@pytest.mark.parametrize("encoded", ["0000000c0000000b", "00000003ffffffff", "0000000000000003", "ffffffff00000003"])
def test_impossible_versions_are_refused(encoded):
    with pytest.raises(BadVersion):
        decode_subscription(bytes.fromhex(encoded) + bytes(28))


@given(subscriptions(st.integers(4, 11)), st.data())
def test_for_an_older_reader_an_unknown_version_is_a_future_version(subscription, data):
    supported = data.draw(st.integers(3, subscription.version - 1))

    future = decode_subscription(encode_subscription(subscription), supported_version=supported)

    assert (subscription.version, subscription.supported_version) == future[:2]
    assert encode_subscription(subscription) == encode_subscription(future)


@given(assignments(st.integers(2, 11)), st.data())
def test_an_assignment_from_the_future_is_refused_as_kafka_refuses_it(assignment, data):
    supported = data.draw(st.integers(1, assignment.version - 1))

    error = refusal(decode_assignment, encode_assignment(assignment), supported_version=supported)

    assert isinstance(error, FutureVersion)
    assert f"used version {assignment.version}; latest supported version: {supported}" == error.problem


def test_version_4_with_supported_version_3_is_read():
    """2.1 to 2.3 can write it; 2.5 and later refuse it (tests/test_java_oracle.py)."""
    encoded = bytes.fromhex("0000000400000003") + bytes(28)

    assert (4, 3) == decode_subscription(encoded)[:2]
    assert encoded == encode_subscription(decode_subscription(encoded))


def test_an_assignment_version_below_one_is_refused():
    with pytest.raises(BadVersion):
        decode_assignment(bytes(100))


def test_repeated_subtopologies_are_read_one_after_the_other():
    """Kafka merges them into one map. Bytes that no release writes need not survive a round trip."""
    sums = "00000002" + ("00000005" + "00000001" + "00000007" + "0000000000000009") * 2
    encoded = bytes.fromhex("00000007" * 2) + bytes(20) + bytes.fromhex(sums)

    record = decode_subscription(encoded)

    assert (TaskOffsetSum(TaskId(5, 7), 9),) * 2 == record.task_offset_sums
    assert {TaskId(5, 7): 9} == record.task_offset_sums.as_dict()
    assert record == decode_subscription(encode_subscription(record))


def test_an_endpoint_that_is_not_utf8_survives():
    encoded = bytes.fromhex("00000002") + bytes(24) + bytes.fromhex("00000003ff3a31")

    assert encoded == encode_subscription(decode_subscription(encoded))


@pytest.mark.parametrize("version", [12, 2**31 - 1])
def test_a_future_assignment_can_be_kept_for_inspection(version):
    encoded = version.to_bytes(4, "big") * 2 + b"whatever comes then"

    record = decode_assignment(encoded, keep_future=True)

    assert FutureAssignment(version, version, b"whatever comes then") == record
    assert encoded == encode_assignment(record)


def test_keep_future_does_not_change_known_versions():
    encoded = encode_assignment(Assignment(version=1))

    assert decode_assignment(encoded) == decode_assignment(encoded, keep_future=True)


def test_the_next_rebalance_is_the_number_that_kafka_writes():
    """KIP-441: 0 asks for a rebalance at once; ``Long.MAX_VALUE`` for none."""
    at_once, never = (Assignment(version=11, next_rebalance_ms=each) for each in (IMMEDIATELY, NO_FOLLOW_UP))

    assert encode_assignment(at_once).endswith(bytes(8))
    assert encode_assignment(never).endswith(bytes.fromhex("7fffffffffffffff"))


def test_more_client_tags_than_a_member_can_have_are_refused():
    tags = (ClientTag("zone", "a"),) * MAX_CLIENT_TAGS
    assert tags == decode_subscription(encode_subscription(Subscription(11, 11, client_tags=tags))).client_tags

    with pytest.raises(BadCount, match="client_tags at offset 37: 257 items; 256 is the most that is read"):
        decode_subscription(encode_subscription(Subscription(11, 11, client_tags=(*tags, tags[0]))))
