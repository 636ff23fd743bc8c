"""KIP-268's test matrix: 28 cells, and the plans that are tried in each.

A plan is a list of rounds; in a round every member is stopped and started once, with a release and an ``upgrade.from``.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Final

from attrs import field, frozen

from upgrade.releases import Release, release_named

FROM_LINES: Final = ("0.10.0", "0.10.1", "0.10.2", "0.11.0", "1.0", "1.1", "2.0")
TO_LINES: Final = ("0.10.1", "0.10.2", "0.11.0", "1.0", "1.1", "2.0", "simulated-4")
KAFKA_8649_RULES: Final = "g2"
"""The rules of the releases whose leaders answer with their own version, whoever is in the group."""

AS_THE_KIP_DESIGNED: Final = {"0.10.1": "0.10.1.2"}
"""The KIP counts on a fixed 0.10.1, which was never released; the cells that lead to it are judged with the fix."""


class Plan(enum.Enum):
    """How a group is brought to another release."""

    ONE_BOUNCE = "one_bounce"
    TWO_BOUNCES = "two_bounces"
    OFFLINE = "offline"


@frozen
class Round:
    """One pass over all members: what each is started as."""

    release: Release
    upgrade_from: str | None = None


@frozen
class Upgrade:
    """One plan for one pair of releases: the subject of a verdict.

    ``called`` is what the user called the two; without it a release goes by its line, as in the KIP.
    """

    origin: Release
    target: Release
    plan: Plan
    upgrade_from: str | None = None
    called: tuple[str, str] | None = field(default=None, eq=False)

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The rounds of the plan; an offline upgrade is one round that starts only after everybody has stopped."""
        first = Round(self.target, self.upgrade_from)
        return (first, Round(self.target)) if self.plan is Plan.TWO_BOUNCES else (first,)

    @property
    def names(self) -> tuple[str, str]:
        """What the two releases are called."""
        return self.called or (_line(self.origin), _line(self.target))

    @property
    def documented(self) -> bool:
        """Whether this is what KIP-268 tells a user to do."""
        plan = documented_plan(self.origin, self.target)
        return self.plan is plan and self.upgrade_from == upgrade_from_value(self.origin, self.target)


def documented_plan(origin: Release, target: Release) -> Plan:
    """Return the advice for a pair of releases.

    KIP-268: one bounce where members can be probed, two with ``upgrade.from`` where they cannot. What it leaves open is
    offline: a target that does not accept the value (KAFKA-6054), and going back to members that cannot be probed or
    from leaders that push them too far (KAFKA-8649).
    """
    if origin.latest_version == target.latest_version:
        return Plan.ONE_BOUNCE
    if origin.latest_version > target.latest_version:
        return Plan.ONE_BOUNCE if target.can_be_probed and origin.rules != KAFKA_8649_RULES else Plan.OFFLINE
    if origin.can_be_probed:
        return Plan.ONE_BOUNCE
    return Plan.TWO_BOUNCES if origin.line in target.upgrade_from else Plan.OFFLINE


def upgrade_from_value(origin: Release, target: Release) -> str | None:
    """Return the ``upgrade.from`` that the first of two bounces needs; None where it is not two bounces.

    >>> upgrade_from_value(release_named("0.10.0"), release_named("1.1"))
    '0.10.0'
    """
    return origin.line if documented_plan(origin, target) is Plan.TWO_BOUNCES else None


def cells() -> Iterator[tuple[Release, Release]]:
    """Yield the 28 cells of the matrix, a line standing for its newest release (as a target, 0.10.1 for the fix)."""
    for row, origin in enumerate(FROM_LINES):
        for target in TO_LINES[row:]:
            yield release_named(origin), release_named(AS_THE_KIP_DESIGNED.get(target, target))


def plans(origin: Release, target: Release) -> tuple[Upgrade, ...]:
    """List what is tried in a cell: one bounce without any config, two bounces with the right one, and offline."""
    value = upgrade_from_value(origin, target)
    return (
        Upgrade(origin, target, Plan.ONE_BOUNCE),
        Upgrade(origin, target, Plan.TWO_BOUNCES, value),
        Upgrade(origin, target, Plan.OFFLINE),
    )


def _line(release: Release) -> str:
    promised = {name: line for line, name in AS_THE_KIP_DESIGNED.items()}
    return promised.get(release.name, release.line)


def kip_268() -> tuple[Upgrade, ...]:
    """List all 84 upgrades of the matrix."""
    return tuple(upgrade for origin, target in cells() for upgrade in plans(origin, target))
