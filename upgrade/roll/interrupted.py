"""A roll of a group whose upgrade has begun, and was not finished: where it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from attrs import frozen

from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.releases import Release
from streams_assignor.upgrade.roll.gates import shortened
from streams_assignor.upgrade.roll.group import judge_member
from streams_assignor.upgrade.roll.group_observation import MemberSeen
from streams_assignor.upgrade.roll.plan import InstanceConfig, RollRound, RoundAction


@frozen
class InterruptedUpgrade:
    """The rest of an upgrade."""

    rounds: tuple[RollRound, ...]
    """From the first one that may not be finished."""
    bounced: tuple[str, ...] = ()
    """The instances that are not what they were before that round."""
    begun: int = 0
    """How many of the rounds may have begun."""


def interrupted(rounds: Sequence[RollRound], members: Sequence[MemberSeen]) -> InterruptedUpgrade:
    """Return what is left of an upgrade.

    Metadata does not show whether a member has ``upgrade.from``, and with which value. So the first round counts that
    can have led to the releases of all members, and all instances are restarted in it. The way back begins at the last
    one that can have: no round begins before all members have made the one before.

    Args:
        rounds: Those of the whole plan.
        members: The members of the group.

    Raises:
        UpgradeError: No round can have led to the releases that the members run.
    """
    for number, roll_round in enumerate(rounds):
        if roll_round.action is RoundAction.START:
            continue  # one begins with the round that stops all
        ends = rounds[number + 1] if roll_round.action is RoundAction.STOP else roll_round
        before, after = roll_round.before.resolved.release, ends.config.resolved.release
        if all(_can_be_one(member, before, after) for member in members):
            left = tuple(rounds[number:])
            bounced = tuple(dict.fromkeys(each.instance for each in members if not _can_be_one(each, before)))
            return InterruptedUpgrade(left, bounced, _begun(left, members) if bounced else 0)
    shown = sorted(f"{member.label or member.member_id} with {member.releases}" for member in members)
    raise UpgradeError(
        f"expected members between two releases of the plan that follow each other, got {shortened(shown)}: bounce "
        "those that are behind first"
    )


def may_be_over(rounds: Sequence[RollRound], members: Sequence[MemberSeen]) -> bool:
    """Whether each member can be what the last round makes it, and some cannot be what they were before the first."""
    return _all_can_be(members, rounds[-1].config) and not _all_can_be(members, rounds[0].before)


def is_over(rounds: Sequence[RollRound], members: Sequence[MemberSeen]) -> bool:
    """Whether each member can be what the last round makes it, and nothing that it was on the way there."""
    end = rounds[-1].config
    on_the_way = {config for each in rounds for config in (each.before, each.config)} - {end}
    can_be_else = any(_all_can_be([member], config) for member in members for config in on_the_way)
    return _all_can_be(members, end) and not can_be_else


def _all_can_be(members: Sequence[MemberSeen], config: InstanceConfig) -> bool:
    return bool(members) and all(judge_member(member, config, config) is None for member in members)


def _begun(rounds: Sequence[RollRound], members: Sequence[MemberSeen]) -> int:
    """Return how many rounds members may have begun of which some have begun the first."""
    if rounds[0].action is RoundAction.STOP:
        return 2
    finished = takewhile(
        lambda each: all(_can_be_one(member, each.config.resolved.release) for member in members), rounds
    )
    return max(1, len(tuple(finished)))


def _can_be_one(member: MemberSeen, *releases: Release) -> bool:
    # Of one that shows nothing, or what cannot be read, the gates say what it is.
    shows_nothing = not member.candidates.releases
    return shows_nothing or any(member.candidates.can_be(release) for release in releases)
