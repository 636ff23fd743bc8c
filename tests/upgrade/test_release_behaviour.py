"""The table of release behaviour: rows that change something, and columns beside what the sources of Kafka show."""

from itertools import pairwise

import pytest
from attrs import asdict, evolve, fields

from streams_assignor.protocol.member_tasks import MEMBER_TASK_ASSIGNORS
from streams_assignor.upgrade.config_keys import RACK_AWARE_STRATEGIES
from streams_assignor.upgrade.release_behaviour import (
    BEHAVIOURS,
    CURRENT,
    InterimStandby,
    MemberTasksMethod,
    ReleaseBehaviour,
    ReportedTasks,
    behaviour_of,
)
from streams_assignor.upgrade.releases import RELEASES

# Read in the sources: the first release with each value. A value holds until the next row.
COLUMNS = {
    "consumer_protocol_version": {(0, 10): 0, (2, 4): 1, (3, 4): 3},
    "reported_tasks": {
        (0, 10): ReportedTasks.ALL,
        (2, 4): ReportedTasks.ALL_UNLESS_COOPERATIVE,
        (2, 6): ReportedTasks.STATEFUL,
    },
    "stateless_standbys": {(0, 10): True, (2, 6): False},
    "lag_based": {(0, 10): False, (2, 6): True},
    "member_tasks": {
        (0, 10): MemberTasksMethod.ROUND_ROBIN,
        (2, 4): MemberTasksMethod.STICKY_OR_ROUND_ROBIN,
        (2, 6): MemberTasksMethod.STICKY_BY_LAG,
        (3, 2): MemberTasksMethod.BALANCED_BY_LAG,
    },
    "fails_on_missing_lag": {(0, 10): False, (2, 6): True, (3, 1): False},
    "interim_standby": {
        (0, 10): InterimStandby.NEVER,
        (2, 6): InterimStandby.IF_STATEFUL,
        (3, 5, 2): InterimStandby.IF_STANDBY,
    },
    "client_tags": {(0, 10): False, (3, 2): True},
    "least_lag_fallback": {(0, 10): False, (3, 2): True},
    "iterator_order": {(0, 10): False, (2, 6): True, (3, 3): False},
    "rack_strategies": {(0, 10): (), (3, 6): ("min_traffic",), (3, 7): ("min_traffic", "balance_subtopology")},
    "encodes_missing_topics": {(0, 10): False, (2, 1): True},
    "copartition_exception": {(0, 10): "TopologyBuilderException", (2, 0): "TopologyException"},
    "leaves_on_close": {(0, 10): True, (0, 10, 2, 2): False},
}
each_release = pytest.mark.parametrize("release", [each for each in RELEASES.values() if each.kafka_name], ids=str)


@pytest.mark.unmeasured
@each_release
def test_a_release_behaves_as_its_sources_show(release):
    for column, values in COLUMNS.items():
        expected = [value for since, value in values.items() if since <= release.number][-1]
        assert expected == getattr(release.behaviour, column), column


def test_every_row_changes_something_and_rows_rise():
    for before, row in pairwise(BEHAVIOURS):
        assert before.since < row.since
        assert before != evolve(row, since=before.since)


def test_every_column_changes_at_some_release():
    changed = {
        name for row in BEHAVIOURS for name, value in asdict(row).items() if value != asdict(BEHAVIOURS[0])[name]
    }

    assert {each.name for each in fields(ReleaseBehaviour)} == changed


@pytest.mark.unmeasured
@each_release
def test_version_1_has_a_tail_from_0_10_1_to_before_2_0(release):
    assert ((0, 10, 1) <= release.number < (2, 0)) == release.behaviour.version_1_tail


def test_a_backport_does_not_reach_the_next_line():
    assert [(0, 10, 2, 2), (0, 11)] == [behaviour_of(number).since for number in ((0, 10, 2, 2), (0, 11, 0, 2))]
    assert ["g1f", "g1"] == [behaviour_of(number).rule_set for number in ((0, 10, 2, 2), (0, 11, 0, 2))]


def test_a_release_newer_than_the_table_behaves_as_the_newest():
    assert CURRENT is behaviour_of((9, 9)) is BEHAVIOURS[-1]


def test_our_own_members_decide_about_tasks_as_the_newest_release():
    own = [each for each in RELEASES.values() if not each.kafka_name]

    assert {CURRENT.task_columns} == {each.behaviour.task_columns for each in own}
    assert [False, True, True, False, True] == [each.behaviour.encodes_missing_topics for each in own]
    assert [False, False, True, True, True] == [each.leaves_on_close for each in own]


def test_every_method_and_every_strategy_is_implemented():
    assert set(MemberTasksMethod) == set(MEMBER_TASK_ASSIGNORS)
    assert ("none", "min_traffic", "balance_subtopology") == RACK_AWARE_STRATEGIES
