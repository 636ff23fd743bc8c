"""Commits of one member: one request at a time, and those that wait behind it are merged into the next.

So the number of requests does not depend on how often the user commits, and the cost of a commit does not depend on
what is buffered. Every commit is answered, in order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from threading import Condition, Event

import kafka

from assignor.clients.confluent._errors import is_retriable

PartitionKey = tuple[str, int]
"""Topic and partition number."""

Offsets = Mapping[PartitionKey, tuple[int, str]]
"""The next offset of each partition, and what else the user wants to store with it."""

Answered = Callable[[BaseException | None], None]
"""Receives the error, or None."""

_RETRY_SECONDS = 0.05


class Committer:
    """Sends commits, one after the other.

    Args:
        send: sends one commit, as soon as the third argument allows it; calls the second one with the result.

    Any thread may call any method. An ``Answered`` is called on the I/O thread.
    """

    def __init__(self, send: Callable[[Offsets, Answered, Callable[[], bool]], None]) -> None:
        self._send = send
        self._waiting: dict[PartitionKey, tuple[int, str]] = {}
        self._answers: list[Answered] = []  # of the commits in `_waiting`
        self._in_flight: list[Answered] | None = None
        self._changed = Condition()

    def commit(self, offsets: Offsets, answered: Answered) -> None:
        """Commit without waiting."""
        with self._changed:
            self._waiting.update(offsets)
            self._answers.append(answered)
            if self._in_flight is None:
                self._send_waiting()

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
        with self._changed:
            if self._changed.wait_for(lambda: self._in_flight is None, seconds):
                return
            answers = [*(self._in_flight or ()), *self._answers]
            self._waiting, self._answers, self._in_flight = {}, [], None
        _answer_all(answers, error)

    def _send_waiting(self) -> None:
        offsets, answers = self._waiting, self._answers
        self._waiting, self._answers, self._in_flight = {}, [], answers
        self._send(offsets, lambda error: self._answered(answers, error), lambda: self._in_flight is answers)

    def _answered(self, answers: list[Answered], error: BaseException | None) -> None:
        if self._in_flight is not answers:
            return  # it was given up
        _answer_all(answers, error)
        with self._changed:
            if self._in_flight is not answers:
                return
            if self._answers:
                self._send_waiting()
            else:
                self._in_flight = None
                self._changed.notify_all()


class _Answer:
    """The answer to one commit that a thread waits for."""

    def __init__(self) -> None:
        self._arrived = Event()
        self._error: BaseException | None = None

    def __call__(self, error: BaseException | None) -> None:
        self._error = error
        self._arrived.set()

    def wait(self, seconds: float) -> BaseException | None:
        if self._arrived.wait(max(0.0, seconds)):
            return self._error
        return kafka.errors.KafkaTimeoutError("the commit was not answered in time")


def _answer_all(answers: list[Answered], error: BaseException | None) -> None:
    for answered in answers:
        answered(error)
