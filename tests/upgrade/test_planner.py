"""The advice, and the matrix it is judged by."""

import json
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_assignor.upgrade import Plan, Upgrade, UpgradeError, advise, release_named
from streams_assignor.upgrade.plans import (
    Obstacle,
    all_plans,
    all_upgrades,
    documented_plan,
    is_downgrade,
    kip_268_cells,
    kip_268_upgrades,
    obstacles,
    order_by_capability,
    upgrade_from_value,
)
from streams_assignor.upgrade.releases import NEWEST_OF_LINE, RELEASES, resolve_release
from streams_assignor.upgrade.upgrade_from import UpgradeFromEffect, line_number

CELLS = list(kip_268_cells())
KAFKA = [release for release in RELEASES.values() if release.is_released]
LINES = [release for release in NEWEST_OF_LINE.values() if release.is_released]
pairs = st.lists(st.sampled_from(list(RELEASES.values())), min_size=2, max_size=2, unique=True)


def advice(origin, target):
    return advise(release_named(origin), release_named(target))


def test_the_matrix_has_the_28_cells_of_the_kip_and_three_plans_in_each():
    assert 28 == len(CELLS)
    assert 84 == len(kip_268_upgrades())


def test_the_newest_release_stands_for_a_line_and_the_promised_one_for_0_10_1_as_a_target():
    assert ("0.10.0.1", "0.10.1.2") == tuple(map(str, CELLS[0]))
    assert ("2.0.1", "simulated-4") == tuple(map(str, CELLS[-1]))


@pytest.mark.unmeasured
@pytest.mark.parametrize(("origin", "target"), CELLS, ids=lambda release: release.name)
def test_the_advice_is_what_the_kip_documents(origin, target):
    found = advise(origin, target)
    crosses = origin.supported_version < 3 and origin.supported_version < target.supported_version

    assert (Plan.TWO_BOUNCES if crosses else Plan.ONE_BOUNCE) is found.plan
    assert (origin.line if crosses else None) == found.upgrade_from
    assert len(found.steps) == (2 if crosses else 1)
    assert 1 == sum(
        upgrade.is_documented for upgrade in kip_268_upgrades() if (origin, target) == (upgrade.origin, upgrade.target)
    )


def test_1_1_to_2_0_takes_two_bounces_with_upgrade_from():
    found = advice("1.1", "2.0")

    assert [
        'bounce every member to 2.0.1 with upgrade.from="1.1", one by one',
        "remove upgrade.from and bounce every member again, one by one",
    ] == [str(step.do) for step in found.steps]
    assert "unable to decode subscription data: version=3" in str(found.steps[0].if_skipped)
    assert {
        "from": "1.1.1",
        "to": "2.0.1",
        "plan": "two_bounces",
        "upgrade_from": "1.1",
    }.items() <= found.as_json().items()


def test_offline_is_always_possible():
    found = advise(release_named("1.1"), release_named("2.0"), offline=True)

    assert (Plan.OFFLINE, None, ()) == (found.plan, found.upgrade_from, found.warnings)
    assert str(found.steps[0].do).startswith("stop every member of 1.1.1")


def test_going_back_below_2_0_is_offline_only():
    assert Plan.OFFLINE is advice("2.0", "1.1").plan


def test_going_back_to_2_0_is_one_bounce_for_one_topic_and_one_thread():
    """More of either is assigned wrongly if a member of 2.3 is probed again (KAFKA-8649)."""
    found = advice("2.3.1", "2.0")

    assert (Plan.TWO_BOUNCES, "1.1") == (found.plan, found.upgrade_from)
    assert Plan.ONE_BOUNCE is found.guidance.if_met[0].plan


def test_kafka_8649_makes_going_back_offline_only():
    """It was once "one bounce, or the leader last", and the sweep found nine schedules in ten unsafe."""
    found = advice("2.3.0", "2.0")

    assert Plan.OFFLINE is found.plan
    assert "KAFKA-8649" in str(found.warnings[-1])


def test_the_same_release_is_nothing_to_do():
    with pytest.raises(UpgradeError, match="nothing to do"):
        advice("2.0", "2.0.1")


def test_no_value_where_none_is_accepted_or_needed():
    assert upgrade_from_value(release_named("2.0"), release_named("simulated-4")) is None
    assert upgrade_from_value(release_named("0.10.0"), release_named("1.1.0")) is None


def test_a_cell_goes_by_the_lines_of_the_kip_or_by_what_it_was_called():
    first = kip_268_upgrades()[0]

    assert ("0.10.0", "0.10.1") == first.display_names
    assert ("a", "b") == Upgrade(first.origin, first.target, first.plan, labels=("a", "b")).display_names


def test_rounds_of_the_plans():
    one, two, offline = kip_268_upgrades()[:3]

    assert [None] == [each.upgrade_from for each in one.rounds] == [each.upgrade_from for each in offline.rounds]
    assert ["0.10.0", None] == [each.upgrade_from for each in two.rounds]


# -- every pair of releases -------------------------------------------------------------------------------------------

