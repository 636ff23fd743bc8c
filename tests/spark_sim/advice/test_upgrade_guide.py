"""The guide that a sweep writes: the least that is safe, bridges, and why Kafka's guides say something else."""

import json
from itertools import pairwise

import pytest
from attrs import evolve

from streams_assignor.spark_sim.advice.upgrade_guide import (
    BOUNCES,
    derive_guide,
    entry_json,
    guide_differences,
    path_text,
)
from streams_assignor.spark_sim.search.cell_result import UpgradeResult
from streams_assignor.spark_sim.sweep.report._guide_tables import (
    difference_rows,
    groups_of_releases,
    guide_summary,
    matrix_rows,
)
from streams_assignor.spark_sim.sweep.report.terminal import guide_table
from streams_assignor.upgrade.planner import documented_hops
from streams_assignor.upgrade.plans import Obstacle, Plan, Upgrade, kip_268_plans
from streams_assignor.upgrade.releases import NEWEST, RELEASES
from tests.spark_sim.made_up import MATRIX, everything, found


def cell(origin, target, *safe):
    """All plans of a pair; only those named are safe."""
    results = [UpgradeResult(upgrade, runs=1) for upgrade in kip_268_plans(RELEASES[origin], RELEASES[target])]
    unsafe = {"violations": 1, "example": "A@2.0.1", "property": "x"}
    return [each if each.upgrade.plan in safe else evolve(each, **unsafe) for each in results]


def way(results, origin, target):
    return derive_guide(results)[RELEASES[origin], RELEASES[target]].path


ONE, TWO, OFFLINE = Plan.ONE_BOUNCE, Plan.TWO_BOUNCES, Plan.OFFLINE


@pytest.mark.parametrize(
    ("safe", "output"),
    [
        ((ONE, TWO, OFFLINE), "one bounce to 2.0.1"),
        ((TWO, OFFLINE), 'two bounces with upgrade.from="1.1" to 2.0.1'),
        ((OFFLINE,), "offline"),
        ((), "offline"),
    ],
)
def test_the_least_safe_plan_is_the_way(safe, output):
    assert output == str(way(cell("1.1.1", "2.0.1", *safe), "1.1.1", "2.0.1"))


def test_what_a_single_bounce_breaks_stands_beside_the_way():
    entry = derive_guide(cell("1.1.1", "2.0.1", TWO))[RELEASES["1.1.1"], RELEASES["2.0.1"]]

    assert "x" == entry.plain_bounce.property
    assert entry_json(entry)["otherwise"] == {"property": "x", "example": "A@2.0.1"}
    assert derive_guide(cell("1.1.1", "2.0.1", ONE))[RELEASES["1.1.1"], RELEASES["2.0.1"]].plain_bounce is None


def test_among_values_it_is_the_one_people_expect_and_else_the_one_that_holds_back_least():
    origin, target = RELEASES["1.0.2"], RELEASES["2.0.1"]
    values = ("0.10.0", "1.1", "1.0")
    two = [UpgradeResult(Upgrade(origin, target, TWO, value), runs=1) for value in values]

    for offered, value in ((two, "1.0"), (two[:2], "1.1")):
        assert [value] == [hop.upgrade.upgrade_from for hop in way(offered, "1.0.2", "2.0.1").hops]


def test_a_value_that_is_never_removed_is_no_plan():
    never_removed = UpgradeResult(Upgrade(RELEASES["1.1.1"], RELEASES["2.0.1"], ONE, "1.1"), runs=1)

    assert () == way([never_removed], "1.1.1", "2.0.1").hops


def test_a_bridge_is_taken_where_there_is_no_direct_way_and_the_newest_of_equals():
    results = [
        *cell("2.3.1", "4.0.0", OFFLINE),
        *(each for bridge in ("2.8.2", "3.9.2") for each in cell("2.3.1", bridge, TWO)),
        *(each for bridge in ("2.8.2", "3.9.2") for each in cell(bridge, "4.0.0", ONE)),
    ]
    found = way(results, "2.3.1", "4.0.0")

    assert (("3.9.2",), 3, "3") == (found.via, found.bounces, found.sign)
    assert 'two bounces with upgrade.from="2.3" to 3.9.2, then one bounce to 4.0.0' == str(found)


