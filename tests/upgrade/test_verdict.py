"""The verdict of a plan, and the conditions on which it depends."""

import pytest

from streams_assignor.upgrade import Plan, UpgradeError, advise, release_named
from streams_assignor.upgrade.verdict import TopologyFacts, TopologyFeature, Verdict, features_named, guidance

JOINS, TABLES = TopologyFeature.FOREIGN_KEY_JOINS, TopologyFeature.REPARTITIONED_TABLES


def found(origin, target, *, present=(), absent=(), offline=False):
    facts = TopologyFacts(frozenset(absent), frozenset(present))
    return guidance(release_named(origin), release_named(target), facts, offline=offline)


def test_the_topology_decides_whether_one_bounce_is_enough():
    unknown = found("2.8", "3.9")

    assert (Verdict.SAFE_IF, ("no foreign-key-joins", "no repartitioned-tables")) == (
        unknown.verdict,
        unknown.conditions,
    )
    assert {"plan": "one_bounce", "upgrade_from": None} == unknown.as_json()["if_met"]


@pytest.mark.parametrize(("feature", "words"), [(JOINS, "foreign-key joins"), (TABLES, "repartitioned tables")])
def test_a_feature_has_a_condition_and_words(feature, words):
    assert (f"no {feature.value}", words) == (feature.condition, feature.words)


def test_without_the_features_one_bounce_is_safe():
    resolved = found("2.8", "3.9", absent=(JOINS, TABLES))

    assert (Verdict.SAFE, Plan.ONE_BOUNCE) == (resolved.verdict, resolved.hops[0].plan)
    assert {"verdict": "safe", "conditions": []} == resolved.as_json()


def test_two_bounces_out_of_3_3_are_unsafe_with_foreign_key_joins():
    """KAFKA-14646."""
    broken = found("3.3", "3.9", present=(JOINS, TABLES))

    assert (Verdict.UNSAFE, ("no foreign-key-joins",)) == (broken.verdict, broken.conditions)
    assert ["no foreign-key-joins"] == broken.as_json()["steps_conditions"]


def test_a_stopped_group_is_safe_and_a_release_needs_no_way_to_itself():
    assert Verdict.SAFE is found("2.8", "3.9", offline=True).verdict
    assert () == found("3.9", "3.9").hops


def test_a_plan_for_a_topology_without_joins_has_no_note_about_them():
    origin, target = release_named("3.3"), release_named("3.9")
    known = TopologyFacts(absent=frozenset({JOINS}))

    notes = [[str(each) for each in advise(origin, target, facts=facts).warnings] for facts in (TopologyFacts(), known)]

    assert [True, False] == [any("KAFKA-14646" in note for note in each) for each in notes]


@pytest.mark.parametrize(
    ("names", "text"),
    [("joins", "unknown feature 'joins'"), (" , ", "no feature is named: expected foreign-key-joins")],
)
def test_a_list_of_features_names_known_ones(names, text):
    with pytest.raises(UpgradeError, match=text):
        features_named(names)
