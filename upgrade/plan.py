"""The advice for a person: which steps, in which order, and what each step is good for. Source: KIP-268."""

from __future__ import annotations

from typing import Any

from attrs import asdict, frozen

from upgrade.errors import UpgradeError
from upgrade.matrix import Plan, documented_plan, upgrade_from_value
from upgrade.releases import NEWEST_OF_LINE, Release


@frozen
class Step:
    """One thing to do, why, and what happens to someone who skips it."""

    do: str
    why: str
    if_skipped: str


@frozen
class Advice:
    """The way from ``origin`` to ``target``: ``plan``, the ``upgrade.from`` it needs, its steps and warnings."""

    origin: str
    target: str
    plan: Plan
    upgrade_from: str | None
    steps: tuple[Step, ...]
    warnings: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return plain values in the names of ``matrix.json``."""
        plain = asdict(self)
        return {"from": plain.pop("origin"), "to": plain.pop("target"), **plain, "plan": self.plan.value}


def advise(origin: Release, target: Release) -> Advice:
    """Return the documented way from one release to the other; ``UpgradeError`` if there is nothing to do.

    >>> [step.do for step in advise(NEWEST_OF_LINE["2.0"], NEWEST_OF_LINE["simulated-4"]).steps]
    ['bounce every member to simulated-4, one by one']
    """
    if origin == target:
        raise UpgradeError(f"{origin} is already {target}: nothing to do")
    plan, value = documented_plan(origin, target), upgrade_from_value(origin, target)
    if target.number < origin.number and not target.can_be_probed and origin.latest_version > target.latest_version:
        plan = Plan.OFFLINE
    if plan is Plan.TWO_BOUNCES and value is None:
        plan = Plan.OFFLINE
    steps = {
        Plan.ONE_BOUNCE: _one_bounce,
        Plan.TWO_BOUNCES: _two_bounces,
        Plan.OFFLINE: _offline,
    }[plan](origin, target)
    value = value if plan is Plan.TWO_BOUNCES else None
    return Advice(origin.name, target.name, plan, value, steps, tuple(_warnings(origin, target, plan)))


def _one_bounce(origin: Release, target: Release) -> tuple[Step, ...]:
    if origin.latest_version == target.latest_version:
        why = f"both speak metadata version {origin.latest_version}, so any leader reads any member"
    else:
        why = "a leader that does not know a version answers with its own, and the member comes down to it and rejoins"
    skipped = "the member that is left keeps the whole group on its version"
    return (Step(f"bounce every member to {target}, one by one", why, skipped),)


def _two_bounces(origin: Release, target: Release) -> tuple[Step, ...]:
    version, value = origin.latest_version, origin.line
    return (
        Step(
            f'bounce every member to {target} with upgrade.from="{value}", one by one',
            f"with it they still send version {version}, the newest that a leader of {origin} can read",
            f"a leader of {origin} dies of the first version {target.latest_version} it reads "
            f'(TaskAssignmentException "unable to decode subscription data: version={target.latest_version}")',
        ),
        Step(
            "remove upgrade.from and bounce every member again, one by one",
            f"now every leader knows version {target.latest_version}; it answers version {version} as long as one "
            "member sends it",
            f"the group stays on version {version} for ever",
        ),
    )


def _offline(origin: Release, target: Release) -> tuple[Step, ...]:
    return (
        Step(
            f"stop every member of {origin}, and wait until the group is empty",
            f"members of {origin} and of {target} cannot be in one group",
            "whoever is left dies, or makes the others die, at the next rebalance",
        ),
        Step(f"start every member as {target}", "the group begins anew with one version", "nothing is processed"),
    )


def _warnings(origin: Release, target: Release, plan: Plan) -> list[str]:
    found = [f"{release}: {release.note}" for release in (origin, target) if release.note]
    if plan is Plan.OFFLINE and target.number > origin.number:
        fixed = NEWEST_OF_LINE[target.line]
        way = f"; {fixed} accepts it" if origin.line in fixed.upgrade_from else ""
        found.append(f'{target} does not accept upgrade.from="{origin.line}" (KAFKA-6054), so it cannot be rolled{way}')
    newer, older = sorted((origin, target), key=lambda release: -release.latest_version)
    if plan is Plan.ONE_BOUNCE and newer.latest_version > older.latest_version and newer.rules == "g2":
        found.append(
            "KAFKA-8649: a leader of the newer release can push the members of the older one beyond what they know, "
            "and they die; take 2.2.2, 2.3.1 or 2.4 and later, or bounce the leader last"
        )
    return found
