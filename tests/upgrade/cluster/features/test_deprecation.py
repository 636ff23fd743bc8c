"""Deprecation: the rows D1 to D4, and O3 of the older version of KIP-584."""

import pytest
from attrs import evolve

from streams_assignor.upgrade.cluster.drafts.feature_znode import FeatureZNode, FeatureZNodeStatus
from streams_assignor.upgrade.cluster.features.cluster import (
    EventType,
    FeatureNode,
    deprecated_levels,
    raise_minimum_levels,
)
from streams_assignor.upgrade.cluster.features.dialects import KIP_584_OLDER, KIP_778
from streams_assignor.upgrade.cluster.features.feature_cache import controller_api_versions, tagged_fields
from streams_assignor.upgrade.cluster.features.registration import (
    deprecate_in_release,
    elect_controller,
    register_broker,
    start_broker,
    stop_broker,
)
from streams_assignor.upgrade.cluster.features.update_features import update_features
from streams_assignor.upgrade.errors import FeatureError
from tests.upgrade.cluster.features.clusters import NEW, kafka, kip_584, kip_778, request

CLUSTER = kip_584({"a": (1, 4)}, {"a": (1, 4)}, finalized={"a": 4}, minimum={"a": 1}, epoch=3)
OLDER = evolve(CLUSTER, dialect=KIP_584_OLDER)


def rolled(cluster, number, low):
    """A broker is there with another range; the controller has not seen it register."""
    return evolve(cluster, brokers={**cluster.brokers, number: FeatureNode(number, {"a": (low, 5)})})


def bounced(cluster, number, low):
    """A broker stops, and registers again as a release with another lowest version."""
    return register_broker(start_broker(stop_broker(cluster, number), number, {"a": (low, 5)}).cluster, number)


def raised(cluster):
    return raise_minimum_levels(cluster).cluster


def test_d1_only_a_release_raises_the_minimum_and_never_a_request():
    after = raised(rolled(CLUSTER, 2, 3))

    assert ({"a": 3}, 4) == (after.minimum, after.epoch)
    assert {"a": 1} == update_features(rolled(CLUSTER, 1, 1), request("a", 3, 1)).cluster.minimum


def test_d2_a_registration_raises_the_minimum_and_the_controller_persists_it():
    """Registration left the minimum as it was, until another function was called."""
    after = bounced(CLUSTER, 2, 3)

    assert [(EventType.REGISTERED, 2, ""), (EventType.DEPRECATED, 1, "a 3")] == [
        (event.type, event.node, event.text) for event in after.events
    ]
    assert ({"a": 3}, 4) == (after.cluster.minimum, after.cluster.epoch)
    assert {"a": (3, 4)} == FeatureZNode.from_json(FeatureZNode.of_cluster(after.cluster).as_json()).features
    assert (EventType.REGISTERED,) == bounced(after.cluster, 2, 3).event_types


def test_d2_a_disabled_feature_system_deprecates_nothing():
    assert (EventType.REGISTERED,) == bounced(evolve(CLUSTER, enabled=False), 2, 3).event_types


def test_d2_the_minimum_is_the_highest_lowest_version_of_any_broker():
    after = raised(rolled(rolled(CLUSTER, 1, 2), 2, 3))

    assert {"a": 3} == after.minimum
    assert [1, 2] == list(deprecated_levels(after, "a"))
    assert after is raised(after)


def test_d2_it_never_falls_again_and_never_passes_the_level():
    after = raised(rolled(CLUSTER, 2, 3))

    assert after.minimum == bounced(after, 2, 1).cluster.minimum
    assert {"a": 4} == raised(rolled(CLUSTER, 2, 5)).minimum


def deleted_and_added(cluster, level):
    """The feature is deleted, then finalized again."""
    deleted = update_features(cluster, request("a", 0, 1)).cluster
    assert {} == deleted.finalized
    return update_features(deleted, request("a", level, 0))


def test_d2_a_deletion_does_not_reset_it():
    """A feature that was deleted and added again had the lowest version of the brokers of that moment."""
    old_again = bounced(bounced(CLUSTER, 2, 3).cluster, 2, 1).cluster

    refused = deleted_and_added(old_again, 2)

    assert "Invalid update version 2 for feature a. The levels below 3 are deprecated." == (
        refused.results["a"].message
    )
    assert {"a": 3} == deleted_and_added(old_again, 4).cluster.minimum
    assert {"a": 4} == deleted_and_added(rolled(old_again, 1, 4), 4).cluster.minimum


