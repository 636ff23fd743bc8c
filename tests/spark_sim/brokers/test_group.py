"""A group that watches a feature: KIP-584's T3 to T5 with real members."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_sim.brokers.group import Group
from spark_sim.brokers.scenario import MEMBERS
from upgrade import ConfigException
from upgrade.features.rpc import Described, Listener

FLAG = "group.version"


def answer(level, epoch):
    return Described(Listener.BROKER, epoch, {}, {FLAG: level} if level else {})


def test_nobody_knows_anything_at_first():
    assert dict.fromkeys(MEMBERS, 0) == Group.watching(FLAG).levels


def test_what_the_leader_hears_reaches_everybody():
    assert {1} == set(Group.watching(FLAG).asks(answer(1, 5)).levels.values())


def test_an_older_answer_is_ignored_and_no_news_makes_no_rebalance():
    group = Group.watching(FLAG).asks(answer(2, 5))

    after = group.asks(answer(1, 4))

    assert group.members is after.members
    assert group.heard == after.heard


def test_a_new_leader_has_heard_nothing_and_learns_it_from_the_others():
    group = Group.watching(FLAG).asks(answer(2, 5)).restarted("A")

    assert "B" == group.leader
    assert group.heard is None
    assert {2} == set(group.asks(answer(1, 4)).levels.values())


def test_what_is_no_feature_cannot_be_watched():
    with pytest.raises(ConfigException, match="expected names of features to watch"):
        Group.watching("x" * 256)


EVENTS = st.lists(
    st.one_of(st.sampled_from(MEMBERS), st.builds(answer, st.integers(0, 3), st.integers(0, 9))), max_size=8
)


@given(EVENTS)
def test_the_group_never_goes_back_whoever_restarts_and_whatever_is_heard(events):
    group, highest = Group.watching(FLAG), 0
    for event in events:
        group = group.restarted(event) if isinstance(event, str) else group.asks(event)

        assert {group.levels["A"]} == set(group.levels.values())
        assert highest <= group.levels["A"]
        highest = group.levels["A"]
