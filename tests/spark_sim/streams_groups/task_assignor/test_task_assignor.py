"""The broker's sticky task assignor by examples, and by properties in small and in random groups."""

from itertools import islice

import pytest

from streams_assignor.spark_sim.streams_groups.task_assignor import (
    RELEASES,
    AssignmentMemberSpec,
    GroupSpec,
    KnownTopology,
    StreamsTaskId,
    TaskAssignorError,
    UnknownReleaseError,
    assign,
    hash_map_order,
)
from streams_assignor.spark_sim.streams_groups.task_assignor._hash_order import compute_if_absent_order
from tests.spark_sim.streams_groups.task_assignor.random_groups import Case, a_case, plain
from tests.spark_sim.streams_groups.task_assignor.small_groups import SAFETY, after, held, moved, new_groups, unstable

WITH_KAFKA_20899 = ["4.2.0", "4.2.1", "4.3.0", "4.3.1"]
FIXED = ["4.2.2", "4.4.0"]
ONE_TASK = KnownTopology({"0": 1}, frozenset({"0"}))
TASK = {"0": frozenset({0})}
KAFKA_20899 = Case(
    GroupSpec(
        {
            "A1": AssignmentMemberSpec("A", active_tasks=TASK),
            "B1": AssignmentMemberSpec("B", standby_tasks=TASK),
            "C1": AssignmentMemberSpec("C"),
            "D1": AssignmentMemberSpec("D", standby_tasks=TASK),
        },
        num_standby_replicas=2,
    ),
    ONE_TASK,
)
"""One task with two standbys, as the assignor itself has placed them: nothing has to move."""
safety = pytest.mark.parametrize("holds", SAFETY.values(), ids=SAFETY)
each_release = pytest.mark.parametrize("release", RELEASES)


def standbys(case, release):
    return {process for process, _ in held(case, assign(case.group, case.topology, release=release), "standby_tasks")}


@pytest.mark.parametrize("release", WITH_KAFKA_20899)
def test_kafka_20899_a_second_standby_leaves_the_process_that_has_its_state(release):
    assert {"B", "C"} == standbys(KAFKA_20899, release)


@pytest.mark.parametrize("release", FIXED)
def test_without_kafka_20899_both_standbys_stay(release):
    assert {"B", "D"} == standbys(KAFKA_20899, release)


@pytest.mark.parametrize("release", WITH_KAFKA_20899)
def test_search_finds_kafka_20899_in_small_groups(release):
    """Property: a rebalance moves nothing when nothing has changed."""
    assert list(islice(unstable(release, new_groups(4, 2, 2)), 1))


@pytest.mark.parametrize("release", FIXED)
def test_search_finds_no_unstable_group_without_kafka_20899(release):
    assert [] == list(unstable(release, new_groups(4, 3, 3)))


@safety
@each_release
def test_small_groups_are_safe(release, holds):
    cases = list(new_groups(4, 3, 3))

    assert [] == [case for case in cases if not holds(case, assign(case.group, case.topology, release=release))]


@safety
@pytest.mark.parametrize("release", ["4.3.1", "4.4.0"])
def test_random_groups_are_safe(release, holds):
    cases = {seed: a_case(seed) for seed in range(60)}

    assert [] == [
        seed for seed, case in cases.items() if not holds(case, assign(case.group, case.topology, release=release))
    ]


def test_warm_ups_and_tasks_that_are_gone_are_ignored():
    gone = {"gone": frozenset({0})}
    member = AssignmentMemberSpec("A", active_tasks=gone, standby_tasks=gone, warmup_tasks=TASK)

    assert {"m": {"active": {"0": [0]}, "standby": {}}} == plain(assign(GroupSpec({"m": member}), ONE_TASK))


def test_members_of_a_process_share_its_tasks():
    group = GroupSpec({id_: AssignmentMemberSpec("A") for id_ in ("x", "y")})

    made = assign(group, KnownTopology({"0": 4}))

    assert [2, 2] == [len(each.active_tasks["0"]) for each in made.members.values()]


def test_an_active_task_returns_to_its_member_or_to_its_standby():
    group = GroupSpec(
        {
            "m": AssignmentMemberSpec("A", active_tasks={"0": frozenset({1})}),
            "n": AssignmentMemberSpec("B", standby_tasks={"0": frozenset({0})}),
        }
    )

    made = assign(group, KnownTopology({"0": 2}, frozenset({"0"})))

    assert {"m": {"0": frozenset({1})}, "n": {"0": frozenset({0})}} == {
        id_: each.active_tasks for id_, each in made.members.items()
    }


