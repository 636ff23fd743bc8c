"""The advice, and the matrix it is judged by."""

import pytest

from upgrade import Plan, UpgradeError, advise, release_named
from upgrade.matrix import cells, kip_268, upgrade_from_value

CELLS = list(cells())


def advice(origin, target):
    return advise(release_named(origin), release_named(target))


def test_the_matrix_has_the_28_cells_of_the_kip_and_three_plans_in_each():
    assert 28 == len(CELLS)
    assert 84 == len(kip_268())


def test_the_newest_release_stands_for_a_line_and_the_promised_one_for_0_10_1_as_a_target():
    assert ("0.10.0.1", "0.10.1.2") == tuple(map(str, CELLS[0]))
    assert ("2.0.1", "simulated-4") == tuple(map(str, CELLS[-1]))


@pytest.mark.parametrize(("origin", "target"), CELLS, ids=lambda release: release.name)
def test_the_advice_is_what_the_kip_documents(origin, target):
    found = advise(origin, target)
    crosses = origin.latest_version < 3 and origin.latest_version < target.latest_version

    assert (Plan.TWO_BOUNCES if crosses else Plan.ONE_BOUNCE) is found.plan
    assert (origin.line if crosses else None) == found.upgrade_from
    assert len(found.steps) == (2 if crosses else 1)
    assert 1 == sum(upgrade.documented for upgrade in kip_268() if (origin, target) == (upgrade.origin, upgrade.target))


def test_1_1_to_2_0_takes_two_bounces_with_upgrade_from():
    found = advice("1.1", "2.0")

    assert [
        'bounce every member to 2.0.1 with upgrade.from="1.1", one by one',
        "remove upgrade.from and bounce every member again, one by one",
    ] == [step.do for step in found.steps]
    assert "unable to decode subscription data: version=3" in found.steps[0].if_skipped
    assert {
        "from": "1.1.1",
        "to": "2.0.1",
        "plan": "two_bounces",
        "upgrade_from": "1.1",
    }.items() <= found.as_json().items()


def test_offline_is_always_possible():
    found = advise(release_named("1.1"), release_named("2.0"), offline=True)

    assert (Plan.OFFLINE, None, ()) == (found.plan, found.upgrade_from, found.warnings)
    assert found.steps[0].do.startswith("stop every member of 1.1.1")


def test_an_unfixed_release_cannot_be_rolled_to():
    found = advice("0.10.0.1", "1.1.0")

    assert (Plan.OFFLINE, None) == (found.plan, found.upgrade_from)
    assert found.warnings[-1].endswith("1.1.1 does")


def test_no_release_of_0_10_1_accepts_it():
    assert advice("0.10.0.1", "0.10.1.1").warnings[-1].endswith("cannot be rolled; 0.10.2.2 does")


def test_going_back_below_2_0_is_offline_only():
    assert Plan.OFFLINE is advice("2.0", "1.1").plan


def test_going_back_to_2_0_is_one_bounce():
    assert Plan.ONE_BOUNCE is advice("2.3.1", "2.0").plan


def test_going_back_is_warned_of_because_of_the_stores():
    assert "empty state directory" in advice("2.3.1", "2.0").warnings[0]


def test_kafka_8649_is_warned_of():
    assert "bounce the leader last" in advice("2.0", "2.1.1").warnings[0]


def test_kafka_8649_makes_going_back_offline_only():
    """It was once "one bounce, or the leader last", and the sweep found nine schedules in ten unsafe."""
    found = advice("2.3.0", "2.0")

    assert Plan.OFFLINE is found.plan
    assert "KAFKA-8649" in found.warnings[-1]


def test_the_same_release_is_nothing_to_do():
    with pytest.raises(UpgradeError, match="nothing to do"):
        advice("2.0", "2.0.1")


def test_no_value_where_none_is_accepted_or_needed():
    assert upgrade_from_value(release_named("2.0"), release_named("simulated-4")) is None
    assert upgrade_from_value(release_named("0.10.0"), release_named("1.1.0")) is None


def test_rounds_of_the_plans():
    one, two, offline = kip_268()[:3]

    assert [None] == [each.upgrade_from for each in one.rounds] == [each.upgrade_from for each in offline.rounds]
    assert ["0.10.0", None] == [each.upgrade_from for each in two.rounds]
