"""Commits of one member: one request at a time, and those that wait behind it are merged into the next.

So the number of requests does not depend on how often the user commits, and the cost of a commit does not depend on
what is buffered: a commit of all returned records only notes how many they are, and their offsets are looked at when
the request is sent. Every commit is answered, in order.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Condition, Event
from typing import Final

import kafka

from assignor.clients.confluent._errors import is_retriable
from assignor.clients.confluent._record_buffer import Offsets, RecordBuffer

Answered = Callable[[Offsets, BaseException | None], None]
"""Receives what was committed, and the error or None."""

_RETRY_SECONDS: Final = 0.05


class Committer:
    """Sends the commits of a member, one after the other.

    Args:
        buffer: knows the offsets of the returned records.
        send: sends one commit if the third argument still holds when it can be sent, and calls the second one with the
            error or None.
        failed: called with the error of a request.

    An ``Answered`` and ``failed`` are called on the I/O thread. The other methods are for the user's thread.
    """

    def __init__(
        self,
        buffer: RecordBuffer,
        send: Callable[[Offsets, Callable[[BaseException | None], None], Callable[[], bool]], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._buffer = buffer
        self._send = send
        self._failed = failed
        self._waiting: list[_Commit] = []
        self._in_flight: list[_Commit] | None = None
        self._lock = buffer.lock
        self._became_idle = Condition(buffer.lock)
        buffer.before_change = self._resolve

    def commit_returned(self, answered: Answered | None = None) -> None:
        """Commit the records returned so far, without waiting; nothing happens if there are none."""
        with self._lock:
            last = self._waiting[-1] if self._waiting else None
            if answered is None and last is not None and last.answered is None and last.end is not None:
                last.end = self._buffer.end
                return
            if not self._buffer.counting:
                self._buffer.start_counting()
            self._add(_Commit({}, answered, self._buffer.end))

    def commit(self, offsets: Offsets, answered: Answered | None = None) -> None:
        """Commit these offsets, without waiting."""
        with self._lock:
            last = self._waiting[-1] if self._waiting else None
            if answered is None and last is not None and last.answered is None and last.end is None:
                last.offsets.update(offsets)
                return
            self._add(_Commit(dict(offsets), answered))

    def uncommitted(self) -> Offsets:
        """Return the offsets that `commit_returned` would commit now."""
        with self._lock:
            self._buffer.start_counting()
            self._resolve()
            return self._buffer.changes(self._buffer.end)

    def commit_and_wait(self, offsets: Offsets, seconds: float, give_up: Callable[[], bool]) -> None:
        """Commit, and retry until it has succeeded or cannot succeed; ``kafka.errors.KafkaError`` if it has failed.

        During a cooperative rebalance it waits for the end.
        """
        deadline = time.monotonic() + seconds
        while True:
            answer = _Answer()
            self.commit(offsets, answer)
            error = answer.wait(deadline - time.monotonic())
            if error is None:
                return
            waits = isinstance(error, kafka.errors.RebalanceInProgressError) or is_retriable(error)
            if not waits or time.monotonic() + _RETRY_SECONDS > deadline or give_up():
                raise error
            time.sleep(_RETRY_SECONDS)

    def finish(self, seconds: float, error: Exception) -> None:
        """Wait until all commits are answered, at most so long; what is left then fails with ``error``.

        Nothing of it is sent any more: it could overwrite what the next owner of a partition has committed.
        """
        with self._lock:
            if self._became_idle.wait_for(lambda: self._in_flight is None, seconds):
                return
            self._resolve()
            commits = [*(self._in_flight or ()), *self._waiting]
            self._waiting, self._in_flight = [], None
        self._answer(commits, error)

    def _add(self, commit: _Commit) -> None:
        self._waiting.append(commit)
        if self._in_flight is None:
            self._send_waiting()

    def _resolve(self) -> None:
        """Look at the records of the commits that wait; with the lock held."""
        for commit in self._waiting:
            if commit.end is not None:
                commit.offsets, commit.end = self._buffer.changes(commit.end), None

    def _send_waiting(self) -> None:
        self._resolve()
        commits, self._waiting = [commit for commit in self._waiting if commit.offsets], []
        self._in_flight = commits or None
        if not commits:
            self._became_idle.notify_all()
            return
        merged: Offsets = {}
        for commit in commits:
            merged.update(commit.offsets)
        self._send(merged, lambda error: self._answered(commits, error), lambda: self._in_flight is commits)

    def _answered(self, commits: list[_Commit], error: BaseException | None) -> None:
        if self._in_flight is not commits:
            return  # it was given up
        self._answer(commits, error)
        with self._lock:
            if self._in_flight is commits:
                self._send_waiting()

    def _answer(self, commits: list[_Commit], error: BaseException | None) -> None:
        if error is not None:
            for commit in commits:
                self._buffer.not_committed(commit.offsets)
            if any(commit.answered is None for commit in commits):
                self._failed(error)
        for commit in commits:
            if commit.answered is not None:
                commit.answered(commit.offsets, error)


class _Commit:
    """One commit, or several whose answer nothing waits for."""

    __slots__ = ("answered", "end", "offsets")

    def __init__(self, offsets: Offsets, answered: Answered | None, end: int | None = None) -> None:
        self.offsets = offsets
        self.answered = answered
        self.end = end
        """How many records of the batch were returned at that time; None once they are in ``offsets``."""


class _Answer:
    """The answer to one commit that a thread waits for."""

    def __init__(self) -> None:
        self._arrived = Event()
        self._error: BaseException | None = None

    def __call__(self, _: Offsets, error: BaseException | None) -> None:
        self._error = error
        self._arrived.set()

    def wait(self, seconds: float) -> BaseException | None:
        if not self._arrived.wait(max(0.0, seconds)):
            self._error = kafka.errors.KafkaTimeoutError("the commit was not answered in time")
        return self._error
