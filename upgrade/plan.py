"""The advice for a person: which steps, in which order, and what each step is good for. Source: KIP-268."""

from __future__ import annotations

from typing import Any

from attrs import asdict, frozen

from upgrade.errors import UpgradeError
from upgrade.matrix import KAFKA_8649_RULES, Plan, documented_plan, upgrade_from_value
from upgrade.releases import RELEASES, Release


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


def advise(origin: Release, target: Release, *, offline: bool = False) -> Advice:
    """Return the documented way from one release to the other, or the way with everything stopped in between.

    "An 'offline upgrade' is also possible" (KIP-268), always. ``UpgradeError`` if there is nothing to do.

    >>> [step.do for step in advise(RELEASES["2.0.1"], RELEASES["simulated-4"]).steps]
    ['bounce every member to simulated-4, one by one']
    """
    if origin == target:
        raise UpgradeError(f"{origin} is already {target}: nothing to do")
    plan = Plan.OFFLINE if offline else documented_plan(origin, target)
    value = upgrade_from_value(origin, target) if plan is Plan.TWO_BOUNCES else None
    steps = {
        Plan.ONE_BOUNCE: _one_bounce,
        Plan.TWO_BOUNCES: _two_bounces,
        Plan.OFFLINE: _offline,
    }[plan](origin, target)
    return Advice(origin.name, target.name, plan, value, steps, tuple(_warnings(origin, target, plan)))


def _one_bounce(origin: Release, target: Release) -> tuple[Step, ...]:
    if origin.latest_version == target.latest_version:
        why = f"both speak metadata version {origin.latest_version}, so any leader reads any member"
        skipped = f"the member that is left stays on {origin}; the others do not mind"
    else:
        why = "a leader that does not know a version answers with its own, and the member comes down to it and rejoins"
        skipped = "the member that is left keeps the whole group on the lower version"
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
            f"then no member of {origin} meets one of {target}, whatever they make of each other",
            "whoever is left is in one group with the new members, as in a rolling bounce without a plan",
        ),
        Step(f"start every member as {target}", "the group begins anew with one version", "nothing is processed"),
    )


def _warnings(origin: Release, target: Release, plan: Plan) -> list[str]:
    found = [f"{release}: {release.note}" for release in (origin, target) if release.note]
    if target.number < origin.number:
        found.append(
            "going back: an older release may not be able to read the state on disk (2.0.1 cannot open the stores of "
            "2.3.1), so let each member start with an empty state directory and restore from the changelogs"
        )
    if documented_plan(origin, target) is Plan.OFFLINE and target.number > origin.number:
        fixed = next(each for each in RELEASES.values() if each.number > target.number and _accepts(each, origin))
        found.append(
            f'{target} does not accept upgrade.from="{origin.line}" (KAFKA-6054), so it cannot be rolled; {fixed} does'
        )
    newer = max(origin, target, key=lambda release: release.latest_version)
    if newer.rules == KAFKA_8649_RULES and {origin.latest_version, target.latest_version} == {3, 4}:
        way = "" if plan is Plan.OFFLINE else "; take 2.2.2, 2.3.1 or 2.4 and later, or bounce the leader last"
        found.append(
            f"KAFKA-8649: a leader of {newer} can push members of the older release beyond what they know, and they "
            f"die{way}"
        )
    return found


def _accepts(release: Release, origin: Release) -> bool:
    return origin.line in release.upgrade_from and not release.note
