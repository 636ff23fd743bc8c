"""One system under test: brokers, topics, a driver that sends records, and three processors (one can be ours)."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Self

from confluent_kafka.admin import AdminClient, NewTopic

from tests.integration.clusters import Cluster
from tests.integration.subprocesses import TIMEOUT_SECONDS
from tests.kafka_system_tests.processors import Processor, java_class, python_member

NO_WARM_UP: Final = str(2**63 - 1)
"""As ``acceptable.recovery.lag``: tasks move at once."""
_OURS: Final = "streams-assignor"


class System:
    """Brokers and processors of one run; ends all of them."""

    def __init__(self, release: str, folder: Path, *, seed: str, python: int | None, brokers: int = 1) -> None:
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
        self._nodes = range(1, brokers + 1)
        self.cluster = Cluster(folder / "cluster", others=brokers - 1)

    def __enter__(self) -> Self:
        """Start the brokers."""
        replicas = str(len(self._nodes))
        settings = {
            "group.initial.rebalance.delay.ms": "0",
            "offsets.topic.replication.factor": replicas,
            "transaction.state.log.replication.factor": replicas,
        }
        for node in self._nodes:
            self.cluster.start(node, self.release, settings=settings)
        return self

    def __exit__(self, *_: object) -> None:
        with ExitStack() as stack:
            stack.callback(self.cluster.__exit__)
            for each in (*self.processors, *self.others):
                stack.callback(each.kill)

    @property
    def bootstrap(self) -> str:
        """The addresses of all brokers."""
        return ",".join(self.cluster.broker(node) for node in self._nodes)

    def create_topics(self, topics: Mapping[str, int], replicas: int = 1) -> None:
        """Create topics with these numbers of partitions."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        made = admin.create_topics([NewTopic(name, count, replicas) for name, count in topics.items()])
        for future in made.values():
            future.result(TIMEOUT_SECONDS)

    def drive(self, name: str, release: str, *arguments: str, settings: Mapping[str, str] | None = None) -> Processor:
        """Start a test class that is no member of the group."""
        driver = Processor("driver", java_class(name, release, *arguments), self._folder)
        driver.set({"bootstrap.servers": self.bootstrap, **(settings or {})})
        self.others.append(driver)
        driver.start()
        return driver

    def add_processors(self, number: int = 3, **settings: str) -> None:
        """Add processors with these settings and what all have; each has a state directory of its own."""
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
