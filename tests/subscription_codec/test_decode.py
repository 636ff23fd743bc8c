"""Whatever the bytes: a record or a ``DecodeError``, and never more memory than a small multiple of the input."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subscription_codec import (
    DecodeError,
    FutureSubscription,
    FutureVersion,
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    explain,
)
from subscription_codec.consumer_protocol import decode_member_assignment, decode_member_subscription
from subscription_codec.errors import BadCount, BadText, BadVersion, Truncated
from tests.subscription_codec.strategies import assignments, future_subscriptions, subscriptions

DECODERS = [decode_subscription, decode_assignment, decode_member_subscription, decode_member_assignment]


@given(st.one_of(subscriptions(), future_subscriptions()))
def test_a_subscription_survives_the_wire(subscription):
    assert subscription == decode_subscription(encode_subscription(subscription), supported=4)


@given(assignments())
def test_an_assignment_survives_the_wire(assignment):
    assert assignment == decode_assignment(encode_assignment(assignment), supported=4)


@given(st.binary(max_size=200), st.sampled_from(DECODERS))
def test_any_bytes_give_a_record_or_a_decode_error(blob, decode):
    error = refusal(decode, blob)

    assert error is None or (error.field and 0 <= error.offset <= len(blob))


def refusal(decode, blob, **options):
    """The ``DecodeError``, if there is one; any other exception ends the test."""
    try:
        decode(blob, **options)
    except DecodeError as error:
        return error
    return None


@given(st.one_of(subscriptions(), assignments()), st.data())
def test_damaged_bytes_give_a_record_or_a_decode_error(record, data):
    encode, decode = (
        (encode_subscription, decode_subscription)
        if isinstance(record, Subscription)
        else (encode_assignment, decode_assignment)
    )
    blob = bytearray(encode(record))
    blob[data.draw(st.integers(0, len(blob) - 1))] = data.draw(st.integers(0, 255))
    del blob[data.draw(st.integers(0, len(blob))) :]
    error = refusal(decode, bytes(blob), supported=4)

    assert error is None or 0 <= error.offset <= len(blob)


@given(st.sampled_from(["subscription", "assignment"]), st.binary(max_size=100))
def test_explain_shows_every_byte_of_anything(kind, blob):
    assert blob == b"".join(part.raw for part in explain(kind, blob))


@pytest.mark.parametrize("decode", DECODERS)
@pytest.mark.parametrize("count", ["7fffffff", "0fffffff", "80000000", "ffffffff"])
def test_a_huge_or_negative_count_costs_nothing(decode, count):
    head = {decode_subscription: "00000001" + "00" * 16, decode_assignment: "00000001"}.get(decode, "0000")
    blob = bytes.fromhex(head + count) + bytes(64)
    tracemalloc.start()

    with pytest.raises(BadCount):
        decode(blob)

    assert tracemalloc.get_traced_memory()[1] < 20_000
    tracemalloc.stop()


def test_null_userdata_is_a_decode_error():
    with pytest.raises(DecodeError, match="userdata is null"):
        decode_subscription(None)


def test_the_error_names_the_innermost_field_and_its_offset():
    with pytest.raises(Truncated) as caught:
        decode_assignment(bytes.fromhex("000000010000000000000001000000000000000000000001000361626300"))

    assert ("standby_tasks[0].partitions[0].partition", 29) == (caught.value.field, caught.value.offset)


@pytest.mark.parametrize("raw", ["c1", "f09f9880", "e28200", "80"])
def test_text_that_is_not_modified_utf8_is_refused(raw):
    name = bytes.fromhex(raw)
    blob = bytes.fromhex("000000010000000000000001000000000000000000000001")
    blob += len(name).to_bytes(2, "big") + name + bytes(4)

    with pytest.raises(BadText) as caught:
        decode_assignment(blob)

    assert "standby_tasks[0].partitions[0].topic" == caught.value.field


@pytest.mark.parametrize("version", [4, 12, 2**31 - 1])
def test_a_subscription_from_the_future_keeps_both_versions_and_all_bytes(version):
    blob = version.to_bytes(4, "big") * 2 + b"whatever comes then"

    record = decode_subscription(blob)

    assert record == FutureSubscription(version, version, b"whatever comes then")
    assert blob == encode_subscription(record)


def test_before_2_0_a_version_from_the_future_is_refused_whatever_stands_behind_it():
    """Two int32 were once read here too, so that the error depended on the first half of the process id."""
    with pytest.raises(FutureVersion, match="unable to decode subscription data: version=3"):
        decode_subscription(bytes.fromhex("00000003ffffffff"), supported=2)


def test_a_subscription_from_the_future_needs_eight_bytes():
    with pytest.raises(Truncated, match="latest_supported at offset 4"):
        decode_subscription(bytes.fromhex("0000000c000000"))


@pytest.mark.parametrize("blob", ["0000000c0000000b", "00000003ffffffff", "0000000000000003", "ffffffff00000003"])
def test_versions_that_nobody_can_mean_are_refused(blob):
    with pytest.raises(BadVersion):
        decode_subscription(bytes.fromhex(blob) + bytes(28))


def test_an_assignment_from_the_future_is_refused_as_kafka_refuses_it():
    with pytest.raises(FutureVersion, match="used version 4; latest supported version: 3"):
        decode_assignment(bytes.fromhex("0000000400000005"))


def test_an_assignment_version_below_one_is_refused():
    with pytest.raises(BadVersion):
        decode_assignment(bytes(100))


def test_an_endpoint_that_is_not_utf8_survives():
    blob = bytes.fromhex("00000002") + bytes(24) + bytes.fromhex("00000003ff3a31")

    assert blob == encode_subscription(decode_subscription(blob))
