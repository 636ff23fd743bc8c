"""Real brokers: which requests they refuse, and a node that is taken from 3.9 to 4.3 and partly back."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient

from streams_assignor.upgrade.cluster.brokers.config import IBP, LMF, BrokerConfig
from streams_assignor.upgrade.cluster.brokers.planner import advise_brokers
from streams_assignor.upgrade.cluster.brokers.protocol_versions import MetadataMode, broker_release
from streams_assignor.upgrade.cluster.drafts.rolling_cluster import Broker, RollingCluster
from tests.lab.integration.clusters import Cluster, JavaTools
from tests.lab.integration.kafka_jars import Unavailable, class_path, jvm
from tests.lab.integration.nodes import UNTIL_END_OF_INPUT, free_ports
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS, Subprocess, wait_until
from tests.upgrade.cluster.brokers.observed import ROWS, Row

pytestmark = [pytest.mark.broker, pytest.mark.slow]

OLD, NEW = "3.9.2", "4.3.1"
SCALA = {"1.0.0": "2.11", "1.0.2": "2.11", "2.1.1": "2.12"}
GOES_ON = "Opening socket connection to server"  # ZooKeeper is looked for once the configuration is accepted
NO_BROKER = "127.0.0.1:1"
SETTINGS = {"broker.id": "0", "listeners": "PLAINTEXT://127.0.0.1:0", "zookeeper.connect": NO_BROKER}
# Kafka's jars before 2.1 bring log4j, which logs nothing without a configuration.
LOG4J = """\
log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%p %m%n
"""


def jars(release: str) -> str:
    try:
        return class_path(f"org.apache.kafka:kafka_{SCALA.get(release, '2.13')}:{release}")
    except Unavailable as missing:
        pytest.skip(f"no broker {release}: {missing}")


# The jars of the other tests are enough for the rows of these two; each of the others brings some 40 MB more.
CASES = [
    pytest.param(
        row,
        marks=[] if row.release in (OLD, NEW) else [pytest.mark.exhaustive],
        id=f"{row.release} {' '.join(row.settings.values())}",
    )
    for row in ROWS
]


@pytest.mark.parametrize("row", CASES)
def test_a_broker_refuses_what_the_validation_refuses(row: Row, tmp_path: Path) -> None:
    log4j, properties = tmp_path / "log4j.properties", tmp_path / "server.properties"
    log4j.write_text(LOG4J)
    reported = {**SETTINGS, **row.settings, "log.dirs": tmp_path / "data"}
    properties.write_text("".join(f"{key}={value}\n" for key, value in reported.items()))
    java, *more = jvm(jars(row.release), "256m", "info")
    command = [java, f"-Dlog4j.configuration=file:{log4j}", *more, "kafka.Kafka", str(properties)]
    with Subprocess(f"a broker of {row.release}", [*UNTIL_END_OF_INPUT, *command]) as broker:
        wait_until(lambda: any(re.search(f"{GOES_ON}|Exception: ", line) for line in broker.lines), broker)

    output = "\n".join(broker.lines).replace("`", "")  # 3.3 and later quote nothing
    assert (row.refusal or GOES_ON) in output
    assert (row.refusal is None) is (GOES_ON in output)


class WithZooKeeper:
    """A ZooKeeper and up to two brokers, 0 and 1, all from Kafka's jars."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack = folder, stack
        self._zookeeper, *self._ports = free_ports(3)
        self.bootstrap = [f"127.0.0.1:{port}" for port in self._ports]
        reported = {"dataDir": folder / "zookeeper", "clientPort": self._zookeeper, "admin.enableServer": "false"}
        self._start("ZooKeeper", OLD, "org.apache.zookeeper.server.ZooKeeperServerMain", reported, "binding to port")

    def start(self, broker: int, release: str, settings: Mapping[str, str]) -> Subprocess:
        reported = {
            "broker.id": broker,
            "listeners": f"PLAINTEXT://{self.bootstrap[broker]}",
            "zookeeper.connect": f"127.0.0.1:{self._zookeeper}",
            "log.dirs": self._folder / str(broker),
            "log.cleaner.enable": "false",
            **settings,
        }
        return self._start(f"broker {broker} ({release})", release, "kafka.Kafka", reported, "started (kafka.server")

    def _start(self, name: str, release: str, main: str, reported: dict[str, Any], ready: str) -> Subprocess:
        properties = self._folder / f"{name}.properties"
        properties.write_text("".join(f"{key}={value}\n" for key, value in reported.items()))
        (self._folder / "log4j.properties").write_text(LOG4J)
        java, *more = jvm(jars(release), "256m", "info")
        log4j = f"-Dlog4j.configuration=file:{self._folder}/log4j.properties"
        command = [*UNTIL_END_OF_INPUT, java, log4j, *more, main, str(properties)]
        child = self._stack.enter_context(Subprocess(name, command))
        wait_until(lambda: any(ready in line or "] started" in line for line in child.lines), child)
        return child

    def in_sync(self, wanted: set[int]) -> bool:
        """Wait until the replicas in sync of the only partition are `wanted`."""
        admin = KafkaAdminClient(bootstrap_servers=self.bootstrap)
        try:
            for _ in range(TIMEOUT_SECONDS):
                found = [partition["isr_nodes"] for partition in admin.describe_topics(["t"])[0]["partitions"]]
                if [wanted] == [set(each) for each in found]:
                    return True
                time.sleep(1)
            return False
        finally:
            admin.close()


