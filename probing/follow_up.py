"""Schedules the follow-up rebalance of a member. Up to 2.5 only a changed version causes one.

Java: ``StreamsPartitionAssignor.maybeScheduleFollowupRebalance``; ``StreamThread`` rejoins at that time.
"""

from __future__ import annotations

import enum

from attrs import frozen

from probing.rules import MemberRules
from subscription_codec.records import IMMEDIATELY, NO_FOLLOW_UP


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
    """None: no follow-up rebalance."""


def schedule_follow_up(
    rules: MemberRules, *, version_changed: bool, end_point_missing: bool = False, next_rebalance_ms: int = NO_FOLLOW_UP
) -> FollowUp:
    """Return the follow-up rebalance of a member that follows ``rules``.

    Args:
        rules: The member half of a rule set.
        version_changed: The assignment has changed the member's used version. Up to 2.5 the member rejoins at once.
        end_point_missing: The member has an end point, and the assignment has hosts, but not that one.
        next_rebalance_ms: The time in the assignment (version 7 and later).

    >>> from probing.rules import CURRENT
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
