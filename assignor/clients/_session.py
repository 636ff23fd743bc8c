"""The session of one member: whether the group may have removed it without its knowledge."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Final

from assignor.errors import FatalError

now: Final = partial(time.clock_gettime, time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic
"""Seconds that also pass while the machine sleeps."""

MAX_DOUBT_SESSIONS: Final = 2
"""Session timeouts of doubt after which the member fails."""

IN_DOUBT: Final = "OWNERSHIP_IN_DOUBT"
"""Code of the error of a member whose ownership was in doubt for too long."""


class Session:
    """Answers whether the member certainly owns its tasks, by the requests that its coordinator has accepted.

    A request counts from the time at which it was sent: the answer may have waited in a suspended process, and the
    broker starts its session timer at the earliest when the request is sent. Ownership is *in doubt* when no request of
    the last session timeout was accepted. A member that rejoins, or that the group has removed, is not in doubt: it
    owns nothing that may be read.

    Times are in seconds of ``clock``. `begin`, `confirm` and `suspend` may be called on another thread.
    """

    def __init__(self, clock: Callable[[], float] = now) -> None:
        self.timeout_seconds = float("inf")
        """The session timeout; set when the consumer is known."""
        self._clock = clock
        self._confirmed_at: float | None = None
        self._certain_until = float("-inf")
        self._doubt_began: float | None = None

    def now(self) -> float:
        """Return the time that `begin` and `confirm` take."""
        return self._clock()

    def begin(self, sent_at: float) -> None:
        """The member has joined; its SyncGroup request was sent at that time."""
        self._certain_until, self._confirmed_at = sent_at + self.timeout_seconds, sent_at

    def confirm(self, sent_at: float) -> None:
        """The coordinator has accepted a heartbeat that was sent at that time; ignored while the member rejoins."""
        if self._confirmed_at is not None and sent_at > self._confirmed_at:
            self.begin(sent_at)

    def suspend(self) -> None:
        """The member rejoins, or the group has removed it: nothing may be read until the next `begin`."""
        self._confirmed_at, self._certain_until = None, float("-inf")

    def is_certain(self) -> bool:
        """Whether the member has joined and ownership is not in doubt: only then may records be delivered."""
        return self._clock() <= self._certain_until  # called for every record

    @property
    def in_doubt(self) -> bool:
        """Whether the member has joined and its ownership is in doubt."""
        return self._confirmed_at is not None and not self.is_certain()

    def excessive_doubt(self) -> FatalError | None:
        """Return the error of a doubt that lasts longer than twice the session timeout, otherwise None.

        The doubt begins when it is first observed here, so a process that was suspended gets the time to ask.
        """
        if not self.in_doubt:
            self._doubt_began = None
            return None
        now = self._clock()
        if self._doubt_began is None:
            self._doubt_began = now
        if now - self._doubt_began <= MAX_DOUBT_SESSIONS * self.timeout_seconds:
            return None
        return FatalError(
            f"the group coordinator has accepted no heartbeat for more than {MAX_DOUBT_SESSIONS + 1} session timeouts "
            f"of {self.timeout_seconds:g} s, so other members may own the tasks of this member; check the connection "
            "to the brokers, and start the process again",
            "TimeoutException",
            code=IN_DOUBT,
        )


def fenced(instance_id: str | None) -> FatalError:
    """Return the error of a static member whose ``group.instance.id`` another member has taken."""
    return FatalError(
        f"another member has joined the group with group.instance.id {instance_id!r}, so this one is fenced and its "
        "tasks are lost; give each process its own id, and do not start this one again while the other runs",
        "FencedInstanceIdException",
    )