@pytest.mark.exhaustive
def test_a_broker_whose_protocol_is_not_held_back_is_not_understood(tmp_path: Path) -> None:
    """What the plan's first step is for: 2.8.2 and 3.9.2 side by side, with a real ZooKeeper."""
    held_back, not_held_back = {IBP: "2.8"}, {}
    with ExitStack() as stack:
        cluster = WithZooKeeper(tmp_path, stack)
        old, new = cluster.start(0, "2.8.2", {}), cluster.start(1, OLD, held_back)
        admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
        admin.create_topics({"t": {"num_partitions": 1, "replication_factor": 2}})
        admin.close()
        assert cluster.in_sync({0, 1})

        new.stop()
        cluster.start(1, OLD, not_held_back)
        wait_until(lambda: any("Error getting request for apiKey: FETCH" in line for line in old.lines), old)
        assert cluster.in_sync({0})

    both = [BrokerConfig.of(broker_release(release)) for release in ("2.8.2", OLD)]
    assert (("0", "1"),) == RollingCluster((Broker("0", both[0]), Broker("1", both[1]))).incompatible_pairs


@pytest.fixture(name="tools", scope="module")
def fixture_tools() -> Iterator[JavaTools]:
    jars(OLD), jars(NEW)
    with JavaTools() as tools:
        yield tools


@pytest.fixture(name="cluster")
def fixture_cluster(tmp_path: Path) -> Iterator[Cluster]:
    """One node, broker and controller, formatted by the release that it is first started with."""
    with Cluster(tmp_path / "cluster") as cluster:
        yield cluster


def level(tools: JavaTools, cluster: Cluster, servers: str | None = None) -> str:
    """The finalized metadata.version."""
    output = tools.features("--bootstrap-server", servers or cluster.brokers, "describe").out
    return re.search(r"metadata\.version .*FinalizedVersionLevel: (\S+( \d+)?)", output)[1]


def change(tools: JavaTools, cluster: Cluster, *arguments: str) -> str:
    output = tools.features("--bootstrap-server", cluster.brokers, *arguments)
    return output.out + output.err


def bounce(cluster: Cluster, release: str, **how: Any) -> Subprocess:
    cluster.stop(1)
    return cluster.start(1, release, **how)


# Its broker or its controller meets the level first.
FATAL = re.compile("No MetadataVersion with feature level|Tried to apply FeatureLevelRecord")


