"""Nodes that lack what is finalised: at the door (B), in the race (R), and while they run (Q)."""

import pytest
from attrs import evolve

from tests.upgrade.features import observed
from tests.upgrade.features.clusters import NEW, OLD, finalized, from_1, kafka, kip_584, kip_778, nodes, request
from upgrade.errors import FeatureError
from upgrade.features.cluster import What
from upgrade.features.levels import METADATA
from upgrade.features.protection import (
    elect,
    give_up,
    learn,
    register,
    start_broker,
    start_controller,
    stop,
    unregister,
)
from upgrade.features.update import Code, update

A2, A3 = {"a": (1, 2)}, {"a": (1, 3)}


def comes(cluster, number, supports, **further):
    """Start a broker and let the controller deal with it."""
    return register(start_broker(cluster, number, supports, **further).cluster, number)


def test_b1_an_incompatible_broker_stops_itself_before_it_registers():
    cluster = kip_584(A3, finalized={"a": 3})

    outcome = start_broker(cluster, 2, A2)

    assert cluster == outcome.cluster
    assert (What.EXITED,) == outcome.happened
    assert "a is finalised at 3, it has 1 to 2" == outcome.events[0].text


def test_b1_the_check_reads_what_is_finalised_not_what_could_be():
    outcome = start_broker(kip_584(A3, finalized={"a": 2}), 2, A2)

    assert (What.ARRIVED,) == outcome.happened
    assert (What.REGISTERED,) == register(outcome.cluster, 2).happened


def test_b1_the_controller_of_kafka_4_refuses_the_registration_and_the_broker_tries_until_its_time_is_up():
    arrived = start_broker(kafka(30), 2, OLD).cluster

    first, second = register(arrived, 2), register(arrived, 2)

    assert [(What.REFUSED, 2, observed.OLD_BROKER_AT_THE_DOOR)] == [
        (event.what, event.node, event.text) for event in first.events
    ]
    assert first == second
    assert (What.EXITED,) == give_up(second.cluster, 2).happened
    assert kafka(30) == give_up(second.cluster, 2).cluster


def test_b1_a_broker_that_still_tries_gets_in_once_the_levels_allow_it():
    waiting = register(start_broker(kafka(22), 2, from_1(OLD)).cluster, 2)
    assert (What.REFUSED,) == waiting.happened

    lowered = evolve(waiting.cluster, finalized={METADATA: 21})

    assert (What.REGISTERED,) == register(lowered, 2).happened


def test_b2_a_watch_fires_and_the_broker_checks_again():
    cluster = evolve(kip_584(A3, A2), finalized={"a": 3})

    outcome = learn(cluster, 2)

    assert (What.EXITED,) == outcome.happened
    assert {1} == outcome.cluster.brokers.keys()
    assert () == learn(cluster, 1).events


def test_b2_a_controller_that_stops_so_leaves_its_office():
    cluster = evolve(kip_584(A2, A3), finalized={"a": 3})

    assert learn(cluster, 1).cluster.active is None
    assert 2 == elect(learn(cluster, 1).cluster, 2).active


def test_b3_every_finalised_feature_has_to_be_supported_and_more_does_not_matter():
    cluster = kip_584({"a": (1, 3), "b": (1, 1)}, finalized={"a": 3, "b": 1})

    assert (What.ARRIVED,) == start_broker(cluster, 2, {"a": (2, 3), "b": (1, 4), "more": (5, 5)}).happened
    assert "b is finalised at 1, it does not have the feature" == start_broker(cluster, 2, A3).events[0].text


def test_b3_kafka_4_holds_a_feature_that_is_not_finalised_against_the_range_as_level_0():
    assert (What.REGISTERED,) == comes(kafka(), 2, {**NEW, "more": (0, 5)}).happened
    assert "does not support finalized version 0 of more. The broker wants a version between 1 and 5" in (
        comes(kafka(), 2, {**NEW, "more": (1, 5)}).events[0].text
    )


def test_b3_kafka_4_misses_a_finalised_feature_that_is_not_advertised():
    few = {METADATA: NEW[METADATA], "kraft.version": (0, 1), "group.version": (0, 1)}

    assert "finalized version 2 of transaction.version. The broker wants a version between 0 and 0, inclusive." in (
        comes(kafka(), 2, few).events[0].text
    )


