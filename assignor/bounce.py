"""A live rolling bounce: real member processes, a steady flow of records, and two upgrades on top of them.

The story is data: `STEPS` says which release every member is bounced to in turn, `MemberStatus` what is known of one
member, `Moment` what happened when.  Everything known comes from the events the members print
(`assignor.member_process`); what judges it (`complaints`, `owned_twice`, `Ledger`) is pure.  `Bounce` alone has
processes, threads and a clock.
"""

from __future__ import annotations

import queue
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from threading import Thread
from types import TracebackType
from typing import IO, Final, Self
from uuid import uuid4

from attrs import evolve, field, frozen

from assignor.clients.feed import Feed, create_topic, delete_topic
from assignor.clients.mock_cluster import KAFKA_PYTHON_API_VERSION, MockCluster
from assignor.member_process import (
    Assigned,
    Event,
    Failed,
    MemberSettings,
    Processed,
    Rejoin,
    Revoked,
    Started,
    Stopped,
    Subscribed,
    from_line,
)
from upgrade.releases import OURS, SIMULATED

MEMBER_COMMAND: Final = (sys.executable, "-m", "assignor.cli.member")

_SETTLE_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 10.0
# First joins come within this time of each other; it must be below the session timeout.
_INITIAL_DELAY_MS: Final = 1000
_EMBEDDED_SESSION_MS: Final = 2000
_BROKER_SESSION_MS: Final = 6000  # a broker's group.min.session.timeout.ms


class BounceFailed(Exception):
    """The upgrade did not finish as it must; the message says why in one line."""


@frozen
class Step:
    """Bounce every member to a release; afterwards all of them use metadata version `version`."""

    title: str
    release: str
    version: int
    upgrade_from: str | None = None


STEPS: Final = (
    Step("start on 1.1.1", "1.1.1", 2),
    Step("2 to 3, first bounce: upgrade.from=1.1", OURS.name, 2, "1.1"),
    Step("2 to 3, second bounce: without upgrade.from", OURS.name, 3),
    Step("3 to 4, one bounce: version probing", SIMULATED.name, 4),
)


@frozen(kw_only=True)
class MemberStatus:
    """What is known of one member.

    `process` is starting, running, stopping or stopped; `processed` counts the records since its last assignment.
    """

    name: str
    process: str = "stopped"
    release: str = ""
    upgrade_from: str | None = None
    used: int | None = None
    supported: int | None = None
    leader: bool = False
    generation: int | None = None
    active: tuple[str, ...] = ()
    standby: tuple[str, ...] = ()
    rejoining: bool = True
    processed: int = 0

    def after(self, event: Event) -> MemberStatus:
        """Return what is known once `event` has happened."""
        match event:
            case Started(release, upgrade_from):
                return evolve(self, process="running", release=release, upgrade_from=upgrade_from)
            case Subscribed(used, supported):
                return evolve(self, used=used, supported=supported, rejoining=True)
            case Assigned():
                return evolve(
                    self,
                    leader=event.leader,
                    generation=event.generation,
                    active=event.active,
                    standby=event.standby,
                    rejoining=event.rejoin,
                    processed=0,
                )
            case Processed(_, first, last):
                return evolve(self, processed=self.processed + last + 1 - first)
            case Revoked():
                return evolve(self, active=(), standby=(), rejoining=True)
            case Failed() | Stopped():
                return MemberStatus(name=self.name, release=self.release, upgrade_from=self.upgrade_from)
        return self


@frozen
class Moment:
    """Something happened, `seconds` after the beginning: to a member, or to all (then `member` is empty)."""

    seconds: float
    member: str
    what: str


