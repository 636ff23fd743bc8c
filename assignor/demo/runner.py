"""A live rolling bounce: real member processes, a steady load of records, and two upgrades."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Final, Self
from uuid import uuid4

from attrs import evolve

from streams_assignor.clients.mock_cluster import KAFKA_PYTHON_API_VERSION, MockCluster
from streams_assignor.codec import StreamsAssignorError
from streams_assignor.demo.load_generator import LoadGenerator, create_topic, delete_topic
from streams_assignor.demo.member_process import EventLine, MemberProcess
from streams_assignor.demo.member_settings import MemberSettings
from streams_assignor.demo.model import (
    BounceSettings,
    BounceStep,
    BounceSummary,
    MemberStatus,
    ProcessedOffsets,
    StepResult,
    TimelineEntry,
    doubly_owned_task,
    unstable_reasons,
)

_STABLE_TIMEOUT_SECONDS: Final = 60.0
# The first joins arrive within this time of each other; it must be below the session timeout.
_INITIAL_DELAY_MS: Final = 1000
_EMBEDDED_SESSION_MS: Final = 2000
_BROKER_SESSION_MS: Final = 6000  # a broker's group.min.session.timeout.ms


class BounceError(StreamsAssignorError):
    """The upgrade did not finish; the message gives the reason in one line."""


class BounceRunner:
    """Runs the steps of a bounce.

    A context manager: at the end no member is left running.

    Args:
        settings: of the bounce.
        member_command: starts ``streams-assignor member``.
        on_change: called with this object after every change.
    """

    def __init__(
        self,
        settings: BounceSettings,
        member_command: Sequence[str],
        on_change: Callable[[BounceRunner], None] = lambda _bounce: None,
    ) -> None:
        self.settings: Final = settings
        self._member_command = member_command
        self.members = {name: MemberStatus(name=name) for name in settings.member_names}
        self.timeline: list[TimelineEntry] = []
        self.results: list[StepResult] = []
        self.processed_offsets: Final = ProcessedOffsets()
        self.produced: dict[str, int] = {}
        self.title = "starting"
        self._on_change = on_change
        self._start = time.monotonic()
        self._events: queue.SimpleQueue[tuple[str, EventLine | None]] = queue.SimpleQueue()
        self._processes: dict[str, MemberProcess] = {}
        self._rejoins = 0
        self._group = f"bounce-{uuid4().hex[:8]}"
        self._cleanup = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._cleanup, suppress(BounceError):
            self._stop(self._processes)

    @property
    def seconds(self) -> float:
        """The time since the beginning of the bounce."""
        return time.monotonic() - self._start

    @property
    def tasks(self) -> tuple[str, ...]:
        """All tasks of the group."""
        return tuple(f"0_{partition}" for partition in range(self.settings.partitions))

    def run(self) -> None:
        """Bounce all members through all steps; ``BounceError`` if a step fails or records are lost."""
        bootstrap = self._bootstrap()
        load = self._cleanup.enter_context(
            LoadGenerator(bootstrap, self._group, self.settings.partitions, self.settings.records_per_second)
        )
        self.produced = load.produced
        for step, order in zip(self.settings.steps, self.settings.bounce_orders(), strict=True):
            self._run_step(step, order, bootstrap)
        self.title = "waiting for the last records"
        load.stop()
        self._wait_until(
            "records are lost", lambda: [lost] if (lost := self.processed_offsets.lost(self.produced)) else []
        )
        self._add_to_timeline("", {"event": "records_finished"})
        self._stop(self._processes)

    def summary(self, problem: str | None = None) -> BounceSummary:
        """Return the result so far."""
        return BounceSummary(
            outcome="failed" if problem else "finished",
            problem=problem,
            seconds=round(self.seconds, 1),
            steps=tuple(self.results),
            produced=sum(self.produced.values()),
            processed=self.processed_offsets.processed,
            duplicates=self.processed_offsets.duplicates,
            lost=self.processed_offsets.lost(self.produced),
            timeline=tuple(self.timeline),
        )

    def _bootstrap(self) -> str:
        """Create the topic, and the cluster if none is given; return its bootstrap servers."""
        given = self.settings.bootstrap_servers
        if given is None:
            topics = {self._group: self.settings.partitions}
            return self._cleanup.enter_context(
                MockCluster(topics=topics, initial_rebalance_delay_ms=_INITIAL_DELAY_MS)
            ).bootstrap_servers
        create_topic(given, self._group, self.settings.partitions)
        self._cleanup.callback(delete_topic, given, self._group)
        return given

    def _run_step(self, step: BounceStep, order: Sequence[str], bootstrap: str) -> None:
        begin, self.title, self._rejoins = self.seconds, step.title, 0
        self._add_to_timeline("", {"event": "step", "title": step.title})
        first = not self._processes
        for name in order:
            if not first:
                self._stop([name])
            self._start_member(name, step, bootstrap)
            if not first:
                self._wait_until(
                    f"member {name} does not become stable", lambda: unstable_reasons(self.members.values(), self.tasks)
                )
        self._wait_until(
            f"{step.title}: it does not finish",
            lambda: unstable_reasons(self.members.values(), self.tasks, step.version),
        )
        self._add_to_timeline("", {"event": "step_finished", "version": step.version})
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

    def _start_member(self, name: str, step: BounceStep, bootstrap: str) -> None:
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
        self._add_to_timeline(name, {"event": "starting", "release": step.release, "upgrade_from": step.upgrade_from})
        self.members[name] = MemberStatus(name=name, process="starting", release=step.release)
        self._processes[name] = MemberProcess(
            self._member_command, settings, lambda event: self._events.put((name, event))
        )

    def _stop(self, names: Iterable[str]) -> None:
        """Stop members, all at the same time, and process their last events."""
        leaving = [name for name in names if self.members[name].process != "stopped"]
        for name in leaving:
            self.members[name] = evolve(self.members[name], process="stopping")
            self._processes[name].stop()
        for name in leaving:
            self._processes[name].wait()
        self._process_events()

    def _wait_until(self, description: str, pending: Callable[[], Sequence[object]]) -> None:
        """Process events until nothing is pending; ``BounceError`` after 60 seconds."""
        deadline = time.monotonic() + _STABLE_TIMEOUT_SECONDS
        while still := pending():
            if time.monotonic() > deadline:
                raise BounceError(f"{description}: {'; '.join(map(str, still))}")
            with suppress(queue.Empty):
                self._process_event(*self._events.get(timeout=0.2))
                self._process_events()

    def _process_events(self) -> None:
        while not self._events.empty():
            self._process_event(*self._events.get())

    def _process_event(self, name: str, event: EventLine | None) -> None:
        before = self.members[name]
        stopping = before.process in {"stopping", "stopped"}
        if event is None:
            self.members[name] = evolve(before, process="stopped")
            if not stopping:
                raise BounceError(f"member {name} failed: {self._processes[name].exit_description()}")
        else:
            after = before.after(event)
            self.members[name] = evolve(after, process=before.process) if stopping else after
            self._record_event(before, event)
            if event["event"] == "processed":
                self.processed_offsets.record(event["partition"], event["from"], event["to"])
            if event["event"] == "failed" and not stopping:
                raise BounceError(f"member {name} failed: {event['error']}")
            if problem := doubly_owned_task(self.members.values()):
                raise BounceError(problem)
        self._on_change(self)

    def _record_event(self, before: MemberStatus, event: EventLine) -> None:
        """Add an event to the timeline unless it is routine."""
        match event:
            case {"event": "subscribed", "used": used, "supported": supported}:
                if (used, supported) == (before.used, before.supported):
                    return
            case {"event": "rejoin"}:
                self._rejoins += 1
            case {"event": "assigned" | "probed" | "stopped" | "failed"}:
                pass
            case _:
                return
        self._add_to_timeline(before.name, event)

    def _add_to_timeline(self, member: str, event: EventLine) -> None:
        self.timeline.append(TimelineEntry(round(self.seconds, 2), member, event))
        self._on_change(self)
