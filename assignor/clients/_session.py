"""The session of one member: whether the group may have removed it without its knowledge.

The broker removes a member that it has not heard from for a session timeout. A member that was suspended (SIGSTOP, a
sleeping laptop) or cut off cannot know whether that has happened. `Session` says so at once, on the thread that reads,
because after a pause that thread may run before the one that talks to the broker.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from streams_assignor.errors import FatalError

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
    the last session timeout was accepted. A member that owns nothing, or that the group has removed, is not in doubt:
    there is nothing that may be read.

    Times are in seconds of ``clock``. The other methods than the questions may be called on another thread.
    """

    def __init__(self, clock: Callable[[], float] = now) -> None:
        self.timeout_seconds = math.inf
        """The session timeout; set when the consumer is known."""
        self.certain_until = -math.inf
        """Records may be delivered up to this time; it is in the past while the member owns nothing."""
        self._clock = clock
        self._confirmed_at: float | None = None
        self._ended = False
        self._doubt = (-math.inf, -math.inf)  # the last doubt that was observed: its `certain_until`, and when

    def now(self) -> float:
        """Return the time that `begin` and `confirm` take."""
        return self._clock()

    # -- what happens to the member -----------------------------------------------------------------------------------

    def begin(self, sent_at: float) -> None:
        """The member has joined; its SyncGroup request was sent at that time."""
        if not self._ended:
            self._confirmed_at = sent_at
            self._prolong(sent_at)

    def confirm(self, sent_at: float) -> None:
        """The coordinator has accepted a heartbeat that was sent at that time; ignored after `suspend`."""
        if self._confirmed_at is not None and sent_at > self._confirmed_at:
            self.begin(sent_at)

    def await_join(self) -> None:
        """The member rejoins and keeps its tasks meanwhile; to be called more often than once per session timeout.

        It sends no heartbeat, and the coordinator waits for it. So time passes only if this process was suspended: then
        the answer to the join may wait in the socket, and only a request that is sent after it proves something.
        """
        if self.is_certain():
            self._prolong(self._clock())

    def suspend(self) -> None:
        """The member gives up its tasks, or the group has removed it: nothing may be read until the next `begin`."""
        self._confirmed_at, self.certain_until = None, -math.inf

    def end(self) -> None:
        """Another member has the same identity: nothing may be read any more."""
        self._ended = True
        self.suspend()

    def _prolong(self, proven_at: float) -> None:
        self.certain_until = max(self.certain_until, proven_at + self.timeout_seconds)

    # -- questions ----------------------------------------------------------------------------------------------------

    def is_certain(self) -> bool:
        """Whether the member has joined and ownership is not in doubt: only then may records be delivered."""
        return self._clock() <= self.certain_until  # called for every record

    @property
    def in_doubt(self) -> bool:
        """Whether the member has joined and its ownership is in doubt."""
        return self._confirmed_at is not None and not self.is_certain()

    def doubt_is_excessive(self) -> bool:
        """Whether the doubt lasts longer than twice the session timeout.

        It begins when it is first observed here, so a process that was suspended gets the time to ask.
        """
        if not self.in_doubt:
            return False
        now, until = self._clock(), self.certain_until
        if until != self._doubt[0]:
            self._doubt = until, now
        return now - self._doubt[1] > MAX_DOUBT_SESSIONS * self.timeout_seconds


def excessive_doubt(timeout_seconds: float) -> FatalError:
    """Return the error of a member whose ownership was in doubt for too long."""
    return FatalError(
        f"the group coordinator has accepted no heartbeat for more than {MAX_DOUBT_SESSIONS + 1} session timeouts of "
        f"{timeout_seconds:g} s, so other members may own the tasks of this member; check the connection to the "
        "brokers, and start the process again",
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
