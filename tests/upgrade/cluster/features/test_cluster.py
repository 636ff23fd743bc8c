"""Clusters that cannot be: the rows F1 and F2; and what a cluster keeps."""

import pytest
from attrs import evolve

from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.cluster.features.cluster import FeatureNode
from streams_assignor.upgrade.cluster.features.dialects import KIP_584_OLDER
from streams_assignor.upgrade.cluster.features.registration import elect_controller
from streams_assignor.upgrade.cluster.features.update_features import update_features
from streams_assignor.upgrade.errors import FeatureError
from tests.upgrade.cluster.features import observed
from tests.upgrade.cluster.features.clusters import (
    COORDINATOR,
    NEW,
    TRANSACTIONS,
    finalized,
    kafka,
    kip_584,
    nodes,
    request,
)

TRANSACTION = observed.TRANSACTION


def test_a_controller_that_fell_leaves_all_levels_to_the_next():
    cluster = update_features(
        kafka(voter_ids={1, 2}, controllers=nodes(n1=NEW, n2=NEW)), request(METADATA_VERSION, 26)
    ).cluster

    assert 26 == elect_controller(cluster, 2).level_of(METADATA_VERSION)


def test_f1_names_and_levels_of_another_kind_are_refused():
    assert {COORDINATOR: 1, TRANSACTIONS: 32767} == kip_584(finalized={COORDINATOR: 1, TRANSACTIONS: 32767}).finalized
    for bad in ({"": 1}, {"a": 0}, {"a": -1}, {"a": 32768}):
        with pytest.raises(FeatureError, match="a named feature at a level of 1 to 32767"):
            kip_584(finalized=bad)


def test_o1_in_the_older_version_of_kip_584_levels_have_64_bits():
    large = 2**63 - 1
    cluster = evolve(kip_584(), dialect=KIP_584_OLDER, brokers={1: FeatureNode(1, {"a": (1, large)})})

    assert {"a": large} == update_features(cluster, request("a", large, 0)).cluster.finalized
    with pytest.raises(FeatureError, match=f"expected a level of 64 bits, got 'a' at {large + 1}"):
        update_features(cluster, request("a", large + 1, 0))
    with pytest.raises(FeatureError, match=f"at a level of 1 to {large}, got 'a' at {large + 1}"):
        evolve(cluster, finalized={"a": large + 1})


def test_f2_a_range_is_what_the_binary_knows_from_1_or_in_kafka_4_from_0():
    for bad in ({"a": (0, 1)}, {"a": (2, 1)}, {"": (1, 1)}, {"a": (1, 32768)}):
        with pytest.raises(FeatureError, match="node 1: expected a named feature with 1 <= lowest"):
            kip_584(bad)
    assert (0, 2) == kafka().brokers[1].supports[TRANSACTION]
    assert finalized(25) == kafka().finalized


def test_a_cluster_names_its_voters_or_is_one_with_zookeeper():
    with pytest.raises(FeatureError, match="expected the ids of all controllers"):
        kafka(voter_ids=())
    with pytest.raises(FeatureError, match="expected the ids of all controllers"):
        kafka(voter_ids={2})
    with pytest.raises(FeatureError, match="none with ZooKeeper"):
        kip_584(voter_ids={1})