def test_b3_kafka_4_refuses_nobody_for_kraft_version_as_that_is_no_record():
    cluster = kafka()
    without = {name: found for name, found in NEW.items() if name != "kraft.version"}

    assert 1 == cluster.level_of("kraft.version")
    assert (What.REGISTERED,) == comes(cluster, 2, without).happened
    assert () == learn(comes(cluster, 2, without).cluster, 2).events


def test_b4_below_the_migration_level_a_broker_neither_validates_nor_advertises():
    cluster = kip_584(A3, finalized={"a": 3})

    outcome = comes(cluster, 2, A2, active=False)

    assert (What.REGISTERED,) == outcome.happened
    assert {} == outcome.cluster.brokers[2].supports
    assert () == learn(outcome.cluster, 2).events


def test_b4_below_the_migration_level_a_controller_finalises_nothing():
    cluster = kip_584(A3, enabled=False)

    answer = update(cluster, request("a", 1, 0))

    assert (cluster, Code.INVALID_REQUEST) == (answer.cluster, answer.top.code)


def test_b4_while_the_system_is_off_nobody_is_held_to_anything():
    cluster = kip_584(A2, finalized={"a": 3}, enabled=False)

    assert () == learn(cluster, 1).events
    assert (What.REGISTERED,) == comes(cluster, 2, A2).happened


def test_r1_between_registration_and_watch_an_incompatible_broker_lingers():
    arrived = start_broker(kip_584(A3, finalized={"a": 2}), 2, A2).cluster  # E1
    raised = update(arrived, request("a", 3, 0)).cluster  # E2

    assert {2} == raised.arriving.keys()
    assert (What.EXITED,) == learn(raised, 2).happened  # E3
    assert {} == learn(raised, 2).cluster.arriving


def test_r2_registered_before_the_update_the_broker_makes_it_fail():
    before = comes(kip_584(A3, finalized={"a": 2}), 2, A2).cluster

    answer = update(before, request("a", 3, 0))

    assert Code.FEATURE_UPDATE_FAILED is answer.results["a"].code
    assert before == answer.cluster


def test_r2_after_the_update_the_controller_sees_it_when_it_deals_with_the_registration():
    arrived = start_broker(kip_584(A3, finalized={"a": 2}), 2, A2).cluster
    outcome = register(update(arrived, request("a", 3, 0)).cluster, 2)

    assert (What.SKIPPED,) == outcome.happened
    assert {1} == outcome.cluster.brokers.keys()


def test_r3_a_skipped_broker_stops_when_it_hears_of_the_update():
    arrived = start_broker(kip_584(A3, finalized={"a": 2}), 2, A2).cluster
    skipped = register(update(arrived, request("a", 3, 0)).cluster, 2).cluster

    gone = learn(skipped, 2)

    assert (What.EXITED,) == gone.happened
    assert skipped.brokers == gone.cluster.brokers
    assert {} == gone.cluster.arriving


def test_r3_in_kafka_4_the_order_decides_in_the_same_way():
    arrived = start_broker(kafka(21), 2, OLD).cluster
    before, after = register(arrived, 2).cluster, update(arrived, request(METADATA, 22)).cluster

    assert not update(before, request(METADATA, 22)).top.ok
    assert (What.REFUSED,) == register(after, 2).happened


def test_q2_a_broker_that_lacks_a_level_is_not_registered_and_stays_fenced():
    cluster = kip_778(NEW, finalized={METADATA: 25})

    outcome = comes(cluster, 5, from_1(OLD))

    assert (What.REFUSED,) == outcome.happened
    assert ({4}, {5}) == (outcome.cluster.brokers.keys(), outcome.cluster.arriving.keys())
    assert (What.REGISTERED,) == comes(cluster, 6, {**from_1(NEW), "more": (2, 5)}).happened


