"""Rows about brokers: a newer release of Kafka Streams on brokers that are too old for it."""

from contextlib import ExitStack

import pytest

from streams_assignor.upgrade.hazards import HAZARDS
from tests.lab.integration.state_directories import play_pair
from tests.lab.integration.test_broker_upgrade import WithZooKeeper

pytestmark = [pytest.mark.java, pytest.mark.broker, pytest.mark.slow, pytest.mark.exhaustive]

TESTED_WITH_BROKERS = {"brokers-before-2.1", "brokers-before-2.4"}
SEEN = {row.name: row.seen for row in HAZARDS}
ALONE = {
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "group.initial.rebalance.delay.ms": "0",
}


@pytest.fixture(name="brokers", scope="module")
def fixture_brokers(tmp_path_factory):
    with ExitStack() as stack:
        cluster = WithZooKeeper(tmp_path_factory.mktemp("brokers"), stack)
        cluster.start(0, "1.0.2", ALONE)
        yield cluster.bootstrap[0]


def test_a_release_of_4_0_or_later_may_start_on_brokers_that_it_does_not_support(brokers, tmp_path):
    found = play_pair(*(f"{each},replication.factor=1" for each in SEEN["brokers-before-2.1"]), brokers, tmp_path)

    assert found.runs, found.log


def test_a_release_of_3_0_or_later_cannot_create_topics_on_brokers_before_2_4(brokers, tmp_path):
    old, new = SEEN["brokers-before-2.4"]

    found = play_pair(old, new, brokers, tmp_path)

    assert found.runs, found.log  # the topic is there already
    with pytest.raises(AssertionError, match="brokers don't support configuration replication"):
        play_pair(new, new, brokers, tmp_path)
