"""UpdateFeatures: the observed table on the Kafka 4.x dialect, and the rows U1 to U18 of the requirements."""

import pytest
from attrs import evolve, fields

from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.cluster.features.cluster import EventType
from streams_assignor.upgrade.cluster.features.dialects import Code
from streams_assignor.upgrade.cluster.features.registration import stop_broker, unregister_broker
from streams_assignor.upgrade.cluster.features.update_features import (
    UPDATE_OK,
    LevelChange,
    UpdateConclusion,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
    UpdateItem,
    UpdateResult,
    conclude,
    update_features,
)
from streams_assignor.upgrade.errors import FeatureError
from tests.upgrade.cluster.features import observed
from tests.upgrade.cluster.features.clusters import NEW, kafka, kip_584, kip_778, nodes, refused, request, setting

TRANSACTION, REPLICAS, KRAFT = observed.TRANSACTION, observed.REPLICAS, "kraft.version"


@pytest.mark.parametrize("row", observed.OBSERVED, ids=lambda row: row.name)
def test_it_answers_as_kafka_does(row):
    cluster = setting(row.setting, row.metadata)
    asked = UpdateFeaturesRequest(tuple(UpdateItem(*ask) for ask in map(as_tuple, row.asked)), row.dry_run, row.version)

    answer = update_features(cluster, asked, node_id=2 if row.to_standby else 1)

    assert (row.code, row.message) == (answer.top_level.code.value, answer.top_level.message)
    if row.message or row.dry_run or not row.asked:
        assert cluster == answer.cluster
    else:
        assert all(max(ask.level, 0) == answer.cluster.level_of(ask.feature) for ask in row.asked)
        assert answer.cluster.epoch > cluster.epoch


def as_tuple(ask):
    return ask.feature, ask.level, ask.upgrade_type


def test_the_names_of_the_observed_rows_are_different():
    assert len({row.name for row in observed.OBSERVED}) == len(observed.OBSERVED)


def test_u1_a_request_is_a_list_of_features_each_with_a_level_of_16_bits():
    assert [(TRANSACTION, 2, None), ("b", -32768, 0)] == [
        (each.feature, each.level, each.upgrade_type)
        for each in UpdateFeaturesRequest((UpdateItem(TRANSACTION, 2), UpdateItem("b", -(2**15), 0))).updates
    ]
    with pytest.raises(FeatureError, match="expected a level of 16 bits, got 'b' at 32768"):
        update_features(kafka(), request("b", 2**15))
    with pytest.raises(FeatureError, match="expected a named feature"):
        UpdateItem("", 1)
    with pytest.raises(FeatureError, match="got b more than once"):
        UpdateFeaturesRequest((UpdateItem("b", 1), UpdateItem("b", 2)))


@pytest.mark.parametrize("cluster", [kip_584({"a": (1, 2)}), kip_778(NEW, finalized={METADATA_VERSION: 25}), kafka()])
def test_u2_without_the_right_to_alter_the_cluster_nothing_is_even_looked_at(cluster):
    assert Code.CLUSTER_AUTHORIZATION_FAILED is refused(cluster, request("nope", 99), authorized=False).code


def test_u3_a_node_that_is_not_the_controller_refuses():
    cluster = kip_584({"a": (1, 2)}, {"a": (1, 2)})

    result = refused(cluster, request("a", 1), node_id=2)

    assert UpdateResult(Code.NOT_CONTROLLER, "The active controller appears to be node 1.") == result
    assert Code.NOT_CONTROLLER is refused(kip_778(NEW, NEW), request(TRANSACTION, 1), node_id=4).code


def test_u3_brokers_of_kafka_4_forward_and_standby_controllers_do_not():
    cluster = kafka(controllers=nodes(n1=NEW, n2=NEW), voter_ids={1, 2}, brokers=nodes(n2=NEW, n5=NEW))

    assert update_features(cluster, request(METADATA_VERSION, 26), node_id=5).top_level.ok
    assert Code.NOT_CONTROLLER is refused(cluster, request(METADATA_VERSION, 26), node_id=2).code


def test_u3_a_node_that_does_not_exist_cannot_be_asked():
    with pytest.raises(FeatureError, match="expected one of the cluster's nodes, got 9"):
        update_features(kafka(), request(METADATA_VERSION, 26), node_id=9)


def test_u3_without_a_controller_there_is_no_answer():
    with pytest.raises(FeatureError, match="expected an active controller"):
        update_features(evolve(kafka(), active=None), request(METADATA_VERSION, 26))


