"""Settings of brokers on real nodes: a node does not start where ``plan --brokers --config`` says so."""

import pytest

from streams_assignor.upgrade.application.setting_files import Settings
from streams_assignor.upgrade.broker_settings import judge_broker_settings
from streams_assignor.upgrade.cluster.brokers.protocol_versions import MetadataMode, broker_release
from tests.lab.integration.clusters import Cluster
from tests.lab.integration.kafka_jars import Unavailable, class_path
from tests.lab.integration.subprocesses import wait_until

STARTED, FATAL = "Kafka Server started", "fatal"
NODE = {"process.roles": "broker,controller", "node.id": "1", "controller.listener.names": "CONTROLLER"}
CASES = [
    ("3.8.1", "3.9.2", {"log.segment.bytes": "524288"}, True),
    ("3.9.2", "4.3.1", {"log.segment.bytes": "524288"}, False),
    ("3.9.2", "4.3.1", {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"}, False),
    ("3.8.1", "3.9.2", {"inter.broker.protocol.version": "2.8"}, False),
    ("3.9.2", "4.3.1", {"inter.broker.protocol.version": "2.8", "host.name": "elsewhere"}, True),
]


def starts(folder, release, settings):
    """Whether a real node starts; the tool that formats its disk reads the settings, too."""
    with Cluster(folder, metadata=None) as cluster:
        try:
            node = cluster.launch(1, release, settings=settings)
        except AssertionError:
            return False
        wait_until(lambda: node.ended or any(STARTED in line or FATAL in line.lower() for line in node.lines))
        return any(STARTED in line for line in node.lines)


@pytest.mark.broker
@pytest.mark.exhaustive
@pytest.mark.parametrize(("origin", "target", "settings", "is_accepted"), CASES)
def test_a_real_node_starts_where_no_setting_stops_it(tmp_path, origin, target, settings, is_accepted):
    try:
        class_path(f"org.apache.kafka:kafka_2.13:{target}")
    except Unavailable as missing:
        pytest.skip(f"no real broker: {missing}")
    ends = broker_release(origin), [broker_release(target)]
    report = judge_broker_settings(Settings.of(NODE | settings), *ends, MetadataMode.KRAFT, migrates=False)

    assert is_accepted == (not report.stopping)
    assert is_accepted == starts(tmp_path / "cluster", target, settings)
