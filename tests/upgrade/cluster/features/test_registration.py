"""Nodes that lack what is finalized: at the door (B), in the race (R), and while they run (Q)."""

import pytest
from attrs import evolve

from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.cluster.features.cluster import EventType
from streams_assignor.upgrade.cluster.features.dialects import KIP_584_OLDER
from streams_assignor.upgrade.cluster.features.registration import (
    elect_controller,
    expire_registration,
    observe_finalized_levels,
    register_broker,
    start_broker,
    start_controller,
    stop_broker,
    unregister_broker,
)
from streams_assignor.upgrade.cluster.features.update_features import Code, update_features
from streams_assignor.upgrade.errors import FeatureError
from tests.upgrade.cluster.features import observed
from tests.upgrade.cluster.features.clusters import (
    NEW,
    OLD,
    finalized,
    from_1,
    kafka,
    kip_584,
    kip_778,
    nodes,
    refused,
    request,
)

A2, A3 = {"a": (1, 2)}, {"a": (1, 3)}


def comes(cluster, number, supports, **further):
    """Start a broker and let the controller deal with it."""
    return register_broker(start_broker(cluster, number, supports, **further).cluster, number)


def test_b1_an_incompatible_broker_stops_itself_before_it_registers():
    cluster = kip_584(A3, finalized={"a": 3})

    outcome = start_broker(cluster, 2, A2)

    assert cluster == outcome.cluster
    assert (EventType.EXITED,) == outcome.event_types
    assert "a is finalized at 3, it has 1 to 2" == outcome.events[0].text


def test_b1_the_check_reads_what_is_finalized_not_what_could_be():
    outcome = start_broker(kip_584(A3, finalized={"a": 2}), 2, A2)

    assert (EventType.ARRIVED,) == outcome.event_types
    assert (EventType.REGISTERED,) == register_broker(outcome.cluster, 2).event_types


def test_b1_the_controller_of_kafka_4_refuses_the_registration_and_the_broker_tries_until_its_time_is_up():
    arrived = start_broker(kafka(30), 2, OLD).cluster

    first, second = register_broker(arrived, 2), register_broker(arrived, 2)

    assert [(EventType.REFUSED, 2, observed.OLD_BROKER_AT_THE_DOOR)] == [
        (event.type, event.node, event.text) for event in first.events
    ]
    assert first == second
    assert (EventType.EXITED,) == expire_registration(second.cluster, 2).event_types
    assert kafka(30) == expire_registration(second.cluster, 2).cluster


def test_b1_a_broker_that_still_tries_gets_in_once_the_levels_allow_it():
    waiting = register_broker(start_broker(kafka(22), 2, from_1(OLD)).cluster, 2)
    assert (EventType.REFUSED,) == waiting.event_types

    lowered = evolve(waiting.cluster, finalized={METADATA_VERSION: 21})

    assert (EventType.REGISTERED,) == register_broker(lowered, 2).event_types


def test_b2_a_watch_fires_and_the_broker_checks_again():
    cluster = evolve(kip_584(A3, A2), finalized={"a": 3})

    outcome = observe_finalized_levels(cluster, 2)

    assert (EventType.EXITED,) == outcome.event_types
    assert {1} == outcome.cluster.brokers.keys()
    assert () == observe_finalized_levels(cluster, 1).events


def test_b2_a_controller_that_stops_so_leaves_its_office():
    cluster = evolve(kip_584(A2, A3), finalized={"a": 3})

    assert observe_finalized_levels(cluster, 1).cluster.active is None
    assert 2 == elect_controller(observe_finalized_levels(cluster, 1).cluster, 2).active


def test_b3_every_finalized_feature_has_to_be_supported_and_more_does_not_matter():
    cluster = kip_584({"a": (1, 3), "b": (1, 1)}, finalized={"a": 3, "b": 1})

    assert (EventType.ARRIVED,) == start_broker(cluster, 2, {"a": (2, 3), "b": (1, 4), "more": (5, 5)}).event_types
    assert "b is finalized at 1, it does not have the feature" == start_broker(cluster, 2, A3).events[0].text


def test_b3_kafka_4_holds_a_feature_that_is_not_finalized_against_the_range_as_level_0():
    assert (EventType.REGISTERED,) == comes(kafka(), 2, {**NEW, "more": (0, 5)}).event_types
    assert "does not support finalized version 0 of more. The broker wants a version between 1 and 5" in (
        comes(kafka(), 2, {**NEW, "more": (1, 5)}).events[0].text
    )


def test_b3_kafka_4_misses_a_finalized_feature_that_is_not_advertised():
    few = {METADATA_VERSION: NEW[METADATA_VERSION], "kraft.version": (0, 1), "group.version": (0, 1)}

    assert "finalized version 2 of transaction.version. The broker wants a version between 0 and 0, inclusive." in (
        comes(kafka(), 2, few).events[0].text
    )