def test_a_bridge_lies_between_the_two_and_was_released():
    beyond = [*cell("2.0.1", "2.1.1"), *cell("2.0.1", "2.2.2", ONE), *cell("2.2.2", "2.1.1", ONE)]
    unreleased = [
        *cell("0.10.0.1", "0.11.0.0"),
        *cell("0.10.0.1", "0.10.1.2", TWO),
        *cell("0.10.1.2", "0.11.0.0", ONE),
    ]

    assert "o" == way(beyond, "2.0.1", "2.1.1").sign
    assert "o" == way(unreleased, "0.10.0.1", "0.11.0.0").sign


def test_ways_go_back_too():
    results = [*cell("4.0.0", "2.3.1"), *cell("4.0.0", "3.9.2", ONE), *cell("3.9.2", "2.3.1", TWO)]

    assert ("3.9.2",) == way(results, "4.0.0", "2.3.1").via


@pytest.fixture(scope="module")
def of_everything():
    return derive_guide(everything())


@pytest.mark.slow
def test_a_way_is_made_of_safe_hops_from_end_to_end(of_everything):
    for (origin, target), entry in of_everything.items():
        stops = [origin, *(hop.upgrade.target for hop in entry.path.hops)]

        assert not entry.path.hops or stops[-1] == target
        assert list(pairwise(stops)) == [(hop.upgrade.origin, hop.upgrade.target) for hop in entry.path.hops]
        assert all(hop.holds for hop in entry.path.hops)
        assert entry.path.bounces == sum(BOUNCES[hop.upgrade.plan] for hop in entry.path.hops)


def test_record_formats_are_reported_as_unseen(of_everything):
    unseen = of_everything[RELEASES["2.8.2"], RELEASES["3.9.2"]].unseen_obstacles

    assert (Obstacle.FOREIGN_KEY_JOINS, Obstacle.REPARTITIONING) == unseen


def test_results_that_follow_the_guides_differ_from_them_by_more_bridges_only(of_everything):
    assert {True} == {bool(of_everything[d.origin, d.target].path.via) for d in guide_differences(of_everything)}


def test_the_documented_path_is_described_in_the_same_words():
    output = path_text(documented_hops(RELEASES["2.3.1"], RELEASES["4.3.1"]))

    assert 'two bounces with upgrade.from="2.3" to 3.9.2, then one bounce to 4.3.1' == output
    assert "offline" == path_text(documented_hops(RELEASES["2.0.1"], RELEASES["1.1.1"]))


@pytest.fixture(scope="module")
def kept():
    return guide_summary(everything())


def test_releases_with_the_same_ways_share_a_row(kept):
    _, rows = matrix_rows(kept)
    names = [row[1] for row in rows]

    assert f"4.0.0-{NEWEST}" in names
    assert "2.2.2, 2.3.1" in names
    assert sum(each.is_released for each in RELEASES.values()) == sum(map(len, groups_of_releases(kept)))
    assert len(rows) == guide_table(kept).row_count


def test_a_group_apart_is_not_in_the_row_of_the_others(kept):
    origin, target = (kept["releases"].index(name) for name in ("3.7.0", "4.0.0"))
    row = kept["signs"][origin].split()
    apart = " ".join([*row[:target], "o", *row[target + 1 :]])
    signs = [*kept["signs"][:origin], apart, *kept["signs"][origin + 1 :]]

    assert "3.7.0" in [row[1] for row in matrix_rows(kept | {"signs": signs})[1]]


def test_a_summary_says_what_single_bounces_break_and_is_plain(kept):
    (broken,) = kept["broken"]

    assert ("always: no member fails", True) == (broken["property"], broken["pairs"] > 1000)
    assert kept == json.loads(json.dumps(kept))


def test_differences_are_rows_with_a_reason(kept, of_everything):
    rows = difference_rows(kept)

    assert rows
    assert sum(row[0] for row in rows) == len(guide_differences(of_everything))
    assert kept["unexplained"] == []


def test_the_small_matrix_of_the_kip_is_as_documented():
    assert [] == guide_differences(derive_guide([*MATRIX, found(MATRIX[0].upgrade)]))
