"""The two ZooKeeper nodes: the rows F1 to F13."""

import json
from itertools import product

import pytest

from streams_assignor.upgrade.cluster.drafts.feature_znode import (
    STATUS_TRANSITIONS,
    FeatureZNode,
    FeatureZNodeStatus,
    broker_znode_from_json,
    broker_znode_to_json,
    on_controller_startup,
)
from streams_assignor.upgrade.cluster.features.cluster import unsupported_levels
from streams_assignor.upgrade.cluster.features.dialects import KIP_778
from streams_assignor.upgrade.cluster.features.feature_cache import FinalizedFeatureCaches
from streams_assignor.upgrade.cluster.features.registration import elect_controller
from streams_assignor.upgrade.cluster.features.update_features import update_features
from streams_assignor.upgrade.errors import FeatureError
from tests.upgrade.cluster.features.clusters import COORDINATOR, TRANSACTIONS, kip_584, request

SUPPORTS = {COORDINATOR: (1, 3), TRANSACTIONS: (1, 4)}
ENABLED = FeatureZNode(FeatureZNodeStatus.ENABLED, {COORDINATOR: (1, 2)}, 5)
DISABLED = FeatureZNode(FeatureZNodeStatus.DISABLED, {}, 5)


def starts(node, *, new_enough):
    return on_controller_startup(node, features_active=new_enough, supports=SUPPORTS)


def test_f3_a_broker_advertises_its_ranges_beside_what_its_node_has_anyway():
    existing = {"rack": "0", "port": 9071, "version": 4}

    node = json.loads(broker_znode_to_json(existing, SUPPORTS))

    assert {
        "rack": "0",
        "port": 9071,
        "version": 5,
        "features": {
            "group_coordinator": {"min_version": 1, "max_version": 3},
            "transaction_coordinator": {"min_version": 1, "max_version": 4},
        },
    } == node
    assert SUPPORTS == broker_znode_from_json(json.dumps(node))
    assert {} == broker_znode_from_json(json.dumps(existing))


def test_f4_the_node_has_a_version_a_status_and_two_levels_by_feature():
    node = FeatureZNode(FeatureZNodeStatus.ENABLED, {COORDINATOR: (1, 3)})

    assert {
        "version": 0,
        "status": 1,
        "features": {"group_coordinator": {"min_version_level": 1, "max_version_level": 3}},
    } == json.loads(node.as_json())
    assert node == FeatureZNode.from_json(node.as_json())


def test_f4_the_minimum_is_gone_with_kip_778():
    text = FeatureZNode(FeatureZNodeStatus.ENABLED, {COORDINATOR: (1, 3)}).as_json(KIP_778)

    assert {"group_coordinator": {"max_version_level": 3}} == json.loads(text)["features"]
    assert {COORDINATOR: (1, 3)} == FeatureZNode.from_json(text).features


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected JSON"),
        ("[" * 100_000, "expected JSON"),
        ("[]", "expected a JSON object, got list"),
        ('{"status": 1, "features": {}}', "expected version 0, got None"),
        ('{"version": 0, "status": 2, "features": {}}', r"expected status 0 \(disabled\) or 1 \(enabled\), got 2"),
        ('{"version": 0, "status": [], "features": {}}', r"got \[\]"),
        ('{"version": 0, "status": 1}', "expected features as an object of objects, got None"),
        ('{"version": 0, "status": 1, "features": {"a": 1}}', "expected features as an object of objects"),
        ('{"version": 0, "status": 1, "features": {"a": {}}}', "expected numbers min_version_level and max_"),
        ('{"version": 0, "status": 1, "features": {"a": {"max_version_level": true}}}', "of 'a', got"),
        (
            '{"version": 0, "status": 1, "features": {"a": {"min_version_level": 0, "max_version_level": 3}}}',
            "/features: expected a named feature with 1 <= lowest level <= highest level .* got 'a' with 0 to 3",
        ),
        (
            '{"version": 0, "status": 1, "features": {"a": {"min_version_level": 4, "max_version_level": 3}}}',
            "'a' with 4 to 3",
        ),
    ],
)
def test_f4_invalid_contents_are_refused_and_so_is_the_minimum_0_of_the_kips_own_example(text, message):
    with pytest.raises(FeatureError, match=message):
        FeatureZNode.from_json(text)


