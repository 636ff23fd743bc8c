"""A group of ours side by side with a group of Kafka Streams: what a rolling bounce costs each, and an idle member.

    python -m tests.lab.bench.bench_groups [--rounds N] [--json]

Groups of three members take turns on one broker, with the same session settings, the same stateless topology over six
partitions, and the same flow of records; each is bounced member by member, by a clean stop and a new process at once. A
partition is *without service* while records of it wait and no member processes any for more than half a second; that is
seen from outside, for Kafka Streams in what it writes and when, for ours in its events. Rebalances are generations
in ``__consumer_offsets``. The numbers are of one machine at one moment: compare only within one run.
"""

from __future__ import annotations

import json
import os
import queue
import statistics
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final
from uuid import uuid4

import click
from attrs import asdict, frozen
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from rich.console import Console
from rich.table import Table

from streams_assignor.upgrade.releases import release_named
from tests.lab.chaos.cluster import QUIET, LoadGenerator
from tests.lab.chaos.members import Worker, WorkerOutput
from tests.lab.chaos.worker_events import WorkerSettings
from tests.lab.integration.brokers import a_broker
from tests.lab.integration.group_log import generations
from tests.lab.integration.kafka_jars import counting
from tests.lab.integration.subprocesses import JavaMember

MEMBERS: Final = 3
PARTITIONS: Final = 6
PER_SECOND: Final = 120
SESSION_MS: Final = 6000
HEARTBEAT_MS: Final = SESSION_MS // 10
SILENCE_SECONDS: Final = 0.5
IDLE_SECONDS: Final = 15.0
REST_SECONDS: Final = 3.0
PATIENCE_SECONDS: Final = 60.0
_NEVER_LEAVES: Final = (4, 2)  # from this release on, not even with that setting
_TICKS: Final = os.sysconf("SC_CLK_TCK")


class Group(ABC):
    """One group on the broker: its topics, its members, and when each partition was served."""

    def __init__(self, broker: str, folder: Path) -> None:
        self.name = f"bench-{uuid4().hex[:8]}"
        self.broker, self.folder = broker, folder
        self.output = f"{self.name}-out"
        admin = AdminClient({"bootstrap.servers": broker, **QUIET})
        stamped = {"message.timestamp.type": "LogAppendTime"}
        topics = [NewTopic(self.name, PARTITIONS, 1), NewTopic(self.output, 1, 1, config=stamped)]
        for made in admin.create_topics(topics).values():
            made.result(PATIENCE_SECONDS)

    @abstractmethod
    def start(self, member: int) -> None: ...

    @abstractmethod
    def stop(self, member: int) -> None: ...

    @abstractmethod
    def pids(self) -> list[int]: ...

    @abstractmethod
    def owned(self) -> list[int]:
        """How many partitions each member has."""

    @abstractmethod
    def served(self) -> dict[int, list[float]]:
        """When a record of each partition was processed, in seconds since 1970."""

    def rebalances(self) -> int:
        return max((each.number for each in generations(self.broker, self.name)), default=0)

    def settled(self) -> bool:
        owned = self.owned()
        return len(owned) == MEMBERS and min(owned) > 0 and sum(owned) == PARTITIONS


