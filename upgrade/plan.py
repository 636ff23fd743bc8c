"""The advice for a person: which steps, in which order, what each is good for, and what is lost by skipping it.

Sources: KIP-268, KIP-429, KIP-904, and the upgrade guides of the releases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

from attrs import asdict, frozen

from upgrade.errors import UpgradeError
from upgrade.matrix import (
    FORMATS,
    Obstacle,
    Plan,
    Upgrade,
    behind_and_ahead,
    bridge_between,
    documented_plan,
    goes_back,
    obstacles,
    upgrade_from_value,
)
from upgrade.plan_notes import notes
from upgrade.releases import Release


@frozen
class Step:
    """One thing to do, why, and what happens to someone who skips it."""

    do: str
    why: str
    if_skipped: str


@frozen
class Advice:
    """The way from ``origin`` to ``target``: ``plan``, the ``upgrade.from`` it needs, its steps and warnings.

    ``via`` are the releases it leads through, if any; ``plan`` and ``upgrade_from`` are then those of the part that
    needs a configuration.
    """

    origin: str
    target: str
    plan: Plan
    upgrade_from: str | None
    steps: tuple[Step, ...]
    warnings: tuple[str, ...] = ()
    via: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return plain values in the names of ``matrix.json``; ``via`` only if it leads through other releases."""
        plain = asdict(self)
        plain |= {"plan": self.plan.value}
        return {"from": plain.pop("origin"), "to": plain.pop("target")} | {
            name: value for name, value in plain.items() if name != "via" or value
        }


def advise(origin: Release, target: Release, *, offline: bool = False) -> Advice:
    """Return the documented way from one release to the other, or the way with everything stopped in between.

    "An 'offline upgrade' is also possible" (KIP-268), always. ``UpgradeError`` if there is nothing to do.

    >>> from upgrade.releases import release_named
    >>> [step.do for step in advise(release_named("2.0.1"), release_named("simulated-4")).steps]
    ['bounce every member to simulated-4, one by one']
    >>> advise(release_named("2.3.1"), release_named("4.3.1")).via
    ('3.9.2',)
    """
    hops = hops_between(origin, target, offline=offline)
    values = [hop.upgrade_from for hop in hops if hop.upgrade_from]
    return Advice(
        origin.name,
        target.name,
        Plan.TWO_BOUNCES if values else hops[0].plan,
        values[0] if values else None,
        tuple(step for hop in hops for step in _STEPS[hop.plan](hop.origin, hop.target)),
        tuple(dict.fromkeys(text for hop in hops for text in notes(hop.origin, hop.target, hop.plan))),
        tuple(hop.target.name for hop in hops[:-1]),
    )


def hops_between(origin: Release, target: Release, *, offline: bool = False) -> tuple[Upgrade, ...]:
    """Return the documented way as upgrades, one after the other; ``UpgradeError`` if there is nothing to do.

    >>> from upgrade.releases import release_named
    >>> [str(hop.target) for hop in hops_between(release_named("2.3.1"), release_named("4.3.1"))]
    ['3.9.2', '4.3.1']
    """
    if origin == target:
        raise UpgradeError(f"{origin} is already {target}: nothing to do")
    if offline:
        return (Upgrade(origin, target, Plan.OFFLINE),)
    bridge = bridge_between(origin, target)
    hops = pairwise([origin, *([bridge] if bridge else []), target])
    return tuple(Upgrade(*hop, documented_plan(*hop), upgrade_from_value(*hop)) for hop in hops)


def _one_bounce(origin: Release, target: Release) -> Iterator[Step]:
    if origin.latest_version == target.latest_version:
        why = f"both speak metadata version {origin.latest_version}, so any leader reads any member"
        skipped = f"the member that is left stays on {origin}; the others do not mind"
    else:
        why = "a leader that does not know a version answers with its own, and the member comes down to it and rejoins"
        skipped = "the member that is left keeps the whole group on the lower version"
    yield Step(f"bounce every member to {target}, one by one", why, skipped)


