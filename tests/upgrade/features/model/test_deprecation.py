"""Deprecation: the rows D1 to D4."""

from attrs import evolve

from tests.upgrade.features.model.clusters import kafka, kip_584, request
from upgrade.features.model.cluster import Node, deprecated_levels, raise_minimum_levels
from upgrade.features.model.update_features import update_features

CLUSTER = kip_584({"a": (1, 4)}, {"a": (1, 4)}, finalized={"a": 4}, minimum={"a": 1}, epoch=3)


def rolled(cluster, number, low):
    return evolve(cluster, brokers={**cluster.brokers, number: Node(number, {"a": (low, 5)})})


def test_d1_only_a_release_raises_the_minimum_and_never_a_request():
    raised = raise_minimum_levels(rolled(CLUSTER, 2, 3))

    assert ({"a": 3}, 4) == (raised.minimum, raised.epoch)
    assert {"a": 1} == update_features(rolled(CLUSTER, 1, 1), request("a", 3, 1)).cluster.minimum


def test_d2_the_minimum_is_the_highest_lowest_version_of_any_broker():
    raised = raise_minimum_levels(rolled(rolled(CLUSTER, 1, 2), 2, 3))

    assert {"a": 3} == raised.minimum
    assert [1, 2] == list(deprecated_levels(raised, "a"))
    assert raised is raise_minimum_levels(raised)


def test_d2_it_never_falls_again_and_never_passes_the_level():
    raised = raise_minimum_levels(rolled(CLUSTER, 2, 3))

    assert raised.minimum == raise_minimum_levels(rolled(raised, 2, 1)).minimum
    assert {"a": 4} == raise_minimum_levels(rolled(CLUSTER, 2, 5)).minimum


def test_d3_kip_778_has_no_minimum_to_raise():
    cluster = kafka()

    assert cluster is raise_minimum_levels(cluster)
    assert [] == list(deprecated_levels(cluster, "metadata.version"))


def test_d4_the_cluster_does_not_track_which_clients_use_a_version():
    """It is raised without a look at any client: the operator has to be sure first."""
    assert CLUSTER is raise_minimum_levels(CLUSTER)
    assert {"a": 2} == raise_minimum_levels(rolled(CLUSTER, 1, 2)).minimum


def test_d2_without_a_broker_that_has_the_feature_every_level_counts():
    assert {"a": 1} == kip_584({}).write_levels({"a": 1}).minimum


def test_d2_what_is_deprecated_cannot_be_finalised_again():
    raised = raise_minimum_levels(rolled(CLUSTER, 2, 3))
    back = rolled(raised, 2, 1)

    answer = update_features(back, request("a", 2, 1))

    assert (back, "Invalid update version 2 for feature a. The levels below 3 are deprecated.") == (
        answer.cluster,
        answer.results["a"].message,
    )
