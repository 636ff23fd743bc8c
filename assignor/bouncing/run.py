"""A live rolling bounce: real member processes, a steady flow of records, and two upgrades on top of them."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Final, Self
from uuid import uuid4

from attrs import evolve

from assignor.bouncing.process import MemberProcess
from assignor.bouncing.story import (
    BounceSettings,
    Ledger,
    MemberStatus,
    Moment,
    Step,
    StepResult,
    Summary,
    complaints,
    owned_twice,
)
from assignor.clients.feed import Feed, create_topic, delete_topic
from assignor.clients.mock_cluster import KAFKA_PYTHON_API_VERSION, MockCluster
from assignor.member_process import Assigned, Event, Failed, MemberSettings, Processed, Rejoin, Stopped, Subscribed

_SETTLE_SECONDS: Final = 60.0
# First joins come within this time of each other; it must be below the session timeout.
_INITIAL_DELAY_MS: Final = 1000
_EMBEDDED_SESSION_MS: Final = 2000
_BROKER_SESSION_MS: Final = 6000  # a broker's group.min.session.timeout.ms


class BounceFailed(Exception):
    """The upgrade did not finish as it must; the message says why in one line."""


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
