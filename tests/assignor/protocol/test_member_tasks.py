"""Tasks to members inside a process, as each era of Kafka does it."""

from collections import Counter
from functools import cache
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.codec import TaskId
from streams_assignor.protocol.member_tasks import (
    OTHER_PROCESS,
    GrantedTasks,
    ProcessTasks,
    balanced_by_lag,
    round_robin,
    sticky_by_lag,
    sticky_or_round_robin,
)
from tests.assignor.subsets import subsets

METHODS = [round_robin, sticky_or_round_robin, sticky_by_lag, balanced_by_lag]


def tasks(*texts):
    return tuple(map(TaskId.parse, texts))


def process(members, active=(), standby=(), stateful=(), had=None, owners=None):
    return ProcessTasks(
        members=members,
        active=tasks(*active),
        standby=tasks(*standby),
        stateful=frozenset(tasks(*stateful)),
        previous_tasks_by_lag={member: tasks(*texts) for member, texts in (had or {}).items()},
        owners={TaskId.parse(task): frozenset(members) for task, members in (owners or {}).items()},
    )


EVERYTHING = [TaskId(subtopology, partition) for subtopology in range(3) for partition in range(6)]
ONE_TASK = st.sampled_from(EVERYTHING)
SOME_TASKS = st.sets(ONE_TASK)
TASKS_IN_ORDER = st.lists(ONE_TASK, unique=True)
HALF_OF_THE_TASKS = subsets(EVERYTHING)
SIZES = st.integers(1, 5)


@cache
def owned(members):
    """Tasks with one owner or two. Owners are drawn at once, as a set takes Hypothesis several times as long."""
    all_members = (*members, OTHER_PROCESS)
    owners = [frozenset(some) for size in (1, 2) for some in combinations(all_members, size)]
    return st.dictionaries(ONE_TASK, st.sampled_from(owners))


@st.composite
def processes(draw):
    members = tuple(f"m{number}" for number in range(draw(SIZES)))
    active = draw(SOME_TASKS)
    stateful = draw(HALF_OF_THE_TASKS)
    standby = draw(SOME_TASKS) & stateful - active
    return ProcessTasks(
        members=members,
        active=active,
        standby=standby,
        stateful=stateful,
        previous_tasks_by_lag={member: draw(TASKS_IN_ORDER) for member in members},
        owners=draw(owned(members)),
    )


@pytest.mark.parametrize("method", METHODS)
@given(processes=st.lists(processes(), max_size=3), probing=st.booleans())
def test_every_task_of_a_process_goes_to_one_of_its_members(method, processes, probing):
    for number, each in enumerate(processes):
        renamed = {member: f"{number}-{member}" for member in each.members}
        processes[number] = ProcessTasks(
            members=renamed.values(),
            active=each.active,
            standby=each.standby,
            stateful=each.stateful,
            previous_tasks_by_lag={renamed[member]: had for member, had in each.previous_tasks_by_lag.items()},
            owners=each.owners,
        )

    shares = method(processes, probing)

    for each in processes:
        mine = [shares[member] for member in each.members]
        assert Counter(each.active) == Counter(task for share in mine for task in share.active)
        assert Counter(each.standby) == Counter(task for share in mine for task in share.standby)


def counts_without_standbys(method, process):
    alone = ProcessTasks(
        members=process.members,
        active=process.active,
        stateful=process.stateful,
        previous_tasks_by_lag=process.previous_tasks_by_lag,
        owners=process.owners,
    )
    return [len(share.active) for share in method([alone], False).values()]


@pytest.mark.parametrize("method", [round_robin, sticky_by_lag, balanced_by_lag])
@given(process=processes())
def test_active_tasks_are_assigned_evenly_where_there_are_no_standbys(method, process):
    counts = counts_without_standbys(method, process)

    assert max(counts) - min(counts) <= 1


@given(process=processes())
def test_in_2_4_and_2_5_no_member_gets_more_than_an_even_share_rounded_up(process):
    assert max(counts_without_standbys(sticky_or_round_robin, process)) <= -(
        -len(process.active) // len(process.members)
    )


def test_in_2_4_and_2_5_a_member_may_get_nothing():
    """New tasks go round from the first member that has room, though it has some already (bytecode of 2.5.1)."""
    first, second = TaskId(0, 0), TaskId(0, 1)
    owners = {first: frozenset({"a"}), second: frozenset({"b"})}
    process = ProcessTasks(members="abc", active=[first, second, TaskId(0, 2), TaskId(0, 3)], owners=owners)

    assert [2, 2, 0] == counts_without_standbys(sticky_or_round_robin, process)


@given(processes())
def test_since_3_2_members_are_even_in_all_their_tasks_together(process):
    counts = [len(share.active) + len(share.standby) for share in balanced_by_lag([process], False).values()]

    assert max(counts) - min(counts) <= 1