HELD_BACK_BY = {
    Obstacle.VERSION: UpgradeFromEffect.OLD_VERSION,
    Obstacle.PROTOCOL: UpgradeFromEffect.EAGER,
    Obstacle.FOREIGN_KEY_JOINS: UpgradeFromEffect.OLD_FOREIGN_KEY_JOINS,
    Obstacle.REPARTITIONING: UpgradeFromEffect.OLD_REPARTITIONING,
}


@pytest.mark.unmeasured
@pytest.mark.parametrize("origin", KAFKA, ids=str)
def test_two_bounces_hold_back_all_that_is_in_the_way(origin):
    """...and members start with the value, for every pair of releases."""
    for target in KAFKA:
        if origin == target or documented_plan(origin, target) is not Plan.TWO_BOUNCES:
            continue
        behind, ahead = order_by_capability(origin, target)
        value = upgrade_from_value(origin, target)
        first, second = Upgrade(origin, target, Plan.TWO_BOUNCES, value).rounds

        assert ahead.can_start_with(value), target
        assert {HELD_BACK_BY[each] for each in obstacles(origin, target)} <= set(ahead.upgrade_from_effects(value)), (
            target
        )
        assert (ahead, value) == (first.release, first.upgrade_from)
        assert (target, None) == (second.release, second.upgrade_from)
        assert behind.rebalance_protocol() == ahead.rebalance_protocol(value), target


@pytest.mark.unmeasured
@pytest.mark.parametrize("origin", KAFKA, ids=str)
def test_one_bounce_has_nothing_in_the_way(origin):
    for target in KAFKA:
        if documented_plan(origin, target) is Plan.ONE_BOUNCE:
            assert origin.rebalance_protocol() == target.rebalance_protocol(), target
            assert min(origin.supported_version, target.supported_version) >= 3 or (
                origin.supported_version == target.supported_version
            ), target


@given(pairs)
def test_there_is_advice_for_every_pair(pair):
    found = advise(*pair)
    offline = advise(*pair, offline=True)

    assert found.steps
    assert all(step.do and step.why and step.if_skipped for advice in (found, offline) for step in advice.steps)
    assert (found.plan is Plan.TWO_BOUNCES) == (found.upgrade_from is not None)
    assert (Plan.OFFLINE, None, 2) == (offline.plan, offline.upgrade_from, len(offline.steps))
    assert {"from", "to", "plan", "upgrade_from", "steps", "warnings"} <= json.loads(json.dumps(found.as_json())).keys()


@given(pairs)
def test_the_way_back_has_the_same_obstacles(pair):
    origin, target = pair
    there, back = (set(obstacles(*each)) - {Obstacle.OVERSHOT} for each in ((origin, target), (target, origin)))

    assert there == back
    assert not (is_downgrade(origin, target) and is_downgrade(target, origin))
    assert origin.number == target.number or is_downgrade(origin, target) or is_downgrade(target, origin)


@given(pairs)
def test_a_way_with_a_bridge_is_made_of_ways_that_roll(pair):
    origin, target = pair
    via = [RELEASES[name] for name in advise(origin, target).via]

    if via:
        assert documented_plan(origin, target) is Plan.OFFLINE
        assert all(documented_plan(*hop) is not Plan.OFFLINE for hop in pairwise([origin, *via, target]))


@pytest.mark.unmeasured
@pytest.mark.parametrize("origin", [each for each in LINES if each.rebalance_protocol() == "eager"], ids=str)
@pytest.mark.parametrize("target", ["4.0.0", "4.1.2", "4.2.0", "4.3.1"])
def test_from_2_3_and_older_into_4_it_takes_a_bridge_and_three_bounces(origin, target):
    found = advise(origin, RELEASES[target])

    # Leaders of 2.0 and 2.1 would probe with wrong answers (KAFKA-8649).
    value = "1.1" if origin.line in {"2.0", "2.1"} else origin.line
    assert (("3.9.2",), Plan.TWO_BOUNCES, value) == (found.via, found.plan, found.upgrade_from)
    assert [
        f'bounce every member to 3.9.2 with upgrade.from="{value}", one by one',
        "remove upgrade.from and bounce every member again, one by one",
        f"bounce every member to {target}, one by one",
    ] == [str(step.do) for step in found.steps]
    assert ["3.9.2"] == json.loads(json.dumps(found.as_json()))["via"]


def test_without_a_bridge_there_is_no_via():
    assert "via" not in advice("2.0", "2.1").as_json()


def test_the_bridge_works_backwards_too():
    found = advice("4.3", "2.3")

    assert ("3.9.2",) == found.via
    assert 'bounce every member with upgrade.from="2.3", still as 3.9.2' in str(found.steps[1].do)
    assert "bounce every member to 2.3.1" in str(found.steps[2].do)


def test_no_bridge_release_is_named_where_no_rolling_downgrade_exists():
    assert (Plan.OFFLINE, ()) == (advice("4.3", "1.1").plan, advice("4.3", "1.1").via)


def test_going_back_over_a_format_takes_two_bounces_and_time():
    found = advice("3.9", "3.4")

    assert (Plan.TWO_BOUNCES, "3.4") == (found.plan, found.upgrade_from)
    assert "wait until the records written before are processed" in str(found.steps[0].do)


