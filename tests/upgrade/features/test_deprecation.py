"""Deprecation: the rows D1 to D4."""

from attrs import evolve

from tests.upgrade.features.clusters import kafka, kip_584, request
from upgrade.features.cluster import Node
from upgrade.features.deprecation import deprecate, deprecated
from upgrade.features.update import update

CLUSTER = kip_584({"a": (1, 4)}, {"a": (1, 4)}, finalized={"a": 4}, minimum={"a": 1}, epoch=3)


def rolled(cluster, number, low):
    return evolve(cluster, brokers={**cluster.brokers, number: Node(number, {"a": (low, 5)})})


def test_d1_only_a_release_raises_the_minimum_and_never_a_request():
    raised = deprecate(rolled(CLUSTER, 2, 3))

    assert ({"a": 3}, 4) == (raised.minimum, raised.epoch)
    assert {"a": 1} == update(rolled(CLUSTER, 1, 1), request("a", 3, 1)).cluster.minimum


def test_d2_the_minimum_is_the_highest_lowest_version_of_any_broker():
    raised = deprecate(rolled(rolled(CLUSTER, 1, 2), 2, 3))

    assert {"a": 3} == raised.minimum
    assert [1, 2] == list(deprecated(raised, "a"))
    assert raised is deprecate(raised)


def test_d2_it_never_falls_again_and_never_passes_the_level():
    raised = deprecate(rolled(CLUSTER, 2, 3))

    assert raised.minimum == deprecate(rolled(raised, 2, 1)).minimum
    assert {"a": 4} == deprecate(rolled(CLUSTER, 2, 5)).minimum


def test_d3_kip_778_has_no_minimum_to_raise():
    cluster = kafka()

    assert cluster is deprecate(cluster)
    assert [] == list(deprecated(cluster, "metadata.version"))


def test_d4_who_still_uses_a_version_is_not_for_the_cluster_to_know():
    """It is raised without a look at any client: the operator has to be sure first."""
    assert CLUSTER is deprecate(CLUSTER)
    assert {"a": 2} == deprecate(rolled(CLUSTER, 1, 2)).minimum


def test_d2_without_a_broker_that_has_the_feature_every_level_counts():
    assert {"a": 1} == kip_584({}).write({"a": 1}).minimum


def test_d2_what_is_deprecated_cannot_be_finalised_again():
    raised = deprecate(rolled(CLUSTER, 2, 3))
    back = rolled(raised, 2, 1)

    answer = update(back, request("a", 2, 1))

    assert (back, "Invalid update version 2 for feature a. The levels below 3 are deprecated.") == (
        answer.cluster,
        answer.results["a"].message,
    )
