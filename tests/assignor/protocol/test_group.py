"""How a leader reads a group: processes, their previous tasks and lags, and the offsets that lags need."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor import FatalError, Subtopology, Topology
from streams_assignor.cluster import ClusterSnapshot
from streams_assignor.codec import (
    FutureSubscription,
    Subscription,
    TaskId,
    TaskOffsetSum,
    TopicPartition,
    encode_subscription,
)
from streams_assignor.codec.consumer_protocol import ConsumerSubscription, encode_consumer_subscription, group_by_topic
from streams_assignor.protocol.end_offsets import MAX_OFFSET, RequiredOffsets, end_offset_sums, required_offsets
from streams_assignor.protocol.group import (
    FUTURE_PROCESS_ID,
    compute_lag,
    decode_members,
    group_by_process,
    owners_by_partition,
)
from streams_assignor.task_assignors.application_state import LATEST_OFFSET, UNKNOWN_LAG, task_infos

TOPOLOGY = Topology.of(
    Subtopology(sources=["orders"], changelogs=["counts", "totals"]),
    Subtopology(sources=["table", "wide"], changelogs=["table"]),
    Subtopology(sources=["clicks"]),
)
PARTITIONS = {"orders": 2, "counts": 2, "table": 1, "wide": 2, "clicks": 1}
TASKS = TOPOLOGY.tasks(PARTITIONS)
TASK_INFOS = task_infos(TOPOLOGY, TASKS)
ORDERS = (TopicPartition("orders", 0), TopicPartition("orders", 1))
ENDS = {TopicPartition("counts", 0): 5, TopicPartition("counts", 1): 7, TopicPartition("table", 0): 11}


def a_subscription(userdata, owned=(), version=3, **more):
    envelope = ConsumerSubscription(
        ("orders",), encode_subscription(userdata), group_by_topic(owned), version=version, **more
    )
    return encode_consumer_subscription(envelope)


def test_members_with_one_process_id_are_one_process():
    process = UUID(int=7)
    subscriptions = {
        "b": a_subscription(Subscription(11, 11, process, task_offset_sums=(TaskOffsetSum(TaskId(0, 0), 3),))),
        "a": a_subscription(
            Subscription(11, 11, process, task_offset_sums=(TaskOffsetSum(TaskId(0, 1), LATEST_OFFSET),))
        ),
        "c": a_subscription(Subscription(11, 11, UUID(int=8))),
    }

    clients = group_by_process(
        decode_members(subscriptions, 11),
        TASKS,
        end_offset_sums(ClusterSnapshot(partitions=PARTITIONS, end_offsets=ENDS), TASK_INFOS),
    )

    first, second = clients
    assert (["a", "b"], 2) == ([each.member_id for each in first.members], first.state.num_processing_threads)
    assert ({TaskId(0, 1)}, {TaskId(0, 0)}) == (first.state.previous_active_tasks, first.state.previous_standby_tasks)
    assert {TaskId(0, 0): 2, TaskId(0, 1): LATEST_OFFSET, TaskId(1, 0): 11, TaskId(1, 1): 0} == dict(first.state.lags)
    assert {TaskId(0, 0): 5, TaskId(0, 1): 7, TaskId(1, 0): 11, TaskId(1, 1): 0} == dict(second.state.lags)
    assert {"a": [TaskId(0, 1)], "b": [TaskId(0, 0)]} == first.previous_tasks_by_lag()


def test_the_best_offset_sum_of_the_members_counts():
    process, ran, stored = UUID(int=7), TaskId(0, 0), TaskId(0, 1)
    subscriptions = {
        name: a_subscription(
            Subscription(11, 11, process, task_offset_sums=tuple(map(TaskOffsetSum, (ran, stored), sums)))
        )
        for name, sums in {"a": (LATEST_OFFSET, UNKNOWN_LAG), "b": (4, 3), "c": (5, 2)}.items()
    }

    (client,) = group_by_process(decode_members(subscriptions, 11), TASKS, {ran: 9, stored: 9})

    assert {ran: LATEST_OFFSET, stored: 6} == dict(client.state.lags)


def test_owned_partitions_are_previous_active_tasks():
    owned = [TopicPartition("clicks", 0), TopicPartition("gone", 0)]
    joined = decode_members({"a": a_subscription(Subscription(11, 11, UUID(int=7)), owned)}, 11)

    assert {TaskId(2, 0)} == group_by_process(joined, TASKS, {})[0].state.previous_active_tasks
    assert {"a"} == owners_by_partition(joined)[TopicPartition("gone", 0)]
    assert TopicPartition("gone", 0) not in owners_by_partition(joined, existing=())


def test_members_with_a_future_version_are_one_process_of_which_only_partitions_are_known():
    future = a_subscription(FutureSubscription(12, 12, b"whatever"), [TopicPartition("clicks", 0)])

    (client,) = group_by_process(decode_members({"x": future, "y": future}, 11), TASKS, {})

    assert (FUTURE_PROCESS_ID, 2, {TaskId(2, 0)}) == (
        client.process_id,
        client.state.num_processing_threads,
        client.state.previous_active_tasks,
    )
    assert {FUTURE_PROCESS_ID} == {each.process_id for each in client.members}


def test_a_process_serves_queries_at_the_first_end_point_of_its_members():
    process = UUID(int=7)
    subscriptions = {
        "a": a_subscription(Subscription(11, 11, process)),
        "b": a_subscription(Subscription(11, 11, process, user_end_point="h:1")),
        "c": a_subscription(Subscription(11, 11, UUID(int=8), user_end_point="nonsense")),
    }

    assert ["h:1", "None"] == [
        str(client.state.host_info) for client in group_by_process(decode_members(subscriptions, 11), TASKS, {})
    ]


def test_a_process_at_the_end_of_the_changelog_has_no_lag_and_one_beyond_it_starts_again():
    assert [1, 0, 100] == [compute_lag(known, 100) for known in (99, 100, 101)]


@given(st.integers(-3, 2**63 - 1), st.integers(0, 2**63 - 1))
def test_no_process_is_further_behind_than_the_whole_changelog(known, end):
    if known == -1:
        known = 0

    assert compute_lag(known, end) in (LATEST_OFFSET, UNKNOWN_LAG) or 0 <= compute_lag(known, end) <= end


def test_offsets_are_required_of_changelogs_that_exist():
    expected = RequiredOffsets(
        changelogs=(TopicPartition("counts", 0), TopicPartition("counts", 1)),
        source_changelogs=(TopicPartition("table", 0),),
    )

    assert expected == required_offsets(TOPOLOGY, PARTITIONS, TASK_INFOS)


def test_without_offsets_no_lag_is_known():
    sums = end_offset_sums(ClusterSnapshot(partitions=PARTITIONS), TASK_INFOS)

    assert dict.fromkeys([task for task in TASKS if task.subtopology < 2], UNKNOWN_LAG) == sums


def test_a_sum_stops_where_javas_numbers_stop():
    partitions = {**PARTITIONS, "totals": 2}
    offsets = {**ENDS, TopicPartition("totals", 0): MAX_OFFSET, TopicPartition("totals", 1): 1}

    sums = end_offset_sums(ClusterSnapshot(partitions=partitions, end_offsets=offsets), TASK_INFOS)

    assert (MAX_OFFSET, 8) == (sums[TaskId(0, 0)], sums[TaskId(0, 1)])


def test_a_missing_offset_is_named():
    offsets = {partition: end for partition, end in ENDS.items() if partition.topic == "counts"}

    with pytest.raises(FatalError, match="Could not get end offset for table-0"):
        end_offset_sums(ClusterSnapshot(partitions=PARTITIONS, end_offsets=offsets), TASK_INFOS)


@pytest.mark.parametrize("version", [6, 7, 11])
def test_a_subscription_of_any_version_has_the_offset_sums_of_its_tasks(version):
    stated = (
        {"prev_tasks": (TaskId(0, 1),), "standby_tasks": (TaskId(0, 0),)}
        if version < 7
        else {"task_offset_sums": (TaskOffsetSum(TaskId(0, 1), LATEST_OFFSET), TaskOffsetSum(TaskId(0, 0), -3))}
    )

    (member,) = decode_members({"a": a_subscription(Subscription(version, version, **stated))}, 11)

    assert {TaskId(0, 1): LATEST_OFFSET, TaskId(0, 0): -3} == member.offset_sums


@pytest.mark.parametrize("version", [6, 11])
@pytest.mark.parametrize("owned", [(), ORDERS[:1], ORDERS[:2]])
def test_a_leader_reads_tasks_that_do_not_exist(version, owned):
    """Of tasks 0_0 and 0_1, which exist, the member ran 0_0 and has state of 0_1; it may still own both."""
    gone = [TaskId(5, 0), *([TaskId(5, 0, "name")] if version > 6 else [])]
    (member,) = decode_members(
        {
            "a": joined(
                [(TaskId(0, 1), 4), *((task, 7) for task in gone), (TaskId(0, 0), LATEST_OFFSET)], version, owned
            )
        },
        11,
    )
    (process,) = group_by_process([member], TASKS, {TaskId(0, 0): 6, TaskId(0, 1): 6})
    active = {TaskId(0, 0), *(TaskId(0, each.partition) for each in owned)}

    assert active == process.state.previous_active_tasks
    assert {TaskId(0, 1), *gone} - active == process.state.previous_standby_tasks
    assert TaskId(5, 0) == process.first_task_without_lag()


def test_a_process_is_in_the_rack_of_its_first_member():
    racks = {"b": "r2", "a": "r1", "c": None}
    members = {name: a_subscription(Subscription(11, 11, UUID(int=1)), rack_id=rack) for name, rack in racks.items()}
    (process,) = group_by_process(decode_members(members, 11), TASKS, {})

    assert ("r1", ("r1", "r2", None)) == (process.state.rack_id, process.state.member_rack_ids)


def test_the_last_offset_sum_of_a_task_counts():
    (member,) = decode_members({"a": joined([(TaskId(0, 0), 3), (TaskId(0, 0), LATEST_OFFSET)], 11)}, 11)

    assert {TaskId(0, 0): LATEST_OFFSET} == member.offset_sums


def test_a_task_that_is_owned_and_has_no_offset_sum_is_active():
    members = decode_members({"a": joined([(TaskId(5, 0), 7)], 11, ORDERS[:1])}, 11)
    (process,) = group_by_process(members, TASKS, {})

    assert {TaskId(0, 0)} == process.state.previous_active_tasks


def test_the_members_of_a_process_have_the_best_offset_sums_together():
    sums = {"a": [5, 4, LATEST_OFFSET, 0], "b": [4, 5, 9, LATEST_OFFSET], "c": []}
    both = {name: joined([(TaskId(0, at), each) for at, each in enumerate(given)], 11) for name, given in sums.items()}
    (process,) = group_by_process(decode_members(both, 11), TASKS, {TaskId(0, 0): 9, TaskId(0, 1): 9})

    assert {TaskId(0, 0): 4, TaskId(0, 1): 4} == dict(process.state.lags)
    assert {TaskId(0, 2), TaskId(0, 3)} == process.state.previous_active_tasks
    assert {TaskId(0, 0), TaskId(0, 1)} == process.state.previous_standby_tasks


def joined(sums, version, owned=()):
    if version < 7:
        tasks = {
            "prev_tasks": [task for task, known in sums if known == LATEST_OFFSET],
            "standby_tasks": [task for task, known in sums if known != LATEST_OFFSET],
        }
    else:
        tasks = {"task_offset_sums": [TaskOffsetSum(*row) for row in sums]}
    tasks = {name: tuple(each) for name, each in tasks.items()}
    return a_subscription(Subscription(version, version, UUID(int=1), **tasks), owned)
