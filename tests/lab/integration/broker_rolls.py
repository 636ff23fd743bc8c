"""A cluster of three nodes that `roll --brokers` restarts, and records that have to survive it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from threading import Event, Thread
from typing import Self
from uuid import uuid4

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.lab.integration.clusters import Cluster
from tests.lab.integration.rolls import CommandServer
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS

NODES = (1, 2, 3)
REPLICATED = {
    "offsets.topic.replication.factor": "3",
    "min.insync.replicas": "2",
    "group.initial.rebalance.delay.ms": "0",
    "controlled.shutdown.enable": "true",
}
_PARTITIONS = 3
_PAUSE_SECONDS = 0.02


class Nodes:
    """The nodes of a cluster by their ids, with the template that restarts one; ``restart`` may be replaced.

    Args:
        cluster: The cluster.
        settings: Those of every node.
        controllers: The nodes that are controllers and no brokers.
        brokers: The others.
    """

    def __init__(
        self,
        cluster: Cluster,
        settings: dict[str, str] | None = None,
        controllers: tuple[int, ...] = (),
        brokers: tuple[int, ...] = NODES,
    ) -> None:
        self.cluster = cluster
        self.controllers = controllers
        self.brokers = brokers
        self.settings = REPLICATED if settings is None else settings
        self.restart: Callable[[str, str], None] = self.restart_as_told
        self.operator = CommandServer(lambda _verb, name, release, _upgrade_from: self.restart(name, release))

    def __enter__(self) -> Self:
        self.operator.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.operator.__exit__()

    @property
    def servers(self) -> str:
        """The addresses of all brokers."""
        return ",".join(map(self.cluster.broker, self.brokers))

    @property
    def restarts(self) -> list[tuple[str, str]]:
        """Node and release of each restart, in order."""
        return [(words[1], words[2]) for words in self.operator.calls]

    def start(self, release: str) -> None:
        """Start all nodes with a release."""
        for node in (*self.controllers, *self.brokers):
            self.launch(node, release)
        for node in (*self.controllers, *self.brokers):
            self.cluster.wait(node)

    def restart_as_told(self, name: str, release: str) -> None:
        """Stop a node and start it with the release of the step, without waiting for it."""
        self.cluster.stop(int(name))
        self.launch(int(name), release)

    def launch(self, node: int, release: str) -> None:
        """Start a node in its role, without waiting for it."""
        roles = "controller" if node in self.controllers else None
        self.cluster.launch(node, release, roles=roles, settings=self.settings)


class ReplicatedLoad:
    """Records with their numbers, which a replicated topic has acknowledged, until the end of a block."""

    def __init__(self, servers: str, replicas: int = len(NODES)) -> None:
        self._servers = servers
        self._replicas = replicas
        self.topic = f"load-{uuid4().hex[:8]}"
        self.acknowledged: list[int] = []
        self.refused: list[KafkaError] = []
        self._ended = Event()
        self._thread = Thread(target=self._send, daemon=True)

    def __enter__(self) -> Self:
        admin = AdminClient({"bootstrap.servers": self._servers})
        made = admin.create_topics([NewTopic(self.topic, _PARTITIONS, self._replicas)])
        made[self.topic].result(TIMEOUT_SECONDS)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _send(self) -> None:
        producer = Producer({"bootstrap.servers": self._servers, "acks": "all", "enable.idempotence": True})
        number = 0
        while not self._ended.wait(_PAUSE_SECONDS):
            producer.produce(self.topic, value=b"%d" % number, on_delivery=self._delivered)
            producer.poll(0)
            number += 1
        producer.flush(TIMEOUT_SECONDS)

    def _delivered(self, error: KafkaError | None, message: object) -> None:
        if error:
            self.refused.append(error)
        else:
            self.acknowledged.append(int(message.value()))  # type: ignore[attr-defined]

    def stored(self) -> Counter[int]:
        """How often each number is in the topic."""
        stored: Counter[int] = Counter()
        with ExitStack() as stack:
            reader = Consumer({"bootstrap.servers": self._servers, "group.id": "unused", "enable.auto.commit": False})
            stack.callback(reader.close)
            parts = [TopicPartition(self.topic, partition, 0) for partition in range(_PARTITIONS)]
            ends = {part.partition: reader.get_watermark_offsets(part, TIMEOUT_SECONDS)[1] for part in parts}
            reader.assign(parts)
            deadline = time.monotonic() + TIMEOUT_SECONDS
            while sum(stored.values()) < sum(ends.values()):
                assert time.monotonic() < deadline, f"read {sum(stored.values())} of {sum(ends.values())}"
                if (message := reader.poll(1)) is None:
                    continue
                if message.error():
                    raise KafkaException(message.error())
                stored[int(message.value())] += 1
        return stored
