"""One application with real members of either kind on a real broker: they come and go, and records go through."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from streams_assignor.upgrade.config_types import parse_end_point
from tests.lab.integration.counting_member import BY_PYTHON
from tests.lab.integration.group_log import generations
from tests.lab.integration.kafka_jars import counting, driver
from tests.lab.integration.subprocesses import TIMEOUT_SECONDS, Subprocess
from tests.lab.integration.topologies import KEYS, PARTITIONS, RACKS, STANDBYS, Topics, counted_in, rack_of, tasks

RECORDS = 10
"""How many of each key are sent at a time."""
_SESSION_MS = 6000  # the least that a broker accepts without configuration
_SESSION_MS_0_10_0 = 10_000  # it sends its heartbeats when it polls
_STILL_SECONDS = 1.0
_LOOK_SECONDS = 0.05


class Member(Subprocess):
    """A process of either kind; they print alike."""

    def __init__(self, name: str, command: list[str], settings: Mapping[str, str]) -> None:
        super().__init__(name, command)
        self.settings = settings

    @property
    def tasks(self) -> set[str]:
        """Its active tasks; none while it rebalances."""
        return set(self._last("owns"))

    @property
    def rack(self) -> str | None:
        """The position that it reports."""
        return self.settings.get("client.rack")

    @property
    def host(self) -> str:
        """The host of its application.server, as both sides print it."""
        host, port = parse_end_point(self.settings["application.server"])
        return f"{host}:{port}"

    def hosts(self, word: str = "hosts") -> dict[str, set[str]]:
        """What it knows of the hosts of the group: the partitions of each; with "standby-hosts", of its standbys."""
        pairs = (host.split("=") for host in self._last(word))
        return {host: set(partitions.split(",")) for host, partitions in pairs if partitions}

    @property
    def stored(self) -> dict[str, int]:
        """The position of each of its stores, if it reports them."""
        return {task: int(position) for task, position in (pair.split("=") for pair in self._last("stored"))}

    def restored(self, task: str, since: int) -> int | None:
        """How many records it has read to begin with a task, if it has, after so many lines."""
        reported = (line.split() for line in self.lines[since:])
        return next((int(words[3]) for words in reported if words[:2] == ["restored", task]), None)

    def kill(self) -> None:
        """End it at once: it leaves no word to anybody."""
        with suppress(ProcessLookupError):
            self.signal(signal.SIGKILL)
        self.stop()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to its process and those of it; it leads a group of its own."""
        os.killpg(self._process.pid, number)

    def _last(self, word: str) -> list[str]:
        found = [line.split()[1:] for line in self.lines if line.split()[:1] == [word]]
        return found[-1] if found else []

    @property
    def last_words(self) -> str:
        """Why it failed, if it reported that."""
        failed = [line for line in self.lines if line.startswith(("died", "Caused by"))]
        return " ".join(failed or self.lines[-1:])[:500]


CountedRecord = tuple[str, bool]
"""A key, and whether one of ours wrote the record."""


class Output:
    """What the members have written so far."""

    def __init__(self, brokers: str, topic: str) -> None:
        self.highest: Counter[str] = Counter()
        self.counts: defaultdict[str, list[int]] = defaultdict(list)
        """The counts of each key, in the order of the topic."""
        self._records: Counter[CountedRecord] = Counter()
        settings = {"group.id": "unused", "enable.auto.commit": False, "isolation.level": "read_committed"}
        self._consumer = Consumer({"bootstrap.servers": brokers, **settings})
        self._consumer.assign([TopicPartition(topic, 0, 0)])

    def read(self) -> Counter[CountedRecord]:
        """How many records of each kind there are by now."""
        while message := self._consumer.poll(_LOOK_SECONDS):
            assert not message.error(), message.error()
            key = message.key().decode()
            self._records[key, message.headers() == BY_PYTHON] += 1
            self.counts[key].append(int.from_bytes(message.value(), "big"))
            self.highest[key] = max(self.highest[key], self.counts[key][-1])
        return self._records.copy()

    def close(self) -> None:
        self._consumer.close()


class ScenarioFailed(AssertionError):
    """It did not go as it should."""


