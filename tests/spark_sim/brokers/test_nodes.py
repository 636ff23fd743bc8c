"""What a node of a release supports."""

import pytest

from spark_sim.brokers._nodes import supported_ranges
from tests.upgrade.features.model.clusters import NEW, OLD
from upgrade.brokers.protocol_versions import broker_release
from upgrade.features.model.catalog import METADATA_VERSION
from upgrade.features.model.dialects import KAFKA_4, KIP_778


@pytest.mark.parametrize(("release", "ranges"), [("3.9.2", OLD), ("4.3.1", NEW)])
def test_the_two_releases_with_tables_support_what_they_say(release, ranges):
    assert ranges == supported_ranges(broker_release(release), KAFKA_4)


def test_a_release_in_between_supports_what_a_new_cluster_of_it_has():
    found = supported_ranges(broker_release("4.0.0"), KAFKA_4)

    assert (7, 25) == found[METADATA_VERSION]
    assert {"group.version", "kraft.version", METADATA_VERSION, "transaction.version"} == found.keys()


def test_before_kafka_4_ranges_begin_at_1():
    assert {1, 7} == {low for low, _ in supported_ranges(broker_release("4.3.1"), KIP_778).values()}