def check_that_it_cannot_be(cluster: Cluster, release: str) -> None:
    """Bounce the node to a release that fails on the level, and take it away again."""
    cluster.stop(1)
    node = cluster.launch(1, release)
    wait_until(lambda: any(map(FATAL.search, node.lines)), node)
    assert not any("Kafka Server started" in line for line in node.lines)
    cluster.kill(1)  # it would hang


def test_m1_the_protocol_is_read_when_3_9_formats_a_node_and_never_again(tools: JavaTools, cluster: Cluster) -> None:
    """KIP-778 says ignored; ``StorageTool`` of 3.9 takes it for the first metadata.version all the same."""
    node = cluster.start(1, OLD, settings={IBP: "3.8"})
    assert any(f"{IBP} is deprecated in KRaft mode" in line for line in node.lines)
    assert "3.8-IV0" == level(tools, cluster)

    bounce(cluster, OLD, settings={IBP: "3.9"})

    assert "3.8-IV0" == level(tools, cluster)


def test_m1_4_3_does_not_know_the_protocol_and_takes_anything(tools: JavaTools, cluster: Cluster) -> None:
    cluster.start(1, NEW, settings={IBP: "banana", LMF: "banana"})

    assert "4.0-IV3" == level(tools, cluster)


@pytest.mark.exhaustive
def test_a_level_below_3_3_iv3_must_be_raised_and_out_of_the_log_before_4_0(
    tools: JavaTools, cluster: Cluster, tmp_path: Path
) -> None:
    """Raising it, all that Kafka's notes ask for, was not enough: a record of the old level is as deadly."""
    cluster.start(1, OLD, settings={IBP: "3.3-IV2"})
    assert "UNKNOWN 6" == level(tools, cluster)  # the tool is of 4.3.1, and does not know 3.3-IV2 either
    check_that_it_cannot_be(cluster, NEW)

    cluster.start(1, OLD)
    assert "was upgraded to" in change(tools, cluster, "upgrade", "--feature", "metadata.version=7")
    check_that_it_cannot_be(cluster, NEW)

    cluster.start(1, OLD, settings={"metadata.log.max.snapshot.interval.ms": "1000"})
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not list(tmp_path.glob("cluster/1/data/__cluster_metadata-0/*.checkpoint")):
        assert time.monotonic() < deadline
        time.sleep(0.5)
    bounce(cluster, NEW)

    assert "3.3-IV3" == level(tools, cluster)


@pytest.mark.exhaustive
def test_a_node_from_3_9_to_4_3_and_as_far_back_as_the_plan_says(tools: JavaTools, cluster: Cluster) -> None:
    roll, finalize = advise_brokers(
        broker_release(OLD), broker_release(NEW), MetadataMode.KRAFT, level_unchanged=True
    ).steps
    cluster.start(1, OLD)
    assert "3.9-IV0" == level(tools, cluster)

    # Safe within 3.9: no level in between changed the records.
    assert "metadata.version was downgraded to 20." in change(tools, cluster, "downgrade", "--metadata", "3.8")
    assert "metadata.version was upgraded to 21." in change(tools, cluster, "upgrade", "--metadata", "3.9")

    # The roll is "open": there and back again.
    assert "open" == roll.way_back.verdict.value
    for release in (NEW, OLD, NEW):
        bounce(cluster, release)
        assert "3.9-IV0" == level(tools, cluster)

    # Finalizing is "lossy": no way back through the level, and none past it.
    assert "lossy" == finalize.way_back.verdict.value
    _, _, command = finalize.do.partition(": kafka-features ")
    assert "metadata.version was upgraded to 30." in change(tools, cluster, *command.split())
    for more in ((), ("--unsafe",)):
        output = change(tools, cluster, "downgrade", "--feature", "metadata.version=21", *more)
        assert "Unsupported metadata.version downgrade from 30 to 21." in output
    check_that_it_cannot_be(cluster, OLD)

    # Nothing is lost by the attempt.
    cluster.start(1, NEW)
    assert "4.3-IV0" == level(tools, cluster)