class Java(Group):
    """Kafka Streams of one release; the values that it writes are of the partition that is their key.

    Its members do not leave the group when they are closed, except with an internal setting: `leaves`.
    """

    def __init__(self, broker: str, folder: Path, release: str, *, leaves: bool = False, static: bool = False) -> None:
        super().__init__(broker, folder)
        self._release, self._leaves, self._static = release, leaves, static
        self._members: dict[int, JavaMember] = {}

    def start(self, member: int) -> None:
        settings = {
            "bootstrap.servers": self.broker,
            "application.id": self.name,
            "state.dir": self.folder / f"{self.name}-{member}",
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": HEARTBEAT_MS,
            "auto.offset.reset": "earliest",
            "producer.linger.ms": 0,
            "shape": "stateless",
            "main.consumer.internal.leave.group.on.close": str(self._leaves).lower(),
        }
        if self._static:
            settings["group.instance.id"] = member
        arguments = [self.name, self.output, *(f"{key}={value}" for key, value in settings.items())]
        self._members[member] = JavaMember(f"Kafka Streams {self._release}", [*counting(self._release), *arguments])

    def stop(self, member: int) -> None:
        self._members.pop(member).stop()

    def pids(self) -> list[int]:
        return [member._process.pid for member in self._members.values()]

    def owned(self) -> list[int]:
        return [len(member.tasks) for member in self._members.values()]

    def served(self) -> dict[int, list[float]]:
        times: dict[int, list[float]] = {number: [] for number in range(PARTITIONS)}
        reader = Consumer(
            {"bootstrap.servers": self.broker, "group.id": "unused", "enable.auto.commit": False, **QUIET}
        )
        try:
            where = TopicPartition(self.output, 0, 0)
            _, end = reader.get_watermark_offsets(where, timeout=PATIENCE_SECONDS)
            reader.assign([where])
            at = 0
            while at < end:
                message = reader.poll(PATIENCE_SECONDS)
                assert message is not None, f"{self.output} cannot be read"
                times[int(message.key())].append(message.timestamp()[1] / 1000)
                at = message.offset() + 1
        finally:
            reader.close()
        return times


class Ours(Group):
    """Workers of the chaos runs (`tests.lab.chaos.workers`)."""

    def __init__(self, broker: str, folder: Path, kind: str, *, static: bool = False) -> None:
        super().__init__(broker, folder)
        self._kind, self._static = kind, static
        self._received: queue.SimpleQueue[WorkerOutput] = queue.SimpleQueue()
        self._members: dict[int, Worker] = {}
        self._owned: dict[str, int] = {}
        self._served: dict[int, list[float]] = {number: [] for number in range(PARTITIONS)}
        self._ahead = time.time() - time.monotonic()

    def start(self, member: int) -> None:
        settings = WorkerSettings(
            kind=self._kind,
            bootstrap_servers=self.broker,
            group=self.name,
            topic=self.name,
            output=self.output,
            name=str(member),
            session_ms=SESSION_MS,
            release="streams-assignor",
            instance_id=str(member) if self._static else None,
            batch_seconds=SILENCE_SECONDS / 10,
        )
        self._members[member] = Worker(settings, 1, self._received, self.folder / f"{self.name}-{member}.log")
        self._owned[str(member)] = 0

    def stop(self, member: int) -> None:
        assert self._members.pop(member).stop(), "it did not end by itself"
        self._listen()
        del self._owned[str(member)]

    def pids(self) -> list[int]:
        return [worker.pid for worker in self._members.values()]

    def owned(self) -> list[int]:
        self._listen()
        return list(self._owned.values())

    def served(self) -> dict[int, list[float]]:
        self._listen()
        return self._served

    def _listen(self) -> None:
        while not self._received.empty():
            seconds, name, _, event = self._received.get()
            match event:
                case {"event": "owns", "partitions": partitions}:
                    self._owned[name] = len(partitions)
                case {"event": "processed", "partition": partition}:
                    self._served[int(partition.rpartition("-")[2])].append(seconds + self._ahead)


@frozen(kw_only=True)
class Bounced:
    """What one rolling bounce of a whole group was like; times in seconds, memory in MB, CPU in percent of a core."""

    group: str
    rebalances_per_bounce: float
    until_served_again: float
    partition_seconds_without: float
    longest_silence: float
    seconds_per_bounce: float
    memory: float
    cpu: float


def bounced(name: str, group: Group) -> Bounced:
    """Start a group, let it rest idle, bounce it under load, and say what was seen."""
    for member in range(MEMBERS):
        group.start(member)
    _until(group.settled)
    time.sleep(REST_SECONDS)
    memory, cpu = _idle(group.pids())
    flow = LoadGenerator(group.broker, group.name, PARTITIONS, PER_SECOND)
    time.sleep(REST_SECONDS)
    before, stops = group.rebalances(), []
    begun = time.time()
    for member in range(MEMBERS):
        stops.append(time.time())
        group.stop(member)
        group.start(member)
        _until(group.settled)
        time.sleep(REST_SECONDS)
    ended = time.time()
    rebalances = group.rebalances() - before
    flow.stop()
    time.sleep(REST_SECONDS)
    silences = list(_silences(group.served(), begun, ended))
    for member in range(MEMBERS):
        group.stop(member)
    return Bounced(
        group=name,
        rebalances_per_bounce=rebalances / MEMBERS,
        until_served_again=statistics.mean(_outages(silences, [*stops, ended])),
        partition_seconds_without=sum(end - start for start, end in silences),
        longest_silence=max((end - start for start, end in silences), default=0.0),
        seconds_per_bounce=(ended - begun) / MEMBERS - REST_SECONDS,
        memory=memory,
        cpu=cpu,
    )


