"""Partitions and tasks of a member in order, also when an inspection looks at single ones."""

import pytest

from streams_assignor.codec import TaskId, TopicPartition
from streams_assignor.codec.columns import SortedPartitions
from streams_assignor.codec.consumer_protocol import TopicPartitions
from streams_assignor.groups.decoded import AssignmentSeen, SubscriptionSeen, in_order
from streams_assignor.groups.described_group import DescribedGroupMember
from streams_assignor.groups.member import InspectedMember
from streams_assignor.groups.standbys import partitions_with_multiple_owners


def test_each_place_of_sorted_partitions_has_the_record_of_the_iteration():
    groups = [TopicPartitions("b", (1, 0)), TopicPartitions("a", (7,)), TopicPartitions("b", (3,))]
    partitions = SortedPartitions(groups)

    assert ["a-7", "b-0", "b-1", "b-3"] == [str(partitions[place]) for place in range(len(partitions))]
    assert partitions[-1] == list(partitions)[-1]


@pytest.mark.parametrize(
    ("owned", "includes"),
    [
        ([], True),
        ([("a", (7,))], True),
        ([("b", (3, 0))], True),
        ([("b", (3, 2))], False),
        ([("c", (0,))], False),
        ([("a", (7,)), ("b", (0, 1, 3, 4))], False),
    ],
)
def test_sorted_partitions_include_those_of_which_they_have_each(owned, includes):
    partitions = SortedPartitions([("b", (1, 0)), ("a", (7,)), ("b", (3,))])

    assert includes is partitions.includes(SortedPartitions(owned))
    assert not includes or partitions.includes(partitions)
    assert includes is ({*SortedPartitions(owned)} <= {*partitions})


def test_tasks_of_named_topologies_come_after_those_without_a_name():
    tasks = {TaskId(0, 0, "orders"), TaskId(1, 0, "billing"), TaskId(2, 1), TaskId(0, 1, "billing")}

    assert (TaskId(2, 1), TaskId(0, 1, "billing"), TaskId(1, 0, "billing"), TaskId(0, 0, "orders")) == in_order(tasks)


@pytest.mark.parametrize(
    ("owned", "includes"),
    [((), True), ((1, 3), True), ((3, 3), True), ((1, 1), False), ((2,), False), ((1, 3, 3, 4), False)],
)
def test_partitions_of_one_topic_include_each_as_often_as_they_have_it(owned, includes):
    assert includes is SortedPartitions([("a", (1, 3, 3))]).includes(SortedPartitions([("a", owned)]))


@pytest.mark.parametrize("others", [0, 2000])
@pytest.mark.parametrize(
    ("columns", "repeated"),
    [
        ([], []),
        ([SortedPartitions([("a", (0, 1)), ("b", (0,))]), SortedPartitions([("a", (2,))]), ()], []),
        ([SortedPartitions([("a", (0, 1))]), SortedPartitions([("b", (0,)), ("a", (1,))])], [("a-1", ["m0", "m1"])]),
        ([SortedPartitions([("a", (0, 0))])], [("a-0", ["m0", "m0"])]),
        ([(TopicPartition("a", 0),), SortedPartitions([("a", (1,))])], []),
        ([(TopicPartition("a", 0),), (TopicPartition("a", 0),)], [("a-0", ["m0", "m1"])]),
    ],
)
def test_partitions_of_two_owners_are_found_among_few_and_many(columns, repeated, others):
    columns = [*columns, SortedPartitions([("others", range(others))])]
    members = [
        InspectedMember(
            name=f"m{number}",
            described=DescribedGroupMember(member_id=""),
            subscription=SubscriptionSeen(),
            assignment=AssignmentSeen(partitions=each),
        )
        for number, each in enumerate(columns)
    ]

    assert repeated == [(str(each), owners) for each, owners in partitions_with_multiple_owners(members)]
