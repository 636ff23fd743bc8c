"""Real brokers advertise the levels of their line's catalog, and ``describe`` prints what Kafka's tool prints."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from streams_assignor.upgrade.cluster.features.levels_of_releases import NEWEST_CATALOG, catalog_of
from streams_assignor.upgrade.cluster.features.rpc import Listener
from tests.lab.integration.clusters import Cluster, JavaTools
from tests.lab.integration.feature_checks import client, compare_reading, java_tools, need_brokers
from tests.matrix import with_matrix

pytestmark = [pytest.mark.broker, pytest.mark.java, pytest.mark.slow]

RELEASES = ("3.9.2", "4.0.1", "4.1.2", "4.2.2", NEWEST_CATALOG.release)


@pytest.fixture(name="tools", scope="module")
def fixture_tools() -> Iterator[JavaTools]:
    yield from java_tools()


@pytest.mark.parametrize("release", with_matrix(RELEASES, [NEWEST_CATALOG.release], "the same of another line"))
def test_a_broker_advertises_the_levels_of_its_catalog(release: str, tools: JavaTools, tmp_path: Path) -> None:
    need_brokers(release)
    with Cluster(tmp_path) as cluster:
        cluster.start(1, release)
        found = client(cluster, Listener.BROKER).describe().supported

        assert dict(catalog_of(release.rpartition(".")[0]).supported_ranges()) == dict(found)
        compare_reading(cluster, tools, "--bootstrap-server", "BROKER", "describe")