class Group:
    """One application on a broker, its topics, its members."""

    def __init__(self, brokers: str, shape: str, folder: Path, partitions: int = PARTITIONS, replicas: int = 1) -> None:
        self.brokers = brokers
        self._folder = folder
        name = f"group-{uuid4().hex[:8]}"
        self.topics = Topics(shape, name, f"{name}-data", f"{name}-output", partitions)
        self.members: dict[str, Member] = {}
        self.sent = 0
        inner = filter(None, (self.topics.source, self.topics.changelog, self.topics.repartition))
        wanted = {self.topics.output: 1, **dict.fromkeys(inner, partitions)}
        admin = AdminClient({"bootstrap.servers": brokers})
        nodes = sorted(admin.list_topics(timeout=TIMEOUT_SECONDS).brokers)
        round_robin = [*nodes, *nodes]
        places = [round_robin[first : first + replicas] for first in range(len(nodes))]
        made = admin.create_topics(
            [
                NewTopic(topic, count, replica_assignment=[places[number % len(nodes)] for number in range(count)])
                for topic, count in wanted.items()
            ]
        )
        for future in made.values():
            future.result(TIMEOUT_SECONDS)
        self._output = Output(brokers, self.topics.output)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with ExitStack() as stack:
            stack.callback(self._output.close)
            for member in self.members.values():
                stack.callback(member.stop)

    def stop(self, name: str) -> None:
        """End a member in peace."""
        member = self.members.pop(name)
        if status := member.stop():
            raise ScenarioFailed(f"{name} ended with status {status}: {member.last_words}")

    def kill(self, name: str) -> None:
        """End a member at once; the group learns of it by its silence."""
        self.members.pop(name).kill()

    def start(self, name: str, release: str, **given: str) -> None:
        """Start a member of a release, with settings of Kafka's names."""
        python = is_python_member(name)
        session = _SESSION_MS_0_10_0 if release.startswith("0.10.0") else _SESSION_MS
        settings = {
            "bootstrap.servers": self.brokers,
            "application.id": self.topics.application,
            "client.id": name,
            "session.timeout.ms": session,
            "shape": self.topics.shape,
            **({"release": release} if python else self._of_java(name)),
            **given,
        }
        program = (
            [sys.executable, "-m", "tests.lab.integration.counting_member"]
            if python
            else _java(release, self.topics.shape)
        )
        pairs = (f"{key}={value}" for key, value in settings.items())
        command = [*program, self.topics.source, self.topics.output, *pairs]
        self.members[name] = Member(f"{name}@{release}", command, given)

    def _of_java(self, name: str) -> dict[str, Any]:
        states = self._folder / self.topics.application
        states.mkdir(parents=True, exist_ok=True)
        return {
            "state.dir": tempfile.mkdtemp(prefix=f"{name}-", dir=states),  # 0.10.0 makes no folders above its own
            "heartbeat.interval.ms": 500,
            "commit.interval.ms": 500,
            "cache.max.bytes.buffering": 0,  # every count is written, not every last one
            "statestore.cache.max.bytes": 0,  # its name since 3.4
        }

    def settle(self, *, all_members: bool = True) -> None:
        """Wait until every member has tasks and every task has one member, and for a while nothing changes.

        Not `everybody`: some members may have to warm up before they have tasks.
        """
        everything = sorted(tasks(self.topics))
        seen: list[tuple[float, list[set[str]]]] = []

        def settled() -> bool:
            owned = [member.tasks for member in self.members.values()]
            if (all_members and not all(owned)) or everything != sorted(task for tasks in owned for task in tasks):
                seen.clear()
            elif not seen or seen[0][1] != owned:
                seen[:] = [(time.monotonic(), owned)]
            return bool(seen) and time.monotonic() - seen[0][0] >= _STILL_SECONDS

        self.eventually(settled, lambda: f"tasks did not settle: {self._owned()}")

    def check_hosts(self) -> None:
        """Wait until all members know which member reads what, and what its standbys would, if they report it."""
        self._know("hosts", {name: member.tasks for name, member in self.members.items()})
        if self.topics.shape == STANDBYS:
            self._know("standby-hosts", generations(self.brokers, self.topics.application)[-1].standbys())

    def _know(self, word: str, held: Mapping[str, set[str]]) -> None:
        reads = tasks(self.topics)
        expected = {self.members[name].host: set().union(*map(reads.get, its)) for name, its in held.items() if its}
        self.eventually(
            lambda: all(member.hosts(word) == expected for member in self.members.values()),
            lambda: f"{word} should be {expected}: { {name: each.hosts(word) for name, each in self.members.items()} }",
        )

    def check_that_no_member_rejoins(self) -> None:
        """Wait until no member of the last generation has a reason to rejoin at once: the group has settled."""

        def reasons() -> list[str]:
            last = generations(self.brokers, self.topics.application)[-1]
            return [f"{seat.name}: {cause.value}" for seat in last.members for cause in seat.rejoin_causes]

        self.eventually(lambda: not reasons(), lambda: f"the group does not settle: {reasons()}")

    def check_rack_placement(self) -> None:
        """Wait until every member has the tasks of its own rack, once there is a member in each."""
        racks = {name: member.rack for name, member in self.members.items()}
        if sorted(filter(None, racks.values())) == sorted(RACKS):
            self.eventually(
                lambda: all({rack_of(task) for task in self.members[name].tasks} == {racks[name]} for name in racks),
                lambda: f"tasks are not where their partitions are: {racks}, {self._owned()}",
            )

    def count(self) -> int:
        """Send records, wait until each is counted by the owner of its task; return how many ours have counted."""
        before = self._output.read()
        self._send()
        counted: Counter[CountedRecord] = Counter()

        def done() -> bool:
            counted.update(self._output.read() - before - counted)
            return all(counted[key, True] + counted[key, False] >= RECORDS for key in KEYS)

        self.eventually(done, lambda: f"counted {dict(counted)} of {RECORDS} each")
        ours = {task for name, member in self.members.items() if is_python_member(name) for task in member.tasks}
        expected = {key: task in ours for key, task in counted_in(self.topics).items()}
        if wrong := {key for key, python in counted if python != expected[key]}:
            raise ScenarioFailed(
                f"records of {sorted(wrong)} were counted by others: Python has {sorted(ours)}, {dict(counted)}"
            )
        return sum(number for (_, python), number in counted.items() if python)

    def eventually(self, happened: Callable[[], bool], why: Callable[[], str]) -> None:
        """Wait for something while all members run; `Failed` has the reason if it does not happen."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not happened():
            for name, member in self.members.items():
                if member.ended:
                    raise ScenarioFailed(f"{name} has ended: {member.last_words}")
            if time.monotonic() > deadline:
                raise ScenarioFailed(f"not within {TIMEOUT_SECONDS} s: {why()}")
            time.sleep(_LOOK_SECONDS)

    def lost_and_duplicated(self) -> tuple[int, int]:
        """Compare what was counted with what was sent, in all."""
        written = self._output.read()
        each = [written[key, True] + written[key, False] for key in KEYS]
        ends = [self.sent if self.topics.shape == "stateless" else self._output.highest[key] for key in KEYS]
        lost = sum(max(0, self.sent - min(found, end)) for found, end in zip(each, ends, strict=True))
        return lost, sum(max(0, found - self.sent) for found in each)

    def miscounted(self) -> list[str]:
        """The keys whose records were not counted once each, in order, as far as it is committed."""
        self._output.read()
        return [key for key in KEYS if self._output.counts[key] != [*range(1, self.sent + 1)]]

    def _send(self, number: int = RECORDS) -> None:
        producer = Producer({"bootstrap.servers": self.brokers, "enable.idempotence": True})
        for key in KEYS:
            for _ in range(number):
                producer.produce(self.topics.source, key=key, value=b"x", partition=int(key))
        assert 0 == producer.flush(TIMEOUT_SECONDS)
        self.sent += number

    def _owned(self) -> dict[str, list[str]]:
        return {name: sorted(member.tasks) for name, member in self.members.items()}


def is_python_member(name: str) -> bool:
    return name.startswith("python")


def _java(release: str, shape: str) -> list[str]:
    """``3.9.2+1`` is that release as if it were from the future."""
    if release.endswith("+1"):
        return driver("Future", release.removesuffix("+1"))
    return driver("Holding", release) if shape == STANDBYS else counting(release)
