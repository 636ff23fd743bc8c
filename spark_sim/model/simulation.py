"""A simulated group: members that run the real assignor, a simulated coordinator, and one scenario.

Each member has its own ``StreamsAssignor``, and real encoded bytes travel between them. There is no clock, no thread
and no randomness: the group changes by atomic protocol actions (``join A``, ``lead A``, ``take A``). A coarse step is
one thing that happens to the group, followed by all actions that are due, in one order (``settle``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Self

from attrs import evolve

from streams_assignor.spark_sim.model import _actions
from streams_assignor.spark_sim.model._group_state import GroupState
from streams_assignor.spark_sim.model.processes import (
    change_topics,
    request_shutdown,
    schedule_crash,
    start_process,
    stop_process,
)
from streams_assignor.spark_sim.model.properties import check_eventually
from streams_assignor.spark_sim.model.scenario import VERBS, GroupAction, ScenarioError, Step
from streams_assignor.spark_sim.model.settle import settle


class Simulation(GroupState):
    """Runs one scenario: create it, call ``run``, and read ``violations``, ``remarks``, ``events`` and the counters."""

    def run(self) -> Self:
        """Play the whole scenario, to the end even after a violation; return this simulation."""
        self.begin()
        for step in self.scenario.steps:
            self.play(step)
        return self.finish()

    def begin(self) -> Self:
        """Start the members of the scenario together, and settle the group."""
        for name, instance in self.scenario.members:
            start_process(self, name, instance)
        settle(self)
        return self

    def play(self, step: Step) -> None:
        """Play one step and, unless the group is held, settle it; ``ScenarioError`` if the step is impossible now."""
        if step.verb in _actions.ACTIONS:
            for name in step.names:
                self.apply(GroupAction(step.verb, name))
        else:
            _STEPS[step.verb](self, step)
        if step.verb != "elect":
            _settle_unless_held(self)

    def after(self, *steps: Step) -> Self:
        """Return a fork that has also played these steps, which its scenario then ends with."""
        twin = self.fork()
        for step in steps:
            twin.play(step)
        twin.scenario = evolve(self.scenario, steps=(*self.scenario.steps, *steps))
        return twin

    def finish(self) -> Self:
        """Check what has to hold eventually, unless protocol actions are left in a held group."""
        if not (self.held and any(action.verb != "late" for action in self.enabled_actions())):
            self.report_violations(check_eventually(self))
        return self

    def enabled_actions(self) -> tuple[GroupAction, ...]:
        """List the protocol actions that are due; ``late`` (a rebalance timeout) is among them."""
        return _actions.enabled_actions(self)

    def apply(self, action: GroupAction) -> None:
        """Take one protocol action; ``ScenarioError`` if it is disabled."""
        _actions.apply(self, action)


def _settle_unless_held(state: GroupState) -> None:
    if not state.held:
        settle(state)


def _elect(state: GroupState, step: Step) -> None:
    state.coordinator.election_rule = step.mode or step.names[0]


def _hold(state: GroupState, step: Step) -> None:
    state.held = step.verb == "hold"


def _bounce(state: GroupState, step: Step) -> None:
    for name, instance in step.members:
        stop_process(state, name, "stopped", leave=step.mode == "leave")
        if step.mode != "fast":
            _settle_unless_held(state)
        start_process(state, name, instance)
        _settle_unless_held(state)


def _start(state: GroupState, step: Step) -> None:
    for name, instance in step.members:
        _require_running(state, step, name, running=False)
        start_process(state, name, instance)


def _stop(state: GroupState, step: Step) -> None:
    for name in step.names:
        if step.verb == "crash" and step.mode:
            schedule_crash(state, name, VERBS["crash"].modes.index(step.mode) + 1)
        else:
            _require_running(state, step, name, running=True)
            kind = "stopped" if step.verb == "stop" else "crashed"
            stop_process(state, name, kind, leave=step.mode == "leave")


def _shutdown(state: GroupState, step: Step) -> None:
    for name in step.names:
        _require_running(state, step, name, running=True)
        request_shutdown(state, name)


def _require_running(state: GroupState, step: Step, process: str, *, running: bool) -> None:
    """Reject a step that is impossible in a held group; a coarse step without effect is allowed."""
    if state.held and running != state.is_process_running(process):
        raise ScenarioError(f"{step.verb} {process}: {process} {'does not run' if running else 'runs already'}")


_STEPS: Final[Mapping[str, Callable[[GroupState, Step], None]]] = {
    "elect": _elect,
    "hold": _hold,
    "settle": _hold,
    "bounce": _bounce,
    "start": _start,
    "stop": _stop,
    "crash": _stop,
    "shutdown": _shutdown,
    "lose": change_topics,
    "find": change_topics,
}
"""Verb => what a step that is no protocol action does."""
