"""Columns behave like the tuples of their records."""

import copy
import pickle
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.codec import (
    LATEST_OFFSET,
    Assignment,
    HostInfo,
    HostPartitions,
    Subscription,
    TaskId,
    TaskOffsetSum,
    TopicPartition,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    to_fields,
)
from streams_assignor.codec import columns as columns_module
from streams_assignor.codec.columns import HostMap, SortedPartitions, TaskIds, TaskOffsetSums
from streams_assignor.codec.records import TopicEntry
from tests.subscription_codec.strategies import assignments, subscriptions

TASKS = (TaskId(0, 3), TaskId(-1, -(2**31)), TaskId(2**31 - 1, 0), TaskId(0, 3))
SUMS = tuple(
    TaskOffsetSum(task, offset_sum) for task, offset_sum in zip(TASKS, (5, LATEST_OFFSET, 2**63 - 1, 7), strict=True)
)
HOSTS = (
    HostPartitions(HostInfo("a", 1), (TopicPartition("t", 0), TopicPartition("u", 2))),
    HostPartitions(HostInfo("b", 2), ()),
    HostPartitions(HostInfo("c", 3), (TopicPartition("t", -1),)),
)


def decoded_columns():
    """One column of each kind with its tuple."""
    tasks = decode_subscription(encode_subscription(Subscription(3, 3, prev_tasks=TASKS))).prev_tasks
    sums = decode_subscription(encode_subscription(Subscription(11, 11, task_offset_sums=SUMS))).task_offset_sums
    hosts = decode_assignment(encode_assignment(Assignment(11, 11, partitions_by_host=HOSTS))).partitions_by_host
    assert [TaskIds, TaskOffsetSums, HostMap] == [type(tasks), type(sums), type(hosts)]
    return [(tasks, TASKS), (sums, SUMS), (hosts, HOSTS)]


each_column = pytest.mark.parametrize(("column", "expected"), decoded_columns(), ids=["tasks", "sums", "hosts"])


@each_column
def test_a_column_equals_its_tuple_both_ways_and_hashes_like_it(column, expected):
    assert column == expected
    assert expected == column
    assert hash(expected) == hash(column)
    assert {expected: 1}[column] == 1


@each_column
def test_a_column_differs_from_other_tuples_and_from_lists(column, expected):
    assert column != expected[:-1]
    assert expected[:-1] != column
    assert column != (*expected[:-1], expected[0]._replace(**{expected[0]._fields[0]: None}))
    assert column != list(expected)
    assert () != column


@each_column
def test_a_column_is_read_like_a_tuple(column, expected):
    assert len(expected) == len(column)
    assert list(expected) == list(column)
    assert list(reversed(expected)) == list(reversed(column))
    assert repr(expected) == repr(column)
    assert expected[1] in column
    assert expected.index(expected[2]) == column.index(column[2])
    assert all(type(ours) is type(theirs) for ours, theirs in zip(column, expected, strict=True))


@each_column
@given(index=st.integers(-6, 6))
def test_a_column_has_the_indexes_of_its_tuple(column, expected, index):
    if -len(expected) <= index < len(expected):
        assert expected[index] == column[index]
    else:
        with pytest.raises(IndexError):
            column[index]


@each_column
def test_a_slice_of_a_column_is_a_slice_of_its_tuple(column, expected):
    ends = (None, *range(-6, 7))
    for part in (slice(start, stop, step) for start, stop, step in product(ends, repeat=3) if step != 0):
        assert expected[part] == column[part]
        assert tuple is type(column[part])


@each_column
def test_a_column_can_be_copied_and_pickled(column, expected):
    for again in (copy.copy(column), copy.deepcopy(column), pickle.loads(pickle.dumps(column))):
        assert type(column) is type(again)
        assert expected == again


