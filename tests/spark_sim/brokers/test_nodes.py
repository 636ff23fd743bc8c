"""What a node of a release supports."""

import pytest

from spark_sim.brokers.nodes import supports
from tests.upgrade.features.clusters import NEW, OLD
from upgrade.brokers.versions import broker_release
from upgrade.features.dialects import KAFKA_4, KIP_778
from upgrade.features.levels import METADATA


@pytest.mark.parametrize(("release", "ranges"), [("3.9.2", OLD), ("4.3.1", NEW)])
def test_the_two_releases_with_tables_support_what_they_say(release, ranges):
    assert ranges == supports(broker_release(release), KAFKA_4)


def test_a_release_in_between_supports_what_a_new_cluster_of_it_has():
    found = supports(broker_release("4.0.0"), KAFKA_4)

    assert (7, 25) == found[METADATA]
    assert {"group.version", "kraft.version", METADATA, "transaction.version"} == found.keys()


def test_before_kafka_4_ranges_begin_at_1():
    assert {1, 7} == {low for low, _ in supports(broker_release("4.3.1"), KIP_778).values()}
