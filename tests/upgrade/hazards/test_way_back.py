"""The way back after each step of a plan."""

import json

import pytest

from streams_assignor.upgrade import Plan, advise, release_named
from streams_assignor.upgrade.hazards import WayBackVerdict
from streams_assignor.upgrade.releases import NEWEST_OF_LINE
from streams_assignor.upgrade.verdict import TopologyFacts, TopologyFeature

LINES = [release for release in NEWEST_OF_LINE.values() if release.is_released]


def ways_back(origin, target, *, offline=False):
    return [step.way_back for step in advise(release_named(origin), release_named(target), offline=offline).steps]


def test_before_upgrade_from_is_removed_a_bounce_leads_back():
    pinned, done = ways_back("1.1", "2.0")

    assert WayBackVerdict.OPEN is pinned.verdict
    assert "until upgrade.from is removed, bounce every member that has 2.0.1 to 1.1.1 again" == pinned.how
    assert WayBackVerdict.OFFLINE is done.verdict


def test_records_of_the_new_format_are_processed_before_the_way_back():
    assert "wait until the records written before are processed, then bounce to 3.4.1" in ways_back("3.4", "3.9")[1].how


@pytest.mark.parametrize(
    ("origin", "target", "line"),
    [("2.2", "2.3", "2.3"), ("2.8", "3.0", "3.0"), ("3.9", "4.0", "4.0"), ("4.2", "4.3", "4.3")],
)
def test_stores_of_a_newer_format_are_lost_on_the_way_back(origin, target, line):
    way = ways_back(origin, target)[-1]

    assert WayBackVerdict.LOSSY is way.verdict
    assert f"cannot open the stores of {line}: start each member with an empty state directory" in way.how
    assert f"upgrade guide of {line}" in way.source


def test_upgrade_from_does_not_keep_the_stores_of_4_3_readable():
    """Seen with 4.3.1 and 4.2.1: the column family of the offsets is there with the value too."""
    pinned, _ = ways_back("2.8", "4.3")

    assert WayBackVerdict.LOSSY is pinned.verdict


BOTH = frozenset({TopologyFeature.FOREIGN_KEY_JOINS, TopologyFeature.REPARTITIONED_TABLES})


@pytest.mark.parametrize(
    ("origin", "target", "absent", "ways"),
    [
        ("3.3", "3.9", BOTH, ["at any time, bounce every member that has 3.9.2 to 3.3.2 again"]),
        ("3.9", "3.3", BOTH, ["at any time, bounce every member that has 3.3.2 to 3.9.2 again"]),
        (
            "2.3",
            "3.9",
            BOTH,
            [
                "until upgrade.from is removed, bounce every member that has 3.9.2 to 2.3.1 again",
                'set upgrade.from="2.3" again and bounce every member, still as 3.9.2, then bounce to 2.3.1',
            ],
        ),
    ],
)
def test_a_feature_that_the_topology_lacks_asks_for_nothing_on_the_way_back_either(origin, target, absent, ways):
    """The words said two bounces, and that records are processed first, where one bounce leads back."""
    facts = TopologyFacts(absent=absent)
    steps = advise(release_named(origin), release_named(target), facts=facts).steps

    assert ways == [step.way_back.how.partition("; ")[0] for step in steps]


def test_stores_of_the_same_format_stay():
    assert WayBackVerdict.OPEN is ways_back("3.6", "3.9")[0].verdict


def test_static_members_wait_on_the_way_back_to_a_lower_version():
    assert "a static member waits until its session has timed out" in ways_back("2.5", "2.8")[0].how
    assert "static" not in ways_back("3.6", "3.9")[0].how


def test_a_downgrade_is_undone_by_the_upgrade():
    held_back, done = ways_back("3.9", "2.3")

    assert "remove upgrade.from and bounce every member, still as 3.9.2" == held_back.how
    assert 'bounce every member to 3.9.2 with upgrade.from="2.3", then remove it and bounce again' == done.how


def test_a_stopped_group_starts_as_it_was():
    stopped, started = ways_back("1.1", "2.0", offline=True)

    assert WayBackVerdict.OPEN is stopped.verdict
    assert WayBackVerdict.OFFLINE is started.verdict


@pytest.mark.parametrize("plan", [None, pytest.param(Plan.OFFLINE, marks=pytest.mark.slow)])
def test_every_step_has_a_way_back_and_a_source(plan):
    for origin in LINES:
        for target in LINES:
            if origin == target:
                continue
            for step in advise(origin, target, offline=plan is Plan.OFFLINE).steps:
                way = json.loads(json.dumps(step.as_json()))["way_back"]
                assert {"verdict", "how", "source"} == set(way)
                assert step.source
                assert "None" not in way["how"]
