"""A coordinator of a streams group without a network: it answers heartbeats and commits as a test says."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from threading import Event as Signal
from typing import Any

from attrs import evolve

from streams_assignor.clients.confluent._membership import PollWatchdog
from streams_assignor.clients.confluent._record_buffer import RecordBuffer
from streams_assignor.clients.confluent.streams_protocol._membership import StreamsMembership
from streams_assignor.observability.events import Event
from streams_assignor.streams_group import StreamsGroupMember, topology_fields
from streams_assignor.topology import Topology
from tests.assignor.clients.recording_listener import RecordingListener
from tests.assignor.streams_group.coordinator import PROFILE, TOPOLOGY, response

TIMEOUT_SECONDS = 60
Answer = Callable[[Mapping[str, Any]], Any]


def until(happened: Callable[[], bool]) -> None:
    """Wait for something."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.005)


class FakeCoordinator:
    """Answers each heartbeat with the next of ``answers``: a response, an exception, or a function of the request.

    Without any, a member joins in epoch 1 with ``tasks`` and keeps what it has. ``counts`` and ``sessions`` are the
    answers to lookups; the last one stays.
    """

    def __init__(self, *tasks: str) -> None:
        self.tasks = tasks
        self.epoch = 1
        self.answers: deque[Any] = deque()
        self.requests: list[Mapping[str, Any]] = []
        self.lookups: list[str] = []
        self.commits: list[tuple[Any, Any]] = []
        self.commit_codes: deque[Any] = deque()
        self.counts: deque[Any] = deque()
        self.statuses: dict[int, str] = {}
        self.sessions: deque[Any] = deque()
        self.session_ms: int | None = 60_000
        self.interval_ms = 20
        self.interrupted = Signal()
        self.server = "broker:1"
        self.address: str | None = None
        self.forgotten = 0
        self.closed = False

    def heartbeat(self, fields: Mapping[str, Any], seconds: float) -> Any:  # noqa: ARG002  # the interface
        self.requests.append(fields)
        answer = self.answers.popleft() if self.answers else self.usual(fields)
        if isinstance(answer, Exception):
            raise answer
        self.address = self.server
        return answer(fields) if callable(answer) else answer

    def usual(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        joins = fields["memberEpoch"] == 0
        epoch = self.epoch if fields["memberEpoch"] >= 0 else -1
        tasks = self.tasks if joins else None
        return response(epoch, tasks, interval_ms=self.interval_ms, statuses=self.statuses)

    def commit(self, identity: Any, offsets: Any, seconds: float) -> int:  # noqa: ARG002
        self.commits.append((identity, offsets))
        code = self.commit_codes.popleft() if self.commit_codes else 0
        if isinstance(code, Exception):
            raise code
        return code

    def commit_connection(self, identity: Any) -> FakeCoordinator:
        self.identity = identity
        return self

    def partition_counts(self, topics: Any, seconds: float) -> Any:  # noqa: ARG002
        return self.looked_up("partition_counts", self.counts)

    def session_timeout_ms(self, seconds: float) -> Any:  # noqa: ARG002
        return self.looked_up("session_timeout_ms", self.sessions) if self.sessions else self.session_ms

    def looked_up(self, what: str, answers: deque[Any]) -> Any:
        self.lookups.append(what)
        found = answers.popleft() if len(answers) > 1 else answers[0]
        if isinstance(found, Exception):
            self.forget()
            raise found
        return found

    def interrupt(self) -> None:
        self.interrupted.set()

    def forget(self) -> None:
        self.forgotten += 1
        self.address = None

    def close(self) -> None:
        self.closed = True


class NoCommitConnection:
    """Leaves every commit to the member's thread."""

    def commit(self, offsets: Any, seconds: float) -> bool:  # noqa: ARG002
        return False

    def close(self) -> None:
        """Nothing is open."""


class User:
    """The thread that polls: runs the callbacks of a membership."""

    def __init__(
        self,
        coordinator: FakeCoordinator,
        *,
        topology: Topology = TOPOLOGY,
        max_poll_seconds: float = 300,
        **parts: Any,
    ) -> None:
        self.polls = 0
        self.listener = RecordingListener()
        self.events: list[Event] = []
        self.coordinator = coordinator
        self.membership = StreamsMembership(
            coordinator,  # type: ignore[arg-type]
            StreamsGroupMember(evolve(PROFILE, topology=topology_fields(topology))),
            topology,
            parts.pop("listener", self.listener),
            observe=self.events.append,
            request_seconds=30,
            buffer=RecordBuffer(1, dict),
            poll_watchdog=PollWatchdog(lambda: self.polls, max_poll_seconds),
            **parts,
        )
        self.membership._commit_connection = NoCommitConnection()  # type: ignore[assignment]

    def __enter__(self) -> User:
        self.membership.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.membership.stop()
        if kind is not None:
            return
        while self.membership.is_alive(0.005):
            self.run_callbacks()
        self.membership.discard_callbacks()

    def run_callbacks(self) -> None:
        self.polls += 1
        while self.membership.callbacks:
            self.membership.callbacks.popleft()()

    def poll_until(self, happened: Callable[[], bool]) -> None:
        def polled() -> bool:
            self.run_callbacks()
            return happened()

        until(polled)

    @property
    def tasks(self) -> set[str]:
        return set(map(str, self.listener.owned_tasks.active))
