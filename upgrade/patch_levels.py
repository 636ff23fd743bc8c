"""The advised way between two releases of which a patch level may be unknown.

A vendor's number (5.2.1-ccs), a line with an x (2.2.x) or a patch release that the table lacks may be any release of
its line. All of them are planned; if the plans differ, the worst counts, with the hazards and warnings of all.
"""

from __future__ import annotations

from typing import Final

from attrs import evolve

from streams_assignor.upgrade.errors import UpgradeError
from streams_assignor.upgrade.hazards import WayBackVerdict, order_hazards
from streams_assignor.upgrade.planner import Advice, advise
from streams_assignor.upgrade.plans import Plan, Upgrade
from streams_assignor.upgrade.releases import Release, ResolvedRelease
from streams_assignor.upgrade.verdict import UNKNOWN_TOPOLOGY, TopologyFacts, Verdict


def is_same_release(origin: ResolvedRelease, target: ResolvedRelease) -> bool:
    """Whether two spellings stand for one release, so that there is nothing to plan."""
    return origin.given == target.given or not _pairs(origin, target)


def advise_between(
    origin: ResolvedRelease,
    target: ResolvedRelease,
    *,
    offline: bool = False,
    facts: TopologyFacts = UNKNOWN_TOPOLOGY,
) -> Advice:
    """Return the advised way between the releases that two spellings stand for.

    Args:
        origin: The release of the group now.
        target: The release of the group afterwards.
        offline: As in ``advise``.
        facts: As in ``advise``.

    Returns:
        The worst plan of all pairs. Its ``patch_levels`` say for which release each spelling was taken, and how to be
        precise; its ``notes`` how the spellings were read.

    Raises:
        UpgradeError: Both stand for the same release.

    >>> from streams_assignor.upgrade.releases import resolve_release
    >>> advice = advise_between(resolve_release("5.0.0-ccs"), resolve_release("5.2.1-ccs"))
    >>> advice.target, advice.patch_levels[-1].partition(":")[0]
    ('2.2.0', '5.2.1-ccs can be any release from 2.2.0 to 2.2.2, which differ for this plan')
    """
    if is_same_release(origin, target):
        raise UpgradeError(f"{origin.given} is already {target.given}: nothing to do")
    plans = {pair: advise(*pair, offline=offline, facts=facts) for pair in _pairs(origin, target)}
    (first, last), worst = max(plans.items(), key=lambda item: _badness(item[1]))
    outcomes = {pair: _outcome(plan) for pair, plan in plans.items()}
    ends = (
        (origin, first, {outcome for (_, end), outcome in outcomes.items() if end == last}),
        (target, last, {outcome for (start, _), outcome in outcomes.items() if start == first}),
    )
    opened = [(end, taken, len(guides) > 1) for end, taken, guides in ends if end.is_open]
    others = [
        older
        for older in origin.older
        if older != last and _outcome(advise(older, last, offline=offline, facts=facts)) != outcomes[first, last]
    ]
    codes = {warning.code for warning in worst.warnings}
    warnings = (warning for plan in plans.values() for warning in plan.warnings if warning.code not in codes)
    return evolve(
        worst,
        notes=(
            *origin.reading,
            *target.reading,
            *(
                f"{end.given} can be {end.span}: the plan is the same for all"
                for end, _, differ in opened
                if not differ
            ),
            *([_LINE.format(line=origin.given, newest=first, others=", ".join(map(str, others)))] if others else []),
        ),
        patch_levels=tuple(_worst_text(end, taken) for end, taken, differ in opened if differ),
        warnings=(*worst.warnings, *dict.fromkeys(warnings)),
        hazards=order_hazards(hazard for plan in (worst, *plans.values()) for hazard in plan.hazards),
    )


_LINE: Final = (
    "{line} is taken for its newest release, {newest}; from {others} the plan or its hazards differ: name the release "
    "that runs"
)


def _pairs(origin: ResolvedRelease, target: ResolvedRelease) -> list[tuple[Release, Release]]:
    """Return the pairs to plan. Inside one line, open patch levels are those of an upgrade, if they can be."""
    pairs = [(start, end) for start in origin.candidates for end in target.candidates if start != end]
    if origin.release.line != target.release.line or not (origin.is_open or target.is_open):
        return pairs
    return [(start, end) for start, end in pairs if start.known_number <= end.known_number] or pairs


def _worst_text(end: ResolvedRelease, taken: Release) -> str:
    """Say for which release a spelling was taken, and how to be precise."""
    worst, precise = taken.name, "name the release of Kafka"
    if taken.assumed_like:
        worst, precise = taken.assumed_like, "say --assume with the release that it behaves like"
    return (
        f"{end.given} can be {end.span}, which differ for this plan: it is that of {worst}, the worst, with the "
        f"hazards of all; to be precise, {precise}"
    )


def _outcome(plan: Advice) -> tuple[object, ...]:
    """Return what two plans may differ in, without the names of their releases."""
    guidance = plan.guidance
    return (
        guidance.verdict,
        guidance.features,
        guidance.hops_features,
        tuple((hop.plan, hop.upgrade_from) for hop in guidance.hops),
        tuple((hop.plan, hop.upgrade_from) for hop in guidance.if_met),
        tuple((step.do.code, step.way_back.verdict) for step in plan.steps),
        frozenset(warning.code for warning in plan.warnings),
        frozenset(name for hazard in plan.hazards for name in hazard.names),
    )


def _badness(plan: Advice) -> tuple[int, ...]:
    """Order plans: first what is unsafe or stops the group, then what asks for more of the operator."""
    guidance = plan.guidance
    backs = [step.way_back.verdict for step in plan.steps]
    return (
        guidance.verdict is Verdict.UNSAFE,
        plan.plan is Plan.OFFLINE,
        bool(guidance.hops_features),
        _bounces(guidance.if_met or guidance.hops),
        _bounces(guidance.hops),
        len(guidance.features),
        backs.count(WayBackVerdict.OFFLINE),
        backs.count(WayBackVerdict.LOSSY),
    )


def _bounces(hops: tuple[Upgrade, ...]) -> int:
    return sum(len(hop.rounds) for hop in hops)
