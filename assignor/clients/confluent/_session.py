"""How long a member certainly owns its tasks.

The broker removes a member that it has not heard from for a session timeout. A member that was suspended (SIGSTOP, a
sleeping laptop) or cut off cannot know whether that has happened. `Session` says so at once, on the user's thread,
because after a pause that thread may run before the one that talks to the broker.
"""

from __future__ import annotations

import math
from typing import Final

from assignor.clients._session import MAX_DOUBT_SESSIONS, now


class Session:
    """The time until which this member owns its tasks, whatever the rest of the group does.

    Proofs are a heartbeat that the broker has answered, which counts from when it was sent, and an assignment. While a
    join is under way no heartbeat is sent, and the broker waits for the member; so time passes only if this process was
    suspended.

    `expires_at` is read by the user's thread; the methods are called on the I/O thread.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds: Final = seconds
        """The session timeout."""
        self.expires_at = math.inf
        """When ownership becomes doubtful, in seconds of `now`; infinite while the member owns nothing."""
        self._heartbeat_sent_at = -math.inf
        self._ticked_at = now()
        self._join_is_proof = True
        self._fenced = False

    @property
    def in_doubt(self) -> bool:
        """Whether other members may own the tasks."""
        return now() >= self.expires_at

    @property
    def in_long_doubt(self) -> bool:
        """Whether that has lasted for longer than twice the session timeout."""
        return not self._fenced and now() > self.expires_at + MAX_DOUBT_SESSIONS * self.seconds

    def tick(self, *, joining: bool) -> None:
        """Notice the passing of time; to be called much more often than once per session timeout."""
        last, self._ticked_at = self._ticked_at, now()
        if self._ticked_at - last > self.seconds:
            self._join_is_proof = False
        elif joining and not self.in_doubt:
            self._prolong(self._ticked_at)

    def heartbeat_sent(self) -> None:
        """Note the time that the answer will prove something about."""
        self._heartbeat_sent_at = now()

    def heartbeat_answered(self) -> None:
        """Take the answer as a proof."""
        self._prolong(self._heartbeat_sent_at)

    def join_began(self, *, lost: bool) -> None:
        """Start a join; ``lost``: the member owns nothing any more."""
        self.tick(joining=False)
        self._join_is_proof = True
        if lost and not self._fenced:
            self.expires_at = math.inf

    def assigned(self) -> None:
        """Take the assignment as a proof, unless this process was suspended during the join."""
        self.tick(joining=False)
        if self.expires_at == math.inf:
            self.expires_at = self._ticked_at
        if self._join_is_proof:
            self._prolong(self._ticked_at)

    def fence(self) -> None:
        """End the session: another member has the same identity."""
        self._fenced = True
        self.expires_at = -math.inf

    def _prolong(self, proven_at: float) -> None:
        if not self._fenced and self.expires_at != math.inf:
            self.expires_at = max(self.expires_at, proven_at + self.seconds)
