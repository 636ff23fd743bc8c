"""Remedies as steps of a plan: what an application has to change, and before which bounce."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from attrs import evolve

from streams_assignor.upgrade._messages import MessageCode, PlanMessage
from streams_assignor.upgrade.hazards import (
    YOURS,
    Application,
    Hazard,
    JudgedHazard,
    ReleaseRange,
    Remedy,
    RemedyKind,
    WayBack,
    WayBackVerdict,
    edit,
    order_hazards,
    resolve_remedy,
    severe_bugs,
)
from streams_assignor.upgrade.planner import Advice, PlanStep, advise
from streams_assignor.upgrade.plans import Plan, Upgrade
from streams_assignor.upgrade.releases import RELEASES, Release
from streams_assignor.upgrade.verdict import TopologyFacts

_OF_BOUNCE: Final = {RemedyKind.EDIT_FIRST, RemedyKind.ROUND}
"""Remedies with a bounce of their own; a group that stops as a whole needs none."""


def through_bridge(
    advice: Advice, judged: Iterable[JudgedHazard], applications: Sequence[Application], facts: TopologyFacts
) -> Advice:
    """Return the way through a release on which the remedy of a hazard is done in a round of its own.

    It is the same way if no such hazard stops members, or if they all stop anyway.
    """
    hops = advice.guidance.hops
    is_stopped = advice.plan is Plan.OFFLINE
    remedies = (remedy for each in judged for remedy in _remedies(each, applications, is_stopped=is_stopped))
    remedy = next((remedy for remedy in remedies if remedy.kind is RemedyKind.ROUND), None)
    if remedy is None:
        return advice
    at = _bridge(remedy, hops, applications)
    if at in {hops[0].origin, *(hop.target for hop in hops)}:
        return advice
    parts = advise(hops[0].origin, at, facts=facts), advise(at, hops[-1].target, facts=facts)
    joined = tuple(hop for part in parts for hop in part.guidance.hops)
    values = [hop.upgrade_from for hop in joined if hop.upgrade_from]
    return evolve(
        advice,
        plan=Plan.TWO_BOUNCES if values else joined[0].plan,
        upgrade_from=values[0] if values else None,
        steps=tuple(step for part in parts for step in part.steps),
        warnings=tuple(dict.fromkeys(warning for part in parts for warning in part.warnings)),
        via=tuple(hop.target.name for hop in joined[:-1]),
        hazards=order_hazards(hazard for part in parts for hazard in part.hazards),
        guidance=evolve(advice.guidance, hops=joined),
    )


def with_remedies(
    advice: Advice,
    judged: Iterable[JudgedHazard],
    applications: Sequence[Application],
    refused: Sequence[Sequence[str]],
) -> Advice:
    """Return a plan with the remedies that the application needs, each before the first step that needs it.

    Args:
        advice: The plan.
        judged: Its hazards.
        applications: The application, as far as it is known.
        refused: For each hop the keys of its settings with which members do not start.
    """
    needed = [(each.hazard, _remedies(each, applications, is_stopped=advice.plan is Plan.OFFLINE)) for each in judged]
    corrected = {remedy.key for _, remedies in needed for remedy in remedies}
    hops, steps = advice.guidance.hops, iter(advice.steps)
    placed: list[PlanStep] = []
    for place, hop in enumerate(hops):
        here = [each for each in needed if each[1] and _hop_of(*each, hops, refused) == place]
        further = [key for key in dict.fromkeys(refused[place]) if key not in corrected]
        corrected.update(further)
        placed += _steps(hop, here, tuple(edit(key, YOURS) for key in further))
        placed += islice(steps, 1 if hop.plan is Plan.ONE_BOUNCE else 2)
    return evolve(advice, steps=tuple(placed))


def _bridge(remedy: Remedy, hops: Sequence[Upgrade], applications: Sequence[Application]) -> Release:
    """Return the release of a round: one that the group runs anyway, else the newest with the fewest bugs."""
    fitting = ReleaseRange(remedy.since, remedy.before)
    on_the_way = (release for hop in hops for release in (hop.origin, hop.target) if release in fitting)
    if found := next(on_the_way, None):
        return found
    bugs = severe_bugs(applications)
    others = [release for release in RELEASES.values() if release.is_released and release in fitting]
    return min(reversed(others), key=lambda release: sum(release in row.targets for row in bugs))


def _remedies(judged: JudgedHazard, applications: Sequence[Application], *, is_stopped: bool) -> tuple[Remedy, ...]:
    """Return what an application has to change so that it does not stop for certain, nor lose data by its settings."""
    if not judged.is_severe:
        return ()
    found = [remedy for row in judged.hazard.rows for remedy in row.remedies if judged.stops_members or remedy.is_edit]
    kinds = dict.fromkeys(_OF_BOUNCE, RemedyKind.EDIT) if is_stopped else {}
    moved = (evolve(remedy, kind=kinds.get(remedy.kind, remedy.kind)) for remedy in found)
    return tuple(dict.fromkeys(named for remedy in moved for named in resolve_remedy(remedy, applications)))


def _hop_of(
    hazard: Hazard, remedies: Iterable[Remedy], hops: Sequence[Upgrade], refused: Sequence[Sequence[str]]
) -> int:
    """Return the first hop that meets a hazard, or whose release refuses what the remedy changes."""
    keys = {remedy.key for remedy in remedies}
    places = (
        place
        for place, hop in enumerate(hops)
        if any(row.concerns(hop.origin, hop.target) for row in hazard.rows) or not keys.isdisjoint(refused[place])
    )
    return next(places, 0)


def _steps(
    hop: Upgrade, here: Sequence[tuple[Hazard, Sequence[Remedy]]], refused: Sequence[Remedy]
) -> Iterator[PlanStep]:
    """Yield the bounces that remedies need before a hop, then what is changed with its first step."""
    for with_bounce in (True, False):
        rows = [
            (hazard, [remedy for remedy in remedies if (remedy.kind in _OF_BOUNCE) is with_bounce])
            for hazard, remedies in here
        ]
        hazards = [hazard for hazard, remedies in rows if remedies]
        further = () if with_bounce else refused
        remedies = tuple(dict.fromkeys((*(remedy for _, found in rows for remedy in found), *further)))
        if not remedies:
            continue
        changes = [str(remedy) for remedy in remedies if remedy.is_edit]
        changes += [hazard.remedy for hazard, found in rows if any(not remedy.is_edit for remedy in found)]
        params = {"origin": hop.origin, "target": hop.target, "changes": ", ".join(dict.fromkeys(changes))}
        params["symptoms"] = "; ".join(dict.fromkeys(hazard.symptom for hazard in hazards)) or "members do not start"
        params["rows"] = ", ".join(name for hazard in hazards for name in hazard.names) or "refused settings"
        do = MessageCode.EDIT_AND_BOUNCE if with_bounce else MessageCode.EDIT
        back = (
            f"bounce every member of {hop.origin} again with the configuration of before"
            if with_bounce
            else "undo it when members go back"
        )
        sources = tuple(dict.fromkeys(source for hazard in hazards for source in hazard.sources))
        yield PlanStep(
            PlanMessage.of(do, params),
            PlanMessage.of(MessageCode.IS_REMEDY, params),
            PlanMessage.of(MessageCode.WITHOUT_REMEDY, params),
            WayBack(WayBackVerdict.OPEN, back, ", ".join(sources)),
            ", ".join(sources),
            remedies,
        )