def test_going_back_from_cooperative_to_eager_takes_two_bounces():
    first, second = advice("2.4", "2.3").steps

    assert 'with upgrade.from="2.3", still as 2.4.1, one by one' in str(first.do)
    assert "wait" not in str(first.do)
    assert "two owners" in str(first.if_skipped)
    assert "remove upgrade.from and bounce every member to 2.3.1, one by one" == str(second.do)


def test_members_of_ours_that_are_eager_count_as_2_3():
    ours, cooperative = RELEASES["simulated-4"], RELEASES["3.9.2"]

    assert "2.3" == upgrade_from_value(ours, cooperative)
    assert not any("RocksDB" in str(text) for text in advise(cooperative, ours).warnings)


# -- all plans --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["2.4.1", "3.9.2", "4.3.1", "1.1.1"])
def test_every_plan_starts_and_has_the_documented_one(target):
    for origin in RELEASES.values():
        if origin.is_released and origin.name != target:
            found = list(all_plans(origin, RELEASES[target]))

            assert 1 == sum(each.is_documented for each in found), origin
            for each in found:
                assert all(round_.release.can_start_with(round_.upgrade_from) for round_ in each.rounds)


def test_every_plan_has_values_of_every_kind_and_also_left_in():
    found = {(each.plan.value, each.upgrade_from) for each in all_plans(RELEASES["2.3.1"], RELEASES["3.9.2"])}

    assert {("two_bounces", "2.3"), ("two_bounces", "1.1"), ("two_bounces", "0.10.0"), ("one_bounce", "2.3")} <= found
    assert ("one_bounce", None) in found
    assert ("offline", None) in found


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.slow), 20])
def test_everything_is_every_pair_of_kafkas_releases_and_no_plan_twice(step, monkeypatch):
    kept = [*KAFKA][::step]
    monkeypatch.setattr("streams_assignor.upgrade.plans.RELEASES", {str(each): each for each in kept})
    upgrades = all_upgrades()

    assert len(kept) * (len(kept) - 1) == len({(each.origin, each.target) for each in upgrades})
    assert len(upgrades) == len(set(upgrades))


# -- the upgrade guides that Kafka has published ----------------------------------------------------------------------

# "If upgrading from ... or below, you will need to do two rolling bounces": target lines and the newest such origin.
GUIDES = {
    "2.0": "1.1",
    "2.1": "1.1",
    "2.2": "1.1",
    "2.3": "1.1",
    **dict.fromkeys(("2.4", "2.5", "2.6", "2.7", "2.8", "3.0", "3.1", "3.2"), "2.3"),
    **dict.fromkeys(("3.3", "3.4"), "3.2"),
    **dict.fromkeys((release.line for release in LINES if release.number >= (3, 5)), "3.4"),
}
# Before 2.0: two bounces from 0.10.0 to the fixed releases, offline to the others.


def guide_says_two(origin, target):
    return line_number(origin.line) <= line_number(GUIDES[target.line])


def test_the_plans_are_those_of_the_published_guides_but_for_4_x():
    """Each guide's first paragraph; that of 4.0 still offers values that 4.0 refuses at start-up."""
    compared, different = 0, set()
    for origin, target in product(LINES, LINES):
        if target.line not in GUIDES or origin.number >= target.number:
            continue
        compared += 1
        if (documented_plan(origin, target) is not Plan.ONE_BOUNCE) != guide_says_two(origin, target):
            different.add((origin.line, target.line))
        elif documented_plan(origin, target) is Plan.OFFLINE:
            different.add(("eager", target.line))

    assert compared
    assert {("eager", line) for line in GUIDES if line_number(line) >= (4, 0)} == different


@pytest.mark.parametrize("target", [each for each in KAFKA if (0, 10, 1) <= each.number < (2, 0)], ids=str)
def test_before_2_0_the_guides_say_offline_but_to_the_fixed_releases(target):
    fixed = target.name in {"0.10.2.2", "0.11.0.3", "1.0.2", "1.1.1"}

    assert (Plan.TWO_BOUNCES if fixed else Plan.OFFLINE) is documented_plan(RELEASES["0.10.0.1"], target)


def test_nothing_that_was_assumed_is_called_checked_or_sourced():
    """4.4 does not exist in the table, and "upgrade guide of 4.4" was its source."""
    found = advise(release_named("2.3"), resolve_release("4.9", assume="4.3").release)

    assert ("4.9.0 is assumed to behave like 4.3.1",) == found.assumed
    assert () == found.checked.checked
    assert str(found.checked).startswith("not checked: 4.9.0 is assumed to behave like 4.3.1, metadata versions, ")
    assert [
        "KIP-429, KIP-904, upgrade guide of 3.9",
        "KIP-429, KIP-904, upgrade guide of 3.9",
        "none (4.9.0 is assumed to behave like 4.3.1)",
    ] == [step.source.replace("KAFKA-13769, ", "") for step in found.steps]
    assert {"assumed": ["4.9.0 is assumed to behave like 4.3.1"], "checked": []}.items() <= found.as_json().items()
    assert [] == advice("2.3", "4.3").as_json()["assumed"]