def complaints(members: Iterable[MemberStatus], tasks: Iterable[str], version: int | None = None) -> list[str]:
    """List what keeps a group from being settled, on metadata `version` if given; nothing to complain means settled."""
    found: list[str] = []
    generations = {member.generation for member in members}
    for member in members:
        if member.process != "running":
            found.append(f"member {member.name} is {member.process}")
        elif member.generation is None or member.rejoining or len(generations) > 1:
            found.append(f"member {member.name} is rebalancing")
        elif member.active and not member.processed:
            found.append(f"member {member.name} does not process records")
        elif version not in (None, member.used):
            found.append(f"member {member.name} uses metadata version {member.used}, not {version}")
    owned = sorted(task for member in members for task in member.active)
    if not found and owned != sorted(tasks):
        found.append(f"tasks are owned as {', '.join(owned) or 'none'}")
    return found


def owned_twice(members: Iterable[MemberStatus]) -> str | None:
    """Name a task that two members own in the same generation, which must never be."""
    owner: dict[tuple[int | None, str], str] = {}
    for member in members:
        for task in member.active:
            other = owner.setdefault((member.generation, task), member.name)
            if other != member.name:
                return f"task {task} is owned by {other} and {member.name} in generation {member.generation}"
    return None


@frozen
class Ledger:
    """Which offsets have been processed, by partition, and how many of them again."""

    seen: dict[str, set[int]] = field(factory=dict)
    times: list[int] = field(factory=list)

    def enter(self, event: Processed) -> None:
        """Note a range of offsets as processed."""
        self.seen.setdefault(event.partition, set()).update(range(event.first, event.last + 1))
        self.times.append(event.last + 1 - event.first)

    @property
    def processed(self) -> int:
        """How many different records have been processed."""
        return sum(map(len, self.seen.values()))

    @property
    def duplicates(self) -> int:
        """How many records have been processed once more than needed."""
        return sum(self.times) - self.processed

    def lost(self, produced: Mapping[str, int]) -> int:
        """Count the produced records (`produced` has the number in each partition) that nobody has processed."""
        return sum(len(set(range(count)) - self.seen.get(partition, set())) for partition, count in produced.items())


@frozen(kw_only=True)
class BounceSettings:
    """What to bounce.  Without `bootstrap_servers` on an embedded cluster; `order` overrides the seed's order."""

    bootstrap_servers: str | None = None
    members: int = 3
    partitions: int = 6
    standbys: int = 1
    records_per_second: int = 200
    seed: int = 0
    order: tuple[str, ...] = ()
    steps: tuple[Step, ...] = STEPS

    @property
    def names(self) -> tuple[str, ...]:
        """The members' names: A, B, C and so on."""
        return tuple(chr(ord("A") + number) for number in range(self.members))

    def orders(self) -> list[tuple[str, ...]]:
        """In which order each step bounces the members; the first just starts them.

        >>> BounceSettings(order=("C", "A", "B")).orders()[1:]
        [('C', 'A', 'B'), ('C', 'A', 'B'), ('C', 'A', 'B')]
        """
        chance = random.Random(self.seed)
        shuffled = [tuple(chance.sample(self.names, self.members)) for _ in self.steps[1:]]
        return [self.names, *(self.order or order for order in shuffled)]


@frozen(kw_only=True)
class StepResult:
    """How a step went.  `rejoins` counts the rebalances that only the negotiation of the version asked for."""

    step: Step
    order: tuple[str, ...]
    seconds: float
    generation: int
    rejoins: int
    members: tuple[MemberStatus, ...]


@frozen(kw_only=True)
class Summary:
    """How the bounce went, whether it finished or not."""

    outcome: str
    seconds: float
    steps: tuple[StepResult, ...]
    produced: int
    processed: int
    duplicates: int
    lost: int
    timeline: tuple[Moment, ...]
    problem: str | None = None