def test_u4_every_feature_has_a_result_and_a_malformed_update_another_code_than_one_that_cannot_be():
    cluster = kip_584({"a": (1, 2), "b": (1, 1), "c": (1, 3)}, finalized={"c": 2})

    answer = update_features(
        cluster,
        UpdateFeaturesRequest(
            (UpdateItem("a", 2, 0), UpdateItem("b", 2, 0), UpdateItem("c", 1, 0), UpdateItem("d", 1, 0))
        ),
    )

    assert UPDATE_OK == answer.top_level
    assert [Code.NONE, Code.FEATURE_UPDATE_FAILED, Code.INVALID_REQUEST, Code.FEATURE_UPDATE_FAILED] == [
        result.code for result in answer.results.values()
    ]


def test_u4_kafka_4_has_one_code_for_both_and_no_results_with_it():
    answer = update_features(
        kafka(),
        UpdateFeaturesRequest(
            (UpdateItem(METADATA_VERSION, 26), UpdateItem(METADATA_VERSION + "x", 1), UpdateItem(TRANSACTION, -1))
        ),
    )

    assert Code.INVALID_UPDATE_VERSION is answer.top_level.code
    assert {} == answer.results


def test_u5_some_updates_may_succeed_while_others_fail():
    cluster = kip_584({"a": (1, 2), "b": (1, 1)})

    answer = update_features(cluster, UpdateFeaturesRequest((UpdateItem("a", 2, 0), UpdateItem("b", 2, 0))))

    assert {"a": 2} == answer.cluster.finalized
    assert 1 == answer.cluster.epoch


def test_u5_kafka_4_applies_all_or_nothing():
    asked = UpdateFeaturesRequest((UpdateItem(METADATA_VERSION, 26), UpdateItem(TRANSACTION, 3)))

    assert refused(kafka(), asked).message.startswith(observed.PREFIX)


def test_u6_an_upgrade_has_to_fit_every_live_broker():
    cluster = kip_584({"a": (1, 3)}, {"a": (1, 2)}, finalized={"a": 1})

    assert "Invalid update version 3 for feature a. Broker 2 only supports versions 1-2" == (
        refused(cluster, request("a", 3, 0)).message
    )
    assert {"a": 2} == update_features(cluster, request("a", 2, 0)).cluster.finalized
    assert {"a": 3} == update_features(stop_broker(cluster, 2), request("a", 3, 0)).cluster.finalized


def test_u6_a_level_below_the_range_does_not_fit_either():
    cluster = kip_584({"a": (2, 3)}, {"a": (3, 3)})

    assert refused(cluster, request("a", 2, 0)).message.endswith("Broker 2 only supports versions 3")


def test_u6_kafka_4_asks_stopped_brokers_too_as_long_as_they_are_registered():
    cluster = stop_broker(setting(observed.OLD_BROKER, 21), 2)

    assert "Broker 2 only supports versions 1-21" in refused(cluster, request(METADATA_VERSION, 22)).message
    assert update_features(unregister_broker(cluster, 2).cluster, request(METADATA_VERSION, 22)).top_level.ok


def test_u6_kip_778_does_not_ask_stopped_brokers():
    old = setting(observed.OLD_BROKER, 21)
    cluster = kip_778(NEW, brokers=old.brokers, finalized={METADATA_VERSION: 21})

    assert "Broker 2" in refused(cluster, request(METADATA_VERSION, 22, 0)).message
    assert 22 == update_features(stop_broker(cluster, 2), request(METADATA_VERSION, 22, 0)).cluster.level_of(
        METADATA_VERSION
    )


def test_u6_below_level_15_kafka_4_does_not_know_controllers_and_asks_none():
    cluster = kafka(14, controllers=nodes(n1=NEW), voter_ids={1, 2})

    assert update_features(cluster, request(METADATA_VERSION, 15)).top_level.ok
    assert (
        "controller 2 has not registered" in refused(kafka(15, voter_ids={1, 2}), request(METADATA_VERSION, 16)).message
    )


def test_u7_a_downgrade_has_to_fit_every_broker_and_be_meant():
    cluster = kip_584({"a": (1, 3)}, {"a": (2, 3)}, finalized={"a": 3})

    assert Code.INVALID_REQUEST is refused(cluster, request("a", 2, 0)).code
    assert Code.FEATURE_UPDATE_FAILED is refused(cluster, request("a", 1, 1)).code
    assert {"a": 2} == update_features(cluster, request("a", 2, 1)).cluster.finalized


@pytest.mark.parametrize("level", [0, -1, -7])
def test_u8_a_level_below_1_deletes_if_it_is_meant_whatever_the_ranges_are(level):
    cluster = kip_584({"a": (2, 3)}, {}, finalized={"a": 3})

    assert Code.INVALID_REQUEST is refused(cluster, request("a", level, 0)).code
    assert {} == update_features(cluster, request("a", level, 1)).cluster.finalized
    assert "a 0" == update_features(cluster, request("a", level, 1)).events[0].text