@given(processes())
def test_before_3_2_standbys_are_assigned_without_a_look_at_active_tasks(process):
    counts = [len(share.standby) for share in sticky_by_lag([process], False).values()]

    assert max(counts) - min(counts) <= 1


def test_up_to_2_3_sorted_tasks_are_assigned_in_turn():
    shares = round_robin([process(["b", "a"], ["1_0", "0_1", "0_0"], ["2_0", "3_0"])], False)

    assert {
        "a": GrantedTasks(tasks("0_0", "1_0"), tasks("2_0")),
        "b": GrantedTasks(tasks("0_1"), tasks("3_0")),
    } == shares


def test_in_2_4_tasks_stay_with_their_members():
    owners = {"0_0": ["b"], "0_1": ["b"], "0_2": ["a"]}

    shares = sticky_or_round_robin([process(["a", "b"], ["0_0", "0_1", "0_2", "0_3"], owners=owners)], False)

    assert {"a": GrantedTasks(tasks("0_2", "0_3")), "b": GrantedTasks(tasks("0_0", "0_1"))} == shares


def test_in_2_4_what_is_new_is_assigned_in_turn_to_those_with_room():
    shares = sticky_or_round_robin([process(["a", "b"], ["0_0", "0_1", "0_2", "0_3"], owners={"0_3": ["b"]})], False)

    assert {"a": GrantedTasks(tasks("0_0", "0_2")), "b": GrantedTasks(tasks("0_1", "0_3"))} == shares


@pytest.mark.parametrize(
    "owners",
    [
        pytest.param({"0_0": [OTHER_PROCESS], "0_1": ["b"]}, id="an owner elsewhere"),
        pytest.param({"0_0": ["b"], "0_1": ["b"]}, id="too many with one member"),
        pytest.param({"0_0": ["a", "b"]}, id="two owners of one task"),
    ],
)
def test_in_2_4_tasks_are_assigned_in_turn_if_one_has_to_move(owners):
    shares = sticky_or_round_robin([process(["a", "b"], ["0_0", "0_1"], owners=owners)], False)

    assert {"a": GrantedTasks(tasks("0_0")), "b": GrantedTasks(tasks("0_1"))} == shares


def test_in_2_4_no_client_tries_to_stay_once_another_one_could_not():
    moving = process(["a1", "a2"], ["0_0", "0_1"], owners={"0_0": [OTHER_PROCESS]})
    staying = process(["b1", "b2"], ["0_2", "0_3"], owners={"0_2": ["b2"], "0_3": ["b1"]})

    assert GrantedTasks(tasks("0_3")) == sticky_or_round_robin([staying, moving], False)["b1"]
    assert GrantedTasks(tasks("0_2")) == sticky_or_round_robin([moving, staying], False)["b1"]
    assert (
        GrantedTasks(tasks("0_2")) == sticky_or_round_robin([staying], True)["b1"]
    )  # and none while a member is probed


def test_since_2_6_members_take_back_what_they_are_least_behind_with():
    stateful = ["0_0", "0_1", "0_2", "0_3"]

    shares = sticky_by_lag([process(["a", "b"], stateful, stateful=stateful, had={"a": ["0_3", "0_2", "0_1"]})], False)

    assert {"a": GrantedTasks(tasks("0_2", "0_3")), "b": GrantedTasks(tasks("0_0", "0_1"))} == shares


def test_since_2_6_the_odd_task_goes_to_its_previous_owner():
    stateful = ["0_0", "0_1", "0_2"]
    had = {"a": ["0_0"], "b": ["0_2", "0_1"]}

    shares = sticky_by_lag([process(["a", "b"], stateful, stateful=stateful, had=had)], False)

    assert {"a": GrantedTasks(tasks("0_0")), "b": GrantedTasks(tasks("0_1", "0_2"))} == shares


def test_since_2_6_stateless_tasks_go_first_to_those_with_one_task_less():
    active = ["0_0", "1_0", "1_1"]

    shares = sticky_by_lag([process(["a", "b"], active, stateful=["0_0"])], False)

    assert {"a": GrantedTasks(tasks("0_0", "1_1")), "b": GrantedTasks(tasks("1_0"))} == shares


def test_since_3_2_a_member_with_standbys_gets_fewer_stateless_tasks():
    active, standby = ["0_0", "1_0"], ["2_0", "2_1"]

    shares = balanced_by_lag([process(["a", "b"], active, standby, stateful=["0_0", *standby])], False)

    assert {"a": GrantedTasks(tasks("0_0"), tasks("2_1")), "b": GrantedTasks(tasks("1_0"), tasks("2_0"))} == shares


def test_since_3_2_stateless_tasks_go_round_whatever_members_had():
    active, had = ["0_0", "0_1"], {"a": ["0_1"], "b": ["0_0"]}

    assert {"a": GrantedTasks(tasks("0_0")), "b": GrantedTasks(tasks("0_1"))} == balanced_by_lag(
        [process(["a", "b"], active, had=had)], False
    )