def test_a_pickled_host_map_keeps_its_dictionary():
    record = decode_assignment(encode_assignment(Assignment(11, 11, partitions_by_host=HOSTS)))

    again = pickle.loads(pickle.dumps(record))

    assert (TopicEntry(0, "t"), TopicEntry(1, "u")) == again.topics
    assert encode_assignment(record) == encode_assignment(again)


@given(subscriptions() | assignments())
def test_a_decoded_record_survives_pickling(record):
    encode, decode = (
        (encode_subscription, decode_subscription)
        if isinstance(record, Subscription)
        else (encode_assignment, decode_assignment)
    )
    decoded = decode(encode(record))

    assert record == pickle.loads(pickle.dumps(decoded)) == copy.deepcopy(decoded)
    assert encode(record) == encode(pickle.loads(pickle.dumps(decoded)))


def test_sums_are_found_by_task_and_the_last_of_a_task_counts():
    """As in Java's map; 0_3 occurs twice."""
    _, (sums, _), _ = decoded_columns()

    assert {TaskId(0, 3): 7, TASKS[1]: LATEST_OFFSET, TASKS[2]: 2**63 - 1} == sums.as_dict()
    assert list(sums.sums) == [each.offset_sum for each in SUMS]


def test_empty_columns_are_the_empty_tuple():
    record = decode_subscription(encode_subscription(Subscription(11, 11)))
    answer = decode_assignment(encode_assignment(Assignment(11, 11)))

    assert ((), (), ()) == (record.task_offset_sums, answer.active_tasks, answer.partitions_by_host)
    assert answer.active_tasks == record.task_offset_sums
    assert answer.topics == ()


@pytest.mark.parametrize("version", range(5, 12))
@pytest.mark.parametrize("dictionary", ["00000000", "00000001" + "00000000" + "000174"], ids=["empty", "another"])
def test_a_topic_that_the_dictionary_does_not_have_is_none(version, dictionary):
    """In Kafka it is a partition without a topic. It can be encoded to the same bytes, and printed."""
    host = "00000001" + "000168" + "00000050" + "00000001" + "00000007" + "00000003"
    encoded = bytes.fromhex(f"{version:08x}" * 2 + "00000000" * 2 + dictionary + host)
    encoded += bytes((4 if version >= 6 else 0) + 4 + (8 if version >= 7 else 0))

    record = decode_assignment(encoded)

    assert ((("h", 80), ((None, 3),)),) == record.partitions_by_host
    assert encoded == encode_assignment(record)
    assert [[["h", 80], [[None, 3]]]] == to_fields(record)["partitionsByHost"]


def test_the_cache_of_task_ids_is_bounded(monkeypatch):
    """Malformed input must not exhaust the memory."""
    monkeypatch.setattr(columns_module._TaskIdCache, "MAX_SIZE", 3)
    shared = columns_module._TaskIdCache()

    found = [shared[number << 32 | number] for number in range(10)]

    assert [TaskId(number, number) for number in range(10)] == found
    assert len(shared) <= 3


def test_sums_by_task_become_the_same_column_as_a_tuple_of_them():
    sums = {TaskId(1, 2): 5, TaskId(0, 3): -2, TaskId(-1, 2**31 - 1): 2**63 - 1}

    column = TaskOffsetSums.of(sums)

    assert tuple(TaskOffsetSum(task, offset_sum) for task, offset_sum in sums.items()) == column
    assert sums == column.as_dict()
    assert 0 == len(TaskOffsetSums.of({}))


def test_a_column_refuses_a_task_of_a_named_topology():
    with pytest.raises(ValueError, match="named topologies"):
        TaskOffsetSums.of({TaskId(0, 0, "name"): 1})


@pytest.mark.parametrize("groups", [[("t", (2, 0, 2))], [("t", ())], [("t", (2,)), ("s", (1,)), ("t", (0, 2))]])
def test_sorted_partitions_are_all_partitions_of_the_groups_in_order(groups):
    each = sorted(TopicPartition(topic, number) for topic, numbers in groups for number in numbers)

    assert each == list(SortedPartitions(groups))
