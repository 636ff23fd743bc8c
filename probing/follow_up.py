"""Schedules the follow-up rebalance of a member. Up to 2.5 only a changed version causes one.

Java: ``StreamsPartitionAssignor.maybeScheduleFollowupRebalance``; ``StreamThread`` rejoins at that time.
"""

from __future__ import annotations

import enum
from typing import Final

from attrs import field, frozen

from streams_assignor.codec.records import IMMEDIATELY, NO_FOLLOW_UP
from streams_assignor.probing.rules import MemberRules


class FollowUpReason(enum.Enum):
    """Why a member schedules a follow-up rebalance, in the order of precedence."""

    VERSION = "its used version has changed"
    END_POINT = "the group does not know its end point"
    WITHHELD = "it waits for a task that the current owner must revoke first (KIP-429)"
    PROBING = "the leader wants to see then whether warm-ups have caught up (KIP-441)"


@frozen
class FollowUp:
    """The time and the reason of a follow-up rebalance."""

    at_ms: int = NO_FOLLOW_UP
    """Milliseconds since 1970, ``IMMEDIATELY`` or ``NO_FOLLOW_UP``."""
    reason: FollowUpReason | None = None
    """Why the member asks for a follow-up rebalance; None if it does not."""


def schedule_follow_up(
    rules: MemberRules, *, version_changed: bool, end_point_missing: bool = False, next_rebalance_ms: int = NO_FOLLOW_UP
) -> FollowUp:
    """Return the follow-up rebalance of a member that follows ``rules``.

    Args:
        rules: The member half of a rule set.
        version_changed: The assignment has changed the member's used version. Up to 2.5 the member rejoins at once.
        end_point_missing: The member has an end point, and the assignment has hosts, but not that one.
        next_rebalance_ms: The time in the assignment (version 7 and later).

    >>> from streams_assignor.probing.rules import CURRENT
    >>> schedule_follow_up(CURRENT.member, version_changed=False, next_rebalance_ms=IMMEDIATELY).reason.name
    'WITHHELD'
    """
    if version_changed:
        return FollowUp(IMMEDIATELY, FollowUpReason.VERSION)
    if not rules.schedules_follow_up:
        return FollowUp()
    if end_point_missing:
        return FollowUp(IMMEDIATELY, FollowUpReason.END_POINT)
    if next_rebalance_ms == IMMEDIATELY:
        return FollowUp(IMMEDIATELY, FollowUpReason.WITHHELD)
    return FollowUp(next_rebalance_ms, FollowUpReason.PROBING) if next_rebalance_ms < NO_FOLLOW_UP else FollowUp()


MAX_REPEATS: Final = 3
"""So many rejoins in a row for the same reason, to the same effect, come at once; the next ones wait."""
FIRST_WAIT_SECONDS: Final = 1.0
MAX_WAIT_SECONDS: Final = 600.0
"""Kafka's default of ``probing.rebalance.interval.ms``: the time between two rebalances that may be in vain."""
_REMEMBERED: Final = 8


@frozen
class RejoinHistory:
    """The rejoins that a member has asked for in a row for one reason, to bound those that change nothing.

    Two members that understand each other differently, or a clock that is wrong, would make the group rebalance without
    end: Kafka's members have no such bound.
    """

    reason: enum.Enum | None = None
    seen: tuple[object, ...] = field(default=(), repr=False)
    """The tasks of the member when it asked: the last ones."""
    repeats: int = 0
    """The rejoins in a row after which the member had what it had had before."""

    def after(self, reason: enum.Enum, current: object) -> RejoinHistory:
        """Return the history once the member asks again; ``current`` stands for what it has now.

        >>> from streams_assignor.probing import FollowUpReason
        >>> history = RejoinHistory()
        >>> for _ in range(5):
        ...     history = history.after(FollowUpReason.END_POINT, "the same assignment")
        >>> history.repeats, history.wait_seconds
        (4, 2.0)
        """
        seen = self.seen if reason is self.reason else ()
        repeats = self.repeats + 1 if current in seen else 0
        return RejoinHistory(
            reason, (*(earlier for earlier in seen if earlier != current), current)[-_REMEMBERED:], repeats
        )

    @property
    def wait_seconds(self) -> float:
        """How long the member waits before it rejoins: twice as long each time."""
        in_vain = self.repeats - MAX_REPEATS
        return 0.0 if in_vain < 0 else min(FIRST_WAIT_SECONDS * 2.0 ** min(in_vain, 32), MAX_WAIT_SECONDS)
