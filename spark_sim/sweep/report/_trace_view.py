"""Orders the events of a trace generation by generation, as the page shows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from attrs import Factory, define

from spark_sim.model.events import GroupEvent

GENERATION_EVENTS: Final = frozenset(
    {"leads", "assigned", "dropped", "revoked", "follows", "rejoins", "failed", "ended", "violation", "remark"}
)
"""Events of a generation; any other event after them belongs to the next generation."""


@define
class MemberTrace:
    """The part of one member in a generation; ``before`` lists starts, stops and faults before it, in order."""

    before: list[str] = Factory(list)
    sent: int | None = None
    knows: int | None = None
    leads: bool = False
    received: int | None = None
    active: str = ""
    standby: str = ""
    dropped: bool = False
    rejoins: str | None = None
    failed: str | None = None


@define
class GenerationTrace:
    """One generation: its number, its time (simulated ms), the part of each member, and the violated properties."""

    number: int
    at: int
    parts: dict[str, MemberTrace] = Factory(dict)
    violations: list[str] = Factory(list)


def group_by_generation(events: Iterable[GroupEvent]) -> Iterator[GenerationTrace]:
    """Order events by the generation that they lead to.

    >>> from spark_sim.model.scenario import Scenario
    >>> from spark_sim.sweep.traces import trace
    >>> found = trace(Scenario.parse("A@2.0 B@2.0"))
    >>> [(generation.number, sorted(generation.parts)) for generation in group_by_generation(found.events)]
    [(1, ['A', 'B'])]
    """
    current: GenerationTrace | None = None
    happened = False
    for event in events:
        if current is not None and happened and event.kind not in GENERATION_EVENTS:
            yield current
            current, happened = None, False
        current = current or GenerationTrace(event.generation, event.at)
        current.number, current.at = event.generation, event.at
        happened = happened or event.kind in GENERATION_EVENTS
        _add_event(current, event)
    if current is not None:
        yield current


def _add_event(generation: GenerationTrace, event: GroupEvent) -> None:
    if event.kind in {"violation", "remark"}:
        generation.violations.append(event.text)
        return
    part = generation.parts.setdefault(event.member, MemberTrace())
    values: Any = event.values
    match event.kind:
        case "joined":
            part.sent, part.knows = values
        case "leads":
            part.leads = True
        case "assigned":
            part.received, _, part.active, part.standby = values
        case "dropped":
            part.received, part.dropped = values[0], True
        case "revoked" | "follows" | "rejoins":
            part.rejoins = event.text if part.rejoins is None else f"{part.rejoins}; {event.text}"
        case "failed" | "ended":
            part.failed = event.text
        case _:
            part.before.append(event.text)
