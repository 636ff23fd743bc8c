"""`roll` upgrades a streams group (KIP-1071) under load: exactly once, while members are killed and brokers restart."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

import pytest
from confluent_kafka.admin import AdminClient

from tests.lab.chaos.cluster import ThreeNodes
from tests.lab.integration.kafka_jars import Unavailable, counting
from tests.lab.integration.peers import Group
from tests.lab.integration.rolls import Load, Operator, Rolled, records
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS, wait_until

pytestmark = [pytest.mark.broker, pytest.mark.java, pytest.mark.slow]

ORIGIN, TARGET = "4.2.2", "4.4.0"
MEMBER = {"group.protocol": "streams", "processing.guarantee": "exactly_once_v2"}
KILLED = "bc"


class RestartingBrokers:
    """The brokers of a cluster, of which one after the other is stopped in peace and started."""

    def __init__(self, cluster: ThreeNodes) -> None:
        self._cluster = cluster
        self._admin = AdminClient({"bootstrap.servers": cluster.brokers})
        self._thread = Thread()
        self.restarted: list[int] = []

    def restart(self, node: int) -> None:
        """Begin with a broker as soon as the one before has everything again."""
        self.wait()
        self._thread = Thread(target=self._restart, args=(node,), daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait for the broker that restarts."""
        if self._thread.ident:
            self._thread.join()

    def _restart(self, node: int) -> None:
        self._cluster.stop(node)
        self._cluster.restart(node)
        self._cluster.wait(node)
        wait_until(self._is_in_sync)
        self.restarted.append(node)

    def _is_in_sync(self) -> bool:
        topics = self._admin.list_topics(timeout=TIMEOUT_SECONDS).topics.values()
        partitions = [partition for topic in topics for partition in topic.partitions.values()]
        assert {3} == {len(partition.replicas) for partition in partitions}
        return all(len(partition.isrs) == 3 for partition in partitions)


def test_a_streams_group_is_upgraded_exactly_once_though_members_are_killed_and_all_brokers_restart(
    tmp_path: Path,
) -> None:
    with ThreeNodes(tmp_path / "brokers", "127.0.0.1", TARGET) as cluster:
        try:
            counting(ORIGIN)
            cluster.start_all()
        except Unavailable as missing:
            pytest.skip(f"no broker or Kafka Streams: {missing}")
        brokers = RestartingBrokers(cluster)
        with (
            Group(cluster.brokers, "stateful", tmp_path, replicas=3) as group,
            Operator(group, tmp_path, **MEMBER) as operator,
        ):
            for name in "abc":
                operator.start(name, ORIGIN)
            group.settle()
            group.count()
            rolled = Rolled(group, operator, tmp_path, ORIGIN)

            def restart(name: str, release: str, upgrade_from: str) -> None:
                brokers.restart("abc".index(name) + 1)
                if name in KILLED:
                    group.kill(name)
                operator.restart_as_told(name, release, upgrade_from)

            operator.restart = restart
            with Load(group):
                process = rolled.roll(TARGET)
                status = process.wait()
                brokers.wait()
                print(*process.lines, sep="\n")
                assert 0 == status, process.lines

            assert {TARGET} == {release for release, _ in operator.running.values()}
            assert [1, 2, 3] == sorted(brokers.restarted)
            assert "finished" == records(rolled.journal)[-1]["outcome"]
            rolled.check_nothing_is_lost()
            assert [] == group.miscounted()
            print(f"{group.sent} records of each key")