def test_b3_kafka_4_refuses_no_node_for_kraft_version_as_that_is_no_record():
    cluster = kafka()
    without = {name: found for name, found in NEW.items() if name != "kraft.version"}

    assert 1 == cluster.level_of("kraft.version")
    assert (EventType.REGISTERED,) == comes(cluster, 2, without).event_types
    assert () == observe_finalized_levels(comes(cluster, 2, without).cluster, 2).events


def test_b4_below_the_migration_level_a_broker_neither_validates_nor_advertises():
    cluster = kip_584(A3, finalized={"a": 3})

    outcome = comes(cluster, 2, A2, feature_system_active=False)

    assert (EventType.REGISTERED,) == outcome.event_types
    assert {} == outcome.cluster.brokers[2].supports
    assert () == observe_finalized_levels(outcome.cluster, 2).events


def test_b4_below_the_migration_level_a_controller_finalizes_nothing():
    cluster = kip_584(A3, enabled=False)

    answer = update_features(cluster, request("a", 1, 0))

    assert (cluster, Code.INVALID_REQUEST) == (answer.cluster, answer.top_level.code)


def test_b4_while_the_feature_system_is_disabled_no_node_is_checked():
    cluster = kip_584(A2, finalized={"a": 3}, enabled=False)

    assert () == observe_finalized_levels(cluster, 1).events
    assert (EventType.REGISTERED,) == comes(cluster, 2, A2).event_types


def test_r1_between_registration_and_watch_an_incompatible_broker_lingers():
    arrived = start_broker(kip_584(A3, finalized={"a": 2}), 2, A2).cluster  # E1
    raised = update_features(arrived, request("a", 3, 0)).cluster  # E2

    assert {2} == raised.registering.keys()
    assert (EventType.EXITED,) == observe_finalized_levels(raised, 2).event_types  # E3
    assert {} == observe_finalized_levels(raised, 2).cluster.registering


def test_r2_registered_before_the_update_the_broker_makes_it_fail():
    before = comes(kip_584(A3, finalized={"a": 2}), 2, A2).cluster

    answer = update_features(before, request("a", 3, 0))

    assert Code.FEATURE_UPDATE_FAILED is answer.results["a"].code
    assert before == answer.cluster


def test_r2_after_the_update_the_controller_sees_it_when_it_deals_with_the_registration():
    arrived = start_broker(kip_584(A3, finalized={"a": 2}), 2, A2).cluster
    outcome = register_broker(update_features(arrived, request("a", 3, 0)).cluster, 2)

    assert (EventType.SKIPPED,) == outcome.event_types
    assert {1} == outcome.cluster.brokers.keys()


def test_r3_a_skipped_broker_stops_when_it_receives_the_update():
    arrived = start_broker(kip_584(A3, finalized={"a": 2}), 2, A2).cluster
    skipped = register_broker(update_features(arrived, request("a", 3, 0)).cluster, 2).cluster

    gone = observe_finalized_levels(skipped, 2)

    assert (EventType.EXITED,) == gone.event_types
    assert skipped.brokers == gone.cluster.brokers
    assert {} == gone.cluster.registering


def test_o2_in_the_older_version_the_controller_registers_it_without_metadata_until_its_watch_fires():
    """It refuses to send it an UpdateMetadataRequest. Until the broker exits, its ranges count."""
    older = evolve(kip_584(A3, finalized={"a": 2}), dialect=KIP_584_OLDER)
    raised = update_features(start_broker(older, 2, A2).cluster, request("a", 3, 0)).cluster

    blocked = register_broker(raised, 2)
    again = update_features(blocked.cluster, request("a", 2, 1)).cluster
    gone = observe_finalized_levels(blocked.cluster, 2)

    assert [(EventType.BLOCKED, 2, "a is finalized at 3, it has 1 to 2")] == [
        (event.type, event.node, event.text) for event in blocked.events
    ]
    assert "Broker 2 only supports versions 1-2" in refused(again, request("a", 3, 0)).message
    assert (EventType.EXITED,) == gone.event_types
    assert {1} == gone.cluster.brokers.keys()


def test_r3_in_kafka_4_the_order_decides_in_the_same_way():
    arrived = start_broker(kafka(21), 2, OLD).cluster
    before, after = register_broker(arrived, 2).cluster, update_features(arrived, request(METADATA_VERSION, 22)).cluster

    assert not update_features(before, request(METADATA_VERSION, 22)).top_level.ok
    assert (EventType.REFUSED,) == register_broker(after, 2).event_types


def test_q2_a_broker_that_lacks_a_level_is_not_registered_and_stays_fenced():
    cluster = kip_778(NEW, finalized={METADATA_VERSION: 25})

    outcome = comes(cluster, 5, from_1(OLD))

    assert (EventType.REFUSED,) == outcome.event_types
    assert ({4}, {5}) == (outcome.cluster.brokers.keys(), outcome.cluster.registering.keys())
    assert (EventType.REGISTERED,) == comes(cluster, 6, {**from_1(NEW), "more": (2, 5)}).event_types