def test_d2_a_deletion_and_another_controller_do_not_reset_it():
    deleted = update_features(bounced(CLUSTER, 2, 3).cluster, request("a", 0, 1)).cluster
    text = FeatureZNode.of_cluster(deleted).as_json()

    restarted = FeatureZNode.from_json(text, deleted.epoch).apply_to(elect_controller(CLUSTER, 2))

    assert ({}, {"a": 3}) == (restarted.finalized, restarted.minimum)
    assert not update_features(restarted, request("a", 2, 0)).results["a"].ok


def test_a_cluster_created_with_levels_deprecates_none_of_them():
    """Without a minimum the level itself was written as the minimum, so that no lower level could be finalized."""
    created = kip_584({"a": (1, 4)}, {"a": (2, 4)}, finalized={"a": 4})

    assert {"a": 2} == created.minimum  # the lowest level of all brokers, as for an added feature
    assert {"a": (2, 4)} == FeatureZNode.of_cluster(created).features
    assert {"a": 2} == update_features(created, request("a", 3, 1)).cluster.minimum
    assert (4, 2) == tagged_fields(controller_api_versions(created), created)[10002][0][1:]
    assert range(1, 2) == deprecated_levels(created, "a")


def test_without_a_minimum_level_in_its_contents_a_node_deprecates_nothing():
    text = FeatureZNode(FeatureZNodeStatus.ENABLED, {"a": (1, 4)}).as_json(KIP_778)
    restarted = FeatureZNode.from_json(text).apply_to(kip_584({"a": (1, 4)}))

    assert ({"a": 4}, {"a": 1}) == (restarted.finalized, restarted.minimum)


def test_a_cluster_of_another_dialect_has_no_minimum_levels():
    """After a restart from a node with minimum levels it had some, and refused lower levels as deprecated."""
    restarted = FeatureZNode(FeatureZNodeStatus.ENABLED, {"a": (2, 4)}).apply_to(kip_778({"a": (1, 4)}))

    assert ({"a": 4}, {}) == (restarted.finalized, restarted.minimum)


def test_d2_a_minimum_of_1_is_not_kept_after_a_deletion():
    assert {} == update_features(CLUSTER, request("a", 0, 1)).cluster.minimum


def test_d3_kip_778_has_no_minimum_to_raise():
    cluster = kafka()

    assert cluster is raised(cluster)
    assert [] == list(deprecated_levels(cluster, "metadata.version"))


def test_d4_the_cluster_does_not_track_which_clients_use_a_version():
    """It is raised without a look at any client: the operator has to be sure first."""
    assert CLUSTER is raised(CLUSTER)
    assert {"a": 2} == raised(rolled(CLUSTER, 1, 2)).minimum


def test_d2_without_a_broker_that_has_the_feature_every_level_counts():
    assert {"a": 1} == kip_584({}).write_levels({"a": 1}).minimum


def test_d2_what_is_deprecated_cannot_be_finalized_again():
    back = rolled(raised(rolled(CLUSTER, 2, 3)), 2, 1)

    answer = update_features(back, request("a", 2, 1))

    assert (back, "Invalid update version 2 for feature a. The levels below 3 are deprecated.") == (
        answer.cluster,
        answer.results["a"].message,
    )


def test_o3_the_code_of_a_release_deprecates_levels_directly():
    after = deprecate_in_release(OLDER, {"a": 3, "unknown": 2})

    assert ({"a": 3}, 4) == (after.cluster.minimum, after.cluster.epoch)
    assert [(EventType.DEPRECATED, 1, "a 3")] == [(event.type, event.node, event.text) for event in after.events]
    assert {"a": 4} == deprecate_in_release(OLDER, {"a": 9}).cluster.minimum
    assert after.cluster is deprecate_in_release(after.cluster, {"a": 2}).cluster


def test_o3_and_no_advertisement_does():
    assert ({"a": 1}, (EventType.REGISTERED,)) == (
        (found := bounced(OLDER, 2, 3)).cluster.minimum,
        found.event_types,
    )


@pytest.mark.parametrize("cluster", [CLUSTER, kip_778(NEW), kafka()], ids=lambda cluster: cluster.dialect.name)
def test_o3_later_texts_have_no_such_code(cluster):
    with pytest.raises(FeatureError, match="expected a dialect in which release code deprecates levels, got "):
        deprecate_in_release(cluster, {"a": 3})
