"""The migration from ZooKeeper to KRaft at 3.9, step by step as the plan has it, with a real ZooKeeper and nodes."""

import re
from contextlib import ExitStack

import pytest
from kafka import KafkaAdminClient

from streams_assignor.upgrade.cluster.brokers._zookeeper_migration import MIGRATED, MIGRATION
from streams_assignor.upgrade.cluster.brokers.config import IBP
from streams_assignor.upgrade.cluster.brokers.planner import advise_brokers
from streams_assignor.upgrade.cluster.brokers.protocol_versions import MetadataMode, broker_release
from tests.lab.integration.nodes import format_storage, free_ports
from tests.lab.integration.subprocesses import wait_until
from tests.lab.integration.test_broker_upgrade import NEW, OLD, WithZooKeeper, jars

CONTROLLER = 3000
TOPIC = "orders"


class Migrated(WithZooKeeper):
    """A broker, 0, whose cluster leaves ZooKeeper for a controller."""

    def __init__(self, folder, stack):
        super().__init__(folder, stack)
        (port,) = free_ports(1)
        listener = f"127.0.0.1:{port}"
        self.quorum = {
            "controller.quorum.voters": f"{CONTROLLER}@{listener}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        }
        self.zookeeper = {"zookeeper.connect": f"127.0.0.1:{self._zookeeper}", MIGRATION: "true"}
        self._controller = {
            **self.quorum,
            "process.roles": "controller",
            "node.id": CONTROLLER,
            "listeners": f"CONTROLLER://{listener}",
            "log.dirs": folder / "controller",
        }

    def controller(self, release, settings):
        """Start the controller; its disk is formatted with the id of the cluster, at the newest level of 3.9."""
        reported = {**self._controller, **settings}
        if not (self._folder / "controller").exists():
            properties = self._folder / "format.properties"
            properties.write_text("".join(f"{key}={value}\n" for key, value in reported.items()))
            cluster_id = re.search("cluster.id=(.*)", (self._folder / "0/meta.properties").read_text())[1]
            format_storage(release, properties, None, "-t", cluster_id)
        return self._start(f"controller ({release})", release, "kafka.Kafka", reported, "Kafka Server started")

    def kraft_broker(self, release):
        """Start the broker without ZooKeeper."""
        reported = {
            **self.quorum,
            "process.roles": "broker",
            "node.id": 0,
            "listeners": f"PLAINTEXT://{self.bootstrap[0]}",
            "log.dirs": self._folder / "0",
        }
        return self._start(
            f"broker 0 in KRaft mode ({release})", release, "kafka.Kafka", reported, "Kafka Server started"
        )

    def topics(self):
        """Return the topics that the broker knows."""
        admin = KafkaAdminClient(bootstrap_servers=self.bootstrap[0])
        try:
            return {name for name in admin.list_topics() if not name.startswith("__")}
        finally:
            admin.close()


@pytest.mark.broker
@pytest.mark.exhaustive
@pytest.mark.parametrize("is_finished", [True, False])
def test_a_cluster_leaves_zookeeper_at_3_9_and_goes_on_to_4(tmp_path, is_finished):
    """Also from a migration that was not finished: the newer release ignores its settings."""
    jars(OLD), jars(NEW)
    steps = advise_brokers(broker_release(OLD), broker_release(NEW), MetadataMode.ZOOKEEPER).steps
    assert [0, 1, 1, 0, 1, 0] == [step.rolls for step in steps]
    with ExitStack() as stack:
        cluster = Migrated(tmp_path, stack)
        broker = cluster.start(0, OLD, {IBP: "3.9"})
        admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap[0])
        admin.create_topics({TOPIC: {"num_partitions": 1, "replication_factor": 1}})
        admin.close()

        controller = cluster.controller(OLD, cluster.zookeeper)  # step 1
        broker.stop()
        migrating = {IBP: "3.9", MIGRATION: "true", **cluster.quorum}
        broker = cluster.start(0, OLD, migrating)  # step 2
        wait_until(lambda: any(MIGRATED in line for line in controller.lines), controller, broker)
        broker.stop()
        broker = cluster.kraft_broker(OLD)  # step 3
        assert {TOPIC} == cluster.topics()
        broker.stop()
        broker = cluster.start(0, OLD, migrating)  # its way back
        assert {TOPIC} == cluster.topics()
        broker.stop()
        broker = cluster.kraft_broker(OLD)
        if is_finished:
            controller.stop()
            controller = cluster.controller(OLD, {})  # step 4
        controller.stop()
        cluster.controller(NEW, {} if is_finished else cluster.zookeeper)  # step 5
        broker.stop()
        cluster.kraft_broker(NEW)
        assert {TOPIC} == cluster.topics()
