"""What long messages are kept as: columns instead of an object for each row; they behave as what they replace."""

import pickle
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignor.groups import DescribedGroup, DescribedGroupMember, inspect_group
from assignor.protocol import _offset_sums
from assignor.protocol import group as group_module
from assignor.protocol._offset_sums import SortedOffsetSums, best_sum, last_sum, offset_sums
from assignor.protocol._partition_sets import ManyPartitions
from assignor.protocol._task_sets import TaskPlaces, task_set
from subscription_codec import (
    LATEST_OFFSET,
    Assignment,
    Subscription,
    TaskId,
    TaskOffsetSum,
    TopicPartition,
    decode_assignment,
    encode_assignment,
    encode_subscription,
)
from subscription_codec.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    TopicPartitions,
    decode_consumer_subscription,
    encode_consumer_assignment,
    encode_consumer_subscription,
    flatten_by_topic,
    group_by_topic,
)

TOPICS = tuple(TopicPartitions(f"t{number:02}", (1, 0)) for number in reversed(range(30)))
TASKS = tuple(TaskId(number % 3, number) for number in reversed(range(300)))
PARTITIONS = [TopicPartition("orders", number) for number in range(5)]
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


def test_the_places_of_many_decoded_tasks():
    decoded = decode_assignment(encode_assignment(Assignment(version=11, supported_version=11, active_tasks=TASKS)))
    places = TaskPlaces(decoded.active_tasks)

    assert len(places) == len(TASKS)
    assert task_set(decoded.active_tasks, len(TASKS)) == set(TASKS)
    assert {task: [*places[task]] for task in places} == {task: [place] for place, task in enumerate(TASKS)}


task_ids = st.builds(TaskId, st.integers(0, 2), st.integers(-3, 5), st.sampled_from([None, None, "one", "two"]))
stated_sums = st.lists(st.tuples(task_ids, st.sampled_from([LATEST_OFFSET, -3, 0, 5, 7])), max_size=30)


@given(stated_sums, st.sampled_from([last_sum, best_sum]))
def test_offset_sums_in_columns_equal_those_in_a_dict(rows, merge):
    columns = [task for task, _ in rows], [known for _, known in rows]
    sums, expected = SortedOffsetSums(*columns, merge), offset_sums(*columns, merge)

    assert sums == expected
    assert dict(sums.items()) == {task: sums[task] for task in sums} == expected
    assert len(sums) == len(expected)
    assert TaskId(9, 9) not in sums


@given(st.lists(stated_sums, min_size=1, max_size=3), st.sampled_from([6, 10]), st.sets(st.sampled_from(PARTITIONS)))
def test_a_leader_reads_a_member_with_more_tasks_than_exist_as_any_other(stated, version, owned):
    """A hostile member, with or without others of its process; only tasks 0_0 to 0_2 and 1_0 exist."""
    subscriptions = {str(name): joined(rows, version, owned if name else ()) for name, rows in enumerate(stated)}
    existing = {TaskId(0, number): (TopicPartition("orders", number),) for number in range(3)}
    existing |= {TaskId(1, 0): (TopicPartition("clicks", 0),)}

    def processes():
        members = group_module.decode_members(subscriptions, 11)
        return group_module.group_by_process(members, existing, {TaskId(0, number): 6 for number in range(3)})

    expected = processes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_offset_sums, "SMALL", 0)
        found = processes()

    assert found == expected
    assert [each.previous_tasks_by_lag() for each in found] == [each.previous_tasks_by_lag() for each in expected]
    assert [each.first_task_without_lag() for each in found] == [each.first_task_without_lag() for each in expected]


@pytest.mark.parametrize("version", [6, 11])
@pytest.mark.parametrize("owned", [(), PARTITIONS[:1], PARTITIONS[:2]])
@pytest.mark.parametrize("names", [(None,), (None, "name")])
def test_a_member_with_hundreds_of_unknown_tasks_is_read_from_columns(version, owned, names):
    """Of tasks 0_0 to 0_2, which exist, it ran 0_0 and has state of 0_1; it owns a partition of 0_0 and one of 0_1."""
    unknown = [TaskId(5, number, name) for number in range(400) for name in (names if version > 6 else (None,))]
    rows = [(TaskId(0, 1), 4), *((task, 7) for task in unknown), (TaskId(0, 0), 3), (TaskId(0, 0), LATEST_OFFSET)]
    existing = {TaskId(0, number): (TopicPartition("orders", number),) for number in range(3)}
    members = group_module.decode_members({"a": joined(rows, version, owned)}, 11)
    (process,) = group_module.group_by_process(members, existing, dict.fromkeys(existing, 6))
    state, active = process.state, {TaskId(0, 0), *(TaskId(0, each.partition) for each in owned)}

    assert isinstance(members[0].offset_sums, SortedOffsetSums)
    assert members[0].offset_sums[TaskId(5, 0)] == (7 if version > 6 else -3)
    assert TaskId(9, 9) not in members[0].offset_sums
    assert state.previous_active_tasks == active
    assert state.previous_standby_tasks == {TaskId(0, 1), *unknown} - active
    assert process.first_task_without_lag() == TaskId(5, 0)


def test_a_task_that_is_owned_and_has_no_offset_sum_is_active():
    rows = [(TaskId(5, number), 7) for number in range(300)]
    members = group_module.decode_members({"a": joined(rows, 11, PARTITIONS[:1])}, 11)
    (process,) = group_module.group_by_process(members, {TaskId(0, 0): (PARTITIONS[0],)}, {})

    assert process.state.previous_active_tasks == {TaskId(0, 0)}


def test_the_members_of_a_process_have_the_best_offset_sums_together():
    tasks = [TaskId(0, number) for number in range(300)]
    both = {"a": joined([(task, 5) for task in tasks], 11, ()), "b": joined([(task, 4) for task in tasks[1:]], 11, ())}
    (process,) = group_module.group_by_process(
        group_module.decode_members(both, 11), {tasks[1]: (PARTITIONS[1],)}, {tasks[1]: 9}
    )

    assert dict(process.state.lags) == {tasks[1]: 4}
    assert process.state.previous_standby_tasks == set(tasks)


def joined(rows, version, owned):
    if version < 7:
        rows = [(task, known) for task, known in rows if task.topology is None]
        tasks = {"prev_tasks": [task for task, known in rows if known == LATEST_OFFSET]}
        tasks["standby_tasks"] = [task for task, known in rows if known != LATEST_OFFSET]
    else:
        tasks = {"task_offset_sums": [TaskOffsetSum(*row) for row in rows]}
    tasks = {name: tuple(each) for name, each in tasks.items()}
    userdata = encode_subscription(Subscription(version, version, UUID(int=1), **tasks))
    return encode_consumer_subscription(ConsumerSubscription(("orders",), userdata, group_by_topic(owned), version=3))


def test_many_partitions_are_a_set():
    many = ManyPartitions([*PARTITIONS, PARTITIONS[-1]])

    assert many & {PARTITIONS[0], TopicPartition("others", 0)} == {PARTITIONS[0]}
    assert "orders-0" not in many
    assert len(many) == len(PARTITIONS)


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
