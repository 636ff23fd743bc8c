"""Tasks to members inside a process, as each era of Kafka does it."""

from collections import Counter
from functools import cache
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignor.dealing import (
    NOT_IN_THIS_PROCESS,
    Crew,
    Share,
    by_lag,
    by_lag_and_load,
    in_turn,
    stay_or_in_turn,
)
from subscription_codec import TaskId
from tests.assignor.subsets import subsets

DEALS = [in_turn, stay_or_in_turn, by_lag, by_lag_and_load]


def tasks(*texts):
    return tuple(map(TaskId.parse, texts))


def crew(members, active=(), standby=(), stateful=(), had=None, owners=None):
    return Crew(
        members=members,
        active=tasks(*active),
        standby=tasks(*standby),
        stateful=frozenset(tasks(*stateful)),
        had={member: tasks(*texts) for member, texts in (had or {}).items()},
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
    everybody = (*members, NOT_IN_THIS_PROCESS)
    owners = [frozenset(some) for size in (1, 2) for some in combinations(everybody, size)]
    return st.dictionaries(ONE_TASK, st.sampled_from(owners))


@st.composite
def crews(draw):
    members = tuple(f"m{number}" for number in range(draw(SIZES)))
    active = draw(SOME_TASKS)
    stateful = draw(HALF_OF_THE_TASKS)
    standby = draw(SOME_TASKS) & stateful - active
    return Crew(
        members=members,
        active=active,
        standby=standby,
        stateful=stateful,
        had={member: draw(TASKS_IN_ORDER) for member in members},
        owners=draw(owned(members)),
    )


@pytest.mark.parametrize("deal", DEALS)
@given(crews=st.lists(crews(), max_size=3), probing=st.booleans())
def test_every_task_of_a_client_goes_to_one_of_its_members(deal, crews, probing):
    for number, each in enumerate(crews):
        renamed = {member: f"{number}-{member}" for member in each.members}
        crews[number] = Crew(
            members=renamed.values(),
            active=each.active,
            standby=each.standby,
            stateful=each.stateful,
            had={renamed[member]: had for member, had in each.had.items()},
            owners=each.owners,
        )

    shares = deal(crews, probing)

    for each in crews:
        mine = [shares[member] for member in each.members]
        assert Counter(each.active) == Counter(task for share in mine for task in share.active)
        assert Counter(each.standby) == Counter(task for share in mine for task in share.standby)


def counts_without_standbys(deal, crew):
    alone = Crew(members=crew.members, active=crew.active, stateful=crew.stateful, had=crew.had, owners=crew.owners)
    return [len(share.active) for share in deal([alone], False).values()]


@pytest.mark.parametrize("deal", [in_turn, by_lag, by_lag_and_load])
@given(crew=crews())
def test_active_tasks_are_dealt_evenly_where_there_are_no_standbys(deal, crew):
    counts = counts_without_standbys(deal, crew)

    assert max(counts) - min(counts) <= 1


@given(crew=crews())
def test_in_2_4_and_2_5_nobody_gets_more_than_an_even_share_rounded_up(crew):
    assert max(counts_without_standbys(stay_or_in_turn, crew)) <= -(-len(crew.active) // len(crew.members))


def test_in_2_4_and_2_5_somebody_may_get_nothing():
    """New tasks go round from the first member that has room, though it has some already (bytecode of 2.5.1)."""
    first, second = TaskId(0, 0), TaskId(0, 1)
    owners = {first: frozenset({"a"}), second: frozenset({"b"})}
    crew = Crew(members="abc", active=[first, second, TaskId(0, 2), TaskId(0, 3)], owners=owners)

    assert [2, 2, 0] == counts_without_standbys(stay_or_in_turn, crew)


@given(crews())
def test_since_3_2_members_are_even_in_all_their_tasks_together(crew):
    counts = [len(share.active) + len(share.standby) for share in by_lag_and_load([crew], False).values()]

    assert max(counts) - min(counts) <= 1


@given(crews())
def test_before_3_2_standbys_are_dealt_without_a_look_at_active_tasks(crew):
    counts = [len(share.standby) for share in by_lag([crew], False).values()]

    assert max(counts) - min(counts) <= 1


def test_up_to_2_3_sorted_tasks_are_dealt_in_turn():
    shares = in_turn([crew(["b", "a"], ["1_0", "0_1", "0_0"], ["2_0", "3_0"])], False)

    assert {
        "a": Share(tasks("0_0", "1_0"), tasks("2_0")),
        "b": Share(tasks("0_1"), tasks("3_0")),
    } == shares


def test_in_2_4_tasks_stay_with_their_members():
    owners = {"0_0": ["b"], "0_1": ["b"], "0_2": ["a"]}

    shares = stay_or_in_turn([crew(["a", "b"], ["0_0", "0_1", "0_2", "0_3"], owners=owners)], False)

    assert {"a": Share(tasks("0_2", "0_3")), "b": Share(tasks("0_0", "0_1"))} == shares


def test_in_2_4_what_is_new_is_dealt_in_turn_to_those_with_room():
    shares = stay_or_in_turn([crew(["a", "b"], ["0_0", "0_1", "0_2", "0_3"], owners={"0_3": ["b"]})], False)

    assert {"a": Share(tasks("0_0", "0_2")), "b": Share(tasks("0_1", "0_3"))} == shares


@pytest.mark.parametrize(
    "owners",
    [
        pytest.param({"0_0": [NOT_IN_THIS_PROCESS], "0_1": ["b"]}, id="an owner elsewhere"),
        pytest.param({"0_0": ["b"], "0_1": ["b"]}, id="too many with one member"),
        pytest.param({"0_0": ["a", "b"]}, id="two owners of one task"),
    ],
)
def test_in_2_4_tasks_are_dealt_in_turn_if_one_has_to_move(owners):
    shares = stay_or_in_turn([crew(["a", "b"], ["0_0", "0_1"], owners=owners)], False)

    assert {"a": Share(tasks("0_0")), "b": Share(tasks("0_1"))} == shares


def test_in_2_4_no_client_tries_to_stay_once_another_one_could_not():
    moving = crew(["a1", "a2"], ["0_0", "0_1"], owners={"0_0": [NOT_IN_THIS_PROCESS]})
    staying = crew(["b1", "b2"], ["0_2", "0_3"], owners={"0_2": ["b2"], "0_3": ["b1"]})

    assert Share(tasks("0_3")) == stay_or_in_turn([staying, moving], False)["b1"]
    assert Share(tasks("0_2")) == stay_or_in_turn([moving, staying], False)["b1"]
    assert Share(tasks("0_2")) == stay_or_in_turn([staying], True)["b1"]  # and none while somebody is probed


def test_since_2_6_members_take_back_what_they_are_least_behind_with():
    stateful = ["0_0", "0_1", "0_2", "0_3"]

    shares = by_lag([crew(["a", "b"], stateful, stateful=stateful, had={"a": ["0_3", "0_2", "0_1"]})], False)

    assert {"a": Share(tasks("0_2", "0_3")), "b": Share(tasks("0_0", "0_1"))} == shares


def test_since_2_6_the_odd_task_goes_to_its_previous_owner():
    stateful = ["0_0", "0_1", "0_2"]
    had = {"a": ["0_0"], "b": ["0_2", "0_1"]}

    shares = by_lag([crew(["a", "b"], stateful, stateful=stateful, had=had)], False)

    assert {"a": Share(tasks("0_0")), "b": Share(tasks("0_1", "0_2"))} == shares


def test_since_2_6_stateless_tasks_go_first_to_those_with_one_task_less():
    active = ["0_0", "1_0", "1_1"]

    shares = by_lag([crew(["a", "b"], active, stateful=["0_0"])], False)

    assert {"a": Share(tasks("0_0", "1_1")), "b": Share(tasks("1_0"))} == shares


def test_since_3_2_who_has_standbys_gets_fewer_stateless_tasks():
    active, standby = ["0_0", "1_0"], ["2_0", "2_1"]

    shares = by_lag_and_load([crew(["a", "b"], active, standby, stateful=["0_0", *standby])], False)

    assert {"a": Share(tasks("0_0"), tasks("2_1")), "b": Share(tasks("1_0"), tasks("2_0"))} == shares
