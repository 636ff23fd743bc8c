"""The members of a run: started, bounced, killed; and what they have told."""

from __future__ import annotations

import json
import queue
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaException

from tests.lab.chaos.fault_schedule import SESSION_SECONDS, MemberVersion, java_version
from tests.lab.chaos.java_members import JavaWorker
from tests.lab.chaos.ledger import OwnershipTimeline, ProcessedRecords
from tests.lab.chaos.members import Worker, WorkerOutput
from tests.lab.chaos.network import Network
from tests.lab.chaos.outcome import ChaosSettings
from tests.lab.chaos.wall_clock import WallClock
from tests.lab.chaos.worker_events import EventLine, WorkerSettings
from tests.lab.integration.group_log import generations

_FENCED: Final = "FencedInstanceIdException"
_BESIDE: Final = 1000
"""The first life of what runs beside a member."""


class Group:
    """All that is known of the members, from their own words."""

    def __init__(
        self,
        name: str,
        settings: ChaosSettings,
        brokers: str,
        network: Network | None,
        clocks: Mapping[str, WallClock],
        folder: Path,
        say: Callable[[str], None],
    ) -> None:
        self.name: Final = name
        self.output: Final = f"{name}-out"
        self.workers: dict[str, Worker] = {}
        self.records, self.fenced = ProcessedRecords(), Counter[str]()
        self.fenced_instances = self.buffered = 0
        self.owners = OwnershipTimeline(tuple(f"{name}-{number}" for number in range(settings.partitions)))
        self.failures: list[str] = []
        self.java_failures: list[str] = []  # of its own accord; somebody starts it again
        self.assignments: dict[str, EventLine] = {}
        self.on_assigning: Callable[[str], None] | None = None
        self._settings, self._brokers, self._folder = settings, brokers, folder
        self._network, self._clocks = network, clocks
        self._say = say
        self._leader = settings.members[0]
        self._slow = 0.0
        self._replaced: dict[tuple[str, int], Worker] = {}  # by another process with the same group.instance.id
        self._fatal: dict[tuple[str, int], str] = {}
        self._speaks = dict.fromkeys(settings.members, settings.begin)
        self._received: queue.SimpleQueue[WorkerOutput] = queue.SimpleQueue()

    # -- what is done to them -----------------------------------------------------------------------------------------

    def start(self, name: str) -> None:
        """Start a member, as what it is to be by now; who is there already stays."""
        if (known := self.workers.get(name)) and not known.ended:
            return
        self._remove_member(name, time.monotonic())
        self._launch(name, known.life + 1 if known else 1)

    def start_duplicate(self, name: str) -> Worker:
        """Start another process as a static member that goes on; return the first one."""
        first = self.workers[name]
        assert first.settings.instance_id, f"{name} is not static"
        now = time.monotonic()
        self._replaced[name, first.life] = first
        self.owners.claim(now, f"{name} {first.life}", self.owners.claimed(name))
        self._remove_member(name, now)
        self._launch(name, first.life + 1)
        return first

    def start_beside(self, name: str, client_id: str) -> Worker:
        """Start another process that runs what a member runs, under a name; return it."""
        life = _BESIDE + sum(1 for of, _ in self._replaced if of == name)
        self._replaced[name, life] = worker = self._launched(name, life, beside=client_id)
        return worker

    def note_fenced(self, first: Worker) -> None:
        """Check how a member ended that was replaced."""
        self.listen()
        name, life = first.settings.name, first.life
        error = self._fatal.get((name, life), "without an error")
        if _FENCED in error:
            self.fenced_instances += 1
        else:
            self.failures.append(f"{name}: expected {_FENCED} for a second group.instance.id, it ended {error}")
        self.owners.claim(time.monotonic(), f"{name} {life}", ())

    def _launch(self, name: str, life: int) -> None:
        self.workers[name] = self._launched(name, life)

    def _launched(self, name: str, life: int, beside: str = "") -> Worker:
        speaks, java = self._speaks[name], name in self._settings.java_members
        if java and self._settings.java:
            speaks = java_version(speaks, self._settings.java, exactly_once=self._settings.exactly_once)
        settings = WorkerSettings(
            kind=self._settings.kind_of(name),
            bootstrap_servers=self._brokers,
            group=self.name,
            topic=self.name,
            output=self.output,
            name=name,
            session_ms=int(SESSION_SECONDS * 1000),
            release=speaks.release,
            upgrade_from=speaks.upgrade_from,
            instance_id=f"instance-{name}" if name in self._settings.static_members else None,
            state=str(self._folder / f"{name}-state{life if beside else ''}") if java else None,
            protocol=self._settings.protocol,
            beside=beside,
        )
        worker = (JavaWorker if java else Worker)(
            settings,
            life=life,
            received=self._received,
            log=self._folder / f"{name}.log",
            prefix=self._network.inside(name) if self._network else (),
            environment=self._clocks[name].environment if self._clocks else {},
        )
        worker.send_command(f"slow {self._slow}")
        return worker

    def set_version(self, name: str, speaks: MemberVersion) -> None:
        """From its next start on."""
        self._speaks[name] = speaks

    def version_of(self, name: str) -> MemberVersion:
        """What it is, or is started as the next time."""
        return self._speaks[name]

    def kill(self, name: str) -> None:
        self.workers[name].kill()
        self._remove_member(name, time.monotonic())

    def stop(self, name: str, seconds: float) -> None:
        """Let it leave; after a while it has no choice."""
        if not self.workers[name].stop(seconds):
            self._say(f"  {name} did not end by itself")
        self.listen()
        self._remove_member(name, time.monotonic())

    def slow_down(self, seconds: float) -> None:
        """Let every assignment take that long."""
        self._slow = seconds
        for worker in self.workers.values():
            worker.send_command(f"slow {seconds}")

    def keep_up(self) -> None:
        """Let slow readers pause no more."""
        for worker in self.workers.values():
            worker.send_command("pace 0")

    def processes(self) -> list[tuple[str, str, int, int]]:
        """Member, worker, life and process id of all that run."""
        return [
            (name, worker.settings.kind, worker.life, worker.pid)
            for name, worker in list(self.workers.items())
            if not worker.ended
        ]

    def dump(self) -> None:
        """Let every worker write the stacks of its threads into its log."""
        for worker in self.workers.values():
            worker.signal(signal.SIGUSR1)

    def set_available(self, name: str, able: bool) -> None:
        """Whether it can work, as far as we have to do with it."""
        self.owners.set_available(time.monotonic(), name, able)

    # -- what they tell -----------------------------------------------------------------------------------------------

    @property
    def is_stable(self) -> bool:
        """Whether all live in one generation, as far as they tell, and every partition has one owner."""
        alive = all(not worker.ended for worker in self.workers.values())
        telling = (
            self.workers.keys() - set(self._settings.java_members) if self._settings.protocol == "classic" else set()
        )
        generations = {assigned["generation"] for assigned in self.assignments.values()}
        return alive and self.assignments.keys() == telling and len(generations) <= 1 and self.owners.is_stable

    @property
    def leader(self) -> str:
        """Who leads now, or did last; Kafka Streams, which does not tell, if none of the others does."""
        current = [name for name, assigned in self.assignments.items() if assigned["leader"]]
        match self._settings.java_members:
            case [java] if not current and self.assignments:
                return java
            case [_, _, *_] if not current:
                with suppress(KafkaException):  # a broker is away: the last one that is known
                    self._leader = generations(self._brokers, self.name)[-1].leading
                return self._leader
        self._leader = max(current, key=lambda name: self.assignments[name]["generation"], default=self._leader)
        return self._leader

    @property
    def generation(self) -> int:
        return max((assigned["generation"] for assigned in self.assignments.values()), default=0)

    @property
    def describe(self) -> str:
        """For whom has to find out why it does not settle."""
        ended = [name for name, worker in self.workers.items() if worker.ended]
        generations = {name: assigned["generation"] for name, assigned in self.assignments.items()}
        return f"generations {generations}, ended {ended}, owners {self.owners.owners}"

    def listen(self, seconds: float = 0.0) -> None:
        """Take note of all that was told; wait so long for the first of it."""
        with suppress(queue.Empty):
            self._process_event(self._received.get(timeout=seconds) if seconds else self._received.get_nowait())
            while True:
                self._process_event(self._received.get_nowait())

    def _process_event(self, received: WorkerOutput) -> None:
        name, worker = received.name, self.workers[received.name]
        current = received.life == worker.life
        if (name, received.life) in self._replaced:
            self._process_last_event(received)
        java = name in self._settings.java_members
        match received.event:
            case {"event": "processed", "partition": partition, "from": first, "to": last}:
                self.records.record(partition, range(first, last + 1))
            case {"event": "fenced", "error": error}:
                self.fenced[error] += 1
            case {"event": "owns", "partitions": partitions} if current:
                self.owners.claim(received.seconds, name, partitions)
            case {"event": "assigned"} as assigned if current:
                self.assignments[name] = assigned
                self._leader = name if assigned["leader"] else self._leader
            case {"event": "assigning"} if current and self.on_assigning:
                self.on_assigning(name)
            case {"event": "buffered", "records": records}:
                self.buffered = max(self.buffered, records)
            case {"event": "failed", "error": error} if not worker.asked_to_end and (current or java):
                failures = self.java_failures if java else self.failures
                failures.append(f"{name} died: {error}")
                self._say(f"  {failures[-1]}")
            case None if current:
                self._remove_member(name, received.seconds)
                if not worker.asked_to_end and (java or self._settings.minutes):
                    self.start(name)

    def _process_last_event(self, received: WorkerOutput) -> None:
        """Of a member that another process with its ``group.instance.id`` replaces."""
        owner = f"{received.name} {received.life}"
        match received.event:
            case {"event": "owns", "partitions": partitions}:
                self.owners.claim(received.seconds, owner, partitions)
            case {"event": "failed"} as failed:
                self._fatal[received.name, received.life] = json.dumps(failed)
            case None:
                self.owners.claim(received.seconds, owner, ())

    def _remove_member(self, name: str, now: float) -> None:
        self.owners.claim(now, name, ())
        self.assignments.pop(name, None)
