"""Three nodes that keep everything three times, and a steady flow of records into them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Event, Thread
from types import MappingProxyType
from typing import Any, Final
from unittest.mock import patch

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.lab.chaos.fault_schedule import NODES, SESSION_SECONDS
from tests.lab.chaos.wall_clock import WallClock
from tests.lab.integration.clusters import NEWEST, Cluster

QUIET: Final = MappingProxyType({"log_level": 0})
READY_TIMEOUT_SECONDS: Final = 60.0
_OFFSETS: Final = "__consumer_offsets"
_COPIES: Final = MappingProxyType(
    {
        "offsets.topic.replication.factor": "3",
        "transaction.state.log.replication.factor": "3",
        "transaction.state.log.min.isr": "2",
        "default.replication.factor": "3",
        "min.insync.replicas": "2",
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "1000",
        "group.streams.initial.rebalance.delay.ms": "0",
        "group.streams.min.session.timeout.ms": "1000",
        "group.streams.session.timeout.ms": f"{SESSION_SECONDS * 1000:.0f}",
        "group.streams.min.heartbeat.interval.ms": "100",
        "group.streams.heartbeat.interval.ms": f"{SESSION_SECONDS * 100:.0f}",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
        # On a busy machine a quorum needs Kafka's own patience to find a leader, and a broker more than that.
        "controller.quorum.election.timeout.ms": "1000",
        "controller.quorum.fetch.timeout.ms": "2000",
        "initial.broker.registration.timeout.ms": "240000",
        # A dead broker is found out as soon as a dead member.
        "broker.heartbeat.interval.ms": "500",
        "broker.session.timeout.ms": "3000",
    }
)

_NO_CLOCKS: Final[Mapping[str, WallClock]] = MappingProxyType({})


class ThreeNodes(Cluster):
    """Nodes 1 to 3 vote and store; everybody reaches their brokers at `host`.

    They are processes: they inherit clocks and the network of the run.
    """

    in_containers = False

    def __init__(
        self,
        folder: Path,
        host: str,
        release: str = NEWEST,
        clocks: Mapping[str, WallClock] = _NO_CLOCKS,
        metadata: str = "4.0-IV3",
    ) -> None:
        super().__init__(folder, metadata=metadata, controllers=NODES)
        self._clocks = clocks
        self._host = host
        self._release = release

    def broker(self, node: int) -> str:
        return super().broker(node).replace("127.0.0.1", self._host)

    @property
    def brokers(self) -> str:
        return ",".join(self.broker(node) for node in range(1, NODES + 1))

    def start_all(self) -> None:
        for node in range(1, NODES + 1):
            self.restart(node)
        for node in range(1, NODES + 1):
            self.wait(node)

    def restart(self, node: int) -> None:
        """Start a node that is not running; it says itself when it is ready."""
        clock = self._clocks.get(str(node))
        with patch.dict(os.environ, clock.environment if clock else {}):
            self.launch(node, self._release, settings=_COPIES)

    def stop(self, node: int) -> None:
        self._keep_log(node)
        super().stop(node)

    def kill(self, node: int) -> None:
        self._keep_log(node)
        super().kill(node)

    def _keep_log(self, node: int) -> None:
        with (self._folder / f"{node}.log").open("a") as log:
            log.writelines(f"{line}\n" for line in self._running[node].lines)

    def runs(self, node: int) -> bool:
        return node in self._running

    def ready(self, node: int) -> bool:
        return any("Kafka Server started" in line for line in self._running[node].lines)

    def create(self, **topics: int) -> None:
        """Create topics with so many partitions each."""
        admin = self._admin()
        deadline = time.monotonic() + READY_TIMEOUT_SECONDS
        for name, count in topics.items():
            while True:  # brokers come in one by one, and each topic wants three
                try:
                    admin.create_topics([NewTopic(name, count, NODES)])[name].result(READY_TIMEOUT_SECONDS)
                    break
                except KafkaException:
                    assert time.monotonic() < deadline, f"topic {name} cannot be created"
                    time.sleep(0.5)

    def coordinator(self) -> int:
        """The node that coordinates all groups: it leads the only partition of their offsets."""
        return int(
            self._admin().list_topics(_OFFSETS, timeout=READY_TIMEOUT_SECONDS).topics[_OFFSETS].partitions[0].leader
        )

    def ends(self, topic: str, partitions: int) -> dict[str, int]:
        """How many records each partition has, as offsets have no gaps without transactions."""
        reader = self.reader()
        try:
            return {
                f"{topic}-{number}": reader.get_watermark_offsets(
                    TopicPartition(topic, number), timeout=READY_TIMEOUT_SECONDS
                )[1]
                for number in range(partitions)
            }
        finally:
            reader.close()

    def committed(self, topic: str, partitions: int) -> Iterator[Message]:
        """All committed records of a topic."""
        reader = self.reader(**{"enable.partition.eof": True, "isolation.level": "read_committed"})
        try:
            reader.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
            at_end: set[int] = set()
            while len(at_end) < partitions:
                message = reader.poll(READY_TIMEOUT_SECONDS)
                assert message is not None, f"topic {topic} cannot be read to its end"
                if not message.error():
                    yield message
                elif message.error().name() == "_PARTITION_EOF":
                    at_end.add(message.partition())
        finally:
            reader.close()

    def reader(self, **more: Any) -> Consumer:
        return Consumer(
            {"bootstrap.servers": self.brokers, "group.id": "unused", "enable.auto.commit": False, **QUIET, **more}
        )

    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.brokers, **QUIET})


class LoadGenerator:
    """Produces records, round robin over the partitions, each stored exactly once whatever happens to the brokers.

    No two have the same timestamp: it is by that that a copy is known, as Kafka Streams hands it on.
    """

    def __init__(self, bootstrap: str, topic: str, partitions: int, per_second: int) -> None:
        self.acknowledged = 0
        self.refused: list[str] = []
        self._topic, self._partitions, self._pause = topic, partitions, 1 / per_second
        # With several in flight, one that is cut off in between makes librdkafka begin a new epoch and send what was
        # stored again.
        once = {"enable.idempotence": True, "max.in.flight": 1}
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, **once, **QUIET})
        self._stopping = Event()
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Return when everything is acknowledged."""
        self._stopping.set()
        self._thread.join()
        left = self._producer.flush(READY_TIMEOUT_SECONDS)
        assert not left + len(self.refused), f"{left} records are not acknowledged, refused: {self.refused[:1]}"

    def _run(self) -> None:
        number, start, first_ms = 0, time.monotonic(), int(time.time() * 1000)
        while not self._stopping.is_set():
            where = number % self._partitions
            self._producer.produce(
                self._topic,
                b"%d" % number,
                key=b"%d" % where,
                partition=where,
                timestamp=first_ms + number,
                on_delivery=self._delivered,
            )
            number += 1
            self._producer.poll(max(0.0, start + number * self._pause - time.monotonic()))

    def _delivered(self, error: Any, _: Any) -> None:
        if error is None:
            self.acknowledged += 1
        else:
            self.refused.append(str(error))