@pytest.mark.parametrize(
    "cluster",
    [kip_778(NEW, voter_ids={1, 3}, finalized={METADATA_VERSION: 25}), kafka(voter_ids={1, 3})],
    ids=lambda c: c.dialect.name,
)
def test_q3_a_standby_controller_that_replicates_a_level_it_lacks_terminates(cluster):
    outcome = start_controller(cluster, 3, from_1(OLD))

    assert cluster == outcome.cluster
    assert (EventType.EXITED,) == outcome.event_types


def test_q3_in_the_words_of_kafka():
    outcome = start_controller(kafka(25, voter_ids={1, 3}), 3, {**NEW, METADATA_VERSION: (1, 21)})

    assert (
        "Tried to apply FeatureLevelRecord FeatureLevelRecord(name='metadata.version', featureLevel=25), "
        "but this controller only supports versions 1-21"
    ) == outcome.events[0].text


def test_q3_one_that_runs_terminates_when_it_gets_there():
    cluster = kip_778(NEW, OLD, NEW, finalized={METADATA_VERSION: 21})
    raised = update_features(cluster, request(METADATA_VERSION, 22, 0)).cluster  # two of three support it

    outcome = observe_finalized_levels(raised, 2)

    assert (EventType.EXITED,) == outcome.event_types
    assert not outcome.cluster.controllers[2].live
    assert () == observe_finalized_levels(raised, 3).events


def test_q4_an_active_controller_resigns_and_terminates():
    cluster = evolve(kip_778(OLD, NEW, NEW), finalized={METADATA_VERSION: 25})

    outcome = observe_finalized_levels(cluster, 1)

    assert (EventType.RESIGNED, EventType.EXITED) == outcome.event_types
    assert outcome.cluster.active is None
    assert 2 == elect_controller(outcome.cluster, 2).active
    with pytest.raises(FeatureError, match="expected a live controller, but 1 has stopped"):
        elect_controller(outcome.cluster, 1)


def test_q5_a_broker_that_meets_a_level_it_lacks_unregisters_and_terminates():
    cluster = evolve(kip_778(NEW, brokers=nodes(n4=OLD)), finalized={METADATA_VERSION: 25})

    outcome = observe_finalized_levels(cluster, 4)

    assert (EventType.UNREGISTERED, EventType.EXITED) == outcome.event_types
    assert {} == outcome.cluster.brokers


def test_q5_in_kafka_4_it_logs_the_fault_and_exits_when_its_registration_times_out():
    arrived = start_broker(kafka(25), 2, OLD).cluster

    assert (EventType.LOGGED,) == observe_finalized_levels(arrived, 2).event_types
    assert arrived == observe_finalized_levels(arrived, 2).cluster
    assert (EventType.EXITED,) == expire_registration(arrived, 2).event_types


def test_a_broker_that_stops_stays_registered_in_kraft_only():
    zookeeper, kraft = kip_584(A3, A3), kafka(brokers=nodes(n1=NEW, n2=NEW))

    assert {1} == stop_broker(zookeeper, 2).brokers.keys()
    assert not stop_broker(kraft, 2).brokers[2].live
    assert {1} == unregister_broker(stop_broker(kraft, 2), 2).cluster.brokers.keys()
    assert {} == stop_broker(start_broker(kraft, 3, NEW).cluster, 3).registering
    assert 1 == stop_broker(start_broker(kafka(), 1, NEW).cluster, 1).active


def test_a_controller_registers_where_controllers_do():
    assert (EventType.REGISTERED,) == start_controller(kafka(voter_ids={1, 2}), 2, NEW).event_types
    assert {1, 2} == start_controller(kafka(voter_ids={1, 2}), 2, NEW).cluster.controllers.keys()
    assert () == start_controller(kafka(14, voter_ids={1, 2}), 2, NEW).event_types
    assert finalized(25) == start_controller(kafka(voter_ids={1, 2}), 2, NEW).cluster.finalized


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda: register_broker(kafka(), 2), r"expected an arriving broker, one of \[\], got 2"),
        (lambda: expire_registration(kafka(), 2), "expected an arriving broker"),
        (lambda: observe_finalized_levels(kafka(), 7), r"expected a broker or controller, one of \[1\], got 7"),
        (lambda: stop_broker(kafka(), 7), "expected a broker"),
        (lambda: unregister_broker(kafka(), 7), "expected a registered broker"),
        (lambda: elect_controller(kafka(), 7), "expected a controller"),
        (lambda: start_controller(kafka(), 7, NEW), r"expected one of the controllers \[1\], got 7"),
    ],
)
def test_an_unknown_node_is_named(step, message):
    with pytest.raises(FeatureError, match=message):
        step()
