"""A chaos run: a cluster, a group under load, and a course of faults and bounces; then the books are balanced."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from copy import deepcopy
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from uuid import uuid4

from confluent_kafka import Message

from streams_assignor.groups import inspect_group
from streams_assignor.groups.describe.kafka_python.group_lookup import GroupLookup
from tests.lab.chaos.cluster import LoadGenerator, ThreeNodes
from tests.lab.chaos.fault_schedule import NODES, Fault, Step
from tests.lab.chaos.group import Group
from tests.lab.chaos.java_members import COPY
from tests.lab.chaos.ledger import ProcessedRecords, RunResult
from tests.lab.chaos.members import STOP_SECONDS
from tests.lab.chaos.network import Network
from tests.lab.chaos.outcome import ChaosSettings, Outcome, StepResult
from tests.lab.chaos.resources import ResourceSampler
from tests.lab.chaos.roll_outcome import RollOutcome
from tests.lab.chaos.wall_clock import WallClock, wall_clock

_STABLE_TIMEOUT_SECONDS: Final = 180.0  # on a quiet machine ten seconds are enough
_QUIET: Final = 0.5
_REST_SECONDS: Final = 20.0
_NOWHERE: Final = "nowhere", 0

Origin = tuple[str, int]
"""A partition of the source, and an offset."""


class StabilizationTimeout(Exception):
    """The group did not come to rest; the message says what it looks like."""


class Chaos:
    """Use it as a context manager: whatever happens, nothing is left running."""

    cluster: ThreeNodes
    group: Group
    network: Network | None
    clocks: Mapping[str, WallClock]
    """Of members and other processes, by their names, and of nodes, by their numbers; none if this machine has none."""
    _flow: LoadGenerator

    def __init__(self, settings: ChaosSettings, folder: Path, say: Callable[[str], None] = lambda _: None) -> None:
        self.settings = settings
        self._folder = folder
        self._say = say
        self._begun = time.monotonic()
        self._cleanup = ExitStack()
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._number = count()
        self._twice_at_rest, self._behind = 0.0, 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cleanup.close()

    def build(self, network: Network | None, *, clocks: bool, others: Sequence[str] = ()) -> None:
        """Start the cluster, the flow and the members, and wait until everything has its owner.

        ``others`` are the names of further processes that have a clock.
        """
        settings, name = self.settings, f"chaos-{uuid4().hex[:8]}"
        host = network.host if network else "127.0.0.1"
        self.network = network
        owners = (*settings.members, *map(str, range(1, NODES + 1)), *others) if clocks else ()
        self.clocks = {owner: wall_clock(self._folder / "clocks" / owner) for owner in owners}
        metadata = "4.3-IV0" if settings.protocol == "streams" else "4.0-IV3"  # the latter has no streams groups
        nodes = ThreeNodes(self._folder / "nodes", host, settings.broker, self.clocks, metadata)
        self.cluster = self._cleanup.enter_context(nodes)
        self.cluster.start_all()
        self.group = Group(name, settings, self.cluster.brokers, network, self.clocks, self._folder, self.say)
        self.cluster.create(**{self.group.name: settings.partitions, self.group.output: settings.partitions})
        self.say("the cluster is there")
        self._cleanup.enter_context(ResourceSampler(self._folder / "resources.csv", self.group.processes))
        self._flow = LoadGenerator(self.cluster.brokers, name, settings.partitions, settings.per_second)
        self._cleanup.callback(self._end_members)
        for member in settings.members:
            self.group.start(member)
        self.wait_until_stable()
        self.say("every partition has an owner")

    def step(self, step: Step, strike: Callable[[Chaos, Fault], None]) -> StepResult:
        """Do one step, and wait until the group has got over it."""
        before, begun = self._audit(), time.monotonic()
        self.say(str(step))
        if step.fault:
            strike(self, step.fault)
        if step.bounce:
            self.pause(step.gap)
            self.group.set_version(step.bounce, step.to)
            self.bounce(step.bounce)
        self.wait_until_stable()
        after = self._audit()
        spent = {what: round(after[what] - before[what], 1) for what in after}
        result = StepResult(step=step, seconds=round(time.monotonic() - begun, 1), **spent)
        self.say(
            f"  well again after {result.seconds} s, {result.generations} generations, "
            f"{result.without_owner} partition-seconds without owner"
        )
        return result

    @property
    def seconds(self) -> float:
        """Since the run began."""
        return time.monotonic() - self._begun

    def rest(self) -> None:
        """Let the group work for a while without a fault: nothing may have two owners."""
        self.listen_and_advance()
        before = self.group.owners.doubly_owned_seconds.total()
        self.pause(_REST_SECONDS)
        self.listen_and_advance()
        self._twice_at_rest += self.group.owners.doubly_owned_seconds.total() - before
        self._behind = max(self._behind, self._flow.acknowledged - self.group.records.processed)

    def listen_and_advance(self) -> None:
        self.group.listen()
        self.group.owners.advance_to(time.monotonic())

    def finish(
        self,
        results: Sequence[StepResult],
        stuck: str | None,
        skipped: Sequence[str],
        rolled: RollOutcome | None = None,
    ) -> Outcome:
        """Wait for the last records, stop all members, and compare what was produced with what was processed."""
        self._flow.stop()
        self.group.keep_up()
        ends = self.cluster.ends(self.group.name, self.settings.partitions)
        origins = self._origins()
        assert self._flow.acknowledged == sum(ends.values()) == len(origins), "the flow has lost or doubled records"
        deadline = time.monotonic() + (_STABLE_TIMEOUT_SECONDS if stuck is None else 10)
        while self._records(origins).lost(ends) and time.monotonic() < deadline:
            self.pause(_QUIET)
        versions = self._versions()
        self.group.owners.advance_to(time.monotonic())
        for name in self.settings.members:
            self.group.stop(name, STOP_SECONDS)
        return Outcome(
            settings=self.settings,
            results=results,
            balance=self._balance(ends, self._records(origins)),
            seconds=round(time.monotonic() - self._begun, 1),
            versions=versions,
            by_java=self._by_java(),
            failures=self.group.failures,
            java_failures=self.group.java_failures,
            twice_at_rest=round(self._twice_at_rest, 1),
            fenced_instances=self.group.fenced_instances,
            buffered=self.group.buffered,
            behind=self._behind,
            stuck=stuck,
            skipped=skipped,
            rolled=rolled,
        )

    def say(self, what: str) -> None:
        self._say(f"{time.monotonic() - self._begun:6.1f} s  {what}")

    def schedule(self, seconds: float, call: Callable[[], None]) -> None:
        """Do something in a while; a step is not over before."""
        heapq.heappush(self._agenda, (time.monotonic() + seconds, next(self._number), call))

    def pause(self, seconds: float) -> None:
        """Wait, and do meanwhile what is due and hear what is told."""
        until = time.monotonic() + seconds
        while (now := time.monotonic()) < until:
            if self._agenda and self._agenda[0][0] <= now:
                heapq.heappop(self._agenda)[2]()
            self.group.listen(min(0.1, until - now))

    def wait_until_stable(self) -> None:
        """Wait until nothing is due and every partition has one owner; `StabilizationTimeout` after a limit."""
        deadline = time.monotonic() + _STABLE_TIMEOUT_SECONDS
        quiet = 0.0
        while quiet < _QUIET:
            if time.monotonic() > deadline:
                self.group.dump()
                raise StabilizationTimeout(f"the group does not come to rest: {self.group.describe}")
            self.pause(0.1)
            quiet = quiet + 0.1 if not self.is_busy and self.group.is_stable else 0.0

    @property
    def is_busy(self) -> bool:
        """Whether something is due in a while, for example the end of a fault."""
        return bool(self._agenda)

    def bounce(self, name: str) -> None:
        """Let a member leave and start it again."""
        self.end(name)
        self.group.start(name)

    def end(self, name: str) -> None:
        """Let a member leave; what is due goes on meanwhile, for example the end of its freezing."""
        worker, deadline = self.group.workers[name], time.monotonic() + STOP_SECONDS
        worker.request_stop()
        while not worker.ended and time.monotonic() < deadline:
            self.pause(0.05)
        self.group.stop(name, 0.0)

    def _end_members(self) -> None:
        for worker in self.group.workers.values():
            worker.kill()

    def _audit(self) -> dict[str, Any]:
        self.group.owners.advance_to(time.monotonic())
        return {
            "generations": self.group.generation,
            "without_owner": self.group.owners.unowned_seconds.total(),
            "fenced": self.group.fenced.total(),
            "duplicates": self.group.records.duplicates,
        }

    def _origins(self) -> dict[int, Origin]:
        """Where each record is in the source, by its time, which copies keep."""
        source = self.cluster.committed(self.group.name, self.settings.partitions)
        return {_time(message): (f"{self.group.name}-{message.partition()}", message.offset()) for message in source}

    def _records(self, origins: Mapping[int, Origin]) -> ProcessedRecords:
        """What was processed: as told, and what is in the output and committed; nobody does both."""
        records = deepcopy(self.group.records)
        for copy in self.cluster.committed(self.group.output, self.settings.partitions):
            partition, offset = origins.get(_time(copy), _NOWHERE)
            records.record(partition, [offset])
        return records

    def _versions(self) -> dict[str, int]:
        """The metadata version of everybody's last assignment; that of Kafka Streams is read from the broker."""
        classic = self.settings.java_members if self.settings.protocol == "classic" else ()
        java = {name: self._version_of_java(name) for name in classic}
        return {name: assigned["version"] for name, assigned in self.group.assignments.items()} | java

    def _by_java(self) -> int:
        copies = self.cluster.committed(self.group.output, self.settings.partitions) if self.settings.java else ()
        return sum(copy.value() == COPY for copy in copies)

    def _version_of_java(self, name: str) -> int:
        """A broker shows it only while the group is stable; 0 if that does not come."""
        deadline = time.monotonic() + _STABLE_TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            for member in inspect_group(GroupLookup(self.cluster.brokers).group(self.group.name)).members:
                if member.described.client_id.startswith(f"{name}-") and member.assignment.used_version:
                    return member.assignment.used_version
            self.pause(_QUIET)
        return 0

    def _balance(self, ends: dict[str, int], records: ProcessedRecords) -> RunResult:
        owners = self.group.owners
        without, twice = (
            {name.rpartition("-")[2]: round(seconds, 1) for name, seconds in sorted(book.items())}
            for book in (owners.unowned_seconds, owners.doubly_owned_seconds)
        )
        return RunResult(
            produced=sum(ends.values()),
            processed=records.processed,
            lost=len(records.lost(ends)),
            duplicates=records.duplicates,
            invented=records.invented(ends),
            fenced=dict(sorted(self.group.fenced.items())),
            without_owner=without,
            owned_twice=twice,
            exactly_once=self.settings.exactly_once,
        )


def _time(message: Message) -> int:
    return message.timestamp()[1]
