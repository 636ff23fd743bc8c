"""The trace of a run of brokers."""

from __future__ import annotations

from spark_sim.brokers.actions import apply_step, check_final_state, initial_state
from spark_sim.brokers.cluster_state import TraceEvent
from spark_sim.brokers.scenario import BrokerScenario
from spark_sim.report.trace_view import Trace, TraceStep, final_step


def trace_broker_scenario(scenario: BrokerScenario) -> Trace[TraceEvent]:
    """Run a scenario and record the events of each step.

    >>> from spark_sim.brokers.parser import parse_scenario
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
    return Trace(str(scenario), final.violations, f"finalised is {levels}", {"finalized": finalized}, tuple(steps))


def _initial_description(scenario: BrokerScenario) -> str:
    group = f", and a Streams group watches {scenario.watched_feature}" if scenario.watched_feature else ""
    return f"a cluster that speaks {scenario.dialect.name}{group}"
