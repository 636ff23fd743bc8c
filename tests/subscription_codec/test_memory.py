"""Decoding allocates memory for existing bytes, never for a count alone."""

import tracemalloc
from contextlib import contextmanager
from functools import partial

import pytest

from streams_assignor.codec import (
    Assignment,
    ClientTag,
    DecodeError,
    HostInfo,
    HostPartitions,
    StandbyTask,
    Subscription,
    TaskId,
    TaskOffsetSum,
    TopicPartition,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    explain,
)
from streams_assignor.codec.consumer_protocol import decode_consumer_assignment, decode_consumer_subscription
from streams_assignor.codec.errors import BadCount
from tests.memory import peak_bytes

VERSIONS = range(1, 12)
IN_THE_GATE = {1, 6, 11}
"""The first version, the last with tasks alone, and the last; the layouts between them are near these."""
each_version = pytest.mark.parametrize(
    "version",
    [version if version in IN_THE_GATE else pytest.param(version, marks=pytest.mark.slow) for version in VERSIONS],
)
HOSTILE = ["7fffffff", "0fffffff", "00010000", "80000000", "fffffffe"]
CODEC = {
    "subscription": (encode_subscription, decode_subscription),
    "assignment": (encode_assignment, decode_assignment),
}


@contextmanager
def traced():
    """The memory allocated inside: (current, peak)."""
    tracemalloc.start()
    try:
        yield tracemalloc.get_traced_memory
    finally:
        tracemalloc.stop()


def one_of_everything(kind, version):
    """A record whose every list has an entry."""
    task, place = TaskId(1, 2), TopicPartition("topic", 3)
    hosts = (HostPartitions(HostInfo("host", 80), (place,)),)
    if kind == "assignment":
        return Assignment(version, max(version, 3), (task,), (StandbyTask(task, (place,)),), hosts, hosts)
    return Subscription(
        version,
        max(version, 3),
        prev_tasks=(task,),
        standby_tasks=(task,),
        user_end_point="host:80",
        task_offset_sums=(TaskOffsetSum(task, 7),),
        client_tags=(ClientTag("key", "value"),),
    )


def refusal(decode, encoded):
    try:
        decode(encoded)
    except DecodeError as error:
        return error
    return None


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", CODEC)
def test_a_huge_or_negative_count_allocates_no_memory_in_any_list(kind, version):
    encode, decode = CODEC[kind]
    encoded = encode(one_of_everything(kind, version))
    counts = [part for part in explain(kind, encoded) if part.field.endswith("count")]
    for part in counts:
        for hostile in HOSTILE:
            damaged = encoded[: part.offset] + bytes.fromhex(hostile) + encoded[part.offset + 4 :] + bytes(64)
            error = refusal(decode, damaged)

            assert peak_bytes(partial(refusal, decode, damaged)) < 20_000
            assert isinstance(error, BadCount)
            assert part.offset == error.offset
    assert len(counts) >= 1


@pytest.mark.unmeasured
@each_version
@pytest.mark.parametrize("kind", CODEC)
def test_no_four_bytes_at_any_place_allocate_memory(kind, version):
    """Lengths of texts, numbers of characters, and bytes that are no length."""
    encode, decode = CODEC[kind]
    encoded = encode(one_of_everything(kind, version))

    def decode_all():
        for at in range(4, len(encoded) - 3):
            for hostile in HOSTILE[:2]:
                refusal(decode, encoded[:at] + bytes.fromhex(hostile) + encoded[at + 4 :])

    assert peak_bytes(decode_all) < 60_000


@pytest.mark.parametrize("decode", [decode_consumer_subscription, decode_consumer_assignment])
@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_hostile_count_allocates_no_memory_in_an_envelope(decode, hostile):
    encoded = bytes.fromhex("0000" + hostile) + bytes(64)
    decode(bytes(10))  # the functions of the layout are made once

    assert isinstance(refusal(decode, encoded), BadCount)
    assert peak_bytes(partial(refusal, decode, encoded)) < 20_000


def large(kind, version):
    """A subscription of 10 000 tasks; an assignment of as many, and of 1 000 hosts that serve ten partitions each."""
    if kind == "subscription":
        tasks = tuple(TaskId(number // 100, number % 100) for number in range(10_000))
        sums = tuple(TaskOffsetSum(task, number) for number, task in enumerate(tasks))
        return Subscription(version, max(version, 3), prev_tasks=tasks, task_offset_sums=sums)
    places = tuple(TopicPartition("topic", number) for number in range(10))
    hosts = tuple(HostPartitions(HostInfo(f"host-{number}", 9092), places) for number in range(1000))
    return Assignment(
        version, max(version, 3), active_tasks=(TaskId(0, 0),) * 10_000, partitions_by_host=hosts,
        standby_partitions_by_host=hosts,
    )  # fmt: skip


@pytest.mark.unmeasured
@each_version
@pytest.mark.parametrize("kind", CODEC)
def test_decoding_takes_little_more_than_the_record_itself(kind, version):
    encode, decode = CODEC[kind]
    encoded = encode(large(kind, version))
    decode(encode(one_of_everything(kind, version)))  # the functions of the layout are made once
    with traced() as memory:
        record = decode(encoded)
        kept, most = memory()

        assert most <= 3 * kept
    assert record == decode(encoded)


@pytest.mark.unmeasured
@pytest.mark.parametrize(("version", "bytes_a_task"), [(1, 8), (6, 8), (7, 16), (9, 16), (10, 16), (11, 16)])
def test_a_task_takes_a_few_bytes_and_not_a_few_hundred(version, bytes_a_task):
    encoded = encode_subscription(large("subscription", version))
    decode_subscription(encode_subscription(one_of_everything("subscription", version)))
    with traced() as memory:
        record = decode_subscription(encoded)

        assert memory()[0] < 10_000 * bytes_a_task + 20_000
    assert 10_000 == len(record.prev_tasks) + len(record.task_offset_sums)
