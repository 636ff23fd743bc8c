"""The trace of a run, of a group, a streams group or brokers: the steps of its scenario, and the events of each.

The terminal, the page and the table of counterexamples have the same trace.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeVar

from attrs import asdict, frozen

from streams_assignor.formats.text import count
from streams_assignor.spark_sim.brokers.actions import apply_step, check_final_state, initial_state
from streams_assignor.spark_sim.brokers.parser import is_broker_scenario
from streams_assignor.spark_sim.brokers.parser import parse_scenario as parse_broker_scenario
from streams_assignor.spark_sim.brokers.scenario import BrokerScenario
from streams_assignor.spark_sim.model.events import GroupEvent, TraceEvent, events_digest
from streams_assignor.spark_sim.model.scenario import Scenario, ScenarioError, join_words
from streams_assignor.spark_sim.model.simulation import Simulation
from streams_assignor.spark_sim.model.violations import Violation
from streams_assignor.spark_sim.regressions.mutants import mutants_registered
from streams_assignor.spark_sim.search.cell_result import groups_in_words, one_schedule
from streams_assignor.spark_sim.streams_groups.events import trace_run
from streams_assignor.spark_sim.streams_groups.parser import is_group_scenario
from streams_assignor.spark_sim.streams_groups.parser import parse_scenario as parse_group_scenario
from streams_assignor.spark_sim.streams_groups.scenario import GroupScenario
from streams_assignor.upgrade.input_values import InvalidInput, parse_json

E = TypeVar("E", GroupEvent, TraceEvent)


@frozen
class TraceStep(Generic[E]):
    """One step: its words in the scenario, their meaning, and the events."""

    step: str
    meaning: str
    events: tuple[E, ...]

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {"step": self.step, "meaning": self.meaning, "events": [event.as_json() for event in self.events]}


@frozen
class Trace(Generic[E]):
    """The trace of a finished run: the beginning, one part for each step, and the end."""

    scenario: str
    violations: tuple[Violation, ...]
    summary: str
    """The run in one line."""
    details: Mapping[str, Any]
    """The keys of the JSON output besides the steps."""
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
            "steps": [step.as_json() for step in self.steps],
        }


def final_step(violations: Iterable[Violation], events: Iterable[E]) -> TraceStep[E]:
    """Return the end of a run, which names each violated property once."""
    broken = dict.fromkeys(violation.property for violation in violations)
    return TraceStep("the end", f"violated: {'; '.join(broken)}" if broken else "every property holds", tuple(events))


def trace(scenario: Scenario) -> Trace[GroupEvent]:
    """Run a scenario and record the events of each step.

    >>> [each.step for each in trace(Scenario.parse("A@2.0 B@2.0 | crash A")).steps]
    ['A@2.0.1 B@2.0.1', 'crash A', 'the end']
    """
    simulation, recorded = Simulation(scenario), 0

    def events() -> tuple[GroupEvent, ...]:
        nonlocal recorded
        new, recorded = simulation.events[recorded:], len(simulation.events)
        return tuple(new)

    simulation.begin()
    steps = [TraceStep(scenario.head, f"start {join_words([name for name, _ in scenario.members])}", events())]
    for step in scenario.steps:
        simulation.play(step)
        steps.append(TraceStep(str(step), step.description, events()))
    simulation.finish()
    steps.append(final_step(simulation.violations, events()))
    generations, group_size = simulation.coordinator.generation, one_schedule(len(scenario.members))
    return Trace(
        str(scenario),
        tuple(simulation.violations),
        f"{groups_in_words(group_size)}, {count(generations, 'generation')}, "
        f"at most {simulation.max_rebalances} after one step, "
        f"members probed {count(simulation.version_probes, 'time')}",
        {
            "group_size": group_size,
            "generations": generations,
            "max_rebalances": simulation.max_rebalances,
            "probes": simulation.version_probes,
            "digest": events_digest(simulation.events),
        },
        tuple(steps),
    )


def trace_broker_scenario(scenario: BrokerScenario) -> Trace[TraceEvent]:
    """Run a scenario and record the events of each step.

    >>> from streams_assignor.spark_sim.brokers.parser import parse_scenario
    >>> [each.step for each in trace_broker_scenario(parse_scenario("1@3.9.2 level 3.9 | crash 1")).steps]
    ['1@3.9.2 level 3.9-IV0', 'crash 1', 'the end']
    """
    state = initial_state(scenario)
    steps = [TraceStep(scenario.head, _initial_description(scenario), state.events)]
    for step in scenario.steps:
        after = apply_step(state, step)
        steps.append(TraceStep(str(step), step.description, after.events[len(state.events) :]))
        state = after
    final = check_final_state(state)
    steps.append(final_step(final.violations, final.events[len(state.events) :]))
    finalized = dict(final.cluster.finalized)
    levels = ", ".join(f"{name} {level}" for name, level in finalized.items())
    return Trace(str(scenario), final.violations, f"finalized is {levels}", {"finalized": finalized}, tuple(steps))


def trace_group_scenario(scenario: GroupScenario) -> Trace[TraceEvent]:
    """Run a scenario of a streams group and record what each step changes.

    >>> from streams_assignor.spark_sim.streams_groups.parser import parse_scenario
    >>> [each.step for each in trace_group_scenario(parse_scenario("A@4.3.1 group 4.3.1 | start A | settle")).steps]
    ['A@4.3.1 group 4.3.1 tasks=2', 'start A', 'settle', 'the end']
    """
    run = trace_run(scenario)
    events = () if run.is_settled else (TraceEvent("remark", "", "the group has not settled"),)
    steps = [
        TraceStep[TraceEvent](scenario.head, f"a group of the coordinator of {scenario.coordinator}", ()),
        *(TraceStep(str(step), step.description, changes) for step, changes in run.steps),
        final_step(run.violations, (*events, *run.final_events)),
    ]
    epoch = run.world.group.epoch
    return Trace(str(scenario), run.violations, f"the group is in epoch {epoch}", {"epoch": epoch}, tuple(steps))


def trace_line(line: str) -> Trace[Any]:
    """Run the scenario of a line, whether it is of brokers, a streams group or a classic group.

    >>> trace_line("1@4.1 level 4.1-IV1").summary, trace_line("A@4.3.1 group 4.3.1 | start A | settle").summary
    ('finalized is metadata.version 27', 'the group is in epoch 1')

    Raises:
        ScenarioError: It is none, or a step is not possible.
    """
    if is_group_scenario(line):
        return trace_group_scenario(parse_group_scenario(line))
    if is_broker_scenario(line):
        return trace_broker_scenario(parse_broker_scenario(line))
    with mutants_registered():  # Kafka's known bugs have examples with releases that never existed
        return trace(Scenario.parse(line))


def _initial_description(scenario: BrokerScenario) -> str:
    group = f", and a Streams group watches {scenario.watched_feature}" if scenario.watched_feature else ""
    return f"a cluster that speaks {scenario.dialect.name}{group}"


# -- rows of the table of counterexamples ----------------------------------------------------------------------------


def trace_rows(steps: Iterable[TraceStep[Any]]) -> list[dict[str, Any]]:
    """Return the steps as rows of a table (``tables.schema``)."""
    return [
        {"step": step.step, "meaning": step.meaning, "events": list(map(_event_row, step.events))} for step in steps
    ]


def _event_row(event: GroupEvent | TraceEvent) -> dict[str, Any]:
    if isinstance(event, TraceEvent):
        return _event(0, 0, event.who, str(event.kind), event.text, ())
    return _event(event.at, event.generation, event.member, event.kind, event.text, event.values)


def _event(at: int, generation: int, subject: str, kind: str, text: str, values: Iterable[object]) -> dict[str, Any]:
    plain = json.dumps(list(values), ensure_ascii=False, default=str)
    return {"at": at, "generation": generation, "subject": subject, "kind": kind, "text": text, "values": plain}


def recast_rows(rows: Iterable[Mapping[str, Any]], scenario: Scenario, shown: Scenario) -> list[dict[str, Any]]:
    """Return the rows of a group's scenario with the instances of ``shown``, the same scenario of other releases."""
    names = dict(zip(map(str, scenario.instances), map(str, shown.instances), strict=True))
    first, *middle, last = rows
    steps = [{**first, "step": shown.head}]
    for row, step in zip(middle, shown.steps, strict=True):
        steps.append({**row, "step": str(step), "meaning": step.description})
    return [{**row, "events": [_recast_event(event, names) for event in row["events"]]} for row in (*steps, last)]


def _recast_event(row: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    if row["kind"] != "started":
        return dict(row)
    event = group_event(row)
    return _event_row(event._replace(values=(names[str(event.values[0])],)))


def group_event(row: Mapping[str, Any]) -> GroupEvent:
    """Return the event of a row; ``ScenarioError`` if its values are damaged."""
    try:
        values = tuple(parse_json(row["values"]))
    except (InvalidInput, TypeError) as error:
        raise ScenarioError(f"expected a list of values of the event {row['kind']!r}: {error}") from None
    return GroupEvent(row["at"], row["generation"], row["kind"], row["subject"], values)


def group_steps(rows: Iterable[Mapping[str, Any]]) -> tuple[TraceStep[GroupEvent], ...]:
    """Return the steps of rows of a group's scenario."""
    return tuple(TraceStep(row["step"], row["meaning"], tuple(map(group_event, row["events"]))) for row in rows)
