"""Commits of one member: one request at a time, and those that wait behind it are merged into the next.

So the number of requests does not depend on how often the user commits, and the cost of a commit does not depend on
what is buffered: a commit of all returned records only notes how many they are, and their offsets are looked at when
the request is sent. Every commit is answered, in order, with its own offsets; consecutive ones in one call.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from threading import Condition, Event
from typing import Final

import kafka

from streams_assignor.clients.confluent._errors import is_retriable
from streams_assignor.clients.confluent._record_buffer import Offsets, RecordBuffer

Answered = Callable[[Sequence[Offsets], BaseException | None], None]
"""Receives what each of some consecutive commits has committed, and their error or None."""

_RETRY_SECONDS: Final = 0.05
_FIRST_ATTEMPT: Final = 0.25  # of the time of a synchronous commit: what `send_now` may take


class Committer:
    """Sends the commits of a member, one after the other.

    Args:
        buffer: knows the offsets of the returned records.
        send: sends one commit if the third argument still holds when it can be sent, and calls the second one with the
            error or None.
        send_now: commits on the calling thread, for at most so many seconds; returns whether that has succeeded. If
            not, ``send`` repeats it.
        failed: called with the error of a request.

    An ``Answered`` and ``failed`` are called on the I/O thread. The other methods are for the user's thread.
    """

    def __init__(
        self,
        buffer: RecordBuffer,
        send: Callable[[Offsets, Callable[[BaseException | None], None], Callable[[], bool]], None],
        send_now: Callable[[Offsets, float], bool],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._buffer = buffer
        self._send = send
        self._send_now = send_now
        self._failed = failed
        self._waiting: list[_Commits] = []
        self._in_flight: list[_Commits] | None = None
        self._lock = buffer.lock
        self._became_idle = Condition(buffer.lock)
        buffer.before_change = self._resolve

    def commit_returned(self, answered: Answered | None = None) -> None:
        """Commit the records returned so far, without waiting; nothing happens if there are none."""
        buffer, waiting = self._buffer, self._waiting
        with self._lock:
            if not buffer.counting:
                buffer.start_counting()
            if not waiting or waiting[-1].answered is not answered:
                waiting.append(_Commits(answered))
            if answered is not None:
                waiting[-1].ends.append(buffer.end)
            else:
                waiting[-1].ends = [buffer.end]
            if self._in_flight is None:
                self._send_waiting()

    def commit(self, offsets: Offsets, answered: Answered | None = None) -> None:
        """Commit these offsets, without waiting."""
        with self._lock:
            self._resolve()
            if not self._waiting or self._waiting[-1].answered is not answered:
                self._waiting.append(_Commits(answered))
            self._waiting[-1].add(dict(offsets))
            if self._in_flight is None:
                self._send_waiting()

    def uncommitted(self) -> Offsets:
        """Return the offsets that `commit_returned` would commit now."""
        with self._lock:
            self._buffer.start_counting()
            self._resolve()
            return self._buffer.changes([self._buffer.end])[0]

    def commit_and_wait(self, offsets: Offsets, seconds: float, give_up: Callable[[], bool]) -> None:
        """Commit, and retry until it has succeeded or cannot succeed; ``kafka.errors.KafkaError`` if it has failed.

        During a cooperative rebalance it waits for the end.
        """
        deadline = time.monotonic() + seconds
        if self._commit_now(offsets, seconds * _FIRST_ATTEMPT):
            return
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
            self._waiting.clear()
            self._in_flight = None
        self._answer(commits, error)

    def _commit_now(self, offsets: Offsets, seconds: float) -> bool:
        """Commit on this thread if nothing is in flight; return whether it has succeeded."""
        with self._lock:
            if self._in_flight is not None:
                return False
            commits: list[_Commits] = []
            self._in_flight = commits
        try:
            committed = self._send_now(offsets, seconds)
        finally:
            with self._lock:
                if not (given_up := self._in_flight is not commits):
                    self._send_waiting()
        if given_up and not committed:
            raise kafka.errors.CommitFailedError("the partitions are not assigned to this member any more")
        return committed

    def _resolve(self) -> None:
        """Look at the records of the commits that wait; with the lock held."""
        for commits in self._waiting:
            if commits.ends:
                for offsets in self._buffer.changes(commits.ends):
                    commits.add(offsets)
                commits.ends.clear()

    def _send_waiting(self) -> None:
        self._resolve()
        commits = [commit for commit in self._waiting if commit.offsets]
        self._waiting.clear()
        self._in_flight = commits or None
        if not commits:
            self._became_idle.notify_all()
            return
        merged: Offsets = {}
        for commit in commits:
            for offsets in commit.offsets:
                merged.update(offsets)
        try:
            self._send(merged, lambda error: self._answered(commits, error), lambda: self._in_flight is commits)
        except BaseException:  # of a signal handler: nothing may wait for an answer that may not come
            self._in_flight = None
            self._buffer.not_committed(merged)
            raise

    def _answered(self, commits: list[_Commits], error: BaseException | None) -> None:
        if self._in_flight is not commits:
            return  # it was given up
        self._answer(commits, error)
        with self._lock:
            if self._in_flight is commits:
                self._send_waiting()

    def _answer(self, commits: list[_Commits], error: BaseException | None) -> None:
        if error is not None:
            self._buffer.not_committed(name for commit in commits for offsets in commit.offsets for name in offsets)
            if any(commit.answered is None for commit in commits):
                self._failed(error)
        for commit in commits:
            if commit.answered is not None:
                commit.answered(commit.offsets, error)


class _Commits:
    """Consecutive commits with the same answer; they are one if nothing waits for it."""

    __slots__ = ("answered", "ends", "offsets")

    def __init__(self, answered: Answered | None) -> None:
        self.answered = answered
        self.offsets: list[Offsets] = []
        """The offsets of each commit, in order."""
        self.ends: list[int] = []
        """For those that are not in ``offsets`` yet: how many records of the batch were returned at that time."""

    def add(self, offsets: Offsets) -> None:
        """Append a commit, unless it is one of nothing."""
        if offsets and self.answered is None and self.offsets:
            self.offsets[0].update(offsets)
        elif offsets:
            self.offsets.append(offsets)


class _Answer:
    """The answer to one commit that a thread waits for."""

    def __init__(self) -> None:
        self._arrived = Event()
        self._error: BaseException | None = None

    def __call__(self, _: Sequence[Offsets], error: BaseException | None) -> None:
        self._error = error
        self._arrived.set()

    def wait(self, seconds: float) -> BaseException | None:
        if not self._arrived.wait(max(0.0, seconds)):
            self._error = kafka.errors.KafkaTimeoutError("the commit was not answered in time")
        return self._error
