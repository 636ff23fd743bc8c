"""The trace of a run: the steps of its scenario, and in each the events of every member, generation by generation.

The terminal and the page show the same trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from attrs import Factory, asdict, define, frozen

from spark_sim.model.events import GroupEvent, events_digest
from spark_sim.model.scenario import Scenario, join_words
from spark_sim.model.simulation import Simulation

GENERATION_EVENTS: Final = frozenset(
    {"leads", "assigned", "dropped", "revoked", "follows", "rejoins", "died", "ended", "violation", "remark"}
)
"""Events of a generation; any other event after them belongs to the next generation."""


@frozen
class TraceStep:
    """One step: its words in the scenario, their meaning, and the events."""

    step: str
    meaning: str
    events: tuple[GroupEvent, ...]


@frozen
class Trace:
    """The trace of a finished run: the start of the group, one part for each step, and the verdict."""

    simulation: Simulation
    steps: tuple[TraceStep, ...]

    @property
    def verdict(self) -> str:
        """``safe`` or ``unsafe``."""
        return "unsafe" if self.simulation.violations else "safe"

    @property
    def summary(self) -> str:
        """What the run needed, in one line."""
        simulation = self.simulation
        return (
            f"{simulation.coordinator.generation} generations, at most {simulation.max_rebalances} after one step, "
            f"members probed {simulation.version_probes} times"
        )

    def as_json(self) -> dict[str, Any]:
        """Return plain values for machines."""
        simulation = self.simulation
        return {
            "scenario": str(simulation.scenario),
            "verdict": self.verdict,
            "violations": [asdict(violation) for violation in simulation.violations],
            "generations": simulation.coordinator.generation,
            "max_rebalances": simulation.max_rebalances,
            "probes": simulation.version_probes,
            "digest": events_digest(simulation.events),
            "steps": [
                {
                    "step": each.step,
                    "meaning": each.meaning,
                    "events": [event._asdict() | {"text": event.text} for event in each.events],
                }
                for each in self.steps
            ],
        }


def trace(scenario: Scenario) -> Trace:
    """Run a scenario and record the events of each step.

    >>> [each.step for each in trace(Scenario.parse("A@2.0 B@2.0 | crash A")).steps]
    ['A@2.0.1 B@2.0.1', 'crash A', 'the end']
    """
    simulation = Simulation(scenario)
    recorded = 0

    def record(step: str, meaning: str) -> TraceStep:
        nonlocal recorded
        events, recorded = tuple(simulation.events[recorded:]), len(simulation.events)
        return TraceStep(step, meaning, events)

    simulation.begin()
    names = [name for name, _ in scenario.members]
    steps = [record(scenario.head, f"start {join_words(names)}")]
    for step in scenario.steps:
        simulation.play(step)
        steps.append(record(str(step), step.description))
    simulation.finish()
    return Trace(simulation, (*steps, record("the end", verdict_text(simulation.violations))))


def verdict_text(violations: Iterable[Any]) -> str:
    """Return which properties were violated, each once."""
    broken = dict.fromkeys(violation.property for violation in violations)
    return f"violated: {'; '.join(broken)}" if broken else "every property holds"


# -- generation by generation ----------------------------------------------------------------------------------------


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

    >>> found = trace(Scenario.parse("A@2.0 B@2.0"))
    >>> [(generation.number, sorted(generation.parts)) for generation in group_by_generation(found.simulation.events)]
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
        case "died" | "ended":
            part.failed = event.text
        case _:
            part.before.append(event.text)
