"""The levels that a node of a release supports."""

import pytest

from streams_assignor.spark_sim.brokers._nodes import supported_ranges
from streams_assignor.upgrade.cluster.brokers.protocol_versions import broker_release
from streams_assignor.upgrade.cluster.features.catalog import METADATA_VERSION
from streams_assignor.upgrade.cluster.features.dialects import KAFKA_4, KIP_778
from tests.upgrade.cluster.features.clusters import NEW, OLD


@pytest.mark.parametrize(("release", "ranges"), [("3.9.2", OLD), ("4.3.1", NEW)])
def test_the_two_releases_with_tables_support_what_they_say(release, ranges):
    assert ranges == supported_ranges(broker_release(release), KAFKA_4)


def test_a_release_in_between_supports_what_its_jars_say():
    """Also levels that no new cluster of it has: 4.0.1 has ``eligible.leader.replicas.version`` 0 to 1."""
    found = supported_ranges(broker_release("4.0.1"), KAFKA_4)

    assert (7, 25) == found.pop(METADATA_VERSION)
    assert {
        "eligible.leader.replicas.version": (0, 1),
        "group.version": (0, 1),
        "kraft.version": (0, 1),
        "transaction.version": (0, 2),
    } == found
    assert {METADATA_VERSION: (1, 3)} == supported_ranges(broker_release("3.2"), KAFKA_4)


def test_before_kafka_4_ranges_begin_at_1():
    assert {1, 7} == {low for low, _ in supported_ranges(broker_release("4.3.1"), KIP_778).values()}
