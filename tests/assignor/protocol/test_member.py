"""What a member reports after an assignment."""

import pytest

from assignor import StreamsAssignor, Subtopology, Topology
from assignor.protocol import PROTOCOL_NAME
from subscription_codec import Assignment, StandbyTask, TaskId, encode_assignment
from subscription_codec.consumer_protocol import (
    ConsumerAssignment,
    decode_member_userdata,
    encode_consumer_assignment,
)

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
