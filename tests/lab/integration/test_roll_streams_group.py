"""`roll` upgrades a streams group (KIP-1071) under load: exactly once, with a killed member and a restarted broker."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.integration.clusters import Cluster
from tests.lab.integration.kafka_jars import Unavailable, counting
from tests.lab.integration.peers import Group
from tests.lab.integration.rolls import SESSION_S, Load, Operator, Rolled, records

pytestmark = [pytest.mark.broker, pytest.mark.java, pytest.mark.slow]

ORIGIN, TARGET = "4.2.2", "4.4.0"
BROKER = {
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.min.session.timeout.ms": f"{SESSION_S}000",
    "group.streams.session.timeout.ms": f"{SESSION_S}000",
    "group.streams.min.heartbeat.interval.ms": "500",
    "group.streams.heartbeat.interval.ms": "500",
}
MEMBER = {"group.protocol": "streams", "processing.guarantee": "exactly_once_v2"}


def test_a_streams_group_is_upgraded_exactly_once_though_a_member_is_killed_and_the_broker_restarts(
    tmp_path: Path,
) -> None:
    with Cluster(tmp_path / "broker") as cluster:
        try:
            counting(ORIGIN)
            cluster.start(1, TARGET, settings=BROKER)
        except Unavailable as missing:
            pytest.skip(f"no broker or Kafka Streams: {missing}")
        with Group(cluster.brokers, "stateful", tmp_path) as group, Operator(group, tmp_path, **MEMBER) as operator:
            for name in "abc":
                operator.start(name, ORIGIN)
            group.settle()
            group.count()
            rolled = Rolled(group, operator, tmp_path, ORIGIN)

            def restart(name: str, release: str, upgrade_from: str) -> None:
                if name == "b":
                    group.kill(name)
                if name == "c":
                    cluster.stop(1)
                    cluster.start(1, TARGET, settings=BROKER)
                operator.restart_as_told(name, release, upgrade_from)

            operator.restart = restart
            with Load(group):
                process = rolled.roll(TARGET)
                status = process.wait()
            print(*process.lines, sep="\n")

            assert 0 == status, process.lines
            assert {TARGET} == {release for release, _ in operator.running.values()}
            assert "finished" == records(rolled.journal)[-1]["outcome"]
            rolled.check_nothing_is_lost()
            assert [] == group.miscounted()
            print(f"{group.sent} records of each key")
