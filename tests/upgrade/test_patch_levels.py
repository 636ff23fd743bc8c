"""Plans between releases of which a patch level is not known."""

import pytest

from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.hazards import WayBackVerdict
from streams_assignor.upgrade.patch_levels import advise_between, is_same_release
from streams_assignor.upgrade.plans import Plan
from streams_assignor.upgrade.releases import resolve_release


def advised(origin, target, **further):
    return advise_between(resolve_release(origin), resolve_release(target), **further)


def shown(advice):
    return "; ".join(map(str, (*advice.warnings, *(step.if_skipped for step in advice.steps))))


def test_an_upgrade_to_confluent_5_2_1_meets_kafka_8649():
    advice = advised("5.0.0-ccs", "5.2.1-ccs")

    assert ("2.2.0", Plan.TWO_BOUNCES, ()) == (advice.target, advice.plan, advice.guidance.if_met)
    assert "KAFKA-8649" in shown(advice)
    assert WayBackVerdict.OFFLINE is advice.steps[-1].way_back.verdict
    assert (
        "5.2.1-ccs can be any release from 2.2.0 to 2.2.2, which differ for this plan: it is that of 2.2.0, the worst, "
        "with the hazards of all; to be precise, name the release of Kafka",
    ) == advice.patch_levels


@pytest.mark.parametrize(
    ("origin", "target", "end", "taken", "plan"),
    [
        ("0.10.0", "4.1.0-ccs", "target", "1.1.0", Plan.OFFLINE),  # KAFKA-6054
        ("0.10.0", "1.1.x", "target", "1.1.0", Plan.OFFLINE),
        ("3.4", "3.5.x", "target", "3.5.0", Plan.OFFLINE),  # the hotfix of 3.5.2
        ("5.2.1-ccs", "2.8", "origin", "2.2.0", Plan.TWO_BOUNCES),
    ],
)
def test_the_worst_release_of_the_line_is_planned(origin, target, end, taken, plan):
    advice = advised(origin, target)

    assert (taken, plan) == (getattr(advice, end), advice.plan)
    assert [True] == [f": it is that of {taken}, the worst, " in text for text in advice.patch_levels]
    assert advice.plan.value == advice.as_json()["plan"]


def test_a_patch_release_that_the_table_lacks_keeps_its_name_and_behaves_like_the_worst():
    advice = advised("3.4", "3.5.9")

    assert ("3.5.9", Plan.OFFLINE) == (advice.target, advice.plan)
    assert ("3.5.9 is assumed to behave like 3.5.0",) == advice.assumed
    assert advice.patch_levels[0].endswith("to be precise, say --assume with the release that it behaves like")
    assert Plan.TWO_BOUNCES is advise_between(resolve_release("3.4"), resolve_release("3.5.9", "3.5.2")).plan


def test_hazards_and_warnings_are_those_of_all_releases_of_the_line():
    assert {"brokers-before-0.11"} <= {each.name for each in advised("5.0.0-ccs", "5.2.1-ccs").hazards}
    assert "leak-of-4.3.0" in {each.name for each in advised("4.2", "4.3.9").hazards}
    assert "KAFKA-10455" in shown(advised("2.5", "6.0.3-ccs"))
    assert "KAFKA-9335" in shown(advised("2.3", "2.4.9"))


def test_if_the_releases_of_a_line_are_alike_for_a_plan_the_verdict_says_nothing_of_them():
    advice = advised("cp-7.6", "4.4")

    assert () == advice.patch_levels
    assert (
        "Confluent Platform 7.6 contains Kafka 3.6",
        "cp-7.6 can be any release from 3.6.0 to 3.6.2: the plan is the same for all",
    ) == advice.notes


def test_a_line_is_its_newest_release_and_a_note_says_if_an_older_one_has_another_plan():
    assert (
        "2.3 is taken for its newest release, 2.3.1; from 2.3.0 the plan or its hazards differ: name the release that "
        "runs",
    ) == advised("2.3", "4.4").notes
    assert () == advised("2.8", "4.4").notes == advised("2.3.1", "4.4").notes == advised("0.10.0", "4.4").notes


def test_the_last_release_of_a_line_may_be_later_than_an_open_one():
    assert ("2.2.2", "2.2.0") == (advised("2.2.2", "2.2.x").origin, advised("2.2.2", "2.2.x").target)


def test_an_upgrade_inside_a_line_is_no_downgrade():
    advice = advised("6.0.0-ccs", "6.0.3-ccs")

    assert ("2.6.0", Plan.ONE_BOUNCE) == (advice.origin, advice.plan)
    assert "static" not in " ".join(each.name for each in advice.hazards)


@pytest.mark.parametrize(("origin", "target"), [("7.6.1-ccs", "7.6.1-ccs"), ("2.8", "2.8.2"), ("3.9.7", "3.9.7")])
def test_there_is_no_plan_from_a_release_to_itself(origin, target):
    assert is_same_release(resolve_release(origin), resolve_release(target))
    with pytest.raises(UpgradeError, match=f"{origin} is already {target}: nothing to do"):
        advised(origin, target)


def test_an_offline_plan_is_offline_for_all():
    assert Plan.OFFLINE is advised("5.0.0-ccs", "5.2.1-ccs", offline=True).plan
