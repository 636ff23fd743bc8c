"""The report of a member after an assignment."""

import pytest

from streams_assignor import StreamsAssignor, Subtopology, Topology
from streams_assignor.codec import (
    Assignment,
    HostInfo,
    HostPartitions,
    StandbyTask,
    TaskId,
    TopicPartition,
    encode_assignment,
    with_topic_dictionary,
)
from streams_assignor.codec.consumer_protocol import (
    ConsumerAssignment,
    decode_member_userdata,
    encode_consumer_assignment,
    group_by_topic,
)
from streams_assignor.protocol import PROTOCOL_NAME
from streams_assignor.protocol.member import ReceivedAssignment
from streams_assignor.upgrade import release_named

TOPOLOGY = Topology.of(Subtopology(sources=["orders"], changelogs=["counts"]))


@pytest.mark.parametrize("tasks", [(TaskId(0, 0, "n"),), (TaskId(0, 0), TaskId(0, 0, "n"))], ids=["named", "both"])
def test_a_member_with_a_task_of_a_named_topology_reports_it(tasks):
    """It raised ValueError for a named task alone, which has no columns, and TypeError beside one without a name."""
    member = StreamsAssignor(TOPOLOGY)
    userdata = encode_assignment(Assignment(11, 11, standby_tasks=tuple(StandbyTask(each, ()) for each in tasks)))
    member.on_assignment(encode_consumer_assignment(ConsumerAssignment((), userdata)))

    joined = decode_member_userdata(member.subscription())[1]

    assert list(tasks) == [each.task for each in joined.task_offset_sums]


def test_members_join_with_the_name_of_kafkas_assignor():
    """Java: ``StreamsPartitionAssignor.name``. Members with another name have no protocol in common with Java's."""
    assert "stream" == PROTOCOL_NAME


A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
T0, T1 = TaskId(0, 0), TaskId(0, 1)
HERE, THERE = HostInfo("here", 1), HostInfo("there", 2)


def received(partitions=(), version=11, **fields):
    userdata = encode_assignment(Assignment(version, 11, **fields))
    envelope = ConsumerAssignment(group_by_topic(partitions), userdata)
    member = StreamsAssignor(TOPOLOGY)
    return member.on_assignment(encode_consumer_assignment(envelope)), member.member


def test_the_partitions_of_an_active_task_are_those_at_its_places():
    found, member = received([B0, A1, A0], active_tasks=(T0, T1, T0))

    assert {T0: {A0, B0}, T1: {A1}} == found.active
    assert ({T0, T1}, {T0, T1}, {A0, A1, B0}) == (
        member.previous_active,
        member.stored,
        member.owned_partitions,
    )


def test_a_dropped_assignment_has_no_tasks():
    """A member of 2.3.1 takes nothing but the version of a leader that does not know its own."""
    member = StreamsAssignor(TOPOLOGY, release=release_named("2.3.1"))
    userdata = encode_assignment(Assignment(3, 3, active_tasks=(T0,), standby_tasks=(StandbyTask(T1, ()),)))
    found = member.on_assignment(encode_consumer_assignment(ConsumerAssignment(group_by_topic([A0]), userdata)))

    assert (True, {}, {}, ()) == (found.dropped, found.active, found.standby, found.partitions)


def test_the_last_entry_of_a_standby_task_counts():
    standbys = (StandbyTask(T0, (A0,)), StandbyTask(T1, ()), StandbyTask(T0, (A1, B0)))

    assert {T0: {A1, B0}, T1: set()} == received(standby_tasks=standbys)[0].standby


@pytest.mark.parametrize("version", [5, 11])
def test_the_last_entry_of_a_host_counts(version):
    """Below version 6 each entry has the names of its topics, later indices into a dictionary."""
    entries = (HostPartitions(HERE, (A0,)), HostPartitions(THERE, (A1, B0)), HostPartitions(HERE, (B0,)))
    assignment = Assignment(version, 11, partitions_by_host=entries, standby_partitions_by_host=entries[:2])
    userdata = encode_assignment(with_topic_dictionary(assignment) if version > 5 else assignment)
    found = StreamsAssignor(TOPOLOGY).on_assignment(encode_consumer_assignment(ConsumerAssignment((), userdata)))

    assert {HERE: {B0}, THERE: {A1, B0}} == found.hosts
    assert ({HERE: {A0}, THERE: {A1, B0}} if version > 5 else {}) == found.standby_hosts


def test_the_defaults_of_an_assignment_are_empty():
    found = ReceivedAssignment(version=11, supported_version=11)

    assert [{}, {}, {}, {}] == [found.active, found.standby, found.hosts, found.standby_hosts]
    assert (None, None, None, False, b"") == (
        found.follow_up, found.rejoin, found.rejoin_at_ms, found.dropped, found.trailing,
    )  # fmt: skip