def test_the_less_loaded_of_two_standbys_takes_an_active_task():
    both = {"0": frozenset({0, 1})}
    group = GroupSpec(
        {"m": AssignmentMemberSpec("A", standby_tasks=both), "n": AssignmentMemberSpec("B", standby_tasks=both)}
    )

    for release in RELEASES:
        made = assign(group, KnownTopology({"0": 2}, frozenset({"0"})), release=release)
        assert {"m": {0}, "n": {1}} == {id_: set(each.active_tasks["0"]) for id_, each in made.members.items()}


def test_a_standby_goes_where_its_task_was_active():
    group = GroupSpec(
        {
            "m": AssignmentMemberSpec("A", active_tasks={"0": frozenset({0, 1})}),
            "n": AssignmentMemberSpec("B"),
            "o": AssignmentMemberSpec("C"),
        },
        num_standby_replicas=1,
    )

    made = assign(group, KnownTopology({"0": 2}, frozenset({"0"})))

    assert {"active": {"0": [0]}, "standby": {"0": [1]}} == plain(made)["m"]


@pytest.mark.parametrize(("release", "counts"), [("4.3.1", False), ("4.4.0", True)])
def test_offsets_count_since_4_4(release, counts):
    """KAFKA-20719: a restarted member has state, but no task in the target assignment."""
    group = GroupSpec({id_: AssignmentMemberSpec(id_) for id_ in "AB"})
    first = assign(group, ONE_TASK, release=release).members
    restarted = next(id_ for id_, each in first.items() if not each.active_tasks)
    offsets = {StreamsTaskId("0", 0): 5}
    members = {
        id_: AssignmentMemberSpec(id_, task_offsets=offsets if id_ == restarted else {}) for id_ in group.members
    }

    made = assign(GroupSpec(members), ONE_TASK, release=release).members

    assert counts == bool(made[restarted].active_tasks)


def test_a_standby_ranks_before_offsets_and_more_offsets_before_less():
    task = StreamsTaskId("0", 0)
    members = {
        "less": AssignmentMemberSpec("A", task_offsets={task: 5}),
        "more": AssignmentMemberSpec("B", task_offsets={task: 50}),
        "standby": AssignmentMemberSpec("C", standby_tasks=TASK, task_offsets={task: 1}),
    }

    for expected in ("standby", "more", "less"):
        made = assign(GroupSpec(members), ONE_TASK, release="4.4.0")
        assert [expected] == [id_ for id_, each in made.members.items() if each.active_tasks]
        del members[expected]


def test_a_stateless_task_has_no_standby():
    group = GroupSpec({id_: AssignmentMemberSpec(id_) for id_ in "AB"}, num_standby_replicas=1)

    assert [{}, {}] == [each.standby_tasks for each in assign(group, KnownTopology({"0": 1})).members.values()]


def test_a_group_without_members_has_no_process_for_a_task():
    with pytest.raises(TaskAssignorError, match=r"^No process available to assign active task 0_0\.$"):
        assign(GroupSpec({}), ONE_TASK)


def test_a_group_without_members_and_tasks_is_empty():
    assert {} == assign(GroupSpec({}), KnownTopology({})).members


def test_an_unknown_release_is_refused_with_those_that_are_known():
    with pytest.raises(UnknownReleaseError, match=r"expected one .*4\.2\.0, .*4\.4\.0\), got '4\.1\.1'"):
        assign(GroupSpec({}), ONE_TASK, release="4.1.1")


def test_a_negative_number_of_standbys_is_refused():
    with pytest.raises(ValueError, match="num_standby_replicas"):
        GroupSpec({}, -1)


def test_nothing_moves_in_a_group_that_is_assigned_again():
    case = KAFKA_20899
    made = assign(case.group, case.topology)

    again = after(case, made)

    assert [] == moved(made, assign(again.group, again.topology))


def test_compute_if_absent_grows_a_map_late_and_adds_in_front():
    """HashMap: "Aa" and "BB" have equal hashes."""
    assert ["Aa", "BB"] == hash_map_order(["Aa", "BB"], 2)
    assert ["BB", "Aa"] == compute_if_absent_order(["Aa", "BB"], 2)
    assert ["0", "1"] == compute_if_absent_order(["1", "0"], 2)
    assert ["BB", "Aa"] == compute_if_absent_order(["Aa", "BB", "BB"], 0)