def test_f5_one_epoch_for_all_and_one_more_for_every_write():
    cluster = kip_584({"a": (1, 3), "b": (1, 3)})

    epochs = [cluster.epoch]
    for feature, level in (("a", 1), ("b", 3), ("a", 2), ("a", 99)):
        cluster = update_features(cluster, request(feature, level, 0)).cluster
        epochs.append(cluster.epoch)

    assert [0, 1, 2, 3, 3] == epochs


@pytest.mark.parametrize("node", [None, ENABLED, DISABLED])
def test_f6_the_status_says_whether_the_controller_is_new_enough(node):
    assert FeatureZNodeStatus.ENABLED is starts(node, new_enough=True).status
    assert FeatureZNodeStatus.DISABLED is starts(node, new_enough=False).status


def test_f6_what_a_disabled_node_says_is_irrelevant():
    cluster = FeatureZNode(FeatureZNodeStatus.DISABLED, {COORDINATOR: (1, 9)}).apply_to(kip_584(SUPPORTS))

    assert ({}, False) == (cluster.finalized, cluster.enabled)
    assert {} == unsupported_levels(cluster.brokers[1], cluster.finalized)


def test_f7_a_new_cluster_begins_with_all_features_finalized():
    assert FeatureZNode(FeatureZNodeStatus.ENABLED, SUPPORTS, 0) == starts(None, new_enough=True)
    assert {COORDINATOR: 3, TRANSACTIONS: 4} == starts(None, new_enough=True).apply_to(kip_584(SUPPORTS)).finalized


def test_f8_an_older_cluster_with_new_binaries_begins_disabled_and_empty():
    assert FeatureZNode(FeatureZNodeStatus.DISABLED, {}, 0) == starts(None, new_enough=False)


def test_f9_its_second_roll_enables_it_and_finalizes_nothing():
    assert FeatureZNode(FeatureZNodeStatus.ENABLED, {}, 6) == starts(DISABLED, new_enough=True)


def test_f9_levels_in_a_disabled_node_are_not_finalized_by_the_second_roll():
    stale = FeatureZNode(FeatureZNodeStatus.DISABLED, {COORDINATOR: (1, 9)}, 5)

    assert FeatureZNode(FeatureZNodeStatus.ENABLED, {}, 6) == starts(stale, new_enough=True)


def test_f10_going_back_disables_and_empties_it():
    assert FeatureZNode(FeatureZNodeStatus.DISABLED, {}, 6) == starts(ENABLED, new_enough=False)


def test_f11_otherwise_nothing_is_written():
    assert ENABLED is starts(ENABLED, new_enough=True)
    assert DISABLED is starts(DISABLED, new_enough=False)
    assert set(product([None, *FeatureZNodeStatus], [True, False])) == set(STATUS_TRANSITIONS)


def test_f12_brokers_have_copies_and_only_the_controller_has_the_latest():
    before = kip_584(SUPPORTS, SUPPORTS, finalized={COORDINATOR: 1})
    copies, _ = FinalizedFeatureCaches().catch_up(before, 2)

    after = update_features(before, request(COORDINATOR, 3, 0)).cluster
    elsewhere = update_features(before, request(COORDINATOR, 3, 0), node_id=2).cluster

    assert {COORDINATOR: 1} == dict(copies.api_versions_response(after.brokers[2]).finalized)
    assert (3, before) == (FeatureZNode.of_cluster(after).features[COORDINATOR][1], elsewhere)


def test_f13_levels_survive_every_restart_and_change_without_one():
    cluster = update_features(kip_584(SUPPORTS, SUPPORTS), request(COORDINATOR, 2, 0)).cluster
    text = FeatureZNode.of_cluster(cluster).as_json()

    restarted = FeatureZNode.from_json(text, cluster.epoch).apply_to(elect_controller(kip_584(SUPPORTS, SUPPORTS), 2))

    assert (cluster.finalized, cluster.minimum, cluster.epoch) == (
        restarted.finalized,
        restarted.minimum,
        restarted.epoch,
    )
    assert 3 == update_features(restarted, request(COORDINATOR, 3, 0)).cluster.level_of(COORDINATOR)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "3",
        '{"features": []}',
        '{"features": {"a": {"min_version": 1}}}',
        '{"features": {"a": {"max_version": 1}}}',
    ],
)
def test_a_broken_broker_node_is_refused(text):
    with pytest.raises(FeatureError, match="broker node: expected"):
        broker_znode_from_json(text)


def test_a_broker_does_not_advertise_what_cannot_be():
    with pytest.raises(FeatureError, match="broker node: expected a named feature with 1 <="):
        broker_znode_to_json({}, {"a": (0, 1)})
