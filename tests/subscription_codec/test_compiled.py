"""Both halves of the codec say the same: the quick one gives up, or it agrees with the careful one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subscription_codec import (
    Assignment,
    CodecError,
    HostInfo,
    HostPartitions,
    StandbyTask,
    Subscription,
    TaskId,
    TaskOffsetSum,
    TopicPartition,
    consumer_protocol,
    encode_assignment,
    encode_subscription,
    to_fields,
    with_dictionary,
)
from subscription_codec._compiled import GIVES_UP
from subscription_codec._driver import read_carefully, write_carefully
from subscription_codec.layout import ASSIGNMENT, SUBSCRIPTION
from tests.subscription_codec import naive
from tests.subscription_codec.strategies import assignments, subscriptions
from tests.subscription_codec.test_consumer_protocol import member_subscriptions
from tests.subscription_codec.test_vectors import ROWS

LAYOUTS = {"subscription": SUBSCRIPTION, "assignment": ASSIGNMENT}
ALL_LAYOUTS = [
    *SUBSCRIPTION.values(),
    *ASSIGNMENT.values(),
    *consumer_protocol.SUBSCRIPTION.values(),
    consumer_protocol.ASSIGNMENT[0],
]
VERSIONS = sorted(SUBSCRIPTION)
REFUSED = "refused"
records = subscriptions() | assignments()
usual_records = subscriptions(usual=True) | assignments(usual=True)


def layout_of(record):
    return (SUBSCRIPTION if isinstance(record, Subscription) else ASSIGNMENT)[record.version]


def bytes_of(record):
    return encode_subscription(record) if isinstance(record, Subscription) else encode_assignment(record)


def ready(record):
    """The record as the writers get it: an assignment of version 5 or later has its dictionary."""
    return with_dictionary(record) if isinstance(record, Assignment) and record.version >= 5 else record


def quick_read(blob, layout):
    """The quick reader is told the version, which the decoders read to find the layout."""
    return layout.read(blob, int.from_bytes(blob[: layout[0].wire.size], "big", signed=True))


def read_by_both(blob, layout):
    """What the quick half and the careful one make of the bytes."""
    try:
        carefully = read_carefully(blob, layout)
    except CodecError:
        carefully = REFUSED
    try:
        return quick_read(blob, layout), carefully
    except GIVES_UP:
        return None, carefully


def assert_that_they_agree(blob, layout):
    quickly, carefully = read_by_both(blob, layout)
    if quickly is not None:
        assert carefully == quickly
        assert getattr(carefully, "topics", ()) == getattr(quickly, "topics", ())
        assert repr(carefully) == repr(quickly)  # columns print like tuples, so all types are the same too


@given(records)
def test_both_read_what_was_written(record):
    assert_that_they_agree(bytes_of(record), layout_of(record))


@given(usual_records)
def test_the_quick_half_reads_and_writes_everything_usual(record):
    """Were it to give up, nobody would notice but the clock."""
    blob, layout = bytes_of(record), layout_of(record)

    assert record == quick_read(blob, layout)
    assert blob == layout.write(ready(record))
    assert blob == layout.write(quick_read(blob, layout))


@given(member_subscriptions().filter(lambda member: member.version < 3))
def test_the_quick_half_reads_and_writes_usual_envelopes(member):
    layout = consumer_protocol.SUBSCRIPTION[member.version]
    blob = consumer_protocol.encode_member_subscription(member)

    assert member == quick_read(blob, layout)
    assert blob == layout.write(member)


def written_by_quick_half(record, layout):
    record = ready(record)
    try:
        return layout.write(record)
    except GIVES_UP:
        return None


def written_carefully(record, layout):
    try:
        return write_carefully(record, layout)
    except (CodecError, TypeError) as error:
        return error


@given(records)
def test_both_write_the_same(record):
    layout = layout_of(record)
    carefully = write_carefully(ready(record), layout)

    assert written_by_quick_half(record, layout) in (None, carefully)


@given(records, st.data())
def test_both_read_the_same_from_damaged_bytes(record, data):
    blob = bytearray(bytes_of(record))
    at = data.draw(st.integers(0, len(blob)))
    damage = data.draw(st.binary(max_size=4) | st.sampled_from([b"\xff" * 4, b"\x7f" + b"\xff" * 3, bytes(4)]))
    blob[at : at + data.draw(st.integers(0, 5))] = damage

    assert_that_they_agree(bytes(blob), layout_of(record))


@given(st.sampled_from(ALL_LAYOUTS), st.binary(max_size=120))
def test_both_read_the_same_from_any_bytes(layout, blob):
    assert_that_they_agree(blob, layout)


@given(
    st.sampled_from(ALL_LAYOUTS), st.lists(st.sampled_from([b"\0", b"\0\0\0\1", b"\0\1a", b"\xff\xff"]), max_size=40)
)
def test_both_read_the_same_from_bytes_that_are_nearly_something(layout, pieces):
    assert_that_they_agree(b"".join(pieces), layout)


@pytest.mark.parametrize("kind", LAYOUTS)
@pytest.mark.parametrize("version", VERSIONS)
def test_both_read_the_same_from_the_bytes_of_all_jars(kind, version):
    layout = LAYOUTS[kind][version]
    of_this_version = [row for row in ROWS if (row["kind"], row["version"]) == (kind, version) and "hex" in row]
    for row in of_this_version:
        blob = bytes.fromhex(row["hex"])
        assert_that_they_agree(blob, layout)
        if row.get("malformed") == "truncated":
            for length in range(len(blob)):
                assert_that_they_agree(blob[:length], layout)
        if "fields" in row:
            record = read_carefully(blob, layout)
            assert written_by_quick_half(record, layout) in (None, blob)
            assert blob == write_carefully(record, layout)


NOT_WRITABLE = [
    None, "", "ab", b"ab", 1.5, -1, 2**31, 2**63, (None,), (7,), ((0, 1),), [[0, 1]], ((0, 1, None, 3),),
    (TaskId(0, None),), (TaskId(2**31, 0),), (TaskId(0, 0, "name"),), [("key", None)], [("\ud800", "")],
    (TaskOffsetSum(TaskId(0, 1), 2**63),), (TaskOffsetSum(TaskId(0, 1), 1.0),), (TaskOffsetSum(TaskId(0, 1, "n"), 0),),
    (StandbyTask(TaskId(0, 1), (TopicPartition("t", None),)),), (StandbyTask(TaskId(0, 1), ("ab",)),),
    (HostPartitions(HostInfo("h", 2**31), ()),), (HostPartitions(HostInfo(None, 1), ()),),
]  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", [Subscription, Assignment])
def test_what_the_quick_half_writes_the_careful_one_writes_too(kind, version):
    for field in kind._fields[1:-1]:
        for value in NOT_WRITABLE:
            try:
                record = ready(kind(version)._replace(**{field: value}))
            except GIVES_UP:  # there is no dictionary for it
                continue
            quickly = written_by_quick_half(record, layout_of(record))
            if quickly is not None:
                assert written_carefully(record, layout_of(record)) == quickly, (field, value)


EXTREMES = [0, 1, -1, 2**31 - 1, -(2**31), 65536]


def tasks(size):
    return tuple(TaskId(EXTREMES[index * 6 // size], EXTREMES[index % 6] ^ index // 6) for index in range(size))


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 47, 48, 49, 50, 51, 100, 1000])
@pytest.mark.parametrize("version", VERSIONS)
def test_every_number_of_tasks_survives_both_halves(version, size):
    """Long lists are copied in strides, short ones one by one; in between is where an index is off by one."""
    ids = tasks(size)
    sums = tuple(TaskOffsetSum(task, (-1) ** index * (2**62 + index)) for index, task in enumerate(ids))
    standby = tuple(StandbyTask(task, (TopicPartition("t", task.partition),)) for task in ids[:50])
    hosts = tuple(HostPartitions(HostInfo(f"h{task.partition}", 1), (TopicPartition("t", 3),)) for task in ids[:50])
    for record in (
        Subscription(version, max(version, 3), prev_tasks=ids, standby_tasks=ids[1:], task_offset_sums=sums),
        Assignment(version, 3, ids, standby, hosts, hosts[1:]),
    ):
        blob, layout = bytes_of(record), layout_of(record)
        quickly, carefully = read_by_both(blob, layout)

        assert carefully == quickly
        assert write_carefully(ready(record), layout) == blob == layout.write(ready(record))
        assert blob == layout.write(carefully if version < 5 else quickly)
        assert getattr(naive, type(record).__name__.lower())(blob) == to_fields(record) == to_fields(quickly)


def test_a_named_topology_makes_the_quick_half_give_up_and_the_careful_one_do_it():
    named = TaskId(0, 1, "name")
    for record in (
        Subscription(11, 11, task_offset_sums=(TaskOffsetSum(TaskId(0, 0), 5), TaskOffsetSum(named, 5))),
        Assignment(11, 11, active_tasks=(TaskId(0, 0), named)),
    ):
        blob, layout = bytes_of(record), layout_of(record)

        assert (None, record) == read_by_both(blob, layout)
        with pytest.raises(GIVES_UP):
            layout.write(ready(record))


def test_the_source_of_the_quick_half_can_be_read():
    assert SUBSCRIPTION[1].quick.source.startswith("def read(data, version):\n    process_id = uuid_of(data[4:20])\n")
