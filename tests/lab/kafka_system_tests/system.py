"""One system under test: brokers, topics, a driver that sends records, and three processors (one can be ours)."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Final, Self

from confluent_kafka.admin import AdminClient, NewTopic

from tests.lab.integration.clusters import Cluster
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS
from tests.lab.kafka_system_tests.processors import Processor, java_class, python_member
from tests.lab.kafka_system_tests.records import RecordConsumer, RecordProducer

NO_WARM_UP: Final = str(2**63 - 1)
"""As ``acceptable.recovery.lag``: tasks move at once."""
STICKY: Final = {
    "internal.task.assignor.class": ("org.apache.kafka.streams.processor.internals.assignment.LegacyStickyTaskAssignor")
}
"""What some tests of kafkatest set since KIP-441."""
_RESILIENT: Final = {
    "consumer.max.poll.interval.ms": "50000",
    "producer.retries": "2",
    "producer.request.timeout.ms": "15000",
    "producer.max.block.ms": "30000",
}
"""``get_configs`` of kafkatest's ``BaseStreamsTest``."""
_OURS: Final = "streams-assignor"


class System:
    """Brokers and processors of one run; ends all of them."""

    def __init__(
        self,
        release: str,
        folder: Path,
        *,
        seed: str,
        python: int | None,
        brokers: int = 1,
        isolated: bool = False,
    ) -> None:
        self.release = release
        """What Kafka's tests call DEV: the release of brokers, driver and, in the end, of all processors."""
        self.python = python
        """The number of the processor that is ours, from 1; None: all are Java."""
        self.random = random.Random(seed)
        """Kafka's tests bounce in random order; here a case has the same order each time."""
        self.processors: list[Processor] = []
        self.others: list[Processor] = []
        """Drivers and producers."""
        self._folder = folder
        self._isolated = isolated
        self.nodes = range(1, brokers + 1) if not isolated else range(2, brokers + 2)
        """The brokers. If the controller is isolated, it is node 1; else the first broker is it, too."""
        self.cluster = Cluster(folder / "cluster", others=self.nodes[-1] - 1)
        self._producers: list[RecordProducer] = []
        self._consumers: dict[str, RecordConsumer] = {}

    def __enter__(self) -> Self:
        """Start controller and brokers."""
        if self._isolated:
            self.cluster.launch(1, self.release, roles="controller")
        for node in self.nodes:
            self._launch(node)
        for node in range(1, self.nodes[-1] + 1):
            self.cluster.wait(node)
        return self

    def __exit__(self, *_: object) -> None:
        with ExitStack() as stack:
            stack.callback(self.cluster.__exit__)
            for producer in self._producers:
                stack.callback(producer.stop)
            for consumer in self._consumers.values():
                stack.callback(consumer.close)
            for each in (*self.processors, *self.others):
                stack.callback(each.kill)

    @property
    def bootstrap(self) -> str:
        """The addresses of all brokers."""
        return ",".join(self.cluster.broker(node) for node in self.nodes)

    def _launch(self, node: int) -> None:
        replicas = str(len(self.nodes))
        settings = {
            "group.initial.rebalance.delay.ms": "0",
            "offsets.topic.replication.factor": replicas,
            "transaction.state.log.replication.factor": replicas,
        }
        self.cluster.launch(node, self.release, settings=settings)

    def start_broker(self, node: int) -> None:
        """Start a broker again."""
        self._launch(node)
        self.cluster.wait(node)

    def leader(self, topic: str) -> int:
        """The broker that leads partition 0 of a topic."""
        found = self._admin.list_topics(topic, TIMEOUT_SECONDS).topics[topic].partitions[0].leader
        return int(found)

    @cached_property
    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def create_topics(self, topics: Mapping[str, int], replicas: int = 1, **settings: str) -> None:
        """Create topics with these numbers of partitions."""
        made = self._admin.create_topics(
            [NewTopic(name, count, replicas, config=settings) for name, count in topics.items()]
        )
        for future in made.values():
            future.result(TIMEOUT_SECONDS)

    def produce(self, topic: str, **how: int) -> RecordProducer:
        """Begin to send records to a topic; see `RecordProducer`."""
        producer = RecordProducer(self.bootstrap, topic, **how).start()
        self._producers.append(producer)
        return producer

    def consume(self, topic: str, number: int) -> None:
        """Wait for so many more records of a topic."""
        if topic not in self._consumers:
            self._consumers[topic] = RecordConsumer(self.bootstrap, topic)
        self._consumers[topic].read(number)

    def drive(self, name: str, release: str, *arguments: str, settings: Mapping[str, str] | None = None) -> Processor:
        """Start a test class that is no member of the group."""
        driver = Processor("driver", java_class(name, release, *arguments), self._folder)
        driver.set({"bootstrap.servers": self.bootstrap, **(settings or {})})
        self.others.append(driver)
        driver.start()
        return driver

    def add_processors(self, number: int = 3, **settings: str | None) -> None:
        """Add processors with these settings and what most have; each has a state directory of its own."""
        for place in range(1, number + 1):
            name = f"{'python' if place == self.python else 'java'}-{place}"
            processor = Processor(name, lambda _: [], self._folder)
            processor.set(
                {
                    "bootstrap.servers": self.bootstrap,
                    "state.dir": str(self.state_of(processor)),
                    "client.id": name,
                    "acceptable.recovery.lag": NO_WARM_UP,
                    "session.timeout.ms": "10000",
                    **settings,
                }
            )
            self.processors.append(processor)

    def add_resilient_processors(self, name: str, more: Mapping[str, str], number: int = 3) -> None:
        """Add processors with a test class that takes settings as an argument."""
        self.add_processors(number, **{"acceptable.recovery.lag": None, "session.timeout.ms": None})
        argument = ",".join(f"{key}={value}" for key, value in {**_RESILIENT, **more}.items())
        for processor in self.processors:
            self.use(processor, name, self.release, argument)

    def is_python(self, processor: Processor) -> bool:
        """Whether it is a member of this project."""
        return processor.name.startswith("python")

    def state_of(self, processor: Processor) -> Path:
        """Its state directory, below the folder of its other files."""
        return self._folder / processor.name / "state"

    def clean(self, processor: Processor) -> None:
        """Remove the state of a processor that does not run."""
        shutil.rmtree(self.state_of(processor), ignore_errors=True)

    def use(self, processor: Processor, name: str, release: str, *arguments: str, **settings: str | None) -> None:
        """From its next start on a processor runs a test class of a release, or our member does so in its place."""
        if self.is_python(processor):
            ours = None if release == self.release else release
            processor.use(python_member(name, *arguments), **{"test.release": ours, **settings})
        else:
            processor.use(java_of(name, release, self.bootstrap, self.state_of(processor), arguments), **settings)

    def shuffled(self) -> list[Processor]:
        """The processors in the order of the next bounce."""
        order = list(self.processors)
        self.random.shuffle(order)
        return order

    def other_than(self, processor: Processor) -> list[Processor]:
        """The other processors."""
        return [each for each in self.processors if each is not processor]

    def version_line(self, processor: Processor, release: str) -> str:
        """What a processor logs of its release."""
        shown = _OURS if self.is_python(processor) and release == self.release else release
        return rf"Kafka version ?: {shown}"


_FIRST_WITH_CLASS: Final = {"StreamsUpgradeTest": "0.10.2.2", "StreamsUpgradeToCooperativeRebalanceTest": "2.4.1"}
"""Releases before these ones have no such class in their test jars; the class of this release runs on their jars."""


def java_of(
    name: str, release: str, bootstrap: str, state: Path, arguments: tuple[str, ...]
) -> Callable[[Path], list[str]]:
    """The command of a test class, as its release wants it: before 2.0 without properties."""
    first = _FIRST_WITH_CLASS.get(name, release)
    tests = max(release, first, key=_number)
    if name != "StreamsUpgradeTest" or _number(tests) >= (2,):
        return java_class(name, tests, *arguments, jars=release)

    def command(properties: Path) -> list[str]:
        state.parent.mkdir(parents=True, exist_ok=True)  # 0.10.0 makes one folder, not those above it
        lines = dict(line.split("=", 1) for line in properties.read_text().splitlines())
        upgrade_from = filter(None, [lines.get("upgrade.from")])
        plain = java_class(name, tests, jars=release)(properties)
        return [*plain[:-1], bootstrap, str(state), *upgrade_from]

    return command


def _number(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))
