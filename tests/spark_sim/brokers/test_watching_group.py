"""A group that watches a feature: KIP-584's T3 to T5 with real members."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.spark_sim.brokers._watching_group import WatchingGroup
from streams_assignor.spark_sim.brokers.scenario import GROUP_MEMBERS
from streams_assignor.upgrade import ConfigException
from streams_assignor.upgrade.cluster.features.rpc import FeatureMetadata, Listener

FLAG = "group.version"


def answer(level, epoch):
    return FeatureMetadata(Listener.BROKER, epoch, {}, {FLAG: level} if level else {})


def test_no_member_has_a_level_at_first():
    assert dict.fromkeys(GROUP_MEMBERS, 0) == WatchingGroup.watching(FLAG).levels


def test_a_level_that_the_leader_receives_reaches_every_member():
    assert {1} == set(WatchingGroup.watching(FLAG).with_answer(answer(1, 5)).levels.values())


def test_an_older_answer_is_ignored_and_no_news_makes_no_rebalance():
    group = WatchingGroup.watching(FLAG).with_answer(answer(2, 5))

    after = group.with_answer(answer(1, 4))

    assert group.levels is after.levels
    assert group.newest_answer == after.newest_answer


def test_a_new_leader_learns_the_level_from_the_other_members():
    group = WatchingGroup.watching(FLAG).with_answer(answer(2, 5)).with_member_restarted("A")

    assert "B" == group.leader
    assert group.newest_answer is None
    assert {2} == set(group.with_answer(answer(1, 4)).levels.values())


def test_what_is_no_feature_cannot_be_watched():
    with pytest.raises(ConfigException, match="expected names of features to watch"):
        WatchingGroup.watching("x" * 256)


EVENTS = st.lists(
    st.one_of(st.sampled_from(GROUP_MEMBERS), st.builds(answer, st.integers(0, 3), st.integers(0, 9))), max_size=8
)


@given(EVENTS)
def test_the_level_of_the_group_never_decreases(events):
    group, highest = WatchingGroup.watching(FLAG), 0
    for event in events:
        group = group.with_member_restarted(event) if isinstance(event, str) else group.with_answer(event)

        assert {group.levels["A"]} == set(group.levels.values())
        assert highest <= group.levels["A"]
        highest = group.levels["A"]
