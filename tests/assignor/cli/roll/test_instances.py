"""The instances of a roll: which members are whose."""

from uuid import UUID

import pytest
from attrs import evolve

from streams_assignor.cli.roll.instances import InstanceNames, InstancesError, seen_instances
from streams_assignor.groups import inspect_group
from streams_assignor.upgrade.roll.plan import RollInstance
from tests.assignor.groups.described_groups import group as described
from tests.assignor.groups.described_groups import member
from tests.work import growth

NAMES = InstanceNames({"pod-0": "pod-0", "one": "pod-1"})


def thread(name, client_id, process):
    return evolve(member(name, process=UUID(int=process)), client_id=client_id)


POD_0 = [thread("a", "pod-0-StreamThread-1-consumer", 1), thread("b", "pod-0-StreamThread-2-consumer", 1)]
POD_1 = [thread("c", "pod-1", 2)]


def instances(*members):
    return NAMES.instances(inspect_group(described(*members)))


def test_threads_of_one_process_are_one_instance():
    assert (RollInstance("pod-0", 2), RollInstance("one", 1, "pod-1")) == instances(*POD_0, *POD_1)


def test_a_host_is_the_name_of_those_that_have_no_other_one():
    """Beside an instance of the same host that has no client id, pod-1 was no instance: its host is the longer text."""
    without_id = thread("a", f"app-{UUID(int=9)}-StreamThread-1-consumer", 1)
    group = inspect_group(described(*(evolve(each, host="/10.0.0.1") for each in (without_id, *POD_1))))

    assert ("pod-1", "10.0.0.1") == tuple(each.name for each in seen_instances(group).instances(group))


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (
            [*POD_0, *POD_1, thread("d", "pod-0-stranger", 3)],
            "expected members of pod-0 and one in the group, got pod",
        ),
        ([*POD_0, *POD_1, thread("d", "pod-0-StreamThread-1-consumer", 3)], "pod-0 is 2 processes of the group"),
        (POD_0, "no member of the group is one: expected all instances to run"),
    ],
)
def test_a_stranger_a_second_process_and_an_instance_that_is_not_there_are_refused(members, message):
    with pytest.raises(InstancesError, match=message):
        instances(*members)


def test_instances_of_twice_as_many_members_are_twice_the_work():
    """It grew by the cube: 500 instances took minutes before the first line, and seconds at each look."""

    def of(size):
        return inspect_group(described(*(thread(f"m{one}", f"m{one}", one + 1) for one in range(size))))

    assert growth(lambda group: seen_instances(group).instances(group), of, 40) < 2.5
