"""When a member asks for the next rebalance, and why: one mechanism since 2.6, before that only a changed version.

Java: ``StreamsPartitionAssignor.maybeScheduleFollowupRebalance``; ``StreamThread`` rejoins when the time has come.
"""

from __future__ import annotations

import enum
from typing import Final

from attrs import frozen

from probing.rules import MemberRules

NOW: Final = 0
NEVER: Final = 2**63 - 1
"""``Long.MAX_VALUE``, which also stands in assignments that ask for nothing."""


class Reason(enum.Enum):
    """Why a member asks for another rebalance; the first that holds counts."""

    VERSION = "the version that it sends has changed"
    END_POINT = "the group does not know its end point"
    WITHHELD = "it waits for a task that its owner has to give up first (KIP-429)"
    PROBING = "the leader wants to see then whether warm-ups have caught up (KIP-441)"


@frozen
class FollowUp:
    """When (milliseconds since 1970, ``NOW`` or ``NEVER``) and why (None: no other rebalance)."""

    at_ms: int = NEVER
    reason: Reason | None = None


def follow_up(
    rules: MemberRules, *, version_changed: bool, end_point_missing: bool = False, encoded_ms: int = NEVER
) -> FollowUp:
    """Say when a member that follows ``rules`` asks for the next rebalance.

    ``end_point_missing``: it has one, and the assignment names hosts, but not that one. ``encoded_ms`` is what the
    assignment says (version 7 and later). A changed version needs no time table before 2.6: the member rejoins at once.

    >>> from probing.rules import TODAY
    >>> follow_up(TODAY.member, version_changed=False, encoded_ms=NOW).reason.name
    'WITHHELD'
    """
    if version_changed:
        return FollowUp(NOW, Reason.VERSION)
    if not rules.follows_up:
        return FollowUp()
    if end_point_missing:
        return FollowUp(NOW, Reason.END_POINT)
    if encoded_ms == NOW:
        return FollowUp(NOW, Reason.WITHHELD)
    return FollowUp(encoded_ms, Reason.PROBING) if encoded_ms < NEVER else FollowUp()
