"""Which hazards of a plan concern an application that may run in several ways."""

import pytest
from attrs import evolve

from streams_assignor.upgrade import advise, release_named
from streams_assignor.upgrade.hazards import (
    HAZARDS,
    Answer,
    Application,
    GroupFacts,
    judge_features,
    judge_hazards,
    order_hazards,
)
from streams_assignor.upgrade.verdict import TopologyFeature
from tests.upgrade.hazards.test_conditions import Known, code, settings, topology

YES, NO, UNKNOWN = Answer.YES, Answer.NO, Answer.UNKNOWN


def hazards(*names):
    return [row for row in HAZARDS if row.name in names]


@pytest.mark.parametrize(
    ("profiles", "expected"),
    [
        (["exactly_once", "at_least_once"], YES),
        (["at_least_once", "at_least_once"], NO),
        (["at_least_once", "${G}"], UNKNOWN),
        (["exactly_once", "${G}"], YES),
    ],
)
def test_one_profile_that_a_hazard_concerns_is_enough(profiles, expected):
    applications = [settings(processing_guarantee=value) for value in profiles]
    (found,) = judge_hazards(hazards("exactly-once-removed"), applications)

    assert expected is found.concern.answer


def test_rows_that_a_plan_has_as_one_are_told_apart_by_their_answers():
    (first,) = hazards("kafka-10362")
    rows = [evolve(first, name=name, when=Known(answer, name)) for name, answer in (("a", YES), ("b", NO), ("c", YES))]
    (one,) = order_hazards(rows)
    yes, no = judge_hazards([one], [Application()])

    assert ("a", "b", "c") == one.names
    assert (("a", "c"), ("b",)) == (yes.hazard.names, no.hazard.names)
    assert (("a", "c"), ("b",)) == (yes.concern.evidence, no.concern.evidence)


def test_a_member_stops_if_nothing_but_the_condition_decides():
    certain, chance = (
        judge_hazards(hazards(name), [settings(**{key: value})])[0]
        for name, key, value in (
            ("exactly-once-removed", "processing_guarantee", "exactly_once"),
            ("kafka-14278", "processing_guarantee", "exactly_once"),
        )
    )

    assert (True, False) == (certain.stops_members, chance.stops_members)
    assert not judge_hazards(hazards("exactly-once-removed"), [settings()])[0].stops_members
    assert {"concerns", "because", "decided_by", "name"} <= set(certain.as_json())


@pytest.mark.parametrize(
    ("name", "answer", "expected"),
    [
        ("production-handler-gets-timeouts", UNKNOWN, True),  # loses data, and the code should tell
        ("oauth-urls-refused", UNKNOWN, True),
        ("dead-thread-ends-member", YES, True),
        ("transaction-timeout-10-s", YES, False),  # a step sets the key
        ("idempotent-producers", UNKNOWN, False),  # a look at the brokers
        ("kafka-19012", UNKNOWN, False),  # a bare question, which no file answers
        ("native-library-of-3.0", UNKNOWN, False),
        ("state-listener-of-2.4", YES, False),
        ("dead-thread-ends-member", NO, False),
    ],
)
def test_a_plan_is_not_proven_while_a_grave_hazard_is_open(name, answer, expected):
    """A plan ended with 0 where data could be lost, or where nothing but chance was left."""
    (row,) = hazards(name)
    when = row.when if answer is UNKNOWN else Known(answer)
    (found,) = judge_hazards([evolve(row, when=when)], [Application()])

    assert (answer, expected) == (found.concern.answer, found.is_undecided)
    assert not evolve(found, in_both=True).is_undecided


def test_only_hazards_that_stop_members_are_certain():
    assert {"stops"} == {row.severity.value for row in HAZARDS if row.is_certain}


def test_files_show_the_features_on_which_a_verdict_depends():
    text = """
   Sub-topology: 0
    Source: KSTREAM-SOURCE-0000000000 (topics: [a, b])
      --> none
"""
    found = judge_features(
        [Application(settings=settings(num_stream_threads="2").settings, topology=topology(text).topology)]
    )

    assert {TopologyFeature.SECOND_SOURCE_TOPIC, TopologyFeature.SECOND_THREAD} == found.facts.present
    assert frozenset(TopologyFeature) - found.facts.present == found.facts.absent
    assert "topology.txt has second source topic" == found.concerns[TopologyFeature.SECOND_SOURCE_TOPIC].evidence[0]


def test_without_files_no_feature_is_known():
    facts = judge_features([Application()]).facts

    assert not facts.absent | facts.present


def test_code_alone_decides_joins_and_repartitioned_tables():
    found = judge_features([code(shown={"repartitioned-tables": ("your class A refers to KTable#groupBy",)})]).facts

    assert {TopologyFeature.REPARTITIONED_TABLES} == found.present
    assert {TopologyFeature.FOREIGN_KEY_JOINS, TopologyFeature.SECOND_THREAD} == found.absent


def test_an_application_without_any_part_is_unknown():
    assert not Application()
    assert Application(group=GroupFacts("orders"))


def test_every_hazard_of_a_long_upgrade_gets_an_answer():
    advice = advise(release_named("2.3"), release_named("4.4"))
    found = judge_hazards(advice.hazards, [Application()])

    assert {name for each in advice.hazards for name in each.names} == {
        name for each in found for name in each.hazard.names
    }