def _silences(served: dict[int, list[float]], begun: float, ended: float) -> Iterator[tuple[float, float]]:
    """From the last record to the next one, wherever that took too long."""
    for times in served.values():
        within = sorted(moment for moment in times if begun - REST_SECONDS <= moment <= ended + REST_SECONDS)
        for last, following in pairwise(within):
            if following - last > SILENCE_SECONDS:
                yield last, following


def _outages(silences: Sequence[tuple[float, float]], moments: Sequence[float]) -> list[float]:
    """From each stop to the end of the last silence that it, or what followed it, has caused."""
    return [
        max((end - stop for start, end in silences if stop <= start + SILENCE_SECONDS < following), default=0.0)
        for stop, following in pairwise(moments)
    ]


def _idle(pids: Sequence[int]) -> tuple[float, float]:
    """Resident memory and CPU of a member, on average, while there is nothing to do."""
    before = [_ticks(pid) for pid in pids]
    time.sleep(IDLE_SECONDS)
    used = [_ticks(pid) - earlier for pid, earlier in zip(pids, before, strict=True)]
    pages = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids]
    megabytes = statistics.mean(pages) * os.sysconf("SC_PAGE_SIZE") / 1e6
    return megabytes, 100 * statistics.mean(used) / _TICKS / IDLE_SECONDS


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not happened():
        assert time.monotonic() < deadline, "the group does not settle"
        time.sleep(0.05)


def _table(found: Sequence[Bounced]) -> Table:
    """Medians of each group, and how often the first group's they are."""
    names = list(dict.fromkeys(each.group for each in found))
    figures = [name for name in asdict(found[0]) if name != "group"]
    medians = {
        name: [statistics.median(getattr(each, figure) for each in found if each.group == name) for figure in figures]
        for name in names
    }
    shown = Table("group", *(figure.replace("_", " ") for figure in figures))
    for name in names:
        ratios = [own / first if first else None for own, first in zip(medians[name], medians[names[0]], strict=True)]
        cells = [
            f"{value:.2f}" + (f" ({ratio:.2f})" if ratio is not None and name != names[0] else "")
            for value, ratio in zip(medians[name], ratios, strict=True)
        ]
        shown.add_row(name, *cells)
    return shown


@click.command
@click.option("--rounds", type=click.IntRange(1), default=2, show_default=True)
@click.option("--java", "releases", multiple=True, default=["3.9.2", "4.3.1"], show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print every round as a line of JSON instead of the table.")
def main(rounds: int, releases: Sequence[str], as_json: bool) -> None:
    """Bounce groups of ours and of Kafka Streams in turns."""
    kinds: dict[str, Callable[[str, Path], Group]] = {
        **{f"Kafka Streams {release}": partial(Java, release=release) for release in releases},
        **{
            f"{release}, made to leave": partial(Java, release=release, leaves=True)
            for release in releases
            if release_named(release).number < _NEVER_LEAVES
        },
        "ours, kafka-python": partial(Ours, kind="kafka-python"),
        "ours, confluent-kafka": partial(Ours, kind="confluent"),
        f"{releases[-1]}, static members": partial(Java, release=releases[-1], static=True),
        "ours, kafka-python, static members": partial(Ours, kind="kafka-python", static=True),
    }
    found = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-groups-")))
        broker = stack.enter_context(a_broker())
        for _ in range(rounds):
            for name, make in kinds.items():
                found.append(bounced(name, make(broker, folder)))
                click.echo(json.dumps(asdict(found[-1])), err=not as_json)
    if not as_json:
        Console(width=170).print(_table(found))


if __name__ == "__main__":
    main()
