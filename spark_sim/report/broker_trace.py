"""The trace of a run of brokers, step by step."""

from __future__ import annotations

from typing import Any

from attrs import asdict, frozen

from spark_sim.brokers.actions import apply_step, check_final_state, initial_state
from spark_sim.brokers.cluster_state import ClusterState, TraceEvent
from spark_sim.brokers.scenario import BrokerScenario
from spark_sim.report.trace_view import verdict_text


@frozen
class BrokerTraceStep:
    """One step: its words in the scenario, their meaning, and the events."""

    step: str
    meaning: str
    events: tuple[TraceEvent, ...]


@frozen
class BrokerTrace:
    """The trace of a finished run: the cluster before the first step, one part for each step, and the verdict."""

    scenario: BrokerScenario
    final_state: ClusterState
    steps: tuple[BrokerTraceStep, ...]

    @property
    def verdict(self) -> str:
        """``safe`` or ``unsafe``."""
        return "unsafe" if self.final_state.violations else "safe"

    @property
    def summary(self) -> str:
        """The finalised features at the end, in one line."""
        return "finalised is " + ", ".join(
            f"{name} {level}" for name, level in self.final_state.cluster.finalized.items()
        )

    def as_json(self) -> dict[str, Any]:
        """Return plain values for machines."""
        return {
            "scenario": str(self.scenario),
            "verdict": self.verdict,
            "violations": [asdict(violation) for violation in self.final_state.violations],
            "finalized": dict(self.final_state.cluster.finalized),
            "steps": [asdict(each) for each in self.steps],
        }


def trace_broker_scenario(scenario: BrokerScenario) -> BrokerTrace:
    """Run a scenario and record the events of each step.

    >>> from spark_sim.brokers.parser import parse_scenario
    >>> [each.step for each in trace_broker_scenario(parse_scenario("1@3.9.2 level 3.9 | crash 1")).steps]
    ['1@3.9.2 level 3.9-IV0', 'crash 1', 'the end']
    """
    state = initial_state(scenario)
    steps = [BrokerTraceStep(scenario.head, _initial_description(scenario), state.events)]
    for step in scenario.steps:
        after = apply_step(state, step)
        steps.append(BrokerTraceStep(str(step), step.description, after.events[len(state.events) :]))
        state = after
    final = check_final_state(state)
    steps.append(BrokerTraceStep("the end", verdict_text(final.violations), final.events[len(state.events) :]))
    return BrokerTrace(scenario, final, tuple(steps))


def _initial_description(scenario: BrokerScenario) -> str:
    group = f", and a Streams group watches {scenario.watched_feature}" if scenario.watched_feature else ""
    return f"a cluster that speaks {scenario.dialect.name}{group}"
