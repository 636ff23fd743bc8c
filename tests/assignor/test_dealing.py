"""Tasks to members inside a process, as each era of Kafka does it."""

from collections import Counter

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


@st.composite
def crews(draw):
    members = [f"m{number}" for number in range(draw(st.integers(1, 5)))]
    everything = [TaskId(subtopology, partition) for subtopology in range(3) for partition in range(6)]
    active = draw(st.sets(st.sampled_from(everything)))
    stateful = frozenset(task for task in everything if task.subtopology < draw(st.integers(0, 3)))
    standby = draw(st.sets(st.sampled_from(everything))) & stateful - active
    owner = st.sampled_from([*members, NOT_IN_THIS_PROCESS])
    return Crew(
        members=members,
        active=active,
        standby=standby,
        stateful=stateful,
        had={member: draw(st.lists(st.sampled_from(everything), unique=True)) for member in members},
        owners=draw(st.dictionaries(st.sampled_from(everything), st.frozensets(owner, min_size=1, max_size=2))),
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


@pytest.mark.parametrize("deal", DEALS)
@given(crew=crews())
def test_active_tasks_are_dealt_evenly_where_there_are_no_standbys(deal, crew):
    alone = Crew(members=crew.members, active=crew.active, stateful=crew.stateful, had=crew.had, owners=crew.owners)

    counts = [len(share.active) for share in deal([alone], False).values()]

    assert max(counts) - min(counts) <= 1


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