_HELD_BACK: Final[Mapping[Obstacle, str]] = {
    Obstacle.VERSION: "they still send version {old}, the newest that a leader of {behind} can read",
    Obstacle.PROTOCOL: "they still give up all partitions before they rejoin (eager), as members of {behind} do",
    Obstacle.FOREIGN_KEY_JOINS: "foreign-key joins write what {behind} can read",
    Obstacle.REPARTITIONING: "repartition topics get updates of tables that {behind} can read",
}
_NOT_HELD_BACK: Final[Mapping[Obstacle, str]] = {
    Obstacle.VERSION: 'a leader of {behind} dies of the first version {new} it reads (TaskAssignmentException "unable '
    'to decode subscription data: version={new}")',
    Obstacle.PROTOCOL: "a leader of {behind} gives away partitions that a member of {ahead} keeps, so tasks have two "
    "owners and records can be counted twice",
    Obstacle.FOREIGN_KEY_JOINS: "members of {behind} die of records of foreign-key joins (UnsupportedVersionException)",
    Obstacle.REPARTITIONING: "members of {behind} misread updates of tables",
}
_SET_FREE: Final[Mapping[Obstacle, str]] = {
    Obstacle.VERSION: "now every leader knows version {new}; it answers version {old} as long as one member sends it",
    Obstacle.PROTOCOL: "now every leader lets members keep what they own (cooperative)",
    Obstacle.FOREIGN_KEY_JOINS: "now everybody reads the new records",
    Obstacle.REPARTITIONING: "now everybody reads the new records",
}
_LEFT_SO: Final[Mapping[Obstacle, str]] = {
    Obstacle.VERSION: "the group stays on version {old} for ever",
    Obstacle.PROTOCOL: "every rebalance stops the whole group for ever (eager)",
    Obstacle.FOREIGN_KEY_JOINS: "the records stay as they were",
    Obstacle.REPARTITIONING: "the records stay as they were",
}


def _two_bounces(origin: Release, target: Release) -> Iterator[Step]:
    behind, ahead = behind_and_ahead(origin, target)
    found = obstacles(origin, target)
    value = upgrade_from_value(origin, target)

    def told(texts: Mapping[Obstacle, str]) -> str:
        facts = {"behind": behind, "ahead": ahead, "old": behind.latest_version, "new": ahead.latest_version}
        return "; ".join(dict.fromkeys(texts[obstacle].format(**facts) for obstacle in found))

    if goes_back(origin, target):
        drained = ", then wait until the records written before are processed" * bool(FORMATS.keys() & set(found))
        yield Step(
            f'bounce every member with upgrade.from="{value}", still as {origin}, one by one{drained}',
            f"with it {told(_HELD_BACK)}",
            told(_NOT_HELD_BACK),
        )
        yield Step(
            f"remove upgrade.from and bounce every member to {target}, one by one",
            f"now {origin} does nothing that {target} does not know",
            f"the member that is left stays on {origin}; the others do not mind",
        )
        return
    yield Step(
        f'bounce every member to {target} with upgrade.from="{value}", one by one',
        f"with it {told(_HELD_BACK)}",
        told(_NOT_HELD_BACK),
    )
    yield Step("remove upgrade.from and bounce every member again, one by one", told(_SET_FREE), told(_LEFT_SO))


def _offline(origin: Release, target: Release) -> Iterator[Step]:
    yield Step(
        f"stop every member of {origin}, and wait until the group is empty",
        f"then no member of {origin} meets one of {target}, whatever they make of each other",
        "whoever is left is in one group with the new members, as in a rolling bounce without a plan",
    )
    yield Step(f"start every member as {target}", "the group begins anew with one version", "nothing is processed")


_STEPS: Final = {Plan.ONE_BOUNCE: _one_bounce, Plan.TWO_BOUNCES: _two_bounces, Plan.OFFLINE: _offline}