class MemberProcess:
    """One member as an operating-system process; its events go to `tell`, and None when it has ended."""

    def __init__(self, settings: MemberSettings, tell: Callable[[Event | None], None]) -> None:
        self._tell = tell
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as the process
        self._process = subprocess.Popen(
            [*MEMBER_COMMAND, *settings.arguments()],
            # Its end of this pipe closes however we end, and then the member stops.
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            start_new_session=True,  # Ctrl-C is ours to hand on
        )
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def stop(self) -> None:
        """Ask it to end."""
        self._process.send_signal(signal.SIGTERM)

    def wait(self) -> None:
        """Wait until it has ended; after a while it has no choice."""
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        assert self._process.stdin
        self._process.stdin.close()

    def last_words(self) -> str:
        """Return the exit status and the last line it wrote to standard error."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").split("\n")
        return " ".join([f"exit status {self._process.wait()}", *[line for line in lines if line.strip()][-1:]])

    def _read(self) -> None:
        assert self._process.stdout
        with self._process.stdout as lines:
            for line in lines:
                try:
                    self._tell(from_line(line))
                except ValueError as error:
                    self._tell(Failed(str(error)))
        self._process.wait()
        self._tell(None)


class Bounce:
    """Runs the steps; `watch` is called whenever something has happened.

    Use it as a context manager: whatever happens inside, no member is left running at the end.
    """

    def __init__(self, settings: BounceSettings, watch: Callable[[Bounce], None] = lambda _bounce: None) -> None:
        self.settings: Final = settings
        self.members = {name: MemberStatus(name=name) for name in settings.names}
        self.timeline: list[Moment] = []
        self.results: list[StepResult] = []
        self.ledger: Final = Ledger()
        self.produced: dict[str, int] = {}
        self.title = "starting"
        self._watch = watch
        self._start = time.monotonic()
        self._events: queue.SimpleQueue[tuple[str, Event | None]] = queue.SimpleQueue()
        self._processes: dict[str, MemberProcess] = {}
        self._rejoins = 0
        self._group = f"bounce-{uuid4().hex[:8]}"
        self._cleanup = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._cleanup, suppress(BounceFailed):
            self._stop(self._processes)

    @property
    def seconds(self) -> float:
        """How long it has been running."""
        return time.monotonic() - self._start

    @property
    def tasks(self) -> tuple[str, ...]:
        """All tasks of the group."""
        return tuple(f"0_{partition}" for partition in range(self.settings.partitions))

    def run(self) -> None:
        """Bounce everybody through all steps.  ``BounceFailed`` if something went wrong, also with the records."""
        bootstrap = self._cluster()
        feed = self._cleanup.enter_context(
            Feed(bootstrap, self._group, self.settings.partitions, self.settings.records_per_second)
        )
        self.produced = feed.produced
        for step, order in zip(self.settings.steps, self.settings.orders(), strict=True):
            self._step(step, order, bootstrap)
        self.title = "waiting for the last records"
        feed.stop()
        self._until("records are lost", lambda: [f"{lost}"] if (lost := self.ledger.lost(self.produced)) else [])
        self._note("", "all records are processed")
        self._stop(self._processes)

    def summary(self, problem: str | None = None) -> Summary:
        """Say how it went."""
        return Summary(
            outcome="failed" if problem else "finished",
            problem=problem,
            seconds=round(self.seconds, 1),
            steps=tuple(self.results),
            produced=sum(self.produced.values()),
            processed=self.ledger.processed,
            duplicates=self.ledger.duplicates,
            lost=self.ledger.lost(self.produced),
            timeline=tuple(self.timeline),
        )

    def _cluster(self) -> str:
        """Provide the topic, and the cluster if none is given."""
        given = self.settings.bootstrap_servers
        if given is None:
            topics = {self._group: self.settings.partitions}
            return self._cleanup.enter_context(
                MockCluster(topics=topics, initial_rebalance_delay_ms=_INITIAL_DELAY_MS)
            ).bootstrap
        create_topic(given, self._group, self.settings.partitions)
        self._cleanup.callback(delete_topic, given, self._group)
        return given

    def _step(self, step: Step, order: Sequence[str], bootstrap: str) -> None:
        begin, self.title, self._rejoins = self.seconds, step.title, 0
        self._note("", step.title)
        first = not self._processes
        for name in order:
            if not first:
                self._stop([name])
            self._start_member(name, step, bootstrap)
            if not first:
                self._until(f"member {name} does not come back", lambda: complaints(self.members.values(), self.tasks))
        self._until(
            f"{step.title}: it does not finish",
            lambda: complaints(self.members.values(), self.tasks, step.version),
        )
        self._note("", f"all use metadata version {step.version}, every task is owned once")
        members = tuple(self.members.values())
        self.results.append(
            StepResult(
                step=step,
                order=tuple(order),
                seconds=round(self.seconds - begin, 1),
                generation=max(member.generation or 0 for member in members),
                rejoins=self._rejoins,
                members=members,
            )
        )

    def _start_member(self, name: str, step: Step, bootstrap: str) -> None:
        embedded = self.settings.bootstrap_servers is None
        settings = MemberSettings(
            bootstrap_servers=bootstrap,
            group=self._group,
            topic=(self._group,),
            release=step.release,
            upgrade_from=step.upgrade_from,
            standbys=self.settings.standbys,
            session_timeout_ms=_EMBEDDED_SESSION_MS if embedded else _BROKER_SESSION_MS,
            api_version=".".join(map(str, KAFKA_PYTHON_API_VERSION)) if embedded else None,
        )
        config = f" with upgrade.from={step.upgrade_from}" if step.upgrade_from else ""
        self._note(name, f"starts as {step.release}{config}")
        self.members[name] = MemberStatus(name=name, process="starting", release=step.release)
        self._processes[name] = MemberProcess(settings, lambda event: self._events.put((name, event)))

    def _stop(self, names: Iterable[str]) -> None:
        """Stop members, all at once, and take note of their last events."""
        leaving = [name for name in names if self.members[name].process != "stopped"]
        for name in leaving:
            self.members[name] = evolve(self.members[name], process="stopping")
            self._processes[name].stop()
        for name in leaving:
            self._processes[name].wait()
        self._take_all()

    def _until(self, what: str, open_points: Callable[[], list[str]]) -> None:
        """Take events until nothing is open any more."""
        deadline = time.monotonic() + _SETTLE_SECONDS
        while still := open_points():
            if time.monotonic() > deadline:
                raise BounceFailed(f"{what}: {'; '.join(still)}")
            with suppress(queue.Empty):
                self._take(*self._events.get(timeout=0.2))
                self._take_all()

    def _take_all(self) -> None:
        while not self._events.empty():
            self._take(*self._events.get())

    def _take(self, name: str, event: Event | None) -> None:
        before = self.members[name]
        stopping = before.process in {"stopping", "stopped"}
        if event is None:
            self.members[name] = evolve(before, process="stopped")
            if not stopping:
                raise BounceFailed(f"member {name} died: {self._processes[name].last_words()}")
        else:
            after = before.after(event)
            self.members[name] = evolve(after, process=before.process) if stopping else after
            self._tell(before, event)
            if isinstance(event, Processed):
                self.ledger.enter(event)
            if isinstance(event, Failed) and not stopping:
                raise BounceFailed(f"member {name} died: {event.error}")
            if problem := owned_twice(self.members.values()):
                raise BounceFailed(problem)
        self._watch(self)

    def _tell(self, before: MemberStatus, event: Event) -> None:
        """Put into the timeline what is worth a line."""
        match event:
            case Subscribed(used, supported) if (used, supported) != (before.used, before.supported):
                self._note(before.name, f"subscribes with version {used}, supports {supported}")
            case Assigned():
                role = "leads" if event.leader else "follows"
                known = f", supported {event.supported}" if event.supported > 0 else ""
                owns = " ".join(event.active) or "nothing"
                self._note(
                    before.name, f"{role} generation {event.generation}, version {event.version}{known}: owns {owns}"
                )
            case Rejoin():
                self._rejoins += 1
                self._note(before.name, "rejoins at once to change its version")
            case Stopped():
                self._note(before.name, "leaves")
            case Failed(error):
                self._note(before.name, f"dies: {error}")

    def _note(self, member: str, what: str) -> None:
        self.timeline.append(Moment(round(self.seconds, 2), member, what))
        self._watch(self)