def test_u8_kafka_4_deletes_with_0_only_and_looks_at_the_ranges():
    assert TRANSACTION not in update_features(kafka(), request(TRANSACTION, 0, observed.SAFE)).cluster.finalized
    assert "less than 0" in refused(kafka(), request(TRANSACTION, -1, observed.SAFE)).message
    assert "only supports versions 7-30" in refused(kafka(), request(METADATA_VERSION, 0, observed.UNSAFE)).message


def test_u8_kafka_4_does_not_delete_what_it_does_not_know():
    assert "Feature nope not found." in refused(kafka(), request("nope", 0, observed.SAFE)).message


def test_u9_the_level_that_is_there_is_no_update_whatever_is_allowed():
    cluster = kip_584({"a": (1, 3)}, finalized={"a": 2})

    assert Code.INVALID_REQUEST is refused(cluster, request("a", 2, 0)).code
    assert Code.INVALID_REQUEST is refused(cluster, request("a", 2, 1)).code
    assert "Can't downgrade to a newer version." in refused(cluster, request("a", 3, 1)).message


def test_u9_kafka_4_accepts_the_level_that_is_there_and_writes_it_again():
    answer = update_features(kafka(), request(METADATA_VERSION, 25))

    assert answer.top_level.ok
    assert kafka().finalized == answer.cluster.finalized
    assert answer.cluster.epoch > kafka().epoch


def test_u10_a_feature_that_was_never_finalized_is_an_upgrade_from_nothing():
    cluster = kip_584({"a": (1, 3)})

    assert {"a": 3} == update_features(cluster, request("a", 3, 0)).cluster.finalized
    assert ["Add", "Upgrade", "Downgrade", "Delete", "-", "-"] == [
        LevelChange.of(*step).value for step in [(0, 1), (1, 3), (3, 1), (1, -2), (2, 2), (0, -1)]
    ]


def test_u10_deleting_an_absent_feature_is_refused_which_is_our_choice():
    assert "is not finalized" in refused(kip_584({"a": (1, 3)}), request("a", 0, 1)).message


def test_u11_o4_a_broker_without_the_feature_is_incompatible_and_one_with_more_features_is_not():
    cluster = kip_584({"a": (1, 2), "more": (1, 9)}, {"a": (1, 2)})

    assert "Broker 2 does not support this feature." in refused(cluster, request("more", 1, 0)).message
    assert {"a": 2} == update_features(cluster, request("a", 2, 0)).cluster.finalized


def test_u12_the_controllers_own_rules_may_forbid_a_downgrade_that_is_meant():
    cluster = kip_584({"a": (1, 3), "b": (1, 3)}, finalized={"a": 3, "b": 3}, not_downgradable=frozenset({("a", 3)}))

    assert Code.FEATURE_UPDATE_FAILED is refused(cluster, request("a", 1, 1)).code
    assert Code.FEATURE_UPDATE_FAILED is refused(cluster, request("a", 0, 1)).code
    assert {"a": 3, "b": 1} == update_features(cluster, request("b", 1, 1)).cluster.finalized


def test_u12_kraft_version_never_goes_down_in_kafka_4():
    assert "Can't downgrade the version of this feature." in refused(kafka(), request(KRAFT, 0, observed.SAFE)).message
    assert update_features(kafka(20), request(KRAFT, 1)).cluster.level_of(KRAFT)


def test_u13_no_update_names_a_minimum_and_none_changes_it():
    cluster = kip_584({"a": (1, 3)}, finalized={"a": 1}, minimum={"a": 1})

    assert {"feature", "level", "upgrade_type"} == {each.name for each in fields(UpdateItem)}
    assert {"a": 1} == update_features(cluster, request("a", 3, 0)).cluster.minimum


def test_u14_the_second_of_two_requests_is_judged_on_what_the_first_has_done():
    first = update_features(kafka(), request(METADATA_VERSION, 26))
    second = update_features(first.cluster, request(METADATA_VERSION, 26, observed.SAFE))
    third = update_features(first.cluster, request(METADATA_VERSION, 25))

    assert second.top_level.ok
    assert "Can't downgrade" in third.top_level.message


def test_u15_all_of_a_request_is_one_write_after_all_checks():
    cluster = kip_584({"a": (1, 2), "b": (1, 2)}, finalized={"a": 1}, epoch=7)

    answer = update_features(cluster, UpdateFeaturesRequest((UpdateItem("a", 2, 0), UpdateItem("b", 1, 0))))

    assert 8 == answer.cluster.epoch
    assert [EventType.FINALIZED, EventType.FINALIZED, EventType.NOTIFIED] == [event.type for event in answer.events]


