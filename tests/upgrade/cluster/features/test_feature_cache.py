"""The time at which something is known: the rows A1 to A4, and reconnecting after a change of metadata.version (V2)."""

from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.cluster.features.cluster import EventType
from streams_assignor.upgrade.cluster.features.feature_cache import (
    FinalizedFeatureCaches,
    append_unrelated_records,
    controller_api_versions,
    tagged_fields,
)
from streams_assignor.upgrade.cluster.features.rpc import Listener, NewestFeatures
from streams_assignor.upgrade.cluster.features.update_features import update_features
from tests.upgrade.cluster.features.clusters import NEW, kafka, kip_584, kip_778, request

A3 = {"a": (1, 3)}


def caught_up(copies, cluster, *brokers):
    for broker in brokers:
        copies, _ = copies.catch_up(cluster, broker)
    return copies


def test_a1_three_tagged_fields_in_the_order_of_the_wire():
    cluster = kip_584({"b": (1, 2), **A3}, finalized={"a": 3}, minimum={"a": 2}, epoch=7)
    answer = caught_up(FinalizedFeatureCaches(), cluster, 1).api_versions_response(cluster.brokers[1])

    assert {10000: [("a", 1, 3), ("b", 1, 2)], 10001: 7, 10002: [("a", 3, 2)]} == tagged_fields(answer, cluster)


def test_a1_with_the_tags_0_to_2_since_kip_778_and_in_kafka_4_with_the_level_as_minimum():
    kip, released = kip_778(NEW, finalized={METADATA_VERSION: 25}, epoch=7), kafka()

    assert {0: [(METADATA_VERSION, 7, 30)], 1: 7, 2: [(METADATA_VERSION, 25, 25)]} == tagged_fields(
        controller_api_versions(kip), kip
    )
    assert (METADATA_VERSION, 25, 25) in tagged_fields(controller_api_versions(released), released)[2]


def test_m6_the_minimum_is_sent_and_equals_the_level():
    fields = tagged_fields(controller_api_versions(kafka()), kafka())

    assert all(level == minimum for _, level, minimum in fields[2])


def test_a2_a_broker_answers_from_its_copy_so_an_older_epoch_may_follow_a_newer_one():
    before = kip_584(A3, A3, finalized={"a": 1}, epoch=1)
    after = update_features(before, request("a", 3, 0)).cluster
    copies = caught_up(caught_up(FinalizedFeatureCaches(), before, 1, 2), after, 1)

    assert [(2, {"a": 3}), (1, {"a": 1})] == [
        (copies.api_versions_response(node).epoch, dict(copies.api_versions_response(node).finalized))
        for node in after.brokers.values()
    ]
    assert 2 == caught_up(copies, after, 2).api_versions_response(after.brokers[2]).epoch


def test_a3_the_highest_epoch_wins():
    before = kip_584(A3, A3, finalized={"a": 1}, epoch=1)
    after = update_features(before, request("a", 3, 0)).cluster
    copies = caught_up(caught_up(FinalizedFeatureCaches(), before, 1, 2), after, 1)
    seen = NewestFeatures()

    for broker in (1, 2):
        seen.observe(copies.api_versions_response(after.brokers[broker]))

    assert {"a": 3} == dict(seen.newest(Listener.BROKER).finalized)


def test_a3_in_kraft_a_brokers_epoch_grows_without_a_change_and_a_controllers_does_not():
    cluster = kafka()
    later = append_unrelated_records(cluster, 2)
    copies = caught_up(FinalizedFeatureCaches(), cluster, 1)

    assert 463 == copies.api_versions_response(cluster.brokers[1]).epoch
    assert 465 == caught_up(copies, later, 1).api_versions_response(later.brokers[1]).epoch
    assert 463 == controller_api_versions(later).epoch
    assert Listener.CONTROLLER is controller_api_versions(later).listener
    assert 466 == controller_api_versions(update_features(later, request(METADATA_VERSION, 26)).cluster).epoch


def test_a4_a_broker_without_a_copy_has_no_epoch_and_no_finalized_features():
    cluster = kip_584(A3, finalized={"a": 1})
    answer = FinalizedFeatureCaches().api_versions_response(cluster.brokers[1])

    assert (None, {}) == (answer.epoch, answer.finalized)
    assert {10000: [("a", 1, 3)]} == tagged_fields(answer, cluster)


def test_v2_with_a_new_metadata_version_a_broker_renegotiates_and_its_clients_reconnect():
    before = kafka()
    copies, first = FinalizedFeatureCaches().catch_up(before, 1)
    connected = copies.api_versions_response(
        before.brokers[1]
    )  # what a client has negotiated, for as long as it is connected
    after = update_features(before, request(METADATA_VERSION, 26)).cluster

    copies, events = copies.catch_up(after, 1)

    assert () == first
    assert [EventType.RENEGOTIATED] == [event.type for event in events]
    assert (25, 26) == (
        connected.finalized[METADATA_VERSION],
        copies.api_versions_response(after.brokers[1]).finalized[METADATA_VERSION],
    )
    assert () == copies.catch_up(update_features(after, request("group.version", 0, 2)).cluster, 1)[1]
