"""The trace of a run, of a group or of brokers: the steps of its scenario, and the events of each.

The terminal and the page show the same trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Generic, TypeVar

from attrs import Factory, asdict, define, frozen

from assignor.formats.text import count
from spark_sim.brokers.cluster_state import TraceEvent
from spark_sim.model.events import GroupEvent, events_digest
from spark_sim.model.scenario import Scenario, join_words
from spark_sim.model.simulation import Simulation
from spark_sim.model.violations import Violation

GENERATION_EVENTS: Final = frozenset(
    {"leads", "assigned", "dropped", "revoked", "follows", "rejoins", "died", "ended", "violation", "remark"}
)
"""Events of a generation; any other event after them belongs to the next generation."""


E = TypeVar("E", GroupEvent, TraceEvent)


@frozen
class TraceStep(Generic[E]):
    """One step: its words in the scenario, their meaning, and the events."""

    step: str
    meaning: str
    events: tuple[E, ...]


@frozen
class Trace(Generic[E]):
    """The trace of a finished run: the beginning, one part for each step, and the end."""

    scenario: str
    violations: tuple[Violation, ...]
    summary: str
    """The run in one line."""
    details: Mapping[str, Any]
    """What the JSON output has besides the steps."""
    steps: tuple[TraceStep[E], ...]

    @property
    def verdict(self) -> str:
        """``safe`` or ``unsafe``."""
        return "unsafe" if self.violations else "safe"

    @property
    def events(self) -> tuple[E, ...]:
        """The events of all steps."""
        return tuple(event for step in self.steps for event in step.events)

    def as_json(self) -> dict[str, Any]:
        """Return plain values for machines."""
        return {
            "scenario": self.scenario,
            "verdict": self.verdict,
            "violations": [asdict(violation) for violation in self.violations],
            **self.details,
            "steps": [
                {"step": each.step, "meaning": each.meaning, "events": [event.as_json() for event in each.events]}
                for each in self.steps
            ],
        }


def final_step(violations: Iterable[Violation], events: Iterable[E]) -> TraceStep[E]:
    """Return the end of a run, which names each violated property once."""
    broken = dict.fromkeys(violation.property for violation in violations)
    return TraceStep("the end", f"violated: {'; '.join(broken)}" if broken else "every property holds", tuple(events))


def trace(scenario: Scenario, shown_as: Scenario | None = None) -> Trace[GroupEvent]:
    """Run a scenario and record the events of each step.

    Args:
        scenario: What to run.
        shown_as: The same scenario with other instances, which the trace names instead.

    >>> [each.step for each in trace(Scenario.parse("A@2.0 B@2.0 | crash A")).steps]
    ['A@2.0.1 B@2.0.1', 'crash A', 'the end']
    """
    simulation, shown = Simulation(scenario), shown_as or scenario
    names = dict(zip(map(str, scenario.instances), map(str, shown.instances), strict=True))
    recorded = 0

    def events() -> Iterator[GroupEvent]:
        nonlocal recorded
        new, recorded = simulation.events[recorded:], len(simulation.events)
        for event in new:
            yield event._replace(values=(names[str(event.values[0])],)) if event.kind == "started" else event

    simulation.begin()
    steps = [TraceStep(shown.head, f"start {join_words([name for name, _ in shown.members])}", tuple(events()))]
    for step, shown_step in zip(scenario.steps, shown.steps, strict=True):
        simulation.play(step)
        steps.append(TraceStep(str(shown_step), shown_step.description, tuple(events())))
    simulation.finish()
    steps.append(final_step(simulation.violations, events()))
    generations = simulation.coordinator.generation
    return Trace(
        str(shown),
        tuple(simulation.violations),
        f"{count(generations, 'generation')}, at most {simulation.max_rebalances} after one step, "
        f"members probed {count(simulation.version_probes, 'time')}",
        {
            "generations": generations,
            "max_rebalances": simulation.max_rebalances,
            "probes": simulation.version_probes,
            "digest": events_digest(simulation.events),
        },
        tuple(steps),
    )


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
        case "died" | "ended":
            part.failed = event.text
        case _:
            part.before.append(event.text)