def test_u15_dependencies_are_judged_on_the_result_that_is_proposed():
    both = UpdateFeaturesRequest((UpdateItem(REPLICAS, 1), UpdateItem(METADATA_VERSION, 25)))

    assert {METADATA_VERSION: 25, REPLICAS: 1}.items() <= update_features(kafka(21), both).cluster.finalized.items()
    assert "depends on metadata.version level 23" in refused(kafka(21), request(REPLICAS, 1)).message


def test_u15_every_feature_of_kafka_4_depends_on_a_metadata_version():
    both = UpdateFeaturesRequest((UpdateItem("group.version", 1), UpdateItem(METADATA_VERSION, 0, observed.SAFE)))

    assert refused(kafka(), both).message.endswith(
        "group.version could not be set to 1 because it depends on metadata.version=7 (3.3-IV3)"
    )


def test_u16_what_a_client_may_conclude():
    cluster = kip_584({"a": (1, 2), "b": (1, 1)})
    answer = update_features(cluster, UpdateFeaturesRequest((UpdateItem("a", 2, 0), UpdateItem("b", 2, 0))))
    elsewhere = update_features(cluster, request("a", 1, 0), authorized=False)

    assert UpdateConclusion.YES is conclude(answer, "a")
    assert UpdateConclusion.NO is conclude(answer, "b")
    assert UpdateConclusion.NO is conclude(elsewhere, "a")
    assert UpdateConclusion.UNKNOWN is conclude(None, "a")


def test_u17_ok_means_applied_at_a_new_epoch_that_brokers_have_yet_to_receive():
    answer = update_features(
        kip_584({"a": (1, 2), "b": (1, 1)}, epoch=3),
        UpdateFeaturesRequest((UpdateItem("a", 2, 0), UpdateItem("b", 2, 0))),
    )

    assert ({"a": 2}, 4) == (answer.cluster.finalized, answer.cluster.epoch)
    assert EventType.NOTIFIED in {event.type for event in answer.events}
    assert ["a 2", ""] == [event.text for event in answer.events]


def test_u18_kip_584_leaves_the_safety_of_a_downgrade_to_the_operator():
    cluster = kip_584({METADATA_VERSION: NEW[METADATA_VERSION]}, finalized={METADATA_VERSION: 25})

    assert {METADATA_VERSION: 22} == update_features(cluster, request(METADATA_VERSION, 22, 1)).cluster.finalized


def test_q1_a_level_needs_a_majority_of_the_quorum():
    cluster = kip_778(NEW, NEW, voter_ids={1, 2, 3}, finalized={METADATA_VERSION: 25})
    alone = evolve(cluster, controllers={**cluster.controllers, 2: evolve(cluster.controllers[2], live=False)})

    assert 26 == update_features(cluster, request(METADATA_VERSION, 26, 0)).cluster.level_of(METADATA_VERSION)
    assert "1 of 3 controllers run and support it" in refused(alone, request(METADATA_VERSION, 26, 0)).message


def test_q1_half_of_the_quorum_is_no_majority():
    cluster = kip_778(NEW, NEW, voter_ids={1, 2, 3, 4}, finalized={METADATA_VERSION: 25})

    assert "2 of 4 controllers" in refused(cluster, request(METADATA_VERSION, 26, 0)).message


def test_q1_kafka_4_needs_all_controllers():
    row = next(row for row in observed.OBSERVED if row.name == "controller_missing")

    assert row.message == refused(setting(row.setting, 25), request(METADATA_VERSION, 26)).message


def test_v1_several_raises_without_a_restart():
    cluster = kafka(21)
    for level in (22, 25, 30):
        cluster = update_features(cluster, request(METADATA_VERSION, level)).cluster

    assert 30 == cluster.level_of(METADATA_VERSION)


def test_w3_a_lossy_downgrade_needs_to_be_called_unsafe():
    cluster = kip_778(NEW, finalized={METADATA_VERSION: 25})

    assert Code.UNSAFE_FEATURE_DOWNGRADE is refused(cluster, request(METADATA_VERSION, 22, 1)).code
    assert 22 == update_features(cluster, request(METADATA_VERSION, 22, 2)).cluster.level_of(METADATA_VERSION)
    assert 23 == update_features(cluster, request(METADATA_VERSION, 23, 1)).cluster.level_of(METADATA_VERSION)


def test_w3_kafka_4_refuses_it_even_then():
    assert "Unsafe metadata downgrade is not supported" in refused(kafka(), request(METADATA_VERSION, 22, 3)).message
    assert 23 == update_features(kafka(), request(METADATA_VERSION, 23, 3)).cluster.level_of(METADATA_VERSION)


def test_an_answer_without_anything_is_fine():
    assert UpdateFeaturesResponse(kafka()) == update_features(kafka(), UpdateFeaturesRequest(()))