@pytest.mark.parametrize(
    "cluster",
    [kip_778(NEW, quorum={1, 3}, finalized={METADATA: 25}), kafka(quorum={1, 3})],
    ids=lambda c: c.dialect.name,
)
def test_q3_a_standby_controller_that_replicates_a_level_it_lacks_terminates(cluster):
    outcome = start_controller(cluster, 3, from_1(OLD))

    assert cluster == outcome.cluster
    assert (What.EXITED,) == outcome.happened


def test_q3_in_the_words_of_kafka():
    outcome = start_controller(kafka(25, quorum={1, 3}), 3, {**NEW, METADATA: (1, 21)})

    assert (
        "Tried to apply FeatureLevelRecord FeatureLevelRecord(name='metadata.version', featureLevel=25), "
        "but this controller only supports versions 1-21"
    ) == outcome.events[0].text


def test_q3_one_that_runs_terminates_when_it_gets_there():
    cluster = kip_778(NEW, OLD, NEW, finalized={METADATA: 21})
    raised = update(cluster, request(METADATA, 22, 0)).cluster  # two of three support it

    outcome = learn(raised, 2)

    assert (What.EXITED,) == outcome.happened
    assert not outcome.cluster.controllers[2].live
    assert () == learn(raised, 3).events


def test_q4_an_active_controller_resigns_and_terminates():
    cluster = evolve(kip_778(OLD, NEW, NEW), finalized={METADATA: 25})

    outcome = learn(cluster, 1)

    assert (What.RESIGNED, What.EXITED) == outcome.happened
    assert outcome.cluster.active is None
    assert 2 == elect(outcome.cluster, 2).active
    with pytest.raises(FeatureError, match="expected a live controller, but 1 has stopped"):
        elect(outcome.cluster, 1)


def test_q5_a_broker_that_meets_a_level_it_lacks_unregisters_and_terminates():
    cluster = evolve(kip_778(NEW, brokers=nodes(n4=OLD)), finalized={METADATA: 25})

    outcome = learn(cluster, 4)

    assert (What.UNREGISTERED, What.EXITED) == outcome.happened
    assert {} == outcome.cluster.brokers


def test_q5_in_kafka_4_it_logs_the_fault_and_exits_when_its_registration_times_out():
    arrived = start_broker(kafka(25), 2, OLD).cluster

    assert (What.LOGGED,) == learn(arrived, 2).happened
    assert arrived == learn(arrived, 2).cluster
    assert (What.EXITED,) == give_up(arrived, 2).happened


def test_a_broker_that_stops_stays_registered_in_kraft_only():
    zookeeper, kraft = kip_584(A3, A3), kafka(brokers=nodes(n1=NEW, n2=NEW))

    assert {1} == stop(zookeeper, 2).brokers.keys()
    assert not stop(kraft, 2).brokers[2].live
    assert {1} == unregister(stop(kraft, 2), 2).cluster.brokers.keys()
    assert {} == stop(start_broker(kraft, 3, NEW).cluster, 3).arriving
    assert 1 == stop(start_broker(kafka(), 1, NEW).cluster, 1).active


def test_a_controller_registers_where_controllers_do():
    assert (What.REGISTERED,) == start_controller(kafka(quorum={1, 2}), 2, NEW).happened
    assert {1, 2} == start_controller(kafka(quorum={1, 2}), 2, NEW).cluster.controllers.keys()
    assert () == start_controller(kafka(14, quorum={1, 2}), 2, NEW).happened
    assert finalized(25) == start_controller(kafka(quorum={1, 2}), 2, NEW).cluster.finalized


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (lambda: register(kafka(), 2), r"expected an arriving broker, one of \[\], got 2"),
        (lambda: give_up(kafka(), 2), "expected an arriving broker"),
        (lambda: learn(kafka(), 7), r"expected a broker or controller, one of \[1\], got 7"),
        (lambda: stop(kafka(), 7), "expected a broker"),
        (lambda: unregister(kafka(), 7), "expected a registered broker"),
        (lambda: elect(kafka(), 7), "expected a controller"),
        (lambda: start_controller(kafka(), 7, NEW), r"expected one of the controllers \[1\], got 7"),
    ],
)
def test_a_node_that_is_not_there_is_named(step, said):
    with pytest.raises(FeatureError, match=said):
        step()
