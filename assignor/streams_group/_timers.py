"""When a heartbeat is due, and when a group has waited too long for its source topics; times are arguments."""

from __future__ import annotations

from typing import Final

from attrs import evolve, frozen

from streams_assignor.streams_group._member import StreamsGroupMember
from streams_assignor.streams_group.model import MemberFailure, StatusReaction
from streams_assignor.streams_group.rules import status_rule

RETRY_BACKOFF_MS: Final = 100
RETRY_BACKOFF_MAX_MS: Final = 1_000
"""Kafka's defaults of ``retry.backoff.ms`` and ``retry.backoff.max.ms``."""

_TOPICS_WAIT_INTERVALS: Final = 2


@frozen
class HeartbeatTimer:
    """The times of the heartbeats of one member, in milliseconds of any clock.

    Java: ``HeartbeatRequestState``, without its jitter. Unlike there, a member that joins waits after a failure too.
    """

    interval_ms: int = 0
    """As in the last answer of the coordinator."""
    interval_ends_ms: int = 0
    backoff_ends_ms: int = 0
    failures: int = 0
    """Since the last answer without an error."""
    retry_backoff_ms: int = RETRY_BACKOFF_MS

    def due_at_ms(self, member: StreamsGroupMember) -> int | None:
        """Return when the next heartbeat is to be sent; None as long as nothing happens to the member."""
        if not member.sends_heartbeats:
            return None
        return self.backoff_ends_ms if member.heartbeat_is_urgent else max(self.interval_ends_ms, self.backoff_ends_ms)

    def on_sent(self, now_ms: int) -> HeartbeatTimer:
        """Return the timer after a heartbeat was sent."""
        return evolve(self, interval_ends_ms=now_ms + self.interval_ms)

    def on_answered(self, sent_ms: int, interval_ms: int) -> HeartbeatTimer:
        """The heartbeat sent at that time was answered without an error."""
        return evolve(
            self, interval_ms=interval_ms, interval_ends_ms=sent_ms + interval_ms, backoff_ends_ms=0, failures=0
        )

    def on_failed(self, now_ms: int) -> HeartbeatTimer:
        """A heartbeat had no answer or an error: the next one follows after a backoff."""
        backoff = min(self.retry_backoff_ms << min(self.failures, 10), RETRY_BACKOFF_MAX_MS)
        return evolve(self, interval_ends_ms=0, backoff_ends_ms=now_ms + backoff, failures=self.failures + 1)

    def on_removed(self) -> HeartbeatTimer:
        """The failed heartbeat says that the member was removed: it rejoins at once, unless that has not helped."""
        return self.without_backoff() if self.failures == 1 else self

    def without_backoff(self) -> HeartbeatTimer:
        """The reason of the failure is gone: the member rejoins, or another coordinator is known."""
        return evolve(self, interval_ends_ms=0, backoff_ends_ms=0)


@frozen
class StatusTimer:
    """How long the statuses of a group have prevented its members from working. Java: ``StreamThread``."""

    missing_since_ms: int | None = None
    """Since when source topics are missing; None if none are."""

    def check(
        self, member: StreamsGroupMember, now_ms: int, interval_ms: int
    ) -> tuple[StatusTimer, MemberFailure | None]:
        """Return the failure that the statuses of a member cause at this time, if any."""
        missing = None
        for status in member.statuses:
            rule = status_rule(status.code)
            if rule.reaction is StatusReaction.FAIL:
                return self, MemberFailure(rule.java_exception, f"{rule.name}: {status.detail}")
            if rule.reaction is StatusReaction.FAIL_LATER:
                missing = MemberFailure(rule.java_exception, f"{rule.name}: {status.detail}")
        if missing is None:
            return StatusTimer(), None
        since = now_ms if self.missing_since_ms is None else self.missing_since_ms
        return StatusTimer(since), missing if now_ms - since >= _TOPICS_WAIT_INTERVALS * interval_ms else None
