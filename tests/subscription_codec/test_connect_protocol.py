"""The protocol of Connect's workers, beside bytes that Kafka's classes wrote (``tests/vectors/connect.jsonl``)."""

import json
from pathlib import Path

import pytest

from streams_assignor.codec import DecodeError
from streams_assignor.codec.connect_protocol import (
    ConnectorTasks,
    decode_worker_assignment,
    decode_worker_subscription,
)

VECTORS = [*map(json.loads, (Path(__file__).parents[1] / "vectors/connect.jsonl").read_text().splitlines())]
DECODERS = {"subscription": decode_worker_subscription, "assignment": decode_worker_assignment}
each_vector = pytest.mark.parametrize(
    "vector", VECTORS, ids=lambda each: f"{each['release']} {each['kind']} {each['name']}"
)


@each_vector
def test_it_reads_what_kafkas_classes_wrote(vector):
    found = DECODERS[vector["kind"]](bytes.fromhex(vector["hex"]))._asdict()

    assert b"" == found["trailing"]
    for name, expected in vector["fields"].items():
        value = found[name]
        if name in ("assigned", "revoked"):
            value = {each.connector: sorted(each.tasks) for each in value or ()}
        assert expected == value, name


@each_vector
def test_bytes_that_are_cut_off_are_an_error_with_its_place(vector):
    data = bytes.fromhex(vector["hex"])

    for size in range(len(data)):
        with pytest.raises(DecodeError, match=r"at offset \d+: "):
            DECODERS[vector["kind"]](data[:size])


def test_an_allocation_is_an_assignment():
    sent = [each for each in VECTORS if each["name"].endswith(", an allocation")]

    assert sent
    for each in sent:
        allocation = decode_worker_subscription(bytes.fromhex(each["hex"])).allocation
        assert [ConnectorTasks("sink", (-1, 0))] == [*(decode_worker_assignment(allocation or b"").assigned or ())]


@pytest.mark.parametrize("decode", DECODERS.values())
def test_a_version_below_zero_is_refused(decode):
    with pytest.raises(DecodeError, match="Connect protocol version -1; the lowest is 0"):
        decode(b"\xff\xff" + bytes(30))


def test_a_version_above_all_is_read_as_the_last_one():
    data = bytes.fromhex("0003 0001 61 0000000000000007 ffffffff 0102".replace(" ", ""))

    assert (3, "a", 7, None, b"\1\2") == decode_worker_subscription(data)
