"""The common part of the memberships of both protocols: how they fail, how they stop, and commits.

A membership has a thread of its own. It queues calls for the user's thread in ``callbacks``, and the user's thread runs
them in ``StreamsConsumer.poll``.
"""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from functools import partial
from threading import Event, Thread
from typing import Final

import kafka
from confluent_kafka import KafkaError

from streams_assignor.clients._session import Session
from streams_assignor.clients.adapter import ClientAdapter, MemberGeneration
from streams_assignor.clients.confluent._committer import Committer
from streams_assignor.clients.confluent._errors import as_kafka_error, kafka_exception
from streams_assignor.clients.confluent._record_buffer import Offsets, RecordBuffer
from streams_assignor.clients.confluent.streams_protocol.view import StreamsGroupView
from streams_assignor.errors import FatalError

log = logging.getLogger(__name__)

Call = Callable[[], None]

_STOP_TIMEOUT_SECONDS: Final = 5.0


class Membership(ABC):
    """One member of ``group``, from `start` to `stop`.

    Args:
        group: the consumer group.
        buffer: what the user's thread has received.
        poll_watchdog: detects that the user does not poll.
        periodic_call: seconds, and a call for the user's thread after each interval.
    """

    def __init__(
        self,
        group: str,
        *,
        buffer: RecordBuffer,
        poll_watchdog: PollWatchdog,
        periodic_call: tuple[float, Call] | None = None,
    ) -> None:
        self.callbacks: deque[Call] = deque()
        """Calls for the user's thread, in order."""
        self.failure: FatalError | None = None
        """The error that terminated the membership."""
        self.committer: Final = Committer(buffer, self._send_commit, self._commit_now, self._on_commit_failed)
        self._group = group
        self._poll_watchdog = poll_watchdog
        self._periodic_call = periodic_call
        self._stopping = Event()
        self._stopped_at = 0.0
        self._thread = Thread(target=self._run, name="streams-membership", daemon=True)

    def start(self) -> None:
        """Start to join; does not wait."""
        self._thread.start()

    def stop(self) -> None:
        """Start to leave the group, which queues the last callbacks. From any thread."""
        self._stopped_at = time.monotonic()
        self._stopping.set()
        self._interrupt()

    def is_alive(self, seconds: float) -> bool:
        """Wait up to ``seconds`` for the end; return whether the member still has to leave."""
        self._thread.join(seconds)
        return self._thread.is_alive()

    def fail(self, failure: FatalError, cause: Exception | None = None) -> None:
        """Terminate the membership: every later poll of the user raises the failure. The first failure counts."""
        if self.failure is None:
            if failure is not cause:
                failure.__cause__ = cause
            self.failure = failure
            self.callbacks.append(self._raise_failure)
            self._on_failure(failure)
            self.committer.finish(0, failure)  # a thread may wait for an answer that does not come any more

    def commit(self, offsets: Offsets, seconds: float) -> None:
        """Commit as this member in this generation; ``kafka.errors.KafkaError`` if the broker refuses."""
        self.require_joined()
        self.committer.commit_and_wait(offsets, seconds, self._stop_deadline_passed)

    def require_joined(self) -> None:
        """Raise the failure, or ``CommitFailedError`` before the first assignment."""
        if failure := self.failure or self.fenced:
            raise failure
        if self.generation is None:
            raise kafka.errors.CommitFailedError("this member has not joined its group yet")

    def _note_expiry(self) -> None:
        """Log why the member leaves; tell a user who has polled all the time."""
        waits = self._poll_watchdog.waits_for()
        why = f"{waits or 'the consumer was not polled'} for max.poll.interval.ms, its member leaves"
        log.warning("group %s: %s", self._group, why)
        if waits:
            self.callbacks.append(partial(self._raise_stalled, f"group {self._group}: {why}, and joins again"))

    def _raise_stalled(self, text: str) -> None:
        raise kafka_exception(KafkaError._TIMED_OUT, text)

    def _raise_failure(self) -> None:
        self.callbacks.append(self._raise_failure)
        assert self.failure is not None, "set before this was queued"
        raise self.failure

    def _stop_deadline_passed(self) -> bool:
        """Whether the member has to leave without waiting any longer."""
        return self._stopping.is_set() and time.monotonic() > self._stopped_at + _STOP_TIMEOUT_SECONDS

    def _on_commit_failed(self, error: BaseException) -> None:
        log.warning("group %s: an asynchronous commit has failed: %s", self._group, as_kafka_error(error))

    # -- of each protocol ---------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def view(self) -> ClientAdapter | StreamsGroupView:
        """The view ``StreamsConsumer.streams``."""

    @property
    @abstractmethod
    def session(self) -> Session:
        """Until when the member owns its tasks; afterwards nothing may be read."""

    @property
    @abstractmethod
    def generation(self) -> MemberGeneration | None:
        """The last generation of this member, or its epoch; None before the first."""

    @property
    def fenced(self) -> Exception | None:
        """The error of a commit if another member has the same instance id; the `failure` soon follows."""
        return None

    @abstractmethod
    def discard_callbacks(self) -> None:
        """Complete all pending callbacks: the user's thread runs none any more, and commits nothing."""

    @abstractmethod
    def _run(self) -> None:
        """Be a member until `stop`; on the membership's thread."""

    @abstractmethod
    def _interrupt(self) -> None:
        """Make the thread notice `stop`. From any thread."""

    @abstractmethod
    def _on_failure(self, failure: FatalError) -> None:
        """Report the failure."""

    @abstractmethod
    def _send_commit(
        self, offsets: Offsets, answered: Callable[[BaseException | None], None], allowed: Callable[[], bool]
    ) -> None:
        """See ``Committer``."""

    @abstractmethod
    def _commit_now(self, offsets: Offsets, seconds: float) -> bool:
        """See ``Committer``."""


class PollWatchdog:
    """Detects that the user has not polled for ``max_poll_seconds``, or that each poll ``waits_for`` something."""

    def __init__(
        self, progress: Callable[[], object], max_poll_seconds: float, waits_for: Callable[[], str] = str
    ) -> None:
        self.max_poll_seconds = max_poll_seconds
        self.waits_for = waits_for
        self._progress = progress
        self._last_progress: object = None
        self._since = time.monotonic()
        self._progress_at_leave: object = None

    @property
    def has_left(self) -> bool:
        """Whether the time has expired, and the user has not polled since."""
        return self._progress_at_leave is not None and self._progress_at_leave == self._progress()

    def expired(self) -> bool:
        """Check the time; True once for each expiry."""
        now, progress = time.monotonic(), self._progress()
        if progress != self._last_progress:
            self._last_progress, self._since, self._progress_at_leave = progress, now, None
        if self._progress_at_leave is not None or now - self._since < self.max_poll_seconds:
            return False
        self._progress_at_leave = progress
        return True
